//! What a site says of what it did: places, counts, versions and figures.

use super::correction::Fault;
use super::journal::At;
use super::judge::Score;

/// What came of what had arrived.
#[derive(Debug, Default)]
pub struct Arrived {
    /// Corrections that are in the journal now.
    pub taken: usize,
    /// What was none, and why.
    pub rejected: Vec<(At, Fault)>,
}

/// What came of a batch.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Outcome {
    /// A version is current that was not before.
    Published(Verdict),
    /// The version that would be is the current one already.
    Same(Verdict),
    /// It is worse than the current one, which goes on.
    Refused(Verdict),
    /// The current version is none of these corrections': nothing is learnt until it is.
    Paused {
        /// The current version.
        current: String,
    },
}

/// A version and what it was held against.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Its name.
    pub version: String,
    /// How many corrected notes it has learnt.
    pub notes: usize,
    /// How many phrases it lists.
    pub phrases: usize,
    /// The weight of the member that naive Bayes is mixed with; none where it is alone.
    pub weight: Option<f64>,
    /// How good it is on what was kept back.
    pub new: Score,
    /// How good the current version is.
    pub old: Score,
}

/// Somebody made another version current.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The version.
    pub version: String,
    /// How many batches are set aside by that.
    pub aside: usize,
}
