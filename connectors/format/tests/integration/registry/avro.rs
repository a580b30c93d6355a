//! Avro from another encoder, and the types that fields may have.

use std::sync::Arc;

use apache_avro::types::Value;
use lethe_core::{EventKind, KnownKind, NoteEvent};
use lethe_format::registry::Language;
use lethe_format::{Diagnosis, FormatConfig, PayloadError};

use super::{KNOWN_AVSC, NOTE_AVSC, NOTE_FIELDS, Shelf, TEXT, file, known};

#[test]
fn a_note_that_fastavro_wrote_is_read_whole() {
    let shelf = Arc::new(Shelf::default());
    shelf.put(7, Language::Avro, NOTE_AVSC, &[]);
    let format = shelf.format("avro", NOTE_FIELDS);
    let event = format.read(include_bytes!("golden/note.avro.bin")).unwrap();
    assert_eq!(event.note_id.expose(), "2f1c0c3e-8a54-4b0c-9d0f-6a2b7c1d9e10");
    assert_eq!(event.version, Some(3));
    assert_eq!(event.patient_id.as_ref().unwrap().expose(), "771");
    assert_eq!(event.note_type.as_deref(), Some("Progress note"));
    assert_eq!(event.authored_at, Some(1_709_251_199_250));
    assert_eq!(event.kind, EventKind::Amend);
    assert_eq!(event.text.expose(), TEXT);
    assert_eq!(
        known(&event),
        [
            (KnownKind::Patient, "Zoë Brandt"),
            (KnownKind::MedicalRecord, "55120"),
            (KnownKind::Phone, "555-0101"),
            (KnownKind::Phone, "555-0102"),
        ]
    );
}

#[test]
fn a_deleted_note_needs_no_text_and_null_is_absent() {
    let shelf = Arc::new(Shelf::default());
    shelf.put(7, Language::Avro, NOTE_AVSC, &[]);
    let format = shelf.format("avro", NOTE_FIELDS);
    let event = format.read(include_bytes!("golden/deleted.avro.bin")).unwrap();
    assert_eq!((event.kind, event.text.len()), (EventKind::Delete, 0));
    assert!(event.version.is_none() && event.patient_id.is_none() && event.note_type.is_none());
    assert!(event.known.is_empty());
}

#[test]
fn bare_payloads_are_read_by_a_schema_file() {
    let (_folder, path) = file("known.avsc", KNOWN_AVSC.as_bytes());
    let config: FormatConfig = toml::from_str(&format!("kind = \"avro\"\nschema_file = \"{path}\"")).unwrap();
    let event = config
        .build()
        .unwrap()
        .read(include_bytes!("golden/known.avro.bin"))
        .unwrap();
    assert_eq!((event.note_id.expose(), event.text.expose()), ("-12", "Stable."));
    assert_eq!(
        known(&event),
        [
            (KnownKind::Patient, "Ola Berg"),
            (KnownKind::Patient, "O. Berg"),
            (KnownKind::BirthDate, "1938-03-02"),
            (KnownKind::MedicalRecord, "5512"),
        ]
    );
}

#[test]
fn framed_payloads_are_read_by_a_schema_file_only_if_they_name_it() {
    let (_folder, path) = file("note.avsc", NOTE_AVSC.as_bytes());
    let read = |id: u32| {
        let config = format!("kind = \"avro\"\nschema_file = \"{path}\"\nschema_id = {id}\n{NOTE_FIELDS}");
        let config: FormatConfig = toml::from_str(&config).unwrap();
        config
            .build()
            .unwrap()
            .read(include_bytes!("golden/note.avro.bin"))
    };
    assert_eq!(read(7).unwrap().text.expose(), TEXT);
    assert_eq!(read(8).unwrap_err().problem, PayloadError::UnknownSchema);
}

#[test]
fn a_schema_may_refer_to_others() {
    let person = r#"{"type":"record","name":"Person","namespace":"org.example","fields":[{"name":"id","type":"long"},{"name":"next","type":["null","Person"]}]}"#;
    let note = r#"{"type":"record","name":"Note","namespace":"org.example.notes","fields":[
        {"name":"author","type":"org.example.Person"},{"name":"patient","type":"org.example.Person"},{"name":"note_id","type":"string"},{"name":"text","type":"string"}]}"#;
    let shelf = Arc::new(Shelf::default());
    shelf.put(1, Language::Avro, note, &[("org.example.Person", person)]);
    let format = shelf.format(
        "avro",
        "fields = { author_id = \"author.id\", patient_id = \"patient.next.id\" }",
    );
    // Person 4, alone; person 5, then person 6; strings of one letter.
    let payload = [0, 0, 0, 0, 1, 8, 0, 10, 2, 12, 0, 2, b'n', 2, b't'];
    let event = format.read(&payload).unwrap();
    assert_eq!(event.author_id.unwrap().expose(), "4");
    assert_eq!(event.patient_id.unwrap().expose(), "6");
    assert_eq!((event.note_id.expose(), event.text.expose()), ("n", "t"));
}

/// Encodes the value with apache-avro.
pub(super) fn written(schema: &apache_avro::Schema, value: Value) -> Vec<u8> {
    let writer = apache_avro::writer::datum::GenericDatumWriter::builder(schema)
        .build()
        .unwrap();
    writer.write_value_to_vec(value).unwrap()
}

/// Returns the note of a record with an id, a text, and a field of that type.
fn with(field: &str, kind: &str, value: Value) -> Result<NoteEvent, Diagnosis> {
    let schema = format!(
        r#"{{"type":"record","name":"N","fields":[{{"name":"note_id","type":"int"}},{{"name":"{field}","type":{kind}}},{{"name":"text","type":"string"}}]}}"#
    );
    let parsed = apache_avro::Schema::parse_str(&schema).unwrap();
    let record = Value::Record(vec![
        ("note_id".into(), Value::Int(1)),
        (field.into(), value),
        ("text".into(), Value::String("t".into())),
    ]);
    let payload = written(&parsed, record);
    let (_folder, path) = file("one.avsc", schema.as_bytes());
    let config: FormatConfig = toml::from_str(&format!("kind = \"avro\"\nschema_file = \"{path}\"")).unwrap();
    config.build().unwrap().read(&payload)
}

#[test]
fn a_moment_is_milliseconds_whatever_its_unit() {
    let at = |kind: &str, value| {
        let kind = format!(r#"{{"type":"long","logicalType":"{kind}"}}"#);
        with("authored_at", &kind, value).map_err(|d| (d.field, d.problem))
    };
    for (kind, value) in [
        ("timestamp-millis", Value::TimestampMillis(-1)),
        ("timestamp-micros", Value::TimestampMicros(-1)),
        ("timestamp-nanos", Value::TimestampNanos(-1)),
    ] {
        assert_eq!(at(kind, value).unwrap().authored_at, Some(-1), "{kind}");
    }
    let nowhere = at(
        "local-timestamp-millis",
        Value::LocalTimestampMillis(1_709_251_199_250),
    );
    assert_eq!(nowhere.unwrap_err(), (Some("authored_at"), PayloadError::NoZone));
    let day = r#"{"type":"int","logicalType":"date"}"#;
    assert_eq!(
        with("authored_at", day, Value::Date(0)).unwrap_err().problem,
        PayloadError::NoZone
    );
    let written = with(
        "authored_at",
        r#""string""#,
        Value::String("2024-02-29T23:59:59Z".into()),
    );
    assert_eq!(written.unwrap().authored_at, Some(1_709_251_199_000));
    assert_eq!(
        with("authored_at", r#""long""#, Value::Long(5))
            .unwrap()
            .authored_at,
        Some(5)
    );
}

#[test]
fn a_field_of_another_type_is_named() {
    let fixed = r#"{"type":"fixed","name":"F","size":2}"#;
    let numbers = r#"{"type":"array","items":"int"}"#;
    for (field, kind, value) in [
        ("version", r#""string""#, Value::String("3".into())),
        ("patient_id", r#""boolean""#, Value::Boolean(true)),
        ("patient_id", r#""double""#, Value::Double(1.0)),
        ("patient_id", r#""bytes""#, Value::Bytes(vec![1])),
        (
            "authored_at",
            r#"{"type":"int","logicalType":"time-millis"}"#,
            Value::TimeMillis(1),
        ),
        ("patient_id", fixed, Value::Fixed(2, vec![1, 2])),
        ("patient_id", numbers, Value::Array(vec![Value::Int(1)])),
        ("note_type", r#""int""#, Value::Int(1)),
        ("event", r#""int""#, Value::Int(1)),
        ("known", r#""string""#, Value::String("Ada".into())),
        ("known", numbers, Value::Array(vec![Value::Int(1)])),
    ] {
        let diagnosis = with(field, kind, value).unwrap_err();
        assert_eq!(
            (diagnosis.field, diagnosis.problem),
            (Some(field), PayloadError::WrongType),
            "{kind}"
        );
    }
    let symbols = r#"{"type":"enum","name":"E","symbols":["GONE"]}"#;
    let unknown = with("event", symbols, Value::Enum(0, "GONE".into())).unwrap_err();
    assert_eq!(
        (unknown.field, unknown.problem),
        (Some("event"), PayloadError::UnknownEvent)
    );
}

#[test]
fn a_record_of_kinds_is_known_too() {
    let kind = r#"{"type":"record","name":"Ids","fields":[{"name":"mrn","type":"long"},{"name":"patient","type":{"type":"array","items":["null","string"]}}]}"#;
    let names = Value::Array(vec![
        Value::Union(1, Box::new(Value::String("Ola Berg".into()))),
        Value::Union(0, Box::new(Value::Null)),
    ]);
    let value = Value::Record(vec![("mrn".into(), Value::Long(5512)), ("patient".into(), names)]);
    let event = with("known", kind, value).unwrap();
    assert_eq!(
        known(&event),
        [
            (KnownKind::MedicalRecord, "5512"),
            (KnownKind::Patient, "Ola Berg")
        ]
    );
}

#[test]
fn a_path_may_go_through_a_map() {
    let schema = r#"{"type":"map","values":["string",{"type":"map","values":"long"}]}"#;
    let (_folder, path) = file("map.avsc", schema.as_bytes());
    let config = format!("kind = \"avro\"\nschema_file = \"{path}\"\nfields = {{ note_id = \"ids.note\" }}");
    let format = toml::from_str::<FormatConfig>(&config).unwrap().build().unwrap();
    let ids = b"\x06ids\x02\x02\x08note\x12\x00";
    let text = b"\x08text\x00\x02t";
    // Two pairs in a block with its length: 21 bytes.
    let event = format
        .read(&[b"\x03\x2a", &ids[..], text, b"\0"].concat())
        .unwrap();
    assert_eq!((event.note_id.expose(), event.text.expose()), ("9", "t"));
    let shorter = format
        .read(&[b"\x03\x28", &ids[..], text, b"\0"].concat())
        .unwrap_err();
    assert_eq!(shorter.problem, PayloadError::NotOfSchema);
    let twice = format
        .read(&[b"\x04", &text[..], text, b"\0"].concat())
        .unwrap_err();
    assert_eq!(twice.problem, PayloadError::Duplicate);
}

#[test]
fn a_field_that_the_schema_has_no_place_for_is_told_from_one_that_is_null() {
    let shelf = Arc::new(Shelf::default());
    shelf.put(7, Language::Avro, NOTE_AVSC, &[]);
    let problem = |fields: &str, payload: &[u8]| {
        let diagnosis = shelf.format("avro", fields).read(payload).unwrap_err();
        (diagnosis.field, diagnosis.problem)
    };
    let unmapped = problem("", include_bytes!("golden/note.avro.bin"));
    assert_eq!(unmapped, (Some("note_id"), PayloadError::NotInSchema));
    let needed = format!("{NOTE_FIELDS}\nrequired = [\"version\"]");
    let null = problem(&needed, include_bytes!("golden/deleted.avro.bin"));
    assert_eq!(null, (Some("version"), PayloadError::Missing));
}

#[test]
fn a_text_over_the_limit_is_too_large() {
    let shelf = Arc::new(Shelf::default());
    shelf.put(7, Language::Avro, NOTE_AVSC, &[]);
    let format = shelf.format("avro", &format!("{NOTE_FIELDS}\nmax_note_bytes = {}", TEXT.len()));
    assert!(format.read(include_bytes!("golden/note.avro.bin")).is_ok());
    let format = shelf.format(
        "avro",
        &format!("{NOTE_FIELDS}\nmax_note_bytes = {}", TEXT.len() - 1),
    );
    let diagnosis = format.read(include_bytes!("golden/note.avro.bin")).unwrap_err();
    assert_eq!(
        (diagnosis.field, diagnosis.problem),
        (Some("text"), PayloadError::TooLarge)
    );
}
