//! How several members' annotations become decisions (Kim 2019, 2020; Singh 2020), fitted on what each member said of
//! documents that it was not fitted to.

mod ballot;
mod bundle;
mod cost;
pub mod leak;
mod objective;
pub mod prune;
mod said;
mod tags;
mod tally;

pub use bundle::{BUNDLE_VERSION, Bundle, BundleError, Measured, Page, Part, Provenance, Rule};
pub use said::{Said, SaidError};
pub use tags::{tag_set, token_tags};
pub use ballot::Ballot;
pub use cost::{Cost, Costs};
pub use objective::{Floor, Measure, Objective, ObjectiveError, Standing};
pub use prune::{PruneError, PruneOptions, Pruned, prune};
pub use tally::Tally;
