//! A trained network and its folder: weights as safetensors, words as text, the rest in the manifest.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use lethe_core::LabelSet;
use lethe_dictionaries::{Dictionary, UnknownList};
use lethe_kernel::Isa;
use lethe_learn::{LabelMap, LabelMapError, Manifest, ManifestError, POS_FILE, Speech, TagSet, Training};
use safetensors::tensor::{Dtype, TensorView};
use serde::{Deserialize, Serialize};

use crate::halves::{Halves, widen};
use crate::member::NeuralMember;
use crate::model::{Architecture, Model, Params, Tensor, slot};
use crate::precision::Precision;
use crate::weights::{self, is_half, single};

const WORDS: &str = "words.txt";
/// The tensor that may have half precision.
const WORD: &str = "word";

/// A trained recurrent network, as it is saved and loaded.
///
/// Its word table, and so its folder, contains words of the training documents: a network that was trained on
/// notes is as confidential as they are.
#[derive(Clone)]
pub struct Network {
    kind: String,
    pub(crate) model: Model,
    training: Training,
}

/// Why a network could not be saved, loaded or run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// The folder is invalid.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The folder is complete, but its parts are inconsistent.
    #[error("the model is inconsistent: {0}")]
    Inconsistent(&'static str),
    /// The settings in the manifest are invalid.
    #[error("the model's settings: {0}")]
    Settings(String),
    /// The tagger is not the one that the network was trained with.
    #[error(
        "the model was trained with the part-of-speech tagger {trained}, but the given one is {}; use the `{POS_FILE}` of the model's folder, or train it again",
        given.as_deref().unwrap_or("missing")
    )]
    Speech {
        /// The digest of the tagger that it was trained with.
        trained: String,
        /// The digest of the given tagger, if one was given.
        given: Option<String>,
    },
    /// The label set lacks a label.
    #[error(transparent)]
    Labels(#[from] LabelMapError),
    /// The dictionary lacks a list.
    #[error("{0}; use the dictionary that the model was trained with")]
    Dictionary(#[from] UnknownList),
}

/// The manifest's entries besides the tags.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedSettings {
    chars: String,
    fields: Vec<String>,
    lists: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dictionary: Option<String>,
    /// The file of the part-of-speech tagger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pos: Option<String>,
    architecture: Architecture,
}

impl Network {
    pub(crate) fn new(kind: &str, model: Model, training: Training) -> Self {
        Self {
            kind: kind.to_owned(),
            model,
            training,
        }
    }

    /// Returns the member's kind, for instance `lstm-crf-l`.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// Returns how it was trained.
    pub const fn training(&self) -> &Training {
        &self.training
    }

    /// Returns its architecture.
    pub const fn architecture(&self) -> &Architecture {
        &self.model.architecture
    }

    /// Returns its tags.
    pub const fn tags(&self) -> &TagSet {
        &self.model.tags
    }

    /// Rounds word vectors to half precision; [`Network::save`] then writes them in it.
    pub(crate) fn round_words(&mut self) {
        weights::round(&mut self.model.params.0[slot::WORD].data);
    }

    /// Returns whether every word vector has half precision.
    pub(crate) fn has_half_words(&self) -> bool {
        self.model.params.get(slot::WORD).iter().all(is_half)
    }

    /// Writes the model's folder. A table of words is written in half precision if all its numbers have it.
    ///
    /// # Errors
    /// [`NetworkError::Manifest`], naming the file.
    pub fn save(&self, folder: &Path) -> Result<(), NetworkError> {
        let model = &self.model;
        let saved = SavedSettings {
            chars: model.chars.iter().collect(),
            fields: model.fields.clone(),
            lists: model.lists.clone(),
            dictionary: model.dictionary.clone(),
            pos: model.speech.is_some().then(|| POS_FILE.to_owned()),
            architecture: model.architecture.clone(),
        };
        let settings =
            toml::Table::try_from(saved).map_err(|error| NetworkError::Settings(error.to_string()))?;
        let weights = weights::to_bytes(&model.params.0, |tensor| {
            tensor.name == WORD && self.has_half_words()
        })
        .map_err(NetworkError::Inconsistent)?;
        let words = model.words.join("\n");
        let mut manifest = Manifest::new(&self.kind, model.tags.clone(), self.training.clone(), settings);
        let tagger = model.speech.as_ref().map(Speech::to_bytes);
        let mut files = vec![(weights::FILE, &weights[..]), (WORDS, words.as_bytes())];
        files.extend(tagger.as_deref().map(|tagger| (POS_FILE, tagger)));
        manifest.write(folder, &files)?;
        Ok(())
    }

    /// Returns the network with weights of eight bits from the words' LSTM on.
    #[must_use]
    pub fn rounded(mut self) -> Self {
        self.model.architecture.precision = Precision::Int8;
        self
    }

    /// Reads a model's folder. `speech` is the tagger in it, if the network reads parts of speech.
    ///
    /// # Errors
    /// [`NetworkError`] if anything was truncated, altered, or is inconsistent.
    pub fn load(folder: &Path, speech: Option<Speech>) -> Result<Self, NetworkError> {
        let (mut network, weights) = Self::without_words(folder, None, speech)?;
        let words = &mut network.model.params.0[slot::WORD];
        let stored = tensor(&weights, words)?;
        words.data = match stored.dtype() {
            Dtype::F16 => {
                let mut numbers = vec![0.0; words.rows * words.columns];
                widen(stored.data(), &mut numbers);
                numbers
            }
            _ => single(&stored),
        };
        Ok(network)
    }

    /// Opens the member that runs the network in a folder, called `name` in votes and audit. Unlike with
    /// [`Network::load`], word vectors stay in half precision if they are saved so, which takes half the memory.
    ///
    /// # Errors
    /// As [`Network::load`] and [`Network::member`].
    pub fn open(
        folder: &Path,
        name: &str,
        labels: &LabelSet,
        dictionary: &Arc<Dictionary>,
        speech: Option<Speech>,
    ) -> Result<NeuralMember, NetworkError> {
        let (mut network, weights) = Self::without_words(folder, Some(dictionary), speech)?;
        let words = &mut network.model.params.0[slot::WORD];
        let stored = tensor(&weights, words)?;
        let halves = if stored.dtype() == Dtype::F16 {
            let start = stored.data().as_ptr().addr() - weights.as_ptr().addr();
            let table = start..start + stored.data().len();
            Some(Halves::new(weights, table, words.columns))
        } else {
            words.data = single(&stored);
            None
        };
        let (model, isa) = (network.model, Isa::best());
        let map = LabelMap::new(model.tags.labels(), labels)?;
        Ok(NeuralMember::new(isa, name, model, halves, map, dictionary)?)
    }

    /// Reads a folder, all but its word vectors, and returns its checked weights, which have them. A dictionary and a
    /// part-of-speech tagger must be those that it was trained with.
    fn without_words(
        folder: &Path,
        dictionary: Option<&Dictionary>,
        speech: Option<Speech>,
    ) -> Result<(Self, Cow<'static, [u8]>), NetworkError> {
        let manifest = Manifest::read(folder)?;
        if let Some(dictionary) = dictionary {
            manifest.check_dictionary(folder, dictionary.digest())?;
        }
        let saved: SavedSettings = toml::Value::Table(manifest.settings.clone())
            .try_into()
            .map_err(|error: toml::de::Error| NetworkError::Settings(error.to_string()))?;
        saved.architecture.check().map_err(NetworkError::Inconsistent)?;
        if (saved.architecture.speech > 0) != (saved.pos.as_deref() == Some(POS_FILE)) {
            return Err(NetworkError::Inconsistent(
                "its settings disagree about a part-of-speech tagger",
            ));
        }
        let digest = |file: &String| manifest.files.get(file).map_or("(not listed)", String::as_str);
        let trained = saved.pos.as_ref().map(digest);
        let given = speech.as_ref().map(Speech::digest);
        if trained != given.as_deref() {
            let trained = trained.unwrap_or("(none)").to_owned();
            return Err(NetworkError::Speech { trained, given });
        }
        let weights = manifest.file(folder, weights::FILE)?;
        let words = manifest.file(folder, WORDS)?;
        let words =
            std::str::from_utf8(&words).map_err(|_| NetworkError::Inconsistent("its words are not UTF-8"))?;
        let mut model = Model {
            architecture: saved.architecture,
            tags: manifest.tags.clone(),
            words: words
                .split('\n')
                .filter(|word| !word.is_empty())
                .map(str::to_owned)
                .collect(),
            chars: saved.chars.chars().collect(),
            fields: saved.fields,
            lists: saved.lists,
            dictionary: saved.dictionary,
            speech,
            params: Params(Vec::new()),
        };
        for (name, rows, columns) in model.architecture.shapes(model.rows(), model.tags.len()) {
            let mut read = Tensor {
                name,
                rows,
                columns,
                data: Vec::new(),
            };
            if rows * columns > 0 && name != WORD {
                read.data = single(&tensor(&weights, &read)?);
            }
            model.params.0.push(read);
        }
        let network = Self {
            kind: manifest.kind,
            model,
            training: manifest.training,
        };
        Ok((network, weights))
    }

    /// Returns the member that runs this network, called `name` in votes and audit.
    ///
    /// # Errors
    /// [`NetworkError::Labels`] if the label set lacks one of its labels, [`NetworkError::Dictionary`] if the
    /// dictionary lacks a list that it was trained with.
    pub fn member(
        &self,
        name: &str,
        labels: &LabelSet,
        dictionary: &Arc<Dictionary>,
    ) -> Result<NeuralMember, NetworkError> {
        self.member_on(Isa::best(), name, labels, dictionary)
    }

    /// Builds the member as [`Network::member`] does, on a given instruction set.
    ///
    /// # Errors
    /// As [`Network::member`].
    pub fn member_on(
        &self,
        isa: Isa,
        name: &str,
        labels: &LabelSet,
        dictionary: &Arc<Dictionary>,
    ) -> Result<NeuralMember, NetworkError> {
        let map = LabelMap::new(self.model.tags.labels(), labels)?;
        Ok(NeuralMember::new(
            isa,
            name,
            self.model.clone(),
            None,
            map,
            dictionary,
        )?)
    }
}

impl std::fmt::Debug for Network {
    /// Prints sizes only, because the words come from notes.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (words, tags) = (self.model.words.len(), self.model.tags.len());
        write!(f, "Network({}, {words} words, {tags} tags)", self.kind)
    }
}

/// Returns a tensor of a file after it was checked.
fn tensor<'a>(weights: &'a [u8], wanted: &Tensor) -> Result<TensorView<'a>, NetworkError> {
    weights::tensor(weights, wanted, wanted.name == WORD).map_err(NetworkError::Inconsistent)
}
