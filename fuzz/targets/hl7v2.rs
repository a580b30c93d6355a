//! Any bytes as an HL7 v2 message: one record each time, no panic; extracted parts lie in its text, and a
//! message that is returned with its original content reads as the same note.
#![no_main]

use lethe_core::{EventKind, NoteEvent};
use lethe_fuzz::hl7v2::Read;
use libfuzzer_sys::fuzz_target;

/// Returns its letters and digits. Line breaks may become other white space; characters that a message
/// without an escape character cannot hold become spaces.
fn letters(event: &NoteEvent) -> String {
    let text = event.text.expose().chars();
    text.filter(|c| c.is_alphanumeric()).collect()
}

fuzz_target!(|payload: &[u8]| {
    let Some(read) = Read::of(payload) else {
        return;
    };
    let event = read.event();
    let closed = read.closed();
    // Separators alone, in a message that cannot escape them, become blank, and a blank note is refused.
    if event.kind == EventKind::Delete || !letters(event).is_empty() {
        let again = read.again(&closed);
        assert!(letters(&again) == letters(event), "the text is another");
    }
    assert!(
        read.bare().len() <= closed.len() + 64,
        "nothing is more than something"
    );
});
