//! The member that runs a recurrent network.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};

use lethe_core::{Annotations, Collector, Lookups, NoteBatch, TagError, Tagger};
use lethe_dictionaries::{Dictionary, UnknownList};
use lethe_learn::{LabelMap, Marginals, TagSet};

use crate::kernel::Isa;
use crate::model::Model;
use crate::reader::Reader;
use crate::runner::{Kept, Runner};

/// Tags whole batches with a recurrent network. Spans do not depend on what else is in the batch.
pub struct NeuralMember {
    name: String,
    tags: TagSet,
    labels: LabelMap,
    reader: Reader,
    runner: Runner,
    /// What threads keep between batches: words already spelt, among others.
    pool: Mutex<Vec<Kept>>,
    hits: AtomicU64,
    misses: AtomicU64,
}

impl NeuralMember {
    pub(crate) fn new(
        isa: Isa,
        name: &str,
        model: &Model,
        labels: LabelMap,
        dictionary: &Arc<Dictionary>,
    ) -> Result<Self, UnknownList> {
        let reader = Reader::new(model, dictionary)?;
        Ok(Self {
            name: name.to_owned(),
            tags: model.tags.clone(),
            labels,
            runner: Runner::new(isa, model, &model.tags, reader.knowledge_rows()),
            reader,
            pool: Mutex::default(),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        })
    }

    /// Runs `f` with what a thread keeps.
    fn with<T>(&self, f: impl FnOnce(&mut Kept) -> T) -> T {
        // Nothing panics while the lock is held.
        let pool = || self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        let mut kept = pool().pop().unwrap_or_default();
        kept.tidy();
        let value = f(&mut kept);
        pool().push(kept);
        value
    }
}

impl Tagger for NeuralMember {
    fn name(&self) -> &str {
        &self.name
    }

    fn tag(&self, batch: &NoteBatch) -> Vec<Result<Annotations, TagError>> {
        self.with(|kept| {
            let (read, tagged) = self.runner.run(&self.reader, batch, kept, |_, _| {});
            self.misses.fetch_add(tagged.computed as u64, Relaxed);
            self.hits.fetch_add(
                (2 * tagged.tags.len()).saturating_sub(tagged.computed) as u64,
                Relaxed,
            );
            let one = |(note, range): (_, &std::ops::Range<usize>)| {
                let mut collector = Collector::new(note);
                for span in self.tags.decode(&tagged.tags[range.clone()]) {
                    // A span is as sure as its least sure token.
                    let sure = &tagged.sure[range.start + span.first..=range.start + span.last];
                    let score = sure.iter().copied().fold(1.0, f32::min);
                    collector.tokens(span.first, span.last, self.labels.get(span.label), score, "");
                }
                Ok(collector.finish()?)
            };
            batch.notes().zip(&read.notes).map(one).collect()
        })
    }

    /// Of word types and contexts: two lookups a token.
    fn lookups(&self) -> Option<Lookups> {
        Some(Lookups {
            hits: self.hits.load(Relaxed),
            misses: self.misses.load(Relaxed),
        })
    }
}

impl Marginals for NeuralMember {
    fn tags(&self) -> &TagSet {
        &self.tags
    }

    /// Given all of its sequence where a CRF layer is, else by its own scores alone.
    fn marginals(&self, batch: &NoteBatch) -> Vec<Vec<f32>> {
        self.with(|kept| {
            let tags = self.tags.len();
            let tokens: usize = batch.notes().map(|note| note.tokens.len()).sum();
            let mut all = vec![0.0; tokens * tags];
            let (read, _) = self
                .runner
                .run(&self.reader, batch, kept, |token, probabilities| {
                    all[token * tags..(token + 1) * tags].copy_from_slice(probabilities);
                });
            let note = |range: &std::ops::Range<usize>| all[range.start * tags..range.end * tags].to_vec();
            read.notes.iter().map(note).collect()
        })
    }
}

impl std::fmt::Debug for NeuralMember {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "NeuralMember({}, {} tags)", self.name, self.tags.len())
    }
}
