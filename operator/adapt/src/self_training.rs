//! The parts of self-training (Liao 2021) outside the members' losses: an ensemble as the teacher, and an
//! analysis of the words and entities that were wrong before.

mod analysis;
mod plots;
mod teacher;

pub use analysis::{Analysis, EntityBin, ModelPredictions, WordBin};
pub use teacher::{EnsembleTeacher, TeacherError};
