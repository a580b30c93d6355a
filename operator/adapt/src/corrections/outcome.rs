//! Reports of what a site did: positions, counts, versions and scores.

use super::correction::CorrectionError;
use super::evaluate::Score;
use super::journal::At;

/// The result of adding payloads.
#[derive(Debug, Default)]
pub struct Arrived {
    /// Corrections that are now in the journal.
    pub taken: usize,
    /// Invalid corrections, and why.
    pub rejected: Vec<(At, CorrectionError)>,
}

/// The outcome of a batch.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Outcome {
    /// The new version is current.
    Published(Verdict),
    /// The new version equals the current one.
    Same(Verdict),
    /// The new version is worse than the current one, which stays.
    Refused(Verdict),
    /// The current version did not result from these corrections; learning pauses until one that did is
    /// current.
    Paused {
        /// The current version.
        current: String,
    },
}

/// A version and its comparison with the current one.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Its name.
    pub version: String,
    /// The number of notes that it has learnt.
    pub notes: usize,
    /// The number of phrases that it lists.
    pub phrases: usize,
    /// The weight of the member that naive Bayes is mixed with; `None` without a mixture.
    pub weight: Option<f64>,
    /// Its score on the held-out set.
    pub new: Score,
    /// The score of the current version.
    pub old: Score,
}

/// Another version was made current from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The version.
    pub version: String,
    /// The number of batches that this set aside.
    pub aside: usize,
}
