//! American street addresses and post-office boxes: `1234 Maple Ave., Apt 5B`, `P.O. Box 123`.

use super::fold::Case;
use super::lexicon::class;
use super::scan::{Gap, Scan};
use super::{Hits, Kind};

/// The most tokens of a house number in words.
const MOST_WORDS: usize = 8;

/// Adds the American address whose house number is digit run `i`.
pub(crate) fn american(s: &Scan<'_>, i: usize, out: &mut Hits) {
    let tok = s.tok(i);
    if tok.len > 6 || s.continues(i) || tok.glued() && s.before(i, 1).mark(b'#') {
        return;
    }
    let mut at = i + 1;
    // "12B Baker Street", "12-14 Baker Street".
    if s.tok(at).glued() {
        if s.tok(at).letters() && s.tok(at).len == 1 {
            at += 1;
        } else if s.tok(at).mark(b'-') && s.tok(at + 1).digits() {
            at += 2;
        } else {
            return;
        }
    }
    named(s, i, at, tok.len, out);
}

/// Adds the address whose house number is said in words, the first of which is token `i`: "thirty-six eighty
/// Maple Road".
pub(crate) fn spoken(s: &Scan<'_>, i: usize, out: &mut Hits) {
    if s.caseless || i < out.house_end {
        return;
    }
    let (mut end, mut words) = (i + 1, 1);
    while end < i + MOST_WORDS && s.tok(end).gap <= Gap::Blank {
        let tok = s.tok(end);
        if tok.is(class::NUMBER) || s.word_among(end, &["oh", "o", "zero", "hundred"]) {
            words += 1;
        } else if !(tok.mark(b'-') && tok.glued()) {
            break;
        }
        end += 1;
    }
    out.house_end = end;
    named(s, i, end, words, out);
}

/// Adds the address of house number `i` whose street's name may begin with token `start`. `length` is the
/// number of digits or words of the house number.
fn named(s: &Scan<'_>, i: usize, start: usize, length: u8, out: &mut Hits) {
    let mut at = start;
    if !s.has_street(i + 1, start + 7) {
        return;
    }
    let mut named = 0;
    while at < start + 7 {
        let tok = s.tok(at);
        if tok.gap > Gap::Line
            || tok.gap == Gap::None
                && !(tok.is(class::ORDINAL)
                    || s.before(at, 1).mark(b'.')
                    || s.before(at, 1).mark(b'\'')
                    || tok.mark != 0)
                && !s.before(at, 1).letters()
        {
            return;
        }
        let weak = tok.is(class::STREET_WEAK);
        if named > 0 && (tok.is(class::STREET) || weak) && !(tok.is(class::ORDINAL) && tok.glued()) {
            let cased = tok.case != Case::Lower;
            let next = s.tok(at + 1);
            let longer = next.is(class::STREET | class::STREET_WEAK)
                && next.gap == Gap::Blank
                && next.case == tok.case;
            let certain = cased && !s.caseless
                || s.caseless && (length >= 3 || tok.is(class::STREET)) && follows(s, at);
            // "4 Chamber View" is not an address: a weak word needs a number of some length.
            let certain = certain && (!weak || length >= 2 || follows(s, at) && s.tok(at + 1).mark(b','));
            // "St" begins a name more often than it ends one: "24 St. Mary".
            if !longer {
                if certain {
                    let last = behind(s, at);
                    out.push(
                        i,
                        last,
                        Kind::Street,
                        if tok.is(class::STREET) { 0.93 } else { 0.85 },
                        "street.american",
                    );
                }
                return;
            }
        }
        if tok.letters() {
            let small = tok.case == Case::Lower && !s.caseless;
            if tok.is(class::UNIT) && tok.len > 1
                || tok.is(class::FUNCTION)
                || small && !(tok.is(class::ORDINAL) && tok.glued())
            {
                return;
            }
            named += 1;
        } else if tok.digits() {
            // "101st", "5th".
            if !(s.tok(at + 1).is(class::ORDINAL) && s.tok(at + 1).glued()) && tok.len > 3 {
                return;
            }
            named += 1;
        } else if !matches!(tok.mark, b'.' | b'\'' | b'-') {
            return;
        }
        at += 1;
    }
}

/// Returns whether the text after a street's last word continues or closes an address, for text without
/// capitals.
fn follows(s: &Scan<'_>, at: usize) -> bool {
    let next = s.tok(at + 1);
    s.ends_line(at)
        || matches!(next.mark, b',' | b'.' | b';' | b')')
        || next.is(class::APARTMENT)
        || next.mark(b'#')
        || s.word_is(at + 1, "in")
        || next.digits()
}

/// Returns the last token of the parts of an address after its street at `at`: a full stop, a direction, an
/// apartment.
fn behind(s: &Scan<'_>, at: usize) -> usize {
    let mut last = at;
    let stop = s.tok(last + 1).mark(b'.') && s.tok(last + 1).glued();
    let mut next = if stop { last + 2 } else { last + 1 };
    if ["n", "s", "e", "w", "ne", "nw", "se", "sw"]
        .iter()
        .any(|word| s.word_is(next, word))
        && s.tok(next).gap == Gap::Blank
        && s.tok(next).case != Case::Lower
    {
        last = next;
        next += 1;
    }
    if s.tok(next).mark(b',') {
        next += 1;
    }
    let unit = s.tok(next);
    let named = unit.is(class::APARTMENT) && unit.gap <= Gap::Line;
    if named || unit.mark(b'#') {
        let mut value = next + 1;
        while matches!(s.tok(value).mark, b'.' | b'#') && value < next + 3 {
            value += 1;
        }
        let tok = s.tok(value);
        if tok.digits()
            || tok.letters() && tok.len <= 2 && tok.case == Case::Upper
            || tok.letters() && tok.len == 1
        {
            last = value;
            while s.tok(last + 1).glued()
                && (s.tok(last + 1).wordlike()
                    || s.tok(last + 1).mark(b'-') && s.tok(last + 2).glued() && s.tok(last + 2).wordlike())
                && last < value + 4
            {
                last += 1;
            }
        }
    }
    last
}

/// Adds the post-office box whose "box" is token `i`.
pub(crate) fn post_box(s: &Scan<'_>, i: usize, out: &mut Hits) {
    let mut value = i + 1;
    if s.tok(value).mark(b'#') {
        value += 1;
    }
    if !s.tok(value).digits() || s.tok(value).gap > Gap::Line {
        return;
    }
    let mut at = i;
    // "P.O." or "PO" is read backwards, with or without stops.
    for _ in 0..4 {
        let before = s.before(at, 1);
        let part = before.mark(b'.') || ["p", "o", "po"].iter().any(|word| s.word_is(at - 1, word));
        if !part {
            break;
        }
        at -= 1;
    }
    // "Apartado 123", "Apdo. de Correos 993".
    if s.spanish && at == i && s.tok(i).case != Case::Lower && !s.word_is(i, "box") {
        let whole = s.word_is(i, "correos") && s.before(i, 1).is(class::OF) && s.before(i, 2).is(class::BOX);
        out.push(
            if whole { i - 2 } else { i },
            value,
            Kind::Street,
            0.85,
            "street.box",
        );
        return;
    }
    if at < i && (s.word_is(at, "p") || s.word_is(at, "po")) {
        out.push(at, value, Kind::Street, 0.97, "street.box");
    }
}
