//! Corrections of a running stream, learnt without stopping it (Singh 2020, in production).
//!
//! A correction is a note with all its identifiers as they should be. A [`Site`] stores each correction
//! durably and once, learns those in force in batches, builds a bundle from them and the initial bundle (the
//! base), and publishes it as a new version unless it is worse on held-out notes. The stream loads the
//! version by itself; a roll-back makes an older version current.
//!
//! Two things are learnt, because each does what the other cannot. Naive Bayes, mixed with one member of the
//! bundle by a weight that is estimated from each batch before it is learnt, learns how identifiers look
//! here; from one note it learns next to nothing, and its weight reflects that. Phrases are a list of what
//! reviewers marked and the bundle missed; they find today what leaked yesterday, and nothing else.
//!
//! Invariants: what is learnt follows from the base and the journal alone, so that the same journal gives the
//! same versions, byte for byte; nothing is learnt from the held-out set; text leaves the journal only into
//! the bundle, whose files contain words as those of any model do.
//! words as any model's do.

mod candidate;
mod correction;
mod evaluate;
mod history;
#[cfg(test)]
mod invented;
mod journal;
mod learnt;
mod outcome;
mod phrases;
mod site;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use lethe_core::BatchError;
use lethe_ensemble::BundleError;
use lethe_linear::TrainError;
use lethe_members::OpenError;

pub use correction::{Correction, CorrectionError};
pub use evaluate::Score;
pub use journal::{At, Positions, StateError};
pub use learnt::LearnError;
pub use outcome::{Arrived, Outcome, Turn, Verdict};
pub use phrases::PhrasesError;
pub use site::{Setup, Site};

/// Why corrections cannot be learnt. It holds no word of them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CorrectionsError {
    /// There is no folder of versions to publish to.
    #[error("{}: not a folder of versions; create one with `lethe ensemble publish BUNDLE --to {}`", folder.display(), folder.display())]
    NoVersions {
        /// The folder.
        folder: PathBuf,
    },
    /// The state folder.
    #[error(transparent)]
    State(#[from] StateError),
    /// A version.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// A model of a bundle.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The member to mix with naive Bayes cannot be chosen.
    #[error("{problem}")]
    First {
        /// The cause, with the possible members.
        problem: String,
    },
    /// The bundle's combiner does not allow spans that are redacted regardless of the vote.
    #[error("the bundle's combiner does not support phrases")]
    Combiner,
    /// Naive Bayes.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// Learning the corrections failed.
    #[error(transparent)]
    Learn(#[from] LearnError),
    /// Texts do not form a batch.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// A correction that was valid before is invalid now.
    #[error("a correction in the journal is no longer valid: {0}")]
    Taken(CorrectionError),
    /// The held-out set has labels that the bundle lacks.
    #[error("held-out document {document} (counted from 1): label set `{set}` has no label `{label}`")]
    Gold {
        /// The document.
        document: usize,
        /// Its label.
        label: String,
        /// The bundle's label set.
        set: String,
    },
}
