//! Leaks, as counts and rates.

use serde::{Deserialize, Serialize};

use super::{Estimate, Share};

/// Gold spans of which a letter or digit is in no prediction of any label.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Leaks {
    /// Such spans among gold spans.
    pub spans: Share,
    /// Such spans in 1,000 documents. Leaks come together in documents, so the interval is over these.
    pub per_thousand: Estimate,
}

/// The leaks of a group of labels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeakGroup {
    /// The label, or `direct` or `quasi`.
    pub name: String,
    /// Its leaks.
    pub leaks: Leaks,
}

/// The leaks of spans that occur in the training documents, as in [`Seen`](super::Seen), and of others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeenLeaks {
    /// Spans whose text is annotated with the same label in training.
    pub seen: Leaks,
    /// All others.
    pub unseen: Leaks,
}

/// Gold that no prediction of any label covers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Leak {
    /// Code points of gold.
    pub characters: Share,
    /// Documents with an uncovered letter or digit of gold, among documents with PHI.
    pub documents: Share,
    /// Patients with such a document, among patients with PHI, if gold names patients. A document without a
    /// patient counts as a patient of its own. `by_patient` is the interval.
    pub patients: Option<Share>,
    /// Spans of all labels.
    pub spans: Leaks,
    /// Direct identifiers and quasi-identifiers ([`Hipaa::is_direct`](lethe_core::Hipaa::is_direct)), if a label set was
    /// given; labels that it lacks count as direct.
    pub identifiers: Option<Vec<LeakGroup>>,
    /// By label of gold, sorted by name.
    pub labels: Vec<LeakGroup>,
    /// Present if training documents were given.
    pub seen: Option<SeenLeaks>,
}
