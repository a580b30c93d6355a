//! The registry of all members: the kinds that a configuration may name, that can be trained, and that a
//! model folder opens as.
//!
//! Rules, linear and neural members do not depend on each other; this crate depends on all of them, and
//! callers that run members depend on this crate. To add a kind, implement it in its crate and name it in
//! [`registry`] or [`training`].

pub mod cost;
pub mod mixture;
mod model;
mod predict;
pub mod registry;
mod rounding;
mod self_training;
mod speech;
pub mod training;
mod tuning;
pub mod union_rules;

pub use lethe_linear::pos::read_tsv;
pub use lethe_taggers::external::stop_all as stop_tools;
pub use mixture::{Brier, Learned, Probabilistic, Weight, Weighted, WeightedError, Widened, together};
pub use model::{Model, ModelConfig, OpenError, open, probabilistic};
pub use predict::{PredictError, predict};
pub use rounding::{RoundError, round};
pub use self_training::{SelfTrainJob, SelfTrained, self_train};
pub use speech::{POS, SpeechError, train_pos};
pub use training::{Job, TrainError, kinds, train};
pub use tuning::{TuneJob, fine_tune};
