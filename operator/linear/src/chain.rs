//! A chain of states: the weights of its steps, the best path, and the probability of each state.

mod exact;
mod path;
mod sums;
#[cfg(test)]
mod tests;

use lethe_core::vec_bytes;

use crate::states::FORBIDDEN;
use crate::{States, kernel};

/// The threshold in training: less than single precision can represent.
const NEGLIGIBLE: f32 = 1e-12;

/// The threshold when a member scores its spans.
const COARSE: f32 = 1e-5;

/// If less than this share of a token's mass can continue, the mass dropped before may have mattered.
const DOUBTFUL: f32 = 1e-6;

/// The layout of step weights in a flat vector: a row over the free states for every state, one for the
/// note's start, then for each inner state the steps from its label's `B` and `I`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    width: usize,
    free: usize,
}

impl Layout {
    /// Returns the layout for these states.
    pub const fn of(states: &States) -> Self {
        Self {
            width: states.width(),
            free: states.free_width(),
        }
    }

    /// Returns the length of the vector.
    pub const fn len(self) -> usize {
        (self.width + 1) * self.free + 2 * (self.width - self.free)
    }

    /// Returns whether the vector is empty.
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Returns the index of the step from `before` (`None`: the note's start) to `next`, if the layout has
    /// it.
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

/// The steps of a chain, prepared for decoding.
#[derive(Clone, Debug)]
pub struct Chain {
    states: States,
    layout: Layout,
    /// The weight of each step, [`FORBIDDEN`] for forbidden ones.
    pub(crate) steps: Vec<f32>,
    /// Their exponentials, 0 for forbidden ones.
    pub(crate) factors: Vec<f32>,
    /// The exponentials of steps into free states: one row over all states for each free one.
    across: Vec<f32>,
    /// The least and largest step from each state into a free one; for states without such steps, a value
    /// that no path can offset.
    least: Vec<f32>,
    most: Vec<f32>,
    /// A state with less than this share of a token's mass passes nothing on.
    negligible: f32,
    /// Whether each state's steps are normalised at every token (a Markov model of maximum entropy).
    local: bool,
}

/// Buffers for decoding, reused between notes.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    before: Vec<f32>,
    now: Vec<f32>,
    from: Vec<u32>,
    /// For each token of a stretch, the best predecessor of each of its states.
    back: Vec<u8>,
    /// The tokens of the stretch so far.
    pub(crate) tokens: usize,
    /// The exponentials of a note's scores, one row per token.
    pub(crate) factors: Vec<f32>,
    /// The forward mass, one row per token that sums to 1.
    pub(crate) forward: Vec<f32>,
    /// The mass that a token's state passes back, one row per token.
    pub(crate) passed: Vec<f32>,
    marginals: Vec<f32>,
    /// The probability of the first state at each token, for callers that need no more.
    first: Vec<f32>,
    exact: exact::Exact,
    /// Whether the sums are those of `exact`.
    by_exact: bool,
}

impl Scratch {
    /// Returns the bytes of memory that it takes, those of rare exact sums aside.
    pub(crate) fn bytes(&self) -> usize {
        let rows = [
            &self.before,
            &self.now,
            &self.factors,
            &self.forward,
            &self.passed,
            &self.marginals,
            &self.first,
        ];
        rows.into_iter().map(vec_bytes).sum::<usize>() + vec_bytes(&self.from) + vec_bytes(&self.back)
    }
}

impl Chain {
    /// Creates a chain with these weights, in [`Layout`]'s order; the weights of forbidden steps are ignored.
    ///
    /// # Panics
    /// If the length of `weights` differs from the layout's.
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
        let mut chain = Self {
            states: states.clone(),
            layout,
            steps,
            factors,
            across,
            least: vec![2.0 * FORBIDDEN; width],
            most: vec![2.0 * FORBIDDEN; width],
            negligible: NEGLIGIBLE,
            local: false,
        };
        for &state in states.closed() {
            chain.bound(state.into());
        }
        chain
    }

    /// Sets the bounds of a state's steps.
    fn bound(&mut self, state: usize) {
        let row = &self.steps[state * self.layout.free..][..self.states.free()];
        self.least[state] = row.iter().copied().fold(f32::MAX, f32::min);
        self.most[state] = row.iter().copied().fold(f32::MIN, f32::max);
    }

    /// Returns the same steps as a Markov model of maximum entropy (McCallum et al. 2000): given the previous
    /// state, the probabilities of the next ones sum to 1 at every token.
    #[must_use]
    pub fn local(self) -> Self {
        Self { local: true, ..self }
    }

    /// Returns the same chain with sums accurate to a few digits: enough for a score, and much less work.
    #[must_use]
    pub(crate) fn coarse(self) -> Self {
        Self {
            negligible: COARSE,
            ..self
        }
    }

    /// Returns its states.
    pub const fn states(&self) -> &States {
        &self.states
    }

    /// Adds to one step's weight for the best path only; sums over paths ignore it.
    pub(crate) fn nudge(&mut self, at: usize, by: f32) {
        self.steps[at] += by;
        let source = at / self.layout.free;
        if source < self.layout.width && self.steps[at] > FORBIDDEN / 2.0 {
            self.bound(source);
        }
    }

    fn inner_steps(all: &[f32], layout: Layout) -> (&[f32], &[f32]) {
        all[(layout.width + 1) * layout.free..].split_at(layout.width - layout.free)
    }

    /// Returns the first token's row of `all` (weights or factors of steps); `none` for forbidden steps.
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

    /// Returns the sum of the factors of a state's steps to a token with these factors.
    fn local_total(&self, state: usize, factors: &[f32]) -> f32 {
        let Layout { free, .. } = self.layout;
        let mut total = kernel::sum_product(&self.factors[state * free..][..free], &factors[..free]);
        let (begin, inside) = Self::inner_steps(&self.factors, self.layout);
        let labels = self.states.labels();
        // Only a label's `B` and `I` lead to inner states.
        let steps = match (state.checked_sub(1), state.checked_sub(free)) {
            (_, Some(label)) if label < labels => Some((label, inside)),
            (Some(label), None) if label < labels => Some((label, begin)),
            _ => None,
        };
        if let Some((label, steps)) = steps {
            for inner in (label..self.states.inner()).step_by(labels) {
                total += steps[inner] * factors[free + inner];
            }
        }
        total
    }
}
