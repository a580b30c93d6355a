//! Decodes from left to right, choosing each state given the previous choices, as a search-based learner
//! (`searn`) does in training and at run time.

use crate::chain::Layout;
use crate::model::Model;
use crate::states::FORBIDDEN;
use crate::{States, kernel};

/// The state of a word that has not occurred yet.
const NEVER: u8 = u8::MAX;

/// Weights of the previous choices.
#[derive(Clone, Debug)]
pub(crate) struct Greedy {
    states: States,
    /// A row for each previous state, and one for the note's start; forbidden steps are [`FORBIDDEN`].
    after: Vec<f32>,
    /// A row for each state two tokens before.
    second: Vec<f32>,
    /// A row for each state of the last occurrence of the same word.
    same: Vec<f32>,
    warmth: f32,
}

/// The history of a path through a note, as far as it affects the rest.
#[derive(Clone, Debug, Default)]
pub(crate) struct Past {
    before: Option<u8>,
    before2: Option<u8>,
    /// The last state of each word.
    last: Vec<u8>,
}

impl Greedy {
    pub(crate) fn new(model: &Model) -> Self {
        Self::of(model.states(), model.steps(), model.history(), model.warmth())
    }

    /// Builds the weights from steps in [`Layout`]'s order and a history of two rows per state.
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

    /// Computes the path through a note. `words` identifies equal words; `past` is a buffer. If given,
    /// `marginals` gets each token's probabilities given the path before it.
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

    /// Computes the path through a part of a note, given the history `past` of the parts before. Word 0 is
    /// not remembered.
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

    /// Closes the path: a note cannot end in an open span, which only a scheme with last tokens has, so the
    /// last token becomes outside.
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
