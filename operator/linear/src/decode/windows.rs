//! Decodes a long note window by window, with the spans and scores of the whole note.
//!
//! A greedy decoder carries its history along. The best path of a chain is settled up to the point where the
//! paths to all states meet, and its spans are scored up to a point where three tokens in a row are outside
//! every span: no score depends on tokens across it.

use lethe_core::{TagError, vec_bytes};
use lethe_learn::{Spanned, Spans};

use super::{AROUND, Decoder, Memory, OUTSIDE, least};
use crate::chain::Scratch;
use crate::features::Window;
use crate::greedy::Past;
use crate::scorer::Plan;

/// The most tokens that wait to be settled or scored, beyond a window. If paths do not meet for this long,
/// the best one so far is taken; if spans follow each other this closely, their scores are computed
/// separately.
const WAITING: usize = 1 << 13;

/// The state of a long note from window to window.
#[derive(Default)]
pub(super) struct Long {
    /// The paths, from the first unsettled token.
    paths: Scratch,
    /// Scores from the first token whose spans were not returned yet, one row per token.
    scores: Vec<f32>,
    /// States of those tokens that are settled.
    path: Vec<u8>,
    part: Vec<u8>,
    new: Vec<f32>,
}

impl Long {
    /// Returns the bytes of memory that it takes.
    pub(super) fn bytes(&self) -> usize {
        self.paths.bytes() + vec_bytes(&self.scores) + vec_bytes(&self.new)
    }
}

impl Decoder {
    /// Returns whether decoding in windows needs numbers for the words of a note.
    pub(crate) const fn is_numbered(&self) -> bool {
        self.greedy.is_some()
    }

    /// Returns the spans of a long note with their scores, as [`Decoder::spans`] does for a batch. Calls
    /// `advance` after each window.
    ///
    /// # Errors
    /// The error of `advance`, which ends the work.
    pub fn spans_in_windows(
        &self,
        windows: impl IntoIterator<Item = Window>,
        mut advance: impl FnMut() -> Result<(), TagError>,
    ) -> Result<Vec<(Spanned, f32)>, TagError> {
        self.with_memory(|memory| {
            memory.long.paths.tokens = 0;
            memory.long.scores.clear();
            memory.long.path.clear();
            let mut spans = Spans::new(self.states().tags());
            // The state before the current stretch, and the state before its first unsettled token.
            let mut before = None;
            let mut begin = None;
            let mut past = Past::default();
            for window in windows {
                let plan = Plan::new(&self.model, &window.columns, &mut memory.cache);
                let note = 0..window.columns.tokens();
                plan.scores_of(
                    &self.model,
                    &mut memory.cache,
                    &note,
                    window.inner.clone(),
                    &mut memory.long.new,
                );
                if self.greedy.is_some() {
                    self.resume_greedily(&window, &mut past, memory, &mut spans);
                } else {
                    begin = self.resume(window.last, begin, memory);
                    before = self.give(window.last, before, memory, &mut spans);
                }
                advance()?;
            }
            Ok(spans.into_found())
        })
    }

    fn resume_greedily(&self, window: &Window, past: &mut Past, memory: &mut Memory, spans: &mut Spans<'_>) {
        let Some(greedy) = &self.greedy else { return };
        let Memory {
            long,
            soft,
            path,
            tags,
            ..
        } = memory;
        greedy.resume(&long.new, &window.words, past, path, Some(soft));
        if window.last {
            greedy.close(path, Some(soft));
        }
        self.tags_of(path, tags);
        let scored = self.states().tags().decode(tags);
        let outside = |t: usize| soft[t * self.states().width() + OUTSIDE];
        let scored = scored.into_iter().map(|span| (span, least(&span, outside)));
        spans.push_scored(tags, scored);
    }

    /// Continues the paths and settles what it can. `begin` is the state before the stretch; returns the one
    /// for the next stretch.
    fn resume(&self, last: bool, begin: Option<u8>, memory: &mut Memory) -> Option<u8> {
        let Long {
            paths,
            scores,
            path,
            part,
            new,
        } = &mut memory.long;
        scores.extend_from_slice(new);
        self.chain.forward_paths(begin, new, paths);
        if last {
            self.chain.finish_path(paths, part);
        } else {
            self.chain.settle_path(paths, part);
            if paths.tokens > WAITING {
                let mut rest = Vec::new();
                self.chain.finish_path(paths, &mut rest);
                paths.tokens = 0;
                part.extend(rest);
            }
        }
        path.extend_from_slice(part);
        path.last().copied().or(begin)
    }

    /// Returns the spans of settled tokens. `before` is the state before them; returns the one for the next
    /// tokens.
    fn give(&self, last: bool, before: Option<u8>, memory: &mut Memory, spans: &mut Spans<'_>) -> Option<u8> {
        let Memory {
            long,
            soft,
            tags,
            scratch,
            ..
        } = memory;
        let settled = long.path.len();
        let end = if last { settled } else { cut(&long.path) };
        let (given, _) = long.path.split_at(end);
        let Some(&state) = given.last() else { return before };
        self.tags_of(given, tags);
        let found = self.states().tags().decode(tags);
        let width = self.states().width();
        let scores = &long.scores[..end * width];
        let scored = self.scored(&found, before, given, scores, soft, scratch);
        spans.push_scored(tags, scored);
        long.path.drain(..end);
        long.scores.drain(..end * width);
        Some(state)
    }

    /// Converts a path to tags.
    fn tags_of(&self, path: &[u8], tags: &mut Vec<u16>) {
        tags.clear();
        // Every state of a path has a tag.
        let tag = |&state: &u8| self.states().tag(state.into()).unwrap_or(0);
        tags.extend(path.iter().map(tag));
    }
}

/// Returns the position up to which spans of an unfinished path are returned: before the last of three tokens
/// outside every span, or, if too many wait, before or after any such token.
fn cut(path: &[u8]) -> usize {
    const APART: usize = 2 * AROUND + 1;
    let outside = |state: &u8| usize::from(*state) == OUTSIDE;
    let apart = path
        .windows(APART)
        .rposition(|states| states.iter().all(outside))
        .map(|first| first + APART - AROUND);
    let waiting = path.len() - apart.unwrap_or(0);
    match apart {
        Some(end) if waiting <= WAITING => end,
        None if waiting <= WAITING => 0,
        // The token after the cut is outside too, so that no span is cut.
        _ => path
            .iter()
            .rposition(outside)
            .filter(|&last| last > apart.unwrap_or(0))
            .unwrap_or(path.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_cut_where_no_score_reaches_across() {
        assert_eq!(cut(&[1, 0, 0, 0, 1]), 3);
        assert_eq!(cut(&[1, 0, 0, 1]), 0);
        assert_eq!(cut(&[0, 0, 0, 1, 0, 0, 0]), 6);
        let mut close = [1, 0].repeat(WAITING);
        assert_eq!(cut(&close), 2 * WAITING - 1);
        close.fill(1);
        assert_eq!(cut(&close), 2 * WAITING);
    }
}
