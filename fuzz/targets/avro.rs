//! Any bytes as an Avro payload: one record each time, no panic, and a note only with the text that another
//! reader finds in it. Input that begins with `{`, `[` or `"` is also tried as a schema, which may be refused
//! without other effects.
#![no_main]

use std::sync::{Arc, LazyLock};

use apache_avro::reader::datum::GenericDatumReader;
use apache_avro::types::Value;
use lethe_connectors::format::registry::{Language, Schema, SchemaError, Schemas};
use lethe_connectors::format::{Format, FormatConfig};
use lethe_core::{Coordinates, Record};
use libfuzzer_sys::fuzz_target;

const NOTE: &str = include_str!("../../connectors/format/tests/integration/registry/golden/note.avsc");

static AVRO: LazyLock<apache_avro::Schema> =
    LazyLock::new(|| apache_avro::Schema::parse_str(NOTE).expect("a schema"));

static FORMAT: LazyLock<Box<dyn Format>> = LazyLock::new(|| format(NOTE.to_owned()));

/// A registry with this schema for every id.
struct One(Arc<Schema>);

impl Schemas for One {
    fn schema(&self, _: u32) -> Result<Arc<Schema>, SchemaError> {
        Ok(Arc::clone(&self.0))
    }
}

fn format(text: String) -> Box<dyn Format> {
    let config = r#"{"kind":"avro","registry":{"url":"https://registry.example"},"fields":{"note_id":"meta.id",
        "version":"meta.version","authored_at":"meta.written","event":"meta.event","patient_id":"patient.number",
        "known":"patient.identifiers","text":"body"}}"#;
    let config: FormatConfig = serde_json::from_str(config).expect("the settings are valid");
    let schema = Arc::new(Schema {
        language: Language::Avro,
        text,
        references: Vec::new(),
    });
    config
        .build_with(&|_| Ok(Arc::new(One(Arc::clone(&schema)))))
        .expect("the settings are valid")
}

fuzz_target!(|data: &[u8]| {
    if let (Some(b'{' | b'[' | b'"'), Ok(text)) = (data.first(), std::str::from_utf8(data)) {
        let framed = [&[0; 5][..], data].concat();
        drop(format(text.to_owned()).decode(Coordinates::default(), &framed));
    }
    let payload = [&[0; 5][..], data].concat();
    let Record::Note(event) = FORMAT.decode(Coordinates::default(), &payload) else {
        return;
    };
    let reader = GenericDatumReader::builder(&AVRO).build().expect("a schema");
    let mut left = data;
    // The other reader refuses more: it decodes bytes that are skipped here.
    let Ok(Value::Record(fields)) = reader.read_value(&mut left) else {
        return;
    };
    assert!(left.is_empty(), "bytes were left over");
    let body = fields
        .into_iter()
        .find(|(name, _)| name == "body")
        .expect("a field")
        .1;
    let Value::Union(_, body) = body else {
        panic!("the text is no union")
    };
    match *body {
        Value::String(text) => assert!(event.text.expose() == text, "the text is not the payload's"),
        _ => assert!(event.text.is_empty(), "a text came from nowhere"),
    }
});
