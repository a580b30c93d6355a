//! Weights that are updated token by token: a dense row over the states for each feature, for learners that
//! see one stretch at a time.

use std::ops::Range;

use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use rand_chacha::ChaCha8Rng;

use crate::chain::{Chain, Layout};
use crate::model::MOST_WEIGHTS;
use crate::warm_start::Start;
use crate::{Data, States, kernel};

/// A row over the states for each feature.
pub(crate) struct Dense {
    pub(crate) width: usize,
    pub(crate) values: Vec<f32>,
}

impl Dense {
    pub(crate) fn new(data: &Data, states: &States) -> Self {
        Self {
            width: states.width(),
            values: vec![0.0; data.hashes.len() * states.width()],
        }
    }

    /// Loads old weights.
    pub(crate) fn begin(&mut self, start: &Start) {
        for (feature, old) in start.features() {
            for &(state, weight) in old {
                self.row(feature)[usize::from(state)] = weight;
            }
        }
    }

    /// Returns a feature's row.
    pub(crate) fn row(&mut self, feature: u32) -> &mut [f32] {
        &mut self.values[feature as usize * self.width..][..self.width]
    }

    /// Computes a token's scores.
    pub(crate) fn score(&self, data: &Data, token: usize, row: &mut [f32]) {
        row.fill(0.0);
        for feature in data.features_of(token) {
            kernel::add(row, &self.values[feature as usize * self.width..][..self.width]);
        }
    }

    /// Computes the scores of a stretch, one row per token.
    pub(crate) fn scores(&self, data: &Data, stretch: &Range<usize>, scores: &mut Vec<f32>) {
        scores.resize(stretch.len() * self.width, 0.0);
        for (token, row) in stretch.clone().zip(scores.chunks_exact_mut(self.width)) {
            self.score(data, token, row);
        }
    }

    /// Returns the weights that matter most, by size and number of tokens with the feature: twice as many as
    /// a model keeps, since the model makes the final choice.
    pub(crate) fn weights(&self, data: &Data) -> Vec<(u32, u8, f32)> {
        let matter = |feature: usize, weight: f32| weight.abs() * (data.counts[feature] as f32).sqrt();
        let rows = || self.values.chunks_exact(self.width).enumerate();
        let mut all: Vec<f32> = rows()
            .flat_map(|(f, row)| row.iter().filter(|w| **w != 0.0).map(move |&w| matter(f, w)))
            .collect();
        let most = 2 * MOST_WEIGHTS;
        let least = if all.len() > most {
            *all.select_nth_unstable_by(most, |a, b| b.total_cmp(a)).1
        } else {
            0.0
        };
        drop(all);
        rows()
            .flat_map(|(f, row)| {
                let kept = row
                    .iter()
                    .enumerate()
                    .filter(move |(_, w)| **w != 0.0 && matter(f, **w) >= least);
                kept.map(move |(state, &w)| (f as u32, state as u8, w))
            })
            .collect()
    }
}

/// Returns the order in which a pass visits `n` stretches, which depends only on the seed and the pass, so
/// that a resumed training repeats it.
pub(crate) fn order(n: usize, seed: u64, pass: u32) -> Vec<u32> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(u64::from(pass) + 1);
    let mut order: Vec<u32> = (0..n as u32).collect();
    order.shuffle(&mut random);
    order
}

/// The difference of two paths, as factors of states at tokens and of steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Change {
    /// Token, state, factor.
    pub(crate) tokens: Vec<(u32, u8, f32)>,
    /// Step in [`Layout`]'s order, factor.
    pub(crate) steps: Vec<(u32, f32)>,
}

impl Change {
    /// Returns gold minus the found path, over a stretch that begins at the token `start` after the state
    /// `before`.
    pub(crate) fn between(
        states: &States,
        start: usize,
        before: Option<u8>,
        gold: &[u8],
        found: &[u8],
    ) -> Self {
        let layout = Layout::of(states);
        let mut change = Self::default();
        let (mut gold_before, mut found_before) = (before, before);
        for (i, (&gold, &found)) in gold.iter().zip(found).enumerate() {
            if gold != found {
                change.tokens.push(((start + i) as u32, gold, 1.0));
                change.tokens.push(((start + i) as u32, found, -1.0));
            }
            if (gold_before, gold) != (found_before, found) {
                let mut step = |before: Option<u8>, next: u8, by: f32| {
                    if let Some(at) = layout.at(states, before.map(usize::from), next.into()) {
                        change.steps.push((at as u32, by));
                    }
                };
                step(gold_before, gold, 1.0);
                step(found_before, found, -1.0);
            }
            (gold_before, found_before) = (Some(gold), Some(found));
        }
        change
    }

    /// Returns `self` times `by` plus `other` times `other_by`, with equal places merged and zeros left out.
    pub(crate) fn mixed(&self, by: f32, other: &Self, other_by: f32) -> Self {
        let scaled = |change: &Self, by: f32| Self {
            tokens: change.tokens.iter().map(|&(t, s, c)| (t, s, c * by)).collect(),
            steps: change.steps.iter().map(|&(at, c)| (at, c * by)).collect(),
        };
        let (mut sum, other) = (scaled(self, by), scaled(other, other_by));
        sum.tokens.extend(other.tokens);
        sum.steps.extend(other.steps);
        sum.tokens.sort_by_key(|&(t, s, _)| (t, s));
        sum.steps.sort_by_key(|&(at, _)| at);
        sum.tokens.dedup_by(|next, kept| {
            let same = (next.0, next.1) == (kept.0, kept.1);
            if same {
                kept.2 += next.2;
            }
            same
        });
        sum.steps.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        sum.tokens.retain(|&(_, _, c)| c.abs() > 1e-7);
        sum.steps.retain(|&(_, c)| c.abs() > 1e-7);
        sum
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.tokens.is_empty() && self.steps.is_empty()
    }

    /// Returns the change's score, given the scores of the stretch that begins at `start`.
    pub(crate) fn score(&self, start: usize, scores: &[f32], chain: &Chain) -> f32 {
        let width = chain.states().width();
        let tokens = self
            .tokens
            .iter()
            .map(|&(t, state, by)| by * scores[(t as usize - start) * width + state as usize]);
        let steps = self.steps.iter().map(|&(at, by)| by * chain.steps[at as usize]);
        tokens.sum::<f32>() + steps.sum::<f32>()
    }

    /// Returns the squared length of the change as a vector of weights.
    pub(crate) fn squares(&self, data: &Data, memory: &mut Vec<(u64, f32)>) -> f32 {
        memory.clear();
        for &(token, state, by) in &self.tokens {
            let features = data.features_of(token as usize);
            memory.extend(features.map(|f| (u64::from(f) << 8 | u64::from(state), by)));
        }
        memory.extend(self.steps.iter().map(|&(at, by)| (u64::MAX - u64::from(at), by)));
        memory.sort_by_key(|&(key, _)| key);
        memory
            .chunk_by(|a, b| a.0 == b.0)
            .map(|group| group.iter().map(|&(_, by)| by).sum::<f32>().powi(2))
            .sum()
    }
}

/// Weights with their sum over time: the average over all updates is more stable than the last weights
/// (Collins 2002).
pub(crate) struct Averaged {
    pub(crate) now: Dense,
    /// Each update multiplied by its time.
    late: Dense,
    pub(crate) chain: Chain,
    late_steps: Vec<f32>,
}

impl Averaged {
    pub(crate) fn new(data: &Data, states: &States) -> Self {
        let steps = vec![0.0; Layout::of(states).len()];
        Self {
            now: Dense::new(data, states),
            late: Dense::new(data, states),
            chain: Chain::new(states, &steps),
            late_steps: steps,
        }
    }

    /// Begins with old weights, which are in the average from the start.
    pub(crate) fn begin(&mut self, start: &Start) {
        self.now.begin(start);
        self.chain = Chain::new(self.chain.states(), start.steps());
    }

    /// Adds a change times `by`; `when` is its time, 0 to 1: the later, the less it counts in the average.
    pub(crate) fn add(&mut self, data: &Data, change: &Change, by: f32, when: f32) {
        let width = self.now.width;
        for &(token, state, factor) in &change.tokens {
            let by = by * factor;
            for feature in data.features_of(token as usize) {
                let at = feature as usize * width + state as usize;
                self.now.values[at] += by;
                self.late.values[at] += by * when;
            }
        }
        for &(at, factor) in &change.steps {
            self.chain.nudge(at as usize, by * factor);
            self.late_steps[at as usize] += by * factor * when;
        }
    }

    /// Returns the average at the time `when`, as weights and steps.
    pub(crate) fn average(mut self, data: &Data, when: f32) -> (Vec<(u32, u8, f32)>, Vec<f32>) {
        for (now, late) in self.now.values.iter_mut().zip(&self.late.values) {
            *now -= late / when;
        }
        drop(self.late);
        let steps = self
            .chain
            .steps
            .iter()
            .zip(&self.late_steps)
            .map(|(now, late)| now - late / when)
            .map(|step| if step > crate::FORBIDDEN / 2.0 { step } else { 0.0 })
            .collect();
        (self.now.weights(data), steps)
    }

    pub(crate) fn save(&self, out: &mut crate::bytes::Writer) {
        out.sparse(&self.now.values);
        out.sparse(&self.late.values);
        out.sparse(&self.chain.steps);
        out.sparse(&self.late_steps);
    }

    pub(crate) fn restore(
        &mut self,
        bytes: &mut crate::bytes::Reader<'_>,
    ) -> Result<(), crate::bytes::Malformed> {
        let lengths = [
            self.now.values.len(),
            self.late.values.len(),
            self.chain.steps.len(),
        ];
        let (now, late, steps, late_steps) =
            (bytes.sparse()?, bytes.sparse()?, bytes.sparse()?, bytes.sparse()?);
        if [now.len(), late.len(), steps.len()] != lengths || late_steps.len() != steps.len() {
            return Err(crate::bytes::Malformed);
        }
        self.chain = Chain::new(self.chain.states(), &steps);
        (self.now.values, self.late.values, self.late_steps) = (now, late, late_steps);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::tests::invented;

    #[test]
    fn adding_a_change_adds_its_score_times_its_length() {
        let (columns, gold, states) = invented(5, 6, 2);
        let data = Data::new(&columns, &gold, &states, 1);
        let note = data.notes.iter().find(|note| note.len() > 6).unwrap().clone();
        let gold = &data.gold[note.clone()];
        let found = vec![0u8; gold.len()];
        let change = Change::between(&states, note.start, None, gold, &found);
        assert!(!change.is_empty());
        let mut weights = Averaged::new(&data, &states);
        weights.add(&data, &change, 0.5, 0.0);
        let mut scores = Vec::new();
        weights.now.scores(&data, &note, &mut scores);
        let squares = change.squares(&data, &mut Vec::new());
        let score = change.score(note.start, &scores, &weights.chain);
        assert!(
            (score - 0.5 * squares).abs() < 1e-3 * squares,
            "{score} {squares}"
        );
        assert!(change.mixed(1.0, &change, -1.0).is_empty());
    }

    #[test]
    fn the_average_weighs_a_correction_by_how_long_it_has_stood() {
        let (columns, gold, states) = invented(5, 2, 2);
        let data = Data::new(&columns, &gold, &states, 1);
        let mut weights = Averaged::new(&data, &states);
        let change = |state| Change {
            tokens: vec![(0, state, 1.0)],
            steps: Vec::new(),
        };
        weights.add(&data, &change(1), 1.0, 1.0);
        weights.add(&data, &change(2), 1.0, 3.0);
        let (found, _) = weights.average(&data, 4.0);
        for (_, state, weight) in found {
            assert_eq!(weight, if state == 1 { 0.75 } else { 0.25 });
        }
    }

    #[test]
    fn each_pass_has_its_own_order_and_the_same_every_time() {
        assert_eq!(order(50, 3, 1), order(50, 3, 1));
        assert_ne!(order(50, 3, 1), order(50, 3, 2));
        assert_ne!(order(50, 3, 1), order(50, 4, 1));
    }
}
