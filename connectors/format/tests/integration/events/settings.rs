//! Mapped fields, and refused settings.

use lethe_core::EventKind;
use lethe_format::{FormatConfig, FormatError, JsonConfig, PayloadError};

use super::json;

#[test]
fn fields_may_stand_elsewhere() {
    let format = json(
        "fields = { text = \"body.note\", note_id = \"/meta/id.v1\", patient_id = \"body.subject.id\", event = \"/a~1b/~0\" }",
    );
    let event = format
        .read(
            br#"{"meta":{"id.v1":"m1"},"body":{"note":"Seen.","subject":{"id":"p7"},"text":"no"},"a/b":{"~":"amend"},"text":"no"}"#,
        )
        .unwrap();
    assert_eq!(event.note_id.expose(), "m1");
    assert_eq!(event.text.expose(), "Seen.");
    assert_eq!(event.patient_id.unwrap().expose(), "p7");
    assert_eq!(event.kind, EventKind::Amend);
    let inner = format
        .read(br#"{"meta":{"id.v1":"m1"},"body":"Seen."}"#)
        .unwrap_err();
    assert_eq!(inner.problem, PayloadError::NotAnObject);
    let none = format
        .read(br#"{"meta":{"id.v1":"m1"},"body":null}"#)
        .unwrap_err();
    assert_eq!((none.field, none.problem), (Some("text"), PayloadError::Missing));
}

#[test]
fn a_mapping_that_cannot_be_is_refused_by_its_key() {
    let build = |text: &str| toml::from_str::<JsonConfig>(text).unwrap().build().unwrap_err();
    for path in ["", ".", "a..b", "/", "/a//b"] {
        let error = build(&format!("fields = {{ text = \"{path}\" }}"));
        assert!(
            matches!(error, FormatError::Path { field: "text", .. }),
            "{path}: {error}"
        );
    }
    for (text, other) in [("note_id", "note_id"), ("note_id.inner", "note_id")] {
        let error = build(&format!("fields = {{ text = \"{text}\" }}"));
        assert!(
            matches!(&error, FormatError::Clash { field: "text", other: found, .. } if *found == other),
            "{error}"
        );
    }
    let outer = build("fields = { note_id = \"body.id\", text = \"body\" }");
    assert!(
        matches!(
            outer,
            FormatError::Clash {
                field: "text",
                other: "note_id",
                ..
            }
        ),
        "{outer}"
    );
    let error = build("required = [\"txt\"]");
    assert!(error.to_string().contains("\"txt\"") && error.to_string().contains("note_id, version"));
}

#[test]
fn settings_that_do_not_exist_are_refused() {
    for text in [
        "kind = \"json\"\nmax_bytes = 1",
        "kind = \"text\"\nfields = {}",
        "kind = \"json\"\nfields = { txt = \"a\" }",
        "kind = \"xml\"",
    ] {
        assert!(toml::from_str::<FormatConfig>(text).is_err(), "{text}");
    }
}
