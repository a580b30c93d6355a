//! Spanish street addresses: `C/ del Abedul 5-7, 2º dcha`, `Ctra. de Colmenar, km 12,500`, `Irunberri, 3.
//! 31008 Pamplona`.

use super::fold::Case;
use super::lexicon::class;
use super::scan::{Gap, Scan};
use super::{Hits, Kind};

/// Adds the Spanish address that starts with the word at token `i`: "Calle", "Avda.", "Pº", "C/".
pub(crate) fn spanish(s: &Scan<'_>, i: usize, out: &mut Hits) {
    let tok = s.tok(i);
    let mut at = i + 1;
    let slash = s.tok(at).mark(b'/') && s.tok(at).glued();
    if tok.len == 1 || s.word_is(i, "pl") || s.word_is(i, "po") {
        // "C/" and "Pl." need their punctuation; "c 3" is not a street.
        let abbreviated = slash || s.tok(at).mark(b'.') && tok.len > 1;
        let written = tok.case == Case::Title && tok.len > 2;
        if !abbreviated && !written {
            return;
        }
    }
    // "via", "camino" and the like are words; a street has a capital.
    let plain = ["calle", "avenida", "plaza", "paseo"]
        .iter()
        .any(|word| s.word_is(i, word));
    if tok.case == Case::Lower && !s.caseless && !slash && !plain {
        return;
    }
    if s.tok(at).mark(b'.') || slash {
        at += 1;
    }
    // "c/o" and "C/D" are English shorthand.
    if slash && s.tok(at).len == 1 && s.tok(at).glued() && !s.tok(at + 1).mark(b'.') {
        return;
    }
    // "C/. Mayor".
    if slash && s.tok(at).mark(b'.') {
        at += 1;
    }
    // "Hospital Virgen del Camino", "Centro de Salud Barrio del Pilar": part of an institution's name, not a
    // street.
    if s.before(i, 1).is(class::OF)
        && ["camino", "barrio", "parque", "partida", "cuesta", "via", "ronda"]
            .iter()
            .any(|word| s.word_is(i, word))
    {
        return;
    }
    // "AV OD" is the acuity of the right eye, "PL." an artery.
    if tok.len <= 2
        && tok.case == Case::Upper
        && !s.caseless
        && !slash
        && (tok.len < 2 || !s.word_is(i, "av") || !s.before(at, 1).mark(b'.'))
    {
        return;
    }
    let word = [
        "via", "vía", "camino", "barrio", "parque", "partida", "cuesta", "ronda", "pasaje",
    ];
    if (s.caseless || s.tok(at).case == Case::Lower && !s.tok(at).is(class::OF | class::LINK))
        && word.iter().any(|word| s.word_is(i, word))
    {
        return;
    }
    let start = at;
    let (mut capitals, mut small, mut commas) = (0, 0, false);
    while at < start + 12 {
        let tok = s.tok(at);
        if tok.gap >= Gap::Line {
            return;
        }
        if tok.digits()
            || s.word_is(at, "s") && s.tok(at + 1).mark(b'/')
            || s.word_is(at, "sn")
            || s.word_is(at, "km")
        {
            break;
        }
        let link = tok.letters()
            && (tok.is(class::FUNCTION | class::OF | class::LINK | class::JOIN)
                || tok.case == Case::Lower && tok.len <= 3);
        let word = tok.letters()
            && tok.case == Case::Lower
            && tok.len > 3
            && !tok.is(class::FUNCTION | class::UNIT)
            && small < 2;
        if tok.letters() && (tok.case != Case::Lower || s.caseless) {
            capitals += 1;
        } else if word
            && (capitals > 0
                || slash
                || s.word_is(i, "calle")
                || s.word_is(i, "avenida")
                || s.word_is(i, "avda"))
        {
            // "Calle molinos 114", "C/ Dr. esquerdo": names in lower case.
            small += 1;
            capitals += u32::from(slash || s.tok(i).case == Case::Title);
        } else if !(link
            || tok.letters() && s.tok(at).is(class::NUMBER_WORD | class::CALLE | class::ORDINAL)
            || matches!(tok.mark, b',' | b'.' | b'-' | b'\'' | b'(' | b')' | b'"')
            || !tok.wordlike() && tok.mark == 0)
        {
            return;
        }
        if tok.mark(b'.') && s.before(at, 1).len > 4 {
            return;
        }
        // The word of a second street starts another address: "Barrio del Pilar Calle de Finisterre".
        if at > start
            && tok.is(class::CALLE)
            && tok.case == Case::Title
            && tok.len > 3
            && !s.before(at, 1).is(class::OF | class::LINK)
        {
            return;
        }
        commas = tok.mark(b',');
        at += 1;
    }
    let Some(last) = number_and_floor(s, at).filter(|_| capitals > 0 || plain && commas) else {
        return;
    };
    out.push(i, last, Kind::Street, 0.9, "street.spanish");
}

/// Returns the last token of a house number at `at` and of the floor and door after it.
fn number_and_floor(s: &Scan<'_>, at: usize) -> Option<usize> {
    let mut last;
    if s.word_is(at, "s") && s.tok(at + 1).mark(b'/') && s.word_is(at + 2, "n") {
        last = at + 2;
    } else if s.word_is(at, "km") {
        let value = if s.tok(at + 1).mark(b'.') { at + 2 } else { at + 1 };
        if !s.tok(value).digits() {
            return None;
        }
        last = decimal(s, value);
    } else if s.word_is(at, "sn") {
        last = at;
    } else {
        // A postal code is not a house number.
        if !s.tok(at).digits() || s.tok(at).len > 4 {
            return None;
        }
        last = decimal(s, at);
    }
    // Each step takes one part: ", 2º", " dcha", "-1º B", ", 3 A".
    for _ in 0..8 {
        let mut next = last + 1;
        let mut comma = false;
        if matches!(s.tok(next).mark, b',' | b'-' | b'/' | b'.' | b'#') && s.tok(next).gap <= Gap::Blank {
            comma = true;
            let ordinal =
                s.tok(next).glued() && s.tok(next + 1).is(class::ORDINAL) && s.tok(next + 1).glued();
            if s.tok(next).mark(b'.') && ordinal {
                last = next + 1;
                continue;
            }
            if s.tok(next).mark(b'.') && !s.tok(next + 1).is(class::FLOOR) {
                break;
            }
            next += 1;
        }
        let tok = s.tok(next);
        if tok.gap > Gap::Blank {
            break;
        }

        let digit = tok.digits()
            && (tok.len <= 3 || s.before(next, 1).mark(b'#'))
            && (comma
                || s.before(next, 1)
                    .is(class::FLOOR | class::APARTMENT | class::ORDINAL)
                    && tok.len <= 2
                || (s.tok(next + 1).is(class::ORDINAL)
                    || s.tok(next + 1).case == Case::Title && s.tok(next + 1).len == 1)
                    && s.tok(next + 1).glued())
            && !s.tok(next + 1).is(class::MONTH);
        let floor = tok.is(class::FLOOR) || tok.is(class::APARTMENT) && !tok.is(class::FUNCTION);
        let letter = tok.letters()
            && tok.len <= 2
            && (tok.case != Case::Lower
                || tok.is(class::ORDINAL) && tok.glued()
                || s.caseless && tok.len == 1)
            && (s.before(next, 1).digits()
                || comma
                || s.before(next, 1)
                    .is(class::ORDINAL | class::FLOOR | class::APARTMENT)
                || tok.glued())
            && !s.word_is(next, "cp")
            && !s.tok(next + 1).mark(b':')
            && !(s.tok(next + 1).mark(b'-') && s.tok(next + 2).len == 5)
            && !(s.tok(next + 1).mark(b'.') && s.word_is(next + 2, "p"));
        let degree = s.bytes(next) == "°".as_bytes() && tok.glued();
        if !(digit || floor || letter || degree) {
            break;
        }
        last = next;
        // "izq.": the full stop of an abbreviation, if more follows on the line.
        if floor
            && s.tok(last + 1).mark(b'.')
            && s.tok(last + 1).glued()
            && !s.ends_line(last + 1)
            && s.tok(last + 2).letters()
            && s.tok(last + 2).case == Case::Lower
        {
            last += 1;
        }
    }
    Some(last)
}

/// Adds an address without a street word before the postal code at token `code`: "Irunlarrea, 3 31008
/// Pamplona".
pub(crate) fn before_postal(s: &Scan<'_>, code: usize, out: &mut Hits) {
    let mut end = code - 1;
    while matches!(s.tok(end).mark, b',' | b'.' | b'-' | b'(') && end + 3 > code {
        end -= 1;
    }
    let starts =
        |k: usize| s.tok(k).digits() || s.word_is(k, "s") || s.word_is(k, "sn") || s.word_is(k, "km");
    let house =
        (code - 8..=end).find(|&k| starts(k) && !s.continues(k) && number_and_floor(s, k) == Some(end));
    let Some(house) = house else { return };
    let mut at = house - 1;
    while at + 4 > house
        && (matches!(s.tok(at).mark, b',' | b'.') || s.tok(at).is(class::NUMBER_WORD) || s.word_is(at, "n"))
    {
        at -= 1;
    }
    let (last, mut first, mut names) = (at, at + 1, 0);
    while at + 8 > last && s.tok(at).letters() {
        let tok = s.tok(at);
        let link = tok.is(class::OF | class::LINK | class::FUNCTION) && tok.case == Case::Lower;
        if tok.is(class::INSTITUTION | class::CALLE) || !(link || tok.capital()) {
            break;
        }
        if !link {
            first = at;
            names += 1;
        }
        if tok.starts_line() {
            at -= 1;
            break;
        }
        at -= 1;
    }
    if names == 0 {
        return;
    }
    // If no punctuation or line break marks where the name begins, only its last words are certain.
    let closed = s.tok(at + 1).starts_line() || matches!(s.tok(at).mark, b'.' | b',' | b')' | b';');
    let signature = s.tok(at).mark(b':') || s.tok(at).is(class::TITLE) || s.before(at, 1).is(class::TITLE);
    if !closed && signature && names > 3 {
        first = last - 2;
    } else if !closed && names > 1 {
        first = last;
        while first > last - 3 && s.before(first, 1).is(class::OF | class::LINK) {
            first -= 1;
        }
        if first < last {
            first -= 1;
        }
    }
    out.push(first, end, Kind::Street, 0.7, "street.before-code");
}

/// Returns the last token of "12,500" or "5-7" at digit run `at`.
fn decimal(s: &Scan<'_>, at: usize) -> usize {
    let more = matches!(s.tok(at + 1).mark, b',' | b'.' | b'-')
        && s.tok(at + 1).glued()
        && s.tok(at + 2).glued()
        && s.tok(at + 2).digits()
        && s.tok(at + 2).len <= 3;
    if more { at + 2 } else { at }
}

/// Adds the rest of a form line after "Domicilio:" or "Dirección:" that does not start with a street word.
pub(crate) fn form_line(s: &Scan<'_>, i: usize, out: &mut Hits) {
    if !s.tok(i + 1).mark(b':') {
        return;
    }
    let first = i + 2;
    if s.tok(first).gap >= Gap::Line || !s.tok(first).letters() {
        return;
    }
    let mut last = first;
    let mut number = false;
    while last < first + 24 && !s.ends_line(last) {
        let tok = s.tok(last);
        number |= tok.digits() || s.word_is(last, "s");
        if tok.len > 4 && tok.letters() && s.tok(last + 1).mark(b':') {
            return;
        }
        last += 1;
    }
    number |= s.tok(last).digits();
    while last > first && matches!(s.tok(last).mark, b'.' | b',' | b';') {
        last -= 1;
    }
    if number && s.ends_line(last) | s.tok(last + 1).mark(b'.') {
        out.push(first, last, Kind::Street, 0.8, "street.form");
    }
}
