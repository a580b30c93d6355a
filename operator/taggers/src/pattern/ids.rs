//! Identifiers: by the words before them, by a check digit, by a shape that nothing else has.

use super::check;
use super::lexicon::{Case, class};
use super::scan::{Gap, Scan};
use super::{Hits, Kind};

/// What must stand between a cue and its value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// Nothing: the words say it all.
    Nothing,
    /// A colon, a number sign, or a number word.
    Mark,
    /// A number sign or a number word.
    Number,
}

/// Words behind which an identifier stands.
pub(crate) struct Cue {
    /// The phrases, folded, separated by `|`.
    pub(crate) phrases: &'static str,
    kind: Kind,
    need: Need,
    /// The fewest digits that make a value.
    digits: u8,
    /// Known only where Spanish is on.
    pub(crate) spanish: bool,
    /// Known only where English is on.
    pub(crate) english_only: bool,
    rule: &'static str,
}

const fn en(kind: Kind, need: Need, digits: u8, rule: &'static str, phrases: &'static str) -> Cue {
    Cue {
        phrases,
        kind,
        need,
        digits,
        spanish: false,
        english_only: true,
        rule,
    }
}

const fn es(kind: Kind, need: Need, digits: u8, rule: &'static str, phrases: &'static str) -> Cue {
    Cue {
        phrases,
        kind,
        need,
        digits,
        spanish: true,
        english_only: false,
        rule,
    }
}

const fn any(kind: Kind, need: Need, digits: u8, rule: &'static str, phrases: &'static str) -> Cue {
    Cue {
        phrases,
        kind,
        need,
        digits,
        spanish: false,
        english_only: false,
        rule,
    }
}

/// All cues.
pub(crate) const CUES: &[Cue] = &[
    en(
        Kind::Ssn,
        Need::Nothing,
        4,
        "ssn.cue",
        "ssn|social security|soc sec|s s n|ssan",
    ),
    en(Kind::Ssn, Need::Number, 4, "ssn.cue", "ss|social"),
    any(
        Kind::Mrn,
        Need::Nothing,
        3,
        "mrn.cue",
        "mrn|emrn|mpi|empi|cipa|nhc|nuhsa|m r n",
    ),
    en(
        Kind::Mrn,
        Need::Nothing,
        4,
        "mrn.cue",
        "medical record|med rec|medical rec|med record|mr num",
    ),
    en(Kind::Mrn, Need::Nothing, 10, "nhs.cue", "nhs|health service"),
    en(
        Kind::Mrn,
        Need::Number,
        3,
        "mrn.cue",
        "mr|chart|hospital|unit|patient|pt|record|file|clinic|hosp|history",
    ),
    en(Kind::Mrn, Need::Mark, 5, "mrn.cue", "chart|record|pid"),
    es(
        Kind::Mrn,
        Need::Nothing,
        3,
        "mrn.cue",
        "historia clinica|h clinica|hist clinica|n historia|no historia|no de historia|num historia|numero de historia|numero historia|expediente|cip|num hist|numero de paciente|registro hospitalario",
    ),
    es(
        Kind::Mrn,
        Need::Mark,
        5,
        "mrn.cue",
        "historia|paciente|registro|hc",
    ),
    any(Kind::Account, Need::Nothing, 5, "account.cue", "acct|fin|har"),
    en(
        Kind::Account,
        Need::Nothing,
        5,
        "account.cue",
        "account|hospital account|patient account|acc",
    ),
    en(
        Kind::Account,
        Need::Number,
        4,
        "account.cue",
        "billing|invoice|bill|receipt|guarantor|acct|account",
    ),
    es(
        Kind::Account,
        Need::Mark,
        5,
        "account.cue",
        "cuenta|cuenta corriente|factura|iban",
    ),
    en(
        Kind::Plan,
        Need::Nothing,
        5,
        "plan.cue",
        "medicare|medicaid|subscriber|policy|hicn|mbi|beneficiary|health plan|insurance|member|insured|hmo|masshealth|medi cal|tricare|bcbs|aetna|cigna|humana",
    ),
    en(
        Kind::Plan,
        Need::Number,
        3,
        "plan.cue",
        "group|grp|plan|member|policy|subscriber|insurance|payer|payor|certificate|coverage|enrollee|beneficiary|rx bin|rx grp|bin|pcn",
    ),
    es(
        Kind::Plan,
        Need::Nothing,
        5,
        "plan.cue",
        "nass|nuss|nss|naf|asegurado|afiliacion|poliza|seguridad social|tarjeta sanitaria|tis|asegurada|numero de asegurado",
    ),
    es(
        Kind::Plan,
        Need::Mark,
        5,
        "plan.cue",
        "sip|mutua|beneficiario|afiliado|tarjeta",
    ),
    en(
        Kind::License,
        Need::Nothing,
        4,
        "license.cue",
        "dea|npi|upin|driver license|drivers license|driver s license|driving license|medical license|state license|license|licence|licensure",
    ),
    en(Kind::License, Need::Mark, 5, "license.cue", "dl"),
    en(
        Kind::License,
        Need::Number,
        3,
        "license.cue",
        "lic|certificate|certification|provider|registration|provider id",
    ),
    es(
        Kind::License,
        Need::Nothing,
        4,
        "license.cue",
        "colegiado|colegiada|ncol|no col|n col|num col|num colegiado|colegiacion|permiso de conducir|carne de conducir|licencia",
    ),
    en(
        Kind::Vehicle,
        Need::Nothing,
        3,
        "vehicle.cue",
        "license plate|licence plate|plate|vin|vehicle identification|tag",
    ),
    es(
        Kind::Vehicle,
        Need::Nothing,
        3,
        "vehicle.cue",
        "matricula|bastidor|placa",
    ),
    en(
        Kind::Device,
        Need::Nothing,
        4,
        "device.cue",
        "serial|serial number|ser no|udi|imei|lot|device id|device identifier|meid|batch",
    ),
    en(Kind::Device, Need::Mark, 5, "device.cue", "s n|sn"),
    en(
        Kind::Device,
        Need::Number,
        3,
        "device.cue",
        "lot|device|implant|pacemaker|generator|model|prosthesis|icd|equipment|catalog|ref|serial|batch|lead|pump|unit serial",
    ),
    es(
        Kind::Device,
        Need::Nothing,
        4,
        "device.cue",
        "no serie|no de serie|numero de serie|num serie|num de serie|n serie|n de serie|lote|imei",
    ),
    en(
        Kind::Id,
        Need::Nothing,
        5,
        "id.cue",
        "accession|pathology|encounter|csn|passport|claim|requisition|visit number|job|acc no|confirmation|authorization|visit id|surgical|cytology|specimen",
    ),
    en(
        Kind::Id,
        Need::Number,
        3,
        "id.cue",
        "accession|case|specimen|encounter|visit|order|reference|ref|auth|authorization|document|doc|dictation|transcription|episode|report|study|exam|requisition|employee|badge|tracking|ticket|invoice|application|job|req|confirmation|referral|prescription|rx|block|slide|sample|voucher|student|military|service|staff",
    ),
    en(
        Kind::Id,
        Need::Mark,
        4,
        "id.cue",
        "id|accession|passport|specimen|dictation|job|case|encounter|ref|reference|visit|doc|report",
    ),
    es(
        Kind::Id,
        Need::Nothing,
        5,
        "id.cue",
        "dni|nie|nif|cif|pasaporte|episodio|n episodio|cedula|curp|rut|expediente judicial|biopsia no|biopsia n|solicitud no",
    ),
    es(
        Kind::Id,
        Need::Mark,
        4,
        "id.cue",
        "episodio|peticion|solicitud|muestra|caso|documento|identificacion|referencia|contacto|visita|ingreso no",
    ),
    en(
        Kind::Bio,
        Need::Number,
        3,
        "biometric.cue",
        "fingerprint|thumbprint|retinal scan|iris scan|biometric|voiceprint|palm scan|palm vein|finger scan|facial scan",
    ),
    es(
        Kind::Bio,
        Need::Mark,
        4,
        "biometric.cue",
        "huella dactilar|huella|biometrico|iris",
    ),
];

/// A value behind a cue, or standing alone.
#[derive(Clone, Copy)]
struct Value {
    first: usize,
    last: usize,
    digits: usize,
    letters: usize,
}

/// Adds the identifier behind the cue that ends with token `i`.
pub(crate) fn behind_cue(s: &Scan<'_>, i: usize, out: &mut Hits) {
    let mut at = i + 1;
    let (mut marked, mut numbered, mut breaks) = (false, false, 0);
    let mut wrapped = false;
    while at < i + 8 {
        let tok = s.tok(at);
        breaks += u32::from(tok.gap == Gap::Line);
        if tok.gap == Gap::Paragraph || breaks > 1 {
            return;
        }
        wrapped |= tok.gap == Gap::Line;
        match tok.mark {
            b':' | b'=' => marked = true,
            b'#' => numbered = true,
            b'.' | b'-' | b'(' | b'/' | b'\'' | b'|' => {}
            _ if tok.is(class::NUMBER_WORD) && !(tok.glued() && s.before(at, 1).digits()) => numbered = true,
            _ if tok.is(class::LINK) && tok.gap > Gap::None && !s.tok(at + 1).glued() => {}
            _ if s.bytes(at) == "°".as_bytes() || s.word_is(at, "s") && s.before(at, 1).mark(b'\'') => {}
            _ if numbered_abbreviation(s, at) => numbered = true,
            // "CIPA: nhc-123": the second cue is no part of the value.
            _ if is_record_cue(s, at)
                && s.tok(at + 1).glued()
                && matches!(s.tok(at + 1).mark, b'-' | b':' | b'.')
                && s.tok(at + 2).digits() => {}
            _ => break,
        }
        at += 1;
    }
    let before_i = s.before(i, 1);
    numbered |= before_i.is(class::NUMBER_WORD)
        || s.before(i, 2).is(class::NUMBER_WORD) && (before_i.mark(b'.') || before_i.is(class::OF));
    // "mg/dl 13-17": the end of a unit is no cue.
    if s.tok(i).glued() && before_i.mark(b'/') && s.tok(i).len < 4 {
        return;
    }
    let phrases = s.lexicon.cues(s.tok(i).cue);
    let insured = s.spanish && phrases.iter().any(|phrase| CUES[phrase.cue].kind == Kind::Plan);
    let Some(value) = value(s, at, insured) else {
        return;
    };
    if super::date::whole(s, value.first).is_some_and(|date| date.score > 0.92) {
        return;
    }
    let mut best: Option<(&Cue, usize)> = None;
    for phrase in phrases {
        let cue = &CUES[phrase.cue];
        let satisfied = match cue.need {
            Need::Nothing => true,
            Need::Mark => marked || numbered,
            Need::Number => numbered,
        };
        let longest = best.is_none_or(|(_, words)| phrase.before.len() > words);
        if satisfied
            && longest
            && spoken(s, i, &phrase.before)
            && fits(s, cue, value, marked || numbered, wrapped)
        {
            best = Some((cue, phrase.before.len()));
        }
    }
    if let Some((cue, _)) = best {
        let raw = s.text(value.first, value.last);
        let solid: Vec<u8> = raw.iter().copied().filter(u8::is_ascii_alphanumeric).collect();
        let proven = match cue.kind {
            Kind::License => check::dea(&solid) || check::npi(&solid),
            Kind::Mrn => check::nhs(&solid) && cue.rule == "nhs.cue",
            Kind::Vehicle => check::vin(&solid),
            Kind::Plan => check::nass(&solid) || check::mbi(&solid),
            Kind::Id => check::dni(&solid) || check::cif(&solid),
            Kind::Account => check::iban(&solid),
            Kind::Device => solid.len() == 15 && check::luhn(&solid),
            _ => false,
        };
        out.push(
            value.first,
            value.last,
            cue.kind,
            if proven { 1.0 } else { 0.96 },
            cue.rule,
        );
    }
}

/// Whether token `at` is by itself a cue of record numbers.
fn is_record_cue(s: &Scan<'_>, at: usize) -> bool {
    let phrases = s.lexicon.cues(s.tok(at).cue);
    phrases
        .iter()
        .any(|phrase| phrase.before.is_empty() && CUES[phrase.cue].kind == Kind::Mrn)
}

/// "n.", "n°" as a number word: too short a word to be one without its mark.
fn numbered_abbreviation(s: &Scan<'_>, at: usize) -> bool {
    s.word_is(at, "n")
        && (s.tok(at + 1).mark(b'.') || s.bytes(at + 1) == "°".as_bytes() || s.tok(at + 1).is(class::ORDINAL))
}

/// Whether the words of a phrase, nearest first, stand before token `i`; full stops and apostrophes do not count.
fn spoken(s: &Scan<'_>, i: usize, before: &[super::lexicon::Key]) -> bool {
    let mut at = i;
    for &word in before {
        at -= 1;
        if matches!(s.tok(at).mark, b'.' | b'\'' | b'/' | b'-') || s.bytes(at) == "°".as_bytes() {
            at -= 1;
        }
        if s.key(at) != word {
            return false;
        }
    }
    true
}

/// Whether a value is of the kind that the cue announces.
fn fits(s: &Scan<'_>, cue: &Cue, value: Value, marked: bool, wrapped: bool) -> bool {
    let _ = wrapped;
    if value.digits < usize::from(cue.digits) || value.digits > 24 {
        return false;
    }
    match cue.kind {
        Kind::Ssn => matches!(value.digits, 4 | 9) && value.letters == 0,
        // A plate of steel is no plate of a car.
        Kind::Vehicle => {
            let upper = (value.first..=value.last)
                .all(|k| !s.tok(k).letters() || s.tok(k).case != Case::Lower)
                || s.caseless;
            value.letters > 0 && upper || marked && value.digits > 4
        }
        Kind::Device => value.letters > 0 || value.digits >= 5 || marked,
        _ => true,
    }
}

/// The value that starts at token `at`: words and numbers glued by hyphens, slashes and stops, and groups of digits with blanks.
///
/// `long`: further groups may follow a first one of any length, as in Spanish insurance numbers.
fn value(s: &Scan<'_>, at: usize, long: bool) -> Option<Value> {
    if !s.tok(at).wordlike() {
        return None;
    }
    let mut value = chunk(s, at);
    let mut groups = 1;
    let plain = |value: &Value| value.letters == 0 && value.first == value.last;
    let most = if long { 14 } else { 12 };
    // "HAR 013", "FN 0383": letters apart from their figures are capitals.
    let spaced = s.tok(at).case == Case::Upper || s.tok(at).len == 1 || s.caseless || value.digits > 0;
    let mut short = plain(&value) && (s.tok(at).len <= 4 || long)
        || spaced
            && value.letters > 0
            && value.letters <= 4
            && value.digits <= 5
            && value.last <= value.first + 1;
    while short && groups < 5 {
        let next = s.tok(value.last + 1);
        let wide = next.gap == Gap::Wide && groups > 1 && (4..=8).contains(&next.len);
        if !next.digits() || !(next.gap == Gap::Blank || wide) || value.digits + usize::from(next.len) > most
        {
            break;
        }
        let least = if value.digits == 0 {
            3
        } else if long {
            1
        } else {
            2
        };
        let more = chunk(s, value.last + 1);
        let unfit = next.len < least || more.last > value.last + 1 || s.measured(value.last + 1);
        let year = value.letters == 0 && value.digits > 4 && next.len == 4 && groups == 1;
        if unfit || year {
            break;
        }
        value.last += 1;
        value.digits += usize::from(next.len);
        short = next.len <= 9;
        groups += 1;
    }
    // "77 95 458-1".
    let unit = s.tok(value.last).is(class::UNIT) && value.letters == usize::from(s.tok(value.last).len);
    if value.digits == 0 || (s.measured(value.last) || unit) && value.digits < 6 {
        return None;
    }
    // A lower-case word glued to digits is a word: "stage3".
    Some(value)
}

/// The run of tokens without blanks from `at` that an identifier may be: its last token is a word or number.
fn chunk(s: &Scan<'_>, at: usize) -> Value {
    let mut value = Value {
        first: at,
        last: at,
        digits: 0,
        letters: 0,
    };
    let mut k = at;
    let limit = at + 16;
    while k < limit {
        let tok = s.tok(k);
        if k > at && !tok.glued() {
            break;
        }
        if tok.digits() {
            value.digits += usize::from(tok.len);
            value.last = k;
        } else if tok.letters() {
            if tok.len > 8 && (tok.case != Case::Upper || tok.len > 16) {
                break;
            }
            value.letters += usize::from(tok.len);
            value.last = k;
        } else if !(matches!(tok.mark, b'-' | b'/' | b'_' | b'.')
            && s.tok(k + 1).glued()
            && s.tok(k + 1).wordlike())
        {
            break;
        } else if tok.mark(b'.') && s.tok(k + 1).letters() && s.tok(k + 1).len > 2 {
            // A full stop without its blank: "8735510.Domicilio".
            break;
        }
        k += 1;
    }
    value
}

/// Adds identifiers that need no cue at digit run or word `i`, the first of a run of tokens without blanks.
pub(crate) fn alone(s: &Scan<'_>, i: usize, out: &mut Hits) {
    let tok = s.tok(i);
    if tok.digits() && social(s, i, out) {
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
    if proven(s, value, solid, out) || value.letters == 0 && groups(s, i, out) {
        return;
    }
    if s.measured(value.last) || super::date::whole(s, i).is_some() {
        return;
    }
    shaped(s, value, out);
}

/// Adds the identifier behind the `#` or between the `|` at token `i`.
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

/// 123-45-6789: the shape of a social security number and of nothing else.
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

/// Identifiers in one piece whose check digit proves them.
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

/// Numbers in groups with blanks that a check digit proves: payment cards, IBAN without its country, NASS.
fn groups(s: &Scan<'_>, i: usize, out: &mut Hits) -> bool {
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

/// Runs that look like identifiers and like nothing else in a note. The looks alone, so the score is low.
fn shaped(s: &Scan<'_>, value: Value, out: &mut Hits) {
    let (first, last) = (value.first, value.last);
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
    // Codes of diseases and procedures have few digits; an accession has a year and a serial: S94-83130.
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
        // The job of a dictation: initials, a number, a number.
        out.push(first, last, Kind::Id, 0.7, "id.job");
    }
}
