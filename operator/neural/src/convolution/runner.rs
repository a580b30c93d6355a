//! Runs a trained network: one window of a note at a time.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::ops::Range;

use candle_core::{Device, Tensor};
use lethe_core::{Cache, Caches, NoteView, TokenKind, vec_bytes};
use lethe_kernel::{Isa, exp_in_place};
use lethe_learn::TagSet;

use super::layers::Layers;
use super::path::Paths;
use super::pieces::Pieces;
use super::rounded::Rounded;
use super::settings::{ConvolutionShape, slot};
use crate::alone::alone;
use crate::halves::Halves;
use crate::model::{Params, Tensor as Matrix};
use crate::types::WordHasher;

/// The tokens of a window, besides those around it that its tags depend on.
const WINDOW: usize = 2048;
/// The words that a thread keeps, of some hundred bytes each; beyond it, all are removed.
const KEPT: usize = 1 << 14;
/// Longer words are not found again: a token may have any number of bytes.
const LONGEST: usize = 128;

/// A network for running.
pub(super) struct Runner {
    shape: ConvolutionShape,
    tags: TagSet,
    /// The tables of words and shapes; that of words is empty if `pieces` has it.
    params: Params,
    pieces: Option<Halves>,
    layers: Running,
    paths: Paths,
    isa: Isa,
    /// Words that threads reuse between notes.
    caches: Caches<Words>,
}

/// The layers, in single precision or rounded.
enum Running {
    Single(Layers),
    Rounded(Rounded),
}

/// The tags of a window's tokens.
#[derive(Clone, Debug, Default)]
pub(super) struct Tagged {
    pub(super) tags: Vec<u16>,
    /// The probability of each token in a span to be in one, and 0 for the others.
    pub(super) scores: Vec<f32>,
}

/// The inputs of words, or their first layer if that is rounded. Holds words of notes; never printed, never written.
#[derive(Default)]
struct Words {
    places: HashMap<Box<str>, u32, BuildHasherDefault<WordHasher>>,
    inputs: Vec<f32>,
    pieces: Pieces,
    row: Vec<f32>,
    own: Vec<f32>,
}

impl Cache for Words {
    fn bytes(&self) -> usize {
        // The allocator rounds the bytes of a key up to sixteen, and few words have more.
        let places = self.places.capacity() * (size_of::<(Box<str>, u32)>() + 16);
        places + vec_bytes(&self.inputs) + vec_bytes(&self.own) + vec_bytes(&self.row)
    }
}

impl Runner {
    /// Packs a network's parameters. `pieces` has the table of words if that of the parameters is empty; with `ranges`
    /// the layers are rounded.
    pub(super) fn new(
        shape: &ConvolutionShape,
        mut params: Params,
        pieces: Option<Halves>,
        tags: &TagSet,
        ranges: Option<&Matrix>,
    ) -> candle_core::Result<Self> {
        let isa = Isa::best();
        let layers = match ranges {
            Some(ranges) => Running::Rounded(Rounded::new(isa, shape, &params, ranges)),
            None => Running::Single(Layers::new(shape, &params)?),
        };
        params.0.truncate(slot::LAYERS);
        Ok(Self {
            shape: shape.clone(),
            tags: tags.clone(),
            params,
            pieces,
            layers,
            isa,
            paths: Paths::new(tags),
            caches: Caches::default(),
        })
    }

    /// Returns the windows of a note with this many tokens.
    pub(super) fn windows(tokens: usize) -> impl Iterator<Item = Range<usize>> {
        (0..tokens)
            .step_by(WINDOW)
            .map(move |first| first..tokens.min(first + WINDOW))
    }

    /// Tags one of a note's windows. The result depends on the note alone.
    ///
    /// # Errors
    /// If candle fails, or a score is not finite.
    pub(super) fn tag(&self, note: NoteView<'_>, window: Range<usize>) -> candle_core::Result<Tagged> {
        let scores = self.scores(note, window)?;
        let tags = self.isa.widely(
            #[inline(always)]
            || self.paths.best(&scores),
        );
        let mut row = Vec::with_capacity(self.tags.len());
        let score = |(tag, scores): (&u16, &[f32])| {
            if *tag == TagSet::OUTSIDE {
                return 0.0;
            }
            row.clear();
            row.extend_from_slice(scores);
            softmax(self.isa, &mut row, self.tags.len());
            (1.0 - row[usize::from(TagSet::OUTSIDE)]).clamp(0.0, 1.0)
        };
        Ok(Tagged {
            scores: tags
                .iter()
                .zip(scores.chunks_exact(self.tags.len()))
                .map(score)
                .collect(),
            tags,
        })
    }

    /// Returns the probability of each tag for each token of a window.
    ///
    /// # Errors
    /// As [`Runner::tag`].
    pub(super) fn probabilities(
        &self,
        note: NoteView<'_>,
        window: Range<usize>,
    ) -> candle_core::Result<Vec<f32>> {
        let mut scores = self.scores(note, window)?;
        softmax(self.isa, &mut scores, self.tags.len());
        Ok(scores)
    }

    /// Raises `ranges`, a row of channels per layer but the last, to what the layers give to the next in a window.
    ///
    /// # Errors
    /// As [`Runner::tag`].
    pub(super) fn measure(
        &self,
        note: NoteView<'_>,
        window: Range<usize>,
        ranges: &mut [f32],
    ) -> candle_core::Result<()> {
        let mut rows = ranges.chunks_exact_mut(self.shape.channels);
        let each = |h: &Tensor| {
            let row = rows.next().into_iter().flatten();
            let most = h.max(0)?.to_vec1::<f32>()?;
            row.zip(most).for_each(|(range, most)| *range = range.max(most));
            Ok(())
        };
        self.layers(note, window, each).map(|_| ())
    }

    /// Returns the score of each tag for each token of a window.
    fn scores(&self, note: NoteView<'_>, window: Range<usize>) -> candle_core::Result<Vec<f32>> {
        let scores = self.layers(note, window, |_| Ok(()))?;
        // Sums of bytes are always finite.
        let is_sound =
            matches!(self.layers, Running::Rounded(_)) || scores.iter().all(|score| score.is_finite());
        match is_sound {
            true => Ok(scores),
            false => Err(candle_core::Error::msg("a score is not finite")),
        }
    }

    /// Runs the layers; calls `each` as [`Layers::run`] does, unless they are rounded.
    fn layers(
        &self,
        note: NoteView<'_>,
        window: Range<usize>,
        each: impl FnMut(&Tensor) -> candle_core::Result<()>,
    ) -> candle_core::Result<Vec<f32>> {
        let reach = self.shape.reach();
        let read = window.start.saturating_sub(reach)..note.tokens.len().min(window.end + reach);
        let input = self.input(note, read.clone());
        alone(|| {
            let input = Tensor::from_vec(input, (read.len(), self.stride()), &Device::Cpu)?;
            let scores = match &self.layers {
                Running::Single(layers) => layers.run(&input, each)?,
                Running::Rounded(layers) => input.apply_op1_no_bwd(layers)?,
            };
            let scores = scores.narrow(0, window.start - read.start, window.len())?;
            scores.contiguous()?.flatten_all()?.to_vec1::<f32>()
        })
    }

    /// Returns the numbers of a token's input.
    const fn stride(&self) -> usize {
        match &self.layers {
            Running::Single(_) => self.shape.inputs(),
            Running::Rounded(layers) => layers.width(),
        }
    }

    /// Returns the input of some of a note's tokens.
    fn input(&self, note: NoteView<'_>, tokens: Range<usize>) -> Vec<f32> {
        let stride = self.stride();
        let mut words = self.caches.take();
        let mut input = Vec::with_capacity(tokens.len() * stride);
        for token in tokens {
            let at = self.place(&mut words, note.word(token), note.tokens.kind(token));
            input.extend_from_slice(&words.inputs[at * stride..(at + 1) * stride]);
        }
        input
    }

    /// Returns the bytes of memory that its caches take.
    pub(super) fn cache_bytes(&self) -> usize {
        let layers = match &self.layers {
            Running::Single(_) => 0,
            Running::Rounded(layers) => layers.cache_bytes(),
        };
        self.caches.bytes() + layers
    }

    /// Returns the place of a word among those of a thread, and computes its input if it is new.
    fn place(&self, words: &mut Words, word: &str, kind: TokenKind) -> usize {
        if let Some(&at) = words.places.get(word) {
            return at as usize;
        }
        let stride = self.stride();
        if words.inputs.len() >= KEPT * stride {
            words.places.clear();
            words.inputs.clear();
        }
        let at = words.inputs.len() / stride;
        if word.len() <= LONGEST {
            words.places.insert(word.into(), at as u32);
        }
        words.inputs.resize((at + 1) * stride, 0.0);
        words.pieces.read(word, kind, self.shape.buckets);
        let to = &mut words.inputs[at * stride..];
        match &self.layers {
            Running::Single(_) => self.read(&words.pieces, &mut words.row, to),
            Running::Rounded(layers) => {
                words.own.clear();
                words.own.resize(self.shape.inputs(), 0.0);
                self.read(&words.pieces, &mut words.row, &mut words.own);
                layers.read(&words.own, to);
            }
        }
        at
    }

    /// Adds up the vectors of a word's pieces, one after the other in `row`, into zeros.
    fn read(&self, pieces: &Pieces, row: &mut Vec<f32>, input: &mut [f32]) {
        let (sum, shape) = input.split_at_mut(self.shape.piece);
        row.resize(self.shape.piece, 0.0);
        if let Some(table) = &self.pieces {
            pieces.rows.iter().for_each(|&at| table.prefetch(at as usize));
        }
        for &at in &pieces.rows {
            match &self.pieces {
                Some(table) => table.row(at as usize, row),
                None => row.copy_from_slice(self.params.row(slot::PIECES, at as usize)),
            }
            sum.iter_mut().zip(&*row).for_each(|(sum, x)| *sum += x);
        }
        let scale = scale(pieces.rows.len());
        sum.iter_mut().for_each(|x| *x *= scale);
        shape.copy_from_slice(self.params.row(slot::SHAPES, usize::from(pieces.shape)));
    }
}

/// Replaces the scores of each row by probabilities.
fn softmax(isa: Isa, scores: &mut [f32], tags: usize) {
    for row in scores.chunks_exact_mut(tags) {
        let top = row.iter().copied().fold(f32::MIN, f32::max);
        row.iter_mut().for_each(|score| *score -= top);
    }
    exp_in_place(isa, scores);
    for row in scores.chunks_exact_mut(tags) {
        let sum: f32 = row.iter().sum();
        row.iter_mut().for_each(|score| *score /= sum);
    }
}

/// Returns the factor of a sum of this many vectors that keeps its size.
pub(super) fn scale(rows: usize) -> f32 {
    1.0 / (rows as f32).sqrt()
}
