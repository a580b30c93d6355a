//! A test suite that every member passes.
//!
//! It checks what [`Tagger`] promises: one result per row, in bounds and on character boundaries, sorted, the
//! same every time and in every batch, nothing for rows that are not notes, and no panic for any text.

use lethe_core::{
    Coordinates, Known, KnownKind, LabelSet, NoteBatch, NoteEvent, QuarantineCode, Record, Tagger,
};

/// Texts that have broken taggers: empty, blank, a single mark, controls, byte order marks, emoji,
/// right-to-left, long runs.
pub const AWKWARD: [&str; 22] = [
    "",
    " ",
    "\n\n\n",
    ".",
    ":",
    "\u{feff}",
    "\u{0}",
    "Dr.",
    "Dr. ",
    "Name:",
    "Nombre: ",
    "M.D.",
    ", MD",
    "(amoon85)",
    "in",
    "works as a",
    "👩🏽\u{200d}⚕️ Dr. 👩🏽",
    "Pt. \u{5d3}\u{5e0}\u{5d4} seen",
    "Iba\u{301}n\u{303}ez, Mari\u{301}a",
    "\u{301}\u{301}\u{301}",
    "Dr. Ａｎａ Ｒｕｉｚ",
    "J.J.J.J.J.J.J.J.J.J.J.J.J.J.J.J.J.J.J.J.J.J.J.J.",
];

/// An invented note in English and Spanish, with text for every rule member.
pub const SAMPLE: &str = "Lakeview Regional Medical Center - Brookfield\n\
PATIENT: HARGROVE, TESSA M   MRN: 48-22-917   DOB: 04/11/1961\nATTENDING: Owen Pellworth, M.D.\n\n\
Ms. Hargrove is a 61-year-old retired bus driver from Dayton, OH, seen with her husband Ruben on March 3, 2022.\n\
She works as a librarian at Northgate Public Schools. Discussed with Dr. Pellworth (555-201-3344).\n\
Nombre: Lucía. Apellidos: Moreno Gallardo. CP: 28013.\nRemitido por: Dr. Andrés Quiroga, Hospital Clínico San Telmo.\n\n\
Signed: opellworth4 03/04/2022\n";

/// Runs the suite on a member.
///
/// # Panics
/// If the member breaks one of the promises; the message names it.
pub fn check(member: &dyn Tagger, labels: &LabelSet) {
    let mut texts: Vec<String> = AWKWARD.iter().map(|&text| text.to_owned()).collect();
    texts.push(SAMPLE.to_owned());
    texts.push(SAMPLE.to_uppercase());
    texts.push(SAMPLE.to_lowercase());
    texts.push(SAMPLE.replace('\n', "\r\n"));
    texts.push("Dr. ".repeat(500));
    texts.push("a".repeat(5000));
    texts.push("Smith, ".repeat(700));
    check_texts(member, labels, &texts);
    check_rows(member);
}

/// Checks a member on these texts, as one batch and one by one.
///
/// # Panics
/// If the member breaks one of the promises; the message names it.
pub fn check_texts<S: AsRef<str>>(member: &dyn Tagger, labels: &LabelSet, texts: &[S]) {
    let records = texts.iter().map(|text| Record::Note(event(text.as_ref())));
    let batch = NoteBatch::from_records(records).expect("texts of a test fit a batch");
    let together = member.tag(&batch);
    assert_eq!(together.len(), batch.len(), "one answer per row");
    assert!(
        together == member.tag(&batch),
        "the same notes get the same answers"
    );
    for (row, answer) in together.iter().enumerate() {
        let alone = member.tag(&batch.slice(row, 1));
        assert!(alone.first() == Some(answer), "row {row}: alone as in a batch");
        let text = batch.note(row).text;
        let found = answer.as_ref().expect("a rule member never fails");
        let mut last = None;
        for annotation in found {
            let span = annotation.span;
            assert!(
                !span.is_empty() && span.check(text).is_ok(),
                "row {row}: {span} is in the text"
            );
            let trimmed = span.trimmed(text);
            assert!(
                trimmed == span,
                "row {row}: {span} begins and ends with a visible character"
            );
            assert!(
                labels.contains(annotation.label),
                "row {row}: {span} has a label of the set"
            );
            assert!(
                (0.0..=1.0).contains(&annotation.score),
                "row {row}: {span} has a score from 0 to 1"
            );
            let key = (span.start(), std::cmp::Reverse(span.end()), annotation.label);
            assert!(last < Some(key), "row {row}: {span} is in order");
            last = Some(key);
        }
    }
}

/// Checks that rows that are not notes get nothing, and do not affect other rows.
fn check_rows(member: &dyn Tagger) {
    let records = vec![
        Record::Tombstone(Coordinates::default()),
        Record::Note(event(SAMPLE)),
        Record::Quarantined(Coordinates::default(), QuarantineCode::InvalidUtf8.into()),
        Record::Note(event("")),
    ];
    let batch = NoteBatch::from_records(records).expect("a test's records fit a batch");
    let answers = member.tag(&batch);
    assert_eq!(answers.len(), 4, "one answer per row");
    for (row, answer) in answers.iter().enumerate() {
        let found = answer.as_ref().expect("a rule member never fails").len();
        assert_eq!(found > 0, row == 1, "row {row}: {found} annotations");
    }
}

/// Returns a note with known identifiers, for the `known` member.
fn event(text: &str) -> NoteEvent {
    let known = [
        (KnownKind::Patient, "Tessa M. Hargrove"),
        (KnownKind::MedicalRecord, "4822917"),
        (KnownKind::BirthDate, "1961-04-11"),
        (KnownKind::Address, "12 Elm Street, Dayton, OH 45402"),
    ];
    NoteEvent {
        text: text.into(),
        known: known
            .into_iter()
            .map(|(kind, value)| Known {
                kind,
                value: value.into(),
            })
            .collect(),
        ..NoteEvent::default()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use lethe_dictionaries::Dictionary;
    use proptest::prelude::*;

    use super::*;
    use crate::registry::default_rules;

    fn members(labels: &LabelSet) -> Vec<Arc<dyn Tagger>> {
        let dictionary = Dictionary::builtin();
        let build = |config: &crate::registry::RuleConfig| config.build(labels, &dictionary).unwrap();
        default_rules().iter().map(build).collect()
    }

    #[test]
    fn every_member_of_the_registry_conforms_in_every_label_set() {
        for labels in LabelSet::built_in() {
            for member in members(&labels) {
                check(member.as_ref(), &labels);
            }
        }
    }

    /// Generates text from pieces that trigger rules, in any order, with arbitrary text between them.
    fn text() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            proptest::sample::select(vec![
                "Dr",
                ".",
                " ",
                "\n",
                ",",
                ":",
                "-",
                "'",
                "(",
                ")",
                "M.D.",
                "Name",
                "Patient",
                "Pt",
                "J",
                "de",
                "la",
                "Ana",
                "Ruiz",
                "Hospital",
                "Center",
                "University",
                "of",
                "St",
                "in",
                "Boston",
                "MA",
                "02115",
                "works",
                "as",
                "a",
                "at",
                "retired",
                "brother",
                "Sincerely",
                "yo",
                "F",
                "McLean",
                "O’Brien",
                "RN",
                "x12",
                "signed",
                "VA",
                "and",
                "\u{301}",
                "é",
                "👩🏽",
            ])
            .prop_map(str::to_owned),
            "\\PC{0,4}",
        ];
        proptest::collection::vec((piece, any::<bool>()), 0..40).prop_map(|pieces| {
            let join = |(piece, blank): (String, bool)| if blank { piece + " " } else { piece };
            pieces.into_iter().map(join).collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]

        #[test]
        fn no_text_breaks_a_promise(texts in proptest::collection::vec(text(), 1..6), wild in any::<String>()) {
            let labels = LabelSet::i2b2_2014();
            let mut texts = texts;
            texts.push(wild);
            for member in members(&labels) {
                check_texts(member.as_ref(), &labels, &texts);
            }
        }
    }
}
