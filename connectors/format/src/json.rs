//! The `json` format: a note event as one JSON object.
//!
//! | field | value |
//! |---|---|
//! | `note_id`, `patient_id`, `encounter_id`, `author_id` | string or integer |
//! | `note_type` | string |
//! | `version` | integer |
//! | `authored_at` | RFC 3339 with an offset, or milliseconds since 1970-01-01T00:00:00Z |
//! | `event` | `create` (default), `amend`, `delete` |
//! | `text` | string, unchanged; required unless the event is `delete` |
//! | `known` | list of `{kind, value}`, or an object of kind to a value or a list of values |
//!
//! A feed with other names maps them: `fields = { text = "body.note", note_id = "/meta/id" }`. Null means
//! absent, other fields are ignored, and a field that is read may not occur twice. A byte order mark before
//! the object is skipped (RFC 8259 section 8.1 allows that).
//!
//! The payload is read in one pass without a tree: serde_json walks a trie of the mapped paths, so that a
//! note's text is copied once and unmapped values are skipped.

use lethe_core::{EventKind, NoteEvent};
use schemars::JsonSchema;
use serde::de::DeserializeSeed;
use serde::{Deserialize, Serialize};

use crate::fields::{Field, Fields, Mapping, Node, default_required, remove};
use crate::visit::{Draft, ObjectSeed};
use crate::{Diagnosis, Format, FormatError, MAX_NOTE_BYTES, PayloadError};

/// Settings of the `json` format.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct JsonConfig {
    /// The paths of fields that are not at the top level under their own names.
    pub fields: Fields,
    /// Required fields. An event without one is quarantined. `text` is always required, except for deletions.
    pub required: Vec<String>,
    /// Notes over this size are quarantined.
    pub max_note_bytes: usize,
}

impl Default for JsonConfig {
    fn default() -> Self {
        Self {
            fields: Fields::default(),
            required: default_required(),
            max_note_bytes: MAX_NOTE_BYTES,
        }
    }
}

impl JsonConfig {
    /// Returns the decoder.
    ///
    /// # Errors
    /// [`FormatError`] for a path with an empty part, two fields at one path, or an unknown name in
    /// `required`.
    pub fn build(&self) -> Result<JsonFormat, FormatError> {
        let mapping = Mapping::new(&self.fields, &self.required, self.max_note_bytes)?;
        Ok(JsonFormat { mapping })
    }
}

/// Decodes note events in JSON.
#[derive(Debug)]
pub struct JsonFormat {
    mapping: Mapping,
}

/// A note event, and what a writer needs to restore its id's original form.
#[derive(Debug)]
pub struct Read {
    /// The event; its coordinates are empty.
    pub event: NoteEvent,
    /// Whether there was an id, which may be the empty string.
    pub has_id: bool,
    /// Whether the id was a JSON number.
    pub id_is_number: bool,
    /// Index of the id's name among those given to [`JsonFormat::with_id_names`].
    pub id_name: usize,
}

impl JsonFormat {
    /// Accepts the note's id at the top under any of these names, instead of at its configured path.
    #[must_use]
    pub fn with_id_names(mut self, names: &[&str]) -> Self {
        remove(&mut self.mapping.root, Field::NoteId);
        let ids = names
            .iter()
            .map(|&name| (name.to_owned(), Node::Leaf(Field::NoteId)));
        self.mapping.root.splice(0..0, ids);
        self
    }

    /// Reads the payload, and the form of its id.
    ///
    /// # Errors
    /// A [`Diagnosis`].
    pub fn read_full(&self, payload: &[u8]) -> Result<Read, Diagnosis> {
        let text = std::str::from_utf8(payload).map_err(|e| Diagnosis {
            field: None,
            byte: e.valid_up_to(),
            problem: PayloadError::NotUtf8,
        })?;
        let json = text.strip_prefix('\u{feff}').unwrap_or(text);
        let skipped = text.len() - json.len();
        let mut draft = Draft::new(self.mapping.max_note_bytes);
        let mut deserializer = serde_json::Deserializer::from_str(json);
        let object = ObjectSeed {
            children: &self.mapping.root,
            draft: &mut draft,
            top: true,
        };
        if let Err(error) = object
            .deserialize(&mut deserializer)
            .and_then(|()| deserializer.end())
        {
            return Err(Diagnosis {
                field: draft.reading.map(Field::name),
                byte: skipped + byte_of(json, &error),
                problem: draft.problem.unwrap_or(match error.classify() {
                    serde_json::error::Category::Eof => PayloadError::Truncated,
                    serde_json::error::Category::Data if draft.reading.is_some() => PayloadError::WrongType,
                    serde_json::error::Category::Data => PayloadError::NotAnObject,
                    _ => PayloadError::NotJson,
                }),
            });
        }
        if let Some(field) = draft.missing(self.mapping.required) {
            return Err(Diagnosis {
                field: Some(field.name()),
                byte: payload.len(),
                problem: PayloadError::Missing,
            });
        }
        Ok(Read {
            event: draft.event,
            has_id: draft.seen & Field::NoteId.bit() != 0,
            id_is_number: draft.id_is_number,
            id_name: draft.id_name,
        })
    }
}

impl Format for JsonFormat {
    fn read(&self, payload: &[u8]) -> Result<NoteEvent, Diagnosis> {
        Ok(self.read_full(payload)?.event)
    }
}

/// Returns where serde_json stopped: it counts lines from 1 and, within one, the bytes read.
pub(crate) fn byte_of(json: &str, error: &serde_json::Error) -> usize {
    let line = json
        .split_inclusive('\n')
        .take(error.line().saturating_sub(1))
        .map(str::len)
        .sum::<usize>();
    (line + error.column()).min(json.len())
}

/// Names of events, in lower case: the first of each kind is used in output.
pub const EVENT_NAMES: [(&str, EventKind); 14] = [
    ("create", EventKind::Create),
    ("created", EventKind::Create),
    ("insert", EventKind::Create),
    ("new", EventKind::Create),
    ("add", EventKind::Create),
    ("amend", EventKind::Amend),
    ("amended", EventKind::Amend),
    ("update", EventKind::Amend),
    ("updated", EventKind::Amend),
    ("replace", EventKind::Amend),
    ("delete", EventKind::Delete),
    ("deleted", EventKind::Delete),
    ("remove", EventKind::Delete),
    ("retract", EventKind::Delete),
];

/// Returns the event with that name, in any case.
///
/// ```
/// use lethe_core::EventKind;
/// use lethe_format::event_kind;
///
/// assert_eq!(event_kind("Update"), Some(EventKind::Amend));
/// assert_eq!(event_kind("resurrect"), None);
/// ```
pub fn event_kind(name: &str) -> Option<EventKind> {
    let known = EVENT_NAMES
        .iter()
        .find(|(known, _)| name.eq_ignore_ascii_case(known));
    known.map(|(_, kind)| *kind)
}
