//! The sums of [`sums`](super::sums) in logarithms and double precision, for stretches whose masses leave
//! single precision.
//!
//! Scaled masses lose anything below a share of a token's total. That is negligible unless the rest cannot
//! continue: the last token of a note that ends within a span supports states that may not end a note, and a
//! model that is overconfident after few notes is contradicted by its own next token. Then the dropped mass
//! was all that counted.

use super::{Chain, Layout};

/// Buffers, and the results of [`Exact::run`].
#[derive(Clone, Debug, Default)]
pub(super) struct Exact {
    width: usize,
    /// Every step: its source, its target, its index in [`Layout`]'s order, its weight.
    steps: Vec<(u8, u8, u32, f64)>,
    scores: Vec<f32>,
    /// The logarithms of the sums before a token's state, including its score, and after it; one row per
    /// token.
    before: Vec<f64>,
    behind: Vec<f64>,
    most: Vec<f64>,
    log_sum: f64,
}

impl Exact {
    /// Fills `marginals`, and returns the logarithm of the sum over all paths.
    pub(super) fn run(
        &mut self,
        chain: &Chain,
        start: Option<u8>,
        scores: &[f32],
        marginals: &mut [f32],
    ) -> f64 {
        self.take(chain);
        self.scores.clear();
        self.scores.extend_from_slice(scores);
        let width = self.width;
        let tokens = scores.len() / width;
        self.before.clear();
        self.before.resize(scores.len(), f64::NEG_INFINITY);
        self.behind.clear();
        self.behind.resize(scores.len(), f64::NEG_INFINITY);
        let mut begin = vec![0.0f32; width];
        chain.begin_after(start, &chain.factors, 0.0, &mut begin);
        for (t, row) in scores.chunks_exact(width).enumerate() {
            let (done, rest) = self.before.split_at_mut(t * width);
            let now = &mut rest[..width];
            if t == 0 {
                for (now, &factor) in now.iter_mut().zip(&begin) {
                    *now = f64::from(factor).ln();
                }
            } else {
                let last = &done[(t - 1) * width..];
                let each = |&(from, to, _, weight): &(u8, u8, u32, f64)| (to, last[from as usize] + weight);
                add_up(self.steps.iter().map(each), &mut self.most, now);
            }
            for (now, &score) in now.iter_mut().zip(row) {
                *now += f64::from(score);
            }
        }
        for t in (0..tokens).rev() {
            let (rest, done) = self.behind.split_at_mut((t + 1) * width);
            let now = &mut rest[t * width..];
            if t + 1 == tokens {
                for &state in chain.states.closed() {
                    now[state as usize] = 0.0;
                }
            } else {
                let score = &scores[(t + 1) * width..][..width];
                let each = |&(from, to, _, weight): &(u8, u8, u32, f64)| {
                    let to = to as usize;
                    (from, weight + f64::from(score[to]) + done[to])
                };
                add_up(self.steps.iter().map(each), &mut self.most, now);
            }
        }
        let last = &self.before[scores.len().saturating_sub(width)..];
        let ends = chain
            .states
            .closed()
            .iter()
            .map(|&state| (0, last[state as usize]));
        let mut total = [f64::NEG_INFINITY];
        add_up(ends, &mut self.most, &mut total);
        self.log_sum = total[0];
        let masses = self.before.iter().zip(&self.behind);
        for (marginal, (before, behind)) in marginals.iter_mut().zip(masses) {
            *marginal = (before + behind - self.log_sum).exp() as f32;
        }
        self.log_sum
    }

    /// Adds the expected steps of the last run, as [`Chain::add_expected_steps`] does from a note's start.
    pub(super) fn add_expected_steps(&self, chain: &Chain, expected: &mut [f64]) {
        let (width, Layout { free, .. }) = (self.width, chain.layout);
        let tokens = self.scores.len() / width;
        if tokens == 0 {
            return;
        }
        let first = self.before.iter().zip(&self.behind).take(chain.states.free());
        for (expected, (before, behind)) in expected[width * free..].iter_mut().zip(first) {
            *expected += (before + behind - self.log_sum).exp();
        }
        for t in 1..tokens {
            let last = &self.before[(t - 1) * width..][..width];
            for &(from, to, at, weight) in &self.steps {
                let next = t * width + to as usize;
                let mass = last[from as usize] + weight + f64::from(self.scores[next]) + self.behind[next];
                expected[at as usize] += (mass - self.log_sum).exp();
            }
        }
    }

    fn take(&mut self, chain: &Chain) {
        let states = &chain.states;
        self.width = states.width();
        self.steps.clear();
        for before in states.iter() {
            for next in states.iter() {
                if let Some(at) = chain.layout.at(states, Some(before), next) {
                    let weight = f64::from(chain.factors[at]).ln();
                    self.steps.push((before as u8, next as u8, at as u32, weight));
                }
            }
        }
    }
}

/// Computes for each place the logarithm of the sum of its contributions, given as logarithms.
fn add_up(all: impl Iterator<Item = (u8, f64)> + Clone, most: &mut Vec<f64>, sums: &mut [f64]) {
    most.clear();
    most.resize(sums.len(), f64::NEG_INFINITY);
    sums.fill(0.0);
    for (to, mass) in all.clone() {
        let most = &mut most[to as usize];
        *most = most.max(mass);
    }
    for (to, mass) in all {
        let most = most[to as usize];
        if most > f64::NEG_INFINITY {
            sums[to as usize] += (mass - most).exp();
        }
    }
    for (sum, most) in sums.iter_mut().zip(most) {
        *sum = *most + sum.ln();
    }
}
