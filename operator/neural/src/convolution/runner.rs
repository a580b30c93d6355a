//! Runs a trained network: one window of a note at a time.

use std::ops::Range;

use candle_core::{Device, Tensor};
use lethe_core::NoteView;
use lethe_kernel::{Isa, exp_in_place};
use lethe_learn::TagSet;

use super::layers::Layers;
use super::path::Paths;
use super::settings::{ConvolutionShape, slot};
use super::words::{Table, Words};
use crate::alone::alone;
use crate::halves::Halves;
use crate::model::Params;

/// The tokens of a window, besides those around it that its tags depend on.
const WINDOW: usize = 2048;

/// A network for running.
pub(super) struct Runner {
    shape: ConvolutionShape,
    tags: TagSet,
    table: Table,
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
            table: Table::new(shape, params, pieces),
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

    /// Tags one of a note's windows. The result depends on the note alone: `words` only saves work for words of
    /// earlier notes.
    ///
    /// # Errors
    /// If candle fails, or a score is not finite.
    pub(super) fn tag<'n>(
        &self,
        note: NoteView<'n>,
        window: Range<usize>,
        words: &mut Words<'n>,
    ) -> candle_core::Result<Tagged> {
        let reach = self.shape.reach();
        let read = window.start.saturating_sub(reach)..note.tokens.len().min(window.end + reach);
        let input = words.input(&self.table, note, read.clone());
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
