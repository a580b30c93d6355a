//! Ages: `53-year-old`, `53 y/o`, `age 53`, `in her 60s`, `fifty-three year old`, `varón de 53 años`, `Edad:
//! 47`.
//!
//! In English the age is the number alone, in Spanish the number with its unit, as the corpora of both
//! languages annotate it.

use super::lexicon::class;
use super::scan::{Gap, Scan};
use super::{Hits, Kind};

/// Words that announce an age: "age", "died".
pub(crate) const CUES: u64 = class::AGE_CUE | class::LIFE;
/// The largest distance from such a word to the number, in tokens.
const CUE_REACH: usize = 5;

/// Returns whether an age may start at digit run `i`: a word or one of its marks follows, or a cue precedes.
pub(crate) fn may_be_at(s: &Scan<'_>, i: usize, out: &Hits) -> bool {
    let next = s.tok(i + 1);
    next.letters() || matches!(next.mark, b'-' | b'\'' | b'/') || is_cue_near(i, out)
}

fn is_cue_near(i: usize, out: &Hits) -> bool {
    i - out.age_cue <= CUE_REACH
}

/// Adds the age whose number starts at token `i`: a digit run or a number word.
pub(crate) fn at(s: &Scan<'_>, i: usize, out: &mut Hits) {
    // "5-1/2-year-old": the numbers belong together.
    let half = s.tok(i + 1).mark(b'/')
        && s.tok(i + 2).glued()
        && s.tok(i).glued()
        && s.before(i, 1).mark(b'-')
        && s.before(i, 2).digits();
    if half && let Some((score, rule)) = old(s, i + 2) {
        out.push(i - 2, i + 2, Kind::Age, score, rule);
        return;
    }
    let Some((last, value)) = number(s, i) else { return };
    if value > 125 || s.before(i, 1).mark(b'.') && s.tok(i).glued() && s.before(i, 2).digits() {
        return;
    }
    let spelled = s.tok(i).letters();
    let next = s.tok(last + 1);
    let worded = next.letters() || matches!(next.mark, b'-' | b'\'');
    let cued = || is_cue_near(i, out).then(|| cued(s, i, last, value)).flatten();
    if !worded {
        // All forms but one have a word after the number.
        if let Some(score) = cued().filter(|&score| !spelled || score > 0.8) {
            out.push(i, last, Kind::Age, score, "age.cue");
        }
    } else if let Some((score, rule)) = old(s, last) {
        out.push(i, last, Kind::Age, score, rule);
    } else if let Some((unit, score)) = spanish(s, i, last) {
        out.push(i, unit, Kind::Age, score, "age.spanish");
    } else if let Some(score) = cued() {
        if !spelled || score > 0.8 {
            out.push(i, last, Kind::Age, score, "age.cue");
        }
    } else if !spelled && value >= 20 && decade(s, i) {
        out.push(i, i + 1, Kind::Age, 0.85, "age.decade");
    } else if !spelled && sex_behind(s, i, value) {
        out.push(i, i, Kind::Age, 0.75, "age.sex");
    }
}

/// Returns the last token of the number at `i`, and its value.
fn number(s: &Scan<'_>, i: usize) -> Option<(usize, u32)> {
    let tok = s.tok(i);
    if tok.digits() {
        return (tok.len <= 3 && !s.continues(i)).then_some((i, tok.value));
    }
    if !tok.is(class::NUMBER) || s.before(i, 1).mark(b'-') && s.tok(i).glued() {
        return None;
    }
    // "fifty-three", "fifty three", "cincuenta y tres".
    let mut next = i + 1;
    if s.tok(next).mark(b'-') || s.word_is(next, "y") {
        next += 1;
    }
    if tok.value >= 20
        && tok.value.is_multiple_of(10)
        && s.tok(next).is(class::NUMBER)
        && s.tok(next).value < 10
        && s.tok(next).gap <= Gap::Blank
    {
        return Some((next, tok.value + s.tok(next).value));
    }
    Some((i, tok.value))
}

/// Recognises "-year-old", " yo", " y/o", "yo", " years of age" after token `last`.
fn old(s: &Scan<'_>, last: usize) -> Option<(f32, &'static str)> {
    let mut i = last + 1;
    if s.tok(i).mark(b'-') && s.tok(i).gap <= Gap::Blank {
        i += 1;
    }
    let unit = s.tok(i);
    if unit.gap > Gap::Line {
        return None;
    }
    if unit.is(class::TIME_UNIT | class::YEARS_SHORT) {
        let mut j = i + 1;
        while matches!(s.tok(j).mark, b'-' | b'.') && j < i + 3 {
            j += 1;
        }
        if s.tok(j).is(class::OLD) && s.tok(j).gap <= Gap::Line {
            return Some((0.98, "age.old"));
        }
        // "53 years of age", "2 months of age"; "14 days of life" is an age too.
        if s.word_is(j, "of") && (s.word_is(j + 1, "age") || s.word_is(j + 1, "life")) {
            return Some((0.95, "age.old"));
        }
    }
    // All other units begin with one of these.
    if !matches!(unit.first, b'y' | b'm' | b'd' | b'w') {
        return None;
    }
    // "53yo", "53 y/o", "53 y.o.", "53 y o".
    if s.word_is(i, "yo") || s.word_is(i, "yof") || s.word_is(i, "yom") {
        return Some((0.97, "age.old"));
    }
    let short = s.word_is(i, "y")
        || s.word_is(i, "yr")
        || s.word_is(i, "yrs")
        || s.word_is(i, "mo")
        || s.word_is(i, "m")
        || s.word_is(i, "d")
        || s.word_is(i, "wk");
    if short {
        let mut j = i + 1;
        let marked = matches!(s.tok(j).mark, b'/' | b'.');
        if marked {
            j += 1;
        }
        if s.word_is(j, "o")
            && s.tok(j).gap <= Gap::Blank
            && (marked || !s.tok(j + 1).mark(b'.') && !s.spanish)
        {
            return Some((0.97, "age.old"));
        }
    }
    // "a 53-year man", "53 year female".
    if s.word_is(i, "year") && s.tok(i + 1).is(class::PERSON) && s.tok(i + 1).len > 1 {
        return Some((0.85, "age.old"));
    }
    None
}

/// Recognises "53 años", "22 meses": returns the unit's token, and the score that this is an age and not a
/// time span.
fn spanish(s: &Scan<'_>, i: usize, last: usize) -> Option<(usize, f32)> {
    let mut unit = last + 1;
    let tok = s.tok(unit);
    // The English units have no number with these letters; "mes", "meses", "ano", "anos", "dia", "dias",
    // "semana", "semanas".
    if !tok.is(class::TIME_UNIT) || tok.gap > Gap::Line || !is_spanish_unit(s, unit) {
        return None;
    }
    // "tres años y medio", "un año y cinco meses".
    if s.word_is(unit + 1, "y") {
        if s.word_is(unit + 2, "medio") || s.word_is(unit + 2, "media") {
            unit += 2;
        } else if let Some((more, _)) = number(s, unit + 2)
            && s.tok(more + 1).value > tok.value
            && is_spanish_unit(s, more + 1)
        {
            unit = more + 1;
        }
    }
    if (s.word_is(unit + 1, "de") || s.word_is(unit + 1, "y"))
        && (s.word_is(unit + 2, "edad") || s.word_is(unit + 2, "vida"))
    {
        return Some((unit, 0.95));
    }
    let one = s.before(i, 1);
    if s.word_is(unit + 1, "de") && s.tok(unit + 2).is(class::SPAN_OF) {
        return None;
    }
    if s.tok(unit + 1).is(class::SPAN_AFTER) {
        return None;
    }
    let marked = one.mark(b':') || one.mark(b',') || one.mark(b'(');
    let back = if marked { 2 } else { 1 };
    if s.before(i, back).is(class::AGE_CUE) {
        return Some((unit, 0.97));
    }
    if one.is(class::DURATION) || s.before(i, 2).is(class::DURATION) {
        return None;
    }
    // "varón de 53 años", "paciente mujer, de 53 años", "mujer joven de 30 años", "varón 53 años".
    if s.word_is(i - 1, "de") || one.mark(b',') || one.mark(b'(') || one.is(class::PERSON) {
        let person = (1..=5).any(|back| s.before(i, back).is(class::PERSON));
        // Weeks are those of a pregnancy, unless they are weeks of life.
        if person && tok.value != 3 {
            return Some((unit, if tok.value == 1 { 0.95 } else { 0.85 }));
        }
    }
    // "a los 14 años", "con 14 años", "tenía 28 años": months and days are usually times since an event.
    let years = tok.value == 1;
    let at = one.is(class::AT_AGE);
    // "a los 2 años del trasplante", "con 10 años de residencia".
    let counted = s.tok(unit + 1).is(class::OF);
    (years && at && !counted).then_some((unit, 0.7))
}

fn is_spanish_unit(s: &Scan<'_>, unit: usize) -> bool {
    [
        "año", "años", "ano", "anos", "mes", "meses", "semana", "semanas", "dia", "dias", "día", "días",
    ]
    .iter()
    .any(|word| s.word_is(unit, word) || s.key(unit) == super::fold::key_of(word))
}

/// Recognises "age 53", "aged 53", "age of 53", "Edad: 47", "turned 57", "died at 92".
fn cued(s: &Scan<'_>, i: usize, last: usize, value: u32) -> Option<f32> {
    if s.measured(last) && !s.tok(last + 1).is(class::TIME_UNIT)
        || s.goes_on(last) && !s.tok(last + 1).is(class::YEARS_SHORT | class::PERSON)
    {
        return None;
    }
    let mut at = i - 1;
    let mut steps = 0;
    while steps < 3
        && (matches!(s.tok(at).mark, b':' | b'-' | b'~' | b'=' | b'(' | b',' | b'.')
            || s.tok(at).len > 1
                && s.word_among(
                    at,
                    &["of", "at", "is", "was", "approximately", "about", "to", "the"],
                ))
    {
        at -= 1;
        steps += 1;
    }
    let cue = s.tok(at);
    if s.tok(i).gap == Gap::Paragraph {
        return None;
    }
    if cue.is(class::AGE_CUE) {
        return Some(0.95);
    }
    let after_at = || (1..=2).any(|back| s.word_is(i - back, "at"));
    if cue.is(class::LIFE)
        && value > 12
        && (after_at() || s.word_is(at, "turned") || s.word_is(at, "turning"))
        && !s.tok(last + 1).mark(b':')
        && !s.tok(last + 1).is(class::UNIT)
    {
        return Some(0.85);
    }
    // "ages 3 and 5", "ages 3, 5 and 7".
    let listed = s.before(i, 1).is(class::JOIN) || s.before(i, 1).mark(b',') || s.before(i, 1).mark(b'-');
    if listed
        && s.before(i, 2).number(1..=3, 0..=120)
        && [3, 5]
            .iter()
            .any(|&back| s.word_is(i - back, "ages") || s.word_is(i - back, "aged"))
    {
        return Some(0.85);
    }
    None
}

/// Recognises "in her 60s", "in his early 60s".
fn decade(s: &Scan<'_>, i: usize) -> bool {
    let plural =
        s.tok(i + 1).glued() && s.word_is(i + 1, "s") || s.tok(i + 1).mark(b'\'') && s.word_is(i + 2, "s");
    let mut at = i - 1;
    if s.tok(at).mark(b'-') {
        at -= 1;
    }
    if s.tok(at).is(class::PART_OF) {
        at -= 1;
    }
    plural && s.tok(i).value.is_multiple_of(10) && s.tok(at).is(class::POSSESSIVE)
}

/// Recognises "53M with", "53 F who", "a 53F admitted": a number, a sex, and a verb or preposition of a
/// history.
fn sex_behind(s: &Scan<'_>, i: usize, value: u32) -> bool {
    let sex = s.tok(i + 1);
    let good = (18..=110).contains(&value)
        && sex.capital()
        && (s.word_is(i + 1, "m") || s.word_is(i + 1, "f"))
        && sex.gap <= Gap::Blank;
    good && [
        "with",
        "who",
        "admitted",
        "presenting",
        "presents",
        "presented",
        "h",
        "s",
        "hx",
        "status",
    ]
    .iter()
    .any(|word| s.word_is(i + 2, word) || s.tok(i + 2).mark(b',') && s.word_is(i + 3, word))
}
