//! The statistics of corpora. Serialised, these structs are the JSON format `lethe-corpus-statistics`, version 1: new
//! fields may appear, but no field is renamed or changes its meaning without a higher version.
//!
//! Shares range from 0 to 1.

use serde::{Deserialize, Serialize};

/// The statistics of corpora, and the comparison of the first with each of the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Statistics {
    /// `lethe-corpus-statistics`.
    pub format: String,
    /// Increases if a field changes its meaning.
    pub version: u32,
    /// Settings that the figures depend on, in addition to the corpora.
    pub settings: Settings,
    /// Labels that the label set lacks; each is a category of its own. Empty without a label set.
    pub unmapped: Vec<String>,
    /// One per corpus, in the given order. All of them have the same groups in the same order.
    pub corpora: Vec<Corpus>,
    /// The first corpus with each of the others.
    pub comparisons: Vec<Comparison>,
}

/// Settings that the figures depend on, in addition to the corpora.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// The label set that maps labels to categories and HIPAA identifiers.
    pub label_set: Option<String>,
    /// The number of over-represented words to list for each of two corpora.
    pub terms: u64,
    /// The number of a corpus' documents in which a listed word occurs, at least.
    pub least_documents: u64,
    /// The tokenizer's version.
    pub tokenizer: u32,
}

/// One corpus.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Corpus {
    /// The name that the caller chose.
    pub name: String,
    /// Documents.
    pub documents: u64,
    /// Distinct patients, if the corpus names any.
    pub patients: Option<u64>,
    /// Documents without a span.
    pub without_spans: Part,
    /// Sentences as members read them, which also end with a line that the next one does not continue.
    pub sentences: Amount,
    /// Tokens of Lethe's tokenizer.
    pub tokens: Amount,
    /// Spans: distinct (label, start, end) per document.
    pub spans: Amount,
    /// Tokens that share a byte with a span, each counted once.
    pub span_tokens: Amount,
    /// By label.
    pub labels: Groups,
    /// By the label set's categories.
    pub categories: Option<Groups>,
    /// By HIPAA identifier, `A` to `R`; `-` for labels that the set lacks.
    pub hipaa: Option<Groups>,
    /// By `direct` identifiers and `quasi`-identifiers.
    pub identifiers: Option<Groups>,
}

/// A number of things and how they are distributed over documents.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Amount {
    /// Their number.
    pub total: u64,
    /// The mean per document.
    pub mean: f64,
    /// The least in a document.
    pub min: u64,
    /// The median; the mean of the two middle numbers if the number of documents is even.
    pub median: f64,
    /// The most in a document.
    pub max: u64,
}

/// A part of a whole.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// The part.
    pub count: u64,
    /// The whole.
    pub of: u64,
    /// `count / of`; 0 if `of` is 0.
    pub share: f64,
}

/// The groups of spans, and all of them together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Groups {
    /// All groups, called `all`: the sums of the groups, but a token that several groups cover counts once.
    pub all: Group,
    /// Sorted by name, with those that only another corpus has.
    pub groups: Vec<Group>,
}

/// The spans of one label, one category, or one kind of identifier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// The label, the category, the HIPAA letter, or the kind.
    pub name: String,
    /// Spans: distinct (start, end) per document.
    pub spans: Portion,
    /// Tokens that share a byte with one of the spans. Their shares add up to more than 1 if spans of several groups
    /// overlap.
    pub tokens: Portion,
    /// Distinct surface forms: texts of spans, ignoring case and the length of white space.
    pub forms: u64,
    /// The spans whose surface form occurs once in the corpus, of all spans.
    pub once: Part,
}

/// A number and its relation to the corpus.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Portion {
    /// The number.
    pub count: u64,
    /// Its share in that of all groups.
    pub share: f64,
    /// The number per 1,000 tokens of the corpus.
    pub per_thousand: f64,
}

/// A corpus compared with the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The first corpus.
    pub first: String,
    /// The other one. All ratios are those of this corpus to the first.
    pub other: String,
    /// The ratio of the numbers of documents; `null` if the first has none, as everywhere.
    pub documents: Option<f64>,
    /// The ratios of [`Corpus::sentences`].
    pub sentences: Ratio,
    /// The ratios of [`Corpus::tokens`].
    pub tokens: Ratio,
    /// The ratios of [`Corpus::spans`].
    pub spans: Ratio,
    /// The ratios of [`Corpus::span_tokens`].
    pub span_tokens: Ratio,
    /// By label.
    pub labels: GroupRatios,
    /// By category.
    pub categories: Option<GroupRatios>,
    /// By HIPAA identifier.
    pub hipaa: Option<GroupRatios>,
    /// By kind of identifier.
    pub identifiers: Option<GroupRatios>,
    /// Over-represented words. `null` if none were requested, or if one of the two corpora has no spans, since any of
    /// its words may then identify a patient.
    pub terms: Option<Terms>,
}

/// The ratio of the other corpus to the first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// The ratio of the totals.
    pub total: Option<f64>,
    /// The ratio of the means per document (Kim 2020, table 2).
    pub mean: Option<f64>,
}

/// The ratios of the groups, and of all of them together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupRatios {
    /// All groups.
    pub all: GroupRatio,
    /// In the order of [`Groups::groups`].
    pub groups: Vec<GroupRatio>,
}

/// One group of the other corpus, compared with that of the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupRatio {
    /// The group.
    pub name: String,
    /// The ratio of the numbers of spans (Kim 2020, table 1).
    pub spans: Option<f64>,
    /// The ratio of the spans per 1,000 tokens.
    pub rate: Option<f64>,
    /// The ratio of the numbers of tokens in spans.
    pub tokens: Option<f64>,
    /// The surface forms of the other corpus that the first has in the same group.
    pub forms_seen: Part,
    /// The spans of the other corpus whose surface form the first has in the same group.
    pub spans_seen: Part,
}

/// Words that are more frequent in one of two corpora: runs of letters outside of spans, in lower case. No word is
/// listed that occurs in a span of any of the corpora, in whatever case and with or without accents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Terms {
    /// Words of the first corpus, outside of spans.
    pub first_words: u64,
    /// Words of the other corpus, outside of spans.
    pub other_words: u64,
    /// More frequent in the first corpus, the highest score first.
    pub first: Vec<Term>,
    /// More frequent in the other corpus, the highest score first.
    pub other: Vec<Term>,
}

/// A word.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Term {
    /// The word.
    pub word: String,
    /// The log-likelihood ratio G² of the 2 × 2 table of words (Dunning 1993); negative if the word is more frequent in
    /// the first corpus.
    pub score: f64,
    /// In the first corpus.
    pub first: Occurrences,
    /// In the other corpus.
    pub other: Occurrences,
}

/// How often a word occurs outside of spans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Occurrences {
    /// Its number.
    pub count: u64,
    /// The documents in which it occurs.
    pub documents: u64,
}
