//! Training a recurrent network: one core, the same bytes for the same seed, taken up again where it was killed.

mod pass;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use lethe_core::{BatchError, NoteBatch};
use lethe_corpus::{CorpusError, Counts, Document, Mark, digest};
use lethe_dictionaries::{Dictionary, UnknownList};
use lethe_learn::{Epoch, TagSet, Training, Watch};
use serde::{Deserialize, Serialize};

use crate::checkpoint::{self, CheckpointError, State};
use crate::crf::Allowed;
use crate::kernel::Isa;
use crate::model::{Architecture, Model, Params, slot};
use crate::network::Network;
use crate::reader::{Memory, Read, Reader, fields, lists};
use crate::runner::{Kept, Runner};
use crate::tape::Tape;
use crate::vectors::{Vectors, VectorsError};
use pass::pass;

/// How a network is fitted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Schedule {
    /// Passes over the training data.
    pub epochs: u32,
    /// Sequences of a step.
    pub batch: usize,
    /// Adam's step at the start; falls to 0 over the passes.
    pub rate: f32,
    /// Share of the inputs that is dropped.
    pub dropout: f32,
    /// Norm that gradients are held to.
    pub clip: f32,
    /// How often a word that train has once is read as an unknown one.
    pub unknown: f32,
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
            seed: 1,
        }
    }
}

/// What a network is trained on.
#[derive(Clone, Copy)]
pub struct Data<'a> {
    /// The documents it is fitted to.
    pub train: &'a [Document],
    /// Documents that choose the best pass; without any, the last one is kept.
    pub held_out: &'a [Document],
    /// What its knowledge features come from.
    pub dictionary: &'a Arc<Dictionary>,
    /// Word vectors to begin with.
    pub vectors: Option<&'a Vectors>,
}

/// Why a network could not be trained.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrainError {
    /// There is nothing to learn from.
    #[error("the training documents have no marks")]
    Empty,
    /// The vectors are of another size than the network's.
    #[error("the word vectors have {found} numbers, but the network wants {wanted}")]
    VectorSize {
        /// Numbers in a vector of the file.
        found: usize,
        /// What the architecture says.
        wanted: usize,
    },
    /// A setting has no meaning.
    #[error("{0}")]
    Setting(&'static str),
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
        // A span that reaches over a sequence's end is two.
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
/// With `checkpoint`, the state is saved there after each pass, and a training of the same settings and data that was
/// killed goes on from it: to the same bytes as if it had not been. Whoever has saved the network removes the file: until
/// then a kill costs one pass at most.
///
/// # Errors
/// [`TrainError`].
pub fn train(
    kind: &str,
    architecture: &Architecture,
    schedule: &Schedule,
    data: Data<'_>,
    checkpoint: Option<&Path>,
    watch: &mut dyn Watch,
) -> Result<Network, TrainError> {
    check(architecture, schedule)?;
    let isa = Isa::best();
    let texts = |documents: &[Document]| NoteBatch::from_texts(documents.iter().map(|d| d.text.as_str()));
    let (batch, held_out) = (texts(data.train)?, texts(data.held_out)?);
    let tags = TagSet::of(architecture.scheme, data.train.iter().flat_map(|d| &d.marks));
    if tags.is_empty() {
        return Err(TrainError::Empty);
    }
    let (mut model, once) = begin(architecture, schedule, &batch, &tags, data)?;
    let reader = Reader::new(&model, data.dictionary)?;
    let mut memory = Memory::default();
    let corpus = Corpus::new(data.train, &batch, &tags, &reader, &mut memory);
    let allowed = Allowed::new(&tags);
    let tape = Tape {
        isa,
        architecture,
        allowed: &allowed,
        knowledge_rows: reader.knowledge_rows(),
        dropout: schedule.dropout,
    };
    let fingerprint = checkpoint::fingerprint(kind, architecture, schedule, data);
    let kept = match checkpoint {
        Some(path) => State::read(path, &fingerprint, &model.params)?,
        None => None,
    };
    if kept.is_some() {
        watch.resumed();
    }
    let mut state = kept.unwrap_or_else(|| State::new(&model.params));
    let mut grads = model.params.zeros_like();
    while state.epochs < schedule.epochs && !state.ended {
        let loss = pass(
            &tape, schedule, &corpus, &memory, &once, &mut state, &mut grads, watch,
        );
        state.epochs += 1;
        let mut f1 = None;
        if !data.held_out.is_empty() {
            model.params = state.params.clone();
            let runner = Runner::new(isa, &model, &tags, reader.knowledge_rows());
            let score = score(&runner, &reader, &tags, &held_out, data.held_out);
            if state.best.as_ref().is_none_or(|(best, _)| score > *best) {
                state.best = Some((score, state.params.clone()));
            }
            f1 = Some(score);
        }
        let epoch = Epoch {
            done: state.epochs,
            of: schedule.epochs,
            loss,
            held_out: f1,
        };
        state.ended = watch.epoch(epoch) == ControlFlow::Break(());
        if let Some(path) = checkpoint {
            state.write(path, &fingerprint)?;
        }
    }
    let (held_out_f1, params) = match state.best {
        Some((score, params)) => (Some(score), params),
        None => (None, state.params),
    };
    model.params = params;
    let training = Training {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        seed: schedule.seed,
        data: digest(data.train),
        documents: data.train.len(),
        held_out_f1,
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

/// The model before training, and which rows of its word table train has once.
fn begin(
    architecture: &Architecture,
    schedule: &Schedule,
    batch: &NoteBatch,
    tags: &TagSet,
    data: Data<'_>,
) -> Result<(Model, Vec<bool>), TrainError> {
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    let mut chars: BTreeMap<char, usize> = BTreeMap::new();
    for note in batch.notes() {
        for i in 0..note.tokens.len() {
            let word = note.word(i);
            *times.entry(architecture.casing.form(word)).or_default() += 1;
            word.chars().for_each(|c| *chars.entry(c).or_default() += 1);
        }
    }
    let mut words: BTreeSet<&str> = times.keys().map(String::as_str).collect();
    if let Some(vectors) = data.vectors {
        if vectors.size() != architecture.word {
            return Err(TrainError::VectorSize {
                found: vectors.size(),
                wanted: architecture.word,
            });
        }
        words.extend(vectors.words().iter().map(String::as_str));
    }
    let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
    let mut model = Model {
        architecture: architecture.clone(),
        tags: tags.clone(),
        chars: chars
            .into_iter()
            .filter(|&(_, n)| n > 1)
            .map(|(c, _)| c)
            .collect(),
        fields: if architecture.field > 0 {
            fields(batch)
        } else {
            Vec::new()
        },
        lists: lists(data.dictionary, architecture),
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
    let mut once = vec![false];
    once.extend(model.words.iter().map(|word| times.get(word) == Some(&1)));
    Ok((model, once))
}

/// Strict micro-F1 of a network on documents.
fn score(runner: &Runner, reader: &Reader, tags: &TagSet, batch: &NoteBatch, documents: &[Document]) -> f64 {
    let mut kept = Kept::default();
    let read = reader.read(batch, &mut kept.memory);
    let tagged = runner.tag(&read, &mut kept, false, |_, _| {});
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
