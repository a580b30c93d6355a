//! A record of the topic, as far as a row is compared with it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use lethe_core::Sensitive;

use crate::format::Format;
use crate::kafka::source::RawRecord;

/// A record of the topic.
pub enum Original {
    /// A record without a payload.
    Tombstone,
    /// A note.
    Note {
        /// The source's id of it.
        note_id: Sensitive,
        /// Its text, before anything was redacted.
        text: Sensitive,
        /// Whether it is a message without narrative.
        structured: bool,
    },
    /// A payload that the format does not read, with a code of why.
    Unread(&'static str),
}

impl Original {
    /// Decodes a record by the format that the dataset was made with.
    pub fn of(format: &dyn Format, record: &RawRecord) -> Self {
        let Some(payload) = &record.payload else {
            return Self::Tombstone;
        };
        // As the pipeline does: a panic is the payload's.
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
