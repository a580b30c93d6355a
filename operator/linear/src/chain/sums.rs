//! Sums over all paths: the probability of each state and each step.

use super::{Chain, DOUBTFUL, Layout, Scratch};
use crate::kernel::{self, ScaledRows};

/// The marginals of a token may differ from 1 by this much together. Beyond it, sums are computed in logarithms.
const MISSING: f32 = 0.25;

/// Which sums are kept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    /// All states' marginals, and the data of [`Chain::add_expected_steps`].
    All,
    /// The probability of the first state: one number per token instead of some hundred, so that a long
    /// stretch fits in the cache.
    First,
}

impl Chain {
    /// Returns the probability of each state at each token, as rows of
    /// [`States::width`](crate::States::width) that sum to 1, and the logarithm of the sum over all paths, 0
    /// for a local chain. Forward-backward (Rabiner 1989), scaled at each token; in logarithms if masses
    /// differ too much for that.
    pub fn marginals<'s>(&self, scores: &[f32], scratch: &'s mut Scratch) -> (&'s [f32], f64) {
        self.marginals_after(None, scores, scratch)
    }

    /// Computes [`Chain::marginals`] for a stretch that begins after the state `before`.
    pub fn marginals_after<'s>(
        &self,
        before: Option<u8>,
        scores: &[f32],
        scratch: &'s mut Scratch,
    ) -> (&'s [f32], f64) {
        let log_sum = self.sums(before, scores, Kept::All, scratch);
        (&scratch.marginals[..scores.len()], log_sum)
    }

    /// Returns the probability of the first state, outside every span, at each token: that part of
    /// [`Chain::marginals_after`], with less work.
    pub(crate) fn outside_after<'s>(
        &self,
        before: Option<u8>,
        scores: &[f32],
        scratch: &'s mut Scratch,
    ) -> &'s [f32] {
        scratch.first.clear();
        self.sums(before, scores, Kept::First, scratch);
        if scratch.first.is_empty() {
            // These sums are computed only for all states together.
            let rows = scratch.marginals[..scores.len()].chunks_exact(self.layout.width);
            scratch.first.extend(rows.map(|row| row[0]));
        }
        &scratch.first
    }

    /// Returns the logarithm of the sum over all paths. If only the first state's marginals are kept, they
    /// are in `scratch.first`, or those of all states in `scratch.marginals`.
    fn sums(&self, before: Option<u8>, scores: &[f32], kept: Kept, scratch: &mut Scratch) -> f64 {
        scratch.by_exact = false;
        if self.local {
            self.forward_local(before, scores, scratch)
        } else if let Some(log_sum) = kernel::widely(
            #[inline(always)]
            || self.forward_backward(before, scores, kept, scratch),
        ) {
            log_sum
        } else {
            scratch.by_exact = true;
            scratch.first.clear();
            at_least(&mut scratch.marginals, scores.len());
            let marginals = &mut scratch.marginals[..scores.len()];
            scratch.exact.run(self, before, scores, marginals)
        }
    }

    /// Computes one step of forward mass: `now` is the mass from `before`, not yet multiplied by the token's
    /// factors.
    #[inline(always)]
    fn pass_on(&self, before: &[f32], now: &mut [f32]) {
        let Layout { width, free } = self.layout;
        let (begin, inside) = Self::inner_steps(&self.factors, self.layout);
        let mut active = [0u8; 256];
        let active = self.active(self.states.closed().iter().copied(), before, &mut active);
        let rows = ScaledRows {
            all: &self.factors,
            width: free,
            which: active,
            by: before,
        };
        kernel::sum_scaled(rows, &mut now[..free]);
        now[free..width].fill(0.0);
        let labels = self.states.labels();
        for first in (0..self.states.inner()).step_by(labels.max(1)) {
            let (begin, inside) = (&begin[first..first + labels], &inside[first..first + labels]);
            let inner = now[free + first..].iter_mut().zip(begin).zip(inside);
            for (((now, begin), inside), (b, i)) in inner.zip(before[1..].iter().zip(&before[free..])) {
                *now = b * begin + i * inside;
            }
        }
    }

    /// Returns the states that have mass to pass on.
    #[inline(always)]
    fn active<'a>(
        &self,
        states: impl Iterator<Item = u8>,
        masses: &[f32],
        active: &'a mut [u8; 256],
    ) -> &'a [u8] {
        let mut count = 0;
        for state in states {
            // There is no branch, because the states with mass are unpredictable.
            active[count] = state;
            count += usize::from(masses[usize::from(state)] > self.negligible);
        }
        &active[..count]
    }

    /// Returns `None` if masses differ so much that dropped ones matter.
    #[inline(always)]
    fn forward_backward(
        &self,
        before: Option<u8>,
        scores: &[f32],
        kept: Kept,
        scratch: &mut Scratch,
    ) -> Option<f64> {
        let log_sum = self.forward(before, scores, scratch)?;
        self.backward(scores.len() / self.layout.width, kept, scratch)
            .then_some(log_sum)
    }

    #[inline(always)]
    fn forward(&self, before: Option<u8>, scores: &[f32], scratch: &mut Scratch) -> Option<f64> {
        let width = self.layout.width;
        at_least(&mut scratch.factors, scores.len());
        at_least(&mut scratch.forward, scores.len());
        let mut log_sum = 0.0f64;
        for (t, row) in scores.chunks_exact(width).enumerate() {
            let at = t * width;
            let most = kernel::largest(row);
            kernel::exp_row(&mut scratch.factors[at..at + width], row, most);
            let (done, rest) = scratch.forward.split_at_mut(at);
            let now = &mut rest[..width];
            if t == 0 {
                self.begin_after(before, &self.factors, 0.0, now);
            } else {
                self.pass_on(&done[at - width..], now);
            }
            kernel::multiply(now, &scratch.factors[at..at + width]);
            let total = kernel::sum(now);
            if !(DOUBTFUL..=f32::MAX).contains(&total) {
                return None;
            }
            let share = 1.0 / total;
            kernel::scale_or_drop(now, share, self.negligible);
            // The factors include the scale from here on, because the backward pass needs it.
            kernel::scale(&mut scratch.factors[at..at + width], share);
            log_sum += f64::from(most) + f64::from(total).ln();
        }
        if let Some(last) = scratch.forward[..scores.len()].chunks_exact(width).next_back() {
            let ended: f32 = self
                .states
                .closed()
                .iter()
                .map(|&state| last[state as usize])
                .sum();
            if ended < DOUBTFUL {
                return None;
            }
            log_sum += f64::from(ended).ln();
        }
        Some(log_sum)
    }

    /// Returns whether no mass is missing that was dropped on the way forward and that later tokens need.
    #[inline(always)]
    fn backward(&self, tokens: usize, kept: Kept, scratch: &mut Scratch) -> bool {
        let Layout { width, free } = self.layout;
        let (begin, inside) = Self::inner_steps(&self.factors, self.layout);
        match kept {
            Kept::All => {
                at_least(&mut scratch.marginals, tokens * width);
                at_least(&mut scratch.passed, tokens * width);
            }
            Kept::First => scratch.first.resize(tokens, 0.0),
        }
        let (mut behind, mut next, mut own) = ([0.0f32; 256], [0.0f32; 256], [0.0f32; 256]);
        let (behind, next, own) = (&mut behind[..width], &mut next[..width], &mut own[..width]);
        for t in (0..tokens).rev() {
            let at = t * width;
            let forward = &scratch.forward[at..at + width];
            if t + 1 == tokens {
                behind.fill(0.0);
                let ended: f32 = self
                    .states
                    .closed()
                    .iter()
                    .map(|&state| forward[state as usize])
                    .sum();
                for &state in self.states.closed() {
                    behind[state as usize] = 1.0 / ended;
                }
            } else {
                let mut active = [0u8; 256];
                let active = self.active((0..=u8::MAX).take(free), next, &mut active);
                let rows = ScaledRows {
                    all: &self.across,
                    width,
                    which: active,
                    by: next,
                };
                kernel::sum_scaled(rows, behind);
                let labels = self.states.labels();
                for first in (0..self.states.inner()).step_by(labels.max(1)) {
                    for label in 0..labels {
                        let inner = first + label;
                        behind[1 + label] += begin[inner] * next[free + inner];
                        behind[free + label] += inside[inner] * next[free + inner];
                    }
                }
            }
            let factors = &scratch.factors[at..at + width];
            for ((next, factor), behind) in next.iter_mut().zip(factors).zip(&*behind) {
                let product = factor * behind;
                *next = if product > self.negligible { product } else { 0.0 };
            }
            for ((own, forward), behind) in own.iter_mut().zip(forward).zip(&*behind) {
                *own = forward * behind;
            }
            // What is dropped is missing from every later sum, and what is behind it is not.
            let missing = (kernel::sum(own) - 1.0).abs();
            if missing.is_nan() || missing > MISSING {
                return false;
            }
            match kept {
                Kept::All => {
                    scratch.marginals[at..at + width].copy_from_slice(own);
                    scratch.passed[at..at + width].copy_from_slice(next);
                }
                Kept::First => scratch.first[t] = own[0],
            }
        }
        true
    }

    /// Runs forward only: if every step is normalised locally, later tokens change nothing.
    fn forward_local(&self, before: Option<u8>, scores: &[f32], scratch: &mut Scratch) -> f64 {
        let width = self.layout.width;
        at_least(&mut scratch.marginals, scores.len());
        let mut factors = [0.0f32; 256];
        let factors = &mut factors[..width];
        let mut shares = [0.0f32; 256];
        for (t, row) in scores.chunks_exact(width).enumerate() {
            kernel::exp_row(factors, row, kernel::largest(row));
            let (done, rest) = scratch.marginals.split_at_mut(t * width);
            let now = &mut rest[..width];
            if t == 0 {
                self.begin_after(before, &self.factors, 0.0, now);
            } else {
                let before = &done[(t - 1) * width..];
                for (state, (share, &mass)) in shares[..width].iter_mut().zip(before).enumerate() {
                    *share = 0.0;
                    if mass > 0.0 {
                        let total = self.local_total(state, factors);
                        *share = if total > 0.0 { mass / total } else { 0.0 };
                    }
                }
                self.pass_on(&shares[..width], now);
            }
            kernel::multiply(now, factors);
            // The sum is already 1, except for rounding and for the first token, since the start's steps are
            // not normalised yet.
            kernel::scale_or_drop(now, 1.0 / kernel::sum(now), self.negligible);
        }
        0.0
    }

    /// Adds to `expected`, in [`Layout`]'s order, the expected number of times that each step is taken, after
    /// [`Chain::marginals`] of a chain that is not local.
    pub(crate) fn add_expected_steps(&self, tokens: usize, scratch: &Scratch, expected: &mut [f64]) {
        if scratch.by_exact {
            return scratch.exact.add_expected_steps(self, expected);
        }
        let Layout { width, free } = self.layout;
        let mut sums = vec![0.0f32; self.layout.len()];
        let (to_free, inner) = sums.split_at_mut((width + 1) * free);
        let (begun, gone_on) = inner.split_at_mut(width - free);
        if tokens > 0 {
            kernel::add(&mut to_free[width * free..], &scratch.passed[..free]);
        }
        for t in 1..tokens {
            let before = &scratch.forward[(t - 1) * width..][..width];
            let now = &scratch.passed[t * width..][..width];
            for &state in self.states.closed() {
                let mass = before[state as usize];
                if mass > self.negligible {
                    kernel::add_scaled(&mut to_free[state as usize * free..][..free], mass, &now[..free]);
                }
            }
            let labels = self.states.labels();
            for first in (0..self.states.inner()).step_by(labels.max(1)) {
                for label in 0..labels {
                    let inner = first + label;
                    begun[inner] += before[1 + label] * now[free + inner];
                    gone_on[inner] += before[free + label] * now[free + inner];
                }
            }
        }
        for ((total, sum), factor) in expected.iter_mut().zip(&sums).zip(&self.factors) {
            *total += f64::from(sum * factor);
        }
    }
}

/// Grows the rows to this size and never shrinks them, since filling new memory costs as much as a pass over
/// it.
fn at_least(rows: &mut Vec<f32>, numbers: usize) {
    if rows.len() < numbers {
        rows.resize(numbers, 0.0);
    }
}
