//! Existing, missing and unavailable schemas.

use std::sync::Arc;

use lethe_core::{Coordinates, QuarantineCode, Record};
use lethe_format::registry::Language;
use lethe_format::{Format, PayloadError};

use super::{NOTE_AVSC, NOTE_FIELDS, Shelf};

const NOTE: &[u8] = include_bytes!("golden/note.avro.bin");

fn problem(format: &dyn Format, payload: &[u8]) -> PayloadError {
    format.read(payload).unwrap_err().problem
}

#[test]
fn a_schema_is_asked_for_once() {
    let shelf = Arc::new(Shelf::default());
    shelf.put(7, Language::Avro, NOTE_AVSC, &[]);
    let format = shelf.format("avro", NOTE_FIELDS);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                format.prepare(NOTE).unwrap();
                assert!(format.read(NOTE).is_ok());
            });
        }
    });
    assert_eq!(shelf.asked(), 1);
}

#[test]
fn a_schema_that_is_not_there_quarantines_its_records_and_is_not_asked_for_each_time() {
    let shelf = Arc::new(Shelf::default());
    let format = shelf.format("avro", NOTE_FIELDS);
    for _ in 0..3 {
        format.prepare(NOTE).unwrap();
        assert_eq!(problem(&*format, NOTE), PayloadError::UnknownSchema);
    }
    assert_eq!(shelf.asked(), 1);
    let record = format.decode(Coordinates::default(), NOTE);
    assert!(matches!(
        record,
        Record::Quarantined(_, why) if why.code == QuarantineCode::InvalidPayload
    ));
}

#[test]
fn a_registry_that_is_away_is_told_before_a_record_is_read_and_asked_again_after() {
    let shelf = Arc::new(Shelf::default());
    shelf.put(7, Language::Avro, NOTE_AVSC, &[]);
    shelf.leave(Some(
        "schema registry https://registry.example: connection refused",
    ));
    let format = shelf.format("avro", NOTE_FIELDS);
    for _ in 0..2 {
        let away = format.prepare(NOTE).unwrap_err();
        assert!(away.to_string().contains("registry.example"), "{away}");
    }
    assert_eq!(shelf.asked(), 2);
    shelf.leave(None);
    format.prepare(NOTE).unwrap();
    assert!(format.read(NOTE).is_ok());
    // The response is cached: from now on the registry may be unavailable.
    shelf.leave(Some("gone"));
    format.prepare(NOTE).unwrap();
    assert!(format.read(NOTE).is_ok());
    assert_eq!(shelf.asked(), 3);
}

#[test]
fn who_reads_without_preparing_is_told_that_the_schema_could_not_be_asked_for() {
    let shelf = Arc::new(Shelf::default());
    shelf.leave(Some("gone"));
    let format = shelf.format("avro", NOTE_FIELDS);
    assert_eq!(problem(&*format, NOTE), PayloadError::SchemaUnavailable);
}

#[test]
fn a_payload_without_a_frame_needs_no_schema() {
    let shelf = Arc::new(Shelf::default());
    shelf.leave(Some("gone"));
    for kind in ["avro", "protobuf"] {
        let format = shelf.format(kind, "");
        for payload in [&b""[..], b"\0\0\0", b"{\"note_id\":1}"] {
            format.prepare(payload).unwrap();
            assert_eq!(problem(&*format, payload), PayloadError::NotFramed);
        }
    }
    assert_eq!(shelf.asked(), 0);
}

#[test]
fn a_schema_that_cannot_be_used_quarantines_its_records() {
    let shelf = Arc::new(Shelf::default());
    let recursive_reference =
        r#"{"type":"record","name":"N","fields":[{"name":"text","type":"org.example.Gone"}]}"#;
    for (id, language, text) in [
        (1, Language::Avro, "{"),
        (2, Language::Avro, r#"{"type":"record"}"#),
        (3, Language::Avro, recursive_reference),
        (4, Language::Other, r#"{"type":"object"}"#),
        (5, Language::Protobuf, "syntax = \"proto3\"; message N {}"),
    ] {
        shelf.put(id, language, text, &[]);
    }
    let format = shelf.format("avro", "");
    for id in 1..=5 {
        let payload = [0, 0, 0, 0, id, 2, b'n', 2, b't'];
        format.prepare(&payload).unwrap();
        assert_eq!(
            problem(&*format, &payload),
            PayloadError::UnusableSchema,
            "schema {id}"
        );
    }
    let shelf = Arc::new(Shelf::default());
    shelf.put(1, Language::Protobuf, "message {", &[]);
    shelf.put(
        2,
        Language::Protobuf,
        "syntax = \"proto3\"; import \"gone.proto\"; message N {}",
        &[],
    );
    shelf.put(3, Language::Avro, r#""string""#, &[]);
    let format = shelf.format("protobuf", "");
    for id in 1..=3 {
        assert_eq!(
            problem(&*format, &[0, 0, 0, 0, id, 0]),
            PayloadError::UnusableSchema,
            "schema {id}"
        );
    }
}

#[test]
fn a_schema_that_is_no_note_quarantines_its_records() {
    let shelf = Arc::new(Shelf::default());
    shelf.put(1, Language::Avro, r#""string""#, &[]);
    shelf.put(
        2,
        Language::Avro,
        r#"{"type":"record","name":"N","fields":[]}"#,
        &[],
    );
    let format = shelf.format("avro", "");
    assert_eq!(problem(&*format, &[0, 0, 0, 0, 1, 0]), PayloadError::NotAnObject);
    assert_eq!(problem(&*format, &[0, 0, 0, 0, 2]), PayloadError::NotInSchema);
}
