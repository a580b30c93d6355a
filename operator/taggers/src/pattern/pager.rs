//! Short numbers: seven digits, extensions and pagers near a person who can be reached there.

use super::lexicon::class;
use super::phone::{Cue, cue, extension};
use super::scan::{Gap, Scan};
use super::{Hits, Kind};

/// Adds the number after "ext." at token `i`, which does not follow a longer number.
pub(crate) fn bare_extension(s: &Scan<'_>, i: usize, out: &mut Hits) {
    let mut at = i + 1;
    while at < i + 3 && matches!(s.tok(at).mark, b'.' | b':' | b'#') {
        at += 1;
    }
    let tok = s.tok(at);
    let alone = s.tok(i).len > 2 && tok.digits() && (4..=6).contains(&tok.len) && tok.gap <= Gap::Line;
    if alone && !s.goes_on(at) && !s.measured(at) {
        out.push(at, at, Kind::Phone, 0.8, "phone.short");
    }
}

/// Adds the extension or pager in "page Cooper at 5254" after the verb at `i`.
pub(crate) fn reached(s: &Scan<'_>, i: usize, out: &mut Hits) {
    for at in i + 1..i + 6 {
        if s.tok(at).gap > Gap::Line {
            return;
        }
        if !s.word_is(at, "at") {
            continue;
        }
        let sign = s.tok(at + 1).mark(b'#') || s.word_is(at + 1, "x");
        let number = if sign { at + 2 } else { at + 1 };
        let tok = s.tok(number);
        let near = tok.gap <= Gap::Line && (!sign || tok.glued());
        // "call at 1930": four digits without a sign are more likely a time.
        if near
            && tok.digits()
            && (4 + u8::from(!sign)..=6).contains(&tok.len)
            && !s.goes_on(number)
            && !s.measured(number)
        {
            out.push(at + 1, number, Kind::Phone, 0.8, "phone.short");
        }
        return;
    }
}

/// Adds seven digits ("847-5530"), and extensions and pagers ("x1234", "#5254", "p27599", "(10432)") near a
/// person who can be reached there.
pub(crate) fn extension_or_short(s: &Scan<'_>, i: usize, out: &mut Hits) {
    if !s.tok(i).digits() {
        return;
    }
    let seven = s.tok(i).number(3..=3, 0..=999)
        && s.tok(i + 1).mark(b'-')
        && s.tok(i + 1).glued()
        && s.tok(i + 2).glued()
        && s.tok(i + 2).digits()
        && s.tok(i + 2).len == 4
        && !s.goes_on(i + 2)
        && !s.measured(i + 2);
    let short = (4..=6).contains(&s.tok(i).len) && !s.goes_on(i) && !s.measured(i);
    let one = s.before(i, 1);
    if seven {
        let cue = cue(s, i, out);
        let score = match cue {
            // "(298-2350)" after a unit and "normal: 751-1560" are ranges.
            Cue::None
                if !signed_pager(s, i)
                    && (s.tok(i).value < 200
                        || s.before(i, 1).mark(b':')
                        || ["normal", "range", "ref", "vn", "reference"]
                            .iter()
                            .any(|word| s.word_is(i - 1, word))
                        || s.before(i, 1).mark(b'(') && s.before(i, 2).is(class::UNIT)) =>
            {
                return;
            }
            Cue::None => 0.65,
            Cue::Reach => 0.85,
            _ => 0.93,
        };
        let kind = if cue == Cue::Fax { Kind::Fax } else { Kind::Phone };
        let score = if signed_pager(s, i) { 0.85 } else { score };
        let last = extension(s, i + 2).unwrap_or(i + 2);
        out.push(i, last, kind, score, "phone.seven");
    } else if short {
        let prefix = s.tok(i).glued() && (s.word_is(i - 1, "x") || one.mark(b'#'));
        let first = if prefix || s.word_is(i - 1, "px") && signed_pager(s, i) {
            i - 1
        } else {
            i
        };
        let opened = s.before(first, 1).mark(b'(') && s.tok(i + 1).mark(b')');
        let named = (2..=8).any(|back| s.before(first, back).is(class::TITLE | class::CREDENTIAL));
        let pager = signed_pager(s, first) || signed_pager(s, i);
        let reached = prefix
            && (1..=7).any(|back| {
                s.before(first, back)
                    .is(class::REACH | class::PHONE | class::PAGER)
            });
        if opened && named || pager || reached {
            out.push(
                first,
                i,
                Kind::Phone,
                if prefix { 0.85 } else { 0.7 },
                "phone.short",
            );
        }
    }
}

/// Returns whether the number that starts at token `i` follows the "p" of a signature: "MD, PGY-2, p27599".
fn signed_pager(s: &Scan<'_>, i: usize) -> bool {
    s.tok(i).glued()
        && (s.word_is(i - 1, "p") || s.word_is(i - 1, "px"))
        && !s.before(i, 1).glued()
        && s.before(i, 2).mark(b',')
}

/// Returns whether digit run `i` is the number of "x1234", "p27599" or "#5254": the letters joined before it
/// do not form a word.
pub(crate) fn prefixed(s: &Scan<'_>, i: usize) -> bool {
    let one = s.before(i, 1);
    one.mark(b'#')
        || (s.word_is(i - 1, "x") || s.word_is(i - 1, "p") || s.word_is(i - 1, "px")) && !s.continues(i - 1)
}
