//! Where the first letters of a key lead: saves the first steps of each walk, and ends most walks of words that begin no key.

use super::{At, NONE};

/// Letters of a start.
const LETTERS: usize = 3;

/// Where each three letters from "aaa" to "zzz" lead from the root of an automaton.
#[derive(Default)]
pub(super) struct Starts(Vec<At>);

impl Starts {
    /// The starts of the automaton with this root, `step` being one step in it.
    pub(super) fn new(root: At, step: impl Fn(At, u8) -> Option<At>) -> Self {
        let after = |from: &[Option<At>]| -> Vec<Option<At>> {
            from.iter()
                .flat_map(|at| (b'a'..=b'z').map(|letter| at.and_then(|at| step(at, letter))))
                .collect()
        };
        let all = (0..LETTERS).fold(vec![Some(root)], |from, _| after(&from));
        let nowhere = At { node: NONE, sum: 0 };
        Self(all.into_iter().map(|at| at.unwrap_or(nowhere)).collect())
    }

    /// Where the folded first letters of `word` lead, `None` for nowhere, and its other letters; `None` if it does not begin
    /// with three ASCII letters.
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
        let at = self.0.get(place)?;
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
            word in "[a-cA-C]{0,5}|[A-Za-z]{1,6}|Bost?on|[a-z]{2}é[a-z]|Mar[íi]a|[0-9]{1,4}|par\\PC{0,2}"
        ) {
            let dictionary = Dictionary::builtin();
            let place = |at: Option<super::At>| at.map(|at| (at.node, at.sum));
            let whole = dictionary.step_word(dictionary.root(), &word);
            prop_assert_eq!(place(dictionary.step_first(&word)), place(whole));
        }
    }
}
