//! Members that adapt to a new institute with a few labelled notes that arrive over time (Singh 2020), or
//! with none (Liao 2021).
//!
//! [`Incremental`] mixes a model with naive Bayes, which keeps learning, and estimates the weight between
//! them; [`study`] runs it over a corpus in many orders and reports the quality at every increment;
//! [`corrections`] does the same in production, where corrected notes become versions of a bundle.
//!
//! Invariant: weights are estimated from a batch before it is learnt, and scores on a batch use the weight
//! from before it.

mod common;
mod confidence;
pub mod corrections;
mod incremental;
mod learner;
mod self_training;
pub mod study;
mod units;
mod weight;

pub use incremental::{Incremental, Scores, Step};
pub use learner::{AdaptError, First, Ground, Refitted, Soft, WarmStart};
pub use lethe_members::{Learned, Widened, together};
pub use self_training::{Analysis, EnsembleTeacher, EntityBin, ModelPredictions, TeacherError, WordBin};
pub use units::{Cut, sentences};
pub use weight::{Evidence, LogLoss, Loss, Over, Weigher, Weighing};
