//! Opens a model folder as a member.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lethe_core::{LabelError, LabelSet, Tagger};
use lethe_dictionaries::{Dictionary, LazyDictionary};
use lethe_learn::{Manifest, ManifestError};
use lethe_linear::{Learner, LinearMember};
use lethe_neural::convolution::{ConvolutionMember, ConvolutionNetwork, Convolutional};
use lethe_neural::{Network, NetworkError, NeuralMember, Recurrent};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mixture::{self, MIXTURE, MixtureError, Probabilistic};
use crate::speech::{SpeechError, speech_in};

/// Settings of a `model` member, which `lethe train` produces.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelConfig {
    /// The model's folder, which `lethe train` created.
    #[schemars(extend("examples" = ["models/crf"]))]
    pub path: PathBuf,
    /// The member's name in votes and audit. Default: the model's kind.
    #[serde(default)]
    pub name: Option<String>,
}

/// Why a model folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The folder does not hold a valid model.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// This program does not have this kind of member.
    #[error("{}: this program has no member of kind `{kind}`", folder.display())]
    Kind {
        /// The folder.
        folder: PathBuf,
        /// The kind.
        kind: String,
    },
    /// The model's own labels do not form a label set.
    #[error("{}: {source}", folder.display())]
    Labels {
        /// The folder.
        folder: PathBuf,
        /// The problem.
        source: LabelError,
    },
    /// A linear model's folder.
    #[error(transparent)]
    Linear(#[from] lethe_linear::MemberError),
    /// A recurrent or convolutional model's folder.
    #[error("{}: {source}", folder.display())]
    Network {
        /// The folder.
        folder: PathBuf,
        /// The problem.
        source: NetworkError,
    },
    /// The part-of-speech tagger in a recurrent model's folder.
    #[error(transparent)]
    Speech(#[from] SpeechError),
    /// A mixture's folder.
    #[error(transparent)]
    Mixture(#[from] MixtureError),
}

/// An opened model.
pub struct Model {
    /// Its manifest.
    pub manifest: Manifest,
    /// The label set that it runs under.
    pub labels: Arc<LabelSet>,
    /// The member.
    pub member: Arc<dyn Tagger>,
}

impl ModelConfig {
    /// Returns the member, under the engine's labels.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn build(
        &self,
        labels: &LabelSet,
        dictionary: &LazyDictionary,
    ) -> Result<Arc<dyn Tagger>, OpenError> {
        let manifest = Manifest::read(&self.path)?;
        let name = self.name.as_deref().unwrap_or(&manifest.kind);
        member(&self.path, &manifest, name, labels, dictionary)
    }
}

/// Opens a model's folder, under `labels`, or under labels of its own: a built-in set if one has them all,
/// else the bare names. `dictionary` must be the one that it was trained with.
///
/// # Errors
/// [`OpenError`], naming the folder or file.
pub fn open(
    folder: &Path,
    labels: Option<&Arc<LabelSet>>,
    dictionary: &LazyDictionary,
) -> Result<Model, OpenError> {
    let manifest = Manifest::read(folder)?;
    let labels = match labels {
        Some(labels) => Arc::clone(labels),
        None => own_labels(&manifest, folder)?,
    };
    let member = member(folder, &manifest, &manifest.kind, &labels, dictionary)?;
    Ok(Model {
        manifest,
        labels,
        member,
    })
}

/// Opens a model's folder as a member that computes tag probabilities; labels as in [`open`].
///
/// # Errors
/// [`OpenError`], naming the folder or file; [`OpenError::Kind`] if the model cannot compute them.
pub fn probabilistic(
    folder: &Path,
    labels: Option<&Arc<LabelSet>>,
    dictionary: &Arc<Dictionary>,
) -> Result<Probabilistic, OpenError> {
    let manifest = Manifest::read(folder)?;
    let labels = match labels {
        Some(labels) => Arc::clone(labels),
        None => own_labels(&manifest, folder)?,
    };
    Ok(mixture::learned(folder, &labels, dictionary)? as _)
}

fn own_labels(manifest: &Manifest, folder: &Path) -> Result<Arc<LabelSet>, OpenError> {
    let names = manifest.tags.labels();
    let set = match LabelSet::built_in_with(names) {
        Some(set) => set,
        None => LabelSet::of_names("model", names).map_err(|source| OpenError::Labels {
            folder: folder.to_owned(),
            source,
        })?,
    };
    Ok(Arc::new(set))
}

fn member(
    folder: &Path,
    manifest: &Manifest,
    name: &str,
    labels: &LabelSet,
    dictionary: &LazyDictionary,
) -> Result<Arc<dyn Tagger>, OpenError> {
    if Learner::KINDS.contains(&manifest.kind.as_str()) {
        let member = LinearMember::open_lazily(folder, labels, dictionary)?;
        return Ok(Arc::new(member.named(name)));
    }
    if manifest.kind == Convolutional::KIND {
        return Ok(Arc::new(convolution(folder, name, labels)?));
    }
    let dictionary = &dictionary.get();
    if manifest.kind == MIXTURE {
        let member = mixture::open(folder, manifest, name, labels, dictionary)?;
        return Ok(Arc::new(member));
    }
    Ok(Arc::new(network(folder, manifest, name, labels, dictionary)?))
}

/// Opens a recurrent model's folder.
pub(crate) fn network(
    folder: &Path,
    manifest: &Manifest,
    name: &str,
    labels: &LabelSet,
    dictionary: &Arc<Dictionary>,
) -> Result<NeuralMember, OpenError> {
    if !Recurrent::KINDS.contains(&manifest.kind.as_str()) {
        return Err(OpenError::Kind {
            folder: folder.to_owned(),
            kind: manifest.kind.clone(),
        });
    }
    let speech = speech_in(folder, manifest)?;
    Network::open(folder, name, labels, dictionary, speech).map_err(|error| refused(folder, error))
}

/// Opens a convolutional model's folder.
pub(crate) fn convolution(
    folder: &Path,
    name: &str,
    labels: &LabelSet,
) -> Result<ConvolutionMember, OpenError> {
    ConvolutionNetwork::open(folder, name, labels).map_err(|error| refused(folder, error))
}

fn refused(folder: &Path, error: NetworkError) -> OpenError {
    match error {
        // The manifest's own errors name the file.
        NetworkError::Manifest(error) => error.into(),
        source => OpenError::Network {
            folder: folder.to_owned(),
            source,
        },
    }
}
