//! Combines the members' predictions for a note into decisions.

use crate::{Annotations, Decision, NoteView, Voting};

/// An ensemble's rule: voting, or a fitted combiner. Pure: the same annotations of the same note give the
/// same decisions.
pub trait Combine: Send + Sync {
    /// Decides one note, given each member's annotations of it, in member order. The result is sorted by
    /// start and free of overlaps, and every span lies in the note's text.
    fn decide(&self, note: NoteView<'_>, predictions: &[&Annotations]) -> Vec<Decision>;

    /// Returns the bytes of memory that a decision takes for each token of its note, in addition to those for
    /// the annotations; 0 by default.
    fn token_bytes(&self) -> usize {
        0
    }
}

impl Combine for Voting {
    fn decide(&self, note: NoteView<'_>, predictions: &[&Annotations]) -> Vec<Decision> {
        Self::decide(self, note.text, predictions)
    }
}
