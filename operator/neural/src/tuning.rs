//! Fine-tuning (Yang 2019): continues training a recurrent member from its weights on other notes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lethe_corpus::Document;
use lethe_dictionaries::Dictionary;
use lethe_learn::{Manifest, Observer, Speech};
use serde::{Deserialize, Serialize};

use crate::network::{Network, NetworkError};
use crate::settings::{SettingsError, overlay};
use crate::train::{Data, Schedule, TrainError, warm_start};
use crate::vectors::Vectors;

/// The settings of fine-tuning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tuning {
    /// The training schedule.
    pub schedule: Schedule,
    /// The source of the vectors of new words; by default they start as unknown words were read.
    pub vectors: Words,
    /// Whether word vectors are rounded to half precision at the end; by default as in the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub half: Option<bool>,
    /// The tagger in the model's folder, if the model reads parts of speech.
    #[serde(skip)]
    pub speech: Option<Speech>,
}

/// Vectors of new words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Words {
    /// A file of vectors, of the kind that the model was trained with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
}

/// Why training cannot continue from a network.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TuningError {
    /// The network cannot be read.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// The training failed.
    #[error(transparent)]
    Train(#[from] TrainError),
}

impl Default for Tuning {
    /// Larger steps and more passes than in the first training: few documents give few steps, and held-out
    /// ones select the pass. Chosen by strict F1 on one half of the documents from which
    /// `benches/adapt/fine-tune` draws its few, with a transfer to the other half from 100 of MEDDOCAN. With
    /// its 10 documents: 0.829 at 0.005 in 20 passes and 0.826 in 40, 0.829 at 0.002 in 40 and 0.814 in 15,
    /// 0.805 at 0.001 in 40; with 5 of them 0.760 at 0.005 in 20 passes, 0.788 in 40.
    fn default() -> Self {
        Self {
            schedule: Schedule {
                epochs: 40,
                rate: 0.005,
                ..Schedule::default()
            },
            vectors: Words::default(),
            half: None,
            speech: None,
        }
    }
}

impl Tuning {
    /// Returns the defaults, overridden by `given` (tables `schedule` and `vectors`, `half`).
    ///
    /// # Errors
    /// [`SettingsError::Key`].
    pub fn new(given: toml::Table) -> Result<Self, SettingsError> {
        let key = |error: &dyn std::fmt::Display| SettingsError::Key(error.to_string());
        let mut table = toml::Table::try_from(Self::default()).map_err(|error| key(&error))?;
        overlay(&mut table, given);
        let read: Result<Self, toml::de::Error> = toml::Value::Table(table).try_into();
        read.map_err(|error| key(&error))
    }

    /// Continues training the model in `folder`. A training that was killed resumes from `state`, an existing
    /// folder, when it is run again with the same model, settings and data.
    ///
    /// # Errors
    /// [`TuningError`].
    pub fn warm_start(
        &self,
        folder: &Path,
        documents: &[Document],
        held_out: &[Document],
        dictionary: &Arc<Dictionary>,
        state: Option<&Path>,
        observer: &mut dyn Observer,
    ) -> Result<Network, TuningError> {
        let manifest = Manifest::read(folder).map_err(NetworkError::from)?;
        manifest
            .check_dictionary(folder, dictionary.digest())
            .map_err(NetworkError::from)?;
        let from = manifest.digest();
        let network = Network::load(folder, self.speech.clone())?;
        let half = self.half.unwrap_or_else(|| network.has_half_words());
        let vectors = self
            .vectors
            .file
            .as_deref()
            .map(|file| Vectors::read(file, |_| true));
        let vectors = vectors.transpose().map_err(TrainError::from)?;
        let data = Data {
            train: documents,
            held_out,
            dictionary,
            vectors: vectors.as_ref(),
            speech: None,
        };
        let checkpoint = state.map(|folder| folder.join("checkpoint.bin"));
        let mut network = warm_start(
            &network,
            &from,
            &self.schedule,
            data,
            checkpoint.as_deref(),
            observer,
        )?;
        if half {
            network.round_words();
        }
        Ok(network)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_replaces_the_defaults_one_by_one_and_another_key_is_refused() {
        let read = |toml: &str| Tuning::new(toml.parse().unwrap());
        let tuning = read("half = true\n[schedule]\nepochs = 3").unwrap();
        assert_eq!((tuning.schedule.epochs, tuning.half), (3, Some(true)));
        assert_eq!(tuning.schedule.rate, Tuning::default().schedule.rate);
        let message = read("[architecture]\nhidden = 3").unwrap_err().to_string();
        assert!(message.contains("architecture"), "{message}");
    }
}
