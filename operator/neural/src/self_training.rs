//! Self-training (Liao 2021) of a trained recurrent member, from a model's folder to a network.

use std::path::Path;
use std::sync::Arc;

use lethe_corpus::Document;
use lethe_dictionaries::Dictionary;
use lethe_learn::{Manifest, Marginals, Observer, Speech};

use crate::network::{Network, NetworkError};
use crate::settings::{SelfTraining, SettingsError, overlay};
use crate::train::{Data, Ground, self_train};
use crate::tuning::TuningError;

/// A self-training task.
#[derive(Clone, Copy)]
pub struct SelfTask<'a> {
    /// The folder of the model to continue from.
    pub model: &'a Path,
    /// Documents with gold, whose labels the model has.
    pub labelled: &'a [Document],
    /// Documents whose annotations, if they have any, are ignored.
    pub unlabelled: &'a [Document],
    /// Documents with gold for evaluation only: the pass with the best score on them is kept.
    pub held_out: &'a [Document],
    /// The member that gives the labels, with the model's own tags; by default the model itself.
    pub teacher: Option<&'a (dyn Marginals + Sync)>,
    /// The dictionary for its knowledge features.
    pub dictionary: &'a Arc<Dictionary>,
    /// The tagger in the model's folder, if the model reads parts of speech.
    pub speech: Option<&'a Speech>,
}

/// A self-trained network, and the strict micro-F1 of the original on the held-out set.
pub struct SelfTrained {
    /// The new network.
    pub network: Network,
    /// Its score before.
    pub before: f64,
    /// Its score after.
    pub after: f64,
}

impl SelfTraining {
    /// Returns the defaults, overridden by `given` (tables `schedule` and `noise`, `refresh`, `patience`).
    ///
    /// # Errors
    /// [`SettingsError::Key`].
    pub fn new(given: toml::Table) -> Result<Self, SettingsError> {
        let key = |error: &dyn std::fmt::Display| SettingsError::Key(error.to_string());
        let mut table = toml::Table::try_from(Self::default()).map_err(|error| key(&error))?;
        overlay(&mut table, given);
        let read: Result<Self, toml::de::Error> = toml::Value::Table(table).try_into();
        let read = read.map_err(|error| key(&error))?;
        read.noise.check().map_err(|told| key(&told))?;
        if read.refresh == 0 || read.patience == 0 {
            return Err(key(&"refresh and patience must be at least 1"));
        }
        Ok(read)
    }

    /// Continues training the model. A training that was killed resumes from `state`, an existing folder, at
    /// the point where labels were last predicted, when it is run again with the same model, settings and
    /// data: with the same bytes as a result.
    ///
    /// # Errors
    /// [`TuningError`].
    pub fn train(
        &self,
        task: &SelfTask<'_>,
        state: Option<&Path>,
        observer: &mut dyn Observer,
    ) -> Result<SelfTrained, TuningError> {
        let manifest = Manifest::read(task.model).map_err(NetworkError::from)?;
        manifest
            .check_dictionary(task.model, task.dictionary.digest())
            .map_err(NetworkError::from)?;
        let from = manifest.digest();
        let old = Network::load(task.model, task.speech.cloned())?;
        let ground = Ground {
            data: Data {
                train: task.labelled,
                held_out: task.held_out,
                dictionary: task.dictionary,
                vectors: None,
                speech: None,
            },
            unlabelled: task.unlabelled,
            teacher: task.teacher,
        };
        let checkpoint = state.map(|folder| folder.join("checkpoint.bin"));
        let (mut network, before, after) =
            self_train(&old, &from, self, ground, checkpoint.as_deref(), observer)?;
        if old.has_half_words() {
            network.round_words();
        }
        Ok(SelfTrained {
            network,
            before,
            after,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_replaces_the_defaults_one_by_one_and_nonsense_is_refused() {
        let read = |toml: &str| SelfTraining::new(toml.parse().unwrap());
        let settings = read("refresh = 2\nnoise = { words = 0.3 }").unwrap();
        assert_eq!((settings.refresh, settings.noise.words), (2, 0.3));
        assert_eq!(
            settings.noise.characters,
            lethe_learn::SwitchOut::default().characters
        );
        assert_eq!(settings.schedule, SelfTraining::default().schedule);
        for wrong in ["colour = 1", "refresh = 0", "noise = { words = 2.0 }"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
