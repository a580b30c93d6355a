//! Words one typing error away: a symmetric-delete index (a word and all its one-letter deletions).
//!
//! Two words at distance one always share a form after at most one deletion in each, so one look-up a deletion finds every
//! candidate; each is then measured. Only words of lists that ask for it, of six letters or more, are indexed.

use std::collections::{BTreeMap, BTreeSet};

/// Shorter words differ by one letter too often for that to be an error.
pub(crate) const MIN_LETTERS: usize = 6;

/// Each deletion form with the numbers of the words that have it.
pub(crate) fn deletions(words: &BTreeSet<String>) -> BTreeMap<String, Vec<u32>> {
    let mut out: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for (number, word) in words.iter().enumerate() {
        for form in forms(word) {
            let numbers = out.entry(form).or_default();
            if numbers.last() != Some(&(number as u32)) {
                numbers.push(number as u32);
            }
        }
    }
    out
}

/// The word itself and the word without each one of its letters.
pub(crate) fn forms(word: &str) -> impl Iterator<Item = String> {
    let letters: Vec<char> = word.chars().collect();
    let count = letters.len();
    (0..=count).map(move |gone| {
        letters
            .iter()
            .enumerate()
            .filter(|&(at, _)| at != gone)
            .map(|(_, c)| *c)
            .collect()
    })
}

/// Whether one insertion, deletion, substitution or swap of neighbours turns `a` into `b`.
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

    proptest! {
        #[test]
        fn words_one_edit_apart_share_a_deletion_form(word in "[a-d]{1,7}", at in 0usize..7, letter in "[a-d]", kind in 0..4) {
            let mut letters: Vec<char> = word.chars().collect();
            let at = at % letters.len();
            match kind {
                0 => { letters.remove(at); }
                1 => letters.insert(at, letter.chars().next().unwrap()),
                2 => letters[at] = letter.chars().next().unwrap(),
                _ => if at + 1 < letters.len() { letters.swap(at, at + 1) },
            }
            let other: String = letters.into_iter().collect();
            let shared = forms(&word).any(|form| forms(&other).any(|f| f == form));
            prop_assert!(shared);
            prop_assert_eq!(one_edit_apart(&word, &other), word != other);
        }
    }
}
