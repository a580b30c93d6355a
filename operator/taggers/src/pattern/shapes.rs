//! Identifiers without an announcing word: a check digit proves them, or a shape that nothing else in a note
//! has.

use lethe_text::check;

use super::fold::Case;
use super::ids::{MOST_TOKENS, Value, chunk, value};
use super::lexicon::class;
use super::scan::{Gap, Scan};
use super::{Hits, Kind};

/// Adds identifiers that need no cue at digit run or word `i`, the first of a run of tokens without blanks.
pub(crate) fn alone(s: &Scan<'_>, i: usize, out: &mut Hits) {
    let (tok, next) = (s.tok(i), s.tok(i + 1));
    if tok.digits() && next.glued() && social(s, i, out) {
        return;
    }
    if tok.digits() && tok.len <= 6 && next.digits() && groups(s, i, out) || tok.letters() && iban(s, i, out)
    {
        return;
    }
    if tok.len < 5 && !next.glued() {
        return;
    }
    // Most runs have too few digits ahead, wherever they end.
    if s.digits_ahead(i, MOST_TOKENS) < 5 {
        return;
    }
    let value = chunk(s, i);
    let total = value.digits + value.letters;
    if value.digits < 5
        || total > 34
        || s.tok(value.last + 1).glued() && matches!(s.tok(value.last + 1).mark, b'@' | b'%' | b'=' | b':')
    {
        return;
    }
    let mut buffer = [0u8; 40];
    let solid = squeeze(s.text(value.first, value.last), &mut buffer);
    if proven(s, value, solid, out) {
        return;
    }
    if s.measured(value.last) || super::date::whole(s, i).is_some() {
        return;
    }
    shaped(s, value, out);
}

/// Adds the identifier after the `#` or between the `|` at token `i`.
pub(crate) fn behind_sign(s: &Scan<'_>, i: usize, out: &mut Hits) {
    let hash = s.tok(i).mark(b'#');
    if s.tok(i + 1).gap > Gap::Blank {
        return;
    }
    let Some(value) = value(s, i + 1, false) else {
        return;
    };
    let closed = s.tok(value.last + 1).mark(b'|');
    let few = value.digits < 6 || value.letters > 5 || value.digits > 14;
    let single = value.first == value.last;
    if few
        || !(hash && s.tok(i + 1).glued() || closed)
        || s.measured(value.last)
        || !(single || value.digits >= 7)
    {
        return;
    }
    if super::date::whole(s, value.first).is_none() {
        out.push(
            value.first,
            value.last,
            Kind::Mrn,
            if hash { 0.8 } else { 0.6 },
            "mrn.sign",
        );
    }
}

/// Recognises 123-45-6789, the shape of a social security number only.
fn social(s: &Scan<'_>, i: usize, out: &mut Hits) -> bool {
    let dash = |at: usize| s.tok(at).mark(b'-') && s.tok(at).glued() && s.tok(at + 1).glued();
    let (area, group, serial) = (s.tok(i), s.tok(i + 2), s.tok(i + 4));
    let found = area.number(3..=3, 1..=999)
        && dash(i + 1)
        && group.number(2..=2, 1..=99)
        && dash(i + 3)
        && serial.number(4..=4, 1..=9999)
        && !s.goes_on(i + 4);
    if found {
        out.push(i, i + 4, Kind::Ssn, 0.95, "ssn.shape");
    }
    found
}

/// Copies the letters and digits of `raw`, as many as fit.
fn squeeze<'b>(raw: &[u8], buffer: &'b mut [u8; 40]) -> &'b [u8] {
    let mut len = 0;
    for byte in raw.iter().filter(|byte| byte.is_ascii_alphanumeric()) {
        if len < buffer.len() {
            buffer[len] = *byte;
            len += 1;
        }
    }
    &buffer[..len]
}

/// Recognises identifiers in one piece that a check digit proves.
fn proven(s: &Scan<'_>, value: Value, solid: &[u8], out: &mut Hits) -> bool {
    let capitals = s.caseless || solid.iter().all(|byte| !byte.is_ascii_lowercase());
    let found = match (solid.len(), value.letters) {
        (17, 1..) if capitals && check::vin(solid) => Some((Kind::Vehicle, "vehicle.vin")),
        (9, 2) if capitals && value.last == value.first + 1 && check::dea(solid) => {
            Some((Kind::License, "license.dea"))
        }
        (9, 1 | 2) if check::dni(solid) && capitals => Some((Kind::Id, "id.dni")),
        (9, 1 | 2) if s.spanish && check::cif(solid) && capitals && value.letters == 1 => {
            Some((Kind::Id, "id.cif"))
        }
        (11, 3..=6) if capitals && check::mbi(solid) => Some((Kind::Plan, "plan.mbi")),
        (15..=34, 2..) if capitals && check::iban(solid) => Some((Kind::Account, "account.iban")),
        (15, 0) if check::luhn(solid) && s.tok(value.first).len == 15 => Some((Kind::Device, "device.imei")),
        (13..=19, 0) if card(solid) => Some((Kind::Account, "account.card")),
        (12, 0) if s.spanish && check::nass(solid) => Some((Kind::Plan, "plan.nass")),
        _ => None,
    };
    if let Some((kind, rule)) = found {
        out.push(value.first, value.last, kind, 1.0, rule);
    }
    found.is_some()
}

fn card(solid: &[u8]) -> bool {
    matches!(solid.first(), Some(b'3'..=b'6')) && check::luhn(solid)
}

/// Recognises an IBAN in printed groups of four.
fn iban(s: &Scan<'_>, i: usize, out: &mut Hits) -> bool {
    if s.tok(i).len != 2 || s.tok(i + 1).len != 2 || !s.tok(i + 1).digits() || s.tok(i + 2).gap != Gap::Blank
    {
        return false;
    }
    let mut last = i + 1;
    while last < i + 18
        && s.tok(last + 1).wordlike()
        && s.tok(last + 1).gap <= Gap::Blank
        && s.tok(last + 1).len <= 4
    {
        last += 1;
        if last > i + 4 && check::iban(s.text(i, last)) && !s.tok(last + 1).glued() {
            out.push(i, last, Kind::Account, 1.0, "account.iban");
            return true;
        }
    }
    false
}

/// Recognises numbers in groups with blanks that a check digit proves: payment cards, IBAN without its
/// country, NASS.
fn groups(s: &Scan<'_>, i: usize, out: &mut Hits) -> bool {
    // There are too few digits for any, whatever the next groups are.
    if (i..i + 4).map(|at| usize::from(s.tok(at).len)).sum::<usize>() < 12 {
        return false;
    }
    let (mut last, mut digits) = (i, usize::from(s.tok(i).len));
    while last < i + 5
        && s.tok(last + 1).digits()
        && s.tok(last + 1).gap == Gap::Blank
        && !s.goes_on(last + 1)
    {
        last += 1;
        digits += usize::from(s.tok(last).len);
    }
    if last == i || !matches!(digits, 12..=19) {
        return false;
    }
    let mut buffer = [0u8; 40];
    let solid = squeeze(s.text(i, last), &mut buffer);
    let kind = match (digits, last - i) {
        (12, 2) if s.spanish && check::nass(solid) => (Kind::Plan, "plan.nass"),
        (15..=16, 2..=3) if card(solid) => (Kind::Account, "account.card"),
        _ => return false,
    };
    out.push(i, last, kind.0, 1.0, kind.1);
    true
}

/// Recognises a unique device identifier in GS1's printed format: "(01)", fourteen digits, and further parts
/// with their keys.
pub(crate) fn device_identifier(s: &Scan<'_>, i: usize, out: &mut Hits) {
    if !(s.tok(i + 2).mark(b')') && s.tok(i + 3).glued() && s.tok(i + 3).len == 14 && s.tok(i + 3).digits()) {
        return;
    }
    let mut last = i + 3;
    while last < i + 30
        && s.tok(last + 1).glued()
        && (s.tok(last + 1).wordlike() || matches!(s.tok(last + 1).mark, b'(' | b')' | b'-'))
    {
        last += 1;
    }
    while !s.tok(last).wordlike() {
        last -= 1;
    }
    out.push(i, last, Kind::Device, 0.98, "device.udi");
}

/// Recognises runs with a shape that nothing else in a note has. Only the shape counts, so the score is low.
fn shaped(s: &Scan<'_>, value: Value, out: &mut Hits) {
    let (first, last) = (value.first, value.last);
    // Codes of drugs, substances and procedures.
    if ["ndc", "cas", "cpt", "icd", "hcpcs", "loinc"]
        .iter()
        .any(|word| s.word_is(first - 1, word))
    {
        return;
    }
    let single = first == last;
    let hash = s.before(first, 1).mark(b'#');
    if matches!(
        s.before(first, 1).mark,
        b'$' | b'<' | b'>' | b'=' | b'+' | b'/' | b','
    ) && s.tok(first).glued()
    {
        return;
    }
    let listed = s.before(first, 1).is(class::JOIN) || s.before(first, 1).mark(b',');
    let docket = s.tok(first).len >= 4 && s.tok(last).len == 2;
    let number = listed && docket && s.before(first, 2).digits() && s.before(first, 3).mark(b'/')
        || s.before(first, 1).is(class::NUMBER_WORD)
        || s.before(first, 1).mark(b'.') && s.before(first, 2).is(class::NUMBER_WORD);
    if value.letters == 0 {
        let dashed = (1..last - first).step_by(2).all(|k| s.tok(first + k).mark(b'-'));
        if last == first + 4
            && dashed
            && s.tok(first + 2).len == 2
            && s.tok(last).len == 2
            && s.tok(first).len == 3
        {
            // 845-67-68, the hospital number of many American registries.
            out.push(first, last, Kind::Mrn, 0.85, "mrn.shape");
        } else if last == first + 4 && dashed && value.digits >= 7 {
            out.push(first, last, Kind::Id, 0.6, "id.shape");
        } else if last == first + 2 && dashed && s.tok(first).len == 1 && s.tok(last).len == 7 {
            out.push(first, last, Kind::Id, 0.55, "id.shape");
        } else if last == first + 2 && dashed && s.tok(first).len >= 6 && s.tok(last).len <= 2 {
            out.push(first, last, Kind::Mrn, 0.65, "mrn.shape");
        } else if single && (hash || number) && value.digits >= 6 {
            out.push(
                first,
                last,
                if hash { Kind::Mrn } else { Kind::Id },
                0.7,
                "id.number-sign",
            );
        } else if single && (7..=14).contains(&value.digits) && !s.tok(last + 1).mark(b',')
            || single && s.bytes(first).starts_with(b"0") && (6..=14).contains(&value.digits)
        {
            out.push(first, last, Kind::Id, 0.55, "id.long");
        } else if number && value.digits >= 5 && last == first + 2 && s.tok(first + 1).mark(b'/') {
            out.push(first, last, Kind::Id, 0.7, "id.number-sign");
        }
        return;
    }
    let capitals = (first..=last).all(|k| !s.tok(k).letters() || s.tok(k).case != Case::Lower || s.caseless);
    let letters_first = s.tok(first).letters() && s.tok(first).len <= 4;
    // Codes of diseases and procedures have few digits; an accession has a year and a serial: S97-20648.
    let accession = letters_first
        && last == first + 3
        && s.tok(first + 1).len == 2
        && s.tok(first + 2).mark(b'-')
        && s.tok(last).digits()
        && s.tok(last).len >= 3;
    if accession && capitals {
        out.push(first, last, Kind::Id, 0.8, "id.accession");
    } else if hash && value.digits >= 5 {
        out.push(first, last, Kind::Mrn, 0.7, "id.number-sign");
    } else if capitals
        && letters_first
        && value.digits >= 6
        && value.letters <= 5
        && !(first..last).any(|k| s.tok(k).mark(b'/'))
    {
        out.push(first, last, Kind::Id, 0.6, "id.shape");
    } else if capitals
        && value.digits >= 6
        && value.letters <= 5
        && s.tok(first).digits()
        && last <= first + 5
    {
        out.push(first, last, Kind::Id, 0.55, "id.shape");
    } else if s.tok(first).letters()
        && s.tok(first).len == 2
        && value.letters == 2
        && last == first + 3
        && s.tok(first + 2).mark(b'/')
        && value.digits >= 7
    {
        // The job number of a dictation: initials, a number, a number.
        out.push(first, last, Kind::Id, 0.7, "id.job");
    }
}
