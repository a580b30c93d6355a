//! Converts a batch's columns to spans, in the same way for running and for evaluating a member.

mod windows;

use std::ops::Range;

use lethe_core::{Caches, NoteBatch, vec_bytes};
use lethe_corpus::{Counts, Document, Mark};
use lethe_learn::Spanned;

use crate::chain::{Chain, Scratch};
use crate::greedy::{Greedy, Past};
use crate::model::{Form, Model};
use crate::scorer::{Cache, Plan};
use crate::{Columns, States, kernel};

/// Tokens around a span that are included in the computation of its score: those further away hardly affect
/// it.
const AROUND: usize = 1;

/// The most tokens that are decoded at once: each takes some hundred bytes, and a note may have any number of
/// them.
const WINDOW: usize = 1 << 15;

/// Tokens at the end of such a stretch that are decoded again with the next one.
const AHEAD: usize = 64;

/// A state whose score is below a token's best by more than this exponent is raised to this bound: a
/// probability of one in twenty thousand affects no score, and sums with a wider range take ten times as
/// long.
const SPREAD: f32 = 10.0;
/// The state outside every span ([`States`]).
const OUTSIDE: usize = 0;

/// A model prepared for decoding. Threads may share it.
pub struct Decoder {
    model: Model,
    chain: Chain,
    /// The chain with its steps in log-probabilities.
    soft: Chain,
    greedy: Option<Greedy>,
    window: usize,
    memories: Caches<Memory>,
}

/// Buffers that one thread reuses between batches.
#[derive(Default)]
struct Memory {
    cache: Cache,
    scratch: Scratch,
    scores: Vec<f32>,
    soft: Vec<f32>,
    path: Vec<u8>,
    tags: Vec<u16>,
    past: Past,
    /// The decoding state of a long note.
    long: windows::Long,
}

impl lethe_core::Cache for Memory {
    fn bytes(&self) -> usize {
        let numbers = vec_bytes(&self.scores) + vec_bytes(&self.soft);
        self.cache.bytes() + self.scratch.bytes() + numbers + self.long.bytes()
    }
}

impl Decoder {
    /// Prepares a model for decoding.
    pub fn new(model: Model) -> Self {
        Self {
            chain: model.chain(1.0),
            soft: model.chain(model.warmth()).coarse(),
            greedy: (model.form() == Form::Greedy).then(|| Greedy::new(&model)),
            model,
            window: WINDOW,
            memories: Caches::default(),
        }
    }

    /// Returns the model.
    pub const fn model(&self) -> &Model {
        &self.model
    }

    fn states(&self) -> &States {
        self.model.states()
    }

    fn with_memory<T>(&self, work: impl FnOnce(&mut Memory) -> T) -> T {
        work(&mut self.memories.take())
    }

    /// Returns the bytes of memory that its caches take.
    pub(crate) fn cache_bytes(&self) -> usize {
        self.memories.bytes()
    }

    /// Returns the spans of each row with their scores, 0 to 1. The columns must have the views that the
    /// model was fitted to.
    pub fn spans(&self, columns: &Columns) -> Vec<Vec<(Spanned, f32)>> {
        self.with_memory(|memory| {
            let plan = Plan::new(&self.model, columns, &mut memory.cache);
            let Memory {
                cache,
                scratch,
                scores,
                soft,
                path,
                tags,
                past,
                ..
            } = memory;
            let words = columns.views.first().map(|view| &columns.tables[view.table].ids);
            let mut of_note = |note: &Range<usize>| {
                let mut found = Vec::new();
                let (mut start, mut before) = (note.start, None);
                while start < note.end {
                    // Greedy decoding uses all words before.
                    let end = match self.greedy {
                        Some(_) => note.end,
                        None => note.end.min(start + self.window),
                    };
                    plan.scores_of(&self.model, cache, note, start..end, scores);
                    match (&self.greedy, words) {
                        (Some(greedy), Some(words)) => {
                            greedy.path(scores, &words[note.clone()], past, path, None);
                        }
                        _ => self.chain.best_path_after(before, scores, scratch, path),
                    }
                    if end < note.end {
                        path.truncate(self.settled(path));
                    }
                    // Every state of a path has a tag.
                    tags.clear();
                    tags.extend(
                        path.iter()
                            .map(|&state| self.states().tag(state.into()).unwrap_or(0)),
                    );
                    let spans = self.states().tags().decode(tags);
                    let scored = match (&self.greedy, words) {
                        _ if spans.is_empty() => Vec::new(),
                        (Some(greedy), Some(words)) => {
                            greedy.path(scores, &words[note.clone()], past, path, Some(soft));
                            let outside = |t: usize| soft[t * self.states().width() + OUTSIDE];
                            let score = |span: &Spanned| least(span, outside);
                            spans.iter().map(|span| (*span, score(span))).collect()
                        }
                        _ => self.scored(&spans, before, path, scores, soft, scratch),
                    };
                    let shift = start - note.start;
                    found.extend(scored.into_iter().map(|(span, score)| {
                        let (first, last) = (span.first + shift, span.last + shift);
                        (Spanned { first, last, ..span }, score)
                    }));
                    start += path.len();
                    before = path.last().copied();
                }
                found
            };
            columns.notes.iter().map(&mut of_note).collect()
        })
    }

    /// Returns the end of the settled part of a path whose note continues: after the last token outside every
    /// span that is not too close to its end, where later tokens might change the decision.
    fn settled(&self, path: &[u8]) -> usize {
        let settled = path.len().saturating_sub(AHEAD);
        let outside = path[..settled]
            .iter()
            .rposition(|&state| usize::from(state) == OUTSIDE);
        outside.map_or(path.len(), |last| last + 1)
    }

    /// Returns the score of each span: the probability that its least certain token is in any span, given the
    /// rest of the path.
    fn scored(
        &self,
        spans: &[Spanned],
        begin: Option<u8>,
        path: &[u8],
        scores: &[f32],
        soft: &mut Vec<f32>,
        scratch: &mut Scratch,
    ) -> Vec<(Spanned, f32)> {
        let width = self.states().width();
        let mut scored = Vec::with_capacity(spans.len());
        let mut rest = spans;
        while let Some(first) = rest.first() {
            let start = first.first.saturating_sub(AROUND);
            let mut end = (first.last + 1 + AROUND).min(path.len());
            let mut together = 1;
            while let Some(next) = rest.get(together).filter(|next| next.first <= end + AROUND) {
                end = (next.last + 1 + AROUND).min(path.len());
                together += 1;
            }
            soft.clear();
            for row in scores[start * width..end * width].chunks_exact(width) {
                let most = kernel::largest(row) * self.model.warmth();
                soft.extend(
                    row.iter()
                        .map(|score| (score * self.model.warmth()).max(most - SPREAD)),
                );
            }
            let before = start.checked_sub(1).map_or(begin, |at| Some(path[at]));
            let outside = self.soft.outside_after(before, soft, scratch);
            let score = |span: &Spanned| least(span, |t| outside[t - start]);
            scored.extend(rest[..together].iter().map(|span| (*span, score(span))));
            rest = &rest[together..];
        }
        scored
    }

    /// Calls `each` with every note's row and the marginals of its tokens, one row of states per token.
    pub(crate) fn marginals(&self, columns: &Columns, mut each: impl FnMut(usize, &[f32])) {
        self.with_memory(|memory| {
            let plan = Plan::new(&self.model, columns, &mut memory.cache);
            let words = columns.views.first().map(|view| &columns.tables[view.table].ids);
            for (row, note) in columns.notes.iter().enumerate() {
                plan.scores(&self.model, &mut memory.cache, note, &mut memory.scores);
                match (&self.greedy, words) {
                    (Some(greedy), Some(words)) => {
                        greedy.path(
                            &memory.scores,
                            &words[note.clone()],
                            &mut memory.past,
                            &mut memory.path,
                            Some(&mut memory.soft),
                        );
                        each(row, &memory.soft);
                    }
                    _ => {
                        let by = self.model.warmth();
                        memory.soft.clear();
                        memory.soft.extend(memory.scores.iter().map(|score| score * by));
                        let (marginals, _) = self.soft.marginals(&memory.soft, &mut memory.scratch);
                        each(row, marginals);
                    }
                }
            }
        });
    }

    /// Calls `each` with every note's row and the scores of its tokens, one row of states per token.
    pub(crate) fn scores(&self, columns: &Columns, mut each: impl FnMut(usize, &[f32])) {
        self.with_memory(|memory| {
            let plan = Plan::new(&self.model, columns, &mut memory.cache);
            for (row, note) in columns.notes.iter().enumerate() {
                plan.scores(&self.model, &mut memory.cache, note, &mut memory.scores);
                each(row, &memory.scores);
            }
        });
    }

    /// Returns strict counts against gold over all documents.
    pub(crate) fn counts(&self, columns: &Columns, batch: &NoteBatch, documents: &[Document]) -> Counts {
        let labels = self.states().tags().labels();
        let mut counts = Counts::default();
        for ((note, document), spans) in batch.notes().zip(documents).zip(self.spans(columns)) {
            let mark = |&(span, score): &(Spanned, f32)| Mark {
                span: note.tokens_span(span.first, span.last),
                label: labels[span.label].clone(),
                score: Some(score),
            };
            let marks: Vec<Mark> = spans.iter().map(mark).collect();
            counts += Counts::strict(&document.marks, &marks);
        }
        counts
    }
}

/// Returns the probability that a span's least certain token is in a span; `outside` is the probability of
/// each token to be outside.
fn least(span: &Spanned, outside: impl Fn(usize) -> f32) -> f32 {
    (span.first..=span.last)
        .map(|t| 1.0 - outside(t))
        .fold(1.0f32, f32::min)
        .clamp(0.0, 1.0)
}

/// Returns the logarithmic loss of gold's tags if scores become log-probabilities by the factor `warmth`.
pub(crate) fn log_loss(model: &Model, warmth: f32, columns: &Columns, gold: &[Vec<u16>]) -> f64 {
    let width = model.states().width();
    let mut warmed = model.clone();
    warmed.set_warmth(warmth);
    let decoder = Decoder::new(warmed);
    let mut loss = 0.0f64;
    decoder.marginals(columns, |row, marginals| {
        for (&tag, marginals) in gold[row].iter().zip(marginals.chunks_exact(width)) {
            let state = decoder.states().of(tag) as usize;
            loss -= f64::from(marginals[state].max(1e-9)).ln();
        }
    });
    loss
}

/// Sets the factor that turns the model's scores into log-probabilities, such that gold is most likely (Platt
/// 1999, with one parameter; Guo et al. 2017 call it temperature).
pub(crate) fn warm(model: &mut Model, columns: &Columns, gold: &[Vec<u16>]) {
    let loss = |warmth: f32| log_loss(model, warmth, columns, gold);
    // Golden section search over the logarithm, from 1/64 to 16: the loss is unimodal.
    let ratio = (5f32.sqrt() - 1.0) / 2.0;
    let (mut low, mut high) = ((1.0f32 / 64.0).ln(), 16f32.ln());
    let (mut a, mut b) = (high - ratio * (high - low), low + ratio * (high - low));
    let (mut at_a, mut at_b) = (loss(a.exp()), loss(b.exp()));
    while high - low > 0.05 {
        if at_a < at_b {
            (high, b, at_b) = (b, a, at_a);
            a = high - ratio * (high - low);
            at_a = loss(a.exp());
        } else {
            (low, a, at_a) = (a, b, at_b);
            b = low + ratio * (high - low);
            at_b = loss(b.exp());
        }
    }
    model.set_warmth((f32::midpoint(low, high)).exp());
}

#[cfg(test)]
mod tests {
    use lethe_learn::{Scheme, TagSet};

    use super::*;
    use crate::chain::Layout;
    use crate::model::Weight;
    use crate::{Table, View, salted};

    #[test]
    fn marginals_of_scores_that_no_path_can_join_are_still_probabilities() {
        // The first word can only begin a span, the second can only be outside: no BILOU path has both.
        let states = States::new(TagSet::new(Scheme::Bilou, vec!["A".to_owned()])).unwrap();
        let weight = |feature, tag| Weight {
            hash: salted(feature, 0),
            state: states.of(tag),
            weight: 500.0,
            count: 1,
        };
        let weights = vec![weight(1 << 40, 1), weight(2 << 40, 0)];
        let steps = vec![0.0; Layout::of(&states).len()];
        let model = Model::of_weights(&states, Form::Chain, weights, 500.0, steps, Vec::new());
        let columns = Columns {
            notes: std::iter::once(0..2).collect(),
            tables: vec![Table::new(vec![0, 1, 2], vec![1 << 40, 2 << 40], vec![1, 2])],
            views: vec![View::new(0, 0)],
        };
        let mut seen = 0;
        Decoder::new(model).marginals(&columns, |_, marginals| {
            for token in marginals.chunks_exact(states.width()) {
                let sum: f32 = token.iter().sum();
                assert!((sum - 1.0).abs() < 0.01, "{token:?}");
                seen += 1;
            }
        });
        assert_eq!(seen, 2);
    }

    #[test]
    fn a_note_that_is_decoded_in_parts_has_the_spans_of_the_whole() {
        let states = States::new(TagSet::new(Scheme::Bio, vec!["A".to_owned(), "B".to_owned()])).unwrap();
        // Words of eight types each prefer a tag; every tag prefers to continue.
        let weight = |(kind, tag): (u64, u16)| Weight {
            hash: salted((kind + 1) << 40, 0),
            state: states.of(tag),
            weight: 40.0 + 15.0 * kind as f32,
            count: 1,
        };
        let weights = (0..8).zip([0, 0, 0, 0, 1, 2, 3, 4]).map(weight).collect();
        let mut steps = vec![0.0; Layout::of(&states).len()];
        steps.iter_mut().step_by(3).for_each(|step| *step = 60.0);
        let model = Model::of_weights(&states, Form::Chain, weights, 500.0, steps, Vec::new());
        let mut seed = 7u32;
        let ids = (0..6000).map(|_| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            1 + (seed >> 24) % 8
        });
        let hashes = (0..8).map(|kind| (kind + 1) << 40).collect();
        let columns = Columns {
            notes: vec![0..10, 10..6000],
            tables: vec![Table::new((0..=8).collect(), hashes, ids.collect())],
            views: vec![View::new(0, 0), View::new(0, 1)],
        };
        let spans = |window| {
            let mut decoder = Decoder::new(model.clone());
            decoder.window = window;
            decoder.spans(&columns)
        };
        let whole = spans(WINDOW);
        assert!(
            whole[1].len() > 300 && whole[1].len() < 3000,
            "{}",
            whole[1].len()
        );
        for window in [200, 1001] {
            let parts = spans(window);
            let places = |found: &[(Spanned, f32)]| found.iter().map(|one| one.0).collect::<Vec<_>>();
            assert_eq!(places(&parts[1]), places(&whole[1]));
            for (part, whole) in parts[1].iter().zip(&whole[1]) {
                assert!((part.1 - whole.1).abs() < 1e-3, "{part:?} {whole:?}");
            }
        }
    }
}
