//! User names at places where signatures have them: "Signed: jsmith3", "RN (rdelam5) 02/15/2020", a note's
//! date line.

use super::fold::Case;
use super::lexicon::class;
use super::scan::{Gap, Scan};
use super::{Hits, Kind};

/// Returns the last token of the user name at `i`: lower-case letters, then at most four digits.
fn name(s: &Scan<'_>, i: usize) -> Option<(usize, bool)> {
    let tok = s.tok(i);
    if !tok.letters()
        || !(2..=16).contains(&tok.len)
        || tok.case != Case::Lower && !s.caseless
        || !s.bytes(i).is_ascii()
    {
        return None;
    }
    let digits = s.tok(i + 1).glued() && s.tok(i + 1).digits() && s.tok(i + 1).len <= 4;
    let last = if digits { i + 1 } else { i };
    (!s.tok(last + 1).glued() || s.tok(last + 1).mark != 0 && !s.tok(last + 2).glued())
        .then_some((last, digits))
}

/// Adds the user name after "signed:", "user:", "login:" at token `i`.
pub(crate) fn behind_cue(s: &Scan<'_>, i: usize, out: &mut Hits) {
    let mut at = i + 1;
    while at < i + 4 && s.tok(at).is(class::NUMBER_WORD | class::USER) {
        at += 1;
    }
    let colon = s.tok(at).mark(b':') || s.tok(at).mark(b'=');
    if colon {
        at += 1;
    }
    if s.tok(at).gap > Gap::Wide {
        return;
    }
    let Some((last, digits)) = name(s, at) else { return };
    let plain = !digits
        && (s.tok(at).is(class::FUNCTION | class::LINK | class::TITLE)
            || !closes(s, last)
            || s.caseless && s.ends_line(last));
    if colon && !plain || digits && s.tok(at).len >= 3 {
        out.push(at, last, Kind::User, if digits { 0.9 } else { 0.75 }, "user.cue");
    }
}

/// Returns whether a signature's line ends or continues with a date after token `last`.
fn closes(s: &Scan<'_>, last: usize) -> bool {
    s.ends_line(last)
        || matches!(s.tok(last + 1).mark, b';' | b',' | b')' | b'|')
        || s.tok(last + 1).digits()
        || s.tok(last + 1).is(class::MONTH | class::MONTH_WEAK)
}

/// Adds the user name in the parenthesis at token `i`, if a credential precedes it.
pub(crate) fn bracketed(s: &Scan<'_>, i: usize, out: &mut Hits) {
    let Some((last, digits)) = name(s, i + 1) else {
        return;
    };
    if s.tok(last + 1).mark(b')')
        && s.before(i, 1).is(class::CREDENTIAL)
        && !s.before(i, 1).glued()
        && (digits || !s.caseless)
        && s.tok(i + 1).len > 2
    {
        out.push(i + 1, last, Kind::User, 0.85, "user.signature");
    }
}

/// Adds the user name that ends the line of the date which ends with token `date`: the head of a progress
/// note.
pub(crate) fn behind_date(s: &Scan<'_>, date: usize, out: &mut Hits) {
    let at = date + 1;
    if s.tok(at).gap != Gap::Wide && s.tok(at).gap != Gap::Blank {
        return;
    }
    let Some((last, digits)) = name(s, at) else { return };
    let alone = s.tok(at).gap == Gap::Wide && !s.tok(at).is(class::FUNCTION | class::LINK);
    if s.ends_line(last) && s.tok(at).len >= 3 && (digits || alone && !s.caseless) {
        out.push(
            at,
            last,
            Kind::User,
            if digits { 0.85 } else { 0.7 },
            "user.date-line",
        );
    }
}
