//! The JSON Schema of a note event, generated from the decoder's own tables.

use serde_json::{Map, Value, json};

use crate::fields::Field;
use crate::json::EVENT_NAMES;
use crate::known::KIND_NAMES;

/// RFC 3339 with an offset from UTC (section 5.6).
const INSTANT: &str = r"^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?([Zz]|[+-]\d{2}:?\d{2})(\[.*\])?$";

/// Returns the JSON Schema (draft 2020-12) of a note event in the `json` format with unmapped fields.
///
/// Names of events and kinds are listed in lower case; Lethe reads them in any case. The stream ignores
/// unlisted keys.
///
/// ```
/// let schema = lethe_format::event_schema();
/// assert_eq!(schema["required"], serde_json::json!(["note_id"]));
/// ```
pub fn event_schema() -> Value {
    let properties: Map<String, Value> = Field::ALL
        .into_iter()
        .map(|field| (field.name().to_owned(), property(field)))
        .collect();
    let deleted = names(
        EVENT_NAMES
            .iter()
            .filter(|(_, kind)| kind.name() == "delete")
            .map(|(name, _)| *name),
    );
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Lethe note event",
        "type": "object",
        "properties": properties,
        "required": ["note_id"],
        "if": { "properties": { "event": { "enum": deleted } }, "required": ["event"] },
        "then": {},
        "else": { "required": ["text"], "properties": { "text": { "type": "string" } } },
    })
}

fn property(field: Field) -> Value {
    let (mut schema, description) = match field {
        Field::NoteId => (
            json!({ "type": ["string", "integer"] }),
            "The note's id at the source",
        ),
        Field::Version => (
            json!({ "type": ["integer", "null"] }),
            "The note's version; versions over 9999 do not leave",
        ),
        Field::PatientId => (
            json!({ "type": ["string", "integer", "null"] }),
            "The patient's id: values are replaced alike within a patient",
        ),
        Field::EncounterId => (
            json!({ "type": ["string", "integer", "null"] }),
            "The encounter's id",
        ),
        Field::NoteType => (
            json!({ "type": ["string", "null"] }),
            "The kind of note; leaves only if it is on the list of kinds, else as OTHER",
        ),
        Field::AuthorId => (
            json!({ "type": ["string", "integer", "null"] }),
            "The author's id",
        ),
        Field::AuthoredAt => (
            json!({ "anyOf": [{ "type": ["integer", "null"] }, { "type": "string", "pattern": INSTANT }] }),
            "When the note was written: RFC 3339 with an offset from UTC, or milliseconds since 1970",
        ),
        Field::Event => {
            let all = EVENT_NAMES.iter().map(|(name, _)| *name);
            let mut all = names(all);
            all.push(Value::Null);
            (
                json!({ "enum": all }),
                "What happened to the note; `create` if it is missing",
            )
        }
        Field::Text => (
            json!({ "type": ["string", "null"] }),
            "The note; only the event of a deletion does without it",
        ),
        Field::Known => (known(), "The patient's own identifiers, looked for in the text"),
    };
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("description".to_owned(), description.into());
    }
    schema
}

fn known() -> Value {
    let kinds = names(KIND_NAMES.iter().map(|(name, _)| *name));
    let one = json!({ "type": ["string", "integer", "null"] });
    let values = json!({ "anyOf": [one, { "type": "array", "items": one }] });
    json!({
        "anyOf": [
            { "type": "null" },
            {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": { "kind": { "enum": kinds }, "value": values },
                    "required": ["kind", "value"],
                },
            },
            {
                "type": "object",
                "propertyNames": { "enum": kinds },
                "additionalProperties": values,
            },
        ],
    })
}

fn names<'a>(names: impl Iterator<Item = &'a str>) -> Vec<Value> {
    names.map(Value::from).collect()
}
