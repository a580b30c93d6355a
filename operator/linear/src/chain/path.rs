//! The best path (Viterbi 1967).

use super::{Chain, Layout, Scratch};
use crate::kernel;
use crate::states::{FORBIDDEN, LANES};

/// The difference to the best path at which a path of a local chain is dropped: a millionth of its
/// probability. To recover, it would have to be certain over several tokens at which the best path has hardly
/// any probability.
const HOPELESS: f32 = -14.0;

impl Chain {
    /// Finds the best path through a note: one state per token. `scores` has a row of
    /// [`States::width`](crate::States::width) per token. Of equal paths, the one with lower states wins.
    pub fn best_path(&self, scores: &[f32], scratch: &mut Scratch, path: &mut Vec<u8>) {
        self.best_path_after(None, scores, scratch, path);
    }

    /// Finds the best path as [`Chain::best_path`] does, for a stretch that begins after the state `before`.
    pub fn best_path_after(
        &self,
        before: Option<u8>,
        scores: &[f32],
        scratch: &mut Scratch,
        path: &mut Vec<u8>,
    ) {
        scratch.tokens = 0;
        self.forward_paths(before, scores, scratch);
        self.finish_path(scratch, path);
    }

    /// Continues the paths of a stretch, whose best one [`Chain::settle_path`] and [`Chain::finish_path`]
    /// return; `before` is the state before the stretch. A stretch begins with `scratch.tokens` at 0.
    pub(crate) fn forward_paths(&self, before: Option<u8>, scores: &[f32], scratch: &mut Scratch) {
        kernel::widely(
            #[inline(always)]
            || self.forward_paths_by_lanes(before, scores, scratch),
        );
    }

    #[inline(always)]
    fn forward_paths_by_lanes(&self, before: Option<u8>, scores: &[f32], scratch: &mut Scratch) {
        let Layout { width, free } = self.layout;
        let (first, tokens) = (scratch.tokens, scores.len() / width);
        scratch.tokens += tokens;
        scratch.back.resize(scratch.tokens * width, 0);
        scratch.before.resize(width, FORBIDDEN);
        scratch.now.clear();
        scratch.now.resize(width, FORBIDDEN);
        scratch.from.clear();
        scratch.from.resize(free, 0);
        let (begin, inside) = Self::inner_steps(&self.steps, self.layout);
        for (t, row) in (first..).zip(scores.chunks_exact(width)) {
            let now = &mut scratch.now[..width];
            if t == 0 {
                self.begin_after(before, &self.steps, FORBIDDEN, now);
                kernel::add(now, row);
            } else {
                let before = &mut scratch.before[..width];
                if self.local {
                    self.weigh_locally(row, before);
                }
                let back = &mut scratch.back[t * width..][..width];
                now[..free].fill(f32::MIN);
                let from = &mut scratch.from[..free];
                from.fill(0);
                // A state too low for any of its steps to win is skipped: in real notes nearly all are.
                let lower_bound = kernel::largest_sum(before, &self.least);
                let mut first = 0;
                let pairs = before
                    .as_chunks::<LANES>()
                    .0
                    .iter()
                    .zip(self.most.as_chunks::<LANES>().0);
                for (so_far, most) in pairs {
                    if kernel::largest_sum(so_far, most) >= lower_bound {
                        for lane in 0..LANES {
                            if so_far[lane] + most[lane] >= lower_bound {
                                let source = first + lane;
                                let steps = &self.steps[source * free..][..free];
                                kernel::relax(&mut now[..free], from, steps, so_far[lane], source as u32);
                            }
                        }
                    }
                    first += LANES;
                }
                for (b, f) in back[..free].iter_mut().zip(&*from) {
                    *b = *f as u8;
                }
                let labels = self.states.labels();
                for first in (0..self.states.inner()).step_by(labels.max(1)) {
                    let end = first + labels;
                    let steps = begin[first..end].iter().zip(&inside[first..end]);
                    let before = before[1..].iter().zip(&before[free..]);
                    let now = now[free + first..free + end].iter_mut();
                    let to = now.zip(&mut back[free + first..free + end]);
                    for (((now, back), (begin, inside)), (b, i)) in to.zip(steps).zip(before) {
                        let (begun, gone_on) = (b + begin, i + inside);
                        let longer = gone_on > begun;
                        *now = if longer { gone_on } else { begun };
                        *back = u8::from(longer);
                    }
                }
                kernel::add(now, row);
            }
            // Values are kept small, so that a long note loses no precision.
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
    }

    /// Returns the best path of the stretch, or of its remaining tokens if the first ones were settled.
    pub(crate) fn finish_path(&self, scratch: &Scratch, path: &mut Vec<u8>) {
        path.clear();
        if scratch.tokens == 0 {
            return;
        }
        let last = &scratch.before;
        let mut state = self.last_resort();
        for &end in self.states.closed() {
            if last[end as usize] > last[state as usize] {
                state = end;
            }
        }
        self.trace(scratch, scratch.tokens - 1, state, path);
    }

    /// Returns the state in which a note ends if no path is allowed.
    fn last_resort(&self) -> u8 {
        self.states.closed().first().copied().unwrap_or(0)
    }

    /// Settles the states up to the last token at which the paths to all states meet: the best path has them,
    /// whatever follows. The stretch then begins after them. Does nothing if the paths do not meet.
    ///
    /// This is exact unless no path of the note is allowed. (Šrámek et al. 2007 give the same rule for a
    /// Viterbi algorithm with bounded memory.)
    pub(crate) fn settle_path(&self, scratch: &mut Scratch, path: &mut Vec<u8>) {
        path.clear();
        let mut ends = [false; 256];
        for (state, end) in ends.iter_mut().enumerate().take(self.layout.width) {
            *end = scratch.before[state] > FORBIDDEN / 2.0;
        }
        ends[usize::from(self.last_resort())] = true;
        for t in (1..scratch.tokens).rev() {
            let mut befores = [false; 256];
            for state in (0..self.layout.width).filter(|&state| ends[state]) {
                befores[usize::from(self.before(scratch, t, state as u8))] = true;
            }
            ends = befores;
            let mut met = (0..self.layout.width).filter(|&state| ends[state]);
            if let (Some(state), None) = (met.next(), met.next()) {
                self.trace(scratch, t - 1, state as u8, path);
                scratch.back.drain(..t * self.layout.width);
                scratch.tokens -= t;
                return;
            }
        }
    }

    /// Returns the state before token `t` on the best path to its state.
    #[inline]
    fn before(&self, scratch: &Scratch, t: usize, state: u8) -> u8 {
        let back = scratch.back[t * self.layout.width + usize::from(state)];
        match usize::from(state).checked_sub(self.layout.free) {
            None => back,
            Some(inner) => self.states.entered_from(inner)[usize::from(back)] as u8,
        }
    }

    /// Follows the best path to a state of token `last`.
    fn trace(&self, scratch: &Scratch, last: usize, mut state: u8, path: &mut Vec<u8>) {
        path.resize(last + 1, state);
        for t in (1..=last).rev() {
            state = self.before(scratch, t, state);
            path[t - 1] = state;
        }
    }

    /// Subtracts from each state's path the logarithm of the sum of its steps to the token of this row.
    fn weigh_locally(&self, row: &[f32], before: &mut [f32]) {
        let width = self.layout.width;
        let most = kernel::largest(row);
        let mut factors = [0.0f32; 256];
        let factors = &mut factors[..width];
        kernel::exp_row(factors, row, most);
        // Sums and logarithms are expensive: a path this far below the best, which is at 0, is dropped.
        let mut totals = [1.0f32; 256];
        for (state, (path, total)) in before.iter().zip(&mut totals).enumerate() {
            if *path > HOPELESS {
                *total = self.local_total(state, factors).max(f32::MIN_POSITIVE);
            }
        }
        for (path, total) in before.iter_mut().zip(totals) {
            let weighed = *path - (most + kernel::ln(total));
            *path = if *path > HOPELESS { weighed } else { FORBIDDEN };
        }
    }
}
