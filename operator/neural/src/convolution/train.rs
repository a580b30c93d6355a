//! Training on one core, with the same bytes for the same seed, resumed after a kill.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use candle_core::{Device, Tensor};
use candle_nn::loss::cross_entropy;
use lethe_core::NoteBatch;
use lethe_corpus::{Counts, Document, Mark, digest};
use lethe_kernel::Isa;
use lethe_learn::{Observer, TagSet, Training};
use sha2::{Digest as _, Sha256};

use super::layers::{Layers, Step};
use super::network::ConvolutionNetwork;
use super::pieces::Pieces;
use super::runner::{Runner, scale};
use super::settings::{ConvolutionSchedule, ConvolutionShape, Convolutional, slot};
use crate::adam::Adam;
use crate::alone::alone;
use crate::checkpoint::State;
use crate::model::Params;
use crate::precision::Precision;
use crate::rng::Rng;
use crate::train::TrainError;

/// A longer note is trained on in parts of this many tokens.
const LONGEST: usize = 512;

/// The most documents that the ranges of activations are measured on.
const MEASURED: usize = 1000;

/// What a training starts from.
pub(super) struct Start {
    pub(super) shape: ConvolutionShape,
    pub(super) tags: TagSet,
    pub(super) params: Params,
    /// The digest of the model that it continues from.
    pub(super) from: Option<String>,
}

/// Fits a network.
pub(super) fn train(
    start: Start,
    schedule: &ConvolutionSchedule,
    documents: &[Document],
    held_out: &[Document],
    state: Option<&Path>,
    observer: &mut dyn Observer,
) -> Result<ConvolutionNetwork, TrainError> {
    if documents.iter().all(|document| document.marks.is_empty()) {
        return Err(TrainError::Empty);
    }
    let Start {
        shape,
        tags,
        params,
        from,
    } = start;
    let corpus = Corpus::new(documents, &tags, shape.buckets)?;
    let checkpoint = state.map(|folder| folder.join("checkpoint.bin"));
    let fingerprint = fingerprint(&shape, schedule, documents, held_out, from.as_deref());
    let kept = match &checkpoint {
        Some(path) => State::read(path, &fingerprint, &params)?,
        None => None,
    };
    if kept.is_some() {
        observer.resumed();
    }
    let mut state = kept.unwrap_or_else(|| State::new(&params));
    let mut grads = params.zeros_like();
    while state.epochs < schedule.epochs && !state.ended {
        let loss = alone(|| pass(&shape, schedule, &corpus, &mut state, &mut grads, observer))
            .map_err(|_| TrainError::Computation)?;
        let mut f1 = None;
        if !held_out.is_empty() {
            f1 = Some(score(&shape, &state.params, &tags, held_out)?);
        }
        state.end_pass(schedule.epochs, loss, f1, observer);
        if let Some(path) = &checkpoint {
            state.write(path, &fingerprint)?;
        }
    }
    let (held_out_f1, mut params) = state.into_best();
    crate::weights::round(&mut params.0[slot::PIECES].data);
    let network = ConvolutionNetwork {
        shape,
        tags,
        params,
        ranges: None,
        training: Training {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            seed: schedule.seed,
            data: digest(documents),
            documents: documents.len(),
            held_out_f1,
            goes_on_from: from,
            instructions: Some(Isa::best().name().to_owned()),
        },
    };
    if network.shape.precision == Precision::Float32 {
        return Ok(network);
    }
    let every = documents.len().div_ceil(MEASURED);
    let texts = documents
        .iter()
        .step_by(every)
        .map(|document| document.text.as_str());
    let notes = NoteBatch::from_texts(texts)?;
    network.rounded(&notes).map_err(|_| TrainError::Computation)
}

/// Documents as the network reads them.
struct Corpus {
    /// The pieces of each distinct word.
    words: Vec<Pieces>,
    /// The word of each token, and its gold tag.
    tokens: Vec<(u32, u16)>,
    sequences: Vec<Range<usize>>,
}

impl Corpus {
    fn new(documents: &[Document], tags: &TagSet, buckets: usize) -> Result<Self, TrainError> {
        let batch = NoteBatch::from_texts(documents.iter().map(|document| document.text.as_str()))?;
        let mut places = HashMap::new();
        let mut corpus = Self {
            words: Vec::new(),
            tokens: Vec::new(),
            sequences: Vec::new(),
        };
        for (document, note) in documents.iter().zip(batch.notes()) {
            let first = corpus.tokens.len();
            let gold = tags.encode(note.tokens, &document.marks);
            for (token, tag) in gold.into_iter().enumerate() {
                let (word, kind) = (note.word(token), note.tokens.kind(token));
                let word = *places.entry((word, kind)).or_insert_with(|| {
                    let mut pieces = Pieces::default();
                    pieces.read(word, kind, buckets);
                    corpus.words.push(pieces);
                    corpus.words.len() as u32 - 1
                });
                corpus.tokens.push((word, tag));
            }
            let end = corpus.tokens.len();
            let parts = (first..end).step_by(LONGEST);
            corpus.sequences.extend(parts.map(|at| at..end.min(at + LONGEST)));
        }
        Ok(corpus)
    }
}

/// Returns sequences in random groups of about this many tokens.
fn groups(sequences: &[Range<usize>], tokens: usize, rng: &mut Rng) -> Vec<Vec<Range<usize>>> {
    let mut order = sequences.to_vec();
    rng.shuffle(&mut order);
    let (mut groups, mut group, mut held) = (Vec::new(), Vec::new(), 0);
    for sequence in order {
        held += sequence.len();
        group.push(sequence);
        if held >= tokens {
            groups.push(std::mem::take(&mut group));
            held = 0;
        }
    }
    if !group.is_empty() {
        groups.push(group);
    }
    groups
}

/// Runs one pass over the training data, and returns its mean loss per token.
fn pass(
    shape: &ConvolutionShape,
    schedule: &ConvolutionSchedule,
    corpus: &Corpus,
    state: &mut State,
    grads: &mut Params,
    observer: &mut dyn Observer,
) -> candle_core::Result<f64> {
    let epoch = u64::from(state.epochs);
    let groups = groups(
        &corpus.sequences,
        schedule.batch,
        &mut Rng::new(&[schedule.seed, 1, epoch]),
    );
    let (mut loss, mut tokens) = (0.0, 0);
    let of = groups.len();
    for (i, group) in groups.iter().enumerate() {
        observer.step(i, of);
        let mut rng = Rng::new(&[schedule.seed, 2, epoch, i as u64]);
        let sample = Sample::new(shape, schedule, corpus, group, &state.params, &mut rng);
        loss += sample.gradient(shape, &state.params, grads)? * sample.golds.len() as f64;
        tokens += sample.golds.len();
        let done = f64::from(state.epochs) + i as f64 / of as f64;
        let rate = schedule.rate * (1.0 - done / f64::from(schedule.epochs)) as f32;
        let State { params, adam, .. } = state;
        Adam::step(adam, params, grads, &sample.touched(), rate, 1.0, schedule.clip);
    }
    Ok(loss / tokens.max(1) as f64)
}

/// The input of a step: its sequences one after the other, with rows of zeros between them.
struct Sample<'c> {
    input: Vec<f32>,
    /// The factor of each number of the input, which dropout has chosen.
    kept: Vec<f32>,
    /// The row and the word of each token, and whether the row of the word itself is read.
    tokens: Vec<(usize, &'c Pieces, bool)>,
    golds: Vec<u32>,
    /// The factors of what the last layer reads.
    last: Vec<f32>,
}

impl<'c> Sample<'c> {
    fn new(
        shape: &ConvolutionShape,
        schedule: &ConvolutionSchedule,
        corpus: &'c Corpus,
        group: &[Range<usize>],
        params: &Params,
        rng: &mut Rng,
    ) -> Self {
        let gap = shape.dilations.iter().copied().max().unwrap_or(0);
        let rows = group.iter().map(|sequence| sequence.len() + gap).sum::<usize>();
        let (mut tokens, mut golds) = (Vec::new(), Vec::new());
        let mut row = 0;
        for sequence in group {
            for &(word, tag) in &corpus.tokens[sequence.clone()] {
                let pieces = &corpus.words[word as usize];
                let whole = pieces.rows.len() == 1 || rng.unit() >= schedule.unknown;
                tokens.push((row, pieces, whole));
                golds.push(u32::from(tag));
                row += 1;
            }
            row += gap;
        }
        let mut kept = |numbers: usize| -> Vec<f32> {
            let factor = 1.0 / (1.0 - schedule.dropout);
            let one = |_| {
                if rng.unit() < schedule.dropout {
                    0.0
                } else {
                    factor
                }
            };
            (0..numbers).map(one).collect()
        };
        let inputs = shape.inputs();
        let (kept, last) = (kept(tokens.len() * inputs), kept(tokens.len() * shape.channels));
        let mut input = vec![0.0; rows * inputs];
        for (&(row, pieces, whole), kept) in tokens.iter().zip(kept.chunks_exact(inputs)) {
            let to = &mut input[row * inputs..(row + 1) * inputs];
            let (sum, own) = to.split_at_mut(shape.piece);
            let read = read(pieces, whole);
            for &at in read {
                let vector = params.row(slot::PIECES, at as usize);
                sum.iter_mut().zip(vector).for_each(|(sum, x)| *sum += x);
            }
            let scale = scale(read.len());
            sum.iter_mut().for_each(|x| *x *= scale);
            own.copy_from_slice(params.row(slot::SHAPES, usize::from(pieces.shape)));
            to.iter_mut().zip(kept).for_each(|(x, kept)| *x *= kept);
        }
        Self {
            input,
            kept,
            tokens,
            golds,
            last,
        }
    }

    /// Adds the gradient of the mean cross-entropy, and returns it.
    fn gradient(
        &self,
        shape: &ConvolutionShape,
        params: &Params,
        grads: &mut Params,
    ) -> candle_core::Result<f64> {
        let (device, inputs) = (Device::Cpu, shape.inputs());
        let rows = self.input.len() / inputs;
        let mut is_token = vec![0.0_f32; rows];
        self.tokens.iter().for_each(|&(row, ..)| is_token[row] = 1.0);
        let places: Vec<u32> = self.tokens.iter().map(|&(row, ..)| row as u32).collect();
        let step = Step {
            tokens: Tensor::from_vec(is_token, (rows, 1), &device)?,
            places: Tensor::from_vec(places, self.tokens.len(), &device)?,
            kept: Tensor::from_slice(&self.last, (self.tokens.len(), shape.channels), &device)?,
        };
        let input = candle_core::Var::from_slice(&self.input, (rows, inputs), &device)?;
        let golds = Tensor::from_slice(&self.golds, self.golds.len(), &device)?;
        let (layers, variables) = Layers::variables(shape, params)?;
        let loss = cross_entropy(&layers.scores(input.as_tensor(), Some(&step))?, &golds)?;
        let found = loss.backward()?;
        let numbers = |tensor: &Tensor| -> candle_core::Result<Vec<f32>> {
            match found.get(tensor) {
                Some(gradient) => gradient.contiguous()?.flatten_all()?.to_vec1(),
                None => Ok(vec![0.0; tensor.elem_count()]),
            }
        };
        for (variable, grad) in variables.iter().zip(&mut grads.0[slot::LAYERS..]) {
            grad.data = numbers(variable.as_tensor())?;
        }
        let input = numbers(input.as_tensor())?;
        for (&(row, pieces, whole), kept) in self.tokens.iter().zip(self.kept.chunks_exact(inputs)) {
            let from: Vec<f32> = input[row * inputs..(row + 1) * inputs]
                .iter()
                .zip(kept)
                .map(|(x, kept)| x * kept)
                .collect();
            let (sum, own) = from.split_at(shape.piece);
            let read = read(pieces, whole);
            let scale = scale(read.len());
            for &at in read {
                let grad = grads.row_mut(slot::PIECES, at as usize);
                grad.iter_mut().zip(sum).for_each(|(grad, x)| *grad += x * scale);
            }
            let grad = grads.row_mut(slot::SHAPES, usize::from(pieces.shape));
            grad.iter_mut().zip(own).for_each(|(grad, x)| *grad += x);
        }
        loss.to_scalar::<f32>().map(f64::from)
    }

    /// Returns the rows of the table that were read.
    fn touched(&self) -> Vec<u32> {
        let rows = self
            .tokens
            .iter()
            .flat_map(|&(_, pieces, whole)| read(pieces, whole));
        let mut rows: Vec<u32> = rows.copied().collect();
        rows.sort_unstable();
        rows.dedup();
        rows
    }
}

/// Returns the rows of a word that are read, with or without that of the word itself.
fn read(pieces: &Pieces, whole: bool) -> &[u32] {
    &pieces.rows[usize::from(!whole)..]
}

/// Returns the strict micro-F1 of a network on documents.
fn score(
    shape: &ConvolutionShape,
    params: &Params,
    tags: &TagSet,
    documents: &[Document],
) -> Result<f64, TrainError> {
    let failed = |_| TrainError::Computation;
    let runner = Runner::new(shape, params.clone(), None, tags, None).map_err(failed)?;
    let batch = NoteBatch::from_texts(documents.iter().map(|document| document.text.as_str()))?;
    let mut counts = Counts::default();
    for (document, note) in documents.iter().zip(batch.notes()) {
        let mut found = Vec::with_capacity(note.tokens.len());
        for window in Runner::windows(note.tokens.len()) {
            found.extend(runner.tag(note, window).map_err(failed)?.tags);
        }
        let marks: Vec<Mark> = tags
            .decode(&found)
            .into_iter()
            .map(|span| {
                Mark::gold(
                    note.tokens_span(span.first, span.last),
                    tags.labels()[span.label].clone(),
                )
            })
            .collect();
        counts += Counts::strict(&document.marks, &marks);
    }
    Ok(counts.f1())
}

/// Returns the identity of a training.
fn fingerprint(
    shape: &ConvolutionShape,
    schedule: &ConvolutionSchedule,
    documents: &[Document],
    held_out: &[Document],
    from: Option<&str>,
) -> [u8; 32] {
    let mut hash = Sha256::new();
    // Floats are printed so that they parse to the same value.
    hash.update(format!("{} {shape:?} {schedule:?}", Convolutional::KIND));
    hash.update(digest(documents));
    hash.update(digest(held_out));
    hash.update(from.unwrap_or_default());
    hash.finalize().into()
}
