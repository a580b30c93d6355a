//! Joins numbers that a line end breaks: "555-01\n42", "MRN: 00451\n2233".
//!
//! Columns of results also have a number at the end of each line. So a number is joined only if it then has the
//! shape of an identifier or a date and its first part alone is not one, or if a word such as "MRN" stands in
//! front of it.

use std::ops::{Range, RangeInclusive};

use super::edit::Editor;

/// Most characters of a number on each side of the line end.
const LONGEST: usize = 24;
/// The least and the most digits of a number after a cue.
const CUED: RangeInclusive<usize> = 6..=12;
/// Most characters between a cue and its number.
const CUE_GAP: usize = 4;
/// Letters of the longest cue.
const CUE_LETTERS: usize = 9;

/// Words in front of a number that identifies.
const CUES: [&str; 36] = [
    "mrn",
    "ssn",
    "nhs",
    "npi",
    "phone",
    "telephone",
    "tel",
    "fax",
    "cell",
    "mobile",
    "pager",
    "account",
    "acct",
    "id",
    "no",
    "number",
    "record",
    "rec",
    "chart",
    "policy",
    "member",
    "passport",
    "licence",
    "license",
    "lic",
    "medicare",
    "sin",
    "csn",
    "encounter",
    "enc",
    "accession",
    "card",
    "plan",
    "hospital",
    "serial",
    "sn",
];

/// Removes the line ends within numbers of a text.
pub(super) fn join(text: &str, editor: &mut Editor<'_>) {
    let bytes = text.as_bytes();
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r');
    let gap = |at: usize| {
        let (before, after) = (bytes.get(..at)?, bytes.get(at + 1..)?);
        let start = at - before.iter().rev().take_while(|byte| blank(byte)).count();
        let end = at + 1 + after.iter().take_while(|byte| blank(byte)).count();
        let (first, second) = (Part::before(text, start)?, Part::after(text, end)?);
        let whole = format!("{}{}", first.number, second.number);
        // One digit in front of a date may be its first: "0\n5-29-1999".
        let alone = |part: &Part<'_>| is_date(part.number) || is_number(part.number);
        let digit = || first.number.len() == 1 && is_date(&whole);
        let broken = (is_date(&whole) || is_number(&whole) || is_insurance(&whole))
            && !alone(&first)
            && (!alone(&second) || digit());
        let cued = || {
            let digits = whole.bytes().filter(u8::is_ascii_digit).count();
            let plain = !whole.contains(['/', '.']) && !alone(&first) && !alone(&second);
            // "1)" and "2." at the beginning of a line count the items of a list.
            let item = second.number.len() < 3 && matches!(bytes.get(second.range.end), Some(b')' | b'.'));
            plain && !item && CUED.contains(&digits) && follows_cue(text, first.range.start)
        };
        (broken || cued()).then_some(start..end)
    };
    for gap in memchr::memchr_iter(b'\n', bytes).filter_map(gap) {
        editor.replace(gap, []);
    }
}

/// The digits and signs of a number on one side of a line end.
struct Part<'a> {
    range: Range<usize>,
    number: &'a str,
}

impl<'a> Part<'a> {
    fn before(text: &'a str, end: usize) -> Option<Self> {
        let bytes = text.as_bytes().get(..end)?;
        let len = bytes
            .iter()
            .rev()
            .take(LONGEST + 1)
            .take_while(|byte| is_of_number(**byte))
            .count();
        Self::new(text, end - len..end)
    }

    fn after(text: &'a str, start: usize) -> Option<Self> {
        let bytes = text.as_bytes().get(start..)?;
        let len = bytes
            .iter()
            .take(LONGEST + 1)
            .take_while(|byte| is_of_number(**byte))
            .count();
        // A full stop ends the sentence.
        let stops = bytes
            .get(..len)?
            .iter()
            .rev()
            .take_while(|byte| **byte == b'.')
            .count();
        Self::new(text, start..start + len - stops)
    }

    fn new(text: &'a str, range: Range<usize>) -> Option<Self> {
        let number = text.get(range.clone())?;
        let letter = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
        let bytes = text.as_bytes();
        let within_word =
            letter(range.start.checked_sub(1).and_then(|at| bytes.get(at))) || letter(bytes.get(range.end));
        let fits = !number.is_empty() && number.len() <= LONGEST && !within_word;
        fits.then_some(Self { range, number })
    }
}

const fn is_of_number(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'-' | b'/' | b'.')
}

/// Returns the sign of a number that has only one, and the lengths of its groups of digits.
fn groups(number: &str) -> Option<(u8, Vec<usize>)> {
    let mut signs = number.bytes().filter(|byte| !byte.is_ascii_digit());
    let sign = signs.next()?;
    let groups = || number.split(char::from(sign)).map(str::len).collect();
    signs
        .all(|other| other == sign)
        .then(groups)
        .map(|groups| (sign, groups))
}

/// Returns whether a number has the shape of a date that exists, day or month first, or year first.
fn is_date(number: &str) -> bool {
    let Some((sign, groups)) = groups(number) else {
        return false;
    };
    let mut parts = number
        .split(char::from(sign))
        .filter_map(|part| part.parse::<u16>().ok());
    let parts = [parts.next(), parts.next(), parts.next()].map(Option::unwrap_or_default);
    let (one, other) = match (groups.as_slice(), parts) {
        ([1 | 2, 1 | 2, 4], [one, other, _]) | ([4, 2, 2], [_, one, other]) => (one, other),
        _ => return false,
    };
    (1..=31).contains(&one) && (1..=31).contains(&other) && one.min(other) <= 12
}

/// Returns whether a number has the shape of a telephone number, a social security number, or a ZIP code of nine
/// digits.
fn is_number(number: &str) -> bool {
    let Some((sign, groups)) = groups(number) else {
        return false;
    };
    match sign {
        b'-' => matches!(
            *groups,
            [3, 4] | [3, 3, 4] | [1, 3, 3, 4] | [4, 3, 3] | [3, 2, 4] | [5, 4]
        ),
        b'.' => matches!(*groups, [3, 3, 4]),
        _ => false,
    }
}

/// Returns whether a number has the shape of a Canadian social insurance number, with which a telephone number also
/// begins.
fn is_insurance(number: &str) -> bool {
    groups(number).is_some_and(|(sign, groups)| sign == b'-' && matches!(*groups, [3, 3, 3]))
}

/// Returns whether a cue stands in front of this byte, with at most a few signs between them.
fn follows_cue(text: &str, at: usize) -> bool {
    let Some(before) = text.get(..at) else {
        return false;
    };
    let gap = before
        .bytes()
        .rev()
        .take(CUE_GAP)
        .take_while(|byte| matches!(byte, b' ' | b':' | b'#' | b'.' | b'=' | b'-'))
        .count();
    let Some(before) = before.get(..at - gap) else {
        return false;
    };
    if text.get(at - gap..at).is_some_and(|gap| gap.contains('#')) {
        return true;
    }
    let len = before
        .bytes()
        .rev()
        .take(CUE_LETTERS + 1)
        .take_while(u8::is_ascii_alphabetic)
        .count();
    let word = before.get(before.len() - len..).unwrap_or_default();
    CUES.iter().any(|cue| word.eq_ignore_ascii_case(cue))
}
