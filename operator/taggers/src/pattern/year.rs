//! Years without a date: "in 2009", "desde 1990", "1998-2003", "'09", "the 1990s".

use super::date::YEAR;
use super::lexicon::class;
use super::scan::{Gap, Scan};
use super::{Hits, Kind};

/// Adds the year at digit run `i`, if surrounding words show that it is one.
pub(crate) fn at(s: &Scan<'_>, i: usize, out: &mut Hits) {
    let tok = s.tok(i);
    if !tok.number(4..=4, 1880..=YEAR_MAX) {
        return;
    }
    // "1990s".
    let decade = tok.value.is_multiple_of(10) && s.tok(i + 1).glued() && s.word_is(i + 1, "s");
    let after = if decade { i + 1 } else { i };
    if s.measured(after) || s.tok(i).glued() && s.before(i, 1).mark(b'.') {
        return;
    }
    let range = range_end(s, i);
    // "in 1996,2. Appendectomy": the next item of a list without a blank.
    let item = s.tok(after + 1).mark(b',') && s.tok(after + 2).len <= 2;
    if s.goes_on(after) && range.is_none() && !decade && !item {
        return;
    }
    if s.continues(i) && !from_range(s, i) {
        return;
    }
    if decade {
        out.push(i, after, Kind::Date, 0.75, "date.decade");
        return;
    }
    // Two years with a dash are a range of years, whatever precedes them.
    let spanned = range.is_some_and(|end| s.tok(end).value <= 2049) && tok.value >= 1930 && !s.tok(i).glued();
    let Some(score) = evidence(s, i).or(spanned.then_some(0.65)) else {
        return;
    };
    // "en el año 2000": the Spanish corpora annotate the word with the number.
    let first = if s.word_is(i - 1, "año") { i - 1 } else { i };
    out.push(first, i, Kind::Date, score, "date.year");
    if let Some(end) = range {
        out.push(end, end, Kind::Date, score, "date.year");
    }
}

const YEAR_MAX: u32 = 2079;

/// Adds "'09" at the apostrophe `i`.
pub(crate) fn apostrophe(s: &Scan<'_>, i: usize, out: &mut Hits) {
    let year = s.tok(i + 1);
    let opens = !s.tok(i).glued() || matches!(s.before(i, 1).mark, b'(' | b'-' | b'/' | b',');
    if !opens || !year.glued() || !year.number(2..=2, 0..=99) || s.measured(i + 1) {
        return;
    }
    let next = s.tok(i + 2);
    if next.glued() && s.word_is(i + 2, "s") {
        out.push(i, i + 2, Kind::Date, 0.7, "date.decade");
    } else if !(s.goes_on(i + 1) || next.glued() && matches!(next.mark, b'\'' | b'"')) {
        out.push(i, i + 1, Kind::Date, 0.8, "date.year");
    }
}

/// Returns the second year of "1998-2003" or "1998/2003".
fn range_end(s: &Scan<'_>, i: usize) -> Option<usize> {
    let dash = s.tok(i + 1);
    let end = s.tok(i + 2);
    let good = matches!(dash.mark, b'-' | b'/')
        && end.number(4..=4, s.tok(i).value..=YEAR_MAX)
        && !s.goes_on(i + 2)
        && !s.measured(i + 2);
    good.then_some(i + 2)
}

/// Returns whether `i` is the second year of a range, which the first one adds.
fn from_range(s: &Scan<'_>, i: usize) -> bool {
    s.before(i, 1).mark(b'-') && s.before(i, 2).number(4..=4, YEAR)
}

fn evidence(s: &Scan<'_>, i: usize) -> Option<f32> {
    let one = s.before(i, 1);
    let gap = s.tok(i).gap;
    if gap == Gap::Paragraph {
        return None;
    }
    // "#1998", "$2000", ">2000", "=1998", "No. 1998".
    if matches!(
        one.mark,
        b'#' | b'$' | b'>' | b'<' | b'=' | b'~' | b'+' | b'*' | b'@'
    ) || one.is(class::NUMBER_WORD)
        || one.is(class::UNIT | class::ROOM) && !one.is(class::TIME_UNIT | class::YEAR_CUE)
    {
        return None;
    }
    // Times of day: "at 1930", "1930 hours".
    if s.word_is(i - 1, "at") {
        return None;
    }
    let recent = (1930..=2049).contains(&s.tok(i).value);
    let next = s.tok(i + 1);
    let vague = s.word_is(i - 1, "to")
        || s.word_is(i - 1, "of")
        || s.word_is(i - 1, "about")
        || s.word_is(i - 1, "approximately")
        || s.word_is(i - 1, "sobre");
    if one.is(class::YEAR_CUE) && !vague {
        return recent.then_some(0.85).or(Some(0.6));
    }
    if one.is(class::PART_OF | class::SEASON | class::MONTH)
        || one.mark(b'-') && s.before(i, 2).is(class::PART_OF)
    {
        return Some(0.85);
    }
    // "performed 2006", "appointment: 2018".
    let dated = if one.mark(b':') { s.before(i, 2) } else { one };
    if dated.is(class::DATE_CUE) && dated.len > 4 && recent {
        return Some(0.7);
    }
    // "dx'd 1999", "Q3 2019".
    let marked = one.len == 1 && s.before(i, 2).mark(b'\'') && s.word_is(i - 1, "d");
    let quarter = one.number(1..=1, 1..=4) && s.tok(i - 1).glued() && s.word_is(i - 2, "q");
    if (marked || quarter) && recent {
        return Some(0.75);
    }
    // A list of years, "in 1998, 2001 and 2003", or a range, "1998 to 2003".
    let list = [2, 3]
        .iter()
        .any(|&back| s.before(i, back).number(4..=4, 1900..=YEAR_MAX));
    if list && (one.is(class::JOIN) || one.mark(b',') || one.mark(b'-') || one.mark(b'&')) && recent {
        return Some(0.75);
    }
    if vague && recent && (next.mark != 0 || next.is(class::FUNCTION) || s.ends_line(i)) {
        return Some(0.7);
    }
    // "appendectomy 1998.", "(2006)": only the look of a year.
    let closed = matches!(next.mark, b'.' | b',' | b';' | b')') || s.ends_line(i);
    // "CVA-2001", "CAD - 1988, 1992".
    let dashed = one.mark(b'-') && s.before(i, 2).letters() && s.before(i, 2).len > 1;
    let opened = one.letters() && one.len > 2 || one.mark(b'(') || one.mark(b',') || dashed;
    (recent && closed && opened && (1950..=2039).contains(&s.tok(i).value)).then_some(0.55)
}
