//! Word types: the part of a network's input that depends on the word alone, computed once per type.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use lethe_core::{TokenKind, vec_bytes};
use serde::{Deserialize, Serialize};

/// The form in which a word is looked up in the word table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Casing {
    /// As written, else in lower case (NeuroNER). Digits count as zeros.
    AsWritten,
    /// In lower case, with digits as zeros (Lample 2016); the case is a feature of its own.
    Folded,
}

impl Casing {
    /// Returns the form that is looked up.
    pub fn form(self, word: &str) -> String {
        let zero = |c: char| if c.is_numeric() { '0' } else { c };
        match self {
            Self::AsWritten => word.chars().map(zero).collect(),
            Self::Folded => word.chars().flat_map(char::to_lowercase).map(zero).collect(),
        }
    }
}

/// Words and characters with rows of their own. Row 0 of either table is for all others.
#[derive(Clone, Default)]
pub(crate) struct Vocabulary {
    words: HashMap<Box<str>, u32, BuildHasherDefault<WordHasher>>,
    chars: HashMap<char, u32>,
}

impl Vocabulary {
    /// Creates the vocabulary from words and characters in the order of their rows, from 1 on.
    pub(crate) fn new<'w>(
        words: impl IntoIterator<Item = &'w str>,
        chars: impl IntoIterator<Item = char>,
    ) -> Self {
        let row = |i: usize| i as u32 + 1;
        let words = words.into_iter().enumerate();
        let chars = chars.into_iter().enumerate();
        Self {
            words: words.map(|(i, word)| (word.into(), row(i))).collect(),
            chars: chars.map(|(i, c)| (c, row(i))).collect(),
        }
    }

    /// Returns a word's row.
    pub(crate) fn word(&self, word: &str, casing: Casing) -> u32 {
        let form = casing.form(word);
        let found = self.words.get(&*form);
        let found = found.or_else(|| match casing {
            Casing::AsWritten => self.words.get(&*Casing::Folded.form(word)),
            Casing::Folded => None,
        });
        found.copied().unwrap_or(0)
    }
}

/// A word type's rows in the tables of a network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Type {
    pub(crate) word: u32,
    pub(crate) cap: u8,
    pub(crate) shape: u8,
    first: u32,
    end: u32,
}

/// The number of capitalisation classes.
pub(crate) const CAPS: usize = 6;
/// The number of shapes.
pub(crate) const SHAPES: usize = 64;
/// The characters of a word that are read, from its beginning; longer runs are not words.
const LONGEST: usize = 32;

/// Word types by their first occurrence. Holds words of notes; never printed, never written.
#[derive(Clone, Default)]
pub(crate) struct Types {
    places: HashMap<Box<str>, u32, BuildHasherDefault<WordHasher>>,
    types: Vec<Type>,
    chars: Vec<u32>,
}

impl Types {
    /// Returns the bytes of memory that it takes.
    pub(crate) fn bytes(&self) -> usize {
        // The allocator rounds the bytes of a key up to sixteen, and few words have more.
        let places = self.places.capacity() * (size_of::<(Box<str>, u32)>() + 16);
        places + vec_bytes(&self.types) + vec_bytes(&self.chars)
    }

    /// Returns the number of types.
    pub(crate) fn len(&self) -> usize {
        self.types.len()
    }

    /// Removes all types.
    pub(crate) fn clear(&mut self) {
        self.places.clear();
        self.types.clear();
        self.chars.clear();
    }

    /// Returns the type of this index.
    pub(crate) fn get(&self, at: u32) -> Type {
        self.types[at as usize]
    }

    /// Returns a type's characters, as rows of the character table; at least one.
    pub(crate) fn chars(&self, at: u32) -> &[u32] {
        let this = self.types[at as usize];
        &self.chars[this.first as usize..this.end as usize]
    }

    /// Returns the index of a word's type.
    #[inline]
    pub(crate) fn place(
        &mut self,
        word: &str,
        kind: TokenKind,
        vocabulary: &Vocabulary,
        casing: Casing,
    ) -> u32 {
        match self.places.get(word) {
            Some(&at) => at,
            None => self.add(word, kind, vocabulary, casing),
        }
    }

    #[cold]
    fn add(&mut self, word: &str, kind: TokenKind, vocabulary: &Vocabulary, casing: Casing) -> u32 {
        let first = self.chars.len() as u32;
        let rows = word.chars().take(LONGEST);
        self.chars
            .extend(rows.map(|c| vocabulary.chars.get(&c).copied().unwrap_or(0)));
        let at = self.types.len() as u32;
        self.types.push(Type {
            word: vocabulary.word(word, casing),
            cap: cap(word),
            shape: shape(word, kind),
            first,
            end: self.chars.len() as u32,
        });
        self.places.insert(word.into(), at);
        at
    }
}

/// Returns the capitalisation class: none, all, first only, a capital first and others, within, no letters.
fn cap(word: &str) -> u8 {
    let upper = word.chars().filter(|c| c.is_uppercase()).count();
    let lower = word.chars().filter(|c| c.is_lowercase()).count();
    let first = word.chars().next().is_some_and(char::is_uppercase);
    match (upper, lower, first) {
        (0, 0, _) => 5,
        (0, _, _) => 0,
        (1, 0, _) => 2,
        (_, 0, _) => 1,
        (1, _, true) => 2,
        (_, _, true) => 3,
        _ => 4,
    }
}

/// Returns the word shape: capitalisation and length for words, length for numbers, the character for
/// punctuation marks.
pub(crate) fn shape(word: &str, kind: TokenKind) -> u8 {
    let length = word.chars().count();
    match kind {
        TokenKind::Letters => cap(word) * 6 + [0, 0, 1, 2, 3, 3, 4, 4, 4].get(length).copied().unwrap_or(5),
        TokenKind::Digits => 36 + length.min(12) as u8,
        TokenKind::Punctuation => {
            let marks = ".,:;-/()@_º\"'%+";
            let at = word
                .chars()
                .next()
                .and_then(|c| marks.chars().position(|mark| mark == c));
            49 + at.map_or(marks.chars().count() as u8 - 1, |at| at.min(13) as u8)
        }
    }
}

/// FxHash (Firefox): words are short, and an adversary gains nothing from slow look-ups, whose number is
/// bounded.
#[derive(Clone, Default)]
pub(crate) struct WordHasher(u64);

impl WordHasher {
    #[inline]
    fn mix(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}

impl Hasher for WordHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let (words, tail) = bytes.as_chunks::<8>();
        for &word in words {
            self.mix(u64::from_le_bytes(word));
        }
        let mut last = [0; 8];
        last[..tail.len()].copy_from_slice(tail);
        self.mix(u64::from_le_bytes(last));
    }

    #[inline]
    fn write_u8(&mut self, byte: u8) {
        self.mix(u64::from(byte));
    }

    #[inline]
    fn finish(&self) -> u64 {
        // The table reads the top seven bits and the lowest ones.
        self.0 ^ self.0 >> 32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_looked_up_as_written_then_folded_and_digits_as_zeros() {
        let vocabulary = Vocabulary::new(["Ana", "ana", "00", "casa"], ['a', 'n']);
        let row = |word, casing| vocabulary.word(word, casing);
        assert_eq!(
            (row("Ana", Casing::AsWritten), row("Ana", Casing::Folded)),
            (1, 2)
        );
        assert_eq!(
            (row("CASA", Casing::AsWritten), row("47", Casing::Folded)),
            (4, 3)
        );
        assert_eq!(row("otra", Casing::Folded), 0);
    }

    #[test]
    fn a_word_has_one_type_and_its_characters() {
        let vocabulary = Vocabulary::new(["ana"], ['a', 'n']);
        let mut types = Types::default();
        let mut place = |word| types.place(word, TokenKind::Letters, &vocabulary, Casing::Folded);
        let (one, two, again) = (place("Ana"), place("ana"), place("Ana"));
        assert_eq!((one, two, again), (0, 1, 0));
        assert_eq!(types.chars(0), [0, 2, 1]);
        assert_eq!((types.get(0).word, types.get(0).cap, types.get(1).cap), (1, 2, 0));
    }

    #[test]
    fn every_word_has_a_shape_of_the_table() {
        for word in [
            "a",
            "ABCDEFGHIJ",
            "Ab",
            "aB",
            "1",
            "123456789012345",
            "(",
            "👩",
            "º",
            "日本",
        ] {
            for kind in [TokenKind::Letters, TokenKind::Digits, TokenKind::Punctuation] {
                assert!(usize::from(shape(word, kind)) < SHAPES && usize::from(cap(word)) < CAPS);
            }
        }
    }
}
