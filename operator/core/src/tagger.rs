//! The trait that every member implements.

use crate::{AnnotationError, Annotations, Collector, NoteBatch, NoteView};

/// Why a member could not tag a note. Carries no text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TagError {
    /// It made a span that is not inside the note.
    #[error(transparent)]
    Annotation(#[from] AnnotationError),
    /// It failed within; the message names the fault, never the text.
    #[error("{0}")]
    Failed(&'static str),
    /// The caller ended the work ([`Pace`](crate::Pace)).
    #[error("the note is over the budget of a record")]
    OverBudget,
}

/// A member of the ensemble: tags notes, knows nothing of streams, files or other members.
///
/// Invariants, which the conformance suite holds every member to: the answer has one entry a row; a row that is no
/// note gets none; the same notes in other batches get the same annotations; no text makes it panic; its time is
/// linear in the text's length.
pub trait Tagger: Send + Sync {
    /// Returns the member's name in configuration, votes and audit, for instance `gazetteer`.
    fn name(&self) -> &str;

    /// Tags every note of the batch, one answer a row.
    fn tag(&self, batch: &NoteBatch) -> Vec<Result<Annotations, TagError>>;

    /// Bytes of memory that tagging a long note takes for each of its tokens, in addition to the note and the spans found. 0, the
    /// default, for a member that works through a long note in windows.
    fn token_bytes(&self) -> usize {
        0
    }

    /// How often it had computed before what it needed; nothing if it keeps nothing between batches.
    fn lookups(&self) -> Option<Lookups> {
        None
    }
}

/// What became of a member's lookups in what it keeps between batches. Both only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lookups {
    /// Times that it was there.
    pub hits: u64,
    /// Times that it had to be computed.
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
