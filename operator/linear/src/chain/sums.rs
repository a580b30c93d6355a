//! Sums over all paths: how likely each state and each step is.

use super::{Chain, DOUBTFUL, Layout, Scratch};
use crate::kernel;

impl Chain {
    /// How likely each state is at each token, a row of [`States::width`](crate::States::width) a token that sums to 1;
    /// and the logarithm of the sum over all paths, 0 for a local chain. Forward-backward (Rabiner 1989), scaled at each
    /// token; in logarithms where masses lie too far apart for that.
    pub fn marginals<'s>(&self, scores: &[f32], scratch: &'s mut Scratch) -> (&'s [f32], f64) {
        self.marginals_after(None, scores, scratch)
    }

    /// As [`Chain::marginals`], for a stretch that begins after the state `before`.
    pub fn marginals_after<'s>(
        &self,
        before: Option<u8>,
        scores: &[f32],
        scratch: &'s mut Scratch,
    ) -> (&'s [f32], f64) {
        scratch.by_exact = false;
        let log_sum = if self.local {
            self.forward_local(before, scores, scratch)
        } else if let Some(log_sum) = kernel::widely(
            #[inline(always)]
            || self.forward_backward(before, scores, scratch),
        ) {
            log_sum
        } else {
            scratch.by_exact = true;
            scratch.exact.run(self, before, scores, &mut scratch.marginals)
        };
        (&scratch.marginals, log_sum)
    }

    /// One step of forward mass: `now` = what `before` passes on, not yet times the token's factors.
    #[inline(always)]
    fn pass_on(&self, before: &[f32], now: &mut [f32]) {
        let free = self.layout.free;
        let (begin, inside) = Self::inner_steps(&self.factors, self.layout);
        now.fill(0.0);
        for &state in self.states.closed() {
            let mass = before[state as usize];
            if mass > self.negligible {
                kernel::add_scaled(
                    &mut now[..free],
                    mass,
                    &self.factors[state as usize * free..][..free],
                );
            }
        }
        let labels = self.states.labels();
        for first in (0..self.states.inner()).step_by(labels.max(1)) {
            let (begin, inside) = (&begin[first..first + labels], &inside[first..first + labels]);
            let inner = now[free + first..].iter_mut().zip(begin).zip(inside);
            for (((now, begin), inside), (b, i)) in inner.zip(before[1..].iter().zip(&before[free..])) {
                *now = b * begin + i * inside;
            }
        }
    }

    /// `None` where masses lie so far apart that what was dropped may count.
    #[inline(always)]
    fn forward_backward(&self, before: Option<u8>, scores: &[f32], scratch: &mut Scratch) -> Option<f64> {
        let log_sum = self.forward(before, scores, scratch)?;
        self.backward(scores.len() / self.layout.width, scratch);
        Some(log_sum)
    }

    #[inline(always)]
    fn forward(&self, before: Option<u8>, scores: &[f32], scratch: &mut Scratch) -> Option<f64> {
        let width = self.layout.width;
        for rows in [
            &mut scratch.factors,
            &mut scratch.forward,
            &mut scratch.passed,
            &mut scratch.marginals,
        ] {
            rows.resize(scores.len(), 0.0);
        }
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
            // The factors carry the scale from here on: what is passed back must know it.
            kernel::scale(&mut scratch.factors[at..at + width], share);
            log_sum += f64::from(most) + f64::from(total).ln();
        }
        if let Some(last) = scratch.forward.chunks_exact(width).next_back() {
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

    #[inline(always)]
    fn backward(&self, tokens: usize, scratch: &mut Scratch) {
        let Layout { width, free } = self.layout;
        let (begin, inside) = Self::inner_steps(&self.factors, self.layout);
        let mut behind = [0.0f32; 256];
        let behind = &mut behind[..width];
        for t in (0..tokens).rev() {
            let at = t * width;
            if t + 1 == tokens {
                behind.fill(0.0);
                let last = &scratch.forward[at..at + width];
                let ended: f32 = self
                    .states
                    .closed()
                    .iter()
                    .map(|&state| last[state as usize])
                    .sum();
                for &state in self.states.closed() {
                    behind[state as usize] = 1.0 / ended;
                }
            } else {
                let next = &scratch.passed[at + width..][..width];
                behind.fill(0.0);
                for (state, &mass) in next[..free].iter().enumerate() {
                    if mass > self.negligible {
                        kernel::add_scaled(behind, mass, &self.across[state * width..][..width]);
                    }
                }
                let labels = self.states.labels();
                for first in (0..self.states.inner()).step_by(labels.max(1)) {
                    for label in 0..labels {
                        let inner = first + label;
                        behind[1 + label] += begin[inner] * next[free + inner];
                        behind[free + label] += inside[inner] * next[free + inner];
                    }
                }
            }
            let rows = scratch.marginals[at..at + width]
                .iter_mut()
                .zip(&mut scratch.passed[at..at + width])
                .zip(&scratch.forward[at..at + width])
                .zip(&scratch.factors[at..at + width])
                .zip(&*behind);
            for ((((marginal, passed), forward), factor), behind) in rows {
                *marginal = forward * behind;
                let product = factor * behind;
                *passed = if product > self.negligible { product } else { 0.0 };
            }
        }
    }

    /// Forward alone: where every step is weighed locally, what comes later changes nothing.
    fn forward_local(&self, before: Option<u8>, scores: &[f32], scratch: &mut Scratch) -> f64 {
        let width = self.layout.width;
        scratch.marginals.resize(scores.len(), 0.0);
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
            // 1 already but for rounding, and for the first token, where the start's steps are not weighed yet.
            kernel::scale_or_drop(now, 1.0 / kernel::sum(now), self.negligible);
        }
        0.0
    }

    /// Adds to `expected`, in [`Layout`]'s order, how often each step is taken on average, after [`Chain::marginals`] of a
    /// chain that is not local.
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
