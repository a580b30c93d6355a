//! Any bytes as an HL7 v2 message: one record each time, no panic; what is read lies in its text, and a message closed
//! with what it was reads as the same note.
#![no_main]

use std::sync::LazyLock;

use lethe_core::{Coordinates, Envelope, EventKind, NoteEvent, Record};
use lethe_format::{Format, Hl7v2Config, Hl7v2Format};
use libfuzzer_sys::fuzz_target;

static FORMAT: LazyLock<Hl7v2Format> = LazyLock::new(|| {
    let config = Hl7v2Config {
        keep_message: true,
        keep_numbers: true,
        ..Hl7v2Config::default()
    };
    config.build().expect("these settings are valid")
});

/// Its letters and digits. Line breaks may come back as other white space; what a message without an escape character
/// cannot hold comes back as a space.
fn letters(event: &NoteEvent) -> String {
    let text = event.text.expose().chars();
    text.filter(|c| c.is_alphanumeric()).collect()
}

fuzz_target!(|payload: &[u8]| {
    let Record::Note(event) = FORMAT.decode(Coordinates::default(), payload) else {
        return;
    };
    let enclosed = event.enclosed.as_ref().expect("the message was to be kept");
    let envelope: &dyn Envelope = &*enclosed.0;
    let mut end = 0;
    for part in envelope.parts() {
        part.check(event.text.expose()).expect("a part lies in the text");
        assert!(part.start() >= end, "parts are in order");
        end = part.end();
    }
    let parts = envelope.parts().iter().map(|part| part.of(event.text.expose()));
    let identifiers = envelope.identifiers().iter().map(|one| one.value.expose());
    let (parts, identifiers): (Vec<_>, Vec<_>) = (parts.collect(), identifiers.collect());
    let closed = envelope
        .close(&parts, &identifiers)
        .expect("as many as there were");
    // Separators alone, in a message that cannot escape them, come back blank, and a blank note is none.
    if event.kind == EventKind::Delete || !letters(&event).is_empty() {
        let again = FORMAT.read(&closed).expect("a closed message reads");
        assert!(again.kind == event.kind, "the event is another");
        assert!(letters(&again) == letters(&event), "the text is another");
    }

    let (parts, identifiers): (Vec<_>, Vec<_>) = (
        parts.iter().map(|_| "").collect(),
        identifiers.iter().map(|_| "").collect(),
    );
    let bare = envelope
        .close(&parts, &identifiers)
        .expect("as many as there were");
    assert!(bare.len() <= closed.len() + 64, "nothing is more than something");
});
