//! Marks the stretches of a generated narrative that repeat the structure of its message: headings, codes,
//! displays, units.
//!
//! `Narrative.status` states whether all of the narrative's text comes from the resource's elements (FHIR R4,
//! section 2.4.0; `generated` and `extensions`). Then a heading is the name of an element, and the name of a
//! code is the display of a coding. The engine decides whether to leave a stretch, since a display may
//! contain a name.

use std::collections::HashSet;
use std::sync::LazyLock;

use lethe_core::{Span, StructuralKind, StructuralText};

use super::table::published;
use super::ucum;
use super::value::{Object, Value, object, objects, str_of};

/// Maximum length of a display in bytes; a longer one is a sentence.
const MAX_DISPLAY: usize = 128;
/// Maximum number of stretches of one narrative; further ones are redacted like any other text.
const MAX_STRETCHES: usize = 1 << 16;
/// Maximum number of parts of a cell in one stretch: "Influenza, seasonal, injectable".
const MAX_PARTS: usize = 8;
/// Maximum digits of the whole part of a number before a unit.
const MAX_DIGITS: usize = 4;

/// Headings that generators of narrative write in addition to the names of elements, and units in their
/// common spelling.
const HEADINGS: &str = include_str!("headings.txt");

/// Units of ages in years: an age over 89 identifies.
const YEARS: [&str; 6] = ["a", "y", "yr", "yrs", "year", "years"];

/// Currencies in common use (ISO 4217).
const CURRENCIES: [&str; 8] = ["USD", "EUR", "GBP", "CAD", "AUD", "CHF", "JPY", "MXN"];

static PUBLISHED: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let names = published().flat_map(|name| [name.to_lowercase(), spaced(name)]);
    let kinds = published().filter(|name| name.starts_with(|c: char| c.is_ascii_uppercase()));
    let headed = kinds.map(|kind| format!("{} summary", spaced(kind)));
    let lines = HEADINGS.lines().filter(|line| !line.starts_with('#'));
    let usual = lines.map(|line| line.trim().to_lowercase());
    names.chain(headed).chain(usual).collect()
});

/// Returns whether the narrative's status states that all of it comes from the structure.
pub(super) fn is_generated(narrative: &Object<'_>) -> bool {
    matches!(str_of(narrative, "status"), Some("generated" | "extensions"))
}

/// Returns the displays of the message's codes and the units of its quantities, in lower case, without names
/// in references.
pub(super) fn displays(message: &Object<'_>) -> HashSet<String> {
    let mut found = HashSet::new();
    let mut rest: Vec<&Value<'_>> = message.values().collect();
    let mut add = |text: Option<&str>| {
        if let Some(text) = text.map(str::trim)
            && !text.is_empty()
            && text.len() <= MAX_DISPLAY
        {
            found.insert(text.to_lowercase());
        }
    };
    while let Some(value) = rest.pop() {
        match value {
            Value::Array(values) => rest.extend(values),
            Value::Object(one) => {
                if one.contains_key("code") && one.contains_key("system") {
                    add(str_of(one, "display"));
                }
                let coded = objects(one, "coding").any(|coding| coding.contains_key("code"));
                if coded {
                    add(str_of(one, "text"));
                }
                if one.contains_key("value") {
                    add(str_of(one, "unit"));
                }
                rest.extend(one.values());
            }
            _ => {}
        }
    }
    found
}

/// Adds the stretches of `text`, which starts at byte `start` of the note. Takes linear time.
pub(super) fn mark(text: &str, start: usize, displays: &HashSet<String>, out: &mut Vec<StructuralText>) {
    let mut at = 0;
    for line in text.split('\n') {
        let mut cell_at = at;
        for cell in line.split("  ") {
            cell_of(cell, start + cell_at, displays, out);
            cell_at += cell.len() + 2;
        }
        at += line.len() + 1;
    }
}

/// Marks the longest stretches between the separators of one cell.
fn cell_of(cell: &str, start: usize, displays: &HashSet<String>, out: &mut Vec<StructuralText>) {
    let mut parts: Vec<(usize, usize)> = Vec::new();
    let mut from = 0;
    for (at, separator) in cell.match_indices([':', ';', ',', '(', ')', '|', '/', '.']) {
        parts.push((from, at));
        from = at + separator.len();
    }
    parts.push((from, cell.len()));
    let mut first = 0;
    while let Some(&(from, _)) = parts.get(first) {
        let last = (first..parts.len().min(first + MAX_PARTS)).rev();
        let mut found = last.filter_map(|last| {
            let (_, to) = parts.get(last)?;
            // A closing parenthesis or a full stop belongs to a stretch that has one: "Essential (primary)".
            [to + 1, *to].into_iter().find_map(|to| {
                let raw = cell.get(from..to)?;
                let trimmed = raw.trim();
                let kind = kind_of(trimmed, displays)?;
                let at = start + from + (raw.len() - raw.trim_start().len());
                Some((last, Span::new(at, at + trimmed.len()).ok()?, kind))
            })
        });
        match found.next() {
            Some((last, span, kind)) if out.len() < MAX_STRETCHES => {
                out.push(StructuralText { span, kind });
                first = last + 1;
            }
            _ => first += 1,
        }
    }
}

fn kind_of(text: &str, displays: &HashSet<String>) -> Option<StructuralKind> {
    if text.is_empty() || text.len() > MAX_DISPLAY {
        return None;
    }
    let lower = text.to_lowercase();
    if PUBLISHED.contains(&lower) {
        Some(StructuralKind::Published)
    } else if displays.contains(&lower) {
        Some(StructuralKind::Display)
    } else {
        quantity(text, displays)
    }
}

/// Returns a short number with its unit.
fn quantity(text: &str, displays: &HashSet<String>) -> Option<StructuralKind> {
    let (number, unit) = text.split_once(' ')?;
    let whole = number.split('.').next().unwrap_or_default();
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let fits = (1..=MAX_DIGITS).contains(&whole.len()) && number.len() <= MAX_DIGITS + 5;
    let unit = unit.trim();
    if !is_number || !fits || YEARS.contains(&unit.to_lowercase().as_str()) {
        return None;
    }
    if ucum::is_unit(unit) || CURRENCIES.contains(&unit) {
        Some(StructuralKind::Published)
    } else {
        displays
            .contains(&unit.to_lowercase())
            .then_some(StructuralKind::Display)
    }
}

/// Splits a name in camel case into words, in lower case: `birthDate` is "birth date".
fn spaced(name: &str) -> String {
    let mut words = String::with_capacity(name.len() + 4);
    let mut small = false;
    for c in name.chars() {
        if small && (c.is_ascii_uppercase() || c.is_ascii_digit()) {
            words.push(' ');
        }
        small = c.is_ascii_lowercase();
        words.extend(c.to_lowercase());
    }
    words
}

/// Returns whether the message has generated narrative; displays are read from everything else.
pub(super) fn has_generated(message: &Object<'_>) -> bool {
    let mut rest: Vec<&Object<'_>> = vec![message];
    while let Some(one) = rest.pop() {
        if object(one, "text").is_some_and(is_generated) {
            return true;
        }
        for value in one.values() {
            match value {
                Value::Object(inner) => rest.push(inner),
                Value::Array(values) => rest.extend(values.iter().filter_map(Value::as_object)),
                _ => {}
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn marked(text: &str) -> Vec<(&str, StructuralKind)> {
        let message = json!({"code": {"coding": [{"system": "http://loinc.org", "code": "8867-4", "display": "Heart rate"}],
                             "text": "Essential (primary) hypertension"},
            "subject": {"reference": "Patient/1", "display": "Ada Okafor"},
            "vaccine": {"system": "s", "code": "140", "display": "Influenza, seasonal"},
            "valueQuantity": {"value": 72, "unit": "beats/minute"}});
        let message = message.to_string();
        let displays = displays(&crate::fhir::tree::parse(message.as_bytes()).unwrap());
        let mut out = Vec::new();
        mark(text, 0, &displays, &mut out);
        out.iter().map(|one| (one.span.of(text), one.kind)).collect()
    }

    #[test]
    fn headings_codes_displays_and_quantities_are_marked_and_names_are_not() {
        use StructuralKind::{Display, Published};
        assert_eq!(
            marked(
                "Birth Date  1950-01-02\nstatus: final; Code: heart rate (Influenza, seasonal)\nSubject  Ada Okafor"
            ),
            [
                ("Birth Date", Published),
                ("status", Published),
                ("final", Published),
                ("Code", Published),
                ("heart rate", Display),
                ("Influenza, seasonal", Display),
                ("Subject", Published),
            ]
        );
        assert_eq!(
            marked("Essential (primary) hypertension (Essential (primary) hypertension)").len(),
            2
        );
        assert_eq!(
            marked("72 beats/minute, 7.5 mg/dL"),
            [("72 beats/minute", Display), ("7.5 mg/dL", Published)]
        );
    }

    #[test]
    fn only_whole_parts_are_marked() {
        assert_eq!(marked("The status of Ada Okafor"), []);
        assert_eq!(marked("Heart rate of Ada Okafor: 72"), []);
        assert_eq!(marked("93 years, 5550142 mg"), []);
        assert_eq!(marked("é final, é\u{a0}final"), []);
    }
}
