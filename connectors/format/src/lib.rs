//! Note formats, which turn payloads into note events.
//!
//! Invariant: every payload, whatever its bytes, becomes exactly one [`Record`]. A payload that is not a note
//! event becomes a quarantined record; it does not stop the stream, and none of its content is kept.

mod avro;
mod cda;
mod cursor;
mod diagnosis;
mod distinct;
mod fhir;
mod fields;
mod hl7v2;
mod json;
mod known;
mod markup;
mod protobuf;
pub mod registry;
mod schema;
pub mod secret;
mod text;
mod visit;

use lethe_core::{Coordinates, NoteEvent, Record};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use avro::{AvroConfig, AvroFormat};
pub use cda::{CdaConfig, CdaFormat};
pub use diagnosis::{Diagnosis, PayloadError};
pub use fhir::{FhirConfig, FhirFormat, PatientIdFrom};
pub use fields::Fields;
pub use hl7v2::{
    Charset as Hl7v2Charset, Hl7v2Config, Hl7v2Format, Messages as Hl7v2Messages,
    allowlist as hl7v2_allowlist, hl7v2_messages,
};
pub use json::{EVENT_NAMES, JsonConfig, JsonFormat, Read, event_kind};
pub use known::{KIND_NAMES, kind_named};
pub use markup::{
    DocumentFile, PdfError, RtfError, html_to_text, pdf_to_text, rtf_to_text, wordprocessing_to_text,
};
pub use protobuf::{ProtobufConfig, ProtobufFormat};
pub use registry::Unavailable;
pub use schema::event_schema;
pub use text::{TextConfig, TextFormat};

/// The default maximum size of a note: 64 MiB.
pub const MAX_NOTE_BYTES: usize = 64 << 20;

/// Maximum number of known identifiers in one event. An event with more becomes a quarantined record,
/// `too_large:known:fewer`.
pub const MAX_KNOWN: usize = 100_000;

/// Decodes payloads. One instance serves every lane.
pub trait Format: Send + Sync {
    /// Reads the payload. The event's coordinates are left empty.
    ///
    /// # Errors
    /// A [`Diagnosis`] without content of the payload.
    fn read(&self, payload: &[u8]) -> Result<NoteEvent, Diagnosis>;

    /// Fetches what [`Format::read`] needs in addition to this payload, such as its schema. May block, so it
    /// is called where that is allowed; takes almost no time if everything is available.
    ///
    /// # Errors
    /// [`Unavailable`] while it cannot be fetched. The payload is not at fault: wait and retry before it is
    /// read.
    fn prepare(&self, payload: &[u8]) -> Result<(), Unavailable> {
        let _ = payload;
        Ok(())
    }

    /// Reads the payload like [`Format::read`], and refuses an event with more than [`MAX_KNOWN`] known
    /// identifiers.
    ///
    /// # Errors
    /// A [`Diagnosis`] without content of the payload.
    fn read_within_limits(&self, payload: &[u8]) -> Result<NoteEvent, Diagnosis> {
        let event = self.read(payload)?;
        if event.known.len() > MAX_KNOWN {
            return Err(Diagnosis {
                field: Some("known"),
                byte: payload.len(),
                problem: PayloadError::TooComplex,
            });
        }
        Ok(event)
    }

    /// Returns the record of this payload: a note or a quarantined record. Never a tombstone, which has no
    /// payload and is up to the source.
    fn decode(&self, at: Coordinates, payload: &[u8]) -> Record {
        match self.read_within_limits(payload) {
            Ok(event) => Record::Note(NoteEvent { at, ..event }),
            Err(diagnosis) => {
                tracing::debug!(%at, %diagnosis, "quarantined a payload");
                Record::Quarantined(at, diagnosis.quarantine())
            }
        }
    }
}

/// The format of payloads: `kind = "json"` (the default), `"text"`, `"hl7v2"`, `"fhir"`, `"cda"`, `"avro"` or
/// `"protobuf"`.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum FormatConfig {
    /// A note event as a JSON object.
    Json(JsonConfig),
    /// The payload is the note's text.
    Text(TextConfig),
    /// An HL7 v2 message.
    #[serde(rename = "hl7v2")]
    Hl7v2(Hl7v2Config),
    /// A resource of FHIR R4 in JSON.
    Fhir(FhirConfig),
    /// A clinical document of HL7 CDA release 2.
    Cda(CdaConfig),
    /// A note event as an Avro record.
    Avro(AvroConfig),
    /// A note event as a Protobuf message.
    Protobuf(ProtobufConfig),
}

impl Default for FormatConfig {
    fn default() -> Self {
        Self::Json(JsonConfig::default())
    }
}

impl FormatConfig {
    /// Returns the decoder of a format without a registry.
    ///
    /// # Errors
    /// [`FormatError`] for an invalid field mapping, an unreadable schema file, or a `registry`.
    pub fn build(&self) -> Result<Box<dyn Format>, FormatError> {
        self.build_with(&|_| Err(FormatError::NoRegistryHere))
    }

    /// Returns the decoder; `open` is called for the registry, if the configuration has one.
    ///
    /// # Errors
    /// [`FormatError`] for an invalid field mapping, an unreadable schema file, or an error of `open`.
    pub fn build_with(&self, open: registry::Open<'_>) -> Result<Box<dyn Format>, FormatError> {
        Ok(match self {
            Self::Json(config) => Box::new(config.build()?),
            Self::Text(config) => Box::new(config.build()),
            Self::Hl7v2(config) => Box::new(config.build()?),
            Self::Fhir(config) => Box::new(config.build()),
            Self::Cda(config) => Box::new(config.build()),
            Self::Avro(config) => Box::new(config.build(open)?),
            Self::Protobuf(config) => Box::new(config.build(open)?),
        })
    }
}

/// A format's settings are invalid. Messages name the key, never a value from a note.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// A path with an empty part.
    #[error(
        "`fields.{field}`: the path \"{path}\" has an empty part; write names joined by dots (body.note) or a JSON pointer (/body/note)"
    )]
    Path {
        /// The field mapped.
        field: &'static str,
        /// The path as written.
        path: String,
    },
    /// Two fields have the same path, or one is inside the other.
    #[error(
        "`fields.{field}`: the path \"{path}\" equals, or lies inside, that of `fields.{other}`; give each field its own path"
    )]
    Clash {
        /// The mapped field.
        field: &'static str,
        /// The path as written.
        path: String,
        /// The field that has that path.
        other: &'static str,
    },
    /// An invalid offset from UTC.
    #[error(
        "`utc_offset`: \"{value}\" is not an offset from UTC; write hours and minutes, for instance \"-05:00\""
    )]
    UtcOffset {
        /// The configured value.
        value: String,
    },
    /// `required` lists an unknown field.
    #[error("`required`: there is no field \"{name}\"; fields are {names}")]
    NoSuchField {
        /// The configured name.
        name: String,
        /// The existing names.
        names: String,
    },
    /// Not exactly one of `registry` and `schema_file`, or `schema_id` without a file.
    #[error("`{key}`: {why}")]
    Schema {
        /// The wrong key.
        key: &'static str,
        /// What to do.
        why: &'static str,
    },
    /// A schema file cannot be read, or is not a schema.
    #[error("`schema_file`: {path}: {why}")]
    SchemaFile {
        /// The file.
        path: String,
        /// The problem.
        why: String,
    },
    /// Settings of the registry are invalid.
    #[error("`registry.{key}`: {why}")]
    Registry {
        /// The wrong key.
        key: &'static str,
        /// The problem.
        why: String,
    },
    /// A registry is configured where none can be used.
    #[error("`registry`: a schema registry cannot be used here; set a `schema_file`")]
    NoRegistryHere,
}
