//! Training from documents to a model: the steps around every learner, progress reports, and the saved state
//! from which a killed training resumes.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lethe_core::{BatchError, NoteBatch, hex};
use lethe_corpus::Document;
use lethe_dictionaries::Dictionary;
use lethe_learn::{Epoch, Manifest, ManifestError, Observer, TagSet, Training};

use crate::bytes::{Malformed, Reader, Writer};
use crate::decode::{self, Decoder};
use crate::member::WEIGHTS;
use crate::model::Model;
use crate::naive_bayes::Bayes;
use crate::registry::Learner;
use crate::states::StatesError;
use crate::warm_start::Start;
use crate::{Columns, Data, Extractor, FeatureConfig, FeatureError, States};

/// Why a training failed. Contains no text of a document.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrainError {
    /// There is nothing to learn.
    #[error("no document has a marked span: there is nothing to learn")]
    NothingMarked,
    /// There are too many labels.
    #[error(transparent)]
    States(#[from] StatesError),
    /// The texts do not fit one batch.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// The features cannot be computed.
    #[error(transparent)]
    Features(#[from] FeatureError),
    /// The settings cannot be serialised.
    #[error("settings: {0}")]
    Settings(#[from] toml::ser::Error),
    /// The model's folder cannot be written.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The state of a training in progress cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// The state of a training in progress is unusable.
    #[error("{}: {problem}; remove it to train from the beginning", path.display())]
    State {
        /// The file.
        path: PathBuf,
        /// The problem with it.
        problem: &'static str,
    },
}

const MAGIC: &[u8; 8] = b"LETHESTA";
const VERSION: u32 = 1;
const STATE: &str = "training.state";

/// A training in progress, as a learner sees it.
pub struct Run<'a> {
    observer: &'a mut dyn Observer,
    /// The source of randomness.
    pub seed: u64,
    state: Option<PathBuf>,
    /// The weights of a warm start.
    pub(crate) start: Option<Start>,
    /// Whether the prior is centred at these, rather than at 0.
    pub(crate) held: bool,
    /// What a saved state must match: learner, settings, seed and documents.
    identity: String,
}

impl<'a> Run<'a> {
    /// `settings` describes the task's learner and features, `digest` its documents.
    pub(crate) fn of(
        task: &Task<'_>,
        settings: &toml::Table,
        digest: &str,
        observer: &'a mut dyn Observer,
    ) -> Self {
        let files = task.features.files();
        let checksums: Vec<u64> = files.iter().map(|(_, bytes)| checksum(bytes)).collect();
        Self {
            observer,
            seed: task.seed,
            state: task.state.map(|folder| folder.join(STATE)),
            start: None,
            held: true,
            identity: format!(
                "{settings}\nseed = {}\ndata = {digest}\nfiles = {checksums:?}\n",
                task.seed
            ),
        }
    }

    /// Creates a training without saved states.
    pub(crate) fn passing(seed: u64, observer: &'a mut dyn Observer) -> Self {
        Self {
            observer,
            seed,
            state: None,
            start: None,
            held: true,
            identity: String::new(),
        }
    }

    /// Reports a finished pass. `Break` ends the training with its result so far.
    pub(crate) fn epoch(&mut self, done: u32, of: u32, loss: f64) -> ControlFlow<()> {
        self.observer.epoch(Epoch {
            done,
            of,
            loss,
            held_out: None,
        })
    }

    /// Reports progress within a pass.
    pub(crate) fn step(&mut self, done: usize, of: usize) {
        self.observer.step(done, of);
    }

    /// Passes the saved state to `read`, if there is one.
    pub(crate) fn resume(
        &mut self,
        read: impl FnOnce(&mut Reader<'_>) -> Result<(), Malformed>,
    ) -> Result<(), TrainError> {
        let Some(path) = &self.state else {
            return Ok(());
        };
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(source) => {
                return Err(TrainError::Io {
                    path: path.clone(),
                    source,
                });
            }
        };
        let refuse = |problem| TrainError::State {
            path: path.clone(),
            problem,
        };
        let mut reader = Reader(&bytes);
        let damaged = |_: Malformed| refuse("damaged state of a training");
        if reader.bytes(8).map_err(damaged)? != MAGIC || reader.u32().map_err(damaged)? != VERSION {
            return Err(refuse("not the state of a training by this version"));
        }
        let length = reader.length(1).map_err(damaged)?;
        if reader.bytes(length).map_err(damaged)? != self.identity.as_bytes() {
            return Err(refuse(
                "the state of another training (learner, settings, seed or documents differ)",
            ));
        }
        let sum = reader.u64().map_err(damaged)?;
        if sum != checksum(reader.0) {
            return Err(refuse("damaged state of a training"));
        }
        read(&mut reader).and_then(|()| reader.end()).map_err(damaged)?;
        self.observer.resumed();
        Ok(())
    }

    /// Saves the state atomically.
    pub(crate) fn save(&self, write: impl FnOnce(&mut Writer)) -> Result<(), TrainError> {
        let Some(path) = &self.state else {
            return Ok(());
        };
        let mut body = Writer::default();
        write(&mut body);
        let mut head = Writer::default();
        head.bytes(MAGIC);
        head.u32(VERSION);
        head.u64(self.identity.len() as u64);
        head.bytes(self.identity.as_bytes());
        head.u64(checksum(&body.0));
        let draft = path.with_extension("part");
        let put = || -> std::io::Result<()> {
            use std::io::Write as _;
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder)?;
            }
            let mut file = std::fs::File::create(&draft)?;
            file.write_all(&head.0)?;
            file.write_all(&body.0)?;
            file.sync_all()?;
            std::fs::rename(&draft, path)
        };
        put().map_err(|source| TrainError::Io {
            path: path.clone(),
            source,
        })
    }
}

/// Computes FNV-1a over words of eight bytes, which detects damage, but not manipulation.
fn checksum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let step = |sum: u64, word: u64| (sum ^ word).wrapping_mul(0x0100_0000_01b3);
    let sum = words.iter().fold(0xcbf2_9ce4_8422_2325, |sum, &word| {
        step(sum, u64::from_le_bytes(word))
    });
    rest.iter().fold(sum, |sum, &byte| step(sum, u64::from(byte)))
}

/// A training task.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    /// The learner and its settings.
    pub learner: &'a Learner,
    /// The documents to fit.
    pub documents: &'a [Document],
    /// Documents for evaluation only, which also calibrate the model's confidence.
    pub held_out: Option<&'a [Document]>,
    /// The settings of the features.
    pub features: &'a FeatureConfig,
    /// The lists for the features.
    pub dictionary: &'a Arc<Dictionary>,
    /// The source of randomness.
    pub seed: u64,
    /// A folder for the state of a training in progress, from which a killed training resumes. The caller
    /// removes it after writing the model: until then a kill loses only the work since the last saved state.
    pub state: Option<&'a Path>,
}

/// A model with its manifest.
#[derive(Clone, Debug)]
pub struct Trained {
    /// The manifest; writing fills in its digests.
    pub manifest: Manifest,
    /// The weights.
    pub model: Model,
    /// Other files of the folder, for learners that need more than the weights to continue learning.
    pub(crate) files: Vec<(&'static str, Vec<u8>)>,
}

impl Trained {
    /// Writes the model's folder.
    ///
    /// # Errors
    /// [`ManifestError`].
    pub fn write(&mut self, folder: &Path) -> Result<(), ManifestError> {
        let weights = self.model.to_bytes();
        let mut files: Vec<(&str, &[u8])> = vec![(WEIGHTS, &weights)];
        files.extend(self.files.iter().map(|(name, bytes)| (*name, bytes.as_slice())));
        self.manifest.write(folder, &files)
    }
}

/// A set of documents as a learner sees it.
pub(crate) struct Prepared {
    pub(crate) batch: NoteBatch,
    pub(crate) gold: Vec<Vec<u16>>,
}

/// Returns tokens and gold tags.
pub(crate) fn prepare(documents: &[Document], tags: &TagSet) -> Result<Prepared, BatchError> {
    let batch = NoteBatch::from_texts(documents.iter().map(|document| document.text.as_str()))?;
    let gold = batch
        .notes()
        .zip(documents)
        .map(|(note, document)| tags.encode(note.tokens, &document.marks))
        .collect();
    Ok(Prepared { batch, gold })
}

/// Trains a member. The same task gives the same bytes, whether or not the training was killed and resumed.
///
/// # Errors
/// [`TrainError`].
pub fn train(task: &Task<'_>, observer: &mut dyn Observer) -> Result<Trained, TrainError> {
    if let Learner::NaiveBayes(config) = task.learner {
        return Bayes::begin(config, task, observer)?.trained(task.held_out, task.dictionary);
    }
    let marks = task.documents.iter().flat_map(|document| &document.marks);
    let tags = TagSet::of(task.learner.scheme(), marks);
    if tags.is_empty() {
        return Err(TrainError::NothingMarked);
    }
    let states = States::new(tags.clone())?;
    let extractor = task.features.build(task.dictionary)?;
    let settings = settings(task.learner, task.features, task.dictionary)?;
    let digest = lethe_corpus::digest(task.documents);
    let data = {
        let prepared = prepare(task.documents, &tags)?;
        let columns = extractor.columns(&prepared.batch);
        Data::new(&columns, &prepared.gold, &states, task.learner.cut_off())
    };
    let mut run = Run::of(task, &settings, &digest, observer);
    let fitted = task.learner.fit(&data, &states, &mut run)?;
    let mut model = Model::new(&states, fitted, &data);
    drop(data);
    let mut training = Training {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        seed: task.seed,
        data: digest,
        documents: task.documents.len(),
        held_out_f1: None,
        goes_on_from: None,
        instructions: None,
    };
    if let Some(held_out) = task.held_out {
        training.held_out_f1 = Some(evaluate(&mut model, held_out, &extractor)?);
    }
    let manifest = Manifest::new(task.learner.kind(), tags, training, settings);
    Ok(Trained {
        manifest,
        model,
        files: task.features.files(),
    })
}

/// Fits a learner to given columns, for features that are not those of words, for instance the members'
/// predictions in an ensemble. `gold` has a tag of `tags` for each token of each row. The same columns, gold
/// and seed give the same model.
///
/// # Errors
/// [`TrainError::NothingMarked`] if gold has no span, [`TrainError::States`] for too many labels.
///
/// # Panics
/// If `gold` and `columns` do not have the same rows and tokens.
pub fn fit_columns(
    learner: &Learner,
    columns: &Columns,
    gold: &[Vec<u16>],
    tags: &TagSet,
    seed: u64,
    observer: &mut dyn Observer,
) -> Result<Model, TrainError> {
    if gold.iter().flatten().all(|&tag| tag == TagSet::OUTSIDE) {
        return Err(TrainError::NothingMarked);
    }
    let states = States::new(tags.clone())?;
    let data = Data::new(columns, gold, &states, learner.cut_off());
    let fitted = learner.fit(&data, &states, &mut Run::passing(seed, observer))?;
    Ok(Model::new(&states, fitted, &data))
}

/// Returns a model's settings: the learner's own, its features', and the dictionary that they were computed
/// with.
pub(crate) fn settings(
    learner: &Learner,
    features: &FeatureConfig,
    dictionary: &Dictionary,
) -> Result<toml::Table, TrainError> {
    let mut settings = toml::Table::try_from(learner)?;
    settings.insert("features".to_owned(), toml::Value::try_from(features)?);
    settings.insert("dictionary".to_owned(), hex(dictionary.digest()).into());
    Ok(settings)
}

/// Returns the strict micro-F1 on held-out documents, which also calibrate the model's confidence.
pub(crate) fn evaluate(
    model: &mut Model,
    documents: &[Document],
    extractor: &Extractor,
) -> Result<f64, TrainError> {
    let prepared = prepare(documents, model.states().tags())?;
    let columns = extractor.columns(&prepared.batch);
    decode::warm(model, &columns, &prepared.gold);
    Ok(Decoder::new(model.clone())
        .counts(&columns, &prepared.batch, documents)
        .f1())
}

#[cfg(test)]
mod tests {
    use lethe_learn::NoObserver;

    use super::*;
    use crate::data::tests::invented;

    #[test]
    fn columns_made_elsewhere_are_learned_the_same_way_every_time() {
        let (columns, gold, states) = invented(5, 60, 2);
        let tags = states.tags();
        let learner = Learner::Searn(crate::Searn {
            forgets_words: true,
            ..crate::Searn::default()
        });
        let fit = || fit_columns(&learner, &columns, &gold, tags, 7, &mut NoObserver).unwrap();
        let model = fit();
        assert_eq!(model.to_bytes(), fit().to_bytes());
        let (_, same) = model.history().split_at(model.history().len() / 2);
        assert!(same.iter().all(|&weight| weight == 0.0));
        let found = Decoder::new(model).spans(&columns);
        let spans = gold.iter().map(|tags_of| tags.decode(tags_of));
        let hits: usize = found
            .iter()
            .zip(spans)
            .map(|(found, gold)| found.iter().filter(|(span, _)| gold.contains(span)).count())
            .sum();
        let all: usize = gold.iter().map(|tags_of| tags.decode(tags_of).len()).sum();
        assert!(hits * 10 > all * 6, "{hits} of {all}");

        let nothing: Vec<Vec<u16>> = gold.iter().map(|row| vec![0; row.len()]).collect();
        let refused = fit_columns(&learner, &columns, &nothing, tags, 7, &mut NoObserver);
        assert!(matches!(refused, Err(TrainError::NothingMarked)));
    }
}
