//! The file format of a model.

use super::{Form, Model};
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
        out.u64(self.hashes.len() as u64);
        for hash in &self.hashes {
            out.bytes(&hash.to_le_bytes()[..5]);
        }
        out.bytes(&self.counts);
        out.u64(self.entries.len() as u64);
        for &(state, _) in &self.entries {
            out.bytes(&[state]);
        }
        for &(_, weight) in &self.entries {
            out.bytes(&weight.to_le_bytes());
        }
        out.0
    }

    /// Reads a model that [`Model::to_bytes`] wrote, for these states.
    ///
    /// # Errors
    /// [`ModelError`]: nothing of a damaged model is used.
    pub fn from_bytes(states: States, bytes: &[u8]) -> Result<Self, ModelError> {
        let mut bytes = Reader(bytes);
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
        let n = bytes.length(6)?;
        let hashes: Vec<u64> = bytes
            .bytes(n * 5)?
            .chunks_exact(5)
            .map(|five| {
                five.iter()
                    .rev()
                    .fold(0, |hash, &byte| hash << 8 | u64::from(byte))
            })
            .collect();
        let counts = bytes.bytes(n)?.to_vec();
        let total = bytes.length(3)?;
        let tags = bytes.bytes(total)?;
        let (weights, _) = bytes.bytes(total * 2)?.as_chunks::<2>();
        bytes.end()?;
        let entries: Vec<(u8, i16)> = tags
            .iter()
            .zip(weights)
            .map(|(&state, &weight)| (state, i16::from_le_bytes(weight)))
            .collect();
        let sound = scale.is_finite()
            && warmth.is_finite()
            && steps.iter().chain(&history).all(|weight| weight.is_finite())
            && steps.len() == Layout::of(&states).len()
            && (history.is_empty() || history.len() == 2 * states.width() * states.width())
            && hashes.is_sorted_by(|a, b| a < b)
            && n < 1 << 21
            && total < 1 << 24
            && counts.iter().map(|&count| usize::from(count)).sum::<usize>() == total
            && counts.iter().all(|&count| count > 0)
            && entries
                .iter()
                .all(|&(state, _)| usize::from(state) < states.width() && states.is_state(state.into()));
        if !sound {
            return Err(ModelError::Malformed);
        }
        Ok(Self::assemble(
            states, form, scale, warmth, steps, history, hashes, counts, entries,
        ))
    }
}
