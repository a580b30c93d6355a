//! The member that runs a recurrent network.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use lethe_core::{Annotations, Caches, Collector, LabelId, Lookups, NoteBatch, NoteView, TagError, Tagger};
use lethe_dictionaries::{Dictionary, UnknownList};
use lethe_kernel::Isa;
use lethe_learn::{LabelMap, Marginals, Spans, TagSet};

use crate::halves::Halves;
use crate::model::Model;
use crate::reader::Reader;
use crate::runner::{Kept, Runner, Tagged, none};

/// Notes with more tokens are read in parts.
const LONG: usize = 1 << 15;

/// Tags whole batches with a recurrent network. Spans do not depend on the rest of the batch.
pub struct NeuralMember {
    name: String,
    tags: TagSet,
    labels: LabelMap,
    reader: Reader,
    runner: Runner,
    /// Notes with more tokens than this are read in parts.
    long: usize,
    /// Caches that threads reuse between batches, for instance of known words.
    caches: Caches<Kept>,
    hits: AtomicU64,
    misses: AtomicU64,
}

impl NeuralMember {
    /// `words` has the word vectors if the model's own are empty.
    pub(crate) fn new(
        isa: Isa,
        name: &str,
        model: Model,
        words: Option<Halves>,
        labels: LabelMap,
        dictionary: &Arc<Dictionary>,
    ) -> Result<Self, UnknownList> {
        let reader = Reader::new(&model, dictionary)?;
        let (tables, tags) = (reader.tables(), model.tags);
        Ok(Self {
            name: name.to_owned(),
            labels,
            runner: Runner::new(isa, &model.architecture, model.params, words, &tags, tables),
            tags,
            reader,
            long: LONG,
            caches: Caches::default(),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        })
    }

    /// Runs `f` with a thread's cache.
    fn with<T>(&self, f: impl FnOnce(&mut Kept) -> T) -> T {
        let mut kept = self.caches.take();
        kept.tidy();
        f(&mut kept)
    }
}

impl Tagger for NeuralMember {
    fn name(&self) -> &str {
        &self.name
    }

    fn tag(&self, batch: &NoteBatch) -> Vec<Result<Annotations, TagError>> {
        let is_long = |row: &usize| batch.note(*row).tokens.len() > self.long;
        let mut tagged = Vec::with_capacity(batch.len());
        while tagged.len() < batch.len() {
            let first = tagged.len();
            let short = (first..batch.len()).take_while(|row| !is_long(row)).count();
            if short == batch.len() {
                return self.tag_short(batch);
            }
            if short == 0 {
                tagged.push(self.tag_long(batch, first));
            } else {
                tagged.extend(self.tag_short(&batch.slice(first, short)));
            }
        }
        tagged
    }

    fn is_trained_on(&self, label: LabelId) -> bool {
        self.labels.contains(label)
    }

    /// Counts word types and contexts: two look-ups per token.
    fn lookups(&self) -> Option<Lookups> {
        Some(Lookups {
            hits: self.hits.load(Relaxed),
            misses: self.misses.load(Relaxed),
        })
    }

    fn cache_bytes(&self) -> usize {
        self.caches.bytes()
    }
}

impl NeuralMember {
    /// Tags a batch without long notes.
    fn tag_short(&self, batch: &NoteBatch) -> Vec<Result<Annotations, TagError>> {
        self.with(|kept| {
            let (read, tagged) = self.runner.run(&self.reader, batch, kept, none());
            self.count(&tagged);
            let done = batch.advance();
            let one = |(note, range): (_, &Range<usize>)| {
                done.clone()?;
                let mut spans = Spans::new(&self.tags);
                spans.push(&tagged.tags[range.clone()], &tagged.token_scores[range.clone()]);
                self.collect(note, &spans)
            };
            batch.notes().zip(&read.notes).map(one).collect()
        })
    }

    /// Tags a long note in parts.
    fn tag_long(&self, batch: &NoteBatch, row: usize) -> Result<Annotations, TagError> {
        self.with(|kept| {
            let (note, mut spans) = (batch.note(row), Spans::new(&self.tags));
            self.runner.run_long(&self.reader, note, kept, |_, tagged| {
                self.count(tagged);
                spans.push(&tagged.tags, &tagged.token_scores);
                batch.advance()
            })?;
            self.collect(note, &spans)
        })
    }

    fn collect(&self, note: NoteView<'_>, spans: &Spans<'_>) -> Result<Annotations, TagError> {
        let mut collector = Collector::new(note);
        for (span, score) in spans.found() {
            collector.tokens(span.first, span.last, self.labels.get(span.label), *score, "");
        }
        Ok(collector.finish()?)
    }

    /// Counts look-ups.
    fn count(&self, tagged: &Tagged) {
        self.misses.fetch_add(tagged.computed as u64, Relaxed);
        let lookups = 2 * tagged.tags.len();
        self.hits
            .fetch_add(lookups.saturating_sub(tagged.computed) as u64, Relaxed);
    }

    /// Returns the same member, which reads notes of more than this many tokens in parts; tests use fewer
    /// than the default.
    #[must_use]
    pub fn with_window(self, tokens: usize) -> Self {
        Self { long: tokens, ..self }
    }
}

impl Marginals for NeuralMember {
    fn tags(&self) -> &TagSet {
        &self.tags
    }

    /// With a CRF layer, the probabilities are given the whole sequence, else by the token's own scores
    /// alone.
    fn marginals(&self, batch: &NoteBatch) -> Vec<Vec<f32>> {
        self.with(|kept| {
            let tags = self.tags.len();
            let tokens: usize = batch.notes().map(|note| note.tokens.len()).sum();
            let mut all = vec![0.0; tokens * tags];
            let (read, _) = self.runner.run(
                &self.reader,
                batch,
                kept,
                Some(|token: usize, probabilities: &[f32]| {
                    all[token * tags..(token + 1) * tags].copy_from_slice(probabilities);
                }),
            );
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
