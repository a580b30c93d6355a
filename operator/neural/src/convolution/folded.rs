//! Steps of the layers that candle has no operation for: it would copy every row three times to put neighbours
//! side by side, which takes longer than to multiply them.

use candle_core::{CpuStorage, CustomOp1, CustomOp2, Error, Layout, Result, Shape, Tensor};
use lethe_kernel::Isa;

/// A convolution for running: its weights side by side, so that one product has what each token gives to the
/// token ahead, to itself and to the token behind.
pub(super) struct Folded {
    /// A row per channel, with the weights for the token before, the token itself and the token after.
    weights: Tensor,
    sum: Neighbours,
}

impl Folded {
    /// Reorders a convolution's weights, whose last row is its bias.
    pub(super) fn new(weights: &Tensor, dilation: usize) -> Result<Self> {
        let channels = weights.dim(1)?;
        let parts = [0, 1, 2].map(|part| weights.narrow(0, part * channels, channels));
        let [before, own, after] = parts;
        Ok(Self {
            weights: Tensor::cat(&[before?, own?, after?], 1)?,
            sum: Neighbours {
                bias: weights.get(3 * channels)?.to_vec1()?,
                dilation,
                isa: Isa::best(),
            },
        })
    }

    /// Returns `h + relu([h(t-d), h(t), h(t+d)] W + b)`, a row per token.
    pub(super) fn apply(&self, h: &Tensor) -> Result<Tensor> {
        h.apply_op2_no_bwd(&h.matmul(&self.weights)?, &self.sum)
    }
}

struct Neighbours {
    bias: Vec<f32>,
    dilation: usize,
    isa: Isa,
}

impl CustomOp2 for Neighbours {
    fn name(&self) -> &'static str {
        "neighbours"
    }

    fn cpu_fwd(
        &self,
        rows: &CpuStorage,
        rows_layout: &Layout,
        given: &CpuStorage,
        given_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let channels = self.bias.len();
        let (rows, given) = (numbers(rows, rows_layout)?, numbers(given, given_layout)?);
        // Stands for the neighbours of a note's first and last tokens.
        let none = vec![0.0; channels];
        let part = |t: Option<usize>, part: usize| {
            let row = t.and_then(|t| given.get(3 * channels * t..3 * channels * (t + 1)));
            row.map_or(&none[..], |row| &row[part * channels..(part + 1) * channels])
        };
        let mut out = rows.to_vec();
        self.isa.widely(
            #[inline(always)]
            || {
                for (t, row) in out.chunks_exact_mut(channels).enumerate() {
                    let before = part(t.checked_sub(self.dilation), 0);
                    let (own, after) = (part(Some(t), 1), part(Some(t + self.dilation), 2));
                    let neighbours = before.iter().zip(own).zip(after);
                    let both = row.iter_mut().zip(&self.bias).zip(neighbours);
                    for ((x, bias), ((before, own), after)) in both {
                        *x += (bias + before + own + after).max(0.0);
                    }
                }
            },
        );
        Ok((CpuStorage::F32(out), rows_layout.shape().clone()))
    }
}

/// Adds a bias to every row, and takes the positive part if `relu`.
pub(super) struct Bias {
    bias: Vec<f32>,
    relu: bool,
    isa: Isa,
}

impl Bias {
    /// Reads the bias from the last row of a layer's weights.
    pub(super) fn of(weights: &Tensor, relu: bool) -> Result<Self> {
        let bias = weights.get(weights.dim(0)? - 1)?.to_vec1()?;
        Ok(Self {
            bias,
            relu,
            isa: Isa::best(),
        })
    }
}

impl CustomOp1 for Bias {
    fn name(&self) -> &'static str {
        "bias"
    }

    fn cpu_fwd(&self, rows: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let least = if self.relu { 0.0 } else { f32::MIN };
        let mut out = numbers(rows, layout)?.to_vec();
        self.isa.widely(
            #[inline(always)]
            || {
                for row in out.chunks_exact_mut(self.bias.len()) {
                    for (x, bias) in row.iter_mut().zip(&self.bias) {
                        *x = (*x + bias).max(least);
                    }
                }
            },
        );
        Ok((CpuStorage::F32(out), layout.shape().clone()))
    }
}

/// Returns the numbers of a tensor whose rows lie one after the other.
pub(super) fn numbers<'s>(storage: &'s CpuStorage, layout: &Layout) -> Result<&'s [f32]> {
    const OP: &str = "a step of the convolutional network";
    let (start, end) = layout
        .contiguous_offsets()
        .ok_or(Error::RequiresContiguous { op: OP })?;
    Ok(&storage.as_slice()?[start..end])
}
