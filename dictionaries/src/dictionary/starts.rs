//! A table of the first letters of keys: saves the first steps of each walk, and ends most walks of words
//! that begin no key.

use super::{At, NONE};

/// Number of letters in a start.
const LETTERS: usize = 3;

/// The positions of three letters from "aaa" to "zzz" in an automaton.
#[derive(Default)]
pub(super) struct Starts {
    after: Vec<At>,
    /// A bit for each letter that can follow, and [`ALIVE`] if the three letters lead anywhere.
    next: Vec<u32>,
}

/// Above the bits of letters.
const ALIVE: u32 = 1 << 31;

impl Starts {
    /// Returns the starts of the automaton with this root; `step` follows one byte and `classes` returns what
    /// can follow, by [`class`](super::class).
    pub(super) fn new(root: At, step: impl Fn(At, u8) -> Option<At>, classes: impl Fn(At) -> u32) -> Self {
        let after = |from: &[Option<At>]| -> Vec<Option<At>> {
            from.iter()
                .flat_map(|at| (b'a'..=b'z').map(|letter| at.and_then(|at| step(at, letter))))
                .collect()
        };
        let all = (0..LETTERS).fold(vec![Some(root)], |from, _| after(&from));
        let nowhere = At { node: NONE, sum: 0 };
        Self {
            next: all
                .iter()
                .map(|at| at.map_or(0, |at| classes(at) | ALIVE))
                .collect(),
            after: all.into_iter().map(|at| at.unwrap_or(nowhere)).collect(),
        }
    }

    /// Returns whether no key begins with the first three or four ASCII letters of a word, given as four
    /// lower-case bytes (three and a zero for a word of three).
    #[inline]
    pub(super) fn is_nowhere(&self, word: u32) -> bool {
        // No branch until the end: with random letters it would be mispredicted.
        let [first, second, third, fourth] = word.to_le_bytes().map(|byte| byte.wrapping_sub(b'a'));
        let letters = (first < 26) & (second < 26) & (third < 26);
        let place = usize::from(first) * 676 + usize::from(second) * 26 + usize::from(third);
        let next = self.next.get(place * usize::from(letters));
        let next = next.copied().unwrap_or(ALIVE);
        let follows = if fourth < 26 { 1 << fourth } else { ALIVE };
        let ends = (fourth < 26) | (word >> 24 == 0);
        letters & ends & (next & follows == 0)
    }

    /// Returns the position after the folded first letters of `word`, `None` for nowhere, and the other
    /// letters; `None` if it does not begin with three ASCII letters.
    #[inline]
    pub(super) fn of<'w>(&self, word: &'w str) -> Option<(Option<At>, &'w str)> {
        let first = word.as_bytes().get(..LETTERS)?;
        let mut place = 0;
        for byte in first {
            if !byte.is_ascii_alphabetic() {
                return None;
            }
            place = place * 26 + usize::from(byte.to_ascii_lowercase() - b'a');
        }
        let at = self.after.get(place)?;
        Some(((at.node != NONE).then_some(*at), word.get(LETTERS..)?))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::Dictionary;

    proptest! {
        #[test]
        fn walks_by_starts_end_where_walks_from_the_root_end(
            word in "[a-cA-C]{0,5}|[A-Za-z]{1,6}|[a-z]{3,4}|Bost?on|[a-z]{2}é[a-z]|Mar[íi]a|[0-9]{1,4}|par\\PC{0,2}"
        ) {
            let dictionary = Dictionary::builtin();
            let place = |at: Option<super::At>| at.map(|at| (at.node, at.sum));
            let whole = dictionary.step_word(dictionary.root(), &word);
            prop_assert_eq!(place(dictionary.step_first(&word)), place(whole));
            let mut bytes = [0; 16];
            bytes[..word.len()].copy_from_slice(word.to_ascii_lowercase().as_bytes());
            let nothing = dictionary.begins_nothing(u128::from_le_bytes(bytes));
            prop_assert!(!nothing || whole.is_none());
            let letters = word.bytes().all(|byte| byte.is_ascii_alphabetic());
            prop_assert!(nothing || whole.is_some() || !letters || !(3..=4).contains(&word.len()));
        }
    }
}
