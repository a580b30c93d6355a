//! The spelling of a word: capitals, shape, possible kinds of number.

use lethe_core::TokenKind;

use super::hash::pair;

/// The case of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Form {
    Lower,
    Title,
    Upper,
    Digits,
    Mark,
}

impl Form {
    /// Determines the form from the word's first and last letters.
    pub(super) fn of(text: &str, kind: TokenKind) -> Self {
        let mut chars = text.chars();
        match kind {
            TokenKind::Digits => Self::Digits,
            TokenKind::Punctuation => Self::Mark,
            TokenKind::Letters => match (chars.next(), chars.next_back()) {
                (Some(first), _) if !first.is_uppercase() => Self::Lower,
                // The tokenizer splits before a capital after lower case, so that the last letter shows how
                // the word continues.
                (_, Some(last)) if last.is_lowercase() => Self::Title,
                _ => Self::Upper,
            },
        }
    }
}

/// Returns a bit for a punctuation mark that is typical of network addresses, dates or numbers.
pub(super) fn mark(text: &str) -> u8 {
    match text {
        "@" => 1,
        "." => 2,
        "/" => 4,
        "-" => 8,
        ":" => 16,
        "_" => 32,
        "(" | ")" => 64,
        _ => 0,
    }
}

/// Returns the class of a number: day, month, year, age, postcode, or its number of digits.
pub(super) fn number_class(text: &str) -> u64 {
    let length = text.chars().count() as u64;
    let value: u32 = match text.parse() {
        Ok(value) if length <= 5 => value,
        _ => return 100 + length.min(20),
    };
    match (length, value) {
        (1..=2, 1..=12) => 1,
        (1..=2, 13..=31) => 2,
        (1..=2, _) => 3,
        (3, ..=120) => 4,
        (3, _) => 5,
        (4, 1900..=1999) => 6,
        (4, 2000..=2030) => 7,
        (4, _) => 8,
        (_, 1000..=52999) => 9,
        _ => 10,
    }
}

/// Returns the case of each letter, digits as one class, and marks as themselves: once with up to eight of a
/// run, and once with each run as one.
pub(super) fn shapes(text: &str) -> (u64, u64) {
    let (mut full, mut short, mut run, mut last) = (0, 0, 0, 0);
    for c in text.chars() {
        let class = match c {
            c if c.is_uppercase() => 1,
            c if c.is_alphabetic() => 2,
            c if c.is_numeric() => 3,
            c => u64::from(c) + 8,
        };
        if class == last {
            run += 1;
        } else {
            short = pair(short, class);
            run = 1;
        }
        if run <= 8 {
            full = pair(full, class);
        }
        last = class;
    }
    (full, short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_days_years_or_postcodes() {
        let classes = ["7", "31", "70", "1946", "2016", "28016", "99999", "123456"].map(number_class);
        assert_eq!(classes, [1, 2, 3, 6, 7, 9, 10, 106]);
    }
}
