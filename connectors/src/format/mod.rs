//! Note formats: what turns a payload into a note event.
//!
//! Invariant: every payload, whatever its bytes, becomes exactly one [`Record`]. A payload that is no note event becomes
//! a quarantined record; it stops nothing, and none of its content is kept.

mod diagnosis;
mod fields;
mod json;
mod known;
mod text;
mod visit;

use lethe_core::{Coordinates, NoteEvent, Record};
use serde::Deserialize;

pub use diagnosis::{Diagnosis, Problem};
pub use fields::Fields;
pub(crate) use json::event_kind;
pub use json::{JsonConfig, JsonFormat, Read};
pub(crate) use known::kind_named;
pub use text::{TextConfig, TextFormat};

/// The largest note that is taken unless the configuration says otherwise: 64 MiB.
pub const MAX_NOTE_BYTES: usize = 64 << 20;

/// Decodes payloads. One instance serves every lane.
pub trait Format: Send + Sync {
    /// Reads the payload. The event's coordinates are left empty.
    ///
    /// # Errors
    /// A [`Diagnosis`] that carries nothing of the payload.
    fn read(&self, payload: &[u8]) -> Result<NoteEvent, Diagnosis>;

    /// The record that this payload is: a note, or a quarantined record. Never a tombstone, which has no payload and
    /// is the source's to tell.
    fn decode(&self, at: Coordinates, payload: &[u8]) -> Record {
        match self.read(payload) {
            Ok(event) => Record::Note(NoteEvent { at, ..event }),
            Err(diagnosis) => {
                tracing::debug!(%at, %diagnosis, "quarantined a payload");
                Record::Quarantined(at, diagnosis.problem.code())
            }
        }
    }
}

/// Which format payloads are in: `kind = "json"` (default) or `kind = "text"`. This enum is the list of formats.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum FormatConfig {
    /// A note event as one JSON object.
    Json(JsonConfig),
    /// The payload is the note's text.
    Text(TextConfig),
}

impl Default for FormatConfig {
    fn default() -> Self {
        Self::Json(JsonConfig::default())
    }
}

impl FormatConfig {
    /// The decoder.
    ///
    /// # Errors
    /// [`FormatError`] for a field mapping that cannot be.
    pub fn build(&self) -> Result<Box<dyn Format>, FormatError> {
        Ok(match self {
            Self::Json(config) => Box::new(config.build()?),
            Self::Text(config) => Box::new(config.build()),
        })
    }
}

/// A format's settings that cannot be. Names the key, never a value from a note.
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
    /// Two fields at one place, or one inside the other.
    #[error(
        "`fields.{field}`: the path \"{path}\" is taken by, or lies inside, `fields.{other}`; give each field its own"
    )]
    Clash {
        /// The field mapped.
        field: &'static str,
        /// The path as written.
        path: String,
        /// The field that has that place.
        other: &'static str,
    },
    /// `required` names what is no field.
    #[error("`required`: there is no field \"{name}\"; fields are {names}")]
    NoSuchField {
        /// As written.
        name: String,
        /// The names there are.
        names: String,
    },
}
