//! Combines several members' annotations into decisions (Kim 2019, 2020; Singh 2020), fitted on each member's
//! predictions for documents that it was not fitted to.

mod bundle;
mod candidates;
mod cost;
mod crossfit;
mod dual;
mod fitted;
#[cfg(test)]
mod invented;
mod language;
pub mod leak;
mod objective;
mod prediction_set;
pub mod prune;
mod saved;
mod signature;
mod stacked_lstm;
mod stacked_searn;
mod stacked_svm;
mod tags;
mod tally;
mod templates;
mod versions;
mod vote_index;

pub use bundle::{
    BUNDLE_VERSION, Bundle, BundleError, BundleManifest, Measured, OperatingPoint, Part, Provenance, Rule,
    SwapError, swap,
};
pub use candidates::{Candidate, FitError, candidates, evaluate};
pub use cost::{Cost, Costs};
pub use fitted::{Fitted, FittedError};
pub use language::{ByLanguage, DETECTION_VERSION, NoteLanguage, UnknownLanguage};
pub use lethe_members::{Brier, Probabilistic, Weight, Weighted, WeightedError};
pub use objective::{Floor, Measure, Objective, ObjectiveError, Standing};
pub use prediction_set::{PredictionError, PredictionSet};
pub use prune::{PruneError, PruneOptions, Pruned, prune};
pub use saved::SavedError;
pub use signature::{SIGNATURE, Signers};
pub use stacked_lstm::{StackedLstm, StackedLstmConfig, StackedLstmError};
pub use stacked_searn::{StackedSearn, StackedSearnConfig};
pub use stacked_svm::{StackedSvm, StackedSvmConfig};
pub use tags::{tag_set, token_tags};
pub use tally::Tally;
pub use templates::{Templates, TemplatesConfig};
pub use versions::Versions;
pub use vote_index::VoteIndex;
