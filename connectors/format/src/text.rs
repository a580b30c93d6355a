//! The `text` format: the payload is the note.
//!
//! The payload has no id, so the source provides one (for a file, its name). A byte order mark stays: the
//! text is unchanged, and offsets count it.

use lethe_core::NoteEvent;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Diagnosis, Format, MAX_NOTE_BYTES, PayloadError};

/// Settings of the `text` format.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TextConfig {
    /// Notes over this size are quarantined.
    pub max_note_bytes: usize,
}

impl Default for TextConfig {
    fn default() -> Self {
        Self {
            max_note_bytes: MAX_NOTE_BYTES,
        }
    }
}

impl TextConfig {
    /// Returns the decoder.
    pub const fn build(&self) -> TextFormat {
        TextFormat {
            max_note_bytes: self.max_note_bytes,
        }
    }
}

/// Decodes plain text.
#[derive(Clone, Copy, Debug)]
pub struct TextFormat {
    max_note_bytes: usize,
}

impl Format for TextFormat {
    fn read(&self, payload: &[u8]) -> Result<NoteEvent, Diagnosis> {
        let fail = |byte, problem| Diagnosis {
            field: Some("text"),
            byte,
            problem,
        };
        if payload.len() > self.max_note_bytes {
            return Err(fail(self.max_note_bytes, PayloadError::TooLarge));
        }
        let text = std::str::from_utf8(payload).map_err(|e| fail(e.valid_up_to(), PayloadError::NotUtf8))?;
        Ok(NoteEvent {
            text: text.into(),
            ..NoteEvent::default()
        })
    }
}
