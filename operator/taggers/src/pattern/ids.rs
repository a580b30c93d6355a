//! Identifiers after words that announce them: "MRN", "policy number", "NºCol".

use lethe_text::check;

use super::cues::{CUES, Cue, Need};
use super::fold::Case;
use super::lexicon::class;
use super::scan::{Gap, Scan};
use super::{Hits, Kind};

/// A value after a cue, or alone.
#[derive(Clone, Copy)]
pub(crate) struct Value {
    /// Its first token.
    pub(crate) first: usize,
    /// Its last token.
    pub(crate) last: usize,
    /// The number of its digits.
    pub(crate) digits: usize,
    /// The number of bytes of its letters.
    pub(crate) letters: usize,
}

/// Adds the identifier after the cue that ends with token `i`.
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
            // "CIPA: nhc-123": the second cue is not part of the value.
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
    // "mg/dl 13-17": the end of a unit is not a cue.
    if s.tok(i).glued() && before_i.mark(b'/') && s.before(i, 2).is(class::UNIT) {
        return;
    }
    let phrases = s.lexicon.cues(s.tok(i).cue);
    let insured = s.spanish && phrases.iter().any(|phrase| CUES[phrase.cue].kind == Kind::Plan);
    let Some(mut value) = value(s, at, insured) else {
        return;
    };
    // "matrícula 1234 BCD".
    let letters = s.tok(value.last + 1);
    let plate = phrases
        .iter()
        .any(|phrase| CUES[phrase.cue].kind == Kind::Vehicle)
        && value.digits == 4
        && value.letters == 0;
    if plate
        && letters.letters()
        && letters.len == 3
        && letters.gap == Gap::Blank
        && (letters.case == Case::Upper || s.caseless)
    {
        value.last += 1;
        value.letters = 3;
    }
    if super::date::whole(s, value.first).is_some_and(|date| date.score > 0.92) {
        return;
    }
    // "HC: 20.8-22.6": measured values.
    let decimal =
        value.letters == 0 && value.digits < 8 && (value.first..value.last).any(|k| s.tok(k).mark(b'.'));
    if decimal {
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

/// Returns whether token `at` alone is a cue of record numbers.
fn is_record_cue(s: &Scan<'_>, at: usize) -> bool {
    let phrases = s.lexicon.cues(s.tok(at).cue);
    phrases
        .iter()
        .any(|phrase| phrase.before.is_empty() && CUES[phrase.cue].kind == Kind::Mrn)
}

/// Returns whether "n.", "n°" is a number word: it is too short to count without its punctuation.
fn numbered_abbreviation(s: &Scan<'_>, at: usize) -> bool {
    s.word_is(at, "n")
        && (s.tok(at + 1).mark(b'.') || s.bytes(at + 1) == "°".as_bytes() || s.tok(at + 1).is(class::ORDINAL))
}

/// Returns whether the words of a phrase, nearest first, stand before token `i`; full stops and apostrophes
/// are ignored.
fn spoken(s: &Scan<'_>, i: usize, before: &[super::fold::Key]) -> bool {
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

/// Returns whether a value can be of the kind that the cue announces.
fn fits(s: &Scan<'_>, cue: &Cue, value: Value, marked: bool, wrapped: bool) -> bool {
    let _ = wrapped;
    if value.digits < usize::from(cue.digits) || value.digits > 24 {
        return false;
    }
    match cue.kind {
        Kind::Ssn => matches!(value.digits, 4 | 9) && value.letters == 0,
        // A plate of steel is not a vehicle's plate.
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

/// Returns the value that starts at token `at`: words and numbers joined by hyphens, slashes and full stops,
/// and groups of digits with blanks.
///
/// `long`: further groups may follow a first one of any length, as in Spanish insurance numbers.
pub(crate) fn value(s: &Scan<'_>, at: usize, long: bool) -> Option<Value> {
    if !s.tok(at).wordlike() {
        return None;
    }
    let mut value = chunk(s, at);
    let mut groups = 1;
    let plain = |value: &Value| value.letters == 0 && value.first == value.last;
    let most = if long { 14 } else { 12 };
    // "HAR 013", "FN 0383": letters separated from their digits are capitals.
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
    // A lower-case word joined to digits is a word: "stage3".
    Some(value)
}

/// The most tokens of an identifier.
pub(crate) const MOST_TOKENS: usize = 16;

/// A run of tokens that was read, and the end of the reading.
#[derive(Clone, Copy)]
pub(crate) struct Chunk {
    value: Value,
    /// The token after the last that was read.
    end: usize,
    /// Whether the run ends there; otherwise it has more tokens.
    whole: bool,
}

/// Returns the run of tokens without blanks from `at` that may be an identifier: its last token is a word or
/// number.
///
/// A long run has many candidates: each continues from the one before, so that no token is read sixteen
/// times.
pub(crate) fn chunk(s: &Scan<'_>, at: usize) -> Value {
    let mut read = match s.chunk.get() {
        Some(read) if (read.value.first..read.end).contains(&at) => read.from(s, at),
        _ => Chunk {
            value: Value {
                first: at,
                last: at,
                digits: 0,
                letters: 0,
            },
            end: at,
            whole: false,
        },
    };
    while !read.whole && read.end < at + MOST_TOKENS {
        read.next(s);
    }
    s.chunk.set(Some(read));
    read.value
}

impl Chunk {
    /// Returns the part of the run from token `at` on, which must be one that was read.
    fn from(mut self, s: &Scan<'_>, at: usize) -> Self {
        for tok in (self.value.first..at).map(|i| s.tok(i)) {
            if tok.digits() {
                self.value.digits -= usize::from(tok.len);
            } else if tok.letters() {
                self.value.letters -= usize::from(tok.len);
            }
        }
        self.value.first = at;
        self.value.last = self.value.last.max(at);
        self
    }

    /// Reads one more token, or detects the end of the run.
    fn next(&mut self, s: &Scan<'_>) {
        let (k, value) = (self.end, &mut self.value);
        let tok = s.tok(k);
        let next = s.tok(k + 1);
        if k > value.first && !tok.glued() {
            self.whole = true;
        } else if tok.digits() {
            value.digits += usize::from(tok.len);
            value.last = k;
        } else if tok.letters() {
            self.whole = tok.len > 8 && (tok.case != Case::Upper || tok.len > 16);
            if !self.whole {
                value.letters += usize::from(tok.len);
                value.last = k;
            }
        } else {
            let binds = matches!(tok.mark, b'-' | b'/' | b'_' | b'.') && next.glued() && next.wordlike();
            // "8735510.Domicilio": a full stop without its blank.
            let stops = tok.mark(b'.') && next.letters() && next.len > 2;
            self.whole = !binds || stops;
        }
        self.end += usize::from(!self.whole);
    }
}

#[cfg(test)]
mod tests {
    use lethe_core::NoteBatch;
    use proptest::prelude::*;

    use super::*;
    use crate::pattern::Language;
    use crate::pattern::lexicon::Lexicon;
    use crate::pattern::scan::FIRST;

    proptest! {
        #[test]
        fn resumed_chunks_are_as_if_read_alone(
            text in "([A-Z]{1,3}|[a-z]{1,10}|[0-9]{1,4}|[-/_.]|[,@ ]){0,60}",
            asked in proptest::collection::vec(0..70usize, 1..40),
        ) {
            let batch = NoteBatch::from_texts([text.as_str()]).unwrap();
            let lexicon = Lexicon::new(&[Language::En, Language::Es]);
            let (mut toks, mut again) = (Vec::new(), Vec::new());
            let s = Scan::new(batch.note(0), &lexicon, &mut toks);
            let alone = Scan::new(batch.note(0), &lexicon, &mut again);
            let parts = |value: Value| (value.first, value.last, value.digits, value.letters);
            // In order, as a note is read, and then in any order.
            for at in s.positions().chain(asked.into_iter().map(|i| i + FIRST)) {
                alone.chunk.set(None);
                prop_assert_eq!(parts(chunk(&s, at)), parts(chunk(&alone, at)), "{:?} at {}", &text, at);
            }
        }
    }
}
