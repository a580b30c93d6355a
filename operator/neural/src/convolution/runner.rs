//! Runs a trained network: one window of a note at a time.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::ops::Range;

use candle_core::{Device, Tensor};
use lethe_core::NoteView;
use lethe_kernel::{Isa, exp_in_place};
use lethe_learn::TagSet;

use super::layers::Layers;
use super::path::Paths;
use super::pieces::Pieces;
use super::settings::{ConvolutionShape, slot};
use crate::alone::alone;
use crate::halves::Halves;
use crate::model::Params;
use crate::types::WordHasher;

/// The tokens of a window, besides those around it that its tags depend on.
const WINDOW: usize = 2048;

/// A network for running.
pub(super) struct Runner {
    shape: ConvolutionShape,
    tags: TagSet,
    /// The tables of words and shapes; that of words is empty if `pieces` has it.
    params: Params,
    pieces: Option<Halves>,
    layers: Layers,
    paths: Paths,
    isa: Isa,
}

/// The tags of a window's tokens.
#[derive(Clone, Debug, Default)]
pub(super) struct Tagged {
    pub(super) tags: Vec<u16>,
    /// The probability of each tag for each token.
    pub(super) probabilities: Vec<f32>,
}

impl Tagged {
    /// Returns the probability of each token to be in a span.
    pub(super) fn scores(&self, tags: usize) -> Vec<f32> {
        let outside = self.probabilities.chunks_exact(tags).map(|row| row[0]);
        outside.map(|outside| (1.0 - outside).clamp(0.0, 1.0)).collect()
    }
}

impl Runner {
    /// Packs a network's parameters. `pieces` has the table of words if that of the parameters is empty.
    pub(super) fn new(
        shape: &ConvolutionShape,
        mut params: Params,
        pieces: Option<Halves>,
        tags: &TagSet,
    ) -> candle_core::Result<Self> {
        let layers = Layers::new(shape, &params)?;
        params.0.truncate(slot::LAYERS);
        Ok(Self {
            shape: shape.clone(),
            tags: tags.clone(),
            params,
            pieces,
            layers,
            isa: Isa::best(),
            paths: Paths::new(tags),
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
        let reach = self.shape.reach();
        let read = window.start.saturating_sub(reach)..note.tokens.len().min(window.end + reach);
        let input = self.input(note, read.clone());
        let mut scores = alone(|| {
            let input = Tensor::from_vec(input, (read.len(), self.shape.inputs()), &Device::Cpu)?;
            let scores = self.layers.run(&input)?;
            let scores = scores.narrow(0, window.start - read.start, window.len())?;
            scores.contiguous()?.flatten_all()?.to_vec1::<f32>()
        })?;
        if !scores.iter().all(|score| score.is_finite()) {
            return Err(candle_core::Error::msg("a score is not finite"));
        }
        let tags = self.paths.best(&scores);
        softmax(self.isa, &mut scores, self.tags.len());
        Ok(Tagged {
            tags,
            probabilities: scores,
        })
    }

    /// Returns the input of some of a note's tokens.
    fn input(&self, note: NoteView<'_>, tokens: Range<usize>) -> Vec<f32> {
        let (piece, inputs) = (self.shape.piece, self.shape.inputs());
        let mut input = vec![0.0; tokens.len() * inputs];
        let (mut pieces, mut row) = (Pieces::default(), vec![0.0; piece]);
        // The first place of each word: about half of a note's tokens repeat an earlier one.
        let mut places: HashMap<_, _, BuildHasherDefault<WordHasher>> = HashMap::default();
        for (at, token) in tokens.enumerate() {
            let (word, kind) = (note.word(token), note.tokens.kind(token));
            let first = *places.entry((word, kind)).or_insert(at);
            if first < at {
                input.copy_within(first * inputs..(first + 1) * inputs, at * inputs);
                continue;
            }
            pieces.read(word, kind, self.shape.buckets);
            let to = &mut input[at * inputs..(at + 1) * inputs];
            let (sum, shape) = to.split_at_mut(piece);
            for &at in &pieces.rows {
                match &self.pieces {
                    Some(table) => table.row(at as usize, &mut row),
                    None => row.copy_from_slice(self.params.row(slot::PIECES, at as usize)),
                }
                sum.iter_mut().zip(&row).for_each(|(sum, x)| *sum += x);
            }
            let scale = scale(pieces.rows.len());
            sum.iter_mut().for_each(|x| *x *= scale);
            shape.copy_from_slice(self.params.row(slot::SHAPES, usize::from(pieces.shape)));
        }
        input
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
