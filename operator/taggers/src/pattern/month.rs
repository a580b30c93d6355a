//! Dates with a month's name: `March 19, 1992`, `19-Mar-92`, `14th of June`, `12 de marzo de 2012`, `Jan.
//! '09`; days of the week, feasts, and seasons with their year.

use super::date::YEAR;
use super::fold::Case;
use super::lexicon::class;
use super::scan::{Gap, Scan};
use super::{Hits, Kind};

const DAY: std::ops::RangeInclusive<u32> = 1..=31;

/// Adds the date around the month's name at token `m`.
pub(crate) fn at(s: &Scan<'_>, m: usize, out: &mut Hits) {
    if s.tok(m).glued() && s.before(m, 1).letters() {
        return;
    }
    let strong = s.tok(m).is(class::MONTH);
    if let Some(first) = day_before(s, m) {
        let last = year_after(s, m, true);
        // "the 14th of June" is one phrase.
        let worded = s.before(m, 1).is(class::OF)
            && s.tok(first + 1).is(class::ORDINAL)
            && s.word_is(first - 1, "the");
        let first = with_weekday(s, if worded { first - 1 } else { first });
        // "Hospital 12 de Octubre" is a place.
        if last == m
            && s.before(m, 1).is(class::OF)
            && s.before(first, 1).capital()
            && !s.before(first, 1).is(class::DATE_CUE)
        {
            return;
        }
        // "2 may" and "3 mar" are dates only if capitals or a year show it.
        let certain =
            strong || last > m || s.tok(m).case != Case::Lower || s.before(m, 1).is(class::OF) || s.caseless;
        let verb = s.word_is(m, "may") && last == m && s.tok(m).case == Case::Lower;
        if certain && (!verb || s.before(m, 1).is(class::OF)) {
            out.push(
                first,
                last,
                Kind::Date,
                if last > m { 0.98 } else { 0.9 },
                "date.day-month",
            );
        }
        return;
    }
    if let Some(day) = day_after(s, m) {
        let last = year_after(s, day, false);
        let cased = strong
            || s.tok(m).case != Case::Lower
            || s.caseless
            || last > day
            || s.before(m, 1).is(class::DATE_CUE);
        // In Spanish the day comes first: "Mayo 1" is a score, "abril-08" a month and its year.
        let dashed = s.tok(m + 1).glued() && matches!(s.tok(m + 1).mark, b'-' | b'/');
        let known = last > day
            || dashed
            || s.tok(m).is(class::MONTH_FIRST)
            || s.bytes(day).starts_with(b"0") && s.word_is(m - 1, "en");
        if cased && known && (last > day || !s.measured(day)) {
            out.push(
                with_weekday(s, m),
                last,
                Kind::Date,
                if last > day { 0.98 } else { 0.9 },
                "date.month-day",
            );
        }
        return;
    }
    let last = year_after(s, m, false);
    if last > m {
        out.push(m, last, Kind::Date, 0.95, "date.month-year");
    } else if (strong || s.tok(m).case == Case::Title && s.tok(m).len > 2 && s.tok(m).is(class::MONTH_FIRST))
        && alone(s, m)
    {
        out.push(m, m, Kind::Date, 0.7, "date.month");
    }
}

/// Returns `first`, or the day of the week before it: "Sunday, January 27".
pub(crate) fn with_weekday(s: &Scan<'_>, first: usize) -> usize {
    let day = if s.before(first, 1).mark(b',') || s.before(first, 1).mark(b'.') {
        first - 2
    } else {
        first - 1
    };
    let stop = s.before(first, 1).mark(b'.') && !s.tok(day).is(class::WEEKDAY_SHORT);
    let near = s.tok(first).gap <= Gap::Line && !stop && s.tok(day).is(class::WEEKDAY | class::WEEKDAY_SHORT);
    if near { day } else { first }
}

/// Adds a day of the week.
pub(crate) fn weekday(i: usize, out: &mut Hits) {
    out.push(i, i, Kind::Date, 0.85, "date.weekday");
}

/// Adds a feast, with the words that belong to it.
pub(crate) fn holiday(s: &Scan<'_>, i: usize, out: &mut Hits) {
    let next = i + 1;
    // Christmas disease, the Christmas-tree pattern, Easter Seals.
    if ["disease", "tree", "factor", "seals", "seal"]
        .iter()
        .any(|word| s.word_is(next, word) || s.word_is(next + 1, word))
    {
        return;
    }
    let last = if s.word_is(next, "day") || s.word_is(next, "eve") {
        next
    } else {
        i
    };
    out.push(i, year_after(s, last, false), Kind::Date, 0.8, "date.holiday");
}

/// Adds "Labor Day", "New Year's Eve", "Semana Santa" at its first word.
pub(crate) fn named_day(s: &Scan<'_>, i: usize, out: &mut Hits) {
    if s.tok(i).case == Case::Lower && !s.caseless {
        return;
    }
    let year = s.word_is(i, "new") && s.word_is(i + 1, "year");
    let week = s.word_is(i, "semana") && s.word_is(i + 1, "santa");
    let mut last = if year || week { i + 1 } else { i };
    if s.tok(last + 1).mark(b'\'') && s.word_is(last + 2, "s") {
        last += 2;
    }
    let named = s.word_is(last + 1, "day") || year && s.word_is(last + 1, "eve");
    if named || week || year && last > i + 1 {
        let last = if named { last + 1 } else { last };
        out.push(i, year_after(s, last, false), Kind::Date, 0.8, "date.holiday");
    }
}

/// Adds a season with its year.
pub(crate) fn season(s: &Scan<'_>, i: usize, out: &mut Hits) {
    let last = year_after(s, i, false);
    if last > i && s.tok(last).len == 4 {
        out.push(i, last, Kind::Date, 0.85, "date.season");
    }
}

/// Returns the first token of the day (or the range of days) before the month at `m`.
fn day_before(s: &Scan<'_>, m: usize) -> Option<usize> {
    let mut i = m - 1;
    let tok = s.tok(i);
    if s.tok(m).gap > Gap::Line {
        return None;
    }
    let bound = matches!(tok.mark, b'-' | b'/' | b'.') && tok.glued() && s.tok(m).glued();
    if bound || tok.is(class::OF) || tok.mark(b',') && s.before(i, 1).is(class::ORDINAL) {
        i -= 1;
    }
    // "el uno de enero".
    if s.before(m, 1).is(class::OF)
        && s.tok(i).is(class::NUMBER)
        && (1..=31).contains(&s.tok(i).value)
        && s.before(m, 1).len == 2
        && !s.word_is(m - 1, "of")
    {
        return Some(i);
    }
    let day = day_ending(s, i)?;
    if s.tok(day).gap == Gap::None && s.before(day, 1).mark(b'.') {
        return None;
    }
    // "3-5 de mayo", "del 3 al 5 de mayo", "3rd to 5th of June".
    let join = day - 1;
    if (s.tok(join).mark(b'-') || s.tok(join).mark(b'/') || s.tok(join).is(class::JOIN))
        && s.tok(day).gap <= Gap::Blank
        && let Some(from) = day_ending(s, join - 1)
        && !s.continues(from)
        && !(s.tok(from).glued() && s.before(from, 1).mark != b'(')
        && (s.tok(join).glued() || s.tok(join).is(class::JOIN))
    {
        return Some(from);
    }
    (!s.continues(day)).then_some(day)
}

/// Returns the day whose last token is `i`: "14", "14th", "1º".
fn day_ending(s: &Scan<'_>, i: usize) -> Option<usize> {
    let tok = s.tok(i);
    if tok.number(1..=2, DAY) {
        return Some(i);
    }
    let day = i - 1;
    let apart = tok.gap == Gap::Blank && ["st", "nd", "rd", "th"].iter().any(|ending| s.word_is(i, ending));
    let ordinal = tok.is(class::ORDINAL) && s.tok(day).number(1..=2, DAY);
    (ordinal && (tok.glued() || apart)).then_some(day)
}

/// Returns the last token of the day (or the range of days) after the month at `m`.
fn day_after(s: &Scan<'_>, m: usize) -> Option<usize> {
    let mut i = m + 1;
    if matches!(s.tok(i).mark, b'.' | b'-' | b'/' | b',') && s.tok(i).glued() {
        i += 1;
    }
    if s.word_is(i, "the") {
        i += 1;
    }
    if s.tok(i).gap > Gap::Line || !s.tok(i).number(1..=2, DAY) {
        return None;
    }
    let last = with_ordinal(s, i);
    // A time, a dose and a decimal are not days.
    if last == i
        && s.tok(i + 1).glued()
        && (s.tok(i + 1).mark(b':') && s.tok(i + 2).number(2..=2, 0..=59) && s.tok(i + 2).glued())
    {
        return None;
    }
    if last == i
        && s.tok(i + 1).glued()
        && s.tok(i + 1).mark(b'.')
        && s.tok(i + 2).glued()
        && s.tok(i + 2).digits()
    {
        return None;
    }
    // "March 3-5", "March 3 to 5", "June 3rd and 5th".
    let join = s.tok(last + 1);
    let end = last + 2;
    if (join.mark(b'-') || join.is(class::JOIN) || join.mark(b'&'))
        && s.tok(end).number(1..=2, DAY)
        && s.tok(end).gap <= Gap::Blank
    {
        let closed = with_ordinal(s, end);
        let dated = year_after(s, closed, false) > closed;
        if (dated || join.mark(b'-') || closed > end)
            && !s.measured(closed)
            && !s.tok(closed + 1).is(class::MONTH | class::MONTH_WEAK)
            && !s.tok(closed + 1).mark(b'/')
        {
            return Some(closed);
        }
    }
    Some(last)
}

/// Returns `i`, or the ordinal ending after it.
fn with_ordinal(s: &Scan<'_>, i: usize) -> usize {
    let next = s.tok(i + 1);
    if next.is(class::ORDINAL) && next.glued() {
        i + 1
    } else {
        i
    }
}

/// Returns the last token of the year after token `i`, or `i` itself if no year follows.
///
/// `short`: two digits without a mark count too, as in "12 Mar 98".
pub(crate) fn year_after(s: &Scan<'_>, i: usize, short: bool) -> usize {
    let mut at = i + 1;
    let mut bound = false;
    if s.tok(at).mark(b'.') && s.tok(at).glued() {
        at += 1;
    }
    let tok = s.tok(at);
    if tok.mark(b',') && tok.gap <= Gap::Blank {
        at += 1;
        // "13 July, 21 October": the next day, not a year.
        if s.tok(at).len == 2 && (s.tok(at).value <= 31 || s.tok(at + 1).is(class::MONTH | class::MONTH_WEAK))
        {
            return i;
        }
    } else if matches!(tok.mark, b'-' | b'/') && tok.glued() && s.tok(at + 1).glued() {
        at += 1;
        bound = true;
    } else if tok.is(class::OF) {
        at += 1;
        if s.tok(at).is(class::TIME_UNIT) {
            at += 1;
        }
    }
    let year = s.tok(at);
    if year.gap > Gap::Line {
        return i;
    }
    if year.mark(b'\'') && s.tok(at + 1).glued() && s.tok(at + 1).number(2..=2, 0..=99) {
        return at + 1;
    }
    let tight = bound || year.glued();
    // A full stop and two digits is "Mar.98"; a bare "Mar 98" counts because no month has that day.
    let two = year.number(2..=2, 0..=99)
        && (tight || short || year.value > 31)
        && !(s.tok(at + 1).mark(b':') && s.tok(at + 1).glued() && s.tok(at + 2).digits());
    let item = year.len == 4 && s.tok(at + 1).mark(b',') && s.tok(at + 2).len <= 2;
    let good = (year.number(4..=4, YEAR) || two) && !s.measured(at) && (!s.goes_on(at) || item);
    let range = year.number(4..=4, YEAR) && s.tok(at + 1).mark(b'-');
    let stamp = year.number(4..=4, YEAR) && s.tok(at + 1).mark(b':');
    if good || range || stamp { at } else { i }
}

/// Returns whether the month at `m` is a date on its own: "in March", "last June".
fn alone(s: &Scan<'_>, m: usize) -> bool {
    if s.tok(m).case == Case::Lower && !s.caseless && s.tok(m).value != 0 && !spanish(s, m) {
        return false;
    }
    let before = s.before(m, 1);
    let modified = before.is(class::PART_OF) || before.mark(b'-') && s.before(m, 2).is(class::PART_OF);
    // "reviewed January": a capital in a sentence that also has words without one.
    let dated = before.is(class::DATE_CUE)
        && before.case == Case::Lower
        && s.tok(m).case == Case::Title
        && before.len > 3;
    let strong = s.tok(m).is(class::MONTH);
    strong && (modified || dated)
        || [
            "in", "since", "last", "next", "until", "through", "during", "by", "en", "desde", "hasta", "of",
            "this", "on", "from",
        ]
        .iter()
        .any(|word| s.word_is(m - 1, word))
        || before.is(class::OF) && s.word_is(m - 2, "mes")
}

fn spanish(s: &Scan<'_>, m: usize) -> bool {
    s.word_is(m - 1, "en") || s.word_is(m - 1, "desde") || s.word_is(m - 1, "de") || s.word_is(m - 1, "hasta")
}
