//! The result of an evaluation. Serialised, these structs are the JSON format `lethe-evaluation`, version 1:
//! new fields may appear, but no field is renamed or changes its meaning without a higher version.
//!
//! Shares and scores range from 0 to 1, and rates are per 1,000 documents. Reports hold only numbers, names, ids and byte offsets, never note
//! text.

mod leak;

use serde::{Deserialize, Serialize};

pub use leak::{Leak, LeakGroup, Leaks, SeenLeaks};

/// The evaluation of systems against gold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// `lethe-evaluation`.
    pub format: String,
    /// Increases if a field changes its meaning.
    pub version: u32,
    /// Settings that the figures depend on, in addition to gold and predictions.
    pub settings: Settings,
    /// Gold documents.
    pub documents: u64,
    /// Distinct patients that gold names, if it names any.
    pub patients: Option<u64>,
    /// Gold spans: distinct (label, start, end) per document.
    pub spans: u64,
    /// Labels that the label set lacks; each is a category of its own. Empty without a label set.
    pub unmapped: Vec<String>,
    /// One per system, in the given order.
    pub systems: Vec<System>,
    /// Every pair of systems, the earlier one as `a`.
    pub comparisons: Vec<Comparison>,
}

/// Settings that the figures depend on, in addition to gold and predictions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// The weight of recall in `f_beta`.
    pub beta: f64,
    /// Resamples per interval; 0 for no intervals.
    pub resamples: u64,
    /// Shuffles of an approximate randomisation test.
    pub shuffles: u64,
    /// The seed of both.
    pub seed: u64,
    /// The label set that maps labels to categories and HIPAA identifiers.
    pub label_set: Option<String>,
    /// Documents whose spans count as seen.
    pub training_documents: Option<u64>,
    /// The tokenizer's version, for the token measures.
    pub tokenizer: u32,
}

/// A 95 % percentile interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The 2.5 % quantile.
    pub low: f64,
    /// The 97.5 % quantile.
    pub high: f64,
}

/// A figure with its intervals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The figure over all documents.
    pub value: f64,
    /// Its interval over documents.
    pub interval: Option<Interval>,
    /// Its interval over patients, whose documents are drawn together; present if a patient has several
    /// documents.
    pub by_patient: Option<Interval>,
}

/// Counts and their micro-averaged measures. Precision is 0 without predictions, recall without gold, F
/// without hits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Elements of gold: spans, tokens or characters.
    pub gold: u64,
    /// Predicted elements.
    pub predicted: u64,
    /// Elements in both.
    pub hits: u64,
    /// `hits / predicted`.
    pub precision: Estimate,
    /// `hits / gold`.
    pub recall: Estimate,
    /// `2 hits / (gold + predicted)`.
    pub f1: Estimate,
    /// `(1 + beta²) hits / (beta² gold + predicted)`.
    pub f_beta: Estimate,
}

/// Precision, recall and F1 without intervals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ratios {
    /// The share of predictions that are right.
    pub precision: f64,
    /// The share of gold that was found.
    pub recall: f64,
    /// Their harmonic mean.
    pub f1: f64,
}

/// The five measures, over all labels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measures {
    /// Equal label, start and end, as sets of triples per document; the definition of MEDDOCAN's second
    /// sub-task and of the i2b2 tracks.
    pub strict: Score,
    /// Equal start and end, whatever the label, as sets of (start, end) per document.
    pub span: Score,
    /// Equal label and at least one common byte; paired one to one with as many pairs as possible.
    pub relaxed: Score,
    /// PHI or not, by token (Kim 2020, table 6); a token is PHI if a span shares a byte with it.
    pub token: Score,
    /// PHI or not, by code point.
    pub character: Score,
}

/// Macro averages of strict scores.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Macro {
    /// Over the labels of gold, with equal weights.
    pub labels: Ratios,
    /// Over documents, with equal weights; one without gold and predictions counts 1.
    pub documents: Ratios,
}

/// A part of a whole.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// The part.
    pub count: u64,
    /// The whole.
    pub of: u64,
    /// `count / of`; 0 if `of` is 0.
    pub share: Estimate,
    /// The exact 95 % interval of the share, as if each of the whole were independent (Clopper and Pearson 1934). `None`
    /// for characters, which are not, and if `of` is 0.
    pub exact: Option<Interval>,
}

/// Labels that are scored together: one label, one category, one HIPAA identifier. Labels are mapped before
/// scoring, so that a doctor predicted as a patient is right as a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// The label, the category, or the HIPAA letter; `-` if the label set lacks the label.
    pub name: String,
    /// As [`Measures::strict`].
    pub strict: Score,
    /// As [`Measures::relaxed`].
    pub relaxed: Ratios,
    /// As in Kim 2020, table 6: recall over this group's gold tokens that any prediction covers, precision
    /// over this group's predicted tokens that any gold span covers.
    pub token: Ratios,
}

/// The groups of a grouping and their sum.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Groups {
    /// Strict score over all groups.
    pub micro: Score,
    /// Sorted by name, without those that neither gold nor the system has.
    pub groups: Vec<Group>,
}

/// Strict recall on spans that occur in the training documents and on others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    /// Gold spans whose text is annotated with the same label in training, ignoring case and the length of
    /// white space. `count` is the number found.
    pub seen: Share,
    /// All other gold spans. `count` is the number found.
    pub unseen: Share,
}

/// One document's strict counts, the input of the paired tests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DocumentScore {
    /// The document.
    pub id: String,
    /// Gold spans.
    pub gold: u64,
    /// Predicted spans.
    pub predicted: u64,
    /// Spans in both.
    pub hits: u64,
    /// F1; 1 if there are neither gold nor predicted spans.
    pub f1: f64,
}

/// The evaluation of one system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct System {
    /// The name that the caller chose.
    pub name: String,
    /// Gold documents that it lacks; they count as empty.
    pub missing_documents: u64,
    /// Micro averages over all labels.
    pub measures: Measures,
    /// Macro averages of strict scores.
    pub averages: Macro,
    /// Uncovered gold.
    pub leak: Leak,
    /// By label.
    pub labels: Groups,
    /// By the label set's categories.
    pub categories: Option<Groups>,
    /// By HIPAA identifier, `A` to `R`.
    pub hipaa: Option<Groups>,
    /// Present if training documents were given.
    pub seen: Option<Seen>,
    /// The errors.
    pub errors: Errors,
    /// By document, in gold's order.
    pub documents: Vec<DocumentScore>,
}

/// The four classes of Yang 2019.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// The right label, but not gold's start and end.
    Boundary,
    /// The wrong label; start and end may differ too.
    Label,
    /// Unpaired gold.
    FalseNegative,
    /// An unpaired prediction.
    FalsePositive,
}

/// The position of a predicted span relative to the gold span that it is paired with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// The same start and end.
    Same,
    /// Inside gold.
    Short,
    /// Around gold.
    Long,
    /// Across one boundary of gold.
    Across,
}

/// A label and its position.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pointed {
    /// The label.
    pub label: String,
    /// First byte of the text.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
}

/// One error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorCase {
    /// The index of the document in gold, from 0.
    pub document: u64,
    /// The document's id.
    pub id: String,
    /// Its class.
    pub class: ErrorClass,
    /// The gold span, except for a false positive.
    pub gold: Option<Pointed>,
    /// The predicted span, except for a false negative.
    pub predicted: Option<Pointed>,
    /// The relation of the two spans, if there are two.
    pub shape: Option<Shape>,
    /// Whether a letter or digit of the gold span is uncovered.
    pub leaks: bool,
}

/// A kind of error and its frequency.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorKind {
    /// The class.
    pub class: ErrorClass,
    /// The relation of the spans, for a boundary error.
    pub shape: Option<Shape>,
    /// The label predicted instead, for a label error.
    pub predicted: Option<String>,
    /// The frequency.
    pub count: u64,
}

/// One label's errors: a row of Kim 2020's table 7, with the other classes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelErrors {
    /// The gold label; for false positives the predicted one.
    pub label: String,
    /// Its gold spans: `hits + boundary + label + false_negative`.
    pub gold: u64,
    /// Strict hits.
    pub hits: u64,
    /// Boundary errors on its gold spans.
    pub boundary: u64,
    /// Its gold spans predicted as another label.
    pub mislabelled: u64,
    /// Its unpaired gold spans.
    pub false_negative: u64,
    /// Unpaired predictions of this label.
    pub false_positive: u64,
    /// The most frequent first.
    pub kinds: Vec<ErrorKind>,
}

/// A cell of the confusion matrix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// The gold label; `None` for false positives.
    pub gold: Option<String>,
    /// The predicted label; `None` for false negatives.
    pub predicted: Option<String>,
    /// Pairs; the diagonal includes boundary errors.
    pub count: u64,
}

/// All errors. Strict hits are removed first; the remaining spans are paired one to one: first equal spans
/// with different labels, then overlapping spans with the same label, then other overlapping spans. Unpaired
/// spans are false negatives and false positives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Errors {
    /// Boundary errors.
    pub boundary: u64,
    /// Boundary errors inside gold, which leave a part of it.
    pub boundary_short: u64,
    /// Boundary errors around gold, which cover more.
    pub boundary_long: u64,
    /// Boundary errors across one boundary of gold.
    pub boundary_across: u64,
    /// Label errors.
    pub label: u64,
    /// Label errors whose span differs as well.
    pub label_other_span: u64,
    /// False negatives.
    pub false_negative: u64,
    /// False positives.
    pub false_positive: u64,
    /// Errors on gold spans with an uncovered letter or digit.
    pub leaking: u64,
    /// Sorted by label.
    pub labels: Vec<LabelErrors>,
    /// Sorted by gold, then predicted label, without zeros.
    pub confusion: Vec<Cell>,
    /// Every error, by document and position.
    pub cases: Vec<ErrorCase>,
}

/// The computation of a test's `p`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Student's t distribution.
    StudentT,
    /// All choices of signs.
    Exact,
    /// The normal approximation.
    Normal,
    /// Random exchanges.
    Randomisation,
}

/// A two-sided test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Test {
    /// t, the smaller rank sum, or the difference of micro-F1; `None` if it is not a number.
    pub statistic: Option<f64>,
    /// The probability of a difference at least as large between equally good systems; `None` if no document
    /// differs.
    pub p: Option<f64>,
    /// Pairs of documents, including those without a difference.
    pub pairs: u64,
    /// The computation of `p`.
    pub method: Method,
}

/// A comparison of two systems' strict F1. `p` is not corrected for the number of comparisons.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The first system.
    pub a: String,
    /// The second.
    pub b: String,
    /// Micro-F1 of `a` minus that of `b`; the two are resampled together.
    pub difference: Estimate,
    /// Over documents' F1: `scipy.stats.ttest_rel`.
    pub t_test: Test,
    /// Over documents' F1: `scipy.stats.wilcoxon`.
    pub wilcoxon: Test,
    /// Over micro-F1 (Noreen 1989).
    pub randomisation: Test,
}
