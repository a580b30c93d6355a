//! Dates, numbers and addresses in words, as in dictations and transcripts: `third of March nineteen
//! seventy-two`, `oh seven seven nine one, four four two, one double six`, `ann dot quayle at example dot
//! com`, `S W one A, two A A`.

use lethe_text::numbers::ORDINALS;
use lethe_text::postcode::{is_british, is_british_form, is_canadian};

use super::fold::Case;
use super::lexicon::class;
use super::month::with_weekday;
use super::place::is_asked_for;
use super::scan::{Gap, Scan};
use super::{Hits, Kind};

const TIMES: &[&str] = &["double", "triple"];
/// What stands next to an "o" that is a zero.
const ENGLISH: [&str; 12] = [
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "oh", "double", "triple",
];
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

/// Adds the number whose digits are said or written one by one, around the digit at token `i`.
pub(crate) fn digits(s: &Scan<'_>, i: usize, out: &mut Hits) {
    if i < out.spoken_end || !is_digit(s, i) {
        return;
    }
    let mut first = i;
    while first > i.saturating_sub(4) && (is_zero(s, first - 1) || s.word_among(first - 1, TIMES)) {
        first -= 1;
    }
    let mut run = DigitRun::from(s, first);
    out.spoken_end = run.last + 1;
    if run.in_figures() && !run.is_no_scale() {
        return;
    }
    if run.count >= PHONE {
        let extension = if s.tok(run.last + 1).mark(b',') {
            run.last + 2
        } else {
            run.last + 1
        };
        if s.tok(extension).is(class::EXTENSION) && s.tok(extension).gap <= Gap::Blank {
            let more = DigitRun::from(s, extension + 1);
            if more.count > 0 {
                run.last = more.last;
                out.spoken_end = run.last + 1;
            }
        }
        out.push(first, run.last, Kind::Phone, 0.9, "phone.spoken");
    } else if run.count >= NUMBER && !run.in_figures() {
        out.push(first, run.last, Kind::Id, 0.75, "id.spoken");
    }
}

/// Digits that are said or written one by one.
#[derive(Default)]
struct DigitRun {
    /// The last of their tokens.
    last: usize,
    /// How many there are.
    count: usize,
    /// How many of them are words.
    words: usize,
    /// How many stand next to the digit below or above.
    steps: usize,
    /// Which of them there are, a bit each.
    seen: u16,
}

impl DigitRun {
    /// Reads the digits from token `first`.
    fn from(s: &Scan<'_>, first: usize) -> Self {
        let (mut at, mut times, mut before) = (first, 1, None);
        let mut run = Self {
            last: first,
            ..Self::default()
        };
        while at < first + MOST && (at == first || s.tok(at).gap <= Gap::Blank) {
            let zero = is_zero(s, at);
            if zero || is_digit(s, at) {
                let value = if zero { 0 } else { s.tok(at).value };
                run.count += times;
                run.words += usize::from(s.tok(at).letters() || times > 1);
                run.steps += usize::from(before.is_some_and(|before: u32| before.abs_diff(value) == 1));
                run.seen |= 1 << value;
                (run.last, times, before) = (at, 1, Some(value));
            } else if s.word_among(at, TIMES) {
                times = if s.word_is(at, "double") { 2 } else { 3 };
            } else if !matches!(s.tok(at).mark, b',' | b'-' | b'.') {
                break;
            }
            at += 1;
        }
        run
    }

    fn in_figures(&self) -> bool {
        self.words == 0
    }

    /// Returns whether the digits are neither counted up or down, as on a scale, nor grades of few kinds, as
    /// of reflexes or the items of a questionnaire.
    fn is_no_scale(&self) -> bool {
        2 * self.steps < self.count && self.seen.count_ones() >= 4 && self.seen >= 1 << 6
    }
}

/// Adds the code whose letters and digits are said one by one, from the capital at token `i`: "S W one A, two
/// A A".
pub(crate) fn code(s: &Scan<'_>, i: usize, out: &mut Hits) {
    if i < out.spoken_end {
        return;
    }
    let mut solid = [0; MOST];
    let (mut at, mut last, mut length, mut times) = (i, i, 0, 1);
    while at < i + MOST && length + times <= MOST && (at == i || s.tok(at).gap <= Gap::Blank) {
        let tok = s.tok(at);
        // "T1 N0" is said by nobody.
        let apart = at == i || tok.gap == Gap::Blank || s.before(at, 1).mark != 0;
        let char = if is_zero(s, at) {
            Some(b'0')
        } else if is_digit(s, at) {
            Some(b'0' + tok.value as u8)
        } else if tok.len == 1 && tok.capital() {
            s.bytes(at).first().copied()
        } else {
            None
        };
        if let Some(char) = char.filter(|_| apart) {
            solid[length..length + times].fill(char);
            length += times;
            (last, times) = (at, 1);
        } else if s.word_among(at, TIMES) {
            times = if s.word_is(at, "double") { 2 } else { 3 };
        } else if !matches!(tok.mark, b',' | b'-' | b'.') {
            break;
        }
        at += 1;
    }
    let solid = &solid[..length];
    let letters = solid.iter().filter(|char| char.is_ascii_uppercase()).count();
    let asked = is_asked_for(s, i, out);
    let is_postcode = is_british(solid) || is_canadian(solid) || asked && is_british_form(solid);
    if is_stage(solid) {
        // "T2N1M0" has the form of a Canadian postal code.
    } else if is_postcode {
        out.push(i, last, Kind::Zip, 0.9, "zip.spoken");
    } else if length > NUMBER && letters >= 2 && length - letters >= 3 {
        out.push(i, last, Kind::Id, 0.75, "id.spoken-code");
    }
    out.spoken_end = last + 1;
}

/// Returns whether letters and digits that take turns are stages or counts of births: "T two N one M zero",
/// "G2P1A0".
pub(crate) fn is_stage(solid: &[u8]) -> bool {
    let mut chars = solid.iter().enumerate();
    chars.all(|(at, char)| {
        if at % 2 == 1 {
            char.is_ascii_digit()
        } else {
            b"TNMRGPAL".contains(char)
        }
    })
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

/// Returns whether the token is a digit from one to nine, in words, or alone in figures.
fn is_digit(s: &Scan<'_>, i: usize) -> bool {
    let tok = s.tok(i);
    let in_figures = tok.digits() && tok.len == 1 && !tok.glued() && !s.tok(i + 1).glued_word();
    (in_figures || tok.letters() && tok.is(class::NUMBER)) && (1..=9).contains(&tok.value)
}

/// Returns whether the token is a zero, in words or alone in figures. "o" in small letters is the Spanish
/// "or", unless an English digit stands next to it.
fn is_zero(s: &Scan<'_>, i: usize) -> bool {
    let tok = s.tok(i);
    if tok.digits() {
        return tok.len == 1 && tok.value == 0 && !tok.glued() && !s.tok(i + 1).glued_word();
    }
    let spelled = |at: usize| s.word_among(at, &ENGLISH);
    s.word_among(i, &["zero", "oh", "nought", "cero"])
        || s.word_is(i, "o") && (s.tok(i).case == Case::Upper || spelled(i - 1) || spelled(i + 1))
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
