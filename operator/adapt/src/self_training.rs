//! What self-training (Liao 2021) has beside the losses of the members: an ensemble that teaches one of them, and what became
//! of the words and entities that were wrong before.

mod analysis;
mod plots;
mod teacher;

pub use analysis::{Analysis, EntityBin, Said, WordBin};
pub use teacher::{EnsembleTeacher, TeacherError};
