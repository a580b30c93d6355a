//! Numbers and codes: others of the same layout, with valid check digits where the original's were valid.
//!
//! The same letters and digits give the same surrogate whatever their separators, so that `448-20-9137` and
//! `448209137` agree. No run of four digits of the original remains.

use lethe_text::fold;

use crate::checks::{ALL, Scheme, scheme};
use crate::draw::{Draw, Stream};
use crate::real::solid;

/// How often a code that is too similar to its original is drawn again.
const TRIES: usize = 64;

/// Returns another code of the same layout; `None` if there is neither letter nor digit, or no other code is
/// possible.
pub(crate) fn code(text: &str, draw: &dyn Draw) -> Option<String> {
    let folded = fold(text);
    let key = solid(&folded);
    if key.is_empty() {
        return None;
    }
    let upper: Vec<u8> = key.bytes().map(|byte| byte.to_ascii_uppercase()).collect();
    let plain = upper.is_ascii() && upper.len() == text.chars().filter(|c| c.is_alphanumeric()).count();
    let scheme = if plain { scheme(&upper) } else { None };
    // "00:1A:2B": letters beyond F would not be recognised as such an address.
    let hex =
        scheme.is_none() && key.len() >= 8 && text.contains(':') && upper.iter().all(u8::is_ascii_hexdigit);
    let letters: &[u8] = match scheme {
        Some(scheme) => scheme.letters,
        None if hex => b"ABCDEF",
        None => ALL,
    };
    let kept = scheme.map_or(0, |scheme| scheme.kept);
    let mut stream = Stream::of(draw, &[b"code", key.as_bytes()]);
    for _ in 0..TRIES {
        let mut made = vec![];
        for (i, &old) in upper.iter().enumerate() {
            let new = if i < kept && old.is_ascii() {
                old
            } else if old.is_ascii_digit() {
                digit(&mut stream, i == 0 && old != b'0')
            } else {
                *stream.pick(letters)?
            };
            made.push(new);
        }
        // Letters of other scripts fold to more than one byte: one letter replaces each character.
        let mut made = if plain { made } else { spread(text, &mut stream) };
        if let Some(scheme) = scheme
            && !repair(scheme, &mut made)
        {
            continue;
        }
        let out = laid_out(text, &made);
        if !is_near(&folded, &out) {
            return Some(out);
        }
    }
    None
}

/// Returns a Social Security number that was never issued: area 900 to 999 with group 01 to 49.
///
/// Areas 000, 666 and 900 to 999 are never assigned (Social Security Administration, POMS RM 10201.035). The
/// IRS assigns taxpayer numbers from 900 up, but only with groups of 50 and above, so that groups below 50
/// belong to nobody. Text without nine digits is treated like any other code.
pub(crate) fn ssn(text: &str, draw: &dyn Draw) -> Option<String> {
    let folded = fold(text);
    let digits: String = folded.chars().filter(char::is_ascii_digit).collect();
    if digits.len() != 9 || folded.chars().any(char::is_alphabetic) {
        return code(text, draw);
    }
    let mut stream = Stream::of(draw, &[b"ssn", digits.as_bytes()]);
    for _ in 0..TRIES {
        let (area, group, serial) = (
            900 + stream.below(100),
            1 + stream.below(49),
            1 + stream.below(9999),
        );
        let made = format!("{area}{group:02}{serial:04}");
        let out = laid_out(text, made.as_bytes());
        if !is_near(&folded, &out) {
            return Some(out);
        }
    }
    None
}

/// Returns a digit, other than 0 at the front of a number unless the original begins with 0.
fn digit(stream: &mut Stream, front: bool) -> u8 {
    let value = if front {
        1 + stream.below(9)
    } else {
        stream.below(10)
    };
    b'0' + value as u8
}

/// Returns a letter or digit for each of the text's.
fn spread(text: &str, stream: &mut Stream) -> Vec<u8> {
    let sorts = text.chars().filter(|c| c.is_alphanumeric());
    sorts
        .map(|c| {
            if c.is_numeric() && !c.is_alphabetic() {
                digit(stream, false)
            } else {
                ALL[stream.below(ALL.len())]
            }
        })
        .collect()
}

/// Sets the check characters, and returns whether this satisfies the scheme.
fn repair(scheme: &Scheme, made: &mut [u8]) -> bool {
    let len = made.len() as isize;
    let place = |at: isize| (if at < 0 { len + at } else { at }) as usize;
    match scheme.check {
        [] => {}
        [one] => {
            for &c in scheme.alphabet {
                made[place(*one)] = c;
                if (scheme.holds)(made) {
                    return true;
                }
            }
        }
        [one, two, ..] => {
            for &first in scheme.alphabet {
                for &second in scheme.alphabet {
                    (made[place(*one)], made[place(*two)]) = (first, second);
                    if (scheme.holds)(made) {
                        return true;
                    }
                }
            }
        }
    }
    (scheme.holds)(made)
}

/// Returns `made`'s characters at the positions of the text's letters and digits, in their case.
pub(crate) fn laid_out(text: &str, made: &[u8]) -> String {
    let mut made = made.iter().map(|&byte| char::from(byte));
    text.chars()
        // A separate accent belongs to the replaced letter.
        .filter(|c| !matches!(c, '\u{300}'..='\u{36f}'))
        .map(|c| match c {
            c if !c.is_alphanumeric() => c,
            c if c.is_lowercase() => made.next().unwrap_or('x').to_ascii_lowercase(),
            _ => made.next().unwrap_or('X'),
        })
        .collect()
}

/// Returns whether `out` is the original, or has four digits in a row of it.
pub(crate) fn is_near(original: &str, out: &str) -> bool {
    let folded = fold(out);
    let digits = solid(&folded);
    let runs = original
        .split(|c: char| !c.is_ascii_digit())
        .filter(|run| run.len() >= 4);
    let mut left = runs.filter(|run| digits.contains(run));
    solid(original) == digits || left.next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::testing::Seeded;
    use proptest::prelude::*;

    fn get(text: &str, seed: u64) -> String {
        code(text, &Seeded(seed)).unwrap()
    }

    #[test]
    fn layout_and_case_stay() {
        let shape = |text: &str| -> String {
            text.chars()
                .map(|c| match c {
                    '0'..='9' => '9',
                    'a'..='z' => 'a',
                    'A'..='Z' => 'A',
                    c => c,
                })
                .collect()
        };
        for text in [
            "448-20-9137",
            "MRN: 5527719",
            "7H-220914-KL",
            "a2DR01",
            "00:1A:2B:3C:4D:5E",
            "19 19 40327",
            "7",
        ] {
            for seed in 0..20 {
                let out = get(text, seed);
                assert_eq!(out.len(), text.len());
                if !text.contains(':') || text.contains("MRN") {
                    assert_eq!(shape(&out), shape(text));
                }
                assert_ne!(out, text);
            }
        }
    }

    #[test]
    fn one_number_set_apart_in_two_ways_has_one_surrogate() {
        assert_eq!(get("448-20-9137", 1).replace('-', ""), get("448209137", 1));
        assert_ne!(get("448209137", 1), get("448209137", 2));
    }

    #[test]
    fn check_digits_that_were_right_are_right() {
        for text in [
            "4111 1111 1111 1111",
            "1234567893",
            "943 476 5919",
            "12345678Z",
            "12345678-z",
            "X1234567L",
            "281234567840",
            "GB82 WEST 1234 5698 7654 32",
            "ES91 2100 0418 4502 0005 1332",
            "1M8GDM9AXKP042788",
            "1EG4-TE5-MK73",
            "AB1234563",
        ] {
            let solid = |text: &str| -> Vec<u8> {
                let kept = text.bytes().filter(u8::is_ascii_alphanumeric);
                kept.map(|byte| byte.to_ascii_uppercase()).collect()
            };
            let holds = scheme(&solid(text)).unwrap().holds;
            for seed in 0..20 {
                let out = get(text, seed);
                assert!(holds(&solid(&out)) && out != text, "{text}: {out}");
            }
        }
        assert!(get("ES91 2100 0418 4502 0005 1332", 3).starts_with("ES"));
    }

    #[test]
    fn a_social_security_number_is_one_that_was_never_issued() {
        for seed in 0..200 {
            let out = ssn("219-09-9999", &Seeded(seed)).unwrap();
            assert!(
                out.starts_with('9') && out.get(4..6).unwrap() < "50" && !out.contains("-00-"),
                "{out}"
            );
            assert!(!out.ends_with("0000") && out.len() == 11);
        }
        assert_eq!(ssn("9999", &Seeded(1)).unwrap().len(), 4);
    }

    #[test]
    fn a_text_without_letters_and_digits_has_none() {
        assert_eq!(code("--", &Seeded(1)), None);
    }

    proptest! {
        #[test]
        fn no_four_digits_of_the_original_stay(
            text in "[0-9]{4,9}|[0-9]{3}-[0-9]{4}|[A-Z]{2}[0-9]{6}", seed in 0u64..1000,
        ) {
            let out = code(&text, &Seeded(seed)).unwrap();
            for run in text.split(|c: char| !c.is_ascii_digit()).filter(|run| run.len() >= 4) {
                prop_assert!(!out.contains(run));
            }
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,40}", seed in 0u64..10) {
            for made in [code(&text, &Seeded(seed)), ssn(&text, &Seeded(seed))] {
                prop_assert_ne!(made, Some(text.clone()));
            }
        }
    }
}
