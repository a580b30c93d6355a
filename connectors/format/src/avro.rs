//! The `avro` format: a note event as an Avro record (Apache Avro 1.12, binary encoding).
//!
//! Fields are those of [`json`](crate::JsonFormat), mapped by the same paths: a path leads through records and
//! maps, and a union counts as the type that was written. In addition to strings and integers, these types count:
//!
//! | Avro | counts as |
//! |---|---|
//! | `enum` | its symbol; for `event` case does not matter |
//! | `timestamp-millis`, `-micros`, `-nanos` | milliseconds since 1970-01-01T00:00:00Z |
//! | `date`, `local-timestamp-*` | a date without an offset, which `authored_at` refuses |
//! | `uuid` | its 36 characters |
//! | `null` | a missing field |
//!
//! `known` may be an array of records `{kind, value}`, a map, or a record whose fields are kinds. The schema comes
//! from a registry, by the id in the frame before each payload, or from a file.
//!
//! The `apache-avro` crate parses the schema. Its payload reader is not used: it builds a tree of the whole payload,
//! trusts a length up to a process-wide limit, and recurses as deep as a payload of a recursive schema requires.
//! [`walk`] reads the payload once, copies the mapped fields, and skips the rest.

mod shape;
mod walk;

use std::path::PathBuf;

use lethe_core::NoteEvent;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cursor::Cursor;
use crate::fields::{Fields, Mapping, default_required};
use crate::registry::{
    Catalogue, CompileError, Language, Open, RegistryConfig, Schema, Unavailable, read_file, schema_id,
};
use crate::{Diagnosis, Format, FormatError, MAX_NOTE_BYTES, PayloadError};
use shape::Shape;

/// Settings of the `avro` format.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AvroConfig {
    /// The paths of fields that are not at the top level under their own names.
    pub fields: Fields,
    /// Required fields. An event without one is quarantined. `text` is always required, except for deletions.
    pub required: Vec<String>,
    /// Notes over this size are quarantined.
    pub max_note_bytes: usize,
    /// The schema registry, by whose ids payloads name their schemas. Set either this or `schema_file`.
    pub registry: Option<RegistryConfig>,
    /// The schema (`.avsc`) of all payloads, if there is no registry.
    #[schemars(extend("examples" = ["note.avsc"]))]
    pub schema_file: Option<PathBuf>,
    /// With `schema_file`, the schema id that framed payloads name. By default payloads are not framed.
    #[schemars(extend("examples" = [17]))]
    pub schema_id: Option<u32>,
}

impl Default for AvroConfig {
    fn default() -> Self {
        Self {
            fields: Fields::default(),
            required: default_required(),
            max_note_bytes: MAX_NOTE_BYTES,
            registry: None,
            schema_file: None,
            schema_id: None,
        }
    }
}

impl AvroConfig {
    /// Returns the decoder; `open` is called for the registry, if there is one.
    ///
    /// # Errors
    /// [`FormatError`].
    pub fn build(&self, open: Open<'_>) -> Result<AvroFormat, FormatError> {
        let mapping = Mapping::new(&self.fields, &self.required, self.max_note_bytes)?;
        let schemas = match (&self.registry, &self.schema_file) {
            (Some(registry), None) if self.schema_id.is_none() => {
                Schemata::Asked(Catalogue::new(open(registry)?, shape))
            }
            (None, Some(path)) => {
                let schema = Schema {
                    language: Language::Avro,
                    text: read_file(path)?,
                    references: Vec::new(),
                };
                let shape = shape(&schema).map_err(|error| FormatError::SchemaFile {
                    path: path.display().to_string(),
                    why: error.to_string(),
                })?;
                Schemata::Given(shape, self.schema_id)
            }
            (Some(_), None) => {
                return Err(FormatError::Schema {
                    key: "schema_id",
                    why: "requires `schema_file`; with a registry each payload has its own id",
                });
            }
            _ => {
                return Err(FormatError::Schema {
                    key: "registry",
                    why: "set either `registry` or `schema_file`",
                });
            }
        };
        Ok(AvroFormat { mapping, schemas })
    }
}

fn shape(schema: &Schema) -> Result<Shape, CompileError> {
    if schema.language != Language::Avro {
        return Err(CompileError::Language("Avro"));
    }
    Shape::compile(schema)
}

/// Decodes note events in Avro.
#[derive(Debug)]
pub struct AvroFormat {
    mapping: Mapping,
    schemas: Schemata,
}

#[derive(Debug)]
enum Schemata {
    Asked(Catalogue<Shape>),
    /// One schema for all payloads, and the id in their frames, if they are framed.
    Given(Shape, Option<u32>),
}

impl Format for AvroFormat {
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
        match &self.schemas {
            Schemata::Given(shape, None) => walk::event(shape, &self.mapping, cursor),
            Schemata::Given(shape, Some(expected)) => {
                let id = schema_id(&mut cursor).map_err(fail)?;
                if id != *expected {
                    return Err(fail(PayloadError::UnknownSchema));
                }
                walk::event(shape, &self.mapping, cursor)
            }
            Schemata::Asked(catalogue) => {
                let id = schema_id(&mut cursor).map_err(fail)?;
                let entry = catalogue.get(id).unwrap_or(Err(PayloadError::SchemaUnavailable));
                let shape = entry.map_err(fail)?;
                walk::event(&shape, &self.mapping, cursor)
            }
        }
    }
}
