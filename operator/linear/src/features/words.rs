//! The words of notes and their own features, which are computed once per word and cached between batches.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::OnceLock;

use lethe_core::{TokenKind, vec_bytes};
use lethe_dictionaries::Dictionary;
use lethe_text::fold;

use super::hash::{feature, mix, of_bytes, pair, word_key};
use super::lists::Groups;
use super::spelling::{Form, mark, number_class, shapes};
use crate::Table;
use crate::pos::{PosTagger, Vectors};

/// The most cached words; beyond it the cache is reset. With their features they take some 20 MB.
const REMEMBERED: usize = 1 << 15;

/// The properties of a word that the templates of context need.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word {
    /// Lower case without accents; for numbers of more than two digits only their length.
    pub(super) norm: u64,
    /// The folded word, also for numbers.
    pub(super) folded: u64,
    /// Its shape: the case of up to eight letters, the number of digits.
    pub(super) shape: u64,
    /// Its shape with each run as one character.
    pub(super) short: u64,
    /// A key of its groups of lists; 0 without any.
    pub(super) groups: u64,
    /// The number of its folded form, which words with the same folded form share.
    pub(super) number: u32,
    pub(super) form: Form,
    pub(super) colon: bool,
    /// A bit for a punctuation mark that is typical of network addresses, dates or numbers.
    pub(super) mark: u8,
    /// Whether a list has it as a word that announces the next words.
    pub(super) cue: bool,
}

/// The parts of a word's features: everything of the word itself, less of its neighbours, little of more
/// distant ones.
pub(super) const OWN: u8 = 0;
pub(super) const NEAR: u8 = 1;
pub(super) const FAR: u8 = 2;
const PARTS: usize = 3;

/// Word types with their features.
#[derive(Default)]
pub(super) struct Words {
    ids: HashMap<u128, u32, BuildHasherDefault<KeyHasher>>,
    /// The numbers of folded words.
    numbers: HashMap<u64, u32, BuildHasherDefault<KeyHasher>>,
    words: Vec<Word>,
    /// The features of one word after another, part by part.
    features: Vec<u64>,
    ends: Vec<[u32; PARTS]>,
    /// The key of each word's features.
    keys: Vec<u64>,
    /// The vectors of each word for parts of speech; empty without a tagger.
    vectors: Vec<Vectors>,
    /// For each word the last batch that had it, and its type there.
    seen: Vec<(u32, u32)>,
    batch: u32,
}

/// A batch's words.
pub(super) struct BatchWords {
    table: Table,
    keys: Vec<u64>,
    /// The words by type; type 0 is outside.
    pub(super) words: Vec<Word>,
    /// The vectors of each type for parts of speech; empty without a tagger.
    pub(super) vectors: Vec<Vectors>,
}

const OUTSIDE: Word = Word {
    norm: 1,
    folded: 1,
    shape: 1,
    short: 1,
    groups: 0,
    number: 0,
    form: Form::Mark,
    colon: false,
    mark: 0,
    cue: false,
};

impl Words {
    /// Returns the number of cached words.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    /// Returns the bytes of memory that it takes.
    pub(super) fn bytes(&self) -> usize {
        // Each entry of a map has a byte of its own for the search.
        let ids = self.ids.capacity() * (size_of::<(u128, u32)>() + 1);
        let numbers = self.numbers.capacity() * (size_of::<(u64, u32)>() + 1);
        let words = vec_bytes(&self.words) + vec_bytes(&self.vectors);
        let features = vec_bytes(&self.features) + vec_bytes(&self.ends) + vec_bytes(&self.keys);
        ids + numbers + words + features + vec_bytes(&self.seen)
    }

    /// Begins a batch of about this many tokens.
    pub(super) fn begin(&mut self, tokens: usize) -> BatchWords {
        if self.words.len() > REMEMBERED || self.batch == u32::MAX {
            *self = Self::default();
        }
        self.batch += 1;
        BatchWords {
            table: Table {
                ends: (1..=PARTS as u32).collect(),
                features: (0..PARTS as u64).map(|part| feature(90, part)).collect(),
                ids: Vec::with_capacity(tokens),
                parts: PARTS,
                ..Table::default()
            },
            keys: vec![0],
            words: vec![OUTSIDE],
            vectors: vec![Vectors::default()],
        }
    }

    /// Adds the token `start..end` of `text` to a batch, and returns its type there.
    #[inline]
    pub(super) fn push(
        &mut self,
        batch: &mut BatchWords,
        text: &str,
        token: (usize, usize, TokenKind),
        lists: &Lists<'_>,
    ) -> u32 {
        let word = self.find(text, token, lists);
        self.push_found(batch, word)
    }

    /// Returns the cache index of the word of the token `start..end` of `text`, valid until the next batch.
    #[inline]
    pub(super) fn find(
        &mut self,
        text: &str,
        (start, end, kind): (usize, usize, TokenKind),
        lists: &Lists<'_>,
    ) -> usize {
        let key = word_key(text.as_bytes(), start, end);
        match self.ids.get(&key) {
            Some(&word) => word as usize,
            None => {
                // Tokens are spans of their note, as the batch has checked.
                let word = text.get(start..end).unwrap_or_default();
                self.add(key, word, kind, lists)
            }
        }
    }

    /// Returns a word by its index.
    pub(super) fn word(&self, word: usize) -> &Word {
        &self.words[word]
    }

    /// Returns the vectors of a word, by its index.
    pub(super) fn vectors(&self, word: usize) -> Vectors {
        self.vectors.get(word).copied().unwrap_or_default()
    }

    /// Adds a token whose word was found to a batch, and returns its type there.
    #[inline]
    pub(super) fn push_found(&mut self, batch: &mut BatchWords, word: usize) -> u32 {
        let (seen, mut id) = self.seen[word];
        if seen != self.batch {
            id = batch.words.len() as u32;
            self.seen[word] = (self.batch, id);
            batch.words.push(self.words[word]);
            batch.vectors.extend(self.vectors.get(word));
            batch.keys.push(self.keys[word]);
            let ends = self.ends[word];
            let start = word
                .checked_sub(1)
                .map_or(0, |before| self.ends[before][PARTS - 1]);
            let table = &mut batch.table;
            let shift = table.features.len() as u32;
            table.ends.extend(ends.map(|end| shift + (end - start)));
            let own = &self.features[start as usize..ends[PARTS - 1] as usize];
            table.features.extend_from_slice(own);
        }
        batch.table.ids.push(id);
        id
    }

    #[cold]
    fn add(&mut self, key: u128, text: &str, kind: TokenKind, lists: &Lists<'_>) -> usize {
        let mut parts: [Vec<u64>; PARTS] = Default::default();
        let [own, near, far] = &mut parts;
        let mut word = templates(text, kind, lists, own, near, far);
        let next = self.numbers.len() as u32 + 1;
        word.number = *self.numbers.entry(word.folded).or_insert(next);
        self.ends.push(parts.map(|part| {
            self.features.extend(part);
            self.features.len() as u32
        }));
        self.keys.push(pair(key as u64, (key >> 64) as u64));
        self.words.push(word);
        self.vectors
            .extend(lists.tagger.map(|tagger| tagger.vectors(text)));
        self.seen.push((0, 0));
        self.ids.insert(key, self.words.len() as u32 - 1);
        self.words.len() - 1
    }
}

impl BatchWords {
    /// Returns the table.
    pub(super) fn into_table(self) -> Table {
        Table {
            keys: OnceLock::from(self.keys),
            ..self.table
        }
    }
}

/// The lists for look-ups of words; `None` if the settings leave them out.
pub(super) struct Lists<'d> {
    pub(super) tagger: Option<&'d PosTagger>,
    pub(super) dictionary: Option<(&'d Dictionary, &'d Groups)>,
}

/// Writes the features of a word: its own, those that its neighbours read, and those that more distant words
/// read.
fn templates(
    text: &str,
    kind: TokenKind,
    lists: &Lists<'_>,
    own: &mut Vec<u64>,
    near: &mut Vec<u64>,
    far: &mut Vec<u64>,
) -> Word {
    let folded: Vec<char> = fold(text).chars().collect();
    let hash = |chars: &[char]| {
        chars
            .iter()
            .fold(chars.len() as u64, |h, &c| pair(h, u64::from(c)))
    };
    let form = Form::of(text, kind);
    let folded_hash = hash(&folded);
    let length = folded.len() as u64;
    let (shape, short) = shapes(text);
    let norm = if form == Form::Digits && length > 2 {
        feature(1, length)
    } else {
        folded_hash
    };

    own.push(feature(10, of_bytes(text.as_bytes())));
    own.push(feature(11, folded_hash));
    if kind == TokenKind::Letters {
        for n in 1..=5.min(folded.len()) {
            own.push(feature(12, hash(&folded[..n])));
            own.push(feature(13, hash(&folded[folded.len() - n..])));
        }
        own.push(feature(14, length.min(16)));
        own.push(feature(15, pair(form as u64, length.min(5))));
        let vowels = folded.iter().filter(|c| "aeiouy".contains(**c)).count();
        own.push(feature(16, pair(form as u64, vowels.min(3) as u64)));
        own.push(feature(17, u64::from(text.is_ascii())));
        let suffix = hash(&folded[folded.len().saturating_sub(3)..]);
        own.push(feature(18, pair(form as u64, suffix)));
        near.push(feature(25, suffix));
        near.push(feature(26, hash(&folded[..3.min(folded.len())])));
    }
    if kind == TokenKind::Digits {
        number(text, own);
        near.push(feature(27, number_class(text)));
    }
    own.push(feature(19, shape));
    own.push(feature(20, short));
    own.push(feature(21, form as u64));

    near.push(feature(28, norm));
    near.push(feature(29, shape));
    near.push(feature(30, form as u64));
    far.push(feature(31, norm));
    far.push(feature(32, short));

    let (mut groups, mut cue) = (0, false);
    if let Some((dictionary, names)) = lists.dictionary
        && kind != TokenKind::Punctuation
    {
        let entry = dictionary.word(text);
        let held = names.of(entry);
        let all = names.all(held);
        groups = all;
        cue = names.is_cue(entry);
        for name in names.names(held) {
            own.push(feature(40, name));
            near.push(feature(41, name));
        }
        own.push(feature(42, all));
        own.push(feature(43, pair(all, form as u64)));
        near.push(feature(44, pair(all, form as u64)));
        far.push(feature(45, pair(all, form as u64)));
        if form != Form::Lower {
            names.frequencies(entry, 46, own);
        }
    }
    Word {
        norm,
        folded: folded_hash,
        shape,
        short,
        groups,
        form,
        colon: text == ":" || text == "：",
        mark: mark(text),
        number: 0,
        cue,
    }
}

/// Writes the possible kinds of a number.
fn number(text: &str, own: &mut Vec<u64>) {
    let length = text.chars().count() as u64;
    own.push(feature(33, length.min(16)));
    own.push(feature(34, number_class(text)));
    own.push(feature(35, u64::from(text.starts_with('0'))));
    let first: String = text.chars().take(2).collect();
    own.push(feature(36, pair(length, of_bytes(first.as_bytes()))));
}

/// Keys are words' bytes or already well mixed: one multiplication spreads them.
#[derive(Default)]
pub(super) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = pair(self.0, of_bytes(bytes));
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = mix(key);
    }

    fn write_u128(&mut self, key: u128) {
        self.0 = mix(key as u64 ^ ((key >> 64) as u64).rotate_left(29));
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use lethe_core::tokenize;

    use super::*;

    fn word(text: &str) -> Word {
        let mut kind = TokenKind::Letters;
        tokenize(text, |token| kind = token.kind);
        let lists = Lists {
            tagger: None,
            dictionary: None,
        };
        templates(
            text,
            kind,
            &lists,
            &mut Vec::new(),
            &mut Vec::new(),
            &mut Vec::new(),
        )
    }

    #[test]
    fn words_that_fold_alike_are_one_and_their_forms_differ() {
        assert_eq!(word("IBÁÑEZ").folded, word("Ibañez").folded);
        let forms = ["ruiz", "Ruiz", "RUIZ", "R", "28", ","].map(|text| word(text).form);
        use Form::{Digits, Lower, Mark, Title, Upper};
        assert_eq!(forms, [Lower, Title, Upper, Upper, Digits, Mark]);
    }

    #[test]
    fn long_numbers_are_told_apart_by_their_length_alone_and_short_ones_by_themselves() {
        assert_eq!(word("28013").norm, word("41001").norm);
        assert_ne!(word("28013").norm, word("410012").norm);
        assert_ne!(word("12").norm, word("13").norm);
    }

    #[test]
    fn shapes_keep_case_and_length_and_short_shapes_case_alone() {
        assert_eq!(word("Ruiz").shape, word("Vega").shape);
        assert_ne!(word("Ruiz").shape, word("Gómez").shape);
        assert_eq!(word("Ruiz").short, word("Gómez").short);
        assert_ne!(word("Ruiz").short, word("RUIZ").short);
    }
}
