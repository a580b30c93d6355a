//! ZIP codes, Spanish postal codes, and rooms.

use super::fold::Case;
use super::lexicon::class;
use super::scan::{Gap, Scan};
use super::{Hits, Kind};

/// The most tokens from the word for a postal code to the code.
const ANSWER: usize = 8;

/// Adds the postal code at digit run `i`.
pub(crate) fn postal(s: &Scan<'_>, i: usize, out: &mut Hits) {
    if s.tok(i).len != 5 || s.measured(i) {
        return;
    }
    if s.tok(i).glued()
        && (s.before(i, 1).letters() || !matches!(s.before(i, 1).mark, b'-' | b',' | b'(' | b'.' | b':'))
    {
        return;
    }
    if state_before(s, i) {
        let plus_four = s.tok(i + 1).mark(b'-')
            && s.tok(i + 1).glued()
            && s.tok(i + 2).glued()
            && s.tok(i + 2).len == 4
            && s.tok(i + 2).digits();
        if plus_four {
            out.push(i, i + 2, Kind::Zip, 0.97, "zip.state");
        } else if !s.goes_on(i) {
            out.push(i, i, Kind::Zip, 0.95, "zip.state");
        }
        return;
    }
    if s.goes_on(i) {
        return;
    }
    if is_asked_for(s, i, out) && s.ends_line(i) {
        out.push(i, i, Kind::Zip, 0.9, "zip.answer");
        return;
    }
    if !s.spanish {
        return;
    }
    // "E-37004 Valladolid", "28016 Madrid", ", 28016, Madrid".
    let prefixed =
        s.before(i, 1).mark(b'-') && s.tok(i).glued() && s.word_is(i - 2, "e") && s.before(i, 1).glued();
    if prefixed {
        out.push(i - 2, i, Kind::Zip, 0.95, "zip.spanish");
        super::street_es::before_postal(s, i - 2, out);
        return;
    }
    let mut next = i + 1;
    if matches!(s.tok(next).mark, b',' | b'.' | b'-') {
        next += 1;
    }
    let town = s.tok(next).capital()
        && s.tok(next).len > 2
        && s.tok(next).gap <= Gap::Wide
        && s.tok(next).case != Case::Mixed;
    let province = (1000..53_000).contains(&s.tok(i).value);
    // Tokens that precede it in an address: a house number, its floor, "s/n", a comma, a dash, the end of a
    // sentence.
    let one = s.before(i, 1);
    let address = matches!(one.mark, b'.' | b',' | b'-' | b'(')
        || one.digits()
        || one.is(class::FLOOR | class::ORDINAL)
        || one.len <= 2 && (one.capital() || s.before(i, 2).mark(b'/'))
        || s.tok(i).starts_line();
    if town && province && address {
        out.push(i, i, Kind::Zip, 0.8, "zip.spanish");
        super::street_es::before_postal(s, i, out);
    }
}

/// Adds the postal code after "CP", "zip" or "postal" at token `i`.
pub(crate) fn behind_cue(s: &Scan<'_>, i: usize, out: &mut Hits) {
    let mut at = i + 1;
    while at < i + 5
        && (matches!(s.tok(at).mark, b':' | b'.' | b'#' | b'-') || s.tok(at).is(class::NUMBER_WORD))
    {
        at += 1;
    }
    if s.tok(at).gap > Gap::Blank && at == i + 1 || s.tok(at).gap > Gap::Wide {
        return;
    }
    postal_value(s, at, out);
}

/// Adds "C.P. 02006" with its letters apart, from the `c` at token `i`.
pub(crate) fn behind_initials(s: &Scan<'_>, i: usize, out: &mut Hits) {
    if s.tok(i + 1).mark(b'.') && s.word_is(i + 2, "p") && s.tok(i + 3).mark(b'.') {
        let at = if s.tok(i + 4).mark(b':') { i + 5 } else { i + 4 };
        postal_value(s, at, out);
    }
}

/// Returns whether token `i` answers a question for a postal code or stands in the field for one: "Your
/// postcode?", on the line before.
pub(crate) fn is_asked_for(s: &Scan<'_>, i: usize, out: &Hits) -> bool {
    let cue = out.postal_cue;
    cue > 0
        && i - cue <= ANSWER
        && (cue + 1..=i).all(|at| s.tok(at).gap < Gap::Paragraph)
        && (cue + 1..=i).filter(|&at| s.tok(at).starts_line()).count() <= 1
}

fn postal_value(s: &Scan<'_>, at: usize, out: &mut Hits) {
    let tok = s.tok(at);
    if !tok.digits() || !(2..=8).contains(&tok.len) {
        return;
    }
    let mut last = at;
    let tail = s.tok(at + 1);
    if tail.digits() && tail.gap == Gap::Blank && tok.len + tail.len <= 6 {
        last = at + 1;
    } else if tail.mark(b'-') && tail.glued() && s.tok(at + 2).digits() && s.tok(at + 2).glued() {
        last = at + 2;
    }
    let digits: usize = (at..=last)
        .map(|k| {
            if s.tok(k).digits() {
                usize::from(s.tok(k).len)
            } else {
                0
            }
        })
        .sum();
    if digits >= 4 && !s.measured(last) {
        out.push(at, last, Kind::Zip, 0.95, "zip.cue");
    }
}

/// Returns whether a state stands before token `i`, as a code or a name.
fn state_before(s: &Scan<'_>, i: usize) -> bool {
    if s.tok(i).gap > Gap::Line || s.tok(i).gap == Gap::None {
        return false;
    }
    let mut at = i - 1;
    if matches!(s.tok(at).mark, b',' | b'.') {
        at -= 1;
    }
    let tok = s.tok(at);
    if tok.is(class::STATE) && (tok.case != Case::Lower || s.caseless) {
        return true;
    }
    // "ny" and "in" are words too: they need capitals, or the comma of an address before them.
    let comma = s.before(at, 1).mark(b',');
    if tok.is(class::STATE_CODE) && (tok.case == Case::Upper || comma) {
        return !s.caseless || comma || s.before(at, 1).letters() && !tok.is(class::FUNCTION);
    }
    // "D.C. 20001", "N.Y. 10001".
    s.tok(i - 1).mark(b'.')
        && tok.letters()
        && tok.len == 1
        && s.before(at, 1).mark(b'.')
        && s.before(at, 2).letters()
        && s.before(at, 2).len == 1
        && s.before(at, 2).capital()
}

/// Adds the room or bed after the word at token `i`.
pub(crate) fn room(s: &Scan<'_>, i: usize, out: &mut Hits) {
    let mut at = i + 1;
    while at < i + 4 && (matches!(s.tok(at).mark, b'#' | b':' | b'.') || s.tok(at).is(class::NUMBER_WORD)) {
        at += 1;
    }
    let tok = s.tok(at);
    // "Operating room 3" identifies nobody; "emergency room 2 days ago" is not a room.
    let suite = (2..=3).any(|back| s.word_is(i - back, "or") || s.word_is(i - back, "suite"));
    let general = suite
        || [
            "operating",
            "emergency",
            "recovery",
            "delivery",
            "waiting",
            "or",
            "er",
        ]
        .iter()
        .any(|word| s.word_is(i - 1, word));
    if general
        || !tok.digits()
        || tok.len > 4
        || tok.gap > Gap::Blank
        || s.measured(at)
        || s.tok(at).glued() && at == i + 1
    {
        return;
    }
    let mut last = at;
    if s.tok(at + 1).glued() && s.tok(at + 1).letters() && s.tok(at + 1).len == 1 {
        last = at + 1;
        if s.tok(at + 2).mark(b'-')
            && s.tok(at + 2).glued()
            && s.tok(at + 3).glued()
            && s.tok(at + 3).digits()
        {
            last = at + 3;
        }
    } else if s.tok(at + 1).mark(b'-')
        && s.tok(at + 1).glued()
        && s.tok(at + 2).glued()
        && s.tok(at + 2).wordlike()
        && s.tok(at + 2).len <= 3
    {
        last = at + 2;
    } else if s.goes_on(at) {
        return;
    }
    // A single digit counts beds rather than naming one, unless a capital or a sign makes it a name.
    if tok.len >= 2 || s.tok(i).case != Case::Lower && !s.caseless || last > at {
        out.push(at, last, Kind::Room, 0.7, "room");
    }
}
