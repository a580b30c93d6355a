use std::path::Path;

use lethe_core::{LabelSet, Span};
use lethe_corpus::{Mark, SpanFormat, read_spans};

use super::*;

const TEXT: &str = "Señor Ruiz saw\nDr. Vega on 3 May.";

/// Returns the two sides for Lethe's spans and lines of the other tool.
fn sides(ours: &[(u32, u32, &str)], lines: &str, empty: bool) -> anyhow::Result<Sides> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spans.jsonl");
    std::fs::write(&path, lines).unwrap();
    let (_, other) = read_spans(&path, None).unwrap();
    let mark = |&(start, end, label): &(u32, u32, &str)| Mark::gold(Span::between(start, end), label);
    let mut notes = Notes::default();
    for id in ["a", "b"] {
        notes.insert(Document {
            id: id.to_owned(),
            patient: None,
            text: TEXT.to_owned(),
            marks: ours.iter().map(mark).collect(),
        });
    }
    align(
        notes,
        &other,
        Path::new("spans.jsonl"),
        OffsetUnit::CodePoint,
        empty,
    )
}

const OURS: [(u32, u32, &str); 3] = [(7, 11, "PATIENT"), (20, 24, "DOCTOR"), (28, 33, "DATE")];

/// Lethe's first span under another name, half of its third, and one of its own.
const LINES: &str = "{\"doc_id\":\"a\",\"spans\":[{\"start\":6,\"end\":10,\"label\":\"PERSON\"},{\"start\":27,\"end\":28,\"label\":\"DATE_TIME\"},{\"start\":11,\"end\":14,\"label\":\"CRYPTO\"}]}\n";

fn compared(lines: &str, map: &[(String, String)], empty: bool) -> (Comparison, Sides) {
    let sides = sides(&OURS, lines, empty).unwrap();
    let set = LabelSet::i2b2_2014();
    let labels = Labels::new(&set, map).unwrap();
    let resampling = Resampling {
        resamples: 100,
        seed: 1,
    };
    let comparison = compare(&sides, &set, labels, SpanFormat::Jsonl, resampling).unwrap();
    (comparison, sides)
}

#[test]
fn spans_of_both_of_one_and_partly_the_same_are_counted() {
    let (comparison, _) = compared(LINES, &[], false);
    let Spans {
        lethe,
        other,
        same,
        other_category,
        partly,
        only_lethe,
        only_other,
    } = comparison.spans;
    assert_eq!(
        (lethe, other, same, other_category, partly, only_lethe, only_other),
        (3, 3, 1, 0, 1, 1, 1)
    );
    let Characters {
        both,
        only_lethe,
        only_other,
    } = comparison.characters;
    assert_eq!((both, only_lethe, only_other), (5, 8, 3));
    assert!((comparison.agreement.strict.value - 1.0 / 3.0).abs() < 1e-9);
    assert!((comparison.agreement.overlap.value - 2.0 / 3.0).abs() < 1e-9);
    let kinds: Vec<Kind> = comparison.differences.iter().map(|one| one.kind).collect();
    assert_eq!(kinds, [Kind::OnlyOther, Kind::OnlyLethe, Kind::Partly]);
    assert_eq!(comparison.differences[1].line, 2);
    let pair = comparison
        .labels
        .iter()
        .find(|pair| pair.lethe.as_deref() == Some("PATIENT"));
    assert_eq!(pair.unwrap().other.as_deref(), Some("PERSON"));
}

#[test]
fn agreement_does_not_depend_on_which_tool_is_taken_as_right() {
    let (comparison, sides) = compared(LINES, &[], false);
    let swapped = Sides {
        lethe: sides.other,
        other: sides.lethe,
        notes: sides.notes,
    };
    let set = LabelSet::i2b2_2014();
    let resampling = Resampling {
        resamples: 100,
        seed: 1,
    };
    let labels = Labels::new(&set, &[]).unwrap();
    let other = compare(&swapped, &set, labels, SpanFormat::Jsonl, resampling).unwrap();
    assert_eq!(comparison.agreement.span, other.agreement.span);
    assert_eq!(comparison.agreement.character, other.agreement.character);
    assert_eq!(comparison.spans.only_lethe, other.spans.only_other);
}

#[test]
fn a_label_that_is_mapped_to_nothing_is_left_out() {
    let (comparison, _) = compared(LINES, &[("CRYPTO".to_owned(), String::new())], false);
    assert_eq!((comparison.spans.other, comparison.spans.only_other), (2, 0));
}

#[test]
fn notes_that_one_side_lacks_are_named() {
    let unknown = format!("{LINES}{{\"doc_id\":\"z\",\"spans\":[]}}\n");
    let (comparison, _) = compared(&unknown, &[], false);
    let notes = &comparison.notes;
    assert_eq!(
        (notes.compared, notes.missing.as_slice()),
        (1, &["b".to_owned()][..])
    );
    assert_eq!(notes.unknown, ["z"]);
    let (comparison, _) = compared(&unknown, &[], true);
    assert_eq!((comparison.notes.compared, comparison.spans.only_lethe), (2, 4));
}

#[test]
fn an_offset_outside_its_note_is_refused_by_file_line_and_note() {
    let lines = "{\"doc_id\":\"a\",\"spans\":[{\"start\":6,\"end\":99,\"label\":\"PERSON\"}]}\n";
    let error = sides(&OURS, lines, false).err().unwrap().to_string();
    assert!(
        error.contains("spans.jsonl, line 1: span 1 (6..99 in code points)") && error.ends_with("(note `a`)"),
        "{error}"
    );
}

#[test]
fn words_appear_only_on_request_and_differences_are_read_again() {
    let (comparison, sides) = compared(LINES, &[], false);
    let limited = comparison.limited(1, None);
    let plain = table(&limited).unwrap() + &serde_json::to_string(&limited).unwrap();
    let mut file = Vec::new();
    write_differences(&comparison, &sides.lethe, false, &mut file).unwrap();
    let lines = String::from_utf8(file).unwrap();
    for words in ["Ruiz", "Vega", "saw", "May"] {
        assert!(!plain.contains(words) && !lines.contains(words), "{words}");
    }
    let shown = table(&comparison.limited(1, Some(&sides.lethe))).unwrap();
    assert!(shown.contains("\"Vega\""), "{shown}");
    assert!(page(&comparison, &sides.lethe).contains("<span class=\"g\">Vega</span>"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("differences.jsonl");
    std::fs::write(&path, &lines).unwrap();
    let (_, notes) = read_spans(&path, None).unwrap();
    let marks = notes[0].place(TEXT, OffsetUnit::CodePoint).unwrap();
    let words: Vec<&str> = marks.iter().map(|mark| mark.span.of(TEXT)).collect();
    assert_eq!(words, ["saw", "Vega", "3 May", "3"]);
}
