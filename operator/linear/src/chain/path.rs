//! The best path (Viterbi 1967).

use super::{Chain, Layout, Scratch};
use crate::kernel;
use crate::states::{FORBIDDEN, LANES};

/// How far behind the best a path of a local chain is given up: a millionth of its probability. To catch up, it
/// would have to be certain over several tokens of which the best path knows nothing at all.
const HOPELESS: f32 = -14.0;

impl Chain {
    /// The best path through a note: a state a token. `scores` has a row of [`States::width`](crate::States::width) a
    /// token. Of equal paths the one whose states come first.
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
                // A state so far behind that no step from it could win is left out: with real notes nearly all.
                let sure = kernel::largest_sum(before, &self.least);
                let mut first = 0;
                let pairs = before
                    .as_chunks::<LANES>()
                    .0
                    .iter()
                    .zip(self.most.as_chunks::<LANES>().0);
                for (so_far, most) in pairs {
                    if kernel::largest_sum(so_far, most) >= sure {
                        for lane in 0..LANES {
                            if so_far[lane] + most[lane] >= sure {
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

    /// Takes from each state's path the logarithm of what its steps to the token of this row sum to.
    fn weigh_locally(&self, row: &[f32], before: &mut [f32]) {
        let width = self.layout.width;
        let most = kernel::largest(row);
        let mut factors = [0.0f32; 256];
        let factors = &mut factors[..width];
        kernel::exp_row(factors, row, most);
        // Sums and logarithms are dear: a path this far behind the best, which is at 0, is given up.
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
