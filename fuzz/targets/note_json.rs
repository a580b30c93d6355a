//! Any bytes as a note event in JSON: one record each time, no panic, and a note only if another parser reads
//! the same text at the same path.
#![no_main]

use std::collections::BTreeMap;
use std::sync::LazyLock;

use lethe_connectors::format::{Format, JsonConfig, JsonFormat};
use lethe_core::{Coordinates, EventKind, Record};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use serde_json::value::RawValue;

static FORMAT: LazyLock<JsonFormat> = LazyLock::new(|| {
    JsonConfig::default()
        .build()
        .expect("the default settings are valid")
});

fuzz_target!(|payload: &[u8]| {
    let Record::Note(event) = FORMAT.decode(Coordinates::default(), payload) else {
        return;
    };
    let json = payload.strip_prefix(b"\xef\xbb\xbf").unwrap_or(payload);
    // Fields outside of the note stay unread on both sides: half of a surrogate pair in one is valid JSON
    // (RFC 8259, 8.2), and no reason to refuse a note.
    let fields: BTreeMap<String, &RawValue> =
        serde_json::from_slice(json).expect("a note came from what is no JSON");
    let field = |name: &str| -> Option<Value> {
        let raw = fields.get(name)?;
        Some(serde_json::from_str(raw.get()).expect("a note came from a field that is no JSON"))
    };
    let text = field("text");
    match text.as_ref().and_then(Value::as_str) {
        Some(text) => assert!(event.text.expose() == text, "the text is not the payload's"),
        None => assert!(event.kind == EventKind::Delete && event.text.is_empty()),
    }
    let id = match field("note_id").unwrap_or_default() {
        Value::String(id) => id,
        number => number.to_string(),
    };
    assert!(event.note_id.expose() == id, "the note id is not the payload's");
});
