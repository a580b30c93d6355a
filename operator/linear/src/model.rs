//! A trained member's weights, compact on disk and fast in memory.
//!
//! A feature is identified by 40 bits of its hash; it has a few weights, one per state, in 16-bit steps of
//! one size for the whole model. Sums of such weights are integers: they saturate, but the order of summation
//! does not change them.

mod format;
mod joined;
mod lookup;
mod packed;
#[cfg(test)]
mod tests;

pub use format::ModelError;
pub(crate) use lookup::{Lookup, Place};

use packed::Packed;

use crate::chain::Chain;
use crate::{Data, States, kernel};

/// The most weights of a model: about 3 bytes each, and 5 per feature.
pub const MOST_WEIGHTS: usize = 600_000;

/// The most weights of one feature; the count shares a word with their index.
const MOST_OF_ONE: usize = 255;

/// How a model decodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The best path by the sum of its scores and steps.
    Chain,
    /// The most likely path, with each state's probability given the previous one.
    Local,
    /// From left to right, each state chosen by its score and the previous choices.
    Greedy,
}

/// The result of a learner: weights of features by their index in the training data.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// How the model decodes.
    pub form: Form,
    /// Feature, state and weight, in the order of the features.
    pub weights: Vec<(u32, u8, f32)>,
    /// Weights of steps, in [`Layout`](crate::Layout)'s order.
    pub steps: Vec<f32>,
    /// For [`Form::Greedy`], weights of the choice two tokens before, and of the last choice for the same
    /// word: a row of [`States::width`] for each state.
    pub history: Vec<f32>,
}

/// A weight before quantisation: of a feature with this salted hash and this number of tokens.
pub(crate) struct Weight {
    pub(crate) hash: u64,
    pub(crate) state: u8,
    pub(crate) weight: f32,
    pub(crate) count: u32,
}

/// Weights of features and steps.
#[derive(Clone, Debug)]
pub struct Model {
    states: States,
    form: Form,
    /// The size of a step of the 16-bit weights.
    scale: f32,
    /// The factor that turns scores into log-probabilities.
    warmth: f32,
    steps: Vec<f32>,
    history: Vec<f32>,
    packed: Packed,
    lookup: Lookup,
}

impl Model {
    /// Quantises and prunes a learner's result: weights that matter least, by size and number of tokens with
    /// the feature, are removed first.
    pub fn new(states: &States, fitted: Fitted, data: &Data) -> Self {
        let reach = reach(states, &fitted.weights, data);
        let hashed = |&(feature, state, weight): &(u32, u8, f32)| Weight {
            hash: data.hashes[feature as usize],
            state,
            weight,
            count: data.counts[feature as usize],
        };
        let weights = fitted.weights.iter().map(hashed).collect();
        Self::of_weights(states, fitted.form, weights, reach, fitted.steps, fitted.history)
    }

    /// Builds a model from weights by hash; `reach` is the estimated largest score of a token.
    pub(crate) fn of_weights(
        states: &States,
        form: Form,
        mut weights: Vec<Weight>,
        reach: f32,
        steps: Vec<f32>,
        history: Vec<f32>,
    ) -> Self {
        weights.retain(|weight| weight.weight != 0.0);
        if weights.len() > MOST_WEIGHTS {
            joined::keep_most(&mut weights, MOST_WEIGHTS);
        }
        // There is room for tokens that score twice as much as any so far.
        let scale = reach * 2.0 / f32::from(i16::MAX);
        Self::packed(states, form, weights, scale, steps, history)
    }

    /// Builds a model from weights in steps of `scale`.
    fn packed(
        states: &States,
        form: Form,
        mut weights: Vec<Weight>,
        scale: f32,
        steps: Vec<f32>,
        history: Vec<f32>,
    ) -> Self {
        weights.sort_by_key(|weight| (weight.hash, weight.state));
        let (mut hashes, mut counts, mut entries) = (Vec::new(), Vec::new(), Vec::new());
        let mut last = None;
        for group in weights.chunk_by(|a, b| a.hash == b.hash) {
            let hash = group[0].hash >> 24;
            let first = entries.len();
            entries.extend(
                group
                    .iter()
                    .map(|weight| (weight.state, (weight.weight / scale).round() as i16))
                    .filter(|&(_, weight)| weight != 0)
                    .take(MOST_OF_ONE),
            );
            // Two hashes have equal upper bits: the second feature is dropped.
            if entries.len() == first || last == Some(hash) {
                entries.truncate(first);
                continue;
            }
            last = Some(hash);
            hashes.push(hash);
            counts.push((entries.len() - first) as u8);
        }
        let packed = Packed::new(&hashes, &counts, &entries);
        Self::assemble(states.clone(), form, scale, 1.0, steps, history, packed)
    }

    /// The one place where all parts meet, from training and from a file.
    fn assemble(
        states: States,
        form: Form,
        scale: f32,
        warmth: f32,
        steps: Vec<f32>,
        history: Vec<f32>,
        packed: Packed,
    ) -> Self {
        Self {
            lookup: Lookup::new(states.width(), &packed),
            states,
            form,
            scale,
            warmth,
            steps,
            history,
            packed,
        }
    }

    /// Returns its states.
    pub const fn states(&self) -> &States {
        &self.states
    }

    /// Returns how it decodes.
    pub const fn form(&self) -> Form {
        self.form
    }

    /// Returns the size of a step of the 16-bit weights, by which integer scores are multiplied.
    pub const fn scale(&self) -> f32 {
        self.scale
    }

    /// Returns the factor that turns scores into log-probabilities.
    pub const fn warmth(&self) -> f32 {
        self.warmth
    }

    /// Sets [`Model::warmth`].
    pub(crate) fn set_warmth(&mut self, warmth: f32) {
        self.warmth = warmth;
    }

    /// Returns the chain for decoding, with its steps multiplied by `by`.
    pub fn chain(&self, by: f32) -> Chain {
        let steps: Vec<f32> = self.steps.iter().map(|step| step * by).collect();
        let chain = Chain::new(&self.states, &steps);
        if self.form == Form::Local {
            chain.local()
        } else {
            chain
        }
    }

    /// Returns the weights of steps, in [`Layout`](crate::Layout)'s order.
    pub(crate) fn steps(&self) -> &[f32] {
        &self.steps
    }

    /// Returns the weights of the previous choices, for [`Form::Greedy`].
    pub(crate) fn history(&self) -> &[f32] {
        &self.history
    }

    /// Returns the number of features and of their weights.
    pub const fn size(&self) -> (usize, usize) {
        self.packed.size()
    }

    /// Returns the table for fast look-ups of weights.
    pub(crate) const fn lookup(&self) -> &Lookup {
        &self.lookup
    }

    /// Returns the weights of a feature, by its salted hash.
    pub fn of(&self, hash: u64) -> Vec<(u8, i16)> {
        let mut row = [0; 256];
        self.lookup.sum(&[hash], &mut row[..self.states.width()]);
        let weights = row.iter().zip(0..=u8::MAX).filter(|&(&weight, _)| weight != 0);
        weights.map(|(&weight, state)| (state, weight)).collect()
    }
}

/// Returns the largest absolute score of a training token. Weights are in the order of their features.
fn reach(states: &States, weights: &[(u32, u8, f32)], data: &Data) -> f32 {
    debug_assert!(weights.is_sorted_by_key(|weight| weight.0));
    let mut starts = vec![0usize; data.hashes.len() + 1];
    for &(feature, _, _) in weights {
        starts[feature as usize + 1] += 1;
    }
    for i in 1..starts.len() {
        starts[i] += starts[i - 1];
    }
    let width = states.width();
    let mut rows = vec![0.0f32; data.slot_count() * width];
    for (slot, row) in rows.chunks_exact_mut(width).enumerate() {
        for &feature in data.of(slot) {
            for &(_, state, weight) in &weights[starts[feature as usize]..starts[feature as usize + 1]] {
                row[state as usize] += weight;
            }
        }
    }
    let mut most = 1e-3f32;
    let mut row = vec![0.0f32; width];
    for token in 0..data.tokens() {
        row.fill(0.0);
        for &slot in data.slots_of(token) {
            kernel::add(&mut row, &rows[slot as usize * width..][..width]);
        }
        most = row.iter().fold(most, |most, score| most.max(score.abs()));
    }
    most
}
