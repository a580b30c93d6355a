//! How several members' annotations become decisions (Kim 2019, 2020; Singh 2020), fitted on each member's predictions for
//! documents that it was not fitted to.

mod ballot;
mod bundle;
mod candidates;
mod cost;
mod crossfit;
mod dual;
mod fitted;
#[cfg(test)]
mod invented;
pub mod leak;
mod objective;
pub mod prune;
mod said;
mod saved;
mod signature;
mod stacked_lstm;
mod stacked_searn;
mod stacked_svm;
mod tags;
mod tally;
mod templates;
mod versions;

pub use ballot::Ballot;
pub use bundle::{BUNDLE_VERSION, Bundle, BundleError, Measured, Page, Part, Provenance, Rule};
pub use candidates::{Candidate, FitError, candidates, judge};
pub use cost::{Cost, Costs};
pub use fitted::{Fitted, FittedError};
pub use lethe_members::{Brier, Probabilistic, Weight, Weighted, WeightedError};
pub use objective::{Floor, Measure, Objective, ObjectiveError, Standing};
pub use prune::{PruneError, PruneOptions, Pruned, prune};
pub use said::{Said, SaidError};
pub use saved::SavedError;
pub use signature::{SIGNATURE, Signers};
pub use stacked_lstm::{StackedLstm, StackedLstmConfig, StackedLstmError};
pub use stacked_searn::{StackedSearn, StackedSearnConfig};
pub use stacked_svm::{StackedSvm, StackedSvmConfig};
pub use tags::{tag_set, token_tags};
pub use tally::Tally;
pub use templates::{Templates, TemplatesConfig};
pub use versions::Versions;
