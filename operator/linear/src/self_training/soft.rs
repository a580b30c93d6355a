//! The loss of a CRF on soft labels: the distance of its paths from those that the labels expect.
//!
//! Soft labels are a distribution over paths, given by its expectations: each token's states, and how often
//! each step is taken. The loss of a note is the divergence of the field from it, `log Z - E[score] - H`: the
//! logarithm of the sum over all paths, minus the score that the labels expect, minus the labels' own
//! entropy, which is constant and shows how close a search is. Labels with a single path give the loss of
//! gold exactly.

use crate::chain::{Chain, Layout, Scratch};
use crate::crf::Likelihood;
use crate::gradient::{Gold, Loss};
use crate::{Data, States};

/// The least probability: a rounded 0 does not rule out a path.
const LEAST: f32 = 1e-9;

/// A state with at least this probability at a token counts as seen with the token's features, and gets
/// weights there.
const SEEN: f32 = 0.05;

/// The expectations of a note's soft labels.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    /// The probability of each state, one row of [`States::width`] per token.
    pub(crate) marginals: Vec<f32>,
    /// How often each step is taken, by its index in [`Layout`]; steps that are not taken are left out.
    steps: Vec<(u32, f64)>,
    entropy: f64,
}

impl Expected {
    /// Returns the expectations of a field on a note with these scores; `None` if single precision loses
    /// every path.
    pub(crate) fn of(chain: &Chain, scores: &[f32], scratch: &mut Scratch) -> Option<Self> {
        let (states, width) = (chain.states(), chain.states().width());
        let (marginals, log_sum) = chain.marginals(scores, scratch);
        let marginals = marginals[..scores.len()].to_vec();
        let mut all = vec![0.0; Layout::of(states).len()];
        chain.add_expected_steps(scores.len() / width, scratch, &mut all);
        let steps: Vec<(u32, f64)> = (0u32..).zip(all).filter(|&(_, often)| often != 0.0).collect();
        let mut expected = Self {
            marginals,
            steps,
            entropy: 0.0,
        };
        expected.entropy = log_sum - expected.score(chain, scores);
        let sound = expected.entropy.is_finite() && expected.marginals.iter().all(|p| p.is_finite());
        sound.then_some(expected)
    }

    /// Returns the expectations of given tag probabilities, [`TagSet::len`](lethe_learn::TagSet::len) per
    /// token: the product of the tokens' shares over the paths that the scheme allows. `free` is a chain
    /// whose steps all have the same weight.
    pub(crate) fn of_shares(free: &Chain, shares: &[f32], scratch: &mut Scratch) -> Option<Self> {
        let states = free.states();
        let (width, tags) = (states.width(), states.tags().len());
        let mut scores = vec![0.0; shares.len() / tags * width];
        for (row, token) in scores.chunks_exact_mut(width).zip(shares.chunks_exact(tags)) {
            for (&p, tag) in token.iter().zip(0..) {
                row[usize::from(states.of(tag))] = p.max(LEAST).ln();
            }
        }
        Self::of(free, &scores, scratch)
    }

    /// Returns the expected score under these steps.
    fn score(&self, chain: &Chain, scores: &[f32]) -> f64 {
        let mut sum = 0.0;
        for (p, score) in self.marginals.iter().zip(scores) {
            sum += f64::from(*p) * f64::from(*score);
        }
        for &(step, often) in &self.steps {
            sum += often * f64::from(chain.steps[step as usize]);
        }
        sum
    }

    /// Returns the most likely tags, token by token.
    pub(crate) fn tags(&self, states: &States) -> Vec<u16> {
        let width = states.width();
        let one = |row: &[f32]| {
            let best = states
                .iter()
                .max_by(|&a, &b| row[a].total_cmp(&row[b]).then(b.cmp(&a)));
            best.and_then(|state| states.tag(state)).unwrap_or(0)
        };
        self.marginals.chunks_exact(width).map(one).collect()
    }
}

/// The likelihood of notes with gold, and the divergence from the soft labels of the notes after them.
pub(crate) struct SoftLikelihood {
    /// The number of notes with gold.
    pub(crate) gold: usize,
    /// The expectations for the others, in their order.
    pub(crate) soft: Vec<Expected>,
    /// The weight of a note with soft labels, relative to one with gold.
    pub(crate) weight: f64,
}

impl Loss for SoftLikelihood {
    const STEPS: bool = true;

    fn note(
        &self,
        chain: &Chain,
        scores: &[f32],
        gold: Gold<'_>,
        pull: &mut [f32],
        steps: &mut [f64],
        scratch: &mut Scratch,
    ) -> f64 {
        let Some(soft) = gold.note.checked_sub(self.gold) else {
            return Likelihood.note(chain, scores, gold, pull, steps, scratch);
        };
        let expected = &self.soft[soft];
        let (marginals, log_sum) = chain.marginals(scores, scratch);
        let weight = self.weight as f32;
        for ((pull, p), q) in pull.iter_mut().zip(marginals).zip(&expected.marginals) {
            *pull = weight * (p - q);
        }
        let mut own = vec![0.0; steps.len()];
        chain.add_expected_steps(gold.states.len(), scratch, &mut own);
        for &(step, often) in &expected.steps {
            own[step as usize] -= often;
        }
        steps
            .iter_mut()
            .zip(&own)
            .for_each(|(to, own)| *to += self.weight * own);
        self.weight * (log_sum - expected.score(chain, scores) - expected.entropy)
    }

    fn likely(&self, data: &Data) -> Vec<(usize, u8)> {
        let mut likely = Vec::new();
        for (note, expected) in data.notes[self.gold..].iter().zip(&self.soft) {
            let width = expected.marginals.len() / note.len();
            for (token, row) in note.clone().zip(expected.marginals.chunks_exact(width)) {
                let states = row.iter().enumerate().filter(|(_, p)| **p >= SEEN);
                likely.extend(states.map(|(state, _)| (token, state as u8)));
            }
        }
        likely
    }
}

#[cfg(test)]
mod tests {
    use rand::{Rng as _, SeedableRng as _};

    use super::*;
    use crate::data::tests::invented;
    use crate::gradient::Pairs;
    use crate::gradient::tests::check_gradient;

    fn chain(states: &States, random: &mut rand_chacha::ChaCha8Rng) -> Chain {
        let steps: Vec<f32> = (0..Layout::of(states).len())
            .map(|_| random.random::<f32>())
            .collect();
        Chain::new(states, &steps)
    }

    fn scores(tokens: usize, states: &States, random: &mut rand_chacha::ChaCha8Rng) -> Vec<f32> {
        let mut scores = vec![0.0; tokens * states.width()];
        for row in scores.chunks_exact_mut(states.width()) {
            states
                .iter()
                .for_each(|state| row[state] = 3.0 * random.random::<f32>());
        }
        scores
    }

    #[test]
    fn the_gradient_equals_differences_of_the_objective() {
        // The notes of `check_gradient`: two have gold.
        let (columns, _, states) = invented(11, 6, 2);
        let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(2);
        let teacher = chain(&states, &mut random);
        let soft = columns.notes[2..].iter().map(|note| {
            let scores = scores(note.len(), &states, &mut random);
            Expected::of(&teacher, &scores, &mut Scratch::default()).unwrap()
        });
        let loss = SoftLikelihood {
            gold: 2,
            soft: soft.collect(),
            weight: 0.7,
        };
        check_gradient(loss, u32::MAX);
    }

    #[test]
    fn labels_that_know_one_path_give_the_loss_and_the_gradient_of_gold() {
        let (columns, gold, states) = invented(5, 3, 2);
        let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(3);
        let field = chain(&states, &mut random);
        let layout = Layout::of(&states);
        let free = Chain::new(&states, &vec![0.0; layout.len()]);
        for (note, tags) in columns.notes.iter().zip(&gold) {
            let mut shares = vec![0.0; note.len() * states.tags().len()];
            for (token, &tag) in shares.chunks_exact_mut(states.tags().len()).zip(tags) {
                token[usize::from(tag)] = 1.0;
            }
            let mut scratch = Scratch::default();
            let expected = Expected::of_shares(&free, &shares, &mut scratch).unwrap();
            assert_eq!(&expected.tags(&states), tags);
            let loss = SoftLikelihood {
                gold: 0,
                soft: vec![expected],
                weight: 1.0,
            };
            let scores = scores(note.len(), &states, &mut random);
            let path: Vec<u8> = tags.iter().map(|&tag| states.of(tag)).collect();
            let gold = Gold {
                note: 0,
                states: &path,
            };
            let run = |loss: &dyn Fn(&mut [f32], &mut [f64]) -> f64| {
                let (mut pull, mut steps) = (vec![0.0; scores.len()], vec![0.0; layout.len()]);
                (loss(&mut pull, &mut steps), pull, steps)
            };
            let soft =
                run(&|pull, steps| loss.note(&field, &scores, gold, pull, steps, &mut Scratch::default()));
            let hard = run(&|pull, steps| {
                Likelihood.note(&field, &scores, gold, pull, steps, &mut Scratch::default())
            });
            assert!((soft.0 - hard.0).abs() < 1e-3, "{} {}", soft.0, hard.0);
            assert!(soft.1.iter().zip(&hard.1).all(|(a, b)| (a - b).abs() < 1e-5));
            assert!(soft.2.iter().zip(&hard.2).all(|(a, b)| (a - b).abs() < 1e-5));
        }
    }

    #[test]
    fn a_possible_state_gets_weights_next_to_the_likeliest() {
        let (columns, gold, states) = invented(5, 1, 2);
        let tags = states.tags().len();
        // Three quarters for gold's tag, the rest for the tag after it.
        let mut shares = vec![0.0; gold[0].len() * tags];
        for (token, &tag) in shares.chunks_exact_mut(tags).zip(&gold[0]) {
            token[usize::from(tag)] = 0.75;
            token[(usize::from(tag) + 1) % tags] = 0.25;
        }
        let free = Chain::new(&states, &vec![0.0; Layout::of(&states).len()]);
        let expected = Expected::of_shares(&free, &shares, &mut Scratch::default()).unwrap();
        let data = Data::new(&columns, &[expected.tags(&states)], &states, 1);
        let loss = SoftLikelihood {
            gold: 0,
            soft: vec![expected],
            weight: 1.0,
        };
        let alone = Pairs::new(&data, &states, u32::MAX, None, &[]);
        let likely = Pairs::new(&data, &states, u32::MAX, None, &loss.likely(&data));
        assert!(likely.len() > alone.len(), "{} {}", likely.len(), alone.len());
        let everything = data.hashes.len() * states.iter().count();
        assert!(likely.len() < everything, "{} {everything}", likely.len());
    }

    #[test]
    fn a_field_that_gave_the_labels_is_nothing_away_from_them() {
        let (columns, gold, states) = invented(6, 1, 3);
        let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(4);
        let field = chain(&states, &mut random);
        let scores = scores(columns.notes[0].len(), &states, &mut random);
        let expected = Expected::of(&field, &scores, &mut Scratch::default()).unwrap();
        assert!(expected.entropy > 0.1);
        let loss = SoftLikelihood {
            gold: 0,
            soft: vec![expected],
            weight: 2.0,
        };
        let (mut pull, mut steps) = (vec![0.0; scores.len()], vec![0.0; Layout::of(&states).len()]);
        let path: Vec<u8> = gold[0].iter().map(|&tag| states.of(tag)).collect();
        let gold = Gold {
            note: 0,
            states: &path,
        };
        let away = loss.note(
            &field,
            &scores,
            gold,
            &mut pull,
            &mut steps,
            &mut Scratch::default(),
        );
        assert!(away.abs() < 1e-4, "{away}");
        assert!(pull.iter().all(|p| p.abs() < 1e-6) && steps.iter().all(|s| s.abs() < 1e-6));
    }
}
