//! The layers with weights of eight bits: [`super::layers`], rounded.
//!
//! Every activation is at least 0, because each layer adds a positive part. So a byte holds it, in units of a 127th of
//! what its channel reached in the texts that the ranges were measured on; what lies above is cut. A weight is a whole
//! number of units of its column. (Jacob 2018, section 2, with one scale per channel and no zero points.) Sums are
//! exact.

use candle_core::{CpuStorage, CustomOp1, Layout, Result, Shape};
use lethe_core::{Cache, Caches, vec_bytes};
use lethe_kernel::{Activations, Buffer, ByteLayer, ByteRows, Isa, LARGEST_BYTE, byte_columns, to_bytes};

use super::folded::numbers;
use super::settings::{ConvolutionShape, slot};
use crate::model::{Params, Tensor};
use crate::precision::{Inputs, byte_layer};

/// The layers for running, as an operation of candle: from the first layer of each token to the scores of its tags.
pub(super) struct Rounded {
    isa: Isa,
    dilations: Vec<usize>,
    tags: usize,
    width: usize,
    /// The weights and the bias of the first layer, which runs once per word.
    first: [Tensor; 2],
    /// The factors of the activations before each of the other layers.
    per_unit: Vec<Buffer>,
    convolutions: Vec<ByteLayer>,
    last: ByteLayer,
    caches: Caches<Scratch>,
}

/// The buffers of one thread.
#[derive(Default)]
struct Scratch {
    sums: Buffer,
    /// The activations before a layer and after it, with rows of zeros around those of the tokens.
    before: Vec<u8>,
    after: Vec<u8>,
    scores: Buffer,
}

impl Cache for Scratch {
    fn bytes(&self) -> usize {
        let bytes = vec_bytes(&self.before) + vec_bytes(&self.after);
        self.sums.bytes() + self.scores.bytes() + bytes
    }
}

impl Rounded {
    /// Rounds the weights of the layers. `ranges` has what each channel reached before each layer but the first.
    pub(super) fn new(isa: Isa, shape: &ConvolutionShape, params: &Params, ranges: &Tensor) -> Self {
        let width = byte_columns(shape.channels, isa);
        let layers = params.0[slot::LAYERS..].as_chunks::<2>().0;
        let units: Vec<Vec<f32>> = ranges.data.chunks_exact(shape.channels).map(units).collect();
        let last = layers.len() - 1;
        let layer = |at: usize, taps: usize| {
            let ([weights, bias], units) = (&layers[at], &units[at - 1]);
            byte_layer(isa, taps, &weights.data, &bias.data, &Inputs { units, zero: 0 })
        };
        let per_unit = |units: &Vec<f32>| {
            let mut all = Buffer::zeros(width);
            all.iter_mut().zip(units).for_each(|(x, unit)| *x = 1.0 / unit);
            all
        };
        Self {
            isa,
            dilations: shape.dilations.clone(),
            tags: layers[last][1].columns,
            width,
            first: layers[0].clone(),
            per_unit: units.iter().map(per_unit).collect(),
            convolutions: (1..last).map(|at| layer(at, 3)).collect(),
            last: layer(last, 1),
            caches: Caches::default(),
        }
    }

    /// Returns the bytes of memory that its buffers take.
    pub(super) fn cache_bytes(&self) -> usize {
        self.caches.bytes()
    }

    /// Returns the numbers that a token's first layer has.
    pub(super) const fn width(&self) -> usize {
        self.width
    }

    /// Computes the first layer of a word, into zeros. Its sums have the same order on every processor.
    pub(super) fn read(&self, input: &[f32], out: &mut [f32]) {
        let [weights, bias] = &self.first;
        let out = &mut out[..bias.columns];
        for (x, row) in input.iter().zip(weights.data.chunks_exact(bias.columns)) {
            out.iter_mut()
                .zip(row)
                .for_each(|(sum, weight)| *sum += x * weight);
        }
        let with_bias = out.iter_mut().zip(&bias.data);
        with_bias.for_each(|(sum, bias)| *sum = (*sum + bias).max(0.0));
    }

    /// Returns the scores of tags of consecutive tokens, whose first layer is `first`.
    fn run(&self, first: &[f32], scratch: &mut Scratch) -> Vec<f32> {
        let Scratch {
            sums,
            before,
            after,
            scores,
        } = scratch;
        let (width, rows) = (self.width, first.len() / self.width);
        // Zeros stand for the neighbours of the first and the last tokens.
        let around = self.dilations.iter().copied().max().unwrap_or(0) * width;
        for bytes in [&mut *before, &mut *after] {
            bytes.clear();
            bytes.resize(2 * around + rows * width, 0);
        }
        sums.reuse(first.len());
        sums.copy_from_slice(first);
        to_bytes(self.isa, sums, &self.per_unit[0], 0, &mut before[around..]);
        let layers = self.convolutions.iter().zip(&self.dilations);
        for ((layer, &dilation), per_unit) in layers.zip(&self.per_unit[1..]) {
            let input = ByteRows {
                bytes: &before[around - dilation * width..],
                rows,
                stride: width,
                tap: dilation * width,
            };
            let output = Activations {
                sums,
                per_unit,
                bytes: &mut after[around..],
            };
            layer.add_positive(input, output);
            std::mem::swap(before, after);
        }
        let input = ByteRows {
            bytes: &before[around..],
            rows,
            stride: width,
            tap: 0,
        };
        scores.reuse(rows * self.last.width());
        self.last.apply(input, scores);
        let mut found = Vec::with_capacity(rows * self.tags);
        for row in scores.chunks_exact(self.last.width()) {
            found.extend_from_slice(&row[..self.tags]);
        }
        found
    }
}

impl CustomOp1 for Rounded {
    fn name(&self) -> &'static str {
        "layers of bytes"
    }

    fn cpu_fwd(&self, first: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let first = numbers(first, layout)?;
        let scores = self.run(first, &mut self.caches.take());
        let shape = Shape::from((first.len() / self.width, self.tags));
        Ok((CpuStorage::F32(scores), shape))
    }
}

/// Returns the units of a layer's activations. A channel that was always 0 gets a small one.
fn units(ranges: &[f32]) -> Vec<f32> {
    let most = ranges.iter().copied().fold(0.0_f32, f32::max).max(1e-3);
    let unit = |&range: &f32| range.max(most * 1e-3) / f32::from(LARGEST_BYTE);
    ranges.iter().map(unit).collect()
}

#[cfg(test)]
mod tests {
    use candle_core::{Device, Tensor as Matrix};

    use super::super::layers::Layers;
    use super::super::settings::Convolutional;
    use super::*;
    use crate::rng::Rng;

    /// Returns random layers, inputs of some tokens, and the ranges that these reach.
    fn random(rows: usize) -> (ConvolutionShape, Params, Vec<f32>, Tensor, Vec<f32>) {
        let mut shape = Convolutional::default().architecture;
        // No multiple of the columns that are computed together.
        shape.channels = 37;
        let mut params = shape.random(9, 4);
        let mut rng = Rng::new(&[7]);
        for tensor in &mut params.0[slot::LAYERS..] {
            let more = |x: &mut f32| *x += 0.1 * (rng.unit() - 0.5);
            tensor.data.iter_mut().for_each(more);
        }
        let input: Vec<f32> = (0..rows * shape.inputs()).map(|_| rng.unit() - 0.5).collect();
        let mut ranges = shape.ranges();
        let tensor = Matrix::from_slice(&input, (rows, shape.inputs()), &Device::Cpu).unwrap();
        let each = |h: &Matrix| {
            ranges.data.extend(h.max(0)?.to_vec1::<f32>()?);
            Ok(())
        };
        let exact = Layers::new(&shape, &params).unwrap().run(&tensor, each).unwrap();
        let exact = exact.flatten_all().unwrap().to_vec1().unwrap();
        (shape, params, input, ranges, exact)
    }

    #[test]
    fn rounded_layers_give_nearly_the_scores_of_the_exact_ones_and_the_same_on_every_processor() {
        let rows = 41;
        let (shape, params, input, ranges, exact) = random(rows);
        let mut before: Option<Vec<f32>> = None;
        for isa in Isa::all() {
            let rounded = Rounded::new(isa, &shape, &params, &ranges);
            let mut first = vec![0.0; rows * rounded.width()];
            let words = input.chunks_exact(shape.inputs());
            for (word, out) in words.zip(first.chunks_exact_mut(rounded.width())) {
                rounded.read(word, out);
            }
            let scores = rounded.run(&first, &mut Scratch::default());
            let most = exact.iter().copied().map(f32::abs).fold(0.0, f32::max);
            for (score, exact) in scores.iter().zip(&exact) {
                assert!((score - exact).abs() < 0.03 * most, "{score} {exact} of {most}");
            }
            let same = before.get_or_insert_with(|| scores.clone());
            assert_eq!(&scores, same, "{}", isa.name());
        }
    }

    #[test]
    fn channels_that_were_never_active_and_activations_beyond_the_ranges_do_no_harm() {
        let (shape, params, input, mut ranges, _) = random(5);
        ranges.data.iter_mut().step_by(3).for_each(|range| *range = 0.0);
        ranges
            .data
            .iter_mut()
            .skip(1)
            .step_by(3)
            .for_each(|range| *range *= 0.1);
        let rounded = Rounded::new(Isa::best(), &shape, &params, &ranges);
        let mut first = vec![0.0; 5 * rounded.width()];
        let words = input.chunks_exact(shape.inputs());
        for (word, out) in words.zip(first.chunks_exact_mut(rounded.width())) {
            rounded.read(word, out);
        }
        let scores = rounded.run(&first, &mut Scratch::default());
        assert!(scores.len() == 5 * 9 && scores.iter().all(|score| score.is_finite()));
    }
}
