//! The part of a topic's record that a row is compared with.

use std::panic::{AssertUnwindSafe, catch_unwind};

use lethe_core::Sensitive;

use crate::format::Format;
use crate::source::RawRecord;

/// A record of the topic.
pub enum Original {
    /// A record without a payload.
    Tombstone,
    /// A note.
    Note {
        /// Its id in the source.
        note_id: Sensitive,
        /// Its text before redaction.
        text: Sensitive,
        /// Whether it is a message without narrative.
        structured: bool,
    },
    /// A payload that the format cannot read, with the code of the reason.
    Unread(&'static str),
}

impl Original {
    /// Decodes a record with the dataset's format.
    pub fn of(format: &dyn Format, record: &RawRecord) -> Self {
        let Some(payload) = &record.payload else {
            return Self::Tombstone;
        };
        // As in the pipeline, a panic counts as a fault of the payload.
        let decoded = catch_unwind(AssertUnwindSafe(|| {
            if format.prepare(&payload.0).is_err() {
                return Self::Unread("schema_unavailable");
            }
            match format.read(&payload.0) {
                Ok(event) => Self::Note {
                    note_id: event.note_id,
                    text: event.text,
                    structured: event.structured,
                },
                Err(_) => Self::Unread("payload_not_readable"),
            }
        }));
        decoded.unwrap_or(Self::Unread("payload_not_readable"))
    }
}

impl std::fmt::Debug for Original {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tombstone => f.write_str("Tombstone"),
            Self::Note { text, .. } => write!(f, "Note({text:?})"),
            Self::Unread(why) => write!(f, "Unread({why})"),
        }
    }
}
