//! The kinds of members that can be trained, and the one way to train them: documents in, a model folder out.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lethe_corpus::Document;
use lethe_dictionaries::Dictionary;
use lethe_learn::{Manifest, ManifestError, Observer};
use lethe_linear::{FeatureConfig, Learner, Task};
use lethe_neural::convolution::Convolutional;
use lethe_neural::{Recurrent, SettingsError};

use crate::speech::{SpeechError, named_speech, open_pos, speech_features};

/// A training job.
pub struct Job<'a> {
    /// One of [`kinds`].
    pub kind: &'a str,
    /// The documents to fit.
    pub train: &'a [Document],
    /// Documents for evaluation during training only. May be empty.
    pub held_out: &'a [Document],
    /// The member's own settings; other keys have their defaults. Linear members have a table `features`,
    /// recurrent ones the tables `architecture`, `schedule`, `vectors` and `features`, a `cnn` the first two of these.
    /// `features.pos` names the folder of a part-of-speech tagger ([`train_pos`](crate::train_pos)); a recurrent
    /// member also needs `architecture.speech`, the size of its embedding.
    pub settings: toml::Table,
    /// The lists for the features.
    pub dictionary: &'a Arc<Dictionary>,
    /// The same seed gives the same model, byte for byte.
    pub seed: u64,
    /// The folder that becomes the model.
    pub folder: &'a Path,
    /// Whether to start again if the folder holds a model or a stopped training.
    pub restart: bool,
}

/// Why a training failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrainError {
    /// This kind of member does not exist.
    #[error("there is no member `{kind}` to train; there are {}", kinds().join(", "))]
    Kind {
        /// The kind that was requested.
        kind: String,
    },
    /// A model of this kind cannot be fine-tuned.
    #[error(
        "a `{kind}` cannot be fine-tuned, only {}; update naive-bayes with `lethe adapt incremental`",
        tuned().join(", ")
    )]
    NotTuned {
        /// Its kind.
        kind: String,
    },
    /// A model of this kind cannot be fitted to soft labels.
    #[error(
        "a `{kind}` cannot be fitted to soft labels; self-training supports {}",
        crate::self_training::soft().join(", ")
    )]
    NotSoft {
        /// Its kind.
        kind: String,
    },
    /// Documents have a label that the model does not have.
    #[error(
        "label `{label}`: the model does not have it; rename it, or fine-tune the model first (`lethe adapt fine-tune`)"
    )]
    Label {
        /// Its name.
        label: String,
    },
    /// There are no documents to learn from, or to evaluate on.
    #[error("{what}: self-training needs documents with gold, others without, and a held-out set")]
    Nothing {
        /// The missing documents.
        what: &'static str,
    },
    /// The new model lost more than the bound on the held-out documents.
    #[error(
        "strict F1 on the held-out documents fell from {:.2} to {:.2} %, more than the bound of {:.2} points: nothing was written",
        100.0 * before,
        100.0 * after,
        100.0 * bound
    )]
    Worse {
        /// F1 of the original model, 0 to 1.
        before: f64,
        /// F1 of the new model.
        after: f64,
        /// The bound.
        bound: f64,
    },
    /// A linear member's training cannot be continued.
    #[error(transparent)]
    WarmStart(#[from] lethe_linear::WarmStartError),
    /// A network's training cannot be continued.
    #[error(transparent)]
    Tuning(#[from] lethe_neural::TuningError),
    /// The settings do not belong to the member.
    #[error("settings of `{kind}`: {message}")]
    Settings {
        /// The member.
        kind: String,
        /// The parser's message, with the key.
        message: String,
    },
    /// The folder already holds a model.
    #[error("{}: holds a trained model; use another folder, or --restart to train it again", folder.display())]
    Done {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder cannot be prepared.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// A linear member's training failed.
    #[error(transparent)]
    Linear(#[from] lethe_linear::TrainError),
    /// A network's training failed.
    #[error(transparent)]
    Neural(#[from] lethe_neural::TrainError),
    /// A network could not be written.
    #[error(transparent)]
    Network(#[from] lethe_neural::NetworkError),
    /// The part-of-speech tagger of a model cannot be used.
    #[error(transparent)]
    Speech(#[from] SpeechError),
    /// The written manifest cannot be read.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
}

impl TrainError {
    /// Returns whether the request was invalid, so that a retry does not help.
    pub const fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::Kind { .. }
                | Self::NotTuned { .. }
                | Self::NotSoft { .. }
                | Self::Label { .. }
                | Self::Nothing { .. }
                | Self::Settings { .. }
                | Self::Done { .. }
        )
    }
}

/// Returns all kinds that can be trained.
pub fn kinds() -> Vec<&'static str> {
    [&Learner::KINDS[..], &Recurrent::KINDS, &[Convolutional::KIND]].concat()
}

/// Returns all kinds that can be fine-tuned.
fn tuned() -> Vec<&'static str> {
    let mut kinds = kinds();
    kinds.retain(|kind| *kind != "naive-bayes");
    kinds
}

/// The subfolder with the state of a training in progress, removed when the model is complete.
pub(crate) const STATE: &str = "training";

/// Trains a member into a folder. A training that was killed resumes when the same job is run again.
///
/// # Errors
/// [`TrainError`].
pub fn train(job: &Job<'_>, observer: &mut dyn Observer) -> Result<Manifest, TrainError> {
    // Settings are read before anything is written, so that a typing error leaves no folder.
    let trainer = Trainer::new(job)?;
    within(job.folder, job.restart, |state| {
        trainer.train(job, state, observer)
    })
}

/// Writes a model into a folder, resuming a killed training from its state there unless it is to restart.
pub(crate) fn within(
    folder: &Path,
    restart: bool,
    train: impl FnOnce(&Path) -> Result<Manifest, TrainError>,
) -> Result<Manifest, TrainError> {
    let io = |path: &Path| {
        let path = path.to_owned();
        move |source| TrainError::Io { path, source }
    };
    let page = folder.join("member.toml");
    let state = folder.join(STATE);
    if restart {
        for path in [&page, &state] {
            remove(path).map_err(io(path))?;
        }
    } else if page.exists() {
        return Err(TrainError::Done {
            folder: folder.to_owned(),
        });
    }
    std::fs::create_dir_all(&state).map_err(io(&state))?;
    let manifest = train(&state)?;
    remove(&state).map_err(io(&state))?;
    Ok(manifest)
}

fn remove(path: &Path) -> std::io::Result<()> {
    let removed = if path.is_dir() {
        std::fs::remove_dir_all(path)
    } else {
        std::fs::remove_file(path)
    };
    match removed {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// A kind with its checked settings.
enum Trainer {
    Linear(Learner, FeatureConfig),
    Recurrent(Recurrent),
    Convolutional(Convolutional),
}

impl Trainer {
    fn new(job: &Job<'_>) -> Result<Self, TrainError> {
        let mut settings = job.settings.clone();
        if Learner::of_kind(job.kind).is_some() {
            let features = match settings.remove("features") {
                Some(table) => read(job.kind, table)?,
                None => FeatureConfig::default(),
            };
            let features = match &features.pos {
                Some(folder) => {
                    let tagger = open_pos(Path::new(folder))?;
                    features.with_tagger(tagger)
                }
                None => features,
            };
            settings.insert("kind".to_owned(), job.kind.into());
            return Ok(Self::Linear(
                read(job.kind, toml::Value::Table(settings))?,
                features,
            ));
        }
        let refused = |error: SettingsError| TrainError::Settings {
            kind: job.kind.to_owned(),
            message: error.to_string(),
        };
        if Recurrent::KINDS.contains(&job.kind) {
            let features = speech_features(job.kind, &mut settings)?;
            let mut settings = Recurrent::new(job.kind, settings).map_err(refused)?;
            settings.schedule.seed = job.seed;
            settings.speech = named_speech(job.kind, settings.architecture.speech, &features)?;
            return Ok(Self::Recurrent(settings));
        }
        if job.kind == Convolutional::KIND {
            let mut settings = Convolutional::new(settings).map_err(refused)?;
            settings.schedule.seed = job.seed;
            return Ok(Self::Convolutional(settings));
        }
        Err(TrainError::Kind {
            kind: job.kind.to_owned(),
        })
    }

    fn train(
        &self,
        job: &Job<'_>,
        state: &Path,
        observer: &mut dyn Observer,
    ) -> Result<Manifest, TrainError> {
        let held_out = (!job.held_out.is_empty()).then_some(job.held_out);
        match self {
            Self::Linear(learner, features) => {
                let task = Task {
                    learner,
                    documents: job.train,
                    held_out,
                    features,
                    dictionary: job.dictionary,
                    seed: job.seed,
                    state: Some(state),
                };
                let mut trained = lethe_linear::train(&task, observer)?;
                trained
                    .write(job.folder)
                    .map_err(lethe_linear::TrainError::from)?;
                Ok(trained.manifest)
            }
            Self::Recurrent(settings) => {
                let network =
                    settings.train(job.train, job.held_out, job.dictionary, Some(state), observer)?;
                network.save(job.folder)?;
                Ok(Manifest::read(job.folder)?)
            }
            Self::Convolutional(settings) => {
                let network = settings.train(job.train, job.held_out, Some(state), observer)?;
                network.save(job.folder)?;
                Ok(Manifest::read(job.folder)?)
            }
        }
    }
}

pub(crate) fn read<T: serde::de::DeserializeOwned>(kind: &str, table: toml::Value) -> Result<T, TrainError> {
    table
        .try_into()
        .map_err(|error: toml::de::Error| TrainError::Settings {
            kind: kind.to_owned(),
            message: error.message().to_owned(),
        })
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::LazyLock;

    use lethe_core::Span;
    use lethe_corpus::Mark;
    use lethe_dictionaries::LazyDictionary;
    use lethe_learn::NoObserver;

    use super::*;
    use crate::{open, predict};

    /// Returns the built-in dictionary for a job.
    pub(crate) fn builtin() -> &'static Arc<Dictionary> {
        static BUILTIN: LazyLock<Arc<Dictionary>> = LazyLock::new(Dictionary::builtin);
        &BUILTIN
    }

    /// Notes simple enough for any learner.
    pub(crate) fn documents() -> Vec<Document> {
        let names = ["Ana", "Luis", "Marta", "Pedro", "Elena", "Jorge"];
        let mark = |text: &str, part: &str, label: &str| {
            let start = text.find(part).unwrap();
            Mark::gold(Span::new(start, start + part.len()).unwrap(), label)
        };
        let each = |i: usize| {
            let (name, year) = (names[i % 6], format!("19{:02}", 40 + i));
            let text = format!("Name: {name}.\nBorn in {year}, seen today and well.\n");
            Document {
                id: format!("n{i}"),
                patient: None,
                marks: vec![mark(&text, name, "NAME"), mark(&text, &year, "DATE")],
                text,
            }
        };
        (0..36).map(each).collect()
    }

    /// Settings that make a network small enough for a test.
    fn small(kind: &str) -> toml::Table {
        if kind == Convolutional::KIND {
            let settings = "architecture = { buckets = 512, piece = 12, channels = 16, dilations = [1, 2] }\nschedule = { epochs = 30, rate = 0.02, dropout = 0.0, batch = 64 }";
            return settings.parse().unwrap();
        }
        if !Recurrent::KINDS.contains(&kind) {
            return toml::Table::new();
        }
        let settings = "architecture = { word = 12, hidden = 16, layer = 16 }\nschedule = { epochs = 30, rate = 0.02, dropout = 0.0, batch = 4 }\nvectors = { none = true }";
        settings.parse().unwrap()
    }

    pub(crate) fn job<'a>(kind: &'a str, train: &'a [Document], folder: &'a Path) -> Job<'a> {
        Job {
            kind,
            train,
            held_out: &[],
            settings: small(kind),
            dictionary: builtin(),
            seed: 3,
            folder,
            restart: false,
        }
    }

    #[test]
    fn every_kind_trains_opens_and_finds_what_it_was_shown() {
        let documents = documents();
        for kind in kinds() {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("model");
            let manifest = train(&job(kind, &documents, &path), &mut NoObserver).unwrap();
            assert_eq!(manifest.kind, kind);
            assert!(!path.join(STATE).exists());
            let model = open(&path, None, &LazyDictionary::Builtin).unwrap();
            let predicted = predict(model.member.as_ref(), &model.labels, &documents).unwrap();
            let mut counts = lethe_corpus::Counts::default();
            for (gold, predictions) in documents.iter().zip(&predicted) {
                counts += lethe_corpus::Counts::strict(&gold.marks, &predictions.marks);
            }
            assert!(counts.f1() > 0.9, "{kind}: {counts:?}");
            let again = train(&job(kind, &documents, &path), &mut NoObserver).unwrap_err();
            assert!(
                again.is_usage() && again.to_string().contains("--restart"),
                "{again}"
            );
        }
    }

    #[test]
    fn a_wrong_kind_or_setting_is_named_and_leaves_no_folder() {
        let (documents, folder) = (documents(), tempfile::tempdir().unwrap());
        let path = folder.path().join("model");
        let error = train(&job("hmm", &documents, &path), &mut NoObserver).unwrap_err();
        assert!(
            error.to_string().contains("`hmm`") && error.to_string().contains("crf"),
            "{error}"
        );
        for kind in kinds() {
            let mut job = job(kind, &documents, &path);
            job.settings.insert("colour".to_owned(), 3.into());
            let error = train(&job, &mut NoObserver).unwrap_err();
            assert!(
                error.is_usage() && error.to_string().contains("colour"),
                "{error}"
            );
        }
        assert!(!path.exists());
    }
}
