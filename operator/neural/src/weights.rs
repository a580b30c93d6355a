//! The weights of a network as safetensors. A table of words may have half precision.

use half::f16;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};

use crate::halves::are_finite;
use crate::model::Tensor;

/// The file in a model's folder.
pub(crate) const FILE: &str = "weights.safetensors";

/// Returns whether a number has half precision.
pub(crate) fn is_half(x: &f32) -> bool {
    f16::from_f32(*x).to_f32() == *x
}

/// Rounds numbers to half precision.
pub(crate) fn round(numbers: &mut [f32]) {
    let most = f16::MAX.to_f32();
    numbers
        .iter_mut()
        .for_each(|x| *x = f16::from_f32(x.clamp(-most, most)).to_f32());
}

/// Returns the bytes of the tensors that have numbers; those of which `half` is true have half precision.
///
/// # Errors
/// The problem, if the weights cannot be written.
pub(crate) fn to_bytes(tensors: &[Tensor], half: impl Fn(&Tensor) -> bool) -> Result<Vec<u8>, &'static str> {
    let bytes: Vec<(&str, [usize; 2], Dtype, Vec<u8>)> = tensors
        .iter()
        .filter(|tensor| !tensor.data.is_empty())
        .map(|tensor| {
            let (numbers, shape) = (tensor.data.iter(), [tensor.rows, tensor.columns]);
            if half(tensor) {
                let bytes = numbers.flat_map(|&x| f16::from_f32(x).to_le_bytes());
                (tensor.name, shape, Dtype::F16, bytes.collect())
            } else {
                let bytes = numbers.flat_map(|x| x.to_le_bytes());
                (tensor.name, shape, Dtype::F32, bytes.collect())
            }
        })
        .collect();
    let mut views = Vec::with_capacity(bytes.len());
    for (name, shape, kind, bytes) in &bytes {
        let view = TensorView::new(*kind, shape.to_vec(), bytes)
            .map_err(|_| "the size of a tensor does not match its shape")?;
        views.push((*name, view));
    }
    safetensors::serialize(views, None).map_err(|_| "the weights cannot be written as safetensors")
}

/// Returns a tensor of a file after it was checked: its shape, its type, and that its numbers are finite.
///
/// # Errors
/// The problem.
pub(crate) fn tensor<'a>(
    weights: &'a [u8],
    wanted: &Tensor,
    may_be_half: bool,
) -> Result<TensorView<'a>, &'static str> {
    let tensors = SafeTensors::deserialize(weights).map_err(|_| "its weights are not safetensors")?;
    let stored = tensors.tensor(wanted.name).map_err(|_| "a tensor is missing")?;
    let finite = match stored.dtype() {
        _ if stored.shape() != [wanted.rows, wanted.columns] => None,
        Dtype::F32 => Some(numbers(&stored).all(f32::is_finite)),
        Dtype::F16 if may_be_half => Some(are_finite(stored.data())),
        _ => None,
    };
    match finite {
        Some(true) => Ok(stored),
        Some(false) => Err("a weight is not finite"),
        None => Err("the shape or type of a tensor does not match the settings"),
    }
}

/// Returns the numbers of a tensor of single precision.
pub(crate) fn single(stored: &TensorView<'_>) -> Vec<f32> {
    numbers(stored).collect()
}

fn numbers(stored: &TensorView<'_>) -> impl Iterator<Item = f32> {
    stored
        .data()
        .as_chunks::<4>()
        .0
        .iter()
        .map(|&x| f32::from_le_bytes(x))
}
