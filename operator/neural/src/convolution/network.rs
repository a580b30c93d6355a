//! A trained network and its folder: weights as safetensors, the rest in the manifest.

use std::path::Path;

use lethe_core::{LabelSet, NoteBatch};
use lethe_corpus::Document;
use lethe_learn::{LabelMap, Manifest, Observer, TagSet, Training};
use safetensors::tensor::Dtype;
use serde::{Deserialize, Serialize};

use super::FAILED;
use super::member::ConvolutionMember;
use super::runner::Runner;
use super::settings::{ConvolutionShape, Convolutional, PIECES, slot};
use super::train::{Start, train};
use crate::halves::Halves;
use crate::model::{Params, Tensor};
use crate::network::NetworkError;
use crate::precision::Precision;
use crate::train::TrainError;
use crate::tuning::TuningError;
use crate::weights;

/// A trained convolutional network, as it is saved and loaded. It holds no words.
#[derive(Clone)]
pub struct ConvolutionNetwork {
    pub(super) shape: ConvolutionShape,
    pub(super) tags: TagSet,
    pub(super) params: Params,
    /// What each channel reached before each layer but the first, if the layers are rounded.
    pub(super) ranges: Option<Tensor>,
    pub(super) training: Training,
}

/// The manifest's entries besides the tags.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedSettings {
    architecture: ConvolutionShape,
}

impl Convolutional {
    /// Trains the member. A training that was killed resumes from `state`, an existing folder, when it is run
    /// again with the same settings and data.
    ///
    /// # Errors
    /// [`TrainError`].
    pub fn train(
        &self,
        documents: &[Document],
        held_out: &[Document],
        state: Option<&Path>,
        observer: &mut dyn Observer,
    ) -> Result<ConvolutionNetwork, TrainError> {
        let tags = TagSet::of(
            self.architecture.scheme,
            documents.iter().flat_map(|document| &document.marks),
        );
        let start = Start {
            shape: self.architecture.clone(),
            params: self.architecture.random(tags.len(), self.schedule.seed),
            tags,
            from: None,
        };
        train(start, &self.schedule, documents, held_out, state, observer)
    }

    /// Continues training the model in a folder on other documents, with this schedule and the model's own
    /// architecture. Their labels are added to the model's. `state` as in [`Convolutional::train`].
    ///
    /// # Errors
    /// [`TuningError`].
    pub fn warm_start(
        &self,
        model: &Path,
        documents: &[Document],
        held_out: &[Document],
        state: Option<&Path>,
        observer: &mut dyn Observer,
    ) -> Result<ConvolutionNetwork, TuningError> {
        let digest = Manifest::read(model).map_err(NetworkError::from)?.digest();
        let network = ConvolutionNetwork::load(model)?;
        let marks = documents.iter().flat_map(|document| &document.marks);
        let tags = network.tags.with_labels_of(marks);
        let mut params = network.shape.random(tags.len(), self.schedule.seed);
        for (new, old) in params.0.iter_mut().zip(&network.params.0) {
            // The columns of new tags follow those of the old ones.
            for (new, old) in new
                .data
                .chunks_exact_mut(new.columns)
                .zip(old.data.chunks_exact(old.columns))
            {
                new[..old.len()].copy_from_slice(old);
            }
        }
        let start = Start {
            shape: network.shape,
            params,
            tags,
            from: Some(digest),
        };
        let tuned = train(start, &self.schedule, documents, held_out, state, observer)?;
        Ok(tuned)
    }
}

impl ConvolutionNetwork {
    /// Returns how it was trained.
    pub const fn training(&self) -> &Training {
        &self.training
    }

    /// Returns its tags.
    pub const fn tags(&self) -> &TagSet {
        &self.tags
    }

    /// Returns the network with layers of weights of eight bits. How far activations reach is measured on `notes`,
    /// which should be such as the network will read; some hundred suffice.
    ///
    /// # Errors
    /// [`NetworkError::Inconsistent`] if candle fails, or there are no tokens.
    pub fn rounded(mut self, notes: &NoteBatch) -> Result<Self, NetworkError> {
        let failed = |_| NetworkError::Inconsistent(FAILED);
        let runner = Runner::new(&self.shape, self.params.clone(), None, &self.tags, None).map_err(failed)?;
        let mut ranges = self.shape.ranges();
        ranges.data = vec![0.0; ranges.rows * ranges.columns];
        for note in notes.notes() {
            for window in Runner::windows(note.tokens.len()) {
                runner.measure(note, window, &mut ranges.data).map_err(failed)?;
            }
        }
        if ranges.data.iter().all(|&range| range == 0.0) {
            return Err(NetworkError::Inconsistent(
                "the notes that it should be rounded for have no words",
            ));
        }
        self.shape.precision = Precision::Int8;
        self.ranges = Some(ranges);
        Ok(self)
    }

    /// Writes the model's folder, its table of n-grams and words in half precision.
    ///
    /// # Errors
    /// [`NetworkError::Manifest`], naming the file.
    pub fn save(&self, folder: &Path) -> Result<(), NetworkError> {
        let saved = SavedSettings {
            architecture: self.shape.clone(),
        };
        let settings =
            toml::Table::try_from(saved).map_err(|error| NetworkError::Settings(error.to_string()))?;
        let tensors: Vec<Tensor> = self.params.0.iter().chain(&self.ranges).cloned().collect();
        let weights = weights::to_bytes(&tensors, |tensor| tensor.name == PIECES)
            .map_err(NetworkError::Inconsistent)?;
        let training = self.training.clone();
        let mut manifest = Manifest::new(Convolutional::KIND, self.tags.clone(), training, settings);
        manifest.write(folder, &[(weights::FILE, &weights)])?;
        Ok(())
    }

    /// Reads a model's folder.
    ///
    /// # Errors
    /// [`NetworkError`] if anything was truncated, altered, or is inconsistent.
    pub fn load(folder: &Path) -> Result<Self, NetworkError> {
        let (mut network, halves) = Self::read(folder)?;
        let Tensor { rows, columns, .. } = network.params.0[slot::PIECES];
        let mut table = vec![0.0; rows * columns];
        for (row, to) in table.chunks_exact_mut(columns).enumerate() {
            halves.row(row, to);
        }
        network.params.0[slot::PIECES].data = table;
        Ok(network)
    }

    /// Opens the member that runs the network in a folder, called `name` in votes and audit.
    ///
    /// # Errors
    /// As [`ConvolutionNetwork::load`], and [`NetworkError::Labels`] if the label set lacks one of its labels.
    pub fn open(folder: &Path, name: &str, labels: &LabelSet) -> Result<ConvolutionMember, NetworkError> {
        let (network, halves) = Self::read(folder)?;
        let map = LabelMap::new(network.tags.labels(), labels)?;
        let ranges = network.ranges.as_ref();
        let runner = Runner::new(
            &network.shape,
            network.params,
            Some(halves),
            &network.tags,
            ranges,
        )
        .map_err(|_| NetworkError::Inconsistent(FAILED))?;
        Ok(ConvolutionMember::new(name, network.tags, map, runner))
    }

    /// Returns the network without its table of n-grams, and the table.
    fn read(folder: &Path) -> Result<(Self, Halves), NetworkError> {
        let manifest = Manifest::read(folder)?;
        let saved: SavedSettings = toml::Value::Table(manifest.settings.clone())
            .try_into()
            .map_err(|error: toml::de::Error| NetworkError::Settings(error.to_string()))?;
        let shape = saved.architecture;
        shape.check().map_err(NetworkError::Inconsistent)?;
        let file = manifest.file(folder, weights::FILE)?;
        let mut params = shape.tensors(manifest.tags.len());
        for tensor in &mut params[slot::SHAPES..] {
            let stored = weights::tensor(&file, tensor, false).map_err(NetworkError::Inconsistent)?;
            tensor.data = weights::single(&stored);
        }
        let mut ranges = None;
        if shape.precision == Precision::Int8 {
            let mut tensor = shape.ranges();
            let stored = weights::tensor(&file, &tensor, false).map_err(NetworkError::Inconsistent)?;
            tensor.data = weights::single(&stored);
            ranges = Some(tensor);
        }
        let pieces = &params[slot::PIECES];
        let stored = weights::tensor(&file, pieces, true).map_err(NetworkError::Inconsistent)?;
        if stored.dtype() != Dtype::F16 {
            return Err(NetworkError::Inconsistent(
                "its table of n-grams has not half precision",
            ));
        }
        let start = stored.data().as_ptr().addr() - file.as_ptr().addr();
        let (table, columns) = (start..start + stored.data().len(), pieces.columns);
        let network = Self {
            shape,
            tags: manifest.tags,
            params: Params(params),
            ranges,
            training: manifest.training,
        };
        Ok((network, Halves::new(file, table, columns)))
    }
}

impl std::fmt::Debug for ConvolutionNetwork {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ConvolutionNetwork({} tags)", self.tags.len())
    }
}
