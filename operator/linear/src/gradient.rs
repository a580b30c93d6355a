//! The value and exact gradient of a training set's loss, by slot, for learners that see all notes at every
//! step.
//!
//! A step computes each slot's scores once, each note's loss with the derivatives at each of its tokens, and
//! each slot's derivative once, which its features share. Two halves run in parallel and are added up in a
//! fixed order, so that the number of threads does not change a bit.

use std::ops::Range;

use crate::chain::{Chain, Layout, Scratch};
use crate::data::{BySlot, Data};
use crate::optimise::Objective;
use crate::warm_start::Start;
use crate::{States, kernel};

/// The states of a note.
#[derive(Clone, Copy)]
pub(crate) struct Gold<'a> {
    /// The index of the note in the training set.
    pub(crate) note: usize,
    /// Each token's state.
    pub(crate) states: &'a [u8],
}

/// The loss of one note.
pub(crate) trait Loss: Sync {
    /// Whether steps between states have weights.
    const STEPS: bool;

    /// Returns the loss, given the scores of the note's tokens, one row per token. Writes its derivative by
    /// each score to `pull`, and adds that by each step to `steps`, in [`Layout`]'s order.
    fn note(
        &self,
        chain: &Chain,
        scores: &[f32],
        gold: Gold<'_>,
        pull: &mut [f32],
        steps: &mut [f64],
        scratch: &mut Scratch,
    ) -> f64;

    /// Returns tokens with further states, besides gold's, that count as seen there.
    fn likely(&self, _data: &Data) -> Vec<(usize, u8)> {
        Vec::new()
    }
}

/// The states for which a feature has weights: those seen with it in training, or all for frequent features.
#[derive(Clone, Debug)]
pub(crate) struct Pairs {
    /// The end of each feature's pairs.
    ends: Vec<u32>,
    /// Each pair's state.
    states: Vec<u8>,
}

impl Pairs {
    /// Returns the old weights in the order of these pairs, then steps: the centre of a prior.
    pub(crate) fn centre(&self, start: &Start) -> Vec<f64> {
        let mut centre = vec![0.0; self.len()];
        for (feature, old) in start.features() {
            let (first, states) = self.of(feature);
            for &(state, weight) in old {
                if let Some(at) = states.iter().position(|&known| known == state) {
                    centre[first + at] = f64::from(weight);
                }
            }
        }
        centre.extend(start.steps().iter().map(|&step| f64::from(step)));
        centre
    }

    /// Collects the pairs seen in training; features of at least `all_from` tokens get every state. The
    /// weights of a warm start count as seen.
    pub(crate) fn new(
        data: &Data,
        states: &States,
        all_from: u32,
        start: Option<&Start>,
        likely: &[(usize, u8)],
    ) -> Self {
        let mut seen = vec![[0u64; 4]; data.hashes.len()];
        let mut by_slot = vec![[0u64; 4]; data.slot_count()];
        let gold = data.gold.iter().copied().enumerate();
        for (token, gold) in gold.chain(likely.iter().copied()) {
            for &slot in data.slots_of(token) {
                by_slot[slot as usize][gold as usize / 64] |= 1 << (gold % 64);
            }
        }
        for (slot, states) in by_slot.iter().enumerate() {
            for &feature in data.of(slot) {
                for (to, from) in seen[feature as usize].iter_mut().zip(states) {
                    *to |= from;
                }
            }
        }
        for (feature, old) in start.into_iter().flat_map(Start::features) {
            for &(state, _) in old {
                seen[feature as usize][usize::from(state) / 64] |= 1 << (state % 64);
            }
        }
        let all: Vec<u8> = states.iter().map(|state| state as u8).collect();
        let mut pairs = Self {
            ends: Vec::with_capacity(seen.len()),
            states: Vec::new(),
        };
        for (seen, &count) in seen.iter().zip(&data.counts) {
            let kept = all
                .iter()
                .filter(|&&s| count >= all_from || seen[s as usize / 64] >> (s % 64) & 1 == 1);
            pairs.states.extend(kept);
            pairs.ends.push(pairs.states.len() as u32);
        }
        pairs
    }

    pub(crate) fn len(&self) -> usize {
        self.states.len()
    }

    fn range(&self, feature: u32) -> Range<usize> {
        let f = feature as usize;
        let start = if f == 0 { 0 } else { self.ends[f - 1] as usize };
        start..self.ends[f] as usize
    }

    /// Returns a feature's states and the index of the first one's weight.
    pub(crate) fn of(&self, feature: u32) -> (usize, &[u8]) {
        let range = self.range(feature);
        (range.start, &self.states[range])
    }
}

/// The regularised loss of a training set.
pub(crate) struct Whole<'d, L> {
    data: &'d Data,
    states: &'d States,
    pairs: &'d Pairs,
    loss: L,
    /// Half of this times the squared weights, relative to the centre, is added.
    l2: f64,
    /// The origin of the weights, if it is not 0.
    centre: Option<Vec<f64>>,
    by_slot: BySlot,
    slot_halves: [Range<usize>; 2],
    note_halves: [Range<usize>; 2],
    /// The scores of slots and the derivatives at tokens, one row each.
    scores: Vec<f32>,
    pull: Vec<f32>,
    gradients: [Vec<f64>; 2],
}

impl<'d, L: Loss> Whole<'d, L> {
    /// With `centre`, weights are differences from it.
    pub(crate) fn new(
        data: &'d Data,
        states: &'d States,
        pairs: &'d Pairs,
        loss: L,
        l2: f64,
        centre: Option<Vec<f64>>,
    ) -> Self {
        let slots = data.slot_count();
        let total: usize = (0..slots).map(|slot| data.of(slot).len() + 4).sum();
        let mut sum = 0;
        let middle = (0..slots)
            .position(|slot| {
                sum += data.of(slot).len() + 4;
                sum >= total / 2
            })
            .unwrap_or(0);
        let note = data
            .notes
            .partition_point(|note| note.end <= data.tokens() / 2)
            .min(data.notes.len());
        let width = states.width();
        let size = pairs.len() + Layout::of(states).len();
        Self {
            data,
            states,
            pairs,
            loss,
            l2,
            centre,
            by_slot: data.tokens_by_slot(),
            slot_halves: [0..middle, middle..slots],
            note_halves: [0..note, note..data.notes.len()],
            scores: vec![0.0; slots * width],
            pull: vec![0.0; data.tokens() * width],
            gradients: [vec![0.0; size], vec![0.0; size]],
        }
    }

    /// Returns the number of weights: pairs, then steps.
    pub(crate) fn size(&self) -> usize {
        self.gradients[0].len()
    }

    /// Returns the weights for `x`.
    pub(crate) fn weights(&self, x: &[f64]) -> Vec<f64> {
        match &self.centre {
            Some(centre) => centre.iter().zip(x).map(|(centre, x)| centre + x).collect(),
            None => x.to_vec(),
        }
    }

    fn score_slots(&mut self, weights: &[f32]) {
        let width = self.states.width();
        let (left, right) = self.scores.split_at_mut(self.slot_halves[0].end * width);
        let (data, pairs) = (self.data, self.pairs);
        let fill = |half: &Range<usize>, rows: &mut [f32]| {
            for (slot, row) in half.clone().zip(rows.chunks_exact_mut(width)) {
                row.fill(0.0);
                for &feature in data.of(slot) {
                    let (first, states) = pairs.of(feature);
                    for (&state, weight) in states.iter().zip(&weights[first..]) {
                        row[state as usize] += weight;
                    }
                }
            }
        };
        let [a, b] = &self.slot_halves;
        std::thread::scope(|scope| {
            scope.spawn(|| fill(b, right));
            fill(a, left);
        });
    }

    fn notes(&mut self, chain: &Chain) -> f64 {
        let width = self.states.width();
        let (data, loss, slot_scores) = (self.data, &self.loss, &self.scores);
        let [a, b] = self.note_halves.clone();
        let middle = data.notes.get(b.start).map_or(data.tokens(), |note| note.start);
        let (left, right) = self.pull.split_at_mut(middle * width);
        let run = |half: Range<usize>, pull: &mut [f32], steps: &mut [f64]| -> f64 {
            let mut scratch = Scratch::default();
            let mut scores = Vec::new();
            let (mut total, mut rest) = (0.0, pull);
            for which in half {
                let note = &data.notes[which];
                scores.clear();
                scores.resize(note.len() * width, 0.0);
                for (token, row) in note.clone().zip(scores.chunks_exact_mut(width)) {
                    for &slot in data.slots_of(token) {
                        kernel::add(row, &slot_scores[slot as usize * width..][..width]);
                    }
                }
                let (own, others) = rest.split_at_mut(scores.len());
                rest = others;
                let gold = Gold {
                    note: which,
                    states: &data.gold[note.clone()],
                };
                total += loss.note(chain, &scores, gold, own, steps, &mut scratch);
            }
            total
        };
        let pairs = self.pairs.len();
        let [first, second] = &mut self.gradients;
        let (first, second) = (&mut first[pairs..], &mut second[pairs..]);
        std::thread::scope(|scope| {
            let other = scope.spawn(|| run(b, right, second));
            let own = run(a, left, first);
            // A panic there becomes a panic here.
            own + other
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    fn hand_out(&mut self) {
        let width = self.states.width();
        let (data, pairs, by_slot, pull) = (self.data, self.pairs, &self.by_slot, &self.pull);
        let run = |half: &Range<usize>, gradient: &mut [f64]| {
            let mut row = vec![0.0f32; width];
            for slot in half.clone() {
                let features = data.of(slot);
                if features.is_empty() {
                    continue;
                }
                row.fill(0.0);
                for &token in by_slot.of(slot) {
                    kernel::add(&mut row, &pull[token as usize * width..][..width]);
                }
                for &feature in features {
                    let (first, states) = pairs.of(feature);
                    for (&state, g) in states.iter().zip(&mut gradient[first..]) {
                        *g += f64::from(row[state as usize]);
                    }
                }
            }
        };
        let [first, second] = &mut self.gradients;
        let [a, b] = &self.slot_halves;
        std::thread::scope(|scope| {
            scope.spawn(|| run(b, second));
            run(a, first);
        });
    }
}

impl<L: Loss> Objective for Whole<'_, L> {
    fn value(&mut self, x: &[f64], gradient: &mut [f64]) -> f64 {
        let weights: Vec<f32> = self.weights(x).iter().map(|&w| w as f32).collect();
        for half in &mut self.gradients {
            half.fill(0.0);
        }
        self.score_slots(&weights);
        let chain = Chain::new(self.states, &weights[self.pairs.len()..]);
        let loss = self.notes(&chain);
        self.hand_out();
        let [first, second] = &self.gradients;
        for (((g, a), b), w) in gradient.iter_mut().zip(first).zip(second).zip(x) {
            *g = a + b + self.l2 * w;
        }
        if !L::STEPS {
            gradient[self.pairs.len()..].fill(0.0);
        }
        loss + 0.5 * self.l2 * kernel::dot(x, x)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use rand::{Rng as _, SeedableRng as _};

    use super::*;
    use crate::data::tests::invented;

    /// Compares the gradient of a loss with differences of its value.
    pub(crate) fn check_gradient<L: Loss>(loss: L, all_from: u32) {
        let (columns, gold, states) = invented(11, 6, 2);
        let data = Data::new(&columns, &gold, &states, 1);
        let pairs = Pairs::new(&data, &states, all_from, None, &[]);
        let mut whole = Whole::new(&data, &states, &pairs, loss, 0.3, None);
        let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(5);
        let layout = Layout::of(&states);
        let mut x: Vec<f64> = (0..whole.size()).map(|_| random.random::<f64>() - 0.5).collect();
        // Forbidden steps, and steps that a loss ignores, stay at 0.
        let mut known = vec![false; layout.len()];
        for before in std::iter::once(None).chain(states.iter().map(Some)) {
            for next in states.iter() {
                if let Some(at) = layout.at(&states, before, next) {
                    known[at] = L::STEPS;
                }
            }
        }
        for (w, known) in x[pairs.len()..].iter_mut().zip(&known) {
            *w = if *known { *w } else { 0.0 };
        }
        let mut gradient = vec![0.0; x.len()];
        whole.value(&x, &mut gradient);
        let mut other = vec![0.0; x.len()];
        let mut checked = 0;
        for i in 0..x.len() {
            if i >= pairs.len() && !known[i - pairs.len()] {
                assert_eq!(gradient[i], 0.0, "step {}", i - pairs.len());
                continue;
            }
            if i < pairs.len() && i % 7 > 0 {
                continue;
            }
            let step = 0.02;
            let at = x[i];
            x[i] = at + step;
            let above = whole.value(&x, &mut other);
            x[i] = at - step;
            let below = whole.value(&x, &mut other);
            x[i] = at;
            let difference = (above - below) / (2.0 * step);
            assert!(
                (difference - gradient[i]).abs() < 0.01 * (1.0 + difference.abs()),
                "{i}: {difference} {}",
                gradient[i]
            );
            checked += 1;
        }
        assert!(checked > 40);
    }
}
