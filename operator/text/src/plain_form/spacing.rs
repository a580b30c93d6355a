//! Joins words and numbers that have the same separator between all their characters: "J o h n",
//! "J.o.h.n", "5 5 5 - 0 1 4 2".

use super::edit::Edit;
use super::scan::SEPARATORS;

/// The least number of letters and of digits that are joined.
const LETTERS: usize = 3;
const DIGITS: usize = 6;

/// Returns the edits that join spaced words and numbers, in order.
pub(super) fn joins(text: &str) -> Vec<Edit> {
    let chars: Vec<(usize, char)> = text.char_indices().collect();
    let c = |at: usize| chars.get(at).map(|&(_, c)| c);
    let (mut edits, mut at) = (Vec::new(), 0);
    while at < chars.len() {
        let begins = at
            .checked_sub(1)
            .and_then(c)
            .is_none_or(|before| !before.is_alphanumeric());
        let letters = if begins {
            run(&chars, at, char::is_alphabetic)
        } else {
            0
        };
        let digits = if begins { run(&chars, at, is_of_number) } else { 0 };
        let len = letters.max(digits);
        // Characters of the run are at every second place.
        let units: Vec<char> = (0..len).filter_map(|unit| c(at + 2 * unit)).collect();
        let joined = if letters >= LETTERS {
            reads_as_words(&units, c(at + 1))
        } else {
            digits >= DIGITS && reads_as_number(&units)
        };
        if joined {
            for (place, pair) in units.windows(2).enumerate() {
                let Some(&(start, separator)) = chars.get(at + 2 * place + 1) else {
                    break;
                };
                let range = start..start + separator.len_utf8();
                if !begins_word(pair) {
                    edits.push(Edit::remove(range));
                } else if separator != ' ' {
                    edits.push(Edit {
                        range,
                        to: " ".into(),
                    });
                }
            }
        }
        at += (2 * len).max(1);
    }
    edits
}

/// Returns how many characters in a row, from `at`, are such and stand alone, with the same separator between
/// them.
fn run(chars: &[(usize, char)], at: usize, is: impl Fn(char) -> bool) -> usize {
    let c = |at: usize| chars.get(at).map(|&(_, c)| c);
    let Some(separator) = c(at + 1).filter(|c| SEPARATORS.contains(c)) else {
        return 0;
    };
    let mut len = 0;
    while c(at + 2 * len).is_some_and(&is) {
        len += 1;
        if c(at + 2 * len - 1) != Some(separator) {
            break;
        }
    }
    // The last one may begin a word: "a b cd".
    let after = (2 * len).checked_sub(1).and_then(|after| c(at + after));
    if after.is_some_and(char::is_alphanumeric) {
        len - 1
    } else {
        len
    }
}

fn is_of_number(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, '-' | '/' | '(' | ')' | '+')
}

/// Returns whether the second of two characters begins a word.
fn begins_word(pair: &[char]) -> bool {
    matches!(pair, [before, after] if before.is_lowercase() && after.is_uppercase())
}

/// Returns whether letters are words, and not steps of a list or an abbreviation such as "q.i.d.".
fn reads_as_words(letters: &[char], separator: Option<char>) -> bool {
    let mut words = letters.chunk_by(|&before, &after| !begins_word(&[before, after]));
    let least = if separator == Some(' ') {
        LETTERS
    } else {
        LETTERS + 1
    };
    let name = |word: &[char]| word.len() >= least && word.iter().skip(1).all(|c| c.is_lowercase());
    let capitals = letters.len() > least && letters.iter().all(|c| c.is_uppercase());
    let small = letters.len() > least && letters.iter().all(|c| c.is_lowercase());
    words.any(|word| name(word) && word.first().is_some_and(|c| c.is_uppercase()))
        || capitals
        || small && separator == Some(' ')
}

/// Returns whether digits are a number, and not counts, scores, or the steps of a scale.
fn reads_as_number(units: &[char]) -> bool {
    let digits: Vec<u32> = units.iter().filter_map(|c| c.to_digit(10)).collect();
    let mut distinct = digits.clone();
    distinct.sort_unstable();
    distinct.dedup();
    let scale = digits
        .windows(2)
        .all(|pair| matches!(pair, [a, b] if a.abs_diff(*b) == 1));
    digits.len() >= DIGITS && distinct.len() > 2 && !scale
}
