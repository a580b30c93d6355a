//! Warm starts of linear members: training continues from a model's weights with other notes, which is
//! fine-tuning (Yang 2019).
//!
//! Learners that see all notes at every step (`crf`, `memm`, `svm`) use a Gaussian prior centred at the old
//! weights (Chelba and Acero 2004); those that update note by note (`mira`, `ssvm`, `ogd`, `searn`) start
//! with the old weights. New features and labels get weights; features that the new notes lack keep theirs.

mod start;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lethe_corpus::Document;
use lethe_dictionaries::Dictionary;
use lethe_learn::{Manifest, Observer, Training};

pub(crate) use start::{Start, places};

use crate::member::{MemberError, Opened, opened};
use crate::model::Model;
use crate::registry::Learner;
use crate::train::{Run, Task, TrainError, Trained, evaluate, prepare};
use crate::{Data, States};

/// A warm-start task.
#[derive(Clone, Copy)]
pub struct WarmStartTask<'a> {
    /// The folder of the model to continue from.
    pub model: &'a Path,
    /// The learner's settings; other keys have the defaults of warm starts, then the model's own.
    pub settings: &'a toml::Table,
    /// The documents to fit.
    pub documents: &'a [Document],
    /// Documents for evaluation only, which also calibrate the model's confidence.
    pub held_out: Option<&'a [Document]>,
    /// The lists for the features.
    pub dictionary: &'a Arc<Dictionary>,
    /// The source of randomness.
    pub seed: u64,
    /// A folder for the state of a training in progress, as in [`Task::state`].
    pub state: Option<&'a Path>,
}

/// Why training cannot continue from a model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WarmStartError {
    /// The model cannot be opened.
    #[error(transparent)]
    Open(#[from] MemberError),
    /// Its kind continues learning in another way.
    #[error("{}: a `{kind}` learns incrementally and cannot be fine-tuned", folder.display())]
    Kind {
        /// The model's folder.
        folder: PathBuf,
        /// Its kind.
        kind: String,
    },
    /// The learner does not have this setting.
    #[error("{0}")]
    Setting(String),
    /// The training failed.
    #[error(transparent)]
    Train(#[from] TrainError),
}

/// Returns the default settings of a learner in a warm start; other settings stay as the model was trained.
///
/// Chosen by strict F1 on one half of the documents from which `benches/adapt/fine-tune` draws its few, with
/// a transfer to the other half from 100 documents of MEDDOCAN: 0.859, against 0.830 and 0.810 with a prior
/// five and 25 times as strong, and 0.811 without `l1`, which keeps an old weight if the notes give little
/// evidence against it.
pub(crate) fn defaults(kind: &str) -> toml::Table {
    let floats: &[(&str, f64)] = match kind {
        "crf" | "memm" => &[("l1", 0.1), ("l2", 0.02)],
        _ => &[],
    };
    let pairs = floats.iter().map(|&(key, value)| (key.to_owned(), value.into()));
    pairs.collect()
}

/// Continues training a model. The same model, documents, settings and seed give the same bytes, whether or
/// not the training was killed and resumed.
///
/// # Errors
/// [`WarmStartError`].
pub fn warm_start(task: &WarmStartTask<'_>, observer: &mut dyn Observer) -> Result<Trained, WarmStartError> {
    let Opened {
        manifest,
        features,
        model,
    } = opened(task.model)?;
    manifest
        .check_dictionary(task.model, task.dictionary.digest())
        .map_err(MemberError::from)?;
    let from = manifest.digest();
    let learner = task.learner(&manifest)?;
    let tags = manifest
        .tags
        .with_labels_of(task.documents.iter().flat_map(|document| &document.marks));
    if task.documents.iter().all(|document| document.marks.is_empty()) {
        return Err(TrainError::NothingMarked.into());
    }
    let states = States::new(tags.clone()).map_err(TrainError::from)?;
    let extractor = features.build(task.dictionary).map_err(TrainError::from)?;
    let mut settings = crate::train::settings(&learner, &features, task.dictionary)?;
    let digest = lethe_corpus::digest(task.documents);
    let data = {
        let prepared = prepare(task.documents, &tags).map_err(TrainError::from)?;
        let columns = extractor.columns(&prepared.batch);
        // Features of the old model are never too rare.
        Data::keeping(&columns, &prepared.gold, &states, |hash, count| {
            count >= learner.cut_off() || model.knows(hash)
        })
    };
    let whole = Task {
        learner: &learner,
        documents: task.documents,
        held_out: task.held_out,
        features: &features,
        dictionary: task.dictionary,
        seed: task.seed,
        state: task.state,
    };
    // The saved state belongs to a training that continues from this model.
    settings.insert("goes_on_from".to_owned(), from.clone().into());
    let mut run = Run::of(&whole, &settings, &digest, observer);
    settings.remove("goes_on_from");
    run.start = Some(Start::new(&model, &states, &data));
    let fitted = learner.fit(&data, &states, &mut run)?;
    let mut joined = Model::joined(&model, &states, fitted, &data);
    drop(data);
    let mut training = Training {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        seed: task.seed,
        data: digest,
        documents: task.documents.len(),
        held_out_f1: None,
        goes_on_from: Some(from),
        instructions: None,
    };
    if let Some(held_out) = task.held_out {
        training.held_out_f1 = Some(evaluate(&mut joined, held_out, &extractor)?);
    }
    let manifest = Manifest::new(learner.kind(), tags, training, settings);
    Ok(Trained {
        manifest,
        model: joined,
        files: features.files(),
    })
}

impl WarmStartTask<'_> {
    /// Checks that the settings belong to the model's learner, before anything slow is read or anything is
    /// written.
    ///
    /// # Errors
    /// Those of [`warm_start`] about the model's manifest and the settings.
    pub fn check(&self) -> Result<(), WarmStartError> {
        let manifest = Manifest::read(self.model).map_err(MemberError::from)?;
        self.learner(&manifest).map(|_| ())
    }

    /// Returns the model's learner, with the settings of the warm start.
    pub(crate) fn learner(&self, manifest: &Manifest) -> Result<Learner, WarmStartError> {
        let kind = manifest.kind.as_str();
        if kind == "naive-bayes" {
            return Err(WarmStartError::Kind {
                folder: self.model.to_owned(),
                kind: kind.to_owned(),
            });
        }
        let mut settings = defaults(kind);
        settings.extend(self.settings.clone());
        learner(manifest, &settings)
    }
}

/// Returns a model's learner, with its own settings for keys that `given` lacks.
pub(crate) fn learner(manifest: &Manifest, given: &toml::Table) -> Result<Learner, WarmStartError> {
    let mut settings = manifest.settings.clone();
    // These keys belong to no learner: with other features the old weights would be meaningless.
    for other in ["features", "dictionary"] {
        settings.remove(other);
        if given.contains_key(other) {
            let message = format!("`{other}` cannot be changed in a warm start");
            return Err(WarmStartError::Setting(message));
        }
    }
    settings.extend(given.clone());
    settings.insert("kind".to_owned(), manifest.kind.clone().into());
    let read: Result<Learner, toml::de::Error> = toml::Value::Table(settings).try_into();
    let learner = read.map_err(|error| WarmStartError::Setting(error.message().to_owned()))?;
    if learner.scheme() != manifest.tags.scheme() {
        let message = "`scheme` cannot be changed in a warm start";
        return Err(WarmStartError::Setting(message.to_owned()));
    }
    Ok(learner)
}

impl std::fmt::Debug for WarmStartTask<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "WarmStartTask({}, {} documents)",
            self.model.display(),
            self.documents.len()
        )
    }
}
