//! The values to propagate, by their first words, so that a token needs a few look-ups however many values
//! begin with one word.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use crate::NoteView;

/// Values of up to this many words are looked up by all their words. Longer ones, which are rare, are
/// compared one by one.
const LOOKED_UP: usize = 32;

/// A value of one word: the order in which it was added, and its decision.
#[derive(Clone, Copy)]
struct Word {
    order: usize,
    origin: usize,
}

/// Values that begin with one word, in any case.
#[derive(Default)]
struct Begun<'a> {
    /// The last one-word value that also matches in other cases, if these begin with a capital.
    folded: Option<Word>,
    /// The numbers of words of the values that are looked up, the largest first.
    lengths: Vec<usize>,
    long: Vec<(Vec<&'a str>, usize)>,
}

/// The values of a note.
#[derive(Default)]
pub(super) struct Values<'a> {
    /// The values by their first word in lower case.
    begun: HashMap<String, Begun<'a>>,
    words: HashMap<&'a str, Word>,
    /// The values of several words that are looked up.
    short: HashMap<Vec<&'a str>, usize>,
    long: HashSet<Vec<&'a str>>,
    /// The words of the values of several words.
    several: usize,
}

/// Bytes of a first word, in a table that grows by doubling.
const BEGUN_BYTES: usize = 320;
/// Bytes of a value of one word.
const WORD_BYTES: usize = 80;
/// Bytes of a value of several words.
const SEVERAL_BYTES: usize = 192;

impl<'a> Values<'a> {
    /// Returns their memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.begun.len() * BEGUN_BYTES
            + self.words.len() * WORD_BYTES
            + (self.short.len() + self.long.len()) * SEVERAL_BYTES
            + self.several * size_of::<&str>()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.begun.is_empty()
    }

    /// Adds a value unless it exists. If `folded`, a one-word value also matches in other cases that begin
    /// with a capital.
    pub(super) fn add(&mut self, words: Vec<&'a str>, folded: bool, origin: usize) {
        let Some(&first) = words.first() else { return };
        let begun = self.begun.entry(first.to_lowercase()).or_default();
        if words.len() == 1 {
            let order = self.words.len();
            let word = Word { order, origin };
            if !self.words.contains_key(first) {
                self.words.insert(first, word);
                begun.folded = if folded { Some(word) } else { begun.folded };
            }
        } else if words.len() > LOOKED_UP {
            if self.long.insert(words.clone()) {
                self.several += 2 * words.len();
                begun.long.push((words, origin));
            }
        } else {
            let length = words.len();
            if let Entry::Vacant(vacant) = self.short.entry(words) {
                vacant.insert(origin);
                self.several += length;
            }
            if let Err(at) = begun.lengths.binary_search_by(|other| length.cmp(other)) {
                begun.lengths.insert(at, length);
            }
        }
    }

    /// Returns the longest value that begins at a token and ends before `free_to`, as the token itself does:
    /// its origin and its number of tokens. If the token matches several one-word values in different cases,
    /// the last wins.
    pub(super) fn at(&self, note: NoteView<'_>, token: usize, free_to: usize) -> Option<(usize, usize)> {
        let first = note.word(token);
        let begun = self.begun.get(&first.to_lowercase())?;
        let fits = |length: usize| {
            let last = token + length - 1;
            last < note.tokens.len() && note.tokens.span(last).end() <= free_to
        };
        let stands = |(words, _): &&(Vec<&str>, usize)| {
            let mut words = words.iter().enumerate();
            words.all(|(i, word)| note.word(token + i) == *word)
        };
        let long = begun.long.iter().filter(|(words, _)| fits(words.len()));
        if let Some((words, origin)) = long.filter(stands).max_by_key(|(words, _)| words.len()) {
            return Some((*origin, words.len()));
        }
        let mut words = [""; LOOKED_UP];
        let mut read = 0;
        for length in begun.lengths.iter().copied().filter(|&length| fits(length)) {
            while read < length {
                words[read] = note.word(token + read);
                read += 1;
            }
            if let Some(&origin) = self.short.get(&words[..length]) {
                return Some((origin, length));
            }
        }
        let capital = first.chars().next().is_some_and(char::is_uppercase);
        let folded = if capital { begun.folded } else { None };
        let word = self.words.get(first).copied().into_iter().chain(folded);
        let word = word.max_by_key(|word| word.order)?;
        Some((word.origin, 1))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::NoteBatch;

    /// A value, and whether it also matches in other cases.
    type Value<'a> = (Vec<&'a str>, bool);

    /// Returns the longest value at a token, and of equal ones the last, by comparing all.
    fn by_comparing(
        values: &[Value<'_>],
        note: NoteView<'_>,
        token: usize,
        free_to: usize,
    ) -> Option<(usize, usize)> {
        let capital = note.word(token).chars().next().is_some_and(char::is_uppercase);
        let mut best = None;
        let mut seen = Vec::new();
        for (origin, (words, folded)) in values.iter().enumerate() {
            if seen.contains(&words) {
                continue;
            }
            seen.push(words);
            let last = token + words.len() - 1;
            let fits = last < note.tokens.len() && note.tokens.span(last).end() <= free_to;
            let folded = *folded && words.len() == 1 && capital;
            let same = |(i, sought): (usize, &&str)| {
                let word = note.word(token + i);
                word == *sought || (folded && word.to_lowercase() == sought.to_lowercase())
            };
            let is_longer = best.is_none_or(|(_, length)| words.len() >= length);
            if fits && words.iter().enumerate().all(same) && is_longer {
                best = Some((origin, words.len()));
            }
        }
        best
    }

    fn word() -> impl Strategy<Value = &'static str> {
        prop_oneof![
            Just("a"),
            Just("A"),
            Just("bo"),
            Just("Bo"),
            Just("BO"),
            Just("7"),
            Just("-")
        ]
    }

    proptest! {
        #[test]
        fn the_value_is_found_that_comparing_with_all_finds(
            values in proptest::collection::vec(
                (prop_oneof![proptest::collection::vec(word(), 1..5), proptest::collection::vec(Just("a"), 30..36)], any::<bool>()),
                0..12,
            ),
            text in proptest::collection::vec(word(), 1..80),
            free in 0..200usize,
        ) {
            let text = text.join(" ");
            let batch = NoteBatch::from_texts([text.as_str()]).unwrap();
            let note = batch.note(0);
            let mut all = Values::default();
            for (origin, (words, folded)) in values.iter().enumerate() {
                all.add(words.clone(), *folded && words.len() == 1, origin);
            }
            for token in 0..note.tokens.len() {
                let free_to = note.tokens.span(token).end() + free;
                prop_assert_eq!(all.at(note, token, free_to), by_comparing(&values, note, token, free_to));
            }
        }
    }
}
