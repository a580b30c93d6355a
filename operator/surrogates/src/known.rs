//! The patient's names in the event.

use std::collections::HashMap;
use std::fmt;
use std::sync::OnceLock;

use lethe_text::fold;

use crate::real::name_words;

/// Up to this many words are all compared with a possibly misspelt word; more of them have an index.
const FEW: usize = 64;

/// The words of the patient's names in the event: they show which name is misspelt, and where the names in
/// "tobiaswrenfield@" end.
///
/// They come from the event and not from the note, so that a column and a text of one event are always
/// treated alike.
#[derive(Clone, Default)]
pub struct KnownNames {
    /// Folded, in alphabetical order, each once.
    words: Vec<String>,
    /// Indices into `words` by the hash of a word, and of a word without one of its letters.
    near: OnceLock<HashMap<u64, Vec<u32>>>,
}

impl KnownNames {
    /// Creates the set from names as the event writes them.
    pub fn new<'v>(names: impl IntoIterator<Item = &'v str>) -> Self {
        let names = names.into_iter().flat_map(|name| name_words(&fold(name)));
        let mut words: Vec<String> = names.collect();
        words.sort_unstable();
        words.dedup();
        Self {
            words,
            near: OnceLock::new(),
        }
    }

    /// Returns whether the folded word is part of one of the names.
    pub(crate) fn has(&self, word: &str) -> bool {
        self.words
            .binary_search_by(|known| known.as_str().cmp(word))
            .is_ok()
    }

    /// Returns the folded words that may differ from this one by one typing error, in alphabetical order.
    /// Others may be among them.
    ///
    /// Two words that differ by one error are equal once each, or one of them, lacks a letter.
    pub(crate) fn near(&self, word: &str) -> impl Iterator<Item = &str> {
        let places: Vec<u32> = if self.words.len() <= FEW {
            (0..self.words.len() as u32).collect()
        } else {
            let near = self.near.get_or_init(|| self.index());
            let mut places: Vec<u32> = without_a_letter(word)
                .filter_map(|left| near.get(&left))
                .flatten()
                .copied()
                .collect();
            places.sort_unstable();
            places.dedup();
            places
        };
        places.into_iter().map(|at| self.words[at as usize].as_str())
    }

    fn index(&self) -> HashMap<u64, Vec<u32>> {
        let mut near: HashMap<u64, Vec<u32>> = HashMap::new();
        for (at, word) in self.words.iter().enumerate() {
            for left in without_a_letter(word) {
                let places = near.entry(left).or_default();
                // Names that an attacker made similar must not be compared with each other one by one.
                if places.len() < FEW {
                    places.push(at as u32);
                }
            }
        }
        near
    }
}

/// Returns hashes of the word and of the word without each of its letters, in time linear in its length.
fn without_a_letter(word: &str) -> impl Iterator<Item = u64> {
    const PRIME: u128 = (1 << 61) - 1;
    const BASE: u64 = 0x0123_4567_89ab_cdef;
    let step =
        |hash: u64, next: u64| ((u128::from(hash) * u128::from(BASE) + u128::from(next)) % PRIME) as u64;
    let letters: Vec<u64> = word.chars().map(|c| u64::from(c) + 1).collect();
    // The polynomial of the letters from each position on, and the power of the base before it.
    let mut tails = vec![(0, 1_u64)];
    for &letter in letters.iter().rev() {
        let (tail, power) = tails.last().copied().unwrap_or((0, 1));
        let with = (u128::from(letter) * u128::from(power) + u128::from(tail)) % PRIME;
        tails.push((with as u64, step(power, 0)));
    }
    let whole = tails.last().map_or(0, |(hash, _)| *hash);
    let mut head = 0;
    let lacking = letters.into_iter().enumerate().map(move |(i, letter)| {
        let (tail, power) = tails[tails.len() - 2 - i];
        let hash = (u128::from(head) * u128::from(power) + u128::from(tail)) % PRIME;
        head = step(head, letter);
        hash as u64
    });
    std::iter::once(whole).chain(lacking)
}

/// Prints no name.
impl fmt::Debug for KnownNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KnownNames({} words)", self.words.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_word_without_a_letter_hashes_as_the_word_that_is_left() {
        let of = |word: &str| without_a_letter(word).collect::<Vec<_>>();
        let whole = |word: &str| of(word)[0];
        assert_eq!(
            of("wrén"),
            [
                whole("wrén"),
                whole("rén"),
                whole("wén"),
                whole("wrn"),
                whole("wré")
            ]
        );
        assert_eq!(of(""), [0]);
    }

    proptest! {
        #[test]
        fn many_names_hold_the_near_ones_of_a_few(
            names in prop::collection::btree_set("[ab][cd]{2}[e-h]{3}", 70..120),
            at in 0usize..70,
            typo in 0usize..4,
            place in 0usize..4,
        ) {
            let known = KnownNames::new(names.iter().map(String::as_str));
            let right = names.iter().nth(at).unwrap();
            let mut letters: Vec<char> = right.chars().collect();
            match typo {
                0 => letters.swap(place, place + 1),
                1 => letters.insert(place, 'z'),
                2 => drop(letters.remove(place)),
                _ => letters[place] = 'z',
            }
            let wrong: String = letters.into_iter().collect();
            prop_assert!(known.near(&wrong).any(|near| near == right), "{} {}", right, wrong);
            prop_assert!(known.near(&wrong).is_sorted());
        }
    }
}
