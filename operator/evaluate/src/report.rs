//! What an evaluation says. Serialised, these structs are the JSON format `lethe-evaluation`, version 1: fields are
//! added, never renamed or given another meaning, without a higher version.
//!
//! Shares and scores run from 0 to 1. Numbers, names, ids and byte offsets only: nothing here holds note text.

use serde::{Deserialize, Serialize};

/// Systems against gold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// `lethe-evaluation`.
    pub format: String,
    /// Goes up when a field changes its meaning.
    pub version: u32,
    /// What the figures depend on beside gold and predictions.
    pub settings: Settings,
    /// Documents of gold.
    pub documents: u64,
    /// Distinct patients that gold names, if it names any.
    pub patients: Option<u64>,
    /// Gold spans, as sets of (label, start, end) by document.
    pub spans: u64,
    /// Labels that the label set lacks; each is a category of its own. Empty without a label set.
    pub unmapped: Vec<String>,
    /// One a system, in the order given.
    pub systems: Vec<System>,
    /// Every two systems, the earlier one as `a`.
    pub comparisons: Vec<Comparison>,
}

/// What the figures depend on beside gold and predictions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// The weight of recall in `f_beta`.
    pub beta: f64,
    /// Resamples behind an interval; 0 gives none.
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

/// A figure and how sure it is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The figure over all documents.
    pub value: f64,
    /// Its interval over documents.
    pub interval: Option<Interval>,
    /// Its interval over patients, whose documents are drawn together; where some patient has several documents.
    pub by_patient: Option<Interval>,
}

/// Counts and what they give, micro-averaged. Precision is 0 where nothing was predicted, recall where gold has
/// nothing, F where nothing was hit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Members of gold: spans, tokens or characters.
    pub gold: u64,
    /// Members predicted.
    pub predicted: u64,
    /// Members common to both.
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
    /// Right among predicted.
    pub precision: f64,
    /// Found among gold.
    pub recall: f64,
    /// Their harmonic mean.
    pub f1: f64,
}

/// The five measures, over all labels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measures {
    /// Label, start and end are gold's: sets of such triples by document, as MEDDOCAN's second sub-task and the i2b2
    /// tracks define it.
    pub strict: Score,
    /// Start and end are gold's, whatever the label: sets of (start, end) by document.
    pub span: Score,
    /// Same label, at least one byte in common; one to one, as many pairs as there can be.
    pub relaxed: Score,
    /// PHI or not, a token at a time (Kim 2020, table 6); a token is PHI if a span shares a byte with it.
    pub token: Score,
    /// PHI or not, a code point at a time.
    pub character: Score,
}

/// Strict scores averaged without regard to size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Macro {
    /// Over the labels that gold has, each counting the same.
    pub labels: Ratios,
    /// Over documents, each counting the same; one without gold and predictions counts 1.
    pub documents: Ratios,
}

/// A part of a whole.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// The part.
    pub count: u64,
    /// The whole.
    pub of: u64,
    /// `count / of`, 0 of nothing.
    pub share: Estimate,
}

/// What of gold no prediction of any label covers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Leak {
    /// Code points of gold.
    pub characters: Share,
    /// Documents, among those with PHI, in which a letter or digit of gold is left.
    pub documents: Share,
    /// Patients, among those with PHI, with such a document; where gold names patients. A document whose patient it
    /// does not name counts as a patient's only one. `by_patient` is its interval.
    pub patients: Option<Share>,
}

/// Labels that stand together: one label, one category, one HIPAA identifier. Labels are mapped first and scored then,
/// so that a doctor taken for a patient is right as a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// The label, the category, or the HIPAA letter; `-` where the label set lacks the label.
    pub name: String,
    /// As [`Measures::strict`].
    pub strict: Score,
    /// As [`Measures::relaxed`].
    pub relaxed: Ratios,
    /// Kim 2020, table 6: recall is over gold tokens of this group that any prediction covers, precision over
    /// predicted tokens of this group that any gold span covers.
    pub token: Ratios,
}

/// A grouping's members and their sum.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Groups {
    /// Strict, all groups together.
    pub micro: Score,
    /// Sorted by name; those that neither gold nor the system has are left out.
    pub groups: Vec<Group>,
}

/// Strict recall on spans that training held and on those that it did not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    /// Gold spans whose words training marks with the same label somewhere, letters' case and the length of white
    /// space aside. `count` are found.
    pub seen: Share,
    /// All other gold spans. `count` are found.
    pub unseen: Share,
}

/// One document's strict counts: what the paired tests are run on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DocumentScore {
    /// The document.
    pub id: String,
    /// Gold spans.
    pub gold: u64,
    /// Predicted spans.
    pub predicted: u64,
    /// Common ones.
    pub hits: u64,
    /// F1; 1 where there are neither gold nor predicted spans.
    pub f1: f64,
}

/// One system against gold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct System {
    /// As the caller calls it.
    pub name: String,
    /// Gold documents that it gave nothing for: counted as found empty.
    pub missing_documents: u64,
    /// Over all labels, micro.
    pub measures: Measures,
    /// Strict, macro.
    pub averages: Macro,
    /// What stays readable.
    pub leak: Leak,
    /// By label.
    pub labels: Groups,
    /// By the label set's categories.
    pub categories: Option<Groups>,
    /// By HIPAA identifier, `A` to `R`.
    pub hipaa: Option<Groups>,
    /// Where training documents were given.
    pub seen: Option<Seen>,
    /// What went wrong.
    pub errors: Errors,
    /// In gold's order.
    pub documents: Vec<DocumentScore>,
}

/// The four classes of Yang 2019.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// The right label, but not gold's start and end.
    Boundary,
    /// Found, but under another label; start and end may differ too.
    Label,
    /// Gold that nothing is paired with.
    FalseNegative,
    /// A prediction that nothing is paired with.
    FalsePositive,
}

/// How a predicted span lies to the gold span that it is paired with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// The same start and end.
    Same,
    /// Inside gold.
    Short,
    /// Around gold.
    Long,
    /// Over one of gold's ends.
    Across,
}

/// A label and where.
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
    /// The document, by its place in gold, from 0.
    pub document: u64,
    /// The document's id.
    pub id: String,
    /// Its class.
    pub class: ErrorClass,
    /// The gold span, but for a false positive.
    pub gold: Option<Pointed>,
    /// The predicted span, but for a false negative.
    pub predicted: Option<Pointed>,
    /// How the two lie to each other, where there are two.
    pub shape: Option<Shape>,
    /// Whether some letter or digit of the gold span is under no prediction at all.
    pub leaks: bool,
}

/// A sort of error and how often it is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorKind {
    /// The class.
    pub class: ErrorClass,
    /// How the spans lie, for a boundary error.
    pub shape: Option<Shape>,
    /// The label predicted instead, for a label error.
    pub predicted: Option<String>,
    /// How often.
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
    /// Its gold spans that nothing is paired with.
    pub false_negative: u64,
    /// Predictions of this label that nothing is paired with.
    pub false_positive: u64,
    /// The most frequent first.
    pub kinds: Vec<ErrorKind>,
}

/// A cell of the confusion table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// The gold label, none for false positives.
    pub gold: Option<String>,
    /// The predicted label, none for false negatives.
    pub predicted: Option<String>,
    /// Pairs, boundary errors among those on the diagonal.
    pub count: u64,
}

/// What went wrong. Strict hits are set aside; the rest is paired one to one: first same span with another label, then
/// overlap with the same label, then overlap with another. What is left over is a false negative or positive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Errors {
    /// Boundary errors.
    pub boundary: u64,
    /// Boundary errors inside gold: part of it is left.
    pub boundary_short: u64,
    /// Boundary errors around gold: more than it is taken.
    pub boundary_long: u64,
    /// Boundary errors over one of gold's ends.
    pub boundary_across: u64,
    /// Label errors.
    pub label: u64,
    /// Label errors whose span differs too.
    pub label_other_span: u64,
    /// False negatives.
    pub false_negative: u64,
    /// False positives.
    pub false_positive: u64,
    /// Errors on gold spans that leave a letter or digit uncovered.
    pub leaking: u64,
    /// Sorted by label.
    pub labels: Vec<LabelErrors>,
    /// Sorted by gold, then predicted label; cells of 0 are left out.
    pub confusion: Vec<Cell>,
    /// Each error, by document and place.
    pub cases: Vec<ErrorCase>,
}

/// How a test came to its `p`.
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
    /// t, the smaller rank sum, or the difference of micro-F1; none where it is not a number.
    pub statistic: Option<f64>,
    /// The chance of as large a difference between systems that are equally good; none where no document differs.
    pub p: Option<f64>,
    /// Pairs of documents, those without a difference among them.
    pub pairs: u64,
    /// How `p` was found.
    pub method: Method,
}

/// Two systems on strict F1. `p` is not corrected for the number of comparisons.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The first system.
    pub a: String,
    /// The second.
    pub b: String,
    /// Micro-F1 of `a` less that of `b`; the two are resampled together.
    pub difference: Estimate,
    /// Over documents' F1: `scipy.stats.ttest_rel`.
    pub t_test: Test,
    /// Over documents' F1: `scipy.stats.wilcoxon`.
    pub wilcoxon: Test,
    /// Over micro-F1 (Noreen 1989).
    pub randomisation: Test,
}
