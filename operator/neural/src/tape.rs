//! Runs a network over a bucket: forward, and backward for training.

use lethe_kernel::{Affine, Buffer, Isa, Matrix, add_outer, columns, tanh_in_place};

use crate::bilstm::{BiLstm, Trace, Weights, turned};
use crate::bucket::Bucket;
use crate::crf::{Allowed, Crf, Grads};
use crate::model::{Architecture, Params, slot};
use crate::reader::{Memory, Tables};
use crate::rng::Rng;

/// A bucket of training sequences, one row per token.
pub(crate) struct Sample<'a> {
    pub(crate) bucket: &'a Bucket,
    /// Word types, by row.
    pub(crate) types: &'a [u32],
    /// Contexts, by row.
    pub(crate) contexts: &'a [u32],
    /// Words by row; 0 for a word that is taken as unknown.
    pub(crate) words: &'a [u32],
    /// The gold tags by row.
    pub(crate) gold: Gold<'a>,
}

/// The gold tags of rows.
#[derive(Clone, Copy)]
pub(crate) enum Gold<'a> {
    /// One tag per row.
    Hard(&'a [u16]),
    /// A share of each tag, row by row.
    Soft(&'a [f32]),
}

/// Returns the two directions of the LSTM whose tensors begin at `at`.
pub(crate) fn lstm(params: &Params, at: usize) -> [Weights<'_>; 2] {
    [at, at + 3].map(|at| Weights {
        input: params.get(at),
        recurrent: params.get(at + 1),
        bias: params.get(at + 2),
    })
}

/// The distinct word types of some rows, those with the most characters first, and a bucket of their
/// characters.
pub(crate) struct Spelling {
    pub(crate) bucket: Bucket,
    /// The types, in the bucket's order.
    pub(crate) types: Vec<u32>,
    /// Character rows of the table, by row.
    pub(crate) chars: Vec<u32>,
}

impl Spelling {
    /// Builds the spelling of distinct types.
    pub(crate) fn new(mut types: Vec<u32>, memory: &Memory) -> Self {
        let length = |at: u32| memory.types.chars(at).len();
        types.sort_unstable_by_key(|&at| (std::cmp::Reverse(length(at)), at));
        types.dedup();
        let bucket = Bucket::new(types.iter().map(|&at| length(at)).collect());
        let mut chars = Vec::with_capacity(bucket.rows());
        for t in 0..bucket.steps() {
            chars.extend(
                types[..bucket.step(t).len()]
                    .iter()
                    .map(|&at| memory.types.chars(at)[t]),
            );
        }
        Self { bucket, types, chars }
    }

    /// Returns the character vectors by row.
    fn inputs(&self, params: &Params) -> Vec<f32> {
        let rows = self.chars.iter();
        rows.flat_map(|&c| params.row(slot::CHAR, c as usize))
            .copied()
            .collect()
    }

    /// Returns the row of the hidden states at the end of type `i`, for each direction.
    pub(crate) fn last(&self, i: usize) -> [usize; 2] {
        [
            self.bucket.row(i, self.bucket.lengths()[i] - 1),
            self.bucket.row(i, 0),
        ]
    }
}

/// A network in training.
pub(crate) struct Tape<'a> {
    pub(crate) isa: Isa,
    pub(crate) architecture: &'a Architecture,
    pub(crate) allowed: &'a Allowed,
    pub(crate) tables: Tables,
    pub(crate) dropout: f32,
}

impl Tape<'_> {
    /// Adds the gradient of the loss of a bucket to `grads`, and returns the loss. `rng` draws the dropped
    /// units.
    pub(crate) fn gradient(
        &self,
        params: &Params,
        memory: &Memory,
        sample: &Sample<'_>,
        rng: &mut Rng,
        grads: &mut Params,
    ) -> f64 {
        let (a, rows) = (self.architecture, sample.bucket.rows());
        let parts = a.parts();
        let inputs = a.inputs();
        // Characters are read once per word type.
        let spelling = Spelling::new(sample.types.to_vec(), memory);
        let spelling_inputs = spelling.inputs(params);
        let char_lstm = BiLstm::new(self.isa, a.char_hidden, lstm(params, slot::CHAR_LSTM));
        let mut char_trace = Trace::default();
        char_lstm.forward(&spelling.bucket, &spelling_inputs, a.char, true, &mut char_trace);
        let mut spelt = vec![0; memory.types.len()];
        for (i, &at) in spelling.types.iter().enumerate() {
            spelt[at as usize] = i;
        }
        let char_at = |direction: usize, unit: usize| char_lstm.column(direction * a.char_hidden + unit);
        // The tokens' inputs.
        let mut x = Buffer::zeros(rows * inputs);
        for (row, x) in x.chunks_exact_mut(inputs).enumerate() {
            let kind = memory.types.get(sample.types[row]);
            x[..a.word].copy_from_slice(params.row(slot::WORD, sample.words[row] as usize));
            let last = spelling.last(spelt[sample.types[row] as usize]);
            for (direction, last) in last.into_iter().enumerate() {
                let from = last * char_lstm.width() + char_at(direction, 0);
                x[parts[1] + direction * a.char_hidden..][..a.char_hidden]
                    .copy_from_slice(&char_trace.hidden[from..from + a.char_hidden]);
            }
            if a.cap > 0 {
                x[parts[2]..parts[3]].copy_from_slice(params.row(slot::CAP, usize::from(kind.cap)));
            }
            if a.lexical > 0 {
                x[parts[3]..parts[4]].copy_from_slice(params.row(slot::SHAPE, usize::from(kind.shape)));
            }
            for &context in memory.contexts.rows(sample.contexts[row]) {
                let (table, at, part) = self.tables.of(context);
                let slots = x[parts[part]..parts[part + 1]].iter_mut();
                slots.zip(params.row(table, at)).for_each(|(x, v)| *x += v);
            }
        }
        let keep = 1.0 - self.dropout;
        let mask: Vec<f32> = (0..x.len())
            .map(|_| if rng.unit() < keep { 1.0 / keep } else { 0.0 })
            .collect();
        x.iter_mut().zip(&mask).for_each(|(x, m)| *x *= m);
        // The words' LSTM, its states without padding, and the layer above.
        let word_lstm = BiLstm::new(self.isa, a.hidden, lstm(params, slot::WORD_LSTM));
        let mut trace = Trace::default();
        word_lstm.forward(sample.bucket, &x, inputs, true, &mut trace);
        let both = 2 * a.hidden;
        let mut states = Vec::with_capacity(rows * both);
        for row in trace.hidden.chunks_exact(word_lstm.width()) {
            states.extend_from_slice(&row[..a.hidden]);
            states.extend_from_slice(&row[word_lstm.column(a.hidden)..][..a.hidden]);
        }
        let layer_width = columns(a.layer, self.isa);
        let mut layer = Buffer::default();
        if a.layer > 0 {
            layer = affine(self.isa, rows, &states, both, params, slot::LAYER);
            tanh_in_place(self.isa, &mut layer);
        }
        let (top, top_stride, top_size) = if a.layer > 0 {
            (&layer[..], layer_width, a.layer)
        } else {
            (&states[..], both, both)
        };
        let mut scores = affine(self.isa, rows, top, top_stride, params, slot::OUT);
        let tags = params.0[slot::OUT].columns;
        let width = columns(tags, self.isa);
        let loss = if a.crf {
            let crf = Crf::new(
                self.isa,
                self.allowed,
                params.get(slot::PAIRS),
                params.get(slot::STARTS),
                params.get(slot::ENDS),
            );
            let (pairs, rest) = grads.0[slot::PAIRS..].split_at_mut(1);
            let (starts, ends) = rest.split_at_mut(1);
            let own = Grads {
                pairs: &mut pairs[0].data,
                starts: &mut starts[0].data,
                ends: &mut ends[0].data,
            };
            match sample.gold {
                Gold::Hard(gold) => crf.loss(sample.bucket, &mut scores, gold, own),
                Gold::Soft(soft) => {
                    crf.soft_loss(&crf.free(self.allowed), sample.bucket, &mut scores, soft, own)
                }
            }
        } else {
            match sample.gold {
                Gold::Hard(gold) => softmax_loss(&mut scores, width, tags, gold),
                Gold::Soft(soft) => soft_loss(&mut scores, width, tags, soft),
            }
        };
        // Backward.
        let d_top = back_affine(
            self.isa,
            rows,
            top,
            top_stride,
            top_size,
            &scores,
            width,
            params,
            slot::OUT,
            grads,
        );
        let d_states = if a.layer > 0 {
            let mut d = d_top;
            // Both are in rows of the same width; padding is zero.
            d.iter_mut()
                .zip(layer.iter())
                .for_each(|(d, h)| *d *= 1.0 - h * h);
            back_affine(
                self.isa,
                rows,
                &states,
                both,
                both,
                &d,
                layer_width,
                params,
                slot::LAYER,
                grads,
            )
        } else {
            d_top
        };
        let mut above = Buffer::zeros(rows * word_lstm.width());
        for (above, d) in above
            .chunks_exact_mut(word_lstm.width())
            .zip(d_states.chunks_exact(columns(both, self.isa)))
        {
            above[..a.hidden].copy_from_slice(&d[..a.hidden]);
            above[word_lstm.column(a.hidden)..][..a.hidden].copy_from_slice(&d[a.hidden..both]);
        }
        let d_stride = columns(inputs, self.isa);
        let mut d_x = Buffer::zeros(rows * d_stride);
        word_lstm.backward(
            sample.bucket,
            lstm(params, slot::WORD_LSTM),
            &x,
            inputs,
            &above,
            &mut trace,
            six(&mut grads.0, slot::WORD_LSTM),
            &mut d_x,
        );
        for (d, mask) in d_x.chunks_exact_mut(d_stride).zip(mask.chunks_exact(inputs)) {
            d.iter_mut().zip(mask).for_each(|(d, m)| *d *= m);
        }
        // The tables, and the characters.
        let mut d_spelt = Buffer::zeros(spelling.bucket.rows() * char_lstm.width());
        for (row, d) in d_x.chunks_exact(d_stride).enumerate() {
            let kind = memory.types.get(sample.types[row]);
            let mut add = |table: usize, at: usize, from: &[f32]| {
                grads
                    .row_mut(table, at)
                    .iter_mut()
                    .zip(from)
                    .for_each(|(g, d)| *g += d);
            };
            add(slot::WORD, sample.words[row] as usize, &d[..a.word]);
            if a.cap > 0 {
                add(slot::CAP, usize::from(kind.cap), &d[parts[2]..parts[3]]);
            }
            if a.lexical > 0 {
                add(slot::SHAPE, usize::from(kind.shape), &d[parts[3]..parts[4]]);
            }
            for &context in memory.contexts.rows(sample.contexts[row]) {
                let (table, at, part) = self.tables.of(context);
                add(table, at, &d[parts[part]..parts[part + 1]]);
            }
            let last = spelling.last(spelt[sample.types[row] as usize]);
            for (direction, last) in last.into_iter().enumerate() {
                let to = last * char_lstm.width() + char_at(direction, 0);
                let from = &d[parts[1] + direction * a.char_hidden..][..a.char_hidden];
                d_spelt[to..to + a.char_hidden]
                    .iter_mut()
                    .zip(from)
                    .for_each(|(g, d)| *g += d);
            }
        }
        let char_stride = columns(a.char, self.isa);
        let mut d_chars = Buffer::zeros(spelling.bucket.rows() * char_stride);
        char_lstm.backward(
            &spelling.bucket,
            lstm(params, slot::CHAR_LSTM),
            &spelling_inputs,
            a.char,
            &d_spelt,
            &mut char_trace,
            six(&mut grads.0, slot::CHAR_LSTM),
            &mut d_chars,
        );
        for (d, &c) in d_chars.chunks_exact(char_stride).zip(&spelling.chars) {
            grads
                .row_mut(slot::CHAR, c as usize)
                .iter_mut()
                .zip(d)
                .for_each(|(g, d)| *g += d);
        }
        loss
    }
}

/// Returns the gradients of an LSTM's two directions.
pub(crate) fn six(grads: &mut [crate::model::Tensor], at: usize) -> [[&mut [f32]; 3]; 2] {
    let [a, b, c, d, e, f] = &mut grads[at..at + 6] else {
        unreachable!("an LSTM has six tensors");
    };
    [
        [&mut a.data, &mut b.data, &mut c.data],
        [&mut d.data, &mut e.data, &mut f.data],
    ]
}

/// Computes `a W + b`, with `W` at `slot` and `b` after it.
pub(crate) fn affine(
    isa: Isa,
    rows: usize,
    a: &[f32],
    stride: usize,
    params: &Params,
    slot: usize,
) -> Buffer {
    let tensor = &params.0[slot];
    let matrix = Matrix::of_rows(isa, &tensor.data, tensor.columns, 0.0);
    let mut out = Buffer::default();
    Affine::new(matrix, params.get(slot + 1)).apply(rows, a, stride, &mut out);
    out
}

/// Computes the gradient of [`affine`]: `d` (rows of `width`) is that of its output; returns that of `a`, a
/// row of [`columns`] of `size` each.
#[expect(clippy::too_many_arguments, reason = "the operands of a product's gradient")]
pub(crate) fn back_affine(
    isa: Isa,
    rows: usize,
    a: &[f32],
    stride: usize,
    size: usize,
    d: &[f32],
    width: usize,
    params: &Params,
    slot: usize,
    grads: &mut Params,
) -> Buffer {
    let n = params.0[slot].columns;
    let mut sum = vec![0.0; size * width];
    add_outer(isa, rows, size, a, stride, d, width, &mut sum);
    for (to, from) in grads.0[slot]
        .data
        .chunks_exact_mut(n)
        .zip(sum.chunks_exact(width))
    {
        to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
    }
    let bias = &mut grads.0[slot + 1].data;
    for row in d.chunks_exact(width).take(rows) {
        bias.iter_mut().zip(row).for_each(|(g, d)| *g += d);
    }
    let turned = turned(isa, params.get(slot), n);
    let mut d_a = Buffer::zeros(rows * turned.width());
    turned.product(rows, d, width, &mut d_a);
    d_a
}

/// Returns the loss of independent tags, and replaces the scores by its gradient.
fn softmax_loss(scores: &mut Buffer, width: usize, tags: usize, gold: &[u16]) -> f64 {
    let mut loss = 0.0;
    for (row, &tag) in scores.chunks_exact_mut(width).zip(gold) {
        softmax(&mut row[..tags]);
        loss -= f64::from(row[usize::from(tag)].max(1e-30)).ln();
        row[usize::from(tag)] -= 1.0;
    }
    loss
}

/// Does the same for shares of each tag.
fn soft_loss(scores: &mut Buffer, width: usize, tags: usize, soft: &[f32]) -> f64 {
    let mut loss = 0.0;
    for (row, shares) in scores.chunks_exact_mut(width).zip(soft.chunks_exact(tags)) {
        softmax(&mut row[..tags]);
        for (p, &q) in row.iter_mut().zip(shares) {
            if q > 0.0 {
                loss -= f64::from(q) * f64::from(p.max(1e-30)).ln();
            }
            *p -= q;
        }
    }
    loss
}

/// Converts scores to probabilities.
pub(crate) fn softmax(scores: &mut [f32]) {
    let top = scores.iter().copied().fold(f32::MIN, f32::max);
    scores.iter_mut().for_each(|s| *s = (*s - top).exp());
    let sum: f32 = scores.iter().sum();
    scores.iter_mut().for_each(|s| *s /= sum);
}

#[cfg(test)]
mod tests;
