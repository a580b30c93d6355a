//! Merges old weights with those that were fitted to new notes into one model.

use super::packed::FeatureWeights;
use super::{Fitted, MOST_WEIGHTS, Model, Weight, reach};
use crate::warm_start::places;
use crate::{Data, States};

impl Model {
    /// Returns its features by the upper 40 bits of their hashes, in ascending order, each with its weights.
    pub(crate) fn features(&self) -> impl Iterator<Item = (u64, FeatureWeights<'_>)> {
        self.packed.features()
    }

    /// Returns whether it has weights of a feature, by its salted hash.
    pub(crate) fn knows(&self, hash: u64) -> bool {
        self.packed.knows(hash >> 24)
    }

    /// Returns the model that continues `old`: the features of `data` have the fitted weights, all others
    /// keep theirs. Kept weights do not change a bit, unless scores have outgrown the size of the old steps;
    /// then they are rounded to larger ones.
    pub(crate) fn joined(old: &Self, states: &States, fitted: Fitted, data: &Data) -> Self {
        let needed = reach(states, &fitted.weights, data) * 5.0 / 4.0 / f32::from(i16::MAX);
        // Room of a quarter above the score of any token is less than a first training leaves, and suffices.
        let scale = if needed <= old.scale {
            old.scale
        } else {
            needed * 8.0 / 5.0
        };
        let places = places(&old.states, states);
        let mut weights: Vec<Weight> = fitted
            .weights
            .iter()
            .filter(|(_, _, weight)| *weight != 0.0)
            .map(|&(feature, state, weight)| Weight {
                hash: data.hashes[feature as usize] & !0xff_ffff,
                state,
                weight,
                count: data.counts[feature as usize],
            })
            .collect();
        if weights.len() > MOST_WEIGHTS {
            keep_most(&mut weights, MOST_WEIGHTS);
        }
        let mut new = data.hashes.iter().map(|hash| hash >> 24).peekable();
        for (hash, own) in old.features() {
            while new.peek().is_some_and(|&known| known < hash) {
                new.next();
            }
            if new.peek() == Some(&hash) {
                continue;
            }
            let moved = own.iter().filter_map(|(state, weight)| {
                Some(Weight {
                    hash: hash << 24,
                    state: places[usize::from(state)]?,
                    weight: f32::from(weight) * old.scale,
                    count: 1,
                })
            });
            weights.extend(moved);
        }
        let mut model = Self::packed(states, fitted.form, weights, scale, fitted.steps, fitted.history);
        model.warmth = old.warmth;
        model
    }
}

/// Keeps the weights that matter most, by size and number of tokens with the feature.
pub(super) fn keep_most(weights: &mut Vec<Weight>, most: usize) {
    let matter = |weight: &Weight| weight.weight.abs() * (weight.count as f32).sqrt();
    let place = |weight: &Weight| (weight.hash, weight.state);
    weights.sort_by(|a, b| matter(b).total_cmp(&matter(a)).then(place(a).cmp(&place(b))));
    weights.truncate(most);
}
