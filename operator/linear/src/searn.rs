//! `searn`: search-based structured prediction (Daumé et al. 2009): a classifier that chooses each token's
//! state given its previous choices, trained on the states to which its own choices lead.
//!
//! As in Vowpal Wabbit the policy is learned online: a pass rolls in with a mixture of gold and the
//! classifier, and gold's share shrinks from pass to pass until only the classifier chooses. The cost of a
//! choice is exact: one for a wrong token, and one for a span that can no longer be found.

use lethe_learn::Scheme;
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::bytes::Malformed;
use crate::chain::Layout;
use crate::dense::order;
use crate::model::{Fitted, Form};
use crate::ogd::{Adaptive, descend};
use crate::train::{Run, TrainError};
use crate::warm_start::Start;
use crate::{Data, States, kernel};

/// Settings of `searn`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// How spans are encoded as tags.
    pub scheme: Scheme,
    /// Features of fewer tokens are left out.
    pub cut_off: u32,
    /// The learning rate of a weight's first update (Kim 2020, table 3).
    pub rate: f64,
    /// The number of passes.
    pub epochs: u32,
    /// The share of gold's choices that a pass leaves to the classifier (Daumé's beta).
    pub beta: f64,
    /// A token is not learned from again if its gold state has this probability.
    pub enough: f64,
    /// Whether a choice ignores the last choice for the same word (type of the first view): for a first view
    /// that does not show words.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub forgets_words: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            scheme: Scheme::Bio,
            cut_off: 2,
            rate: 0.05,
            epochs: 20,
            beta: 0.3,
            enough: 0.01,
            forgets_words: false,
        }
    }
}

/// Passes between two saved states.
const SAVED_EVERY: u32 = 2;

/// A row over the states for each of several histories, with the squares of its updates.
struct Rows {
    width: usize,
    weights: Vec<f32>,
    squares: Vec<f32>,
}

impl Rows {
    fn new(rows: usize, width: usize) -> Self {
        Self {
            width,
            weights: vec![0.0; rows * width],
            squares: vec![0.0; rows * width],
        }
    }

    fn row(&self, at: usize) -> &[f32] {
        &self.weights[at * self.width..][..self.width]
    }

    fn correct(&mut self, at: usize, pull: &[f32], rate: f32) {
        let range = at * self.width..(at + 1) * self.width;
        descend(
            &mut self.weights[range.clone()],
            &mut self.squares[range],
            pull,
            rate,
        );
    }
}

/// The classifier: features, and rows for the previous state (or the note's start), the state two before, and
/// the same word's last.
struct Policy {
    features: Adaptive,
    after: Rows,
    second: Rows,
    same: Rows,
}

impl Policy {
    /// Loads old weights.
    fn begin(&mut self, states: &States, start: &Start) {
        self.features.weights.begin(start);
        let (layout, width) = (Layout::of(states), states.width());
        for before in std::iter::once(None).chain(states.iter().map(Some)) {
            for next in states.iter() {
                if let Some(at) = layout.at(states, before, next) {
                    self.after.weights[before.unwrap_or(width) * width + next] = start.steps()[at];
                }
            }
        }
        let (second, same) = start.history().split_at(start.history().len() / 2);
        self.second.weights.copy_from_slice(second);
        self.same.weights.copy_from_slice(same);
    }
}

impl Config {
    pub(crate) fn fit(&self, data: &Data, states: &States, run: &mut Run<'_>) -> Result<Fitted, TrainError> {
        let width = states.width();
        let mut policy = Policy {
            features: Adaptive::new(data, states, self.rate as f32),
            after: Rows::new(width + 1, width),
            second: Rows::new(width, width),
            same: Rows::new(width, width),
        };
        if let Some(start) = &run.start {
            policy.begin(states, start);
        }
        let mut pass = 0;
        run.resume(|bytes| {
            pass = bytes.u32()?;
            policy.features.restore(bytes)?;
            for rows in [&mut policy.after, &mut policy.second, &mut policy.same] {
                let (weights, squares) = (bytes.sparse()?, bytes.sparse()?);
                if weights.len() != rows.weights.len() || squares.len() != weights.len() {
                    return Err(Malformed);
                }
                (rows.weights, rows.squares) = (weights, squares);
            }
            Ok(())
        })?;
        let may = steps_of(states);
        let mut ended = false;
        while pass < self.epochs && !ended {
            let by_gold = (1.0 - self.beta as f32).powi(pass as i32);
            let mut random = ChaCha8Rng::seed_from_u64(run.seed);
            random.set_stream(1 << 32 | u64::from(pass));
            let mut loss = 0.0f64;
            for (i, &note) in order(data.notes.len(), run.seed, pass).iter().enumerate() {
                run.step(i, data.notes.len());
                let note = data.notes[note as usize].clone();
                loss += self.walk(data, states, &may, note, &mut policy, by_gold, &mut random);
            }
            pass += 1;
            ended = run.epoch(pass, self.epochs, loss).is_break();
            if !ended && pass % SAVED_EVERY == 0 {
                run.save(|out| {
                    out.u32(pass);
                    policy.features.save(out);
                    for rows in [&policy.after, &policy.second, &policy.same] {
                        out.sparse(&rows.weights);
                        out.sparse(&rows.squares);
                    }
                })?;
            }
        }
        let layout = Layout::of(states);
        let mut steps = vec![0.0; layout.len()];
        for before in std::iter::once(None).chain(states.iter().map(Some)) {
            for next in states.iter() {
                if let Some(at) = layout.at(states, before, next) {
                    steps[at] = policy.after.row(before.unwrap_or(width))[next];
                }
            }
        }
        let mut history = policy.second.weights;
        history.extend(policy.same.weights);
        Ok(Fitted {
            form: Form::Greedy,
            weights: policy.features.weights.weights(data),
            steps,
            history,
        })
    }

    /// Walks through a note, learning at every token, and returns the loss on the way.
    #[allow(clippy::too_many_arguments)] // A walk needs the set, the policy and chance.
    fn walk(
        &self,
        data: &Data,
        states: &States,
        may: &[bool],
        note: std::ops::Range<usize>,
        policy: &mut Policy,
        by_gold: f32,
        random: &mut ChaCha8Rng,
    ) -> f64 {
        let width = states.width();
        let mut last_of = std::collections::HashMap::new();
        let (mut before, mut second): (Option<u8>, Option<u8>) = (None, None);
        let mut loss = 0.0f64;
        let mut sum = vec![0.0f32; width];
        let mut pull = vec![0.0f32; width];
        for token in note.clone() {
            let gold = data.gold[token];
            let next = (token + 1 < note.end).then(|| data.gold[token + 1]);
            let row = before.map_or(width, usize::from);
            let allowed = &may[row * width..][..width];
            // The slot in the first view is the word's own.
            let word = data.slots_of(token).first().copied();
            let word = word.filter(|_| !self.forgets_words);
            let same: Option<u8> = word.and_then(|word| last_of.get(&word).copied());
            policy.features.weights.score(data, token, &mut sum);
            kernel::add(&mut sum, policy.after.row(row));
            if let Some(second) = second {
                kernel::add(&mut sum, policy.second.row(second as usize));
            }
            if let Some(same) = same {
                kernel::add(&mut sum, policy.same.row(same as usize));
            }
            let mut own = 0;
            for (state, score) in sum.iter_mut().enumerate() {
                *score = if allowed[state] { *score } else { f32::MIN };
            }
            for state in 0..width {
                if sum[state] > sum[own] {
                    own = state;
                }
            }
            let cost = |state: usize| cost(states, state, gold, next);
            let best = (0..width)
                .filter(|&state| allowed[state])
                .min_by_key(|&state| cost(state))
                .unwrap_or(0);
            // A weighted logistic loss of the cheapest choice against the rest: the weight is the cost of a
            // wrong choice.
            let top = sum[own];
            kernel::exp_row(&mut pull, &sum, top);
            for (p, &allowed) in pull.iter_mut().zip(allowed) {
                *p = if allowed { *p } else { 0.0 };
            }
            let total = kernel::sum(&pull);
            pull.iter_mut().for_each(|p| *p /= total);
            loss -= f64::from(pull[best].max(1e-9)).ln();
            if pull[best] < 1.0 - self.enough as f32 {
                pull[best] -= 1.0;
                let least = cost(best);
                for (state, p) in pull.iter_mut().enumerate() {
                    if state != best && allowed[state] {
                        *p *= (cost(state) - least) as f32;
                    }
                }
                // The cheapest choice gains the sum of the other derivatives.
                pull[best] = 0.0;
                pull[best] = -pull.iter().sum::<f32>();
                policy.features.correct(data, token, &pull);
                policy.after.correct(row, &pull, self.rate as f32);
                if let Some(second) = second {
                    policy.second.correct(second as usize, &pull, self.rate as f32);
                }
                if let Some(same) = same {
                    policy.same.correct(same as usize, &pull, self.rate as f32);
                }
            }
            let taken = if random.random::<f32>() < by_gold {
                best
            } else {
                own
            } as u8;
            if let Some(word) = word {
                last_of.insert(word, taken);
            }
            (second, before) = (before, Some(taken));
        }
        loss
    }
}

/// Returns whether each state may follow each (one row per state, then one for the note's start).
fn steps_of(states: &States) -> Vec<bool> {
    let width = states.width();
    (0..=width)
        .flat_map(|before| {
            let before = (before < width).then_some(before);
            let sound = before.is_none_or(|before| states.is_state(before));
            (0..width).map(move |next| (before, next, sound))
        })
        .map(|(before, next, sound)| sound && states.is_state(next) && states.may_follow(before, next))
        .collect()
}

/// Returns the cost of a choice if all later ones are optimal, in wrong tokens: this one, and the next if
/// gold continues a span that the choice does not leave open.
fn cost(states: &States, state: usize, gold: u8, next: Option<u8>) -> u32 {
    let wrong = u32::from(state != gold as usize);
    let lost = next.is_some_and(|next| !states.may_follow(Some(state), next as usize));
    wrong + u32::from(lost)
}

#[cfg(test)]
mod tests {
    use lethe_learn::TagSet;

    use super::*;

    #[test]
    fn a_choice_costs_its_own_error_and_the_span_that_it_closes() {
        let tags = TagSet::new(Scheme::Bio, vec!["A".to_owned(), "B".to_owned()]);
        let states = States::new(tags).unwrap();
        let [o, begin, inside, other] = [0, 1, 2, 3].map(|tag| states.of(tag));
        assert_eq!(cost(&states, begin.into(), begin, Some(inside)), 0);
        assert_eq!(cost(&states, o.into(), begin, Some(inside)), 2);
        assert_eq!(cost(&states, other.into(), begin, Some(inside)), 2);
        assert_eq!(cost(&states, begin.into(), inside, Some(inside)), 1);
        assert_eq!(cost(&states, o.into(), inside, Some(o)), 1);
        assert_eq!(cost(&states, o.into(), o, None), 0);
    }
}
