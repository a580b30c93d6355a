//! A chain of states: what each step weighs, the best path, and how likely each state is.

use crate::states::FORBIDDEN;
use crate::{States, kernel};

/// Below this share of a token's mass a state passes nothing on: less than single precision can tell.
const NEGLIGIBLE: f32 = 1e-12;

/// Where each kind of step lies in a flat vector of weights: a row over the free states for every state, one for the
/// note's start, then for each inner state the step from its label's `B`, then from its `I`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    width: usize,
    free: usize,
}

impl Layout {
    /// The layout for these states.
    pub const fn of(states: &States) -> Self {
        Self {
            width: states.width(),
            free: states.free_width(),
        }
    }

    /// Length of the vector.
    pub const fn len(self) -> usize {
        (self.width + 1) * self.free + 2 * (self.width - self.free)
    }

    /// Whether there is nothing.
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Where the step from `before` (`None`: the note's start) to `next` lies, if the layout has a place for it.
    pub fn at(self, states: &States, before: Option<usize>, next: usize) -> Option<usize> {
        if !states.may_follow(before, next) {
            return None;
        }
        match (before, next.checked_sub(self.free)) {
            (before, None) => Some(before.unwrap_or(self.width) * self.free + next),
            (None, Some(_)) => None,
            (Some(before), Some(inner)) => {
                let from = states.entered_from(inner).iter().position(|&s| s == before)?;
                Some((self.width + 1) * self.free + from * (self.width - self.free) + inner)
            }
        }
    }
}

/// The steps of a chain, ready to decode with.
#[derive(Clone, Debug)]
pub struct Chain {
    states: States,
    layout: Layout,
    /// Each step's weight, forbidden ones [`FORBIDDEN`].
    pub(crate) steps: Vec<f32>,
    /// Their exponentials, forbidden ones 0.
    pub(crate) factors: Vec<f32>,
    /// The exponentials of steps into free states, a row over all states for each free one.
    across: Vec<f32>,
    /// Least and largest step from each state into a free one.
    bounds: Vec<(f32, f32)>,
    /// Whether each state's steps are weighed against each other at every token (a Markov model of maximum entropy).
    local: bool,
}

/// Memory that decoding needs, kept between notes.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    before: Vec<f32>,
    now: Vec<f32>,
    from: Vec<u32>,
    back: Vec<u8>,
    /// Exponentials of a note's scores, a row a token.
    pub(crate) factors: Vec<f32>,
    /// Forward mass, a row a token that sums to 1.
    pub(crate) forward: Vec<f32>,
    /// Mass that a token's state passes back, a row a token.
    pub(crate) passed: Vec<f32>,
    marginals: Vec<f32>,
}

impl Chain {
    /// A chain with these weights, in [`Layout`]'s order; those of forbidden steps are of no account.
    ///
    /// # Panics
    /// If `weights` has not the layout's length.
    pub fn new(states: &States, weights: &[f32]) -> Self {
        let layout = Layout::of(states);
        assert_eq!(weights.len(), layout.len(), "a weight for each step");
        let mut steps = vec![FORBIDDEN; layout.len()];
        let mut factors = vec![0.0; layout.len()];
        for before in std::iter::once(None).chain(states.iter().map(Some)) {
            for next in states.iter() {
                if let Some(at) = layout.at(states, before, next) {
                    steps[at] = weights[at];
                    factors[at] = kernel::exp(weights[at]);
                }
            }
        }
        let (width, free) = (layout.width, layout.free);
        let mut across = vec![0.0; free * width];
        for before in 0..width {
            for next in 0..free {
                across[next * width + before] = factors[before * free + next];
            }
        }
        let bounds = (0..width)
            .map(|before| bounds_of(&steps[before * free..][..states.free()]))
            .collect();
        Self {
            states: states.clone(),
            layout,
            steps,
            factors,
            across,
            bounds,
            local: false,
        }
    }

    /// The same steps as a Markov model of maximum entropy (McCallum et al. 2000): given the state before, the next ones'
    /// probabilities sum to 1 at every token.
    #[must_use]
    pub fn local(self) -> Self {
        Self { local: true, ..self }
    }

    /// Its states.
    pub const fn states(&self) -> &States {
        &self.states
    }

    /// Adds to one step's weight, as far as the best path is concerned: sums over paths do not know of it.
    pub(crate) fn nudge(&mut self, at: usize, by: f32) {
        self.steps[at] += by;
        let (source, free) = (at / self.layout.free, self.layout.free);
        if let Some(bounds) = self.bounds.get_mut(source) {
            *bounds = bounds_of(&self.steps[source * free..][..self.states.free()]);
        }
    }

    fn inner_steps(all: &[f32], layout: Layout) -> (&[f32], &[f32]) {
        all[(layout.width + 1) * layout.free..].split_at(layout.width - layout.free)
    }

    /// The best path through a note: a state a token. `scores` has a row of [`States::width`] a token. Of equal paths the
    /// one whose states come first.
    pub fn best_path(&self, scores: &[f32], scratch: &mut Scratch, path: &mut Vec<u8>) {
        self.best_path_after(None, scores, scratch, path);
    }

    /// As [`Chain::best_path`], for a stretch that begins after the state `before`.
    pub fn best_path_after(
        &self,
        before: Option<u8>,
        scores: &[f32],
        scratch: &mut Scratch,
        path: &mut Vec<u8>,
    ) {
        let Layout { width, free } = self.layout;
        let tokens = scores.len() / width;
        path.clear();
        if tokens == 0 {
            return;
        }
        scratch.back.resize(tokens * width, 0);
        scratch.before.clear();
        scratch.before.resize(width, FORBIDDEN);
        scratch.now.clear();
        scratch.now.resize(width, FORBIDDEN);
        scratch.from.clear();
        scratch.from.resize(free, 0);
        let (begin, inside) = Self::inner_steps(&self.steps, self.layout);
        for (t, row) in scores.chunks_exact(width).enumerate() {
            let now = &mut scratch.now[..width];
            if t == 0 {
                self.begin_after(before, &self.steps, FORBIDDEN, now);
                kernel::add(now, row);
            } else {
                let before = &mut scratch.before[..width];
                if self.local {
                    self.weigh_locally(&scores[t * width..][..width], before);
                }
                let back = &mut scratch.back[t * width..][..width];
                now[..free].fill(f32::MIN);
                let from = &mut scratch.from[..free];
                from.fill(0);
                // A state so far behind the best that no step from it could win is left out: with real notes nearly all.
                let mut top = 0;
                for &state in self.states.closed() {
                    if before[state as usize] > before[top] {
                        top = state as usize;
                    }
                }
                let bound = before[top] + self.bounds[top].0;
                for &state in self.states.closed() {
                    let (so_far, source) = (before[state as usize], state as usize);
                    if so_far + self.bounds[source].1 >= bound {
                        let steps = &self.steps[source * free..][..free];
                        kernel::relax(&mut now[..free], from, steps, so_far, source as u32);
                    }
                }
                for (b, f) in back[..free].iter_mut().zip(&*from) {
                    *b = *f as u8;
                }
                let labels = self.states.labels();
                for first in (0..self.states.inner()).step_by(labels.max(1)) {
                    for label in 0..labels {
                        let inner = first + label;
                        let begun = before[1 + label] + begin[inner];
                        let gone_on = before[free + label] + inside[inner];
                        let longer = gone_on > begun;
                        now[free + inner] = if longer { gone_on } else { begun };
                        back[free + inner] = u8::from(longer);
                    }
                }
                kernel::add(now, row);
            }
            // Kept small, so that a long note loses no precision.
            let most = kernel::largest(now);
            for value in now.iter_mut() {
                *value = if *value > FORBIDDEN / 2.0 {
                    *value - most
                } else {
                    FORBIDDEN
                };
            }
            std::mem::swap(&mut scratch.before, &mut scratch.now);
        }
        let last = &scratch.before;
        let mut state = self.states.closed().first().copied().unwrap_or(0);
        for &end in self.states.closed() {
            if last[end as usize] > last[state as usize] {
                state = end;
            }
        }
        path.resize(tokens, state);
        for t in (1..tokens).rev() {
            let back = scratch.back[t * width + state as usize];
            state = match (state as usize).checked_sub(free) {
                None => back,
                Some(inner) => self.states.entered_from(inner)[back as usize] as u8,
            };
            path[t - 1] = state;
        }
    }

    /// The first token's row of `all` (weights or factors of steps); `none` where no step leads.
    fn begin_after(&self, before: Option<u8>, all: &[f32], none: f32, now: &mut [f32]) {
        let Layout { width, free } = self.layout;
        let source = before.map_or(width, usize::from);
        now[..free].copy_from_slice(&all[source * free..][..free]);
        now[free..].fill(none);
        if let Some(before) = before {
            for inner in 0..self.states.inner() {
                if let Some(at) = self.layout.at(&self.states, Some(before as usize), free + inner) {
                    now[free + inner] = all[at];
                }
            }
        }
    }

    /// Takes from each state's path the logarithm of what its steps to the token of this row sum to.
    fn weigh_locally(&self, row: &[f32], before: &mut [f32]) {
        let Layout { width, free } = self.layout;
        let most = kernel::largest(row);
        let mut factors = [0.0f32; 256];
        let factors = &mut factors[..width];
        kernel::exp_row(factors, row, most);
        let totals = self.local_totals(factors);
        for (path, total) in before.iter_mut().zip(totals) {
            if *path > FORBIDDEN / 2.0 {
                *path -= most + total.max(f32::MIN_POSITIVE).ln();
            }
        }
        debug_assert!(free <= width);
    }

    /// For each state, what the factors of its steps to a token with these factors sum to.
    fn local_totals(&self, factors: &[f32]) -> [f32; 256] {
        let Layout { width, free } = self.layout;
        let mut totals = [0.0f32; 256];
        for (next, &factor) in factors[..self.states.free()].iter().enumerate() {
            kernel::add_scaled(
                &mut totals[..width],
                factor,
                &self.across[next * width..][..width],
            );
        }
        let (begin, inside) = Self::inner_steps(&self.factors, self.layout);
        for inner in 0..self.states.inner() {
            let [b, i] = self.states.entered_from(inner);
            totals[b] += begin[inner] * factors[free + inner];
            totals[i] += inside[inner] * factors[free + inner];
        }
        totals
    }

    /// How likely each state is at each token, a row of [`States::width`] a token that sums to 1; and the logarithm of the
    /// sum over all paths, 0 for a local chain. Forward-backward (Rabiner 1989), scaled at each token.
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
        let log_sum = if self.local {
            self.forward_local(before, scores, scratch)
        } else {
            let log_sum = self.forward(before, scores, scratch);
            self.backward(scores.len() / self.layout.width, scratch);
            log_sum
        };
        (&scratch.marginals, log_sum)
    }

    /// One step of forward mass: `now` = what `before` passes on, not yet times the token's factors.
    fn pass_on(&self, before: &[f32], now: &mut [f32]) {
        let free = self.layout.free;
        let (begin, inside) = Self::inner_steps(&self.factors, self.layout);
        now.fill(0.0);
        for &state in self.states.closed() {
            let mass = before[state as usize];
            if mass > NEGLIGIBLE {
                kernel::add_scaled(
                    &mut now[..free],
                    mass,
                    &self.factors[state as usize * free..][..free],
                );
            }
        }
        let labels = self.states.labels();
        for first in (0..self.states.inner()).step_by(labels.max(1)) {
            for label in 0..labels {
                let inner = first + label;
                now[free + inner] = before[1 + label] * begin[inner] + before[free + label] * inside[inner];
            }
        }
    }

    fn forward(&self, before: Option<u8>, scores: &[f32], scratch: &mut Scratch) -> f64 {
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
            for (n, f) in now.iter_mut().zip(&scratch.factors[at..]) {
                *n *= f;
            }
            let total = kernel::sum(now);
            let share = 1.0 / total;
            for n in now.iter_mut() {
                *n *= share;
            }
            // The factors carry the scale from here on: what is passed back must know it.
            for f in &mut scratch.factors[at..at + width] {
                *f *= share;
            }
            log_sum += f64::from(most) + f64::from(total).ln();
        }
        if let Some(last) = scratch.forward.chunks_exact(width).next_back() {
            let ended: f32 = self
                .states
                .closed()
                .iter()
                .map(|&state| last[state as usize])
                .sum();
            log_sum += f64::from(ended).ln();
        }
        log_sum
    }

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
                    if mass > NEGLIGIBLE {
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
                *passed = factor * behind;
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
                let totals = self.local_totals(factors);
                let before = &done[(t - 1) * width..];
                for ((share, mass), total) in shares[..width].iter_mut().zip(before).zip(totals) {
                    *share = if total > 0.0 { mass / total } else { 0.0 };
                }
                self.pass_on(&shares[..width], now);
            }
            for (n, f) in now.iter_mut().zip(&*factors) {
                *n *= f;
            }
            // 1 already but for rounding, and for the first token, where the start's steps are not weighed yet.
            let share = 1.0 / kernel::sum(now);
            for n in now.iter_mut() {
                *n *= share;
            }
        }
        0.0
    }

    /// Adds to `expected`, in [`Layout`]'s order, how often each step is taken on average, after [`Chain::marginals`] of a
    /// chain that is not local.
    pub(crate) fn add_expected_steps(&self, tokens: usize, scratch: &Scratch, expected: &mut [f64]) {
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
                if mass > NEGLIGIBLE {
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

/// Least and largest of a row of steps.
fn bounds_of(row: &[f32]) -> (f32, f32) {
    row.iter().fold((f32::MAX, f32::MIN), |(least, most), &step| {
        (least.min(step), most.max(step))
    })
}

#[cfg(test)]
mod tests {
    use lethe_learn::{Scheme, TagSet};
    use rand::{Rng as _, SeedableRng as _};

    use super::*;

    struct Case {
        states: States,
        chain: Chain,
        weights: Vec<f32>,
        scores: Vec<f32>,
        tokens: usize,
    }

    fn cases() -> impl Iterator<Item = Case> {
        (0..60).map(|seed| {
            let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
            let scheme = [Scheme::Bio, Scheme::Bilou][seed as usize % 2];
            let labels = ["A", "B"].map(str::to_owned).to_vec();
            let states = States::new(TagSet::new(scheme, labels)).unwrap();
            let mut draw = |n: usize, spread: f32| -> Vec<f32> {
                (0..n).map(|_| spread * (random.random::<f32>() - 0.5)).collect()
            };
            let weights = draw(Layout::of(&states).len(), 4.0);
            let tokens = 1 + seed as usize % 4;
            let scores = draw(tokens * states.width(), 6.0);
            Case {
                chain: Chain::new(&states, &weights),
                states,
                weights,
                scores,
                tokens,
            }
        })
    }

    /// Every allowed path with its score, or its log-probability in a local chain.
    fn paths(case: &Case, local: bool) -> Vec<(Vec<usize>, f64)> {
        let layout = Layout::of(&case.states);
        let step = |before: Option<usize>, t: usize, next: usize| -> Option<f64> {
            let at = layout.at(&case.states, before, next)?;
            Some(f64::from(case.weights[at]) + f64::from(case.scores[t * case.states.width() + next]))
        };
        let mut paths = vec![(Vec::new(), 0.0)];
        for t in 0..case.tokens {
            let mut longer = Vec::new();
            for (path, score) in paths {
                let before = path.last().copied();
                let nexts: Vec<(usize, f64)> = case
                    .states
                    .iter()
                    .filter_map(|next| Some((next, step(before, t, next)?)))
                    .collect();
                let total = if local {
                    nexts.iter().map(|(_, s)| s.exp()).sum::<f64>().ln()
                } else {
                    0.0
                };
                for (next, s) in nexts {
                    let mut path: Vec<usize> = path.clone();
                    path.push(next);
                    longer.push((path, score + s - total));
                }
            }
            paths = longer;
        }
        // A local chain's mass may run into an open end; its best path may not.
        let closed = |path: &[usize]| {
            path.last()
                .is_some_and(|&s| case.states.closed().contains(&(s as u8)))
        };
        paths.retain(|(path, _)| local || closed(path));
        paths
    }

    #[test]
    fn the_best_path_is_the_best_of_all_paths() {
        for case in cases() {
            for local in [false, true] {
                let chain = if local {
                    case.chain.clone().local()
                } else {
                    case.chain.clone()
                };
                let mut found = Vec::new();
                chain.best_path(&case.scores, &mut Scratch::default(), &mut found);
                let closed = |p: &[usize]| case.states.closed().contains(&(p[p.len() - 1] as u8));
                let all = paths(&case, local);
                let best = all
                    .iter()
                    .filter(|(path, _)| closed(path))
                    .max_by(|a, b| a.1.total_cmp(&b.1))
                    .unwrap();
                let found: Vec<usize> = found.into_iter().map(usize::from).collect();
                assert_eq!(found, best.0, "local: {local}");
            }
        }
    }

    #[test]
    fn marginals_sum_to_one_and_equal_those_of_all_paths() {
        for case in cases() {
            for local in [false, true] {
                let chain = if local {
                    case.chain.clone().local()
                } else {
                    case.chain.clone()
                };
                let mut scratch = Scratch::default();
                let (found, log_sum) = chain.marginals(&case.scores, &mut scratch);
                let all = paths(&case, local);
                let total: f64 = all.iter().map(|(_, score)| score.exp()).sum();
                if !local {
                    assert!((log_sum - total.ln()).abs() < 1e-4, "{log_sum} {}", total.ln());
                }
                let width = case.states.width();
                for t in 0..case.tokens {
                    let row = &found[t * width..][..width];
                    assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5);
                    for (state, &marginal) in row.iter().enumerate() {
                        let exact: f64 = all
                            .iter()
                            .filter(|(path, _)| path[t] == state)
                            .map(|(_, score)| score.exp() / total)
                            .sum();
                        assert!((f64::from(marginal) - exact).abs() < 1e-5, "{marginal} {exact}");
                    }
                }
            }
        }
    }

    #[test]
    fn expected_steps_equal_those_of_all_paths() {
        for case in cases() {
            let mut scratch = Scratch::default();
            case.chain.marginals(&case.scores, &mut scratch);
            let layout = Layout::of(&case.states);
            let mut found = vec![0.0; layout.len()];
            case.chain.add_expected_steps(case.tokens, &scratch, &mut found);
            let all = paths(&case, false);
            let total: f64 = all.iter().map(|(_, score)| score.exp()).sum();
            let mut exact = vec![0.0; layout.len()];
            for (path, score) in &all {
                let mut before = None;
                for &next in path {
                    exact[layout.at(&case.states, before, next).unwrap()] += score.exp() / total;
                    before = Some(next);
                }
            }
            for (found, exact) in found.iter().zip(&exact) {
                assert!((found - exact).abs() < 1e-5, "{found} {exact}");
            }
        }
    }

    #[test]
    fn a_very_long_note_is_decoded_without_loss() {
        let case = cases().next().unwrap();
        let row = &case.scores[..case.states.width()];
        let long: Vec<f32> = row
            .iter()
            .map(|s| s * 50.0)
            .cycle()
            .take(row.len() * 20_000)
            .collect();
        let mut scratch = Scratch::default();
        let (marginals, log_sum) = case.chain.marginals(&long, &mut scratch);
        assert!(log_sum.is_finite() && marginals.iter().all(|m| m.is_finite()));
        let mut path = Vec::new();
        case.chain.best_path(&long, &mut scratch, &mut path);
        assert_eq!(path.len(), 20_000);
        // The same token all along: once away from the ends the path repeats.
        assert!(
            path[100..19_900]
                .chunks(60)
                .all(|stretch| stretch == &path[100..100 + stretch.len()])
        );
    }
}
