//! Reads and returns HL7 v2 messages.

use std::sync::LazyLock;

use lethe_core::{Coordinates, Envelope, NoteEvent, Record};
use lethe_format::{Format, Hl7v2Config, Hl7v2Format};

static FORMAT: LazyLock<Hl7v2Format> = LazyLock::new(|| {
    let config = Hl7v2Config {
        keep_message: true,
        keep_numbers: true,
        ..Hl7v2Config::default()
    };
    config.build().expect("these settings are valid")
});

/// The note of a message.
pub struct Read(NoteEvent);

impl Read {
    /// Reads the payload; `None` if it is quarantined.
    ///
    /// # Panics
    /// If the parts of the narrative do not lie in its text, in order.
    pub fn of(payload: &[u8]) -> Option<Self> {
        let Record::Note(event) = FORMAT.decode(Coordinates::default(), payload) else {
            return None;
        };
        let read = Self(event);
        let mut end = 0;
        for part in read.envelope().parts() {
            part.check(read.0.text.expose()).expect("a part lies in the text");
            assert!(part.start() >= end, "parts are in order");
            end = part.end();
        }
        Some(read)
    }

    /// Returns the note.
    pub const fn event(&self) -> &NoteEvent {
        &self.0
    }

    fn envelope(&self) -> &dyn Envelope {
        let enclosed = self.0.enclosed.as_ref().expect("the message was to be kept");
        &*enclosed.0
    }

    /// Returns the message with its original content.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn closed(&self) -> Vec<u8> {
        let envelope = self.envelope();
        let text = self.0.text.expose();
        let parts: Vec<&str> = envelope.parts().iter().map(|part| part.of(text)).collect();
        let identifiers = envelope.identifiers().iter();
        let identifiers: Vec<&str> = identifiers.map(|one| one.value.expose()).collect();
        envelope
            .close(&parts, &identifiers)
            .expect("as many as there were")
    }

    /// Returns the message with nothing in place of its parts and identifiers.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn bare(&self) -> Vec<u8> {
        let envelope = self.envelope();
        let parts = vec![""; envelope.parts().len()];
        let identifiers = vec![""; envelope.identifiers().len()];
        envelope
            .close(&parts, &identifiers)
            .expect("as many as there were")
    }

    /// Returns the note of a returned message.
    ///
    /// # Panics
    /// If it cannot be read, or is another event.
    pub fn again(&self, closed: &[u8]) -> NoteEvent {
        let again = FORMAT.read(closed).expect("a closed message reads");
        assert!(again.kind == self.0.kind, "the event is another");
        again
    }
}
