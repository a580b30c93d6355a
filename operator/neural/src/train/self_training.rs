//! Self-training (Liao 2021): continues training a network with gold of one institution and with labels that
//! the network or a teacher predicts for notes of another.
//!
//! A pass reads every sequence with gold once. Each of its steps has one half of such sequences and one half
//! of pseudo-labelled ones, which are drawn again in every pass. Noise is on only in training: labels are
//! predicted without it.

use std::ops::{ControlFlow, Range};
use std::path::Path;

use lethe_core::{NoteBatch, TokenKind};
use lethe_corpus::{Document, digest};
use lethe_kernel::Isa;
use lethe_learn::{Epoch, Marginals, Observer, Pool, Training};
use sha2::{Digest as _, Sha256};

use super::grow::grow;
use super::pass::descend;
use super::{Corpus, Data, TrainError, check, score, texts};
use crate::bucket::{Bucket, groups};
use crate::checkpoint::{self, State};
use crate::crf::Allowed;
use crate::model::{Model, Params};
use crate::network::Network;
use crate::reader::{Memory, Read, Reader};
use crate::rng::Rng;
use crate::runner::{Kept, Runner};
use crate::settings::SelfTraining;
use crate::tape::{Gold, Sample, Tape};

/// The data of a self-training.
#[derive(Clone, Copy)]
pub(crate) struct Ground<'a> {
    /// Data with gold, and the held-out set.
    pub(crate) data: Data<'a>,
    /// Documents without gold.
    pub(crate) unlabelled: &'a [Document],
    /// The member that gives labels, with the network's own tags; by default the network itself.
    pub(crate) teacher: Option<&'a (dyn Marginals + Sync)>,
}

/// Returns the resulting network, and the strict micro-F1 on the held-out set before and after.
pub(crate) fn self_train(
    network: &Network,
    from: &str,
    settings: &SelfTraining,
    ground: Ground<'_>,
    checkpoint: Option<&Path>,
    observer: &mut dyn Observer,
) -> Result<(Network, f64, f64), TrainError> {
    let (schedule, data, isa) = (&settings.schedule, ground.data, Isa::best());
    check(network.architecture(), schedule)?;
    let bare = ground.unlabelled.iter().map(|document| Document {
        marks: Vec::new(),
        ..document.clone()
    });
    let all: Vec<Document> = data.train.iter().cloned().chain(bare).collect();
    let batch = texts(&all)?;
    let unlabelled = texts(ground.unlabelled)?;
    let tags = network.tags().clone();
    let (mut model, once) = grow(&network.model, &batch, &tags, None, schedule.seed);
    let reader = Reader::new(&model, data.dictionary)?;
    let mut memory = Memory::default();
    let corpus = Corpus::new(&all, &batch, &tags, &reader, &mut memory);
    let pseudo = Pseudo::new(&corpus, data.train.len());
    let held_out = texts(data.held_out)?;
    let scored = |model: &Model| {
        let runner = Runner::of(isa, model, &tags, reader.tables());
        score(&runner, &reader, &tags, &held_out, data.held_out)
    };
    let before = scored(&model);
    let (architecture, allowed) = (model.architecture.clone(), Allowed::new(&tags));
    let training = Trainer {
        tape: Tape {
            isa,
            architecture: &architecture,
            allowed: &allowed,
            tables: reader.tables(),
            dropout: schedule.dropout,
        },
        settings,
        reader: &reader,
        corpus: &corpus,
        memory: &memory,
        once: &once,
        words: words(&batch),
        pool: Pool::of([&batch]),
        pseudo: &pseudo,
        tags: tags.len(),
    };
    let taught = ground
        .teacher
        .map(|teacher| teacher.marginals(&unlabelled).concat());
    let kind = network.kind();
    let fingerprint = {
        let mut hash = Sha256::new();
        hash.update(checkpoint::fingerprint(
            kind,
            &architecture,
            schedule,
            data,
            Some(from),
        ));
        hash.update(format!("{settings:?}"));
        hash.update(digest(ground.unlabelled));
        let shares = taught.iter().flatten();
        shares.for_each(|share| hash.update(share.to_le_bytes()));
        hash.finalize().into()
    };
    let kept = match checkpoint {
        Some(path) => State::read(path, &fingerprint, &model.params)?,
        None => None,
    };
    if kept.is_some() {
        observer.resumed();
    }
    let mut state = kept.unwrap_or_else(|| State::new(&model.params));
    let mut grads = model.params.zeros_like();
    let mut labels = Vec::new();
    while state.epochs < schedule.epochs && !state.ended {
        if labels.is_empty() || state.epochs.is_multiple_of(settings.refresh) {
            labels = match &taught {
                Some(taught) => taught.clone(),
                None => {
                    model.params = state.params.clone();
                    let runner = Runner::of(isa, &model, &tags, reader.tables());
                    pseudo.labels(&runner, &corpus, &memory, tags.len())
                }
            };
        }
        let loss = training.pass(&labels, &mut state, &mut grads, observer);
        state.epochs += 1;
        model.params = state.params.clone();
        let f1 = scored(&model);
        let better = state.best.as_ref().is_none_or(|(best, _)| f1 > *best);
        state.since = if better { 0 } else { state.since + 1 };
        // Of equal passes the later one wins: it has seen more of the notes without gold.
        if state.best.as_ref().is_none_or(|(best, _)| f1 >= *best) {
            state.best = Some((f1, state.params.clone()));
        }
        let epoch = Epoch {
            done: state.epochs,
            of: schedule.epochs,
            loss,
            held_out: Some(f1),
        };
        state.ended = observer.epoch(epoch) == ControlFlow::Break(()) || state.since >= settings.patience;
        // Between two refreshes the labels are those of weights that no longer exist, so no state is saved
        // there.
        let whole = state.ended || state.epochs.is_multiple_of(settings.refresh) || taught.is_some();
        if let Some(path) = checkpoint.filter(|_| whole) {
            state.write(path, &fingerprint)?;
        }
    }
    let (after, params) = state.best.unwrap_or((before, state.params));
    model.params = params;
    let training = Training {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        seed: schedule.seed,
        data: digest(data.train),
        documents: data.train.len(),
        held_out_f1: Some(after),
        goes_on_from: Some(from.to_owned()),
        instructions: Some(Isa::best().name().to_owned()),
    };
    Ok((Network::new(kind, model, training), before, after))
}

/// Returns each token's word, in the order of the corpus.
fn words(batch: &NoteBatch) -> Vec<(&str, TokenKind)> {
    let mut words = Vec::new();
    for row in 0..batch.len() {
        let note = batch.note(row);
        words.extend((0..note.tokens.len()).map(|i| (note.word(i), note.tokens.kind(i))));
    }
    words
}

/// The position of the documents without gold in the corpus.
struct Pseudo {
    /// Their first token.
    first: usize,
    /// The number of sequences with gold.
    sequences: usize,
}

impl Pseudo {
    fn new(corpus: &Corpus, with_gold: usize) -> Self {
        let read = &corpus.read;
        let first = read
            .notes
            .get(with_gold)
            .map_or(read.types.len(), |note| note.start);
        Self {
            first,
            sequences: read.sequences.partition_point(|sequence| sequence.start < first),
        }
    }

    /// Returns shares of tags, without noise and without dropout.
    fn labels(&self, runner: &Runner, corpus: &Corpus, memory: &Memory, tags: usize) -> Vec<f32> {
        let read = Read {
            sequences: corpus.read.sequences[self.sequences..].to_vec(),
            ..corpus.read.clone()
        };
        let mut kept = Kept::default();
        kept.memory = memory.clone();
        let mut labels = vec![0.0; (read.types.len() - self.first) * tags];
        runner.marginals(&read, &mut kept, |token, shares| {
            labels[(token - self.first) * tags..][..tags].copy_from_slice(shares);
        });
        labels
    }
}

/// The state that passes share.
struct Trainer<'a> {
    tape: Tape<'a>,
    settings: &'a SelfTraining,
    reader: &'a Reader,
    corpus: &'a Corpus,
    memory: &'a Memory,
    once: &'a [bool],
    words: Vec<(&'a str, TokenKind)>,
    pool: Pool,
    pseudo: &'a Pseudo,
    tags: usize,
}

impl Trainer<'_> {
    /// Runs one pass over the sequences with gold, and returns its mean loss per sequence.
    fn pass(
        &self,
        labels: &[f32],
        state: &mut State,
        grads: &mut Params,
        observer: &mut dyn Observer,
    ) -> f64 {
        let schedule = &self.settings.schedule;
        let (seed, epoch) = (schedule.seed, u64::from(state.epochs));
        let mut rng = Rng::new(&[seed, 3, epoch]);
        let (own, others) = self.corpus.read.sequences.split_at(self.pseudo.sequences);
        let half = schedule.batch.div_ceil(2);
        let (own, others) = (groups(own, half, &mut rng), groups(others, half, &mut rng));
        // Replaced words are removed after the pass.
        let mut memory = self.memory.clone();
        let (mut loss, mut sequences) = (0.0, 0);
        for (i, group) in own.iter().enumerate() {
            observer.step(i, own.len());
            let mut rng = Rng::new(&[seed, 4, epoch, i as u64]);
            let mut group = group.clone();
            if let Some(other) = others.get(i % others.len().max(1)) {
                group.extend(other.iter().cloned());
            }
            group.sort_by_key(|range| std::cmp::Reverse(range.len()));
            loss += self.step(
                &group,
                labels,
                &mut memory,
                &mut rng,
                state,
                grads,
                i as f64 / own.len() as f64,
            );
            sequences += group.len();
        }
        loss / sequences.max(1) as f64
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the parts of one step have different lifetimes"
    )]
    fn step(
        &self,
        group: &[Range<usize>],
        labels: &[f32],
        memory: &mut Memory,
        rng: &mut Rng,
        state: &mut State,
        grads: &mut Params,
        share: f64,
    ) -> f64 {
        let (read, schedule) = (&self.corpus.read, &self.settings.schedule);
        let bucket = Bucket::new(group.iter().map(Range::len).collect());
        let mut tokens = Vec::with_capacity(bucket.rows());
        for t in 0..bucket.steps() {
            tokens.extend(group[..bucket.step(t).len()].iter().map(|range| range.start + t));
        }
        let mut soft = vec![0.0; tokens.len() * self.tags];
        let (mut types, mut words) = (Vec::with_capacity(tokens.len()), Vec::with_capacity(tokens.len()));
        for (&token, row) in tokens.iter().zip(soft.chunks_exact_mut(self.tags)) {
            match token.checked_sub(self.pseudo.first) {
                Some(at) => row.copy_from_slice(&labels[at * self.tags..][..self.tags]),
                None => row[usize::from(self.corpus.gold[token])] = 1.0,
            }
            let (word, kind) = self.words[token];
            let other = self
                .settings
                .noise
                .draw(word, kind, &self.pool, &mut || rng.next());
            let at = match other {
                Some(other) => self.reader.place(memory, &other, kind),
                None => read.types[token],
            };
            types.push(at);
            let row = memory.types.get(at).word;
            let unknown = self.once[row as usize] && rng.unit() < schedule.unknown;
            words.push(if unknown { 0 } else { row });
        }
        let contexts: Vec<u32> = tokens.iter().map(|&token| read.contexts[token]).collect();
        let sample = Sample {
            bucket: &bucket,
            types: &types,
            contexts: &contexts,
            words: &words,
            gold: Gold::Soft(&soft),
        };
        let loss = self.tape.gradient(&state.params, memory, &sample, rng, grads);
        descend(
            state,
            grads,
            words,
            schedule,
            f64::from(state.epochs) + share,
            group.len(),
        );
        loss
    }
}
