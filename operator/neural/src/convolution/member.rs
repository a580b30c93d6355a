//! The member that runs a convolutional network.

use lethe_core::{Annotations, Collector, LabelId, NoteBatch, RowKind, TagError, Tagger};
use lethe_learn::{LabelMap, Marginals, Spans, TagSet};

use super::FAILED;
use super::runner::Runner;

/// Tags the notes of a batch one after the other. Spans do not depend on the rest of the batch.
pub struct ConvolutionMember {
    name: String,
    tags: TagSet,
    labels: LabelMap,
    runner: Runner,
}

impl ConvolutionMember {
    pub(super) fn new(name: &str, tags: TagSet, labels: LabelMap, runner: Runner) -> Self {
        Self {
            name: name.to_owned(),
            tags,
            labels,
            runner,
        }
    }

    fn annotate(&self, batch: &NoteBatch, row: usize) -> Result<Annotations, TagError> {
        let note = batch.note(row);
        let mut spans = Spans::new(&self.tags);
        for window in Runner::windows(note.tokens.len()) {
            let tagged = self
                .runner
                .tag(note, window)
                .map_err(|_| TagError::Failed(FAILED))?;
            spans.push(&tagged.tags, &tagged.scores);
            batch.advance()?;
        }
        let mut found = Collector::new(note);
        for (span, score) in spans.found() {
            found.tokens(span.first, span.last, self.labels.get(span.label), *score, "");
        }
        Ok(found.finish()?)
    }
}

impl Tagger for ConvolutionMember {
    fn name(&self) -> &str {
        &self.name
    }

    fn tag(&self, batch: &NoteBatch) -> Vec<Result<Annotations, TagError>> {
        let note = |row| match batch.row_kind(row) {
            RowKind::Note => self.annotate(batch, row),
            _ => Ok(Annotations::default()),
        };
        (0..batch.len()).map(note).collect()
    }

    fn is_trained_on(&self, label: LabelId) -> bool {
        self.labels.contains(label)
    }

    fn cache_bytes(&self) -> usize {
        self.runner.cache_bytes()
    }
}

impl Marginals for ConvolutionMember {
    fn tags(&self) -> &TagSet {
        &self.tags
    }

    /// A token's probabilities are those of its own scores. A note whose network cannot be computed has every
    /// token outside of spans.
    fn marginals(&self, batch: &NoteBatch) -> Vec<Vec<f32>> {
        let note = |row| {
            let note = batch.note(row);
            let mut all = Vec::with_capacity(note.tokens.len() * self.tags.len());
            for window in Runner::windows(note.tokens.len()) {
                match self.runner.probabilities(note, window.clone()) {
                    Ok(probabilities) => all.extend(probabilities),
                    Err(_) => all.extend(window.flat_map(|_| self.outside())),
                }
            }
            all
        };
        (0..batch.len()).map(note).collect()
    }
}

impl ConvolutionMember {
    /// Returns the probabilities of a token outside of every span.
    fn outside(&self) -> impl Iterator<Item = f32> {
        std::iter::once(1.0).chain(std::iter::repeat_n(0.0, self.tags.len() - 1))
    }
}

impl std::fmt::Debug for ConvolutionMember {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ConvolutionMember({}, {} tags)", self.name, self.tags.len())
    }
}
