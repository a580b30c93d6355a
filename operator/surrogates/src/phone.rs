//! Telephone and fax numbers in unassigned ranges, in the layout of the original.
//!
//! North American numbers get an exchange and line from 555-0100 to 555-0199, which the numbering plan
//! reserves for fiction (ATIS-0300115), after another area code. Spanish numbers begin with 3 or 4, which the
//! numbering plan (Real Decreto 2296/2004) assigns to no service. Others keep their layout.

use lethe_text::fold;

use crate::draw::{Draw, Stream};
use crate::ids::{code, is_near, laid_out};
use crate::{About, Language};

const TRIES: usize = 64;

/// Geographic area codes, a few per region.
const AREAS: &[u16] = &[
    201, 203, 205, 206, 207, 208, 210, 212, 213, 214, 216, 217, 218, 219, 225, 228, 229, 231, 234, 239, 240,
    248, 251, 252, 253, 254, 256, 260, 262, 267, 269, 270, 276, 281, 301, 302, 303, 304, 305, 307, 308, 309,
    310, 312, 313, 314, 315, 316, 317, 318, 319, 320, 321, 323, 330, 334, 336, 337, 339, 347, 351, 352, 360,
    361, 386, 401, 402, 404, 405, 406, 407, 408, 409, 410, 412, 413, 414, 415, 417, 419, 423, 425, 432, 434,
    435, 440, 443, 469, 478, 479, 484, 501, 502, 503, 504, 505, 507, 508, 509, 510, 512, 513, 515, 516, 517,
    518, 520, 530, 540, 541, 559, 561, 562, 563, 570, 573, 574, 580, 585, 586,
];

/// Returns another number; `None` if there is no digit, or no other number is possible.
pub(crate) fn number(text: &str, about: &About<'_>, draw: &dyn Draw) -> Option<String> {
    let folded = fold(text);
    // "x22", "ext. 4", "int. 12": the extension follows the first letters.
    let letters = folded.find(|c: char| c.is_alphabetic()).filter(|&at| {
        let before = folded.get(..at).unwrap_or_default();
        before.bytes().filter(u8::is_ascii_digit).count() >= 7
    });
    let main = folded.get(..letters.unwrap_or(folded.len())).unwrap_or_default();
    let digits: String = main.chars().filter(char::is_ascii_digit).collect();
    let vanity = main.chars().any(char::is_alphabetic);
    let national = |prefixes: &[&str], len: usize| {
        let rest = prefixes.iter().find_map(|prefix| digits.strip_prefix(prefix));
        rest.filter(|rest| rest.len() == len)
    };
    let spanish = about.language == Some(Language::Spanish);
    let abroad = folded.trim_start().starts_with('+') || digits.starts_with("00");
    let home = |text: &&str| text.starts_with(['6', '7', '8', '9']);
    let es = national(&["0034", "34"], 9).filter(|_| abroad || spanish);
    let es = es.or_else(|| national(&[""], 9)).filter(home).filter(|_| !vanity);
    let us = national(&["001", "1"], 10).or_else(|| national(&[""], 10).filter(|_| !abroad));
    let us = us
        .or_else(|| national(&[""], 7))
        .filter(|_| !(vanity || spanish && digits.len() == 7));
    if es.is_none() && us.is_none() {
        return code(text, draw);
    }
    let key = es.or(us)?;
    // A local number agrees with the same number after its area code.
    let line = key.get(key.len().saturating_sub(7)..)?;
    let mut stream = Stream::of(
        draw,
        &[b"phone", if es.is_some() { key } else { line }.as_bytes()],
    );
    let mut area = Stream::of(draw, &[b"area", key.get(..3).unwrap_or_default().as_bytes()]);
    for _ in 0..TRIES {
        let mut made = digits.strip_suffix(key)?.to_owned();
        if es.is_some() {
            made.push(if key.starts_with(['6', '7']) { '4' } else { '3' });
            for _ in 1..9 {
                made.push(char::from(b'0' + stream.below(10) as u8));
            }
        } else {
            if key.len() == 10 {
                made += &area.pick(AREAS)?.to_string();
            }
            made += &format!("55501{:02}", stream.below(100));
        }
        let behind = folded.get(main.len()..).unwrap_or_default();
        let mut extension = String::new();
        crate::layout::digits(behind, draw, &mut extension);
        // The extension's digits are replaced in place; its letters stay.
        let out = filled(text, main.chars().count(), &made, behind, &extension);
        if !is_near(&folded, &out) && !out.contains(key) {
            return Some(out);
        }
    }
    None
}

/// Returns the digits of `made` in the first `main` characters, and those of `extension` after them.
fn filled(text: &str, main: usize, made: &str, behind: &str, extension: &str) -> String {
    let mut made = made.chars();
    let mut pairs = behind.chars().zip(extension.chars());
    // A text whose folded form has another number of characters is only laid out.
    if fold(text).chars().count() != text.chars().count() {
        let digits: Vec<u8> = made.filter(char::is_ascii).map(|c| c as u8).collect();
        return laid_out(text, &digits);
    }
    text.chars()
        .enumerate()
        .map(|(i, c)| {
            let new = if i < main { None } else { pairs.next() };
            match new {
                _ if !c.is_ascii_digit() => c,
                Some((_, digit)) => digit,
                None => made.next().unwrap_or('0'),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KnownNames;
    use crate::draw::testing::Seeded;
    use proptest::prelude::*;

    fn get(text: &str, language: Option<Language>, seed: u64) -> String {
        let known = KnownNames::default();
        let about = About {
            language,
            order: None,
            year: None,
            days: None,
            known: &known,
        };
        number(text, &about, &Seeded(seed)).unwrap()
    }

    #[test]
    fn a_us_number_lies_in_the_range_kept_for_fiction() {
        for seed in 0..50 {
            for text in [
                "(503) 287-4419",
                "503.287.4419",
                "+1 503-287-4419",
                "15032874419",
                "503-287-4419 x22",
            ] {
                let out = get(text, None, seed);
                let digits: String = out.chars().filter(char::is_ascii_digit).collect();
                assert!(
                    digits.contains("55501") && !digits.contains("503287"),
                    "{text}: {out}"
                );
                assert_eq!(out.len(), text.len());
                assert_eq!(out.starts_with("+1 "), text.starts_with("+1 "));
            }
        }
    }

    #[test]
    fn one_number_has_one_surrogate_however_it_is_written() {
        for seed in 0..20 {
            let digits = |text: &str| -> String {
                get(text, None, seed)
                    .chars()
                    .filter(char::is_ascii_digit)
                    .collect()
            };
            assert_eq!(digits("(503) 287-4419"), digits("503.287.4419"));
            assert_eq!(
                format!("1{}", digits("(503) 287-4419")),
                digits("+1 503 287 4419")
            );
            assert!(digits("503 287 4419").ends_with(&digits("287-4419")));
        }
    }

    #[test]
    fn a_spanish_number_begins_as_none_does() {
        for seed in 0..50 {
            assert!(get("978 655 014", Some(Language::Spanish), seed).starts_with('3'));
            assert!(get("678 655 014", Some(Language::Spanish), seed).starts_with('4'));
            assert!(get("+34 978 655 014", None, seed).starts_with("+34 3"));
            assert!(get("978 655 014", None, seed).starts_with('3'));
        }
    }

    #[test]
    fn an_extension_keeps_its_letters_and_gets_other_digits() {
        let out = get("503-287-4419 ext. 22", None, 4);
        assert!(out.contains(" ext. ") && !out.ends_with("22"), "{out}");
    }

    proptest! {
        #[test]
        fn no_number_comes_back(text in "[+(]?[0-9]{3,4}[) .-]?[0-9]{3}[ .-]?[0-9]{2,4}( x[0-9]{2})?", seed in 0u64..300) {
            let out = get(&text, None, seed);
            prop_assert_ne!(&out, &text);
            prop_assert_eq!(out.chars().count(), text.chars().count());
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,30}", seed in 0u64..20) {
            let known = KnownNames::default();
            let about = About { language: None, order: None, year: None, days: None, known: &known };
            let _ = number(&text, &about, &Seeded(seed));
        }
    }
}
