//! The `protobuf` format: a note event as a Protocol Buffers message (proto2, proto3).
//!
//! Fields are those of [`json`](crate::JsonFormat), mapped by the same paths: a path leads through messages,
//! by the names of their fields in the `.proto` file. In addition to strings and integers, these types count:
//!
//! | Protobuf | counts as |
//! |---|---|
//! | `enum` | its value's name; for `event` and kinds without the type's name as a prefix and in any case (`EVENT_DELETE` of `enum Event` is `delete`, `EVENT_UNSPECIFIED` is a missing field) |
//! | `google.protobuf.Timestamp` | milliseconds since 1970-01-01T00:00:00Z |
//! | `google.protobuf.StringValue`, `Int64Value` and similar | the wrapped value |
//!
//! `known` may be a list of messages `{kind, value}`, a map, or a message whose fields are kinds. If a field
//! cannot be distinguished from its default (proto3 without `optional`), an empty `text` is a note without
//! text, `event` and `note_type` are their enum's value 0, and any other field is missing. A duplicate field
//! has its last value, and duplicate messages are merged, as the format requires.
//!
//! The `protox` and `prost-reflect` crates compile the schema; it comes from a registry, by the id and the
//! message's index in the frame before each payload, or from a file. Their payload reader is not used: it
//! builds a tree of the whole payload, which for short elements is twenty times as large. [`walk`] reads the
//! payload once, copies the mapped fields, and skips the rest.

mod compile;
mod plan;
mod walk;

use std::collections::HashMap;
use std::path::PathBuf;

use lethe_core::NoteEvent;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cursor::Cursor;
use crate::fields::{Fields, Mapping, default_required};
use crate::registry::{Catalogue, CompileError, Open, RegistryConfig, Unavailable, schema_id, schema_path};
use crate::{Diagnosis, Format, FormatError, MAX_NOTE_BYTES, PayloadError};
use plan::Message;

/// Settings of the `protobuf` format.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProtobufConfig {
    /// The paths of fields that are not at the top level under their own names.
    pub fields: Fields,
    /// Required fields. An event without one is quarantined. `text` is always required, except for deletions.
    pub required: Vec<String>,
    /// Notes over this size are quarantined.
    pub max_note_bytes: usize,
    /// The schema registry, by whose ids payloads name their schemas. Set either this or `schema_file`.
    pub registry: Option<RegistryConfig>,
    /// The schema of all payloads, if there is no registry: a `.proto` file with its imports in the same
    /// folder, or a compiled `FileDescriptorSet`.
    #[schemars(extend("examples" = ["note.proto"]))]
    pub schema_file: Option<PathBuf>,
    /// With `schema_file`, the schema id that framed payloads name. By default payloads are not framed.
    #[schemars(extend("examples" = [17]))]
    pub schema_id: Option<u32>,
    /// With `schema_file` and payloads that are not framed, the full name of their message. Default: the only
    /// message of the file.
    #[schemars(extend("examples" = ["clinic.Note"]))]
    pub message: Option<String>,
}

impl Default for ProtobufConfig {
    fn default() -> Self {
        Self {
            fields: Fields::default(),
            required: default_required(),
            max_note_bytes: MAX_NOTE_BYTES,
            registry: None,
            schema_file: None,
            schema_id: None,
            message: None,
        }
    }
}

impl ProtobufConfig {
    /// Returns the decoder; `open` is called for the registry, if there is one.
    ///
    /// # Errors
    /// [`FormatError`].
    pub fn build(&self, open: Open<'_>) -> Result<ProtobufFormat, FormatError> {
        let mapping = Mapping::new(&self.fields, &self.required, self.max_note_bytes)?;
        let root = mapping.root.clone();
        let refuse = |key, why| Err(FormatError::Schema { key, why });
        let schemas = match (&self.registry, &self.schema_file) {
            (Some(_), None) if self.schema_id.is_some() => {
                return refuse(
                    "schema_id",
                    "requires `schema_file`; with a registry each payload has its own id",
                );
            }
            (_, _) if self.message.is_some() && (self.registry.is_some() || self.schema_id.is_some()) => {
                return refuse(
                    "message",
                    "is only for payloads without a frame; framed ones name their message",
                );
            }
            (Some(registry), None) => Schemata::Asked(Catalogue::new(open(registry)?, move |schema| {
                Ok(File::new(&compile::schema(schema)?, &root))
            })),
            (None, Some(path)) => {
                let wrong = |error: CompileError| FormatError::SchemaFile {
                    path: path.display().to_string(),
                    why: error.to_string(),
                };
                let file = compile::file(path).map_err(wrong)?;
                match self.schema_id {
                    Some(id) => Schemata::Framed(File::new(&file, &root), id),
                    None => {
                        let message = compile::message(&file, self.message.as_deref()).map_err(wrong)?;
                        Schemata::Bare(Message::of(&message, &root))
                    }
                }
            }
            _ => return refuse("registry", "set either `registry` or `schema_file`"),
        };
        Ok(ProtobufFormat { mapping, schemas })
    }
}

/// The plan of each message of a file, by its path from the top.
#[derive(Debug)]
struct File(HashMap<Vec<u32>, Message>);

impl File {
    fn new(file: &prost_reflect::FileDescriptor, root: &crate::fields::Children) -> Self {
        let mut messages = HashMap::new();
        let mut todo: Vec<_> = (0..)
            .zip(file.messages())
            .map(|(i, message)| (vec![i], message))
            .collect();
        while let Some((path, message)) = todo.pop() {
            for (i, inner) in (0..).zip(message.child_messages()) {
                todo.push(([path.as_slice(), &[i]].concat(), inner));
            }
            messages.insert(path, Message::of(&message, root));
        }
        Self(messages)
    }
}

/// Decodes note events in Protobuf.
#[derive(Debug)]
pub struct ProtobufFormat {
    mapping: Mapping,
    schemas: Schemata,
}

#[derive(Debug)]
enum Schemata {
    Asked(Catalogue<File>),
    /// One file for all payloads, and the schema id in their frames.
    Framed(File, u32),
    Bare(Message),
}

impl Format for ProtobufFormat {
    fn prepare(&self, payload: &[u8]) -> Result<(), Unavailable> {
        match (&self.schemas, schema_id(&mut Cursor::new(payload))) {
            (Schemata::Asked(catalogue), Ok(id)) => catalogue.prepare(id),
            _ => Ok(()),
        }
    }

    fn read(&self, payload: &[u8]) -> Result<NoteEvent, Diagnosis> {
        let mut cursor = Cursor::new(payload);
        let fail = |problem| Diagnosis {
            field: None,
            byte: 0,
            problem,
        };
        if let Schemata::Bare(message) = &self.schemas {
            return walk::event(message, &self.mapping, cursor);
        }
        let id = schema_id(&mut cursor).map_err(fail)?;
        let path = schema_path(&mut cursor).map_err(fail)?;
        let read = |file: &File| match file.0.get(&path) {
            Some(message) => walk::event(message, &self.mapping, cursor),
            None => Err(fail(PayloadError::UnusableSchema)),
        };
        match &self.schemas {
            Schemata::Asked(catalogue) => {
                let entry = catalogue.get(id).unwrap_or(Err(PayloadError::SchemaUnavailable));
                read(&*entry.map_err(fail)?)
            }
            Schemata::Framed(file, expected) if id == *expected => read(file),
            Schemata::Framed(..) | Schemata::Bare(_) => Err(fail(PayloadError::UnknownSchema)),
        }
    }
}
