//! Dates, numbers and addresses in words, as in dictations and transcripts: `third of March nineteen
//! seventy-two`, `oh seven seven nine one, four four two, one double six`, `ann dot quayle at example dot
//! com`.

use lethe_text::numbers::ORDINALS;

use super::fold::Case;
use super::lexicon::class;
use super::month::with_weekday;
use super::scan::{Gap, Scan};
use super::{Hits, Kind};

const TIMES: &[&str] = &["double", "triple"];
const DASHES: &[&str] = &["dash", "hyphen", "underscore"];
/// The fewest digits of a telephone number without its area, and of any number.
const PHONE: usize = 7;
const NUMBER: usize = 5;
/// The most tokens of an address or a number: the work for one word is bounded.
const MOST: usize = 40;

/// Adds the date around the month's name at token `m` if its day or year is in words.
pub(crate) fn date(s: &Scan<'_>, m: usize, out: &mut Hits) {
    let of = s.word_is(m - 1, "of");
    let before = ordinal_ending(s, if of { m - 2 } else { m - 1 }).filter(|_| s.tok(m).gap <= Gap::Line);
    let (first, mut last) = match before {
        Some(first) => (first, m),
        None => (m, day_after(s, m).unwrap_or(m)),
    };
    let has_day = first < m || last > m;
    let mut at = last + 1;
    while s.tok(at).mark(b',') || s.word_is(at, "in") || s.word_is(at, "of") {
        at += 1;
    }
    let year = if at <= last + 2 { year_ending(s, at) } else { None };
    if let Some(year) = year {
        last = year;
    } else if has_day {
        last = super::month::year_after(s, last, false);
    }
    let verb = s.word_among(m, &["may", "march"]);
    let certain = s.tok(m).is(class::MONTH)
        || (s.tok(m).case != Case::Lower || s.caseless) && !(verb && s.caseless)
        || year.is_some()
        || (of && before.is_some());
    if certain && (has_day || year.is_some()) {
        out.push(with_weekday(s, first), last, Kind::Date, 0.95, "date.spoken");
    }
}

/// Adds the year in words that begins at token `i`: "nineteen seventy-two".
pub(crate) fn year(s: &Scan<'_>, i: usize, out: &mut Hits) {
    if !s.before(i, 1).is(class::YEAR_CUE) || !matches!(s.tok(i).value, 2 | 18..=20) {
        return;
    }
    if let Some(last) = year_ending(s, i)
        && !s.tok(last + 1).is(class::UNIT)
    {
        out.push(i, last, Kind::Date, 0.8, "date.spoken-year");
    }
}

/// Adds the number whose digits are said one by one, around the digit at token `i`.
pub(crate) fn digits(s: &Scan<'_>, i: usize, out: &mut Hits) {
    if i < out.spoken_end || !is_digit(s, i) {
        return;
    }
    let mut first = i;
    while first > i.saturating_sub(4) && (is_zero(s, first - 1) || s.word_among(first - 1, TIMES)) {
        first -= 1;
    }
    let (mut at, mut last, mut count, mut times) = (first, first, 0, 1);
    while at < first + MOST {
        if is_digit(s, at) || is_zero(s, at) {
            count += times;
            (last, times) = (at, 1);
        } else if s.word_among(at, TIMES) {
            times = if s.word_is(at, "double") { 2 } else { 3 };
        } else if !matches!(s.tok(at).mark, b',' | b'-' | b'.') || s.tok(at).gap > Gap::Blank {
            break;
        }
        at += 1;
    }
    out.spoken_end = last + 1;
    if count >= PHONE {
        out.push(first, last, Kind::Phone, 0.9, "phone.spoken");
    } else if count >= NUMBER {
        out.push(first, last, Kind::Id, 0.75, "id.spoken");
    }
}

/// Adds the address that ends with the domain at token `i`, after the word "dot".
pub(crate) fn address(s: &Scan<'_>, i: usize, out: &mut Hits) {
    // "co dot uk": the last part ends it.
    if s.word_is(i + 1, "dot") {
        return;
    }
    let (mut first, mut at) = (i, None);
    while first > i.saturating_sub(MOST / 2) && s.before(first, 2).wordlike() {
        if s.word_is(first - 1, "dot") || s.word_among(first - 1, DASHES) {
            first -= 2;
        } else if s.word_is(first - 1, "at") && at.is_none() {
            at = Some(first - 1);
            first -= 2;
            // "quayle seven at": the number belongs to the word before it.
            while first > i.saturating_sub(MOST)
                && (is_digit(s, first) || s.tok(first).digits())
                && s.before(first, 1).letters()
            {
                first -= 1;
            }
        } else {
            break;
        }
    }
    match at {
        Some(_) => out.push(first, i, Kind::Email, 0.95, "net.spoken-email"),
        None => out.push(first, i, Kind::Url, 0.8, "net.spoken-url"),
    }
}

/// Returns whether the token is a digit in words.
fn is_digit(s: &Scan<'_>, i: usize) -> bool {
    s.tok(i).letters() && s.tok(i).is(class::NUMBER) && (1..=9).contains(&s.tok(i).value)
}

/// Returns whether the token is a zero in words. "o" in small letters is the Spanish "or".
fn is_zero(s: &Scan<'_>, i: usize) -> bool {
    s.word_among(i, &["zero", "oh", "nought", "cero"]) || (s.word_is(i, "o") && s.tok(i).case == Case::Upper)
}

/// Returns the first token of the ordinal whose last token is `i`: "third", "twenty-first".
fn ordinal_ending(s: &Scan<'_>, i: usize) -> Option<usize> {
    // "twenty-first" is three tokens.
    let number = ORDINALS.iter().position(|word| s.word_is(i, word))?;
    let tens = if s.before(i, 1).mark(b'-') { i - 2 } else { i - 1 };
    let joined = number < 9 && s.tok(tens).is(class::NUMBER) && matches!(s.tok(tens).value, 20 | 30);
    Some(if joined { tens } else { i })
}

/// Returns the last token of the day in words after the month at `m`: "March the third", "March twenty-two".
fn day_after(s: &Scan<'_>, m: usize) -> Option<usize> {
    let at = if s.word_is(m + 1, "the") { m + 2 } else { m + 1 };
    if s.tok(at).gap > Gap::Blank {
        return None;
    }
    let next = if s.tok(at + 1).mark(b'-') { at + 2 } else { at + 1 };
    if matches!(s.tok(at).value, 20 | 30)
        && s.tok(at).is(class::NUMBER)
        && ordinal_ending(s, next) == Some(at)
    {
        return Some(next);
    }
    if ordinal_ending(s, at) == Some(at) {
        return Some(at);
    }
    // "May one take ...", "March two miles": a number alone needs a year or a month that is no other word.
    let (last, value) = number_ending(s, at)?;
    let certain = s.tok(m).is(class::MONTH) && s.tok(m).case != Case::Lower;
    let year = if s.tok(last + 1).mark(b',') {
        last + 2
    } else {
        last + 1
    };
    ((1..=31).contains(&value) && year_ending(s, at).is_none() && (certain || year_ending(s, year).is_some()))
        .then_some(last)
}

/// Returns the last token of the year in words that begins at token `i`.
fn year_ending(s: &Scan<'_>, i: usize) -> Option<usize> {
    let tok = s.tok(i);
    if !tok.is(class::NUMBER) {
        return None;
    }
    if tok.value == 2 && s.word_is(i + 1, "thousand") {
        let rest = if s.word_is(i + 2, "and") { i + 3 } else { i + 2 };
        let rest = number_ending(s, rest).filter(|_| s.tok(rest).gap <= Gap::Blank);
        return Some(rest.map_or(i + 1, |(last, _)| last));
    }
    if !(18..=20).contains(&tok.value) || s.tok(i + 1).gap > Gap::Blank {
        return None;
    }
    if s.word_is(i + 1, "hundred") {
        return Some(i + 1);
    }
    if is_zero(s, i + 1) {
        return is_digit(s, i + 2).then_some(i + 2);
    }
    let (last, value) = number_ending(s, i + 1)?;
    (value >= 10).then_some(last)
}

/// Returns the last token and the value of a number below 100 in words.
fn number_ending(s: &Scan<'_>, i: usize) -> Option<(usize, u32)> {
    let tok = s.tok(i);
    if !tok.letters() || !tok.is(class::NUMBER) {
        return None;
    }
    let next = if s.tok(i + 1).mark(b'-') && s.tok(i + 1).glued() {
        i + 2
    } else {
        i + 1
    };
    if tok.value >= 20 && is_digit(s, next) && s.tok(next).gap <= Gap::Blank {
        return Some((next, tok.value + s.tok(next).value));
    }
    Some((i, tok.value))
}
