//! Finds words within one typing error with a symmetric-delete index (a word and all its one-letter
//! deletions).
//!
//! Two words at distance one always share a form after at most one deletion in each, so one look-up per
//! deletion finds every candidate; each is then verified. Only words of distance-1 lists with six letters or
//! more are indexed.

use std::ops::RangeInclusive;

use lethe_text::fold_char;

/// Shorter words differ by one letter too often for that to be an error.
pub(crate) const MIN_LETTERS: usize = 6;
/// Longer words are not looked up, so that a run of a million letters does not cost a million deletions.
const MAX_LETTERS: usize = 40;
/// Means "no word".
pub(crate) const NO_WORD: u32 = u32::MAX;

/// The words that may be misspelt, by the hashes of their deletion forms.
///
/// A hash is a polynomial in an odd base, so a form's hash follows from the whole word's in constant time,
/// and no form is ever built. Colliding hashes cost a comparison but never give a wrong result, since every
/// candidate is verified.
pub(crate) struct NearIndex {
    words: Vec<String>,
    /// Open addressing with linear probing, at most half full.
    table: Vec<(u64, u32)>,
    /// A bit for each hash, by its highest bits: most forms of an unknown word are in no part of the table.
    filter: Vec<u64>,
    edges: Edges,
    /// Lengths of words within one edit of one of `words`.
    lengths: RangeInclusive<usize>,
}

impl NearIndex {
    pub(crate) fn new(words: Vec<String>) -> Self {
        let lengths = || words.iter().map(|word| word.chars().count());
        let forms = lengths().map(|letters| letters + 1).sum::<usize>();
        let shortest = lengths().min().unwrap_or(MIN_LETTERS).max(MIN_LETTERS);
        let longest = lengths().max().unwrap_or(0);
        let mut made = Self {
            table: vec![(0, NO_WORD); (2 * forms).next_power_of_two()],
            // Eight to sixteen bits per form.
            filter: vec![0; (8 * forms).next_power_of_two().div_ceil(64)],
            edges: Edges::of(&words),
            lengths: shortest - 1..=longest + 1,
            words: vec![],
        };
        for (number, word) in words.iter().enumerate() {
            Letters::of(word)
                .into_iter()
                .for_each(|letters| letters.forms(|hash| made.insert(hash, number as u32)));
        }
        made.words = words;
        made
    }

    /// Returns the word with this number.
    pub(crate) fn word(&self, number: u32) -> Option<&str> {
        self.words.get(number as usize).map(String::as_str)
    }

    /// Returns whether a word of this many bytes may be within one typing error of an indexed one; false is
    /// certain.
    #[inline]
    pub(crate) fn may_be_near(&self, len: usize) -> bool {
        // A folded word has no more letters than the word has bytes.
        len >= *self.lengths.start()
    }

    /// Returns up to two words within one typing error of `word`, by number.
    pub(crate) fn find(&self, word: &str) -> [u32; 2] {
        let mut found = [NO_WORD; 2];
        // Folding keeps the length of ASCII words.
        if word.is_ascii() && !(self.lengths.contains(&word.len()) && self.edges.may_be_near(word.as_bytes()))
        {
            return found;
        }
        let Some(letters) = Letters::of(word).filter(|letters| self.lengths.contains(&letters.len)) else {
            return found;
        };
        // The filter is read for all forms first, since then no read waits for the previous result.
        let mut hashes = [0; MAX_LETTERS + 1];
        let (mut forms, mut hits) = (0, 0u64);
        letters.forms(|hash| {
            hashes[forms] = hash;
            hits |= u64::from(self.may_hold(hash)) << forms;
            forms += 1;
        });
        while hits != 0 {
            for number in self.candidates(hashes[hits.trailing_zeros() as usize]) {
                let fits = || {
                    self.word(number)
                        .is_some_and(|known| one_edit_apart(&letters.text(), known))
                };
                if !found.contains(&number) && found[1] == NO_WORD && fits() {
                    found[usize::from(found[0] != NO_WORD)] = number;
                }
            }
            hits &= hits - 1;
        }
        found.sort_unstable();
        found
    }

    fn insert(&mut self, hash: u64, number: u32) {
        let (word, bit) = self.filtered(hash);
        self.filter[word] |= 1 << bit;
        let mask = self.table.len() - 1;
        let mut place = hash as usize & mask;
        while self.table[place].1 != NO_WORD {
            if self.table[place] == (hash, number) {
                return;
            }
            place = (place + 1) & mask;
        }
        self.table[place] = (hash, number);
    }

    /// Returns the filter's bit of a hash: its word, and the position in it.
    #[inline]
    fn filtered(&self, hash: u64) -> (usize, u32) {
        // The table uses the low bits.
        let high = (hash >> 32) as usize;
        (high >> 6 & (self.filter.len() - 1), high as u32 & 63)
    }

    /// Returns whether a word may have the hash; false is certain.
    #[inline]
    fn may_hold(&self, hash: u64) -> bool {
        let (word, bit) = self.filtered(hash);
        self.filter[word] >> bit & 1 == 1
    }

    fn candidates(&self, hash: u64) -> impl Iterator<Item = u32> {
        let mask = self.table.len() - 1;
        (hash as usize..)
            .map(move |place| self.table[place & mask])
            .take_while(|&(_, number)| number != NO_WORD)
            .filter(move |&(other, _)| other == hash)
            .map(|(_, number)| number)
    }
}

/// The first three letters of words, and their last three. A word of five letters or more within one typing
/// error keeps one of the two, which rejects most other words without a hash.
struct Edges {
    first: Vec<u64>,
    last: Vec<u64>,
}

impl Edges {
    /// Number of bits for three letters.
    const BITS: u32 = 15;

    /// Returns the edges of `words`. A swap of the third and the fourth letter changes both edges of a
    /// six-letter word.
    fn of(words: &[String]) -> Self {
        let none = || vec![0; 1 << (Self::BITS - 6)];
        let insert = |edge: &mut [u64], three: [char; 3]| {
            let place = Self::place(three.map(u32::from));
            edge[place / 64] |= 1 << (place % 64);
        };
        let mut made = Self {
            first: none(),
            last: none(),
        };
        for letters in words.iter().filter_map(|word| Letters::of(word)) {
            let letters = &letters.letters[..letters.len];
            match (letters, letters.last_chunk()) {
                (&[a, b, c, d, ..], Some(&last)) if letters.len() >= MIN_LETTERS => {
                    insert(&mut made.first, [a, b, c]);
                    insert(&mut made.first, [a, b, d]);
                    insert(&mut made.last, last);
                }
                _ => made.first.fill(u64::MAX),
            }
        }
        made
    }

    /// Returns the position of three letters: different letters may share one, equal ones always do in any
    /// case.
    fn place(three: [u32; 3]) -> usize {
        three
            .iter()
            .fold(0, |place, letter| place << 5 | (letter & 31) as usize)
    }

    /// Returns whether an ASCII word may be within one edit of one of the words; false is certain.
    #[inline]
    fn may_be_near(&self, word: &[u8]) -> bool {
        let (Some(&first), Some(&last)) = (word.first_chunk(), word.last_chunk()) else {
            return false;
        };
        let holds = |edge: &[u64], three: [u8; 3]| {
            let place = Self::place(three.map(u32::from));
            edge[place / 64] >> (place % 64) & 1 == 1
        };
        holds(&self.first, first) | holds(&self.last, last)
    }
}

/// The letters of a folded word.
struct Letters {
    letters: [char; MAX_LETTERS],
    len: usize,
}

impl Letters {
    const BASE: u64 = 0x9e37_79b9_7f4a_7c15;
    /// `BASE * INVERSE` is 1 modulo 2^64.
    const INVERSE: u64 = {
        // Newton's iteration doubles the number of correct bits, from the three that every odd number has.
        let mut inverse = Self::BASE;
        let mut round = 0;
        while round < 5 {
            inverse = inverse.wrapping_mul(2u64.wrapping_sub(Self::BASE.wrapping_mul(inverse)));
            round += 1;
        }
        inverse
    };

    /// Returns `None` for a word that is too long.
    fn of(word: &str) -> Option<Self> {
        let mut made = Self {
            letters: ['\0'; MAX_LETTERS],
            len: 0,
        };
        let mut fits = true;
        for c in word.chars().take(MAX_LETTERS + 1) {
            fold_char(c, |folded| match made.letters.get_mut(made.len) {
                Some(letter) => {
                    *letter = folded;
                    made.len += 1;
                }
                None => fits = false,
            });
        }
        fits.then_some(made)
    }

    fn text(&self) -> String {
        self.letters[..self.len].iter().collect()
    }

    /// Calls `emit` with the hash of the word, and of the word without each of its letters.
    fn forms(&self, mut emit: impl FnMut(u64)) {
        let letters = &self.letters[..self.len];
        let mut power = 1u64;
        let mut whole = 0u64;
        for &letter in letters {
            whole = whole.wrapping_add(u64::from(letter).wrapping_mul(power));
            power = power.wrapping_mul(Self::BASE);
        }
        emit(mixed(whole));
        let (mut before, mut power) = (0u64, 1u64);
        for &letter in letters {
            let upto = before.wrapping_add(u64::from(letter).wrapping_mul(power));
            // Letters after the removed one move one position forward.
            let after = whole.wrapping_sub(upto).wrapping_mul(Self::INVERSE);
            emit(mixed(before.wrapping_add(after)));
            before = upto;
            power = power.wrapping_mul(Self::BASE);
        }
    }
}

/// Spreads a sum over all bits, since the table uses the low ones.
const fn mixed(sum: u64) -> u64 {
    let sum = (sum ^ sum >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    sum ^ sum >> 32
}

/// Returns whether one insertion, deletion, substitution or swap of neighbours turns `a` into `b`.
pub(crate) fn one_edit_apart(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let (short, long) = if a.len() <= b.len() { (&a, &b) } else { (&b, &a) };
    let front = short.iter().zip(long).take_while(|(x, y)| x == y).count();
    match long.len() - short.len() {
        0 if front == short.len() => false,
        0 => {
            short[front + 1..] == long[front + 1..]
                || (front + 1 < short.len()
                    && short[front] == long[front + 1]
                    && short[front + 1] == long[front]
                    && short[front + 2..] == long[front + 2..])
        }
        1 => short[front..] == long[front + 1..],
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_error_of_each_kind_counts_and_two_do_not() {
        for (a, b, near) in [
            ("boston", "bostn", true),
            ("boston", "bosston", true),
            ("boston", "bostan", true),
            ("boston", "botson", true),
            ("boston", "nbosto", false),
            ("boston", "boston", false),
            ("boston", "bosaan", false),
        ] {
            assert_eq!(one_edit_apart(a, b), near, "{a} {b}");
            assert_eq!(one_edit_apart(b, a), near, "{b} {a}");
        }
    }

    #[test]
    fn the_index_finds_misspelt_words_and_leaves_right_and_far_ones() {
        let index = NearIndex::new(["boston", "houston", "massachusetts"].map(String::from).to_vec());
        let found = |word: &str| {
            index
                .find(word)
                .map(|number| index.word(number).unwrap_or("-").to_owned())
        };
        assert_eq!(found("Bosston"), ["boston", "-"]);
        assert_eq!(found("MASSACHUSETS"), ["massachusetts", "-"]);
        assert_eq!(found("hoston"), ["boston", "houston"]);
        for far in ["boston", "bost", "austin", "", &"a".repeat(5000)] {
            assert_eq!(found(far), ["-", "-"], "{far}");
        }
    }

    /// Returns the word with a letter removed, inserted, replaced, or swapped with the next one.
    fn edited(word: &str, kind: i32, at: usize, letter: &str) -> String {
        let mut letters: Vec<char> = word.chars().collect();
        let at = at % letters.len();
        match kind {
            0 => {
                letters.remove(at);
            }
            1 => letters.insert(at, letter.chars().next().unwrap()),
            2 => letters[at] = letter.chars().next().unwrap(),
            _ if at + 1 < letters.len() => letters.swap(at, at + 1),
            _ => {}
        }
        letters.into_iter().collect()
    }

    proptest! {
        #[test]
        fn a_word_one_edit_away_is_found(word in "[a-dé]{6,9}", at in 0usize..9, letter in "[a-dé]", kind in 0..4) {
            let other = edited(&word, kind, at, &letter);
            let folded = |word: &str| lethe_text::fold(word);
            let index = NearIndex::new(vec![folded(&word)]);
            let near = one_edit_apart(&folded(&word), &folded(&other));
            prop_assert_eq!(index.find(&other), [if near { 0 } else { NO_WORD }, NO_WORD]);
        }

        #[test]
        fn words_one_edit_apart_share_a_deletion_form(word in "[a-d]{1,7}", at in 0usize..7, letter in "[a-d]", kind in 0..4) {
            let other = edited(&word, kind, at, &letter);
            prop_assert_eq!(one_edit_apart(&word, &other), word != other);
            let hashes = |word: &str| {
                let mut hashes = vec![];
                Letters::of(word).unwrap().forms(|hash| hashes.push(hash));
                hashes
            };
            let (mine, others) = (hashes(&word), hashes(&other));
            prop_assert!(mine.iter().any(|hash| others.contains(hash)));
        }
    }
}
