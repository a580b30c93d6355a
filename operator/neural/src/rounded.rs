//! The words' LSTM and the layers above it with weights of eight bits, for running.
//!
//! Hidden states and the layer above them lie between -1 and 1, so that their bytes need no measured ranges. What
//! depends on the word alone, its row of gate inputs, is computed in single precision, once.

use lethe_kernel::{
    BYTE_UNITS, BYTE_ZERO, Buffer, ByteLayer, ByteRows, ByteSteps, Isa, tanh_in_place, to_bytes,
};

use crate::bilstm::{BiLstm, Weights};
use crate::crf::Running;
use crate::precision::{Inputs, byte_layer};

/// The rounded layers.
pub(crate) struct RoundedLayers {
    isa: Isa,
    steps: [ByteSteps; 2],
    /// The bytes per token of the hidden states.
    stride: usize,
    layer: Option<ByteLayer>,
    /// One factor for each number of `layer`.
    factors: Vec<f32>,
    out: ByteLayer,
}

/// The buffers of one thread.
#[derive(Clone, Default)]
pub(crate) struct Scratch {
    bytes: Vec<u8>,
}

/// A layer in row-major order: its weights, and its bias.
#[derive(Clone, Copy)]
pub(crate) struct Plain<'a> {
    pub(crate) weights: &'a [f32],
    pub(crate) bias: &'a [f32],
}

impl RoundedLayers {
    /// Rounds the weights of an LSTM, of the layer above it, if there is one, and of the scores of tags. The rows of the
    /// matrix above the LSTM match the columns of its states.
    pub(crate) fn new(
        isa: Isa,
        lstm: &BiLstm,
        weights: [Weights<'_>; 2],
        layer: Option<Plain<'_>>,
        out: Plain<'_>,
        crf: &Running,
    ) -> Self {
        let unit = 1.0 / f32::from(BYTE_UNITS);
        let hidden = vec![unit; lstm.width()];
        let of_hidden = Inputs {
            units: &hidden,
            zero: BYTE_ZERO,
        };
        let layer = layer.map(|layer| {
            let rounded = byte_layer(isa, 1, layer.weights, layer.bias, &of_hidden);
            (rounded, vec![unit; layer.bias.len()])
        });
        let of_layer = Inputs {
            units: layer.as_ref().map_or(&hidden, |(_, units)| units),
            zero: BYTE_ZERO,
        };
        let width = layer.as_ref().map_or(0, |(layer, _)| layer.width());
        Self {
            isa,
            steps: lstm.rounded(weights.map(|side| side.recurrent)),
            stride: lstm.width(),
            out: crf.byte_map(out.weights, out.bias, &of_layer),
            factors: vec![f32::from(BYTE_UNITS); width],
            layer: layer.map(|(layer, _)| layer),
        }
    }

    /// Returns the steps of the LSTM, forward first.
    pub(crate) const fn steps(&self) -> &[ByteSteps; 2] {
        &self.steps
    }

    /// Writes the scores of tags for rows of hidden states; overwrites `middle`.
    pub(crate) fn scores(
        &self,
        rows: usize,
        hidden: &[u8],
        middle: &mut Buffer,
        scratch: &mut Scratch,
        scores: &mut Buffer,
    ) {
        let mut input = ByteRows {
            bytes: hidden,
            rows,
            stride: self.stride,
            tap: 0,
        };
        if let Some(layer) = &self.layer {
            middle.reuse(rows * layer.width());
            layer.apply(input, middle);
            tanh_in_place(self.isa, middle);
            scratch.bytes.resize(middle.len(), 0);
            to_bytes(self.isa, middle, &self.factors, BYTE_ZERO, &mut scratch.bytes);
            (input.bytes, input.stride) = (&scratch.bytes, layer.width());
        }
        scores.reuse(rows * self.out.width());
        self.out.apply(input, scores);
    }
}
