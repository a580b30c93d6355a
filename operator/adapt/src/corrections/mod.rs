//! Corrections of a running stream, learnt without stopping it (Singh 2020, in production).
//!
//! A correction is a note with all its identifiers as they should be. A [`Site`] takes them in, durably and once, learns
//! those in force in batches, makes a bundle of them beside the one that was there at the beginning (the base), and
//! publishes it as a new version unless it is worse on notes that nothing was learnt from. The stream takes up the version
//! by itself; to go back is to make an older version current.
//!
//! Two things are learnt, because each does what the other cannot. Naive Bayes, mixed with one member of the bundle by a
//! weight that is told from each batch before it is learnt, learns how identifiers look here; of one note it learns next to
//! nothing, and its weight says so. Phrases are a list of what was marked and missed; they find what leaked yesterday today,
//! and nothing else.
//!
//! Invariants: what is learnt follows from the base and the journal alone, so that the same journal gives the same versions,
//! byte for byte; nothing is learnt from what is kept back; no text leaves the journal but into the bundle, whose files name
//! words as any model's do.

mod candidate;
mod correction;
mod history;
#[cfg(test)]
mod invented;
mod journal;
mod judge;
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

pub use correction::{Correction, Fault};
pub use journal::{At, Positions, StateError};
pub use judge::Score;
pub use learnt::LearnError;
pub use outcome::{Arrived, Outcome, Turn, Verdict};
pub use phrases::PhrasesError;
pub use site::{Setup, Site};

/// Why corrections cannot be learnt. Holds no word of them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CorrectionsError {
    /// There is nothing that a version could be published to.
    #[error("{}: no folder of versions; `lethe ensemble publish BUNDLE --to {}` makes it one", folder.display(), folder.display())]
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
    /// Which member naive Bayes is mixed with.
    #[error("{problem}")]
    First {
        /// What is wrong, naming those that can be chosen.
        problem: String,
    },
    /// The bundle's members are combined in a way that nothing can stand beside.
    #[error("the bundle's combiner takes no rules beside it")]
    Combiner,
    /// Naive Bayes.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// What the corrections teach.
    #[error(transparent)]
    Learn(#[from] LearnError),
    /// Notes make no batch.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// A correction that was understood is none.
    #[error("a correction that was taken is none any more: {0}")]
    Taken(Fault),
    /// What is kept back has other labels than the bundle.
    #[error("kept-back document {document} (counted from 1): label set `{set}` has no label `{label}`")]
    Gold {
        /// The document.
        document: usize,
        /// Its label.
        label: String,
        /// The bundle's label set.
        set: String,
    },
}
