//! The layers on candle: `h = relu(x W + b)`, then for each dilation `h + relu([h(t-d), h(t), h(t+d)] W + b)`,
//! then the scores of the tags.

use candle_core::{DType, Device, Result, Tensor, Var};

use super::folded::{Bias, Folded};
use super::settings::{ConvolutionShape, slot};
use crate::model::{Params, Tensor as Matrix};

/// The layers' weights.
pub(super) struct Layers {
    dilations: Vec<usize>,
    /// Each layer's weights, and its bias as a last row, which a column of ones in the input multiplies: a
    /// broadcast sum would take as long as the product.
    input: Tensor,
    convolutions: Vec<Tensor>,
    tags: Tensor,
    /// The same for running, which takes no gradient; nothing in training.
    running: Option<Running>,
}

/// The layers' weights without their biases, and what adds those.
struct Running {
    input: (Tensor, Bias),
    convolutions: Vec<Folded>,
    tags: (Tensor, Bias),
}

/// The gaps and the dropout of a training step.
pub(super) struct Step {
    /// One row per row of the input: 1 for a token, 0 for a row between two sequences.
    pub(super) tokens: Tensor,
    /// The rows of the tokens.
    pub(super) places: Tensor,
    /// The factors of what the last layer reads, one row per token.
    pub(super) kept: Tensor,
}

impl Layers {
    /// Takes the weights from the parameters.
    pub(super) fn new(shape: &ConvolutionShape, params: &Params) -> Result<Self> {
        let tensors = params.0[slot::LAYERS..].iter().map(tensor);
        let mut layers = Self::of(shape, &tensors.collect::<Result<Vec<_>>>()?)?;
        let parted = |layer: &Tensor, relu| -> Result<(Tensor, Bias)> {
            Ok((layer.narrow(0, 0, layer.dim(0)? - 1)?, Bias::of(layer, relu)?))
        };
        let folded = layers.convolutions.iter().zip(&layers.dilations);
        layers.running = Some(Running {
            input: parted(&layers.input, true)?,
            convolutions: folded
                .map(|(layer, &dilation)| Folded::new(layer, dilation))
                .collect::<Result<_>>()?,
            tags: parted(&layers.tags, false)?,
        });
        Ok(layers)
    }

    /// Takes the weights as variables, which are returned in the order of the parameters from the first layer
    /// on.
    pub(super) fn variables(shape: &ConvolutionShape, params: &Params) -> Result<(Self, Vec<Var>)> {
        let one = |matrix| Var::from_tensor(&tensor(matrix)?);
        let variables: Vec<Var> = params.0[slot::LAYERS..].iter().map(one).collect::<Result<_>>()?;
        let tensors: Vec<Tensor> = variables.iter().map(|one| one.as_tensor().clone()).collect();
        Ok((Self::of(shape, &tensors)?, variables))
    }

    fn of(shape: &ConvolutionShape, tensors: &[Tensor]) -> Result<Self> {
        let mut layers = tensors.as_chunks::<2>().0.iter().map(|pair| Tensor::cat(pair, 0));
        let mut layer = || {
            let missing = || Err(candle_core::Error::msg("there are too few weights"));
            layers.next().unwrap_or_else(missing)
        };
        Ok(Self {
            dilations: shape.dilations.clone(),
            input: layer()?,
            convolutions: shape.dilations.iter().map(|_| layer()).collect::<Result<_>>()?,
            tags: layer()?,
            running: None,
        })
    }

    /// Returns the scores of tags before softmax for one sequence, a row per token. Calls `each` with what every layer
    /// but the last gives to the next.
    pub(super) fn run(&self, input: &Tensor, mut each: impl FnMut(&Tensor) -> Result<()>) -> Result<Tensor> {
        let Some(running) = &self.running else {
            return self.scores(input, None);
        };
        let affine =
            |rows: &Tensor, (weights, bias): &(Tensor, Bias)| rows.matmul(weights)?.apply_op1_no_bwd(bias);
        let mut h = affine(input, &running.input)?;
        each(&h)?;
        for convolution in &running.convolutions {
            h = convolution.apply(&h)?;
            each(&h)?;
        }
        affine(&h, &running.tags)
    }

    /// Returns the scores of tags before softmax, a row per token. In training, the input may have several
    /// sequences with rows of zeros between them, as many as the largest dilation.
    pub(super) fn scores(&self, input: &Tensor, step: Option<&Step>) -> Result<Tensor> {
        let masked = |h: Tensor| match step {
            Some(step) => h.broadcast_mul(&step.tokens),
            None => Ok(h),
        };
        let rows = input.dim(0)?;
        let ones = Tensor::ones((rows, 1), DType::F32, &Device::Cpu)?;
        let mut h = masked(affine(&[input, &ones], &self.input)?.relu()?)?;
        for (weights, &dilation) in self.convolutions.iter().zip(&self.dilations) {
            let padded = h.pad_with_zeros(0, dilation, dilation)?;
            let before = padded.narrow(0, 0, rows)?;
            let after = padded.narrow(0, 2 * dilation, rows)?;
            let found = affine(&[&before, &h, &after, &ones], weights)?.relu()?;
            h = masked((h + found)?)?;
        }
        if let Some(step) = step {
            h = h.index_select(&step.places, 0)?.mul(&step.kept)?;
        }
        let ones = ones.narrow(0, 0, h.dim(0)?)?;
        affine(&[&h, &ones], &self.tags)
    }
}

/// Multiplies columns side by side by the weights.
fn affine(columns: &[&Tensor], weights: &Tensor) -> Result<Tensor> {
    Tensor::cat(columns, 1)?.matmul(weights)
}

fn tensor(matrix: &Matrix) -> Result<Tensor> {
    Tensor::from_slice(&matrix.data, (matrix.rows, matrix.columns), &Device::Cpu)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convolution::settings::Convolutional;
    use crate::rng::Rng;

    #[test]
    fn running_gives_the_scores_of_training() {
        let shape = Convolutional::default().architecture;
        let mut params = shape.random(9, 4);
        let mut rng = Rng::new(&[7]);
        for tensor in &mut params.0[slot::LAYERS..] {
            tensor
                .data
                .iter_mut()
                .for_each(|x| *x += 0.1 * (rng.unit() - 0.5));
        }
        let layers = Layers::new(&shape, &params).unwrap();
        for rows in [1, 2, 3, 7, 40] {
            let input: Vec<f32> = (0..rows * shape.inputs()).map(|_| rng.unit() - 0.5).collect();
            let input = Tensor::from_vec(input, (rows, shape.inputs()), &Device::Cpu).unwrap();
            let one = layers.run(&input, |_| Ok(())).unwrap().to_vec2::<f32>().unwrap();
            let other = layers.scores(&input, None).unwrap().to_vec2::<f32>().unwrap();
            for (one, other) in one.iter().flatten().zip(other.iter().flatten()) {
                assert!(
                    (one - other).abs() <= 1e-4 * other.abs().max(1.0),
                    "{one} {other}"
                );
            }
        }
    }
}
