//! Rounds the weights of trained networks to eight bits, so that they run faster.

use std::path::Path;

use lethe_core::{BatchError, NoteBatch};
use lethe_learn::{Manifest, ManifestError};
use lethe_neural::convolution::{ConvolutionNetwork, Convolutional};
use lethe_neural::{Network, NetworkError, Recurrent};

use crate::speech::{SpeechError, speech_in};

/// Why a model's weights could not be rounded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RoundError {
    /// The folder holds no model.
    #[error(transparent)]
    Model(#[from] ManifestError),
    /// Models of this kind do not run with weights of eight bits.
    #[error("a `{kind}` cannot be quantized, only {}", [&[Convolutional::KIND], &Recurrent::KINDS[..]].concat().join(", "))]
    Kind {
        /// Its kind.
        kind: String,
    },
    /// The network is damaged, or the notes have no words.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// Its part-of-speech tagger is damaged.
    #[error(transparent)]
    Speech(#[from] SpeechError),
    /// The notes cannot be read.
    #[error(transparent)]
    Notes(#[from] BatchError),
}

/// Writes a copy of the network in `folder` with weights of eight bits to `out`. The ranges of its activations are
/// measured on `notes`: texts such as it will read.
///
/// # Errors
/// [`RoundError`].
pub fn round<'t>(
    folder: &Path,
    notes: impl IntoIterator<Item = &'t str>,
    out: &Path,
) -> Result<(), RoundError> {
    let manifest = Manifest::read(folder)?;
    if manifest.kind == Convolutional::KIND {
        let notes = NoteBatch::from_texts(notes)?;
        return Ok(ConvolutionNetwork::load(folder)?.rounded(&notes)?.save(out)?);
    }
    if !Recurrent::KINDS.contains(&manifest.kind.as_str()) {
        return Err(RoundError::Kind { kind: manifest.kind });
    }
    let speech = speech_in(folder, &manifest)?;
    Ok(Network::load(folder, speech)?.rounded().save(out)?)
}
