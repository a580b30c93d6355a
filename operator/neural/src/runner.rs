//! Runs a trained network: many notes at once, without repeated computations.
//!
//! The contribution of a word type to the LSTM's gates (its vector, its characters read by their own LSTM,
//! capitals and shape) is one row, computed when the type first occurs and then cached; so is that of a
//! context. A token's input is then the sum of two rows, and large matrix products are needed only for new
//! types. Sums have the same order for every token, so that a note gets the same tags in every batch.

use std::ops::Range;

use lethe_core::{NoteBatch, NoteView};
use lethe_kernel::{Affine, Buffer, Isa, Matrix, tanh_in_place};
use lethe_learn::TagSet;

use crate::bilstm::{BiLstm, Trace};
use crate::bucket::Bucket;
use crate::crf::{Running, Scratch};
use crate::halves::Halves;
use crate::model::{Architecture, Model, Params, slot};
use crate::reader::{LONGEST, Memory, Read, Reader, Tables};
use crate::rows::Rows;
use crate::tape::{Spelling, lstm, softmax};

/// The approximate rows of a bucket: the memory of its states fits the second-level cache.
const ROWS: usize = 512;
/// The fewest sequences of a bucket, if there are as many: a step with few rows takes as long as one with
/// many, since it waits for the weights.
const SIDE_BY_SIDE: usize = 12;
/// The approximate number of tokens that are read at once: word types take some kilobytes each, and a note
/// may have any number of them.
const WINDOW: usize = 1 << 15;
/// The approximate number of tokens in a part of a long note: as many sequences as run in parallel. This many
/// word types and contexts are kept from part to part.
const PART: usize = SIDE_BY_SIDE * LONGEST;
/// The most cached rows of word types and of contexts; beyond it, all are removed before the next batch.
const KEPT: usize = 1 << 14;

/// For callers that need no probabilities.
pub(crate) const fn none() -> Option<fn(usize, &[f32])> {
    None
}

/// A network packed for running.
pub(crate) struct Runner {
    isa: Isa,
    architecture: Architecture,
    tags: usize,
    tables: Tables,
    params: Params,
    words: Option<Halves>,
    char_lstm: BiLstm,
    /// The contribution of each character to the gates of the characters' LSTM, one row per character, for
    /// each direction.
    chars: [Buffer; 2],
    word_lstm: BiLstm,
    layer: Option<Affine>,
    out: Affine,
    crf: Running,
}

/// The cache of one thread between batches.
#[derive(Clone, Default)]
pub(crate) struct Kept {
    pub(crate) memory: Memory,
    types: Rows,
    contexts: Rows,
    inputs: Buffer,
    trace: Trace,
    layer: Buffer,
    scores: Buffer,
    probabilities: Buffer,
    scratch: Scratch,
    path: Vec<u16>,
}

impl Kept {
    /// Must be called before each batch: resets caches that have grown too large.
    pub(crate) fn tidy(&mut self) {
        self.forget(KEPT);
    }

    /// Removes word types and contexts if there are more than `most`.
    fn forget(&mut self, most: usize) {
        self.forget_types(most);
        if self.memory.contexts.len() > most {
            self.memory.contexts.clear();
            self.contexts.clear();
        }
    }

    /// Does the same before a part of a batch whose contexts were read already.
    fn forget_types(&mut self, most: usize) {
        if self.memory.types.len() > most {
            self.memory.types.clear();
            self.types.clear();
        }
    }
}

/// The tags of tokens, and the probability of each token to be in any span.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tagged {
    pub(crate) tags: Vec<u16>,
    pub(crate) token_scores: Vec<f32>,
    /// The number of word types and contexts that were not cached.
    pub(crate) computed: usize,
}

impl Tagged {
    /// Returns this many tokens outside every span.
    fn outside(tokens: usize, scored: bool) -> Self {
        Self {
            tags: vec![TagSet::OUTSIDE; tokens],
            token_scores: vec![0.0; if scored { tokens } else { 0 }],
            computed: 0,
        }
    }
}

impl Runner {
    /// Packs a copy of a model's parameters.
    pub(crate) fn of(isa: Isa, model: &Model, tags: &TagSet, tables: Tables) -> Self {
        Self::new(isa, &model.architecture, model.params.clone(), None, tags, tables)
    }

    /// Packs a model's parameters. `words` has the word vectors if those of the parameters are empty.
    pub(crate) fn new(
        isa: Isa,
        a: &Architecture,
        all: Params,
        words: Option<Halves>,
        tags: &TagSet,
        tables: Tables,
    ) -> Self {
        let params = &all;
        let word_lstm = BiLstm::new(isa, a.hidden, lstm(params, slot::WORD_LSTM));
        // The rows of the matrix above the LSTM match the columns of the LSTM's states.
        let spread = |slot: usize| {
            let tensor = &params.0[slot];
            let n = tensor.columns;
            let mut rows = vec![0.0; word_lstm.width() * n];
            for (unit, row) in tensor.data.chunks_exact(n).enumerate() {
                rows[word_lstm.column(unit) * n..][..n].copy_from_slice(row);
            }
            (rows, n)
        };
        let n = tags.len();
        let crf = if a.crf {
            let [pairs, starts, ends] = [slot::PAIRS, slot::STARTS, slot::ENDS].map(|slot| params.get(slot));
            Running::new(isa, tags, pairs, starts, ends)
        } else {
            // Each token is independent, except that forbidden transitions stay forbidden.
            Running::new(isa, tags, &vec![0.0; n * n], &vec![0.0; n], &vec![0.0; n])
        };
        let bias = params.get(slot::OUT_BIAS);
        let (layer, out) = if a.layer > 0 {
            let (rows, n) = spread(slot::LAYER);
            let layer = Affine::new(Matrix::of_rows(isa, &rows, n, 0.0), params.get(slot::LAYER + 1));
            (Some(layer), crf.map(&params.0[slot::OUT].data, bias))
        } else {
            (None, crf.map(&spread(slot::OUT).0, bias))
        };
        let char_lstm = BiLstm::new(isa, a.char_hidden, lstm(params, slot::CHAR_LSTM));
        let table = params.get(slot::CHAR);
        let mut chars = [Buffer::default(), Buffer::default()];
        let [fore, back] = &mut chars;
        char_lstm.project(table.len() / a.char, table, a.char, true, [fore, back]);
        Self {
            isa,
            architecture: a.clone(),
            tags: n,
            tables,
            params: all,
            words,
            char_lstm,
            chars,
            word_lstm,
            layer,
            out,
            crf,
        }
    }

    /// Reads and tags a batch, with memory independent of the length of its notes; calls `marginals` with
    /// each token and its probability of each tag.
    pub(crate) fn run(
        &self,
        reader: &Reader,
        batch: &NoteBatch,
        kept: &mut Kept,
        mut marginals: Option<impl FnMut(usize, &[f32])>,
    ) -> (Read, Tagged) {
        let mut read = reader.lay_out(batch, &mut kept.memory);
        let mut tagged = Tagged::outside(read.types.len(), true);
        for window in windows(&read.sequences) {
            let (Some(first), Some(last)) = (
                read.sequences[window.clone()].first(),
                read.sequences[window.clone()].last(),
            ) else {
                continue;
            };
            let tokens = first.start..last.end;
            kept.forget_types(KEPT);
            reader.read_words(batch, tokens, &mut read, &mut kept.memory);
            self.tag_part(&read, window, kept, true, &mut tagged, &mut marginals);
        }
        (read, tagged)
    }

    /// Reads and tags a long note in parts; calls `each` with the first token of a part and its tags, until
    /// that fails.
    ///
    /// # Errors
    /// The error of `each`.
    pub(crate) fn run_long<E>(
        &self,
        reader: &Reader,
        note: NoteView<'_>,
        kept: &mut Kept,
        mut each: impl FnMut(usize, &Tagged) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut parts = reader.parts(note);
        loop {
            kept.forget(PART);
            let Some((first, read)) = parts.next(PART, &mut kept.memory) else {
                return Ok(());
            };
            let mut tagged = Tagged::outside(read.types.len(), true);
            let all = 0..read.sequences.len();
            self.tag_part(&read, all, kept, true, &mut tagged, &mut none());
            each(first, &tagged)?;
        }
    }

    /// Tags the tokens that were read.
    pub(crate) fn tag(&self, read: &Read, kept: &mut Kept) -> Tagged {
        let mut tagged = Tagged::outside(read.types.len(), false);
        self.tag_part(
            read,
            0..read.sequences.len(),
            kept,
            false,
            &mut tagged,
            &mut none(),
        );
        tagged
    }

    /// Calls `each` with each token that was read and its probability of each tag.
    pub(crate) fn marginals(&self, read: &Read, kept: &mut Kept, each: impl FnMut(usize, &[f32])) {
        let mut tagged = Tagged::outside(read.types.len(), true);
        self.tag_part(
            read,
            0..read.sequences.len(),
            kept,
            true,
            &mut tagged,
            &mut Some(each),
        );
    }

    /// Tags some of the sequences; if `scored`, also computes the probability of each token to be in some
    /// span, and calls `marginals`.
    fn tag_part(
        &self,
        read: &Read,
        sequences: Range<usize>,
        kept: &mut Kept,
        scored: bool,
        tagged: &mut Tagged,
        marginals: &mut Option<impl FnMut(usize, &[f32])>,
    ) {
        tagged.computed += self.new_rows(kept);
        for group in buckets(&read.sequences[sequences]) {
            let bucket = Bucket::new(group.iter().map(Range::len).collect());
            self.scores(&bucket, &group, read, kept);
            let width = self.crf.width();
            let mut by_tag = vec![0.0; self.tags];
            let outside = self.crf.column(TagSet::OUTSIDE);
            if scored {
                kept.probabilities.reuse(kept.scores.len());
                kept.probabilities.copy_from_slice(&kept.scores);
                if self.architecture.crf {
                    self.crf
                        .marginals(&bucket, &mut kept.probabilities, &mut kept.scratch);
                } else {
                    kept.probabilities.chunks_exact_mut(width).for_each(softmax);
                }
            }
            self.crf.decode(&bucket, &mut kept.scores, &mut kept.path);
            for (s, range) in group.iter().enumerate() {
                for (t, token) in range.clone().enumerate() {
                    let row = bucket.row(s, t);
                    let tag = kept.path[row];
                    tagged.tags[token] = tag;
                    if scored {
                        let all = &kept.probabilities[row * width..][..width];
                        tagged.token_scores[token] = (1.0 - all[outside]).clamp(0.0, 1.0);
                        if let Some(marginals) = marginals {
                            self.crf.by_tag(all, &mut by_tag);
                            marginals(token, &by_tag);
                        }
                    }
                }
            }
        }
    }

    /// Computes the tags' scores of a bucket, into `kept.scores`.
    fn scores(&self, bucket: &Bucket, group: &[Range<usize>], read: &Read, kept: &mut Kept) {
        let (rows, width) = (bucket.rows(), self.word_lstm.gates_width());
        let steps = (0..bucket.steps()).flat_map(|t| (0..bucket.step(t).len()).map(move |s| (s, t)));
        let tokens: Vec<usize> = steps.map(|(s, t)| group[s].start + t).collect();
        let Kept {
            memory,
            types,
            contexts,
            trace,
            ..
        } = kept;
        self.word_lstm
            .recur_filled(bucket, trace, |direction, rows, gates| {
                for (&token, to) in tokens[rows].iter().zip(gates.chunks_exact_mut(width)) {
                    let own = types.get(direction, read.types[token], width);
                    let context = read.contexts[token];
                    if memory.contexts.rows(context).is_empty() {
                        to.copy_from_slice(own);
                    } else {
                        let more = contexts.get(direction, context, width);
                        self.isa.widely(
                            #[inline(always)]
                            || {
                                for (to, (own, more)) in to.iter_mut().zip(own.iter().zip(more)) {
                                    *to = own + more;
                                }
                            },
                        );
                    }
                }
            });
        let (mut top, mut stride) = (&kept.trace.hidden[..], self.word_lstm.width());
        if let Some(layer) = &self.layer {
            layer.apply(rows, top, stride, &mut kept.layer);
            tanh_in_place(self.isa, &mut kept.layer);
            (top, stride) = (&kept.layer[..], layer.matrix().width());
        }
        self.out.apply(rows, top, stride, &mut kept.scores);
    }

    /// Writes to `inputs` the input of the words' LSTM for some word types. Overwrites `trace`.
    fn read_types(&self, new: Range<usize>, memory: &Memory, trace: &mut Trace, inputs: &mut Buffer) {
        let (a, parts) = (&self.architecture, self.architecture.parts());
        let spelling = Spelling::new((new.start as u32..new.end as u32).collect(), memory);
        let width = self.char_lstm.gates_width();
        let gates = self.char_lstm.gates_of(spelling.bucket.rows(), trace);
        for (gates, chars) in gates.into_iter().zip(&self.chars) {
            for (gates, &c) in gates.chunks_exact_mut(width).zip(&spelling.chars) {
                gates.copy_from_slice(&chars[c as usize * width..][..width]);
            }
        }
        self.char_lstm.recur(&spelling.bucket, false, trace);
        inputs.reset(new.len() * a.inputs());
        for (i, &at) in spelling.types.iter().enumerate() {
            let kind = memory.types.get(at);
            let x = &mut inputs[(at as usize - new.start) * a.inputs()..][..a.inputs()];
            match &self.words {
                Some(words) => words.row(kind.word as usize, &mut x[..a.word]),
                None => x[..a.word].copy_from_slice(self.params.row(slot::WORD, kind.word as usize)),
            }
            for (direction, last) in spelling.last(i).into_iter().enumerate() {
                let from = last * self.char_lstm.width() + self.char_lstm.column(direction * a.char_hidden);
                x[parts[1] + direction * a.char_hidden..][..a.char_hidden]
                    .copy_from_slice(&trace.hidden[from..from + a.char_hidden]);
            }
            if a.cap > 0 {
                x[parts[2]..parts[3]].copy_from_slice(self.params.row(slot::CAP, usize::from(kind.cap)));
            }
            if a.lexical > 0 {
                x[parts[3]..parts[4]].copy_from_slice(self.params.row(slot::SHAPE, usize::from(kind.shape)));
            }
        }
    }

    /// Writes to `inputs` the input of the words' LSTM for some contexts.
    fn read_contexts(&self, new: Range<usize>, memory: &Memory, inputs: &mut Buffer) {
        let (a, parts) = (&self.architecture, self.architecture.parts());
        inputs.reset(new.len() * a.inputs());
        for (at, x) in new.zip(inputs.chunks_exact_mut(a.inputs())) {
            for &row in memory.contexts.rows(at as u32) {
                let (table, row, part) = self.tables.of(row);
                let to = x[parts[part]..parts[part + 1]].iter_mut();
                to.zip(self.params.row(table, row)).for_each(|(x, v)| *x += v);
            }
        }
    }

    /// Computes the rows of new word types and contexts, and returns their number.
    fn new_rows(&self, kept: &mut Kept) -> usize {
        let Kept {
            memory,
            types,
            contexts,
            inputs,
            trace,
            ..
        } = kept;
        let stride = self.architecture.inputs();
        let mut computed = 0;
        types.grow(memory.types.len(), |new, out| {
            computed += new.len();
            self.read_types(new.clone(), memory, trace, inputs);
            self.word_lstm.project(new.len(), inputs, stride, true, out);
        });
        contexts.grow(memory.contexts.len(), |new, out| {
            computed += new.len();
            self.read_contexts(new.clone(), memory, inputs);
            self.word_lstm.project(new.len(), inputs, stride, false, out);
        });
        computed
    }
}

/// Returns ranges of sequences, in order, with about [`WINDOW`] tokens each.
fn windows(sequences: &[Range<usize>]) -> Vec<Range<usize>> {
    let (mut ranges, mut first, mut tokens) = (Vec::new(), 0, 0);
    for (at, sequence) in sequences.iter().enumerate() {
        tokens += sequence.len();
        if tokens >= WINDOW || at + 1 == sequences.len() {
            ranges.push(first..at + 1);
            (first, tokens) = (at + 1, 0);
        }
    }
    ranges
}

/// Returns sequences by decreasing length, in groups of about [`ROWS`] tokens.
pub(crate) fn buckets(sequences: &[Range<usize>]) -> Vec<Vec<Range<usize>>> {
    let mut order: Vec<&Range<usize>> = sequences.iter().collect();
    order.sort_by_key(|range| std::cmp::Reverse(range.len()));
    let mut groups: Vec<Vec<Range<usize>>> = Vec::new();
    let mut rows = 0;
    for range in order {
        match groups.last_mut() {
            Some(group) if rows < ROWS || group.len() < SIDE_BY_SIDE => group.push(range.clone()),
            _ => {
                groups.push(vec![range.clone()]);
                rows = 0;
            }
        }
        rows += range.len();
    }
    groups
}
