//! The gradient of the stacked network over a bucket of sequences.

use lethe_kernel::{Buffer, Isa, columns};

use super::shape::{Shape, slot};
use crate::bilstm::{BiLstm, Trace, Weights};
use crate::bucket::Bucket;
use crate::crf::{Allowed, Crf, Grads};
use crate::model::Params;
use crate::rng::Rng;
use crate::tape::{affine, back_affine, lstm, six};

/// The network in training.
pub(super) struct Learner<'a> {
    pub(super) isa: Isa,
    pub(super) shape: &'a Shape,
    pub(super) allowed: &'a Allowed,
    pub(super) dropout: f32,
}

/// A layer after the forward pass, with the data for its gradient.
struct Layer {
    at: usize,
    lstm: BiLstm,
    trace: Trace,
    /// For each direction the factor of each recurrent unit.
    masks: [Vec<f32>; 2],
    /// The recurrent weights multiplied by the masks: dropping a unit for the next step is dropping its row.
    recurrent: [Vec<f32>; 2],
    /// The hidden states without padding, forward and backward concatenated.
    states: Vec<f32>,
}

impl Layer {
    /// Returns the two directions' weights, as they were used.
    fn weights<'a>(params: &'a Params, at: usize, recurrent: &'a [Vec<f32>; 2]) -> [Weights<'a>; 2] {
        let [fore, back] = lstm(params, at);
        [(fore, &recurrent[0]), (back, &recurrent[1])].map(|(side, recurrent)| Weights { recurrent, ..side })
    }
}

impl Learner<'_> {
    /// Adds the gradient of the loss of a bucket to `grads`, and returns the loss. `predictions` has each
    /// row's tags, one per member, `gold` each row's tag. `rng` draws the dropped units.
    pub(super) fn gradient(
        &self,
        params: &Params,
        bucket: &Bucket,
        predictions: &[u16],
        gold: &[u16],
        rng: &mut Rng,
        grads: &mut Params,
    ) -> f64 {
        let (shape, rows) = (self.shape, bucket.rows());
        let (inputs, both) = (shape.inputs(), 2 * shape.hidden);
        let mut x = Buffer::zeros(rows * inputs);
        for (x, predictions) in x
            .chunks_exact_mut(inputs)
            .zip(predictions.chunks_exact(shape.members))
        {
            for (member, (x, &tag)) in x.chunks_exact_mut(shape.embedding).zip(predictions).enumerate() {
                x.copy_from_slice(params.row(slot::TABLE, shape.row(member, tag)));
            }
        }
        let [lower, upper] = slot::LAYERS;
        let mut lower = self.forward(params, lower, bucket, &x, inputs, rng);
        let mut upper = self.forward(params, upper, bucket, &lower.states, both, rng);
        let mut scores = affine(self.isa, rows, &upper.states, both, params, slot::OUT);
        let crf = Crf::new(
            self.isa,
            self.allowed,
            params.get(slot::PAIRS),
            params.get(slot::STARTS),
            params.get(slot::ENDS),
        );
        let loss = {
            let [pairs, starts, ends] = &mut grads.0[slot::PAIRS..=slot::ENDS] else {
                unreachable!("a CRF has three tensors");
            };
            let own = Grads {
                pairs: &mut pairs.data,
                starts: &mut starts.data,
                ends: &mut ends.data,
            };
            crf.loss(bucket, &mut scores, gold, own)
        };
        let width = columns(shape.tags, self.isa);
        let d_upper = back_affine(
            self.isa,
            rows,
            &upper.states,
            both,
            both,
            &scores,
            width,
            params,
            slot::OUT,
            grads,
        );
        let d_lower = self.backward(params, &mut upper, bucket, &lower.states, both, &d_upper, grads);
        let d_x = self.backward(params, &mut lower, bucket, &x, inputs, &d_lower, grads);
        let rows = d_x.chunks_exact(columns(inputs, self.isa));
        for (d, predictions) in rows.zip(predictions.chunks_exact(shape.members)) {
            for (member, (d, &tag)) in d.chunks_exact(shape.embedding).zip(predictions).enumerate() {
                let to = grads.row_mut(slot::TABLE, shape.row(member, tag));
                to.iter_mut().zip(d).for_each(|(g, d)| *g += d);
            }
        }
        loss
    }

    /// Runs the layer whose tensors begin at `at`.
    fn forward(
        &self,
        params: &Params,
        at: usize,
        bucket: &Bucket,
        inputs: &[f32],
        stride: usize,
        rng: &mut Rng,
    ) -> Layer {
        let (hidden, keep) = (self.shape.hidden, 1.0 - self.dropout);
        let masks = [(); 2].map(|()| -> Vec<f32> {
            let one = |_| if rng.unit() < keep { 1.0 / keep } else { 0.0 };
            (0..hidden).map(one).collect()
        });
        let [fore, back] = lstm(params, at);
        let recurrent = [(fore, &masks[0]), (back, &masks[1])].map(|(side, mask)| {
            let rows = side.recurrent.chunks_exact(4 * hidden).zip(mask);
            rows.flat_map(|(row, m)| row.iter().map(move |w| w * m)).collect()
        });
        let lstm = BiLstm::new(self.isa, hidden, Layer::weights(params, at, &recurrent));
        let mut trace = Trace::default();
        lstm.forward(bucket, inputs, stride, true, &mut trace);
        let mut states = Vec::with_capacity(bucket.rows() * 2 * hidden);
        for row in trace.hidden.chunks_exact(lstm.width()) {
            states.extend_from_slice(&row[..hidden]);
            states.extend_from_slice(&row[lstm.column(hidden)..][..hidden]);
        }
        Layer {
            at,
            lstm,
            trace,
            masks,
            recurrent,
            states,
        }
    }

    /// Adds the gradient of a layer to `grads`, given that of its states ([`columns`] of them per row), and
    /// returns that of its inputs, [`columns`] of them per row.
    #[expect(clippy::too_many_arguments, reason = "the operands of a layer's gradient")]
    fn backward(
        &self,
        params: &Params,
        layer: &mut Layer,
        bucket: &Bucket,
        inputs: &[f32],
        stride: usize,
        d_states: &[f32],
        grads: &mut Params,
    ) -> Buffer {
        let (hidden, rows, at) = (self.shape.hidden, bucket.rows(), layer.at);
        let mut above = Buffer::zeros(rows * layer.lstm.width());
        let both = above
            .chunks_exact_mut(layer.lstm.width())
            .zip(d_states.chunks_exact(columns(2 * hidden, self.isa)));
        for (above, d) in both {
            above[..hidden].copy_from_slice(&d[..hidden]);
            above[layer.lstm.column(hidden)..][..hidden].copy_from_slice(&d[hidden..2 * hidden]);
        }
        let mut d_inputs = Buffer::zeros(rows * columns(stride, self.isa));
        // Gradients of the masked weights, which the masks turn into those of the weights.
        let mut masked = [(); 2].map(|()| vec![0.0; 4 * hidden * hidden]);
        {
            let [[a, _, b], [c, _, d]] = six(&mut grads.0, at);
            let [fore, back] = &mut masked;
            layer.lstm.backward(
                bucket,
                Layer::weights(params, at, &layer.recurrent),
                inputs,
                stride,
                &above,
                &mut layer.trace,
                [[a, fore, b], [c, back, d]],
                &mut d_inputs,
            );
        }
        for ((masked, mask), at) in masked.iter().zip(&layer.masks).zip([at + 1, at + 4]) {
            let to = grads.0[at].data.chunks_exact_mut(4 * hidden);
            for ((to, from), m) in to.zip(masked.chunks_exact(4 * hidden)).zip(mask) {
                to.iter_mut().zip(from).for_each(|(g, d)| *g += m * d);
            }
        }
        d_inputs
    }
}
