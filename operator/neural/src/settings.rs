//! The recurrent members by name: their settings, and their training from documents to a network.

use std::path::PathBuf;
use std::sync::Arc;

use lethe_corpus::{CorpusError, Document};
use lethe_dictionaries::Dictionary;
use lethe_learn::{Observer, Speech, SwitchOut};
use serde::{Deserialize, Serialize};

use crate::model::Architecture;
use crate::network::Network;
use crate::skipgram::SkipGram;
use crate::train::{Data, Schedule, TrainError, train};
use crate::types::Casing;
use crate::vectors::Vectors;

/// The source of a network's word vectors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VectorSource {
    /// A file of vectors: word2vec's text or binary format, GloVe's, fastText's `.vec`. By default vectors
    /// are trained on the training documents and `texts`.
    pub file: Option<PathBuf>,
    /// Corpora whose text is read too.
    pub texts: Vec<PathBuf>,
    /// Whether to start with random vectors instead.
    pub none: bool,
    /// How vectors are trained.
    pub skip_gram: SkipGram,
}

/// The settings of a recurrent member, without the data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recurrent {
    /// One of [`Recurrent::KINDS`].
    pub kind: String,
    /// The network's shape.
    pub architecture: Architecture,
    /// How it is fitted.
    pub schedule: Schedule,
    /// Its word vectors.
    pub vectors: VectorSource,
    /// Whether word vectors are rounded to half precision (IEEE 754 binary16) after training, which makes the
    /// model's file about half as large.
    pub half: bool,
    /// The tagger for parts of speech, which the model's folder will contain; needed if and only if
    /// `architecture.speech` is above 0.
    #[serde(skip)]
    pub speech: Option<Speech>,
}

/// Why settings or their vectors cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// This member does not exist.
    #[error("there is no recurrent member `{0}`; there are {list}", list = Recurrent::KINDS.join(", "))]
    Kind(String),
    /// A key is unknown, or its value has another type.
    #[error("{0}")]
    Key(String),
}

impl Recurrent {
    /// The members: NeuroNER's network, Lample's, and Lample's without a CRF layer (Kim 2020, table 3).
    pub const KINDS: [&'static str; 3] = ["lstm-crf-n", "lstm-crf-l", "lstm-l"];

    /// Creates a member's default settings.
    pub fn of_kind(kind: &str) -> Option<Self> {
        let architecture = match kind {
            "lstm-crf-n" => Architecture {
                casing: Casing::AsWritten,
                cap: 0,
                ..Architecture::default()
            },
            "lstm-crf-l" => Architecture::default(),
            "lstm-l" => Architecture {
                crf: false,
                ..Architecture::default()
            },
            _ => return None,
        };
        Some(Self {
            kind: kind.to_owned(),
            architecture,
            schedule: Schedule::default(),
            vectors: VectorSource::default(),
            half: false,
            speech: None,
        })
    }

    /// Creates a member's settings: its defaults, overridden by `given` (tables `architecture`, `schedule`,
    /// `vectors`).
    ///
    /// # Errors
    /// [`SettingsError`], naming the kind or key.
    pub fn new(kind: &str, given: toml::Table) -> Result<Self, SettingsError> {
        let base = Self::of_kind(kind).ok_or_else(|| SettingsError::Kind(kind.to_owned()))?;
        let mut table = toml::Table::try_from(base).map_err(|error| SettingsError::Key(error.to_string()))?;
        overlay(&mut table, given);
        // The caller names the kind; a table that names another does not change it.
        table.insert("kind".to_owned(), kind.into());
        let read: Result<Self, toml::de::Error> = toml::Value::Table(table).try_into();
        read.map_err(|error| SettingsError::Key(error.to_string()))
    }

    /// Trains the member. A training that was killed resumes from `state`, an existing folder, when it is run
    /// again with the same settings and data.
    ///
    /// # Errors
    /// [`TrainError`].
    pub fn train(
        &self,
        documents: &[Document],
        held_out: &[Document],
        dictionary: &Arc<Dictionary>,
        state: Option<&std::path::Path>,
        observer: &mut dyn Observer,
    ) -> Result<Network, TrainError> {
        let vectors = self.vectors(documents)?;
        let data = Data {
            train: documents,
            held_out,
            dictionary,
            vectors: vectors.as_ref(),
            speech: self.speech.as_ref(),
        };
        let checkpoint = state.map(|folder| folder.join("checkpoint.bin"));
        let mut network = train(
            &self.kind,
            &self.architecture,
            &self.schedule,
            data,
            checkpoint.as_deref(),
            observer,
        )?;
        if self.half {
            network.round_words();
        }
        Ok(network)
    }

    fn vectors(&self, documents: &[Document]) -> Result<Option<Vectors>, TrainError> {
        let source = &self.vectors;
        if source.none {
            return Ok(None);
        }
        if let Some(file) = &source.file {
            return Ok(Some(Vectors::read(file, |_| true)?));
        }
        let mut more = Vec::new();
        for path in &source.texts {
            let read: Result<Vec<Document>, CorpusError> = lethe_corpus::read(path, None);
            more.extend(read?);
        }
        let skip_gram = SkipGram {
            size: self.architecture.word,
            ..source.skip_gram.clone()
        };
        let texts = documents
            .iter()
            .chain(&more)
            .map(|document| document.text.as_str());
        Ok(Some(skip_gram.train(texts, self.architecture.casing, |_| {})))
    }
}

/// Overrides the base with the given values, table by table.
pub(crate) fn overlay(base: &mut toml::Table, given: toml::Table) {
    for (key, value) in given {
        match (base.get_mut(&key), value) {
            (Some(toml::Value::Table(base)), toml::Value::Table(given)) => overlay(base, given),
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}

/// The settings of a network's self-training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SelfTraining {
    /// The training schedule; one half of each batch has gold.
    pub schedule: Schedule,
    /// Noise in training.
    pub noise: SwitchOut,
    /// The passes after which the labels are predicted again.
    pub refresh: u32,
    /// Passes without a better score on the held-out set after which training ends.
    pub patience: u32,
}

impl Default for SelfTraining {
    /// Liao 2021: 50 passes, labels predicted again after 5, batches of 16 (compared with 32), dropout of 0.2
    /// (compared with 0.1), a rate of 0.001 (the least of three; the paper's is of plain descent, ours of
    /// Adam). The paper does not specify the share of replacements, nor the passes without a gain after which
    /// training ends.
    fn default() -> Self {
        Self {
            schedule: Schedule {
                epochs: 50,
                batch: 16,
                rate: 0.001,
                dropout: 0.2,
                ..Schedule::default()
            },
            noise: SwitchOut::default(),
            refresh: 5,
            patience: 15,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(kind: &str, toml: &str) -> Result<Recurrent, SettingsError> {
        Recurrent::new(kind, toml.parse().unwrap())
    }

    #[test]
    fn every_kind_has_settings_and_what_is_given_replaces_them_one_by_one() {
        for kind in Recurrent::KINDS {
            let settings = read(kind, "[schedule]\nepochs = 3\n[vectors.skip_gram]\nleast = 2").unwrap();
            assert_eq!(
                (settings.schedule.epochs, settings.vectors.skip_gram.least),
                (3, 2)
            );
            let default = Recurrent::of_kind(kind).unwrap();
            assert_eq!(settings.schedule.batch, default.schedule.batch);
            assert_eq!(settings.architecture, default.architecture);
        }
        assert!(!read("lstm-l", "").unwrap().architecture.crf);
    }

    #[test]
    fn an_unknown_kind_or_key_is_refused_by_name() {
        let message = read("gru", "").unwrap_err().to_string();
        assert!(
            message.contains("`gru`") && message.contains("lstm-crf-n"),
            "{message}"
        );
        let message = read("lstm-l", "[schedule]\nepoch = 3").unwrap_err().to_string();
        assert!(message.contains("`epoch`"), "{message}");
    }
}
