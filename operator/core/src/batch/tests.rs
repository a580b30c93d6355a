//! A batch keeps its records, refuses invalid ones, and does not print text.

use super::*;
use crate::{Known, KnownKind, QuarantineCode};

fn records() -> Vec<Record> {
    let at = |offset| Coordinates {
        topic: "notes".into(),
        partition: 3,
        offset,
    };
    vec![
        Record::Note(NoteEvent {
            at: at(7),
            note_id: "n-7".into(),
            text: "Ana came.\n\nShe left.".into(),
            known: vec![Known {
                kind: KnownKind::Patient,
                value: "Ana Ruiz".into(),
            }],
            ..NoteEvent::default()
        }),
        Record::Tombstone(at(8)),
        Record::Quarantined(at(9), QuarantineCode::InvalidUtf8.into()),
        Record::Note(NoteEvent {
            at: at(11),
            text: "né en 1950".into(),
            ..NoteEvent::default()
        }),
    ]
}

#[test]
fn every_record_becomes_one_row_in_order() {
    let batch = NoteBatch::from_records(records()).unwrap();
    let kinds: Vec<_> = (0..4).map(|row| batch.row_kind(row)).collect();
    assert_eq!(
        kinds,
        [
            RowKind::Note,
            RowKind::Tombstone,
            RowKind::Quarantined,
            RowKind::Note
        ]
    );
    assert_eq!(batch.coordinates(3), ("notes", 3, 11));
    assert_eq!(batch.error(2), Some("invalid_utf8"));
    let note = batch.note(0);
    assert_eq!(note.tokens.len(), 6);
    assert_eq!(note.sentence_ends, [3, 6]);
    assert_eq!(
        note.known().collect::<Vec<_>>(),
        [(KnownKind::Patient, "Ana Ruiz")]
    );
    assert_eq!(batch.note(3).word(0), "né");
    assert_eq!(batch.note(3).gap_after(2), "");
}

#[test]
fn a_slice_reads_the_same_notes() {
    let batch = NoteBatch::from_records(records()).unwrap();
    let tail = batch.slice(3, 1);
    assert_eq!(tail.note(0).word(1), "en");
    assert_eq!(tail.note(0).known().count(), 0);
}

#[test]
fn a_foreign_batch_with_a_token_off_a_character_boundary_is_refused() {
    let batch = NoteBatch::from_texts(["né"]).unwrap();
    let mut columns = batch.record().columns().to_vec();
    columns[column::TEXT] = Arc::new(StringArray::from(vec!["ñé"]));
    let bad = RecordBatch::try_new(NoteBatch::schema(), columns).unwrap();
    assert!(matches!(
        NoteBatch::try_from(bad),
        Err(BatchError::Token { row: 0, token: 0, .. })
    ));
    assert!(NoteBatch::try_from(batch.record().clone()).is_ok());
}

#[test]
fn printing_a_batch_shows_no_text() {
    let batch = NoteBatch::from_records(records()).unwrap();
    assert!(!format!("{batch:?} {:?}", batch.note(0)).contains("Ana"));
}
