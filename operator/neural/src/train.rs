//! Training of a recurrent network on one core, with the same bytes for the same seed, resumed after a kill.

mod grow;
mod pass;
mod self_training;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use lethe_core::{BatchError, NoteBatch, hex};
use lethe_corpus::{CorpusError, Counts, Document, Mark, digest};
use lethe_dictionaries::{Dictionary, UnknownList};
use lethe_kernel::Isa;
use lethe_learn::{Observer, Speech, TagSet, Training};
use serde::{Deserialize, Serialize};

use crate::checkpoint::{self, CheckpointError, State};
use crate::crf::Allowed;
use crate::model::{Architecture, Model, Params, slot};
use crate::network::Network;
use crate::reader::{Memory, Read, Reader, fields, lists};
use crate::runner::{Kept, Runner};
use crate::tape::Tape;
use crate::types::Casing;
use crate::vectors::{Vectors, VectorsError};
use grow::grow;
use pass::pass;
pub(crate) use self_training::{Ground, self_train};

/// The training schedule of a network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Schedule {
    /// The passes over the training data.
    pub epochs: u32,
    /// The sequences of a step.
    pub batch: usize,
    /// Adam's initial learning rate, which decreases to 0 over the passes.
    pub rate: f32,
    /// The share of the inputs that is dropped.
    pub dropout: f32,
    /// The norm to which gradients are clipped.
    pub clip: f32,
    /// The probability that a word with one occurrence in the training set is read as unknown.
    pub unknown: f32,
    /// The fewest occurrences of a word without a vector that has a row of its own: names drawn from lists
    /// are rare by the thousand, and with rows of their own they would teach nothing about other names.
    #[serde(skip_serializing_if = "is_one")]
    pub least: usize,
    /// The seed.
    pub seed: u64,
}

impl Default for Schedule {
    fn default() -> Self {
        Self {
            epochs: 12,
            batch: 8,
            rate: 0.002,
            dropout: 0.5,
            clip: 5.0,
            unknown: 0.5,
            least: 1,
            seed: 1,
        }
    }
}

/// The default is left out, so that trainings that began before this setting existed can resume.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_one(least: &usize) -> bool {
    *least == 1
}

/// The data that a network is trained on.
#[derive(Clone, Copy)]
pub struct Data<'a> {
    /// The documents to fit.
    pub train: &'a [Document],
    /// Documents that select the best pass; without any, the last one is kept.
    pub held_out: &'a [Document],
    /// The dictionary for its knowledge features.
    pub dictionary: &'a Arc<Dictionary>,
    /// Initial word vectors.
    pub vectors: Option<&'a Vectors>,
    /// The tagger for parts of speech, in a training from the beginning; a network that training continues from
    /// keeps its own.
    pub speech: Option<&'a Speech>,
}

/// Why a network could not be trained.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrainError {
    /// There is nothing to learn from.
    #[error("the training documents have no annotations")]
    Empty,
    /// The size of the vectors differs from the network's.
    #[error("the word vectors have {found} numbers, but the network needs {wanted}")]
    VectorSize {
        /// The size of a vector in the file.
        found: usize,
        /// The size in the architecture.
        wanted: usize,
    },
    /// A setting is invalid.
    #[error("{0}")]
    Setting(&'static str),
    /// candle could not compute the network, which only a defect or a lack of memory causes.
    #[error("the network could not be computed")]
    Computation,
    /// The documents do not fit a batch.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// The dictionary lacks a list.
    #[error(transparent)]
    List(#[from] UnknownList),
    /// The word vectors cannot be read.
    #[error(transparent)]
    Vectors(#[from] VectorsError),
    /// The texts for word vectors cannot be read.
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    /// The checkpoint cannot be used.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
}

/// Documents as a network reads them, with their gold tags.
struct Corpus {
    read: Read,
    gold: Vec<u16>,
}

impl Corpus {
    fn new(
        documents: &[Document],
        batch: &NoteBatch,
        tags: &TagSet,
        reader: &Reader,
        memory: &mut Memory,
    ) -> Self {
        let read = reader.read(batch, memory);
        let mut gold = Vec::with_capacity(read.types.len());
        for (document, note) in documents.iter().zip(batch.notes()) {
            gold.extend(tags.encode(note.tokens, &document.marks));
        }
        // A span that crosses the end of a sequence becomes two.
        for sequence in &read.sequences {
            let own = &mut gold[sequence.clone()];
            let spans = tags.decode(own);
            own.fill(TagSet::OUTSIDE);
            spans.into_iter().for_each(|span| tags.write(own, span));
        }
        Self { read, gold }
    }
}

/// Trains a network.
///
/// With `checkpoint`, the state is saved there after each pass, and a killed training with the same settings
/// and data resumes from it, with the same bytes as if it had not been killed. The caller removes the file
/// after saving the network: until then a kill loses at most one pass.
///
/// # Errors
/// [`TrainError`].
pub fn train(
    kind: &str,
    architecture: &Architecture,
    schedule: &Schedule,
    data: Data<'_>,
    checkpoint: Option<&Path>,
    observer: &mut dyn Observer,
) -> Result<Network, TrainError> {
    check(architecture, schedule)?;
    if (architecture.speech > 0) != data.speech.is_some() {
        return Err(TrainError::Setting(
            "a part-of-speech tagger and the size `speech` of its embedding need each other",
        ));
    }
    let batch = texts(data.train)?;
    let tags = TagSet::of(architecture.scheme, data.train.iter().flat_map(|d| &d.marks));
    if tags.is_empty() {
        return Err(TrainError::Empty);
    }
    let (model, once) = begin(architecture, schedule, &batch, &tags, data)?;
    fit(
        kind, model, &once, None, schedule, &batch, data, checkpoint, observer,
    )
}

/// Continues from a trained network, whose digest is `from`, with other documents: new words, characters,
/// fields and labels get rows, all weights are trained, and the optimiser starts without history. `data`'s
/// vectors are for new words only.
///
/// `checkpoint` as in [`train`].
///
/// # Errors
/// [`TrainError`].
pub(crate) fn warm_start(
    network: &Network,
    from: &str,
    schedule: &Schedule,
    data: Data<'_>,
    checkpoint: Option<&Path>,
    observer: &mut dyn Observer,
) -> Result<Network, TrainError> {
    check(network.architecture(), schedule)?;
    check_size(network.architecture(), data.vectors)?;
    let batch = texts(data.train)?;
    let marks = || data.train.iter().flat_map(|d| &d.marks);
    if marks().next().is_none() {
        return Err(TrainError::Empty);
    }
    let tags = network.tags().with_labels_of(marks());
    let (model, once) = grow(&network.model, &batch, &tags, data.vectors, schedule.seed);
    let kind = network.kind();
    fit(
        kind,
        model,
        &once,
        Some(from),
        schedule,
        &batch,
        data,
        checkpoint,
        observer,
    )
}

fn texts(documents: &[Document]) -> Result<NoteBatch, BatchError> {
    NoteBatch::from_texts(documents.iter().map(|d| d.text.as_str()))
}

/// Fits a model from its current weights; the rows `once` of its word table are sometimes read as unknown.
#[expect(
    clippy::too_many_arguments,
    reason = "the start, the data and the settings of a training"
)]
fn fit(
    kind: &str,
    mut model: Model,
    once: &[bool],
    from: Option<&str>,
    schedule: &Schedule,
    batch: &NoteBatch,
    data: Data<'_>,
    checkpoint: Option<&Path>,
    observer: &mut dyn Observer,
) -> Result<Network, TrainError> {
    let isa = Isa::best();
    let held_out = texts(data.held_out)?;
    let (architecture, tags) = (model.architecture.clone(), model.tags.clone());
    let reader = Reader::new(&model, data.dictionary)?;
    let mut memory = Memory::default();
    let corpus = Corpus::new(data.train, batch, &tags, &reader, &mut memory);
    let allowed = Allowed::new(&tags);
    let tape = Tape {
        isa,
        architecture: &architecture,
        allowed: &allowed,
        tables: reader.tables(),
        dropout: schedule.dropout,
    };
    let fingerprint = checkpoint::fingerprint(kind, &architecture, schedule, data, from);
    let kept = match checkpoint {
        Some(path) => State::read(path, &fingerprint, &model.params)?,
        None => None,
    };
    if kept.is_some() {
        observer.resumed();
    }
    let mut state = kept.unwrap_or_else(|| State::new(&model.params));
    let mut grads = model.params.zeros_like();
    while state.epochs < schedule.epochs && !state.ended {
        let loss = pass(
            &tape, schedule, &corpus, &memory, once, &mut state, &mut grads, observer,
        );
        let mut f1 = None;
        if !data.held_out.is_empty() {
            model.params = state.params.clone();
            let runner = Runner::of(isa, &model, &tags, reader.tables());
            f1 = Some(score(&runner, &reader, &tags, &held_out, data.held_out));
        }
        state.end_pass(schedule.epochs, loss, f1, observer);
        if let Some(path) = checkpoint {
            state.write(path, &fingerprint)?;
        }
    }
    let (held_out_f1, params) = state.into_best();
    model.params = params;
    let training = Training {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        seed: schedule.seed,
        data: digest(data.train),
        documents: data.train.len(),
        held_out_f1,
        goes_on_from: from.map(str::to_owned),
        instructions: Some(Isa::best().name().to_owned()),
    };
    Ok(Network::new(kind, model, training))
}

fn check(architecture: &Architecture, schedule: &Schedule) -> Result<(), TrainError> {
    architecture.check().map_err(TrainError::Setting)?;
    if schedule.batch == 0 || schedule.epochs == 0 {
        return Err(TrainError::Setting("batch and epochs must be at least 1"));
    }
    if !(0.0..1.0).contains(&schedule.dropout) {
        return Err(TrainError::Setting("dropout must be from 0 to below 1"));
    }
    Ok(())
}

/// Returns the model before training, and the rows of its word table for words that the training set has
/// once.
fn begin(
    architecture: &Architecture,
    schedule: &Schedule,
    batch: &NoteBatch,
    tags: &TagSet,
    data: Data<'_>,
) -> Result<(Model, Vec<bool>), TrainError> {
    let seen = Seen::of(batch, architecture.casing);
    let often = seen.times.iter().filter(|(_, times)| **times >= schedule.least);
    let mut words: BTreeSet<&str> = often.map(|(word, _)| word.as_str()).collect();
    check_size(architecture, data.vectors)?;
    if let Some(vectors) = data.vectors {
        words.extend(vectors.words().iter().map(String::as_str));
    }
    let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
    let mut model = Model {
        architecture: architecture.clone(),
        tags: tags.clone(),
        chars: seen.chars().collect(),
        fields: if architecture.field > 0 {
            fields(batch)
        } else {
            Vec::new()
        },
        lists: lists(data.dictionary, architecture),
        dictionary: (architecture.knowledge > 0).then(|| hex(data.dictionary.digest())),
        speech: data.speech.cloned(),
        words,
        params: Params(Vec::new()),
    };
    model.params = Params::random(architecture, model.rows(), tags.len(), schedule.seed);
    if let Some(vectors) = data.vectors {
        for (i, word) in model.words.iter().enumerate() {
            if let Some(vector) = vectors.get(word) {
                model.params.row_mut(slot::WORD, i + 1).copy_from_slice(vector);
            }
        }
    }
    let once = once(&model, &seen);
    Ok((model, once))
}

/// Returns the rows of a model's word table for words that the notes have once.
fn once(model: &Model, seen: &Seen) -> Vec<bool> {
    let mut once = vec![false];
    once.extend(model.words.iter().map(|word| seen.times.get(word) == Some(&1)));
    once
}

/// The number of occurrences of each word, in its look-up form, and of each character.
struct Seen {
    times: BTreeMap<String, usize>,
    chars: BTreeMap<char, usize>,
}

impl Seen {
    fn of(batch: &NoteBatch, casing: Casing) -> Self {
        let (mut times, mut chars) = (BTreeMap::new(), BTreeMap::new());
        for note in batch.notes() {
            for i in 0..note.tokens.len() {
                let word = note.word(i);
                *times.entry(casing.form(word)).or_default() += 1;
                word.chars().for_each(|c| *chars.entry(c).or_default() += 1);
            }
        }
        Self { times, chars }
    }

    /// Returns the characters with rows: those that occur more than once.
    fn chars(&self) -> impl Iterator<Item = char> {
        self.chars.iter().filter(|&(_, &n)| n > 1).map(|(&c, _)| c)
    }
}

fn check_size(architecture: &Architecture, vectors: Option<&Vectors>) -> Result<(), TrainError> {
    match vectors {
        Some(vectors) if vectors.size() != architecture.word => Err(TrainError::VectorSize {
            found: vectors.size(),
            wanted: architecture.word,
        }),
        _ => Ok(()),
    }
}

/// Returns the strict micro-F1 of a network on documents.
fn score(runner: &Runner, reader: &Reader, tags: &TagSet, batch: &NoteBatch, documents: &[Document]) -> f64 {
    let mut kept = Kept::default();
    let read = reader.read(batch, &mut kept.memory);
    let tagged = runner.tag(&read, &mut kept);
    let mut counts = Counts::default();
    for ((document, note), range) in documents.iter().zip(batch.notes()).zip(&read.notes) {
        let spans = tags.decode(&tagged.tags[range.clone()]).into_iter();
        let marks: Vec<Mark> = spans
            .map(|span| {
                Mark::gold(
                    note.tokens_span(span.first, span.last),
                    tags.labels()[span.label].clone(),
                )
            })
            .collect();
        counts += Counts::strict(&document.marks, &marks);
    }
    counts.f1()
}
