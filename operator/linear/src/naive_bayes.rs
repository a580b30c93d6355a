//! `naive-bayes`: the soft rules of Singh 2020, counts of features and states to which new documents can be
//! added at any time.
//!
//! With a Dirichlet prior proportional to the frequency of each state, a feature adds `ln(1 + n / (a p))` to
//! a state, where `n` counts the tokens that have both, `p` is the state's share of tokens and `a` the
//! prior's strength; pairs that never occurred add nothing, once terms common to all states are removed. So
//! the weights are as sparse as the counts. The previous state is one more feature. The features of one token
//! are strongly correlated, so their sum counts only in part (`trust`).

mod counts;

use std::path::Path;
use std::sync::Arc;

use lethe_corpus::Document;
use lethe_dictionaries::Dictionary;
use lethe_learn::{Manifest, Observer, Scheme, TagSet, Training};
use serde::{Deserialize, Serialize};

use crate::bytes::Malformed;
use crate::decode::log_loss;
use crate::member::{Opened, opened};
use crate::model::{Fitted, Form};
use crate::registry::Learner;
use crate::train::{Run, Task, TrainError, Trained, evaluate, prepare, settings};
use crate::{Data, FeatureConfig, MemberError, States};
use counts::{COUNTS, Counts};

/// Settings of `naive-bayes`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// How spans are encoded as tags (Singh 2020: BILOU).
    pub scheme: Scheme,
    /// Features of fewer tokens get no weights, but are counted.
    pub cut_off: u32,
    /// The strength of the prior, in tokens.
    pub prior: f64,
    /// How much a feature counts, given that others are correlated with it.
    pub trust: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            scheme: Scheme::Bilou,
            cut_off: 2,
            prior: 0.001,
            trust: 0.2,
        }
    }
}

/// The bytes of text that are counted at once: the most work that a kill loses, and the bound of the
/// features' memory.
const PART: usize = 1 << 19;

/// Returns the first documents that together have [`PART`] bytes of text, or all.
fn first_part(documents: &[Document]) -> &[Document] {
    let mut text = 0;
    let mut short = |document: &&Document| {
        let short = text < PART;
        text += document.text.len();
        short
    };
    let count = documents.iter().take_while(|document| short(document)).count();
    &documents[..count]
}

/// A naive Bayes model for incremental learning: it can be started on some documents, updated with more,
/// written, and opened again.
#[derive(Clone, Debug)]
pub struct Bayes {
    config: Config,
    features: FeatureConfig,
    states: States,
    counts: Counts,
    confidence: f32,
    training: Training,
}

impl Bayes {
    /// Starts with the documents of a task, or resumes from the saved state if there is one. Their labels are
    /// the model's labels from then on.
    ///
    /// # Errors
    /// [`TrainError`].
    pub fn begin(config: &Config, task: &Task<'_>, observer: &mut dyn Observer) -> Result<Self, TrainError> {
        let marks = task.documents.iter().flat_map(|document| &document.marks);
        let tags = TagSet::of(config.scheme, marks);
        if tags.is_empty() {
            return Err(TrainError::NothingMarked);
        }
        let states = States::new(tags)?;
        let extractor = task.features.build(task.dictionary)?;
        let digest = lethe_corpus::digest(task.documents);
        let settings = settings(
            &Learner::NaiveBayes(config.clone()),
            task.features,
            task.dictionary,
        )?;
        let mut run = Run::of(task, &settings, &digest, observer);
        let (mut counts, mut done) = (Counts::new(&states), 0);
        run.resume(|bytes| {
            done = bytes.length(0)?;
            let length = bytes.length(1)?;
            counts = Counts::from_bytes(&states, bytes.bytes(length)?).map_err(|_| Malformed)?;
            Ok(())
        })?;
        while let Some(part @ [_, ..]) = task.documents.get(done..).map(first_part) {
            run.step(done, task.documents.len());
            counts.add_documents(part, &extractor, &states)?;
            done += part.len();
            if done < task.documents.len() {
                run.save(|out| {
                    let counts = counts.to_bytes();
                    out.u64(done as u64);
                    out.u64(counts.len() as u64);
                    out.bytes(&counts);
                })?;
            }
        }
        Ok(Self {
            config: config.clone(),
            features: task.features.clone(),
            counts,
            states,
            confidence: 1.0,
            training: Training {
                version: env!("CARGO_PKG_VERSION").to_owned(),
                seed: task.seed,
                data: digest,
                documents: task.documents.len(),
                held_out_f1: None,
                goes_on_from: None,
                instructions: None,
            },
        })
    }

    /// Adds documents. Counts are sums: the same documents give the same model in any increments. Marks with
    /// labels that the model does not have are left out.
    ///
    /// # Errors
    /// [`TrainError`].
    pub fn update(&mut self, documents: &[Document], dictionary: &Arc<Dictionary>) -> Result<(), TrainError> {
        let extractor = self.features.build(dictionary)?;
        let mut rest = documents;
        while !rest.is_empty() {
            let part = first_part(rest);
            self.counts.add_documents(part, &extractor, &self.states)?;
            rest = &rest[part.len()..];
        }
        self.training.documents += documents.len();
        // Each increment's digest includes the previous one, so that it identifies all documents in order.
        let digest = lethe_corpus::digest(documents);
        self.training.data = format!("{}+{digest}", self.training.data);
        Ok(())
    }

    /// Returns the factor that turns scores into log-probabilities. Features are not independent, as naive
    /// Bayes assumes, so the uncalibrated model is overconfident.
    pub const fn confidence(&self) -> f32 {
        self.confidence
    }

    /// Sets [`Bayes::confidence`].
    pub fn set_confidence(&mut self, confidence: f32) {
        self.confidence = confidence;
    }

    /// Returns the logarithmic loss of documents' gold tags, for each confidence.
    ///
    /// # Errors
    /// [`TrainError`].
    pub fn losses(
        &self,
        documents: &[Document],
        confidences: &[f32],
        dictionary: &Arc<Dictionary>,
    ) -> Result<Vec<f64>, TrainError> {
        let model = self.counts.model(&self.config, &self.states);
        let prepared = prepare(documents, self.states.tags())?;
        let columns = self.features.build(dictionary)?.columns(&prepared.batch);
        let loss = |&confidence: &f32| log_loss(&model, confidence, &columns, &prepared.gold);
        Ok(confidences.iter().map(loss).collect())
    }

    /// Returns the model from the counts so far; held-out documents, if there are any, calibrate its
    /// confidence.
    ///
    /// # Errors
    /// [`TrainError`].
    pub fn trained(
        &self,
        held_out: Option<&[Document]>,
        dictionary: &Arc<Dictionary>,
    ) -> Result<Trained, TrainError> {
        let mut model = self.counts.model(&self.config, &self.states);
        model.set_warmth(self.confidence);
        let mut training = self.training.clone();
        if let Some(held_out) = held_out {
            let extractor = self.features.build(dictionary)?;
            training.held_out_f1 = Some(evaluate(&mut model, held_out, &extractor)?);
        }
        let learner = Learner::NaiveBayes(self.config.clone());
        let settings = settings(&learner, &self.features, dictionary)?;
        Ok(Trained {
            manifest: Manifest::new(learner.kind(), self.states.tags().clone(), training, settings),
            model,
            files: [self.features.files(), vec![(COUNTS, self.counts.to_bytes())]].concat(),
        })
    }

    /// Starts with only the labels to learn, with the default settings; increments add the documents.
    ///
    /// # Errors
    /// [`TrainError::States`] for too many labels, [`TrainError::NothingMarked`] for none.
    pub fn empty(features: &FeatureConfig, labels: Vec<String>, seed: u64) -> Result<Self, TrainError> {
        let config = Config::default();
        let tags = TagSet::new(config.scheme, labels);
        if tags.is_empty() {
            return Err(TrainError::NothingMarked);
        }
        let states = States::new(tags)?;
        Ok(Self {
            counts: Counts::new(&states),
            config,
            features: features.clone(),
            states,
            confidence: 1.0,
            training: Training {
                version: env!("CARGO_PKG_VERSION").to_owned(),
                seed,
                ..Training::default()
            },
        })
    }

    /// Opens a model's folder for further increments.
    ///
    /// # Errors
    /// [`MemberError`], naming the folder or file.
    pub fn open(folder: &Path) -> Result<Self, MemberError> {
        let Opened {
            manifest,
            features,
            model,
        } = opened(folder)?;
        let mut settings = manifest.settings.clone();
        settings.remove("features");
        settings.remove("dictionary");
        let learner: Learner =
            settings
                .try_into()
                .map_err(|error: toml::de::Error| MemberError::Settings {
                    folder: folder.to_owned(),
                    message: error.to_string(),
                })?;
        let Learner::NaiveBayes(config) = learner else {
            return Err(MemberError::Kind {
                folder: folder.to_owned(),
                kind: manifest.kind,
            });
        };
        let states = model.states().clone();
        let bytes = manifest.file(folder, COUNTS)?;
        let counts = Counts::from_bytes(&states, &bytes).map_err(|source| MemberError::Weights {
            folder: folder.to_owned(),
            source,
        })?;
        Ok(Self {
            config,
            features,
            states,
            counts,
            confidence: model.warmth(),
            training: Training {
                held_out_f1: None,
                ..manifest.training
            },
        })
    }
}

impl Config {
    /// Returns the model's weights, without the counts for further learning.
    pub(crate) fn fit(&self, data: &Data, states: &States, _: &mut Run<'_>) -> Result<Fitted, TrainError> {
        let mut counts = Counts::new(states);
        counts.add(data, states);
        let model = counts.model(self, states);
        let weights = data.hashes.iter().enumerate().flat_map(|(feature, &hash)| {
            let scale = model.scale();
            let own = model.of(hash).into_iter();
            own.map(move |(state, weight)| (feature as u32, state, f32::from(weight) * scale))
        });
        Ok(Fitted {
            form: Form::Chain,
            weights: weights.collect(),
            steps: model.steps().to_vec(),
            history: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_hold_every_document_once_and_end_after_enough_text() {
        let document = |size: usize| Document {
            id: String::new(),
            patient: None,
            text: "x".repeat(size),
            marks: Vec::new(),
        };
        let sizes = [PART / 2, PART / 2, 1, 2 * PART, 0, 1];
        let documents: Vec<Document> = sizes.into_iter().map(document).collect();
        let (mut rest, mut parts) = (&documents[..], Vec::new());
        while !rest.is_empty() {
            let part = first_part(rest);
            parts.push(part.len());
            rest = &rest[part.len()..];
        }
        assert_eq!(parts, [2, 2, 2]);
    }
}
