//! The layers that an encoder is made of, over rows of numbers.

use crate::kernel::{Isa, Matrix, exp_in_place, tanh_in_place};

/// `y = x W^T + b`, packed.
pub(super) struct Dense {
    matrix: Matrix,
    bias: Vec<f32>,
}

/// A weight of `outputs` x `inputs` and its bias, as checkpoints have them, and a factor for both.
pub(super) struct Part {
    pub(super) weight: Vec<f32>,
    pub(super) bias: Vec<f32>,
    pub(super) factor: f32,
}

impl Dense {
    /// Several layers over the same input side by side.
    pub(super) fn new(isa: Isa, inputs: usize, parts: &[Part]) -> Self {
        let outputs: usize = parts.iter().map(|part| part.bias.len()).sum();
        // Checkpoints have an output's weights in a row; products want an input's.
        let mut turned = vec![0.0; inputs * outputs];
        let mut bias = Vec::new();
        for part in parts {
            for (weights, b) in part.weight.chunks_exact(inputs).zip(&part.bias) {
                let column = bias.len();
                for (input, weight) in weights.iter().enumerate() {
                    turned[input * outputs + column] = part.factor * weight;
                }
                bias.push(part.factor * b);
            }
        }
        let matrix = Matrix::of_rows(isa, &turned, outputs, 0.0);
        bias.resize(matrix.width(), 0.0);
        Self { matrix, bias }
    }

    /// Length of a row of the result, padding included.
    pub(super) const fn width(&self) -> usize {
        self.matrix.width()
    }

    /// Fills `y` with `rows` rows.
    pub(super) fn run(&self, rows: usize, x: &[f32], x_stride: usize, y: &mut Vec<f32>) {
        y.clear();
        for _ in 0..rows {
            y.extend_from_slice(&self.bias);
        }
        self.matrix.product(rows, x, x_stride, y);
    }
}

/// Layer normalisation (Ba 2016) with weight and bias.
pub(super) struct Norm {
    pub(super) weight: Vec<f32>,
    pub(super) bias: Vec<f32>,
    pub(super) epsilon: f32,
}

impl Norm {
    /// Normalises each row in place.
    pub(super) fn run(&self, x: &mut [f32]) {
        let count = self.weight.len() as f32;
        for row in x.chunks_exact_mut(self.weight.len()) {
            let mean = sum(row, |v| v) / count;
            let variance = sum(row, |v| (v - mean) * (v - mean)) / count;
            let scale = 1.0 / (variance + self.epsilon).sqrt();
            for ((v, weight), bias) in row.iter_mut().zip(&self.weight).zip(&self.bias) {
                *v = (*v - mean) * scale * weight + bias;
            }
        }
    }
}

/// Sums in eight lanes, so that the compiler may use vectors; the order depends on the length alone.
fn sum(values: &[f32], f: impl Fn(f32) -> f32) -> f32 {
    in_lanes(values, 0.0, |sum, v| sum + f(v), |a, b| a + b)
}

fn in_lanes(
    values: &[f32],
    start: f32,
    with: impl Fn(f32, f32) -> f32,
    join: impl Fn(f32, f32) -> f32,
) -> f32 {
    let mut lanes = [start; 8];
    let chunks = values.chunks_exact(8);
    let rest = chunks.remainder().iter().fold(start, |lane, &v| with(lane, v));
    for chunk in chunks {
        for (lane, &v) in lanes.iter_mut().zip(chunk) {
            *lane = with(*lane, v);
        }
    }
    lanes.into_iter().fold(rest, join)
}

/// A row's softmax.
pub(super) fn softmax(isa: Isa, row: &mut [f32]) {
    let larger = |a: f32, b: f32| if a > b { a } else { b };
    let most = in_lanes(row, f32::NEG_INFINITY, larger, larger);
    row.iter_mut().for_each(|v| *v -= most);
    exp_in_place(isa, row);
    let scale = 1.0 / sum(row, |v| v);
    row.iter_mut().for_each(|v| *v *= scale);
}

/// The function between the two layers of a feed-forward block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Activation {
    /// `x Phi(x)` (Hendrycks and Gimpel 2016).
    Gelu,
    /// Its approximation by tanh.
    GeluTanh,
    /// `max(0, x)`.
    Relu,
}

impl Activation {
    /// The function that a checkpoint's `hidden_act` names.
    pub(super) fn by_name(name: &str) -> Option<Self> {
        match name {
            "gelu" => Some(Self::Gelu),
            "gelu_new" | "gelu_fast" | "gelu_pytorch_tanh" => Some(Self::GeluTanh),
            "relu" => Some(Self::Relu),
            _ => None,
        }
    }

    /// Applies it to each number.
    pub(super) fn run(self, isa: Isa, x: &mut [f32]) {
        // A block and its exponentials fit the nearest cache.
        let mut scratch = Vec::with_capacity(BLOCK);
        x.chunks_mut(BLOCK)
            .for_each(|block| self.block(isa, block, &mut scratch));
    }

    fn block(self, isa: Isa, x: &mut [f32], scratch: &mut Vec<f32>) {
        scratch.clear();
        match self {
            Self::Gelu => {
                scratch.extend(x.iter().map(|&v| -0.5 * v * v));
                exp_in_place(isa, scratch);
                for (v, &e) in x.iter_mut().zip(&*scratch) {
                    // 1 - erf(|v| / sqrt 2), absolute error below 1.5e-7: Abramowitz and Stegun 1964, 7.1.26.
                    let t = 1.0 / (1.0 + 0.327_591_1 * std::f32::consts::FRAC_1_SQRT_2 * v.abs());
                    let series = 1.421_413_7 + t * (-1.453_152 + t * 1.061_405_4);
                    let tail = t * (0.254_829_6 + t * (-0.284_496_74 + t * series)) * e;
                    *v *= 0.5 * if *v < 0.0 { tail } else { 2.0 - tail };
                }
            }
            Self::GeluTanh => {
                let inner = |v: f32| 0.797_884_6 * (v + 0.044_715 * v * v * v);
                scratch.extend(x.iter().map(|&v| inner(v)));
                tanh_in_place(isa, scratch);
                for (v, &t) in x.iter_mut().zip(&*scratch) {
                    *v *= 0.5 * (1.0 + t);
                }
            }
            Self::Relu => x.iter_mut().for_each(|v| *v = v.max(0.0)),
        }
    }
}

/// Numbers that an activation takes at once.
const BLOCK: usize = 2048;

#[cfg(test)]
mod tests {
    use super::*;

    /// erf by its Taylor series, which is exact enough to |x| = 4 in double precision.
    fn erf(x: f64) -> f64 {
        let (mut term, mut sum) = (x, x);
        for n in 1..120 {
            term *= -x * x / f64::from(n);
            sum += term / f64::from(2 * n + 1);
        }
        sum * 2.0 / std::f64::consts::PI.sqrt()
    }

    #[test]
    fn gelu_is_x_times_the_normal_distribution() {
        let points: Vec<f32> = (-550..=550).map(|i| i as f32 / 100.0).collect();
        for isa in Isa::all() {
            let (mut exact, mut bent, mut kept) = (points.clone(), points.clone(), points.clone());
            Activation::Gelu.run(isa, &mut exact);
            Activation::GeluTanh.run(isa, &mut bent);
            Activation::Relu.run(isa, &mut kept);
            for (i, &x) in points.iter().enumerate() {
                let phi = f64::from(x) * 0.5 * (1.0 + erf(f64::from(x) / 2.0_f64.sqrt()));
                assert!(
                    (f64::from(exact[i]) - phi).abs() < 2e-6,
                    "{x}: {} {phi}",
                    exact[i]
                );
                assert!((bent[i] - exact[i]).abs() < 2e-3, "{x}");
                assert_eq!(kept[i], x.max(0.0));
            }
        }
    }

    #[test]
    fn a_normalised_row_has_mean_0_and_variance_1_before_its_weights() {
        let norm = Norm {
            weight: vec![1.0; 11],
            bias: vec![0.0; 11],
            epsilon: 1e-12,
        };
        let mut x: Vec<f32> = (0..22).map(|i| (i * i % 17) as f32).collect();
        norm.run(&mut x);
        for row in x.chunks(11) {
            let mean: f32 = row.iter().sum::<f32>() / 11.0;
            let variance: f32 = row.iter().map(|v| v * v).sum::<f32>() / 11.0;
            assert!(mean.abs() < 1e-6 && (variance - 1.0).abs() < 1e-5);
        }
    }

    #[test]
    fn layers_side_by_side_are_each_their_own() {
        for isa in Isa::all() {
            let part = |first: f32, factor| Part {
                weight: vec![first, 2.0, 3.0, 4.0],
                bias: vec![0.5, 1.0],
                factor,
            };
            let dense = Dense::new(isa, 2, &[part(1.0, 1.0), part(-1.0, 2.0)]);
            let mut y = Vec::new();
            dense.run(1, &[10.0, 1.0], 2, &mut y);
            assert_eq!(&y[..4], [12.5, 35.0, -15.0, 70.0]);
            assert!(y.len() == dense.width() && y[4..].iter().all(|&v| v == 0.0));
        }
    }
}
