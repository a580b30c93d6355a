//! Dates in figures: `03/18/2022`, `18.03.22`, `2022-03-18`, `12-III-2004`, `03/2022`, `3/18`, `20220318`.

use super::lexicon::class;
use super::scan::{Gap, Scan, Tok};
use super::{Hits, Kind};

/// A numeric date that starts at a token.
pub(crate) struct Numeric {
    /// Its last token.
    pub(crate) last: usize,
    /// The score.
    pub(crate) score: f32,
    /// Its shape.
    pub(crate) rule: &'static str,
}

const DAY: std::ops::RangeInclusive<u32> = 1..=31;
const MONTH: std::ops::RangeInclusive<u32> = 1..=12;
/// The years that occur in notes.
pub(crate) const YEAR: std::ops::RangeInclusive<u32> = 1850..=2100;

/// Returns whether a numeric date may start at digit run `tok` before `next`.
pub(crate) fn may_begin(tok: &Tok, next: &Tok) -> bool {
    tok.len == 8 || matches!(next.mark, b'/' | b'-' | b'.')
}

/// Adds the numeric date that starts at digit run `i`.
pub(crate) fn at(s: &Scan<'_>, i: usize, out: &mut Hits) {
    let Some((mark, second)) = separator(s, i) else {
        if compact(s, i) {
            out.push(i, i, Kind::Date, 0.9, "date.compact");
        }
        return;
    };
    if let Some(date) = whole_by(s, i, mark, second) {
        out.push(
            with_short_weekday(s, i),
            date.last,
            Kind::Date,
            date.score,
            date.rule,
        );
        return;
    }
    if compact(s, i) {
        out.push(i, i, Kind::Date, 0.9, "date.compact");
        return;
    }
    // In a date of two parts both are digits: a Roman month occurs only in a date of three parts.
    if !s.tok(second).digits() {
        return;
    }
    if let Some(last) = month_and_year(s, i) {
        out.push(i, last, Kind::Date, 0.85, "date.month-year");
    } else if let Some((last, score)) = partial(s, i) {
        out.push(with_short_weekday(s, i), last, Kind::Date, score, "date.partial");
    }
}

/// Returns `i`, or the abbreviated day of the week before it: "Mon 8/18".
fn with_short_weekday(s: &Scan<'_>, i: usize) -> usize {
    let day = if matches!(s.before(i, 1).mark, b'.' | b',') {
        i - 2
    } else {
        i - 1
    };
    if s.tok(day).is(class::WEEKDAY_SHORT) && s.tok(i).gap <= Gap::Blank {
        day
    } else {
        i
    }
}

/// Returns a date of three parts at digit run `i`, if it begins one.
pub(crate) fn whole(s: &Scan<'_>, i: usize) -> Option<Numeric> {
    let (mark, second) = separator(s, i)?;
    whole_by(s, i, mark, second)
}

/// Recognises a date as [`whole`] does, given the result of [`separator`].
fn whole_by(s: &Scan<'_>, i: usize, mark: u8, second: usize) -> Option<Numeric> {
    let (again, third) = separator(s, second)?;
    if mark != again || !s.tok(third).digits() {
        return None;
    }
    let (a, b, c) = (s.tok(i), s.tok(second), s.tok(third));
    // A Roman month stands between a day and a year.
    if b.letters() && !(a.number(1..=2, DAY) && (c.number(4..=4, YEAR) || c.len == 2)) {
        return None;
    }
    let spaced = !s.tok(i + 1).glued() || !b.glued();
    if !ends(s, third, mark) || (spaced && mark != b'/') {
        return None;
    }
    let found = |score, rule| {
        Some(Numeric {
            last: third,
            score,
            rule,
        })
    };
    if b.letters() {
        let fits = roman(s.bytes(second)).is_some_and(|month| MONTH.contains(&month));
        return if fits {
            found(0.95, "date.roman-month")
        } else {
            None
        };
    }
    let small = |t: &Tok| t.number(1..=2, DAY);
    let day_month = small(a) && small(b) && (MONTH.contains(&a.value) || MONTH.contains(&b.value));
    if a.number(4..=4, YEAR) && b.number(1..=2, MONTH) && small(c) {
        return found(0.98, "date.iso");
    }
    if day_month && c.number(4..=4, YEAR) {
        return found(if spaced { 0.9 } else { 0.98 }, "date.numeric");
    }
    if day_month && c.number(2..=2, 0..=99) && !spaced {
        return match mark {
            b'/' => found(0.95, "date.numeric"),
            b'-' => found(0.9, "date.numeric"),
            // "1.2.13" is a section or a version; "01.02.13" a date.
            _ if a.len == 2 && b.len == 2 => found(0.8, "date.numeric"),
            _ => None,
        };
    }
    // "10/03/12" written year first: "98/12/31".
    if mark == b'/' && a.number(2..=2, 32..=99) && b.number(2..=2, MONTH) && c.number(2..=2, DAY) {
        return found(0.8, "date.numeric");
    }
    None
}

/// Returns the separator after token `i` and the token after that, if both can be part of a date.
fn separator(s: &Scan<'_>, i: usize) -> Option<(u8, usize)> {
    let mark = s.tok(i + 1);
    let next = s.tok(i + 2);
    let close = (mark.gap <= Gap::None && next.gap == Gap::None)
        || (mark.mark == b'/' && mark.gap <= Gap::Blank && next.gap <= Gap::Blank);
    (matches!(mark.mark, b'/' | b'-' | b'.') && close && next.wordlike()).then_some((mark.mark, i + 2))
}

/// Returns whether a date may end with token `last`: no further part and no letters follow, except the `T` of
/// a timestamp.
fn ends(s: &Scan<'_>, last: usize, mark: u8) -> bool {
    let next = s.tok(last + 1);
    if !next.glued() {
        return true;
    }
    if next.wordlike() {
        return s.word_is(last + 1, "t") || next.case == super::fold::Case::Title && next.len > 3;
    }
    let behind = s.tok(last + 2);
    match next.mark {
        // A range continues with a dash, a time with a colon or a full stop.
        b'-' => !behind.digits() || !behind.glued() || mark != b'-' && s.tok(last + 3).mark(mark),
        b'/' | b'.' => !(behind.glued() && behind.digits()),
        _ => true,
    }
}

/// Returns the value of a Roman numeral from I to XII.
pub(crate) fn roman(word: &[u8]) -> Option<u32> {
    const MONTHS: [&str; 12] = [
        "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII",
    ];
    MONTHS
        .iter()
        .position(|month| word.eq_ignore_ascii_case(month.as_bytes()))
        .map(|i| i as u32 + 1)
}

/// Returns whether a word before `20220318` announces a date.
fn compact(s: &Scan<'_>, i: usize) -> bool {
    let tok = s.tok(i);
    if tok.len != 8 || s.goes_on(i) && !s.word_is(i + 1, "t") {
        return false;
    }
    let (year, month, day) = (tok.value / 10_000, tok.value / 100 % 100, tok.value % 100);
    let first = |value: u32| MONTH.contains(&value);
    let iso = YEAR.contains(&year) && first(month) && DAY.contains(&day);
    let (b, a, y) = (
        tok.value / 1_000_000,
        tok.value / 10_000 % 100,
        tok.value % 10_000,
    );
    let other = YEAR.contains(&y) && DAY.contains(&a) && DAY.contains(&b) && (first(a) || first(b));
    (iso || other) && date_cue(s, i)
}

/// Recognises `03/2022`: a month and a year with four digits.
fn month_and_year(s: &Scan<'_>, i: usize) -> Option<usize> {
    let (mark, last) = separator(s, i)?;
    let good = s.tok(i).number(1..=2, MONTH)
        && s.tok(last).number(4..=4, 1900..=2100)
        && s.tok(last).glued()
        && (mark == b'/' || s.tok(i).len == 2 && date_cue(s, i))
        && !s.goes_on(last)
        && !s.measured(last);
    good.then_some(last)
}

/// Recognises `3/18`: a month and a day, or a day and a month, with a score that depends on surrounding
/// words.
fn partial(s: &Scan<'_>, i: usize) -> Option<(usize, f32)> {
    let (mark, last) = separator(s, i)?;
    let (a, b) = (s.tok(i), s.tok(last));
    // "10/99" is a month and a year if a word says so.
    let aged = a.number(1..=2, MONTH) && b.number(2..=2, 50..=99) && mark == b'/' && b.glued();
    if aged && date_cue(s, i) && !s.goes_on(last) && !s.measured(last) {
        return Some((last, 0.7));
    }
    let fits = a.number(1..=2, DAY)
        && b.number(1..=2, DAY)
        && (MONTH.contains(&a.value) || MONTH.contains(&b.value));
    if !fits || !b.glued() || mark == b'.' || s.measured(last) {
        return None;
    }
    // A range, "03/12-03/15", is two dates; any other continuation means that it is not a date.
    let range = s.tok(last + 1).mark(b'-') && s.tok(last + 2).glued() && s.tok(last + 3).mark(b'/');
    // "in 5/6,4. Hernia": the next item of a list without a blank.
    let item = s.tok(last + 1).mark(b',') && s.tok(last + 2).len == 1 && s.tok(last + 3).mark(b'.');
    if s.goes_on(last) && !range && !item || (s.tok(last + 1).glued() && s.tok(last + 1).mark(b'/')) {
        return None;
    }
    let mut evidence = 0;
    if a.len == 2 && b.len == 2 {
        evidence += if s.bytes(i)[0] == b'0' || s.bytes(last)[0] == b'0' {
            2
        } else {
            1
        };
    }
    if date_cue(s, i) {
        evidence += 2;
    }
    let strong = s.before(i, 1).is(class::DATE_CUE)
        && !s.before(i, 1).is(class::OF | class::JOIN)
        && !["as", "by", "in"].iter().any(|word| s.word_is(i - 1, word));
    if s.before(i, 1).is(class::WEEKDAY) || s.before(i, 1).mark(b',') && s.before(i, 2).is(class::WEEKDAY) {
        evidence += 2;
    }
    if s.before(i, 1).is(class::WEEKDAY_SHORT) {
        evidence += 4;
    }
    if s.tok(i).starts_line() || s.before(i, 1).mark(b'(') && s.tok(last + 1).mark(b')') {
        evidence += 1;
    }
    if s.ends_line(last) && a.len == 2 {
        evidence += 1;
    }
    // A signature, "Dr Hale 3/23", and a daily entry, "9/1: afebrile".
    let closes =
        s.ends_line(last) && (1..=3).any(|back| s.before(i, back).is(class::TITLE | class::CREDENTIAL));
    let opens = s.tok(last + 1).mark(b':')
        && s.tok(last + 1).glued()
        && (s.tok(i).starts_line() || matches!(s.before(i, 1).mark, b'.' | b';'));
    if closes || opens {
        evidence += 4;
    }
    // "from 12/10 to 1/14".
    let joined = s.tok(last + 1).is(class::JOIN) && s.tok(last + 3).mark(b'/')
        || s.before(i, 1).is(class::JOIN) && s.before(i, 3).mark(b'/');
    if joined && date_cue(s, if s.before(i, 1).is(class::JOIN) { i - 4 } else { i }) {
        evidence += 2;
    }
    // "from 2/6 to 3/6 murmur".
    if joined && s.tok(last + 5).is(class::SCORE_AFTER) && s.tok(last + 3).mark(b'/') {
        evidence -= 3;
    }
    if s.tok(last + 1).is(class::SCORE_AFTER) || s.tok(last + 1).mark(b'"') {
        evidence -= 3;
    }
    if (1..=2).any(|back| {
        s.before(i, back).is(class::SCORE_BEFORE)
            && !s.before(i, back).is(class::DATE_CUE)
            && (back == 1 || !s.before(i, 1).mark(b'.'))
    }) {
        evidence -= 3;
    }
    if b.len == 1 && !strong && a.value <= b.value && matches!(b.value, 2..=6 | 8) {
        evidence -= 1;
    }
    if b.value == 10 || mark == b'-' {
        evidence -= if strong && a.len == 2 && b.len == 2 { 1 } else { 2 };
    }
    if s.before(i, 1).mark(b'+') || s.tok(last + 1).mark(b'+') {
        evidence -= 2;
    }
    (evidence >= 2).then_some((last, 0.6 + 0.1 * (evidence.min(4) as f32 - 1.0)))
}

/// Returns whether one of the three tokens before `i` announces a date, over commas, colons and weekdays.
pub(crate) fn date_cue(s: &Scan<'_>, i: usize) -> bool {
    for back in 1..=4 {
        let tok = s.before(i, back);
        if s.tok(i - back + 1).gap == Gap::Paragraph {
            return false;
        }
        if tok.is(class::DATE_CUE | class::WEEKDAY | class::WEEKDAY_SHORT | class::PART_OF) {
            return true;
        }
        if !(matches!(tok.mark, b':' | b',' | b'(' | b'~' | b'-' | b'.') || s.word_is(i - back, "the")) {
            return false;
        }
    }
    false
}
