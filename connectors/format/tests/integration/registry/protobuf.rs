//! Protobuf from other encoders, and the types that fields may have.

use std::sync::Arc;

use lethe_core::{EventKind, KnownKind};
use lethe_format::registry::Language;
use lethe_format::{Format, FormatConfig, PayloadError};

use super::{NOTE_FIELDS, NOTE_PROTO, PEOPLE_PROTO, Shelf, TEXT, file, known};

fn shelf() -> Arc<Shelf> {
    let shelf = Arc::new(Shelf::default());
    // The schema id of the payloads in `golden/`.
    shelf.put(
        2,
        Language::Protobuf,
        NOTE_PROTO,
        &[("people.proto", PEOPLE_PROTO)],
    );
    shelf
}

fn check(event: &lethe_core::NoteEvent) {
    assert_eq!(event.note_id.expose(), "-12");
    assert_eq!(event.version, Some(0));
    assert_eq!(
        event.patient_id.as_ref().unwrap().expose(),
        "18446744073709551615"
    );
    assert_eq!(event.note_type.as_deref(), Some("Progress note"));
    assert_eq!(event.authored_at, Some(1_709_251_199_250));
    assert_eq!(event.kind, EventKind::Amend);
    assert_eq!(event.text.expose(), TEXT);
    assert_eq!(
        known(event),
        [
            (KnownKind::Patient, "Zoë Brandt"),
            (KnownKind::Phone, "555-0101"),
            (KnownKind::Phone, "555-0102"),
            (KnownKind::Other, "B7"),
        ]
    );
}

#[test]
fn a_note_that_confluents_serializer_wrote_is_read_whole() {
    let format = shelf().format("protobuf", NOTE_FIELDS);
    check(&format.read(include_bytes!("golden/note.proto.bin")).unwrap());
}

#[test]
fn a_message_at_the_top_of_its_file_is_read_by_the_short_frame() {
    let fields = NOTE_FIELDS
        .replace("\"meta", "\"note.meta")
        .replace("\"patient", "\"note.patient");
    let fields = fields.replace("\"body\"", "\"note.body\", note_type = \"note.note_type\"");
    let format = shelf().format("protobuf", &fields);
    check(&format.read(include_bytes!("golden/enveloped.proto.bin")).unwrap());
}

#[test]
fn a_deleted_note_needs_no_text() {
    let format = shelf().format("protobuf", NOTE_FIELDS);
    let event = format.read(include_bytes!("golden/deleted.proto.bin")).unwrap();
    assert_eq!((event.kind, event.text.len()), (EventKind::Delete, 0));
    assert!(event.version.is_none() && event.authored_at.is_none());
}

#[test]
fn a_map_of_identifiers_and_a_large_number_are_read() {
    let event = shelf()
        .format("protobuf", "")
        .read(include_bytes!("golden/small.proto.bin"))
        .unwrap();
    assert_eq!(
        (event.note_id.expose(), event.text.expose()),
        ("9223372036854775808", "Stable.")
    );
    assert_eq!(
        known(&event),
        [
            (KnownKind::MedicalRecord, "5512"),
            (KnownKind::Patient, "Ola Berg")
        ]
    );
}

/// Returns a golden payload without its frame.
fn bare(framed: &[u8], frame: usize) -> &[u8] {
    &framed[frame..]
}

#[test]
fn bare_payloads_are_read_by_a_proto_file_or_a_compiled_set() {
    let (folder, proto) = file("note.proto", NOTE_PROTO.as_bytes());
    std::fs::write(folder.path().join("people.proto"), PEOPLE_PROTO).unwrap();
    let set = folder.path().join("note.desc");
    std::fs::write(&set, include_bytes!("golden/note.desc")).unwrap();
    for path in [proto.as_str(), set.to_str().unwrap()] {
        let config = format!(
            "kind = \"protobuf\"\nschema_file = \"{path}\"\nmessage = \"org.example.ehr.Envelope.Note\"\n{NOTE_FIELDS}"
        );
        let format = toml::from_str::<FormatConfig>(&config).unwrap().build().unwrap();
        check(
            &format
                .read(bare(include_bytes!("golden/note.proto.bin"), 8))
                .unwrap(),
        );
        let framed = format!("kind = \"protobuf\"\nschema_file = \"{path}\"\nschema_id = 2\n{NOTE_FIELDS}");
        let format = toml::from_str::<FormatConfig>(&framed).unwrap().build().unwrap();
        check(&format.read(include_bytes!("golden/note.proto.bin")).unwrap());
    }
}

/// Returns a format with a file with this message `N`, for payloads without a frame.
fn of(syntax: &str, body: &str) -> Box<dyn Format> {
    let (_folder, path) = file(
        "n.proto",
        format!("syntax = \"{syntax}\";\nmessage N {{ {body} }}").as_bytes(),
    );
    let config = format!("kind = \"protobuf\"\nschema_file = \"{path}\"");
    toml::from_str::<FormatConfig>(&config).unwrap().build().unwrap()
}

#[test]
fn what_proto3_does_not_write_is_an_empty_text_but_no_id() {
    let format = of(
        "proto3",
        "string note_id = 1; string text = 2; string patient_id = 3;",
    );
    let event = format.read(b"\x0a\x01n").unwrap();
    assert_eq!((event.text.len(), event.patient_id), (0, None));
    let none = format.read(b"\x12\x01t").unwrap_err();
    assert_eq!(
        (none.field, none.problem),
        (Some("note_id"), PayloadError::Missing)
    );
    for told in [
        of("proto3", "string note_id = 1; optional string text = 2;"),
        of("proto2", "optional string note_id = 1; optional string text = 2;"),
    ] {
        let none = told.read(b"\x0a\x01n").unwrap_err();
        assert_eq!((none.field, none.problem), (Some("text"), PayloadError::Missing));
        assert_eq!(told.read(b"\x0a\x01n\x12\x00").unwrap().text.len(), 0);
    }
}

#[test]
fn an_enums_value_zero_is_what_is_not_written() {
    let body = "enum Event { DELETE = 0; CREATE = 1; } string note_id = 1; string text = 2; Event event = 3;";
    let format = of("proto3", body);
    assert_eq!(format.read(b"\x0a\x01n").unwrap().kind, EventKind::Delete);
    assert_eq!(format.read(b"\x0a\x01n\x18\x01").unwrap().kind, EventKind::Create);
    let body = body.replace("Event event", "optional Event event");
    assert_eq!(
        of("proto3", &body).read(b"\x0a\x01n").unwrap().kind,
        EventKind::Create
    );
}

#[test]
fn the_last_of_a_field_holds_and_messages_are_merged() {
    let format = of("proto3", "string note_id = 1; string text = 2;");
    let event = format.read(b"\x0a\x01n\x12\x05first\x12\x04last").unwrap();
    assert_eq!(event.text.expose(), "last");
    let (_folder, path) = file(
        "n.proto",
        b"syntax = \"proto3\"; message N { message B { string text = 1; string note_id = 2; } B b = 1; }",
    );
    let config = format!(
        "kind = \"protobuf\"\nschema_file = \"{path}\"\nfields = {{ text = \"b.text\", note_id = \"b.note_id\" }}"
    );
    let format = toml::from_str::<FormatConfig>(&config).unwrap().build().unwrap();
    let event = format.read(b"\x0a\x03\x0a\x01t\x0a\x03\x12\x01n").unwrap();
    assert_eq!((event.note_id.expose(), event.text.expose()), ("n", "t"));
}

#[test]
fn numbers_of_every_kind_are_ids_and_those_that_are_packed_are_identifiers() {
    for (kind, written, read) in [
        (
            "int32",
            &b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"[..],
            "-1",
        ),
        ("int64", b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "-1"),
        ("uint32", b"\x08\xff\xff\xff\xff\x0f", "4294967295"),
        (
            "uint64",
            b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            "18446744073709551615",
        ),
        ("sint32", b"\x08\x03", "-2"),
        ("sint64", b"\x08\x03", "-2"),
        ("fixed32", b"\x0d\xff\xff\xff\xff", "4294967295"),
        ("sfixed32", b"\x0d\xff\xff\xff\xff", "-1"),
        (
            "fixed64",
            b"\x09\xff\xff\xff\xff\xff\xff\xff\xff",
            "18446744073709551615",
        ),
        ("sfixed64", b"\x09\xff\xff\xff\xff\xff\xff\xff\xff", "-1"),
    ] {
        let event = of("proto3", &format!("{kind} note_id = 1; string text = 2;"))
            .read(written)
            .unwrap();
        assert_eq!(event.note_id.expose(), read, "{kind}");
    }
    let format = of(
        "proto3",
        "message K { repeated int32 mrn = 1; } string note_id = 1; string text = 2; K known = 3;",
    );
    let event = format.read(b"\x0a\x01n\x1a\x06\x0a\x02\x05\x06\x08\x07").unwrap();
    assert_eq!(
        known(&event),
        ["5", "6", "7"].map(|number| (KnownKind::MedicalRecord, number))
    );
}

#[test]
fn a_field_of_another_type_is_named() {
    for (body, payload) in [
        ("bool note_id = 1;", &b"\x08\x01"[..]),
        ("bytes note_id = 1;", b"\x0a\x01n"),
        ("double note_id = 1;", b"\x09\0\0\0\0\0\0\0\0"),
        ("repeated string note_id = 1;", b"\x0a\x01n"),
        ("map<string, string> note_id = 1;", b"\x0a\x00"),
        ("message M {} M note_id = 1;", b"\x0a\x00"),
    ] {
        let diagnosis = of("proto3", body).read(payload).unwrap_err();
        assert_eq!(
            (diagnosis.field, diagnosis.problem),
            (Some("note_id"), PayloadError::WrongType),
            "{body}"
        );
    }
    let known = of("proto3", "repeated string known = 1;")
        .read(b"\x0a\x01n")
        .unwrap_err();
    assert_eq!(
        (known.field, known.problem),
        (Some("known"), PayloadError::WrongType)
    );
    let none = of("proto3", "string note_id = 1;")
        .read(b"\x0a\x01n")
        .unwrap_err();
    assert_eq!(
        (none.field, none.problem),
        (Some("text"), PayloadError::NotInSchema)
    );
}

#[test]
fn a_field_that_is_written_as_its_type_is_not_is_refused() {
    let format = of("proto3", "string note_id = 1; string text = 2;");
    for payload in [
        &b"\x08\x01"[..],
        b"\x0d\0\0\0\0",
        b"\x0b\x0c",
        b"\x0f",
        b"\x02\x00",
    ] {
        assert_eq!(
            format.read(payload).unwrap_err().problem,
            PayloadError::NotOfSchema,
            "{payload:?}"
        );
    }
    assert_eq!(
        format.read(b"\x0a\x02\xff\xfe").unwrap_err().problem,
        PayloadError::NotUtf8
    );
}

#[test]
fn a_message_that_the_file_does_not_have_is_refused() {
    let format = shelf().format("protobuf", NOTE_FIELDS);
    for path in [&b"\x02\x0a"[..], b"\x06\x00\x02\x02\x00"] {
        let payload = [b"\0\0\0\0\x02", path].concat();
        assert_eq!(
            format.read(&payload).unwrap_err().problem,
            PayloadError::UnusableSchema
        );
    }
}

#[test]
fn confluents_own_imports_need_no_reference() {
    let shelf = Arc::new(Shelf::default());
    let schema = r#"syntax = "proto3";
        import "confluent/meta.proto";
        import "confluent/type/decimal.proto";
        message N { option (confluent.message_meta).doc = "a note"; string note_id = 1;
          string text = 2 [(confluent.field_meta) = { tags: "PHI" }]; confluent.type.Decimal cost = 3; }"#;
    shelf.put(1, Language::Protobuf, schema, &[]);
    let event = shelf
        .format("protobuf", "")
        .read(b"\0\0\0\0\x01\0\x0a\x01n\x12\x01t")
        .unwrap();
    assert_eq!(event.text.expose(), "t");
}
