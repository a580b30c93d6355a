//! Runs a trained network: many notes at once, without repeated computations.
//!
//! The contribution of a word type to the LSTM's gates (its vector, its characters read by their own LSTM,
//! capitals and shape) is one row, computed when the type first occurs and then cached; so is that of a
//! context. A token's input is then the sum of two rows, and large matrix products are needed only for new
//! types. Sums have the same order for every token, so that a note gets the same tags in every batch.

mod inputs;
mod kept;

use std::ops::Range;

use lethe_core::{NoteBatch, NoteView};
use lethe_kernel::{Affine, Buffer, ByteSteps, Isa, Matrix, tanh_in_place};
use lethe_learn::TagSet;

use crate::bilstm::BiLstm;
use crate::bucket::Bucket;
use crate::crf::Running;
use crate::halves::Halves;
use crate::model::{Architecture, Model, Params, slot};
use crate::precision::Precision;
use crate::reader::{LONGEST, Read, Reader, Tables};
use crate::rounded::{Plain, RoundedLayers};
use crate::tape::{lstm, softmax};
use kept::KEPT;
pub(crate) use kept::{Kept, Tagged};

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

/// The fewest rows between the one being read and the one being prefetched.
const AHEAD: usize = 4;

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
    above: Above,
    crf: Running,
}

/// The layers above the words' LSTM, in single precision or rounded together with the LSTM.
enum Above {
    Single { layer: Option<Affine>, out: Affine },
    Rounded(RoundedLayers),
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
        let isa = match a.precision {
            Precision::Int8 => ByteSteps::isa(isa),
            Precision::Float32 => isa,
        };
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
        let spread_layer = (a.layer > 0).then(|| spread(slot::LAYER).0);
        let layer = spread_layer.as_deref().map(|weights| Plain {
            weights,
            bias: params.get(slot::LAYER + 1),
        });
        let spread_out = layer.is_none().then(|| spread(slot::OUT).0);
        let out = Plain {
            weights: spread_out.as_deref().unwrap_or(&params.0[slot::OUT].data),
            bias,
        };
        let above = match a.precision {
            Precision::Int8 => {
                let recurrent = lstm(params, slot::WORD_LSTM);
                Above::Rounded(RoundedLayers::new(isa, &word_lstm, recurrent, layer, out, &crf))
            }
            Precision::Float32 => Above::Single {
                layer: layer
                    .map(|layer| Affine::new(Matrix::of_rows(isa, layer.weights, a.layer, 0.0), layer.bias)),
                out: crf.map(out.weights, out.bias),
            },
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
            above,
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
        let steps = (0..bucket.steps()).flat_map(|t| (0..bucket.step(t).len()).map(move |s| (s, t)));
        let tokens: Vec<usize> = steps.map(|(s, t)| group[s].start + t).collect();
        match &self.above {
            Above::Single { layer, out } => self.scores_of(bucket, &tokens, read, kept, layer.as_ref(), out),
            Above::Rounded(layers) => self.byte_scores(bucket, &tokens, read, kept, layers),
        }
    }

    /// Computes them in single precision.
    fn scores_of(
        &self,
        bucket: &Bucket,
        tokens: &[usize],
        read: &Read,
        kept: &mut Kept,
        layer: Option<&Affine>,
        out: &Affine,
    ) {
        let (rows, width) = (bucket.rows(), self.word_lstm.gates_width());
        let Kept {
            memory,
            types,
            contexts,
            trace,
            ..
        } = kept;
        let fill = |direction: usize, rows: Range<usize>, gates: &mut [f32]| {
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
        };
        self.word_lstm.recur_filled(bucket, trace, fill);
        let (mut top, mut stride) = (&kept.trace.hidden[..], self.word_lstm.width());
        if let Some(layer) = layer {
            layer.apply(rows, top, stride, &mut kept.layer);
            tanh_in_place(self.isa, &mut kept.layer);
            (top, stride) = (&kept.layer[..], layer.matrix().width());
        }
        out.apply(rows, top, stride, &mut kept.scores);
    }

    /// Computes them with bytes.
    fn byte_scores(
        &self,
        bucket: &Bucket,
        tokens: &[usize],
        read: &Read,
        kept: &mut Kept,
        layers: &RoundedLayers,
    ) {
        let width = self.word_lstm.gates_width();
        let Kept {
            memory,
            short_types: types,
            short_contexts: contexts,
            trace,
            ..
        } = kept;
        let fill = |direction: usize, rows: Range<usize>, gates: &mut [f32]| {
            // Rows lie anywhere in memory, so those of the next step are prefetched.
            let ahead = rows.len().max(AHEAD);
            let next = |at: usize| match direction {
                0 => at.checked_add(ahead),
                _ => at.checked_sub(ahead),
            };
            self.isa.widely(
                #[inline(always)]
                || {
                    for (at, to) in rows.zip(gates.chunks_exact_mut(width)) {
                        if let Some(&token) = next(at).and_then(|next| tokens.get(next)) {
                            types.prefetch(direction, read.types[token], width);
                        }
                        let (own, context) = (read.types[tokens[at]], read.contexts[tokens[at]]);
                        match memory.contexts.rows(context) {
                            [] => types.read(direction, own, to),
                            _ => types.read_both(direction, own, (contexts, context), to),
                        }
                    }
                },
            );
        };
        self.word_lstm.recur_bytes(layers.steps(), bucket, trace, fill);
        let (layer, scores) = (&mut kept.layer, &mut kept.scores);
        layers.scores(bucket.rows(), &trace.bytes, layer, &mut kept.bytes, scores);
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
