//! Any bytes as a Protobuf payload: one record each time, no panic, and a note only with the text and the
//! identifiers that another reader finds in it. Input that begins with `syntax` or `message` is also tried as
//! a schema, which may be refused without other effects.
#![no_main]

use std::sync::{Arc, LazyLock};

use lethe_connectors::format::registry::{Language, Reference, Schema, SchemaError, Schemas};
use lethe_connectors::format::{Format, FormatConfig};
use lethe_core::{Coordinates, Record};
use libfuzzer_sys::fuzz_target;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, Value};

const NOTE: &str = include_str!("../../connectors/format/tests/integration/registry/golden/note.proto");
const PEOPLE: &str = include_str!("../../connectors/format/tests/integration/registry/golden/people.proto");
const COMPILED: &[u8] = include_bytes!("../../connectors/format/tests/integration/registry/golden/note.desc");

static MESSAGE: LazyLock<MessageDescriptor> = LazyLock::new(|| {
    let pool = DescriptorPool::decode(COMPILED).expect("a compiled set");
    pool.get_message_by_name("org.example.ehr.Envelope.Note")
        .expect("a message")
});

static FORMAT: LazyLock<Box<dyn Format>> = LazyLock::new(|| format(NOTE.to_owned()));

/// A registry with this schema for every id.
struct One(Arc<Schema>);

impl Schemas for One {
    fn schema(&self, _: u32) -> Result<Arc<Schema>, SchemaError> {
        Ok(Arc::clone(&self.0))
    }
}

fn format(text: String) -> Box<dyn Format> {
    let config = r#"{"kind":"protobuf","registry":{"url":"https://registry.example"},"fields":{"note_id":"meta.id",
        "version":"meta.version","authored_at":"meta.written","event":"meta.event","patient_id":"patient.number",
        "known":"patient.identifiers","text":"body"}}"#;
    let config: FormatConfig = serde_json::from_str(config).expect("the settings are valid");
    let schema = Arc::new(Schema {
        language: Language::Protobuf,
        text,
        references: vec![Reference {
            name: "people.proto".to_owned(),
            text: PEOPLE.to_owned(),
        }],
    });
    config
        .build_with(&|_| Ok(Arc::new(One(Arc::clone(&schema)))))
        .expect("the settings are valid")
}

fuzz_target!(|data: &[u8]| {
    if let Ok(text) = std::str::from_utf8(data)
        && (text.starts_with("syntax") || text.starts_with("message"))
    {
        let framed = [&[0; 6][..], data].concat();
        drop(format(text.to_owned()).decode(Coordinates::default(), &framed));
    }
    // The second message within the first message of the first file.
    let payload = [&[0, 0, 0, 0, 0, 4, 0, 2][..], data].concat();
    let Record::Note(event) = FORMAT.decode(Coordinates::default(), &payload) else {
        return;
    };
    // The other reader refuses more: it decodes messages that are skipped here.
    let Ok(message) = DynamicMessage::decode(MESSAGE.clone(), data) else {
        return;
    };
    let inner =
        |message: &DynamicMessage, name| match message.get_field_by_name(name).expect("a field").as_ref() {
            Value::Message(inner) => inner.clone(),
            _ => panic!("{name} is no message"),
        };
    let body = message.get_field_by_name("body").expect("a field");
    assert!(
        body.as_str() == Some(event.text.expose()),
        "the text is not the payload's"
    );
    let meta = inner(&message, "meta");
    let id = meta
        .get_field_by_name("id")
        .expect("a field")
        .as_i64()
        .expect("a number");
    assert!(
        event.note_id.expose() == id.to_string(),
        "the note id is not the payload's"
    );
    let patient = inner(&message, "patient");
    let mut values = Vec::new();
    for one in patient
        .get_field_by_name("identifiers")
        .expect("a field")
        .as_list()
        .expect("a list")
    {
        let one = one.as_message().expect("a message");
        for value in one
            .get_field_by_name("value")
            .expect("a field")
            .as_list()
            .expect("a list")
        {
            values.extend(
                value
                    .as_str()
                    .filter(|value| !value.trim().is_empty())
                    .map(str::to_owned),
            );
        }
    }
    let known: Vec<_> = event.known.iter().map(|known| known.value.expose()).collect();
    assert!(known == values, "the identifiers are not the payload's");
});
