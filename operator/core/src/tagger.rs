//! The trait that every member implements.

use crate::{AnnotationError, Annotations, Collector, LabelId, NoteBatch, NoteView};

/// Why a member could not tag a note. Contains no text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TagError {
    /// It returned a span outside the note.
    #[error(transparent)]
    Annotation(#[from] AnnotationError),
    /// It failed internally; the message describes the fault and never quotes the text.
    #[error("{0}")]
    Failed(&'static str),
    /// An external tool returned no usable predictions.
    #[error(transparent)]
    Tool(#[from] ToolFailure),
    /// The caller ended the work ([`Pace`](crate::Pace)).
    #[error("the note exceeds the budget of a record")]
    OverBudget,
}

/// Why an external tool returned no usable predictions for a note. Each kind has a quarantine code of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ToolFailure {
    /// It did not answer in time.
    #[error("the external tool did not answer in time")]
    Timeout,
    /// It could not be started or reached, or ended while it worked on the note.
    #[error("the external tool cannot be started or reached, or ended while it worked on the note")]
    Failed,
    /// Its answer is malformed, belongs to another note, or has spans or labels that the note or the label set
    /// does not have.
    #[error("the external tool's answer cannot be used")]
    Answer,
}

/// A member of the ensemble. It tags notes, and knows nothing of streams, files or other members.
///
/// Invariants, which the conformance suite checks for every member: the result has one entry per row; a row
/// that is not a note gets no annotations; a note gets the same annotations in every batch; no text causes a
/// panic; the time is linear in the text's length.
pub trait Tagger: Send + Sync {
    /// Returns the member's name in configuration, votes and audit, for instance `gazetteer`.
    fn name(&self) -> &str;

    /// Tags every note of the batch, and returns one result per row.
    fn tag(&self, batch: &NoteBatch) -> Vec<Result<Annotations, TagError>>;

    /// Returns whether it was trained to find every span of this label, so that it abstains where it predicts
    /// none. False, the default, for rules: a rule that does not fire says nothing.
    fn is_trained_on(&self, _label: LabelId) -> bool {
        false
    }

    /// Returns whether it also tags the plain form of a note with disguised characters, as if it were a note.
    /// False for a tool whose predictions belong to the note as it stands.
    fn reads_plain_forms(&self) -> bool {
        true
    }

    /// Returns the bytes of memory that tagging a long note takes for each of its tokens, in addition to the
    /// note and the spans found. 0, the default, for a member that works through a long note in windows.
    fn token_bytes(&self) -> usize {
        0
    }

    /// Starts what the member needs outside of the program and tries it, so that an error shows before the first
    /// note. Returns what it found; `None`, the default, for a member that needs nothing.
    ///
    /// # Errors
    /// What failed, and what to do. The message never quotes a note.
    fn prepare(&self) -> Result<Option<String>, String> {
        Ok(None)
    }

    /// Returns the hits and misses of its cache; `None` for a member that keeps nothing between batches.
    fn lookups(&self) -> Option<Lookups> {
        None
    }

    /// Returns the bytes of memory that its caches take now ([`Caches`](crate::Caches)). 0, the default, for a member
    /// that keeps nothing between batches.
    fn cache_bytes(&self) -> usize {
        0
    }
}

/// Hits and misses of the values that a member keeps between batches. Both only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lookups {
    /// Look-ups that found a value.
    pub hits: u64,
    /// Look-ups that had to compute the value.
    pub misses: u64,
}

/// Tags note by note: the body of [`Tagger::tag`] for members that gain nothing from seeing a whole batch.
pub fn tag_each(
    batch: &NoteBatch,
    mut tag: impl FnMut(NoteView<'_>, &mut Collector<'_>),
) -> Vec<Result<Annotations, TagError>> {
    batch
        .notes()
        .map(|note| {
            let mut collector = Collector::new(note);
            tag(note, &mut collector);
            batch.advance()?;
            Ok(collector.finish()?)
        })
        .collect()
}
