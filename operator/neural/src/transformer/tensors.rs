//! The tensors of `model.safetensors`, under the names that candle's networks request, with errors that name
//! the file and the tensor.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use candle_core::safetensors::{BufferedSafetensors, Load as _};
use candle_core::{DType, Device, Error, Result, Shape, Tensor};
use candle_nn::var_builder::SimpleBackend;
use candle_nn::{Init, VarBuilder};

use super::checkpoint::TransformerError;

/// The source of a tensor that a network requests.
pub(super) enum Place {
    /// Under this name.
    Named(String),
    /// Under this name, after a row of zeros that the network has and the file lacks.
    Below(String),
    /// None: the architecture has no such part, and zeros have no effect.
    Zeros,
}

/// Maps a network's names to the file's.
pub(super) type Names = fn(&str) -> Place;

/// The tensors of a checkpoint.
struct Tensors {
    path: PathBuf,
    file: BufferedSafetensors,
    names: Names,
    /// The problem of the last refused tensor, since candle's own errors cannot hold it.
    fault: Arc<Mutex<Option<TransformerError>>>,
}

/// Builds a network from a file's bytes.
///
/// # Errors
/// [`TransformerError::File`] if the bytes are not safetensors, [`TransformerError::Tensor`] if a tensor is
/// missing, has another shape or type than the network requests, or has a number that is not finite.
pub(super) fn load<T>(
    path: &Path,
    weights: Vec<u8>,
    names: Names,
    build: impl FnOnce(VarBuilder<'_>) -> Result<T>,
) -> std::result::Result<T, TransformerError> {
    let broken = |problem: String| TransformerError::File {
        path: path.to_owned(),
        problem,
    };
    let file = BufferedSafetensors::new(weights)
        .map_err(|error| broken(format!("not a complete safetensors file: {}", first_line(&error))))?;
    let fault = Arc::new(Mutex::new(None));
    let tensors = Tensors {
        path: path.to_owned(),
        file,
        names,
        fault: Arc::clone(&fault),
    };
    build(VarBuilder::from_backend(
        Box::new(tensors),
        DType::F32,
        Device::Cpu,
    ))
    .map_err(|error| {
        let fault = fault.lock().unwrap_or_else(PoisonError::into_inner).take();
        fault.unwrap_or_else(|| broken(first_line(&error)))
    })
}

/// Returns an error without the trace that candle may add.
fn first_line(error: &Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

impl Tensors {
    fn find(
        &self,
        name: &str,
        shape: Option<&Shape>,
        device: &Device,
    ) -> std::result::Result<Tensor, String> {
        let message = |error: Error| first_line(&error);
        // Checkpoints converted from TensorFlow have that library's names for a normalisation's weight and
        // bias.
        let older = (name.strip_suffix("LayerNorm.weight").map(|stem| (stem, "gamma")))
            .or_else(|| name.strip_suffix("LayerNorm.bias").map(|stem| (stem, "beta")))
            .map(|(stem, part)| format!("{stem}LayerNorm.{part}"));
        let view = self.file.get(name).ok();
        let view = view.or_else(|| self.file.get(older.as_deref()?).ok());
        let view = view.ok_or("is missing")?;
        if let Some(shape) = shape
            && view.shape() != shape.dims()
        {
            return Err(format!(
                "has the shape {:?}, but config.json requires {:?}",
                view.shape(),
                shape.dims()
            ));
        }
        let kind = view.dtype();
        let tensor = match DType::try_from(kind) {
            Ok(DType::F32 | DType::F16 | DType::BF16) => view.load(device).map_err(message)?,
            _ => return Err(format!("is stored as {kind:?}; supported are F32, F16 and BF16")),
        };
        let tensor = tensor.to_dtype(DType::F32).map_err(message)?;
        let numbers = tensor
            .flatten_all()
            .and_then(|flat| flat.to_vec1::<f32>())
            .map_err(message)?;
        if numbers.iter().any(|number| !number.is_finite()) {
            return Err("has a number that is not finite".to_owned());
        }
        Ok(tensor)
    }

    fn give(&self, asked: &str, shape: Option<&Shape>, device: &Device) -> Result<Tensor> {
        let (name, below) = match ((self.names)(asked), shape) {
            (Place::Named(name), _) => (name, false),
            (Place::Below(name), _) => (name, true),
            (Place::Zeros, Some(shape)) => return Tensor::zeros(shape, DType::F32, device),
            (Place::Zeros, None) => (asked.to_owned(), false),
        };
        let less = shape.filter(|_| below).and_then(|shape| {
            let (rows, columns) = shape.dims2().ok()?;
            Some(Shape::from((rows.checked_sub(1)?, columns)))
        });
        let found = self
            .find(&name, less.as_ref().or(shape), device)
            .map_err(|problem| {
                let fault = TransformerError::Tensor {
                    path: self.path.clone(),
                    tensor: name,
                    problem,
                };
                *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(fault);
                Error::CannotFindTensor {
                    path: asked.to_owned(),
                }
            })?;
        if below {
            Tensor::cat(&[&found.narrow(0, 0, 1)?.zeros_like()?, &found], 0)
        } else {
            Ok(found)
        }
    }
}

impl SimpleBackend for Tensors {
    fn get(&self, shape: Shape, name: &str, _: Init, dtype: DType, device: &Device) -> Result<Tensor> {
        self.give(name, Some(&shape), device)?.to_dtype(dtype)
    }

    fn get_unchecked(&self, name: &str, dtype: DType, device: &Device) -> Result<Tensor> {
        self.give(name, None, device)?.to_dtype(dtype)
    }

    fn contains_tensor(&self, name: &str) -> bool {
        matches!((self.names)(name), Place::Named(name) | Place::Below(name) if self.file.get(&name).is_ok())
    }
}
