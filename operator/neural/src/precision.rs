//! The numbers that a network computes with when it runs.

use lethe_kernel::{ByteLayer, Isa};
use serde::{Deserialize, Serialize};

/// The numbers that layers compute with when a network runs. It is trained in single precision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// Weights of eight bits and activations of seven, whose products are summed exactly.
    Int8,
    /// Numbers of single precision. The order of sums depends on the processor.
    #[default]
    Float32,
}

impl Precision {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
    pub(crate) const fn is_single(&self) -> bool {
        matches!(self, Self::Float32)
    }
}

/// The activations that a rounded layer reads, as bytes: each in units of its own, with the byte that stands for 0.
pub(crate) struct Inputs<'a> {
    pub(crate) units: &'a [f32],
    pub(crate) zero: u8,
}

/// Weights of eight bits with a factor per column.
pub(crate) struct Rounded {
    pub(crate) weights: Vec<i8>,
    pub(crate) factors: Vec<f32>,
}

/// Rounds a matrix of weights, after the rows were multiplied by `units`, which repeat: each weight is a whole number of
/// units of its column.
pub(crate) fn round(weights: &[f32], columns: usize, units: &[f32]) -> Rounded {
    let mut scaled = weights.to_vec();
    let rows = scaled.chunks_exact_mut(columns);
    for (row, unit) in rows.zip(units.iter().cycle()) {
        row.iter_mut().for_each(|weight| *weight *= unit);
    }
    let mut most = vec![0.0_f32; columns];
    for row in scaled.chunks_exact(columns) {
        let both = most.iter_mut().zip(row);
        both.for_each(|(most, weight)| *most = most.max(weight.abs()));
    }
    // A column without weights may have any factor.
    let factor = |&most: &f32| if most > 0.0 { most / 127.0 } else { 1.0 };
    let factors: Vec<f32> = most.iter().map(factor).collect();
    let bytes = scaled.chunks_exact(columns).flat_map(|row| {
        let both = row.iter().zip(&factors);
        both.map(|(weight, factor)| (weight / factor).round_ties_even() as i8)
    });
    Rounded {
        weights: bytes.collect(),
        factors,
    }
}

/// Rounds a layer: its weights, one row per input of each of its taps, and its biases.
pub(crate) fn byte_layer(
    isa: Isa,
    taps: usize,
    weights: &[f32],
    bias: &[f32],
    inputs: &Inputs<'_>,
) -> ByteLayer {
    let columns = bias.len();
    let Rounded { weights, factors } = round(weights, columns, inputs.units);
    let mut sums = vec![0_i32; columns];
    for row in weights.chunks_exact(columns) {
        sums.iter_mut()
            .zip(row)
            .for_each(|(sum, &weight)| *sum += i32::from(weight));
    }
    // What inputs of 0 would add, since their bytes are not 0.
    let zeros = sums
        .iter()
        .zip(&factors)
        .map(|(&sum, factor)| (sum * i32::from(inputs.zero)) as f32 * factor);
    let biases: Vec<f32> = bias.iter().zip(zeros).map(|(bias, zero)| bias - zero).collect();
    ByteLayer::pack(isa, taps, inputs.units.len(), &weights, &factors, &biases)
}
