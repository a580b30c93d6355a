//! Decoding from left to right, each state chosen by what was chosen before it: what a search-based learner (`searn`) does
//! when it trains and when it runs.

use crate::chain::Layout;
use crate::model::Model;
use crate::states::FORBIDDEN;
use crate::{States, kernel};

/// No state yet: a word that did not come before.
const NEVER: u8 = u8::MAX;

/// Weights of what was chosen before.
#[derive(Clone, Debug)]
pub(crate) struct Greedy {
    states: States,
    /// A row for each state before, and one for the note's start; forbidden steps [`FORBIDDEN`].
    after: Vec<f32>,
    /// A row for each state two before.
    second: Vec<f32>,
    /// A row for each state that the same word had last.
    same: Vec<f32>,
    warmth: f32,
}

/// What a path through a note was so far, as far as it bears on the rest.
#[derive(Clone, Debug, Default)]
pub(crate) struct Past {
    before: Option<u8>,
    before2: Option<u8>,
    /// For each word the state that it had last.
    last: Vec<u8>,
}

impl Greedy {
    pub(crate) fn new(model: &Model) -> Self {
        Self::of(model.states(), model.steps(), model.history(), model.warmth())
    }

    /// From steps in [`Layout`]'s order and history of twice a row a state.
    pub(crate) fn of(states: &States, steps: &[f32], history: &[f32], warmth: f32) -> Self {
        let width = states.width();
        let layout = Layout::of(states);
        let mut after = vec![FORBIDDEN; (width + 1) * width];
        for before in std::iter::once(None).chain(states.iter().map(Some)) {
            for next in states.iter() {
                if let Some(at) = layout.at(states, before, next) {
                    after[before.unwrap_or(width) * width + next] = steps[at];
                }
            }
        }
        let (second, same) = history.split_at(history.len() / 2);
        Self {
            states: states.clone(),
            after,
            second: second.to_vec(),
            same: same.to_vec(),
            warmth,
        }
    }

    /// The path through a note. `words` says which tokens are the same word; `past` is memory. Where `marginals` is wanted,
    /// it gets each token's probabilities given the path before it.
    pub(crate) fn path(
        &self,
        scores: &[f32],
        words: &[u32],
        past: &mut Past,
        path: &mut Vec<u8>,
        mut marginals: Option<&mut Vec<f32>>,
    ) {
        (past.before, past.before2) = (None, None);
        self.resume(scores, words, past, path, marginals.as_deref_mut());
        for &word in words {
            past.last[word as usize] = NEVER;
        }
        self.close(path, marginals);
    }

    /// The path through a part of a note, after what `past` remembers of the parts before. A word 0 is not remembered.
    pub(crate) fn resume(
        &self,
        scores: &[f32],
        words: &[u32],
        past: &mut Past,
        path: &mut Vec<u8>,
        mut marginals: Option<&mut Vec<f32>>,
    ) {
        let width = self.states.width();
        path.clear();
        if let Some(marginals) = &mut marginals {
            marginals.clear();
            marginals.resize(scores.len(), 0.0);
        }
        let most = words.iter().copied().max().unwrap_or(0) as usize;
        if past.last.len() <= most {
            past.last.resize(most + 1, NEVER);
        }
        let mut sum = [0.0f32; 256];
        let sum = &mut sum[..width];
        for (t, (row, &word)) in scores.chunks_exact(width).zip(words).enumerate() {
            sum.copy_from_slice(row);
            let before = past.before.map_or(width, usize::from);
            kernel::add(sum, &self.after[before * width..][..width]);
            if let Some(before2) = past.before2 {
                kernel::add(sum, &self.second[usize::from(before2) * width..][..width]);
            }
            let seen = past.last[word as usize];
            if seen != NEVER {
                kernel::add(sum, &self.same[seen as usize * width..][..width]);
            }
            let mut best = 0;
            for (state, &score) in sum.iter().enumerate() {
                if score > sum[best] {
                    best = state;
                }
            }
            if let Some(marginals) = &mut marginals {
                let row = &mut marginals[t * width..][..width];
                let top = sum[best];
                for (p, &score) in row.iter_mut().zip(&*sum) {
                    *p = if score > FORBIDDEN / 2.0 {
                        kernel::exp((score - top) * self.warmth)
                    } else {
                        0.0
                    };
                }
                let total = kernel::sum(row);
                row.iter_mut().for_each(|p| *p /= total);
            }
            path.push(best as u8);
            (past.before2, past.before) = (past.before, Some(best as u8));
            if word != 0 {
                past.last[word as usize] = best as u8;
            }
        }
    }

    /// A note may not end in an open span, which only a scheme with last tokens knows: the last token is taken for outside.
    pub(crate) fn close(&self, path: &mut [u8], marginals: Option<&mut Vec<f32>>) {
        if let Some(end) = path.last_mut()
            && !self.states.closed().contains(end)
        {
            *end = 0;
            if let Some(marginals) = marginals {
                let width = self.states.width();
                let start = marginals.len() - width;
                marginals[start..].fill(0.0);
                marginals[start] = 1.0;
            }
        }
    }
}
