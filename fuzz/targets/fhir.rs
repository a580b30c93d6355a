//! Any bytes as a FHIR message: no panic, parts in order and in bounds, and a message that is returned
//! unchanged reads as the same text.
#![no_main]

use lethe_format::{FhirConfig, Format};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|payload: &[u8]| {
    let config = FhirConfig {
        max_note_bytes: 1 << 20,
        keep_message: true,
        ..FhirConfig::default()
    };
    let format = config.build();
    let Ok(event) = format.read(payload) else {
        return;
    };
    let text = event.text.expose();
    let message = event.enclosed.as_ref().expect("the message was to be kept");
    let mut at = 0;
    let mut parts = Vec::new();
    for part in message.0.parts() {
        assert!(
            part.start() >= at && part.check(text).is_ok(),
            "a part is out of place"
        );
        at = part.end();
        parts.push(part.of(text));
    }
    let identifiers = message.0.identifiers();
    let tags: Vec<String> = identifiers.iter().map(|one| format!("[{}]", one.label)).collect();
    let tags: Vec<&str> = tags.iter().map(String::as_str).collect();
    message.0.close(&parts, &tags).expect("tags close a message");
    let same: Vec<&str> = identifiers.iter().map(|one| one.value.expose()).collect();
    let closed = message
        .0
        .close(&parts, &same)
        .expect("a message closes as it was");
    let again = format.read(&closed).expect("a closed message is a message");
    assert!(again.text == event.text, "another text came back");
});
