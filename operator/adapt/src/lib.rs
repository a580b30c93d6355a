//! Members that adapt to a new institute, given a few labelled notes that trickle in (Singh 2020), or none (Liao 2021).
//!
//! [`Incremental`] is a model beside naive Bayes that learns on, and the weight between them; [`study`] runs it many times
//! over a corpus in different orders and says how good each was at every increment; [`corrections`] is the same in production,
//! where notes that somebody has corrected become versions of a bundle.
//!
//! Invariant: what is learnt from a batch is told only after the batch was scored.

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
pub use learner::{AdaptError, First, GoingOn, Ground, Refitted, Soft};
pub use lethe_members::{Learned, Widened, together};
pub use self_training::{Analysis, EnsembleTeacher, EntityBin, Said, TeacherError, WordBin};
pub use units::{Cut, sentences};
pub use weight::{Evidence, LogLoss, Loss, Over, Weigher, Weighing};
