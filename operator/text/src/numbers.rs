//! Numbers below a hundred in words.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::lang::{ALL, Language, Words};

static NUMBERS: LazyLock<HashMap<String, (u8, Language)>> = LazyLock::new(|| {
    ALL.iter()
        .flat_map(|words| words_of(words).map(|(word, value)| (word, (value, words.language))))
        .collect()
});

/// Returns the single words for numbers of a language, folded, with their values.
fn words_of(words: &Words) -> impl Iterator<Item = (String, u8)> {
    let fold = |(value, word): (u8, &&str)| (crate::fold(word), value);
    let forms = words.number_forms.iter();
    (0..)
        .zip(words.numbers)
        .chain((20..).step_by(10).zip(words.tens))
        .map(fold)
        .chain(forms.map(|&(word, value)| (word.to_owned(), value)))
}

/// Returns the value and the language of a folded word that is a number on its own.
///
/// ```
/// use lethe_text::{Language, numbers::value};
///
/// assert_eq!(value("seventeen"), Some((17, Language::English)));
/// assert_eq!(value("dieciseis"), Some((16, Language::Spanish)));
/// assert_eq!(value("seven-teen"), None);
/// ```
pub fn value(folded: &str) -> Option<(u8, Language)> {
    NUMBERS.get(folded).copied()
}

/// Returns every folded word that is a number of this language on its own, from one upwards, with its value.
pub fn words(language: Language) -> impl Iterator<Item = (String, u8)> {
    words_of(language.words()).filter(|&(_, value)| value > 0)
}

/// The English ordinals of the days of a month, from "first".
pub const ORDINALS: [&str; 31] = [
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
    "thirteenth",
    "fourteenth",
    "fifteenth",
    "sixteenth",
    "seventeenth",
    "eighteenth",
    "nineteenth",
    "twentieth",
    "twenty-first",
    "twenty-second",
    "twenty-third",
    "twenty-fourth",
    "twenty-fifth",
    "twenty-sixth",
    "twenty-seventh",
    "twenty-eighth",
    "twenty-ninth",
    "thirtieth",
    "thirty-first",
];

/// Writes a number below 200 in English words: "ninety-two", "one hundred four".
///
/// # Panics
/// If the number is 200 or larger.
pub fn in_english(n: u8) -> String {
    let english = Language::English.words();
    match (n, english.numbers.get(usize::from(n))) {
        (_, Some(word)) => (*word).to_owned(),
        (100, _) => "one hundred".to_owned(),
        (101.., _) => {
            assert!(n < 200, "a number below 200");
            format!("one hundred {}", in_english(n - 100))
        }
        _ => {
            let ten = english.tens[usize::from(n / 10 - 2)];
            match n % 10 {
                0 => ten.to_owned(),
                unit => format!("{ten}-{}", english.numbers[usize::from(unit)]),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_english_word_is_read_as_the_number_it_was_written_for() {
        for n in (0..20).chain((20..100).step_by(10)) {
            assert_eq!(value(&in_english(n)), Some((n, Language::English)), "{n}");
        }
    }

    #[test]
    fn numbers_are_written_in_words() {
        for (n, words) in [
            (0, "zero"),
            (20, "twenty"),
            (47, "forty-seven"),
            (100, "one hundred"),
            (199, "one hundred ninety-nine"),
        ] {
            assert_eq!(in_english(n), words);
        }
    }

    #[test]
    fn no_language_counts_zero_among_its_words() {
        for language in [Language::English, Language::Spanish, Language::German] {
            assert!(words(language).all(|(_, value)| value > 0));
        }
    }
}
