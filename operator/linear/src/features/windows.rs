//! The features of one long note, window by window: the columns of the whole note with the memory of a
//! window.
//!
//! A token's features need little of the rest of its note: a [`Cursor`] for its line and its run of tokens,
//! the evidence of its word, and the rules' spans. Evidence and rules need the whole note, and are computed
//! in a first pass that members with equal features share.

mod carried;

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::ops::Range;
use std::sync::Arc;

use lethe_core::{NoteBatch, NoteView, TagError, TakenCache};
use lethe_dictionaries::Matcher;

use super::document::Evidence;
use super::hash::{pair, word_key};
use super::hits::Found;
use super::layout::{AHEAD, BEHIND, Cursor, Gap, Laid, gap_of};
use super::spelling::{Form, mark};
use super::tables::Tables;
use super::words::{KeyHasher, Lists, Word, Words};
use super::{Extractor, Scratch};
use crate::Columns;
use carried::{Active, Parts, Phrases};

/// Tokens on both sides of a window whose features are needed: the largest shift of a view.
const REACH: usize = 3;

/// Tokens on both sides of those whose parts of speech are read.
const PARTS: usize = 2;

/// The most word types of a note that get numbers; with 32 bytes each they take 8 MiB, and twice that while
/// the table grows. Greedy decoding does not remember types that first occur later.
const MOST_TYPES: usize = 1 << 18;

/// The results of a first pass over a long note.
#[derive(Default)]
pub(crate) struct FirstPass {
    evidence: Evidence,
    rules: Vec<Found>,
}

/// A window of a long note: the columns of its tokens and of a few around them.
#[derive(Clone, Debug)]
pub struct Window {
    /// The columns of one note, which ends at the note's end or as many tokens after the window as a view may
    /// shift.
    pub columns: Columns,
    /// The window's tokens within those of the columns.
    pub inner: Range<usize>,
    /// For each token of the window, a number that its word has in every window; 0 for a word without one.
    /// Only greedy decoding reads it; it may be empty otherwise.
    pub words: Vec<u32>,
    /// Whether the note ends with the window.
    pub last: bool,
}

/// Returns a note's windows in sequence.
pub(crate) struct Windows<'e, 'n> {
    extractor: &'e Extractor,
    note: NoteView<'n>,
    size: usize,
    pass: Arc<FirstPass>,
    scratch: TakenCache<'e, Scratch>,
    matcher: Option<Matcher<'e>>,
    /// The first token that has not been in a window.
    next: usize,
    cursor: Cursor,
    phrases: Phrases,
    rules: Active,
    parts: Parts,
    numbers: Option<HashMap<u128, u32, BuildHasherDefault<KeyHasher>>>,
}

/// A stretch of a long note with the words of its tokens.
struct Near<'a> {
    note: &'a NoteView<'a>,
    first: usize,
    words: &'a [Word],
}

impl Laid for Near<'_> {
    fn tokens(&self) -> usize {
        self.note.tokens.len()
    }

    #[inline]
    fn word(&self, token: usize) -> &Word {
        &self.words[token - self.first]
    }

    #[inline]
    fn gap(&self, token: usize) -> Gap {
        let tokens = self.note.tokens;
        if token == 0 || token == tokens.len() {
            return Gap::Edge;
        }
        let (end, start) = (tokens.ends[token - 1] as usize, tokens.starts[token] as usize);
        gap_of(&self.note.text.as_bytes()[end..start])
    }

    #[inline]
    fn mark(&self, token: usize) -> (bool, u8) {
        let word = self.note.word(token);
        let form = Form::of(word, self.note.tokens.kind(token));
        (form == Form::Mark, mark(word))
    }
}

/// Finds the words of a stretch's tokens.
fn find(
    words: &mut Words,
    note: &NoteView<'_>,
    tokens: Range<usize>,
    lists: &Lists<'_>,
    mut each: impl FnMut(&mut Words, usize, usize),
) {
    for i in tokens {
        let (start, end) = (note.tokens.starts[i] as usize, note.tokens.ends[i] as usize);
        let word = words.find(note.text, (start, end, note.tokens.kind(i)), lists);
        each(words, i, word);
    }
}

/// Returns the tokens whose words the positions of `tokens` need.
fn around(tokens: &Range<usize>, count: usize) -> Range<usize> {
    tokens.start.saturating_sub(BEHIND)..(tokens.end + AHEAD).min(count)
}

impl Extractor {
    /// Returns the windows of a row, of `size` tokens each. With `numbered`, words have numbers.
    ///
    /// # Errors
    /// [`TagError::OverBudget`].
    pub(crate) fn windows<'e, 'n>(
        &'e self,
        batch: &'n NoteBatch,
        row: usize,
        size: usize,
        numbered: bool,
    ) -> Result<Windows<'e, 'n>, TagError> {
        let first = batch.shared(pair(self.key, row as u64), || self.first_pass(batch, row, size));
        let pass = match &*first {
            Ok(pass) => Arc::clone(pass),
            Err(error) => return Err(error.clone()),
        };
        let note = batch.note(row);
        let cursor = Cursor::new(&Near {
            note: &note,
            first: 0,
            words: &[],
        });
        Ok(Windows {
            extractor: self,
            note,
            size: size.max(1),
            pass,
            scratch: self.caches.take(),
            matcher: self.config.lists.then(|| self.dictionary.matcher()),
            next: 0,
            cursor,
            phrases: Phrases::default(),
            rules: Active::default(),
            parts: Parts::default(),
            numbers: numbered.then(HashMap::default),
        })
    }

    fn first_pass(&self, batch: &NoteBatch, row: usize, size: usize) -> Result<Arc<FirstPass>, TagError> {
        let mut pass = FirstPass::default();
        if let Some(rules) = &self.rules {
            pass.rules = match batch.len() {
                1 => rules.find(batch)?,
                _ => rules.find(&batch.slice(row, 1))?,
            };
        }
        if self.config.document {
            let mut scratch = self.caches.take();
            pass.evidence = self.evidence(batch, row, size.max(1), &mut scratch.words)?;
        }
        Ok(Arc::new(pass))
    }

    /// Reads the note for evidence.
    fn evidence(
        &self,
        batch: &NoteBatch,
        row: usize,
        size: usize,
        words: &mut Words,
    ) -> Result<Evidence, TagError> {
        let (note, lists) = (batch.note(row), self.lists());
        let count = note.tokens.len();
        let mut evidence = Evidence::default();
        let mut near: Vec<Word> = Vec::new();
        let mut cursor = Cursor::new(&Near {
            note: &note,
            first: 0,
            words: &[],
        });
        for start in (0..count).step_by(size) {
            let tokens = start..(start + size).min(count);
            let all = around(&tokens, count);
            // This clears the cache if it has too many words.
            drop(words.begin(0));
            near.clear();
            find(words, &note, all.clone(), &lists, |words, _, word| {
                near.push(*words.word(word));
            });
            let laid = Near {
                note: &note,
                first: all.start,
                words: &near,
            };
            for i in tokens {
                let place = cursor.next(&laid, note.sentence_ends);
                let before = if i == 0 { 0 } else { laid.word(i - 1).norm };
                evidence.read(i, laid.word(i), &place, before);
            }
            batch.advance()?;
        }
        Ok(evidence)
    }
}

impl Iterator for Windows<'_, '_> {
    type Item = Window;

    fn next(&mut self) -> Option<Window> {
        let count = self.note.tokens.len();
        let window = self.next..(self.next + self.size).min(count);
        if window.is_empty() {
            return None;
        }
        let tokens = window.start.saturating_sub(REACH)..(window.end + REACH).min(count);
        let next_start = window.end.saturating_sub(REACH);
        let all = around(&tokens, count);
        let Self {
            extractor,
            note,
            scratch,
            ..
        } = self;
        let Scratch {
            words,
            interners,
            read,
            ..
        } = &mut **scratch;
        let lists = extractor.lists();
        let mut tables = Tables::new(interners, words.begin(tokens.len()), tokens.len());
        read.clear();
        let (mut near, mut vectors) = (Vec::with_capacity(all.len()), Vec::new());
        find(words, note, all.clone(), &lists, |words, i, word| {
            near.push(*words.word(word));
            if lists.tagger.is_some() {
                vectors.push(words.vectors(word));
            }
            if tokens.contains(&i) {
                read.ids.push(words.push_found(&mut tables.words, word));
            }
        });
        read.words
            .extend_from_slice(&near[tokens.start - all.start..tokens.end - all.start]);
        let laid = Near {
            note,
            first: all.start,
            words: &near,
        };
        // The next window begins a few tokens before the end of this one.
        let mut next_cursor = self.cursor;
        for i in tokens.clone() {
            if i == next_start {
                next_cursor = self.cursor;
            }
            read.places.push(self.cursor.next(&laid, note.sentence_ends));
        }
        self.cursor = next_cursor;
        tables.push_places(read);
        if let Some(matcher) = &mut self.matcher {
            let mut hits = self.phrases.hits(note, matcher, extractor, &tokens, next_start);
            tables.push_phrases(read, &mut hits);
        }
        if extractor.rules.is_some() {
            let mut hits = self.rules.hits(&self.pass.rules, &tokens);
            tables.push_rules(read, &mut hits);
        }
        if extractor.config.document {
            tables.push_evidence(read, tokens.start, &self.pass.evidence);
        }
        if let Some(tagger) = lists.tagger {
            let parts = &mut self.parts;
            parts.read(note, tagger, tokens.end + PARTS, &vectors, all.start);
            let first = parts.first();
            tables.push_tags(parts.tags(), tokens.start - first..tokens.end - first);
            // The next window also reads the tags before its first token.
            parts.forget(next_start.saturating_sub(PARTS));
        }
        let inner = window.start - tokens.start..window.end - tokens.start;
        let columns = tables.finish(std::iter::once(0..tokens.len()).collect(), &extractor.config);
        let words = self.number(window.clone());
        self.next = window.end;
        Some(Window {
            columns,
            inner,
            words,
            last: window.end == count,
        })
    }
}

impl Windows<'_, '_> {
    /// Returns the numbers of a window's words.
    fn number(&mut self, window: Range<usize>) -> Vec<u32> {
        let (note, Some(numbers)) = (&self.note, &mut self.numbers) else {
            return Vec::new();
        };
        let number = |i: usize| {
            let (start, end) = (note.tokens.starts[i] as usize, note.tokens.ends[i] as usize);
            let key = word_key(note.text.as_bytes(), start, end);
            let next = numbers.len() as u32 + 1;
            match numbers.get(&key) {
                Some(&number) => number,
                None if next as usize > MOST_TYPES => 0,
                None => {
                    numbers.insert(key, next);
                    next
                }
            }
        };
        window.map(number).collect()
    }
}

#[cfg(test)]
mod tests;
