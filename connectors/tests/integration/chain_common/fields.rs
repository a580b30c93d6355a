//! A chain of messages with changed fields: one with narrative, one without.

use std::sync::Arc;

use lethe_connectors::store::{Memory, Store as _};
use lethe_core::{
    Change, Changed, Coordinates, Enclosed, Envelope, EnvelopeError, Identifier, NoteEvent, Record, Span,
};

use super::{TOPIC, open, redact};

/// Returns a message with a name and, optionally, a text.
struct Letter {
    parts: Vec<Span>,
    identifiers: [Identifier; 1],
    changes: [Change; 3],
}

impl Envelope for Letter {
    fn parts(&self) -> &[Span] {
        &self.parts
    }

    fn identifiers(&self) -> &[Identifier] {
        &self.identifiers
    }

    fn changes(&self) -> &[Change] {
        &self.changes
    }

    fn close(&self, parts: &[&str], identifiers: &[&str]) -> Result<Vec<u8>, EnvelopeError> {
        Ok([parts, identifiers].concat().join("|").into_bytes())
    }
}

fn message(offset: i64, text: &str) -> Record {
    let change = |path: &'static str, rule, what| Change {
        path: path.into(),
        rule,
        what,
    };
    let letter = Letter {
        parts: (!text.is_empty())
            .then(|| Span::between(0, text.len() as u32))
            .into_iter()
            .collect(),
        identifiers: [Identifier {
            label: "PATIENT",
            value: "Greta Lindqvist".into(),
            authority: None,
        }],
        changes: [
            change("PID-5.1", "name", Changed::Replaced(0)),
            change("PID-5.2", "name", Changed::Replaced(0)),
            change("PID-50", "not on the list", Changed::Removed),
        ],
    };
    Record::Note(NoteEvent {
        at: Coordinates {
            topic: Arc::from(TOPIC),
            partition: 3,
            offset,
        },
        note_id: format!("message-{offset}").into(),
        text: text.into(),
        structured: text.is_empty(),
        enclosed: Some(Enclosed(Arc::new(letter))),
        ..NoteEvent::default()
    })
}

/// Returns a store whose chain has a message with narrative at offset 0 and one without at offset 1.
pub async fn store() -> Memory {
    let store = Memory::default();
    let mut writer = open(&store).await;
    let records = [message(0, "Greta Lindqvist was seen."), message(1, "")];
    let (rows, audit) = redact(records);
    writer.push(&rows, &audit).unwrap();
    writer.commit(&store).await.unwrap();
    assert_eq!(store.list("notes").await.unwrap().len(), 1);
    store
}
