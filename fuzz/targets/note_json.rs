//! Any bytes as a note event in JSON: one record each time, no panic, and a note only where another parser reads the
//! same text in the same place.
#![no_main]

use std::sync::LazyLock;

use lethe_connectors::format::{Format, JsonConfig, JsonFormat};
use lethe_core::{Coordinates, EventKind, Record};
use libfuzzer_sys::fuzz_target;

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
    let value: serde_json::Value = serde_json::from_slice(json).expect("a note came from what is no JSON");
    let text = value.get("text").and_then(serde_json::Value::as_str);
    match text {
        Some(text) => assert!(event.text.expose() == text, "the text is not the payload's"),
        None => assert!(event.kind == EventKind::Delete && event.text.is_empty()),
    }
    let id = match &value["note_id"] {
        serde_json::Value::String(id) => id.clone(),
        number => number.to_string(),
    };
    assert!(event.note_id.expose() == id, "the note id is not the payload's");
});
