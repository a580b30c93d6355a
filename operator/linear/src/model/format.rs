//! The file format of a model.

use std::borrow::Cow;

use super::{Form, Model, Packed};
use crate::States;
use crate::bytes::{Malformed, Reader, Writer};
use crate::chain::Layout;

const MAGIC: &[u8; 8] = b"LETHELIN";
const VERSION: u32 = 1;

/// Why bytes are not a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// They do not begin like a model.
    #[error("not a file of linear weights")]
    Magic,
    /// Another version of the program wrote them.
    #[error("weights of version {found}, but this program reads version {VERSION}; train the model again")]
    Version {
        /// The version that wrote them.
        found: u32,
    },
    /// They are truncated, too long, or contain invalid values.
    #[error("damaged weights: cut short or altered; copy the file again or train the model again")]
    Malformed,
}

impl From<Malformed> for ModelError {
    fn from(_: Malformed) -> Self {
        Self::Malformed
    }
}

impl Form {
    const ALL: [Self; 3] = [Self::Chain, Self::Local, Self::Greedy];
}

impl Model {
    /// Returns the bytes of the model. The same weights give the same bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.bytes(MAGIC);
        out.u32(VERSION);
        out.bytes(&[Form::ALL.iter().position(|&form| form == self.form).unwrap_or(0) as u8]);
        out.f32(self.scale);
        out.f32(self.warmth);
        out.f32s(&self.steps);
        out.f32s(&self.history);
        out.bytes(self.packed.as_bytes());
        out.0
    }

    /// Reads a model that [`Model::to_bytes`] wrote, for these states. The model keeps the bytes.
    ///
    /// # Errors
    /// [`ModelError`]: nothing of a damaged model is used.
    pub fn from_bytes(states: States, file: impl Into<Cow<'static, [u8]>>) -> Result<Self, ModelError> {
        let file = file.into();
        let mut bytes = Reader(&file);
        if bytes.bytes(MAGIC.len()).map_err(|_| ModelError::Magic)? != MAGIC {
            return Err(ModelError::Magic);
        }
        let found = bytes.u32()?;
        if found != VERSION {
            return Err(ModelError::Version { found });
        }
        let form = *Form::ALL
            .get(usize::from(bytes.u8()?))
            .ok_or(ModelError::Malformed)?;
        let (scale, warmth) = (bytes.f32()?, bytes.f32()?);
        let (steps, history) = (bytes.f32s()?, bytes.f32s()?);
        let left = bytes.0.len();
        let packed = Packed::read(file, left, &states)?;
        let sound = scale.is_finite()
            && warmth.is_finite()
            && steps.iter().chain(&history).all(|weight| weight.is_finite())
            && steps.len() == Layout::of(&states).len()
            && (history.is_empty() || history.len() == 2 * states.width() * states.width());
        if !sound {
            return Err(ModelError::Malformed);
        }
        Ok(Self::assemble(
            states, form, scale, warmth, steps, history, packed,
        ))
    }
}
