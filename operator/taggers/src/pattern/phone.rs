//! Telephone, fax and pager numbers: North American and Spanish in every grouping, international with `+`,
//! and any number after a telephone word.

use super::lexicon::class;
use super::pager::{bare_extension, extension_or_short, prefixed, reached};
use super::scan::{Gap, Scan};
use super::{Hits, Kind};

/// The kind of number that surrounding words announce.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cue {
    /// None.
    None,
    /// A person can be reached there.
    Reach,
    /// A telephone.
    Phone,
    /// A pager.
    Pager,
    /// A fax.
    Fax,
}

/// Adds the number that starts at token `i`: a digit run, `(` or `+`.
pub(crate) fn at(s: &Scan<'_>, i: usize, out: &mut Hits) {
    let tok = s.tok(i);
    // Only a country code has one digit. The area code follows it, after at most a punctuation mark and a
    // bracket.
    let is_code = tok.digits() && tok.len == 1;
    if is_code && !(1..=3).any(|ahead| s.tok(i + ahead).digits() && s.tok(i + ahead).len >= 3) {
        return;
    }
    if tok.digits()
        && (s.continues(i) || matches!(s.before(i, 1).mark, b'$' | b'#') && tok.glued())
        && !prefixed(s, i)
    {
        return;
    }
    let found = if is_code {
        american(s, i)
    } else {
        american(s, i)
            .or_else(|| spanish(s, i))
            .or_else(|| international(s, i))
    };
    let (mut last, bare, rule) = match found {
        Some(found) => found,
        None => {
            extension_or_short(s, i, out);
            return;
        }
    };
    let extended = extension(s, last);
    if extended.is_none() && (s.measured(last) || s.tok(last + 1).glued() && s.tok(last + 1).letters()) {
        return;
    }
    if bare < 0.7 && s.before(i, 1).is(class::NUMBER_WORD) && cue(s, i, out) == Cue::None {
        return;
    }
    let bare = if extended.is_some() { bare.max(0.9) } else { bare };
    let cue = cue(s, i, out);
    let score = match cue {
        Cue::None if bare < 0.5 => return,
        Cue::None => bare,
        Cue::Reach => bare.max(0.85),
        _ => bare.max(0.96),
    };
    if let Some(end) = extended {
        last = end;
    }
    out.push(
        i,
        last,
        if cue == Cue::Fax { Kind::Fax } else { Kind::Phone },
        score,
        rule,
    );
}

/// Adds the number after the telephone, fax or pager word at `i`, in any grouping.
pub(crate) fn behind_cue(s: &Scan<'_>, i: usize, out: &mut Hits) {
    let mut at = i + 1;
    let mut marked = false;
    if s.tok(i).is(class::REACH) {
        return reached(s, i, out);
    }
    if s.tok(i).is(class::EXTENSION) {
        return bare_extension(s, i, out);
    }
    for _ in 0..5 {
        let tok = s.tok(at);
        if tok.gap > Gap::Line {
            return;
        }
        let skip = matches!(tok.mark, b':' | b'.' | b'#' | b'=' | b'-')
            || tok.is(class::NUMBER_WORD)
            || s.word_is(at, "is")
            || s.word_is(at, "to")
            || s.word_is(at, "at")
            || s.word_is(at, "de")
            || s.tok(at).is(class::PHONE)
            || s.word_is(at, "contacto");
        if !skip || tok.mark(b'#') && s.tok(at + 1).glued() && s.tok(at + 1).digits() {
            break;
        }
        marked = true;
        at += 1;
    }
    let first = at;
    // "pager x41736", "beeper #4321".
    if (s.word_is(at, "x") || s.tok(at).mark(b'#')) && s.tok(at + 1).glued() {
        at += 1;
    }
    let (mut digits, mut last, mut open) = (0usize, None, false);
    let limit = at + 14;
    while at < limit {
        let tok = s.tok(at);
        let near = tok.gap <= Gap::Blank || at == first;
        if tok.digits() && (near || at == first) {
            digits += usize::from(tok.len);
            // A long group ends a number: the next group belongs to another.
            last = Some(at);
            if tok.len >= 9 {
                break;
            }
        } else if tok.mark(b'(') && !open && near {
            open = true;
        } else if tok.mark(b')') && open && tok.glued() {
            open = false;
        } else if !near
            || !(matches!(tok.mark, b'-' | b'+') || matches!(tok.mark, b'.' | b'/') && s.tok(at + 1).glued())
        {
            break;
        }
        at += 1;
    }
    let Some(last) = last else { return };
    let shorts = s.tok(i).is(class::PAGER);
    let least = if shorts || marked { 4 } else { 5 };
    if !(least..=16).contains(&digits)
        || s.measured(last)
        || super::date::whole(s, first).is_some()
        || s.goes_on(last) && !s.tok(last + 1).is(class::EXTENSION)
    {
        return;
    }
    let kind = if s.tok(i).is(class::FAX) {
        Kind::Fax
    } else {
        Kind::Phone
    };
    let last = extension(s, last).unwrap_or(last);
    out.push(
        first,
        last,
        kind,
        if digits >= 7 { 0.94 } else { 0.85 },
        "phone.cue",
    );
}

/// Recognises ten digits in the American format, with or without the country code 1.
fn american(s: &Scan<'_>, i: usize) -> Option<(usize, f32, &'static str)> {
    let mut at = i;
    let plus = s.tok(at).mark(b'+');
    if plus {
        at += 1;
    }
    if s.tok(at).number(1..=1, 1..=1)
        && s.tok(at + 1).gap <= Gap::Blank
        && (matches!(s.tok(at + 1).mark, b'-' | b'.' | b'(' | b'/')
            || s.tok(at + 1).digits() && s.tok(at + 1).len == 3)
    {
        at += 1;
        if matches!(s.tok(at).mark, b'-' | b'.' | b'/') {
            at += 1;
        }
    } else if plus {
        return None;
    }
    let open = s.tok(at).mark(b'(');
    if open {
        at += 1;
    }
    let area = s.tok(at);
    if !open && !plus && area.number(9..=9, 0..=u32::MAX) {
        return None;
    }
    if !open && area.digits() && (area.len == 10 || area.len == 11) {
        let digits = s.bytes(at);
        let body = if area.len == 11 { &digits[1..] } else { digits };
        let plausible = (b'2'..=b'9').contains(&body[0])
            && (b'2'..=b'9').contains(&body[3])
            && (area.len == 10 || digits[0] == b'1');
        return (plausible && !s.goes_on(at)).then_some((at, if plus { 0.9 } else { 0.6 }, "phone.american"));
    }
    if !area.number(3..=3, 200..=999) || at != i && area.gap > Gap::Blank {
        return None;
    }
    let mut kind = 0u8;
    if open {
        if !s.tok(at + 1).mark(b')') {
            return None;
        }
        at += 1;
        kind = b'(';
    }
    let (exchange, first_mark) = next_group(s, at)?;
    let least = if first_mark == 0 && !open { 200 } else { 100 };
    if !s.tok(exchange).number(3..=3, least..=999) {
        // "(312) 8475530".
        let solid = open && s.tok(exchange).number(7..=7, 2_000_000..=9_999_999) && !s.goes_on(exchange);
        return solid.then_some((exchange, 0.9, "phone.american"));
    }
    let (line, second_mark) = next_group(s, exchange)?;
    if s.tok(line).len != 4
        || !s.tok(line).digits()
        || s.goes_on(line) && !s.tok(line + 1).is(class::EXTENSION)
    {
        return None;
    }
    let score = match (kind, first_mark, second_mark) {
        (b'(', _, _) => 0.97,
        (_, 0, 0) => 0.8,
        (_, a, b) if a == b => 0.95,
        _ => 0.9,
    };
    Some((line, score, "phone.american"))
}

/// Returns the digit run after token `i`, across one separator or a blank, and the separator.
fn next_group(s: &Scan<'_>, i: usize) -> Option<(usize, u8)> {
    let next = s.tok(i + 1);
    if next.digits()
        && (next.gap == Gap::Blank
            || next.gap == Gap::Line && s.tok(i).gap == Gap::Blank && s.before(i, 1).digits()
            || s.tok(i).mark(b')') && next.gap <= Gap::Line)
    {
        return Some((i + 1, 0));
    }
    let close = matches!(next.mark, b'-' | b'.' | b'/')
        && next.gap <= Gap::Blank
        && s.tok(i + 2).digits()
        && s.tok(i + 2).gap <= Gap::Blank;
    close.then_some((i + 2, next.mark))
}

/// Recognises nine digits in the Spanish format, with or without the country code 34.
fn spanish(s: &Scan<'_>, i: usize) -> Option<(usize, f32, &'static str)> {
    if !s.spanish {
        return None;
    }
    let mut at = i;
    let mut country = false;
    let open = s.tok(at).mark(b'(');
    if open {
        at += 1;
    }
    if s.tok(at).mark(b'+') {
        at += 1;
        country = true;
    }
    let code = s.tok(at);
    if code.number(2..=2, 34..=34) || code.number(4..=4, 34..=34) {
        let mut next = at + 1;
        if s.tok(next).mark(b')') || matches!(s.tok(next).mark, b'-' | b'.') {
            next += 1;
        }
        if !s.tok(next).digits() || s.tok(next).gap > Gap::Blank {
            return None;
        }
        country = true;
        at = next;
    } else if country && code.number(9..=9, 0..=999_999_999) {
    } else if country && code.len == 11 && s.bytes(at).starts_with(b"34") {
        return (!s.goes_on(at)).then_some((at, 0.95, "phone.spanish"));
    } else if open || country {
        return None;
    }
    if !matches!(s.bytes(at).first(), Some(b'6'..=b'9')) {
        return None;
    }
    let (mut digits, mut groups, mut last) = (0, 0, at);
    loop {
        let tok = s.tok(last);
        if !tok.digits() || tok.len == 1 || tok.value == u32::MAX {
            return None;
        }
        digits += tok.len;
        groups += 1;
        if digits >= 9 || groups == 4 {
            break;
        }
        let (next, mark) = next_group(s, last)?;
        // "88 - 118/72 - 16" are vital signs.
        if mark != 0 && !(s.tok(last + 1).glued() && s.tok(next).glued()) || mark == b'/' {
            return None;
        }
        last = next;
    }
    if digits != 9 || s.goes_on(last) {
        return None;
    }
    // A tenth digit in a further group rules out a telephone number.
    let further = s.tok(last + 1);
    if further.digits() && further.gap == Gap::Blank && groups > 1 && !country && further.len <= 4 {
        return None;
    }
    let score = match (country, groups) {
        (true, _) => 0.93,
        (_, 1) => 0.45,
        _ => 0.72,
    };
    Some((last, score, "phone.spanish"))
}

/// Recognises `+` or `00`, a country code, and groups: seven to fifteen digits (ITU-T E.164).
fn international(s: &Scan<'_>, i: usize) -> Option<(usize, f32, &'static str)> {
    // "011 44 20 7946 0958" is dialled from America, "00 44 ..." from most other places.
    let dialled = (s.tok(i).number(3..=3, 11..=11) || s.tok(i).number(2..=2, 0..=0))
        && s.tok(i + 1).digits()
        && s.tok(i + 1).gap == Gap::Blank
        && s.tok(i + 2).digits();
    let plus =
        s.tok(i).mark(b'+') && s.tok(i + 1).glued() && !(s.tok(i).glued() && s.before(i, 1).wordlike());
    if !plus && !dialled {
        return None;
    }
    let (mut at, mut last, mut digits, mut open) = (i + 1, i, 0usize, false);
    while at < i + 16 {
        let tok = s.tok(at);
        if tok.gap > Gap::Blank {
            break;
        }
        if tok.digits() {
            if digits + usize::from(tok.len) > 15 {
                break;
            }
            digits += usize::from(tok.len);
            last = at;
        } else if tok.mark(b'(') && !open {
            open = true;
        } else if tok.mark(b')') && open {
            open = false;
        } else if !(matches!(tok.mark, b'-' | b'.' | b'/') && tok.glued() && s.tok(at + 1).glued()) {
            break;
        }
        at += 1;
    }
    (digits >= if plus { 8 } else { 10 } && !s.goes_on(last)).then_some((last, 0.9, "phone.international"))
}

/// Returns the last token of the extension after token `last`: "x123", "ext. 123", ", extension 12".
pub(crate) fn extension(s: &Scan<'_>, last: usize) -> Option<usize> {
    let mut at = last + 1;
    if s.tok(at).mark(b',') || s.tok(at).mark(b'-') {
        at += 1;
    }
    if !s.tok(at).is(class::EXTENSION) || s.tok(at).gap > Gap::Line {
        return None;
    }
    at += 1;
    while matches!(s.tok(at).mark, b'.' | b':' | b'#') && at < last + 5 {
        at += 1;
    }
    let tok = s.tok(at);
    (tok.digits() && tok.len <= 6 && tok.gap <= Gap::Line && !s.measured(at)).then_some(at)
}

/// Words that announce a number: "phone", "fax", "page".
pub(crate) const CUES: u64 = class::FAX | class::PAGER | class::PHONE | class::EXTENSION | class::REACH;
/// The largest distance from such a word to the number, in tokens.
const CUE_REACH: usize = 10;

/// Returns what the ten tokens before `i` announce. Another number, or the line before the last, ends the
/// search.
pub(crate) fn cue(s: &Scan<'_>, i: usize, out: &Hits) -> Cue {
    if i - out.phone_cue > CUE_REACH && !s.word_is(i - 1, "at") {
        return Cue::None;
    }
    let mut lines = 0;
    let mut weak = Cue::None;
    for back in 1..=CUE_REACH {
        let following = s.tok(i - back + 1);
        lines += u8::from(following.gap >= Gap::Line);
        if lines > 1 || following.gap == Gap::Paragraph {
            break;
        }
        let tok = s.before(i, back);
        if tok.is(class::FAX) {
            return Cue::Fax;
        }
        if tok.is(class::PAGER) {
            return Cue::Pager;
        }
        if tok.is(class::PHONE | class::EXTENSION) {
            return Cue::Phone;
        }
        if (tok.is(class::REACH) || back == 1 && s.word_is(i - 1, "at")) && weak == Cue::None {
            weak = Cue::Reach;
        }
        if tok.digits() && tok.len > 5 || tok.mark(b';') {
            break;
        }
    }
    weak
}
