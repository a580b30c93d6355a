//! Any bytes as a CDA document: no panic, never more text than the document has, and the returned document
//! can be read again.
#![no_main]

use lethe_format::{CdaConfig, Format, PayloadError};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|payload: &[u8]| {
    let config = CdaConfig {
        keep_message: true,
        ..CdaConfig::default()
    };
    let format = config.build();
    let Ok(event) = format.read(payload) else {
        return;
    };
    // A character of a one-byte code page may take three bytes.
    assert!(event.text.len() <= payload.len() * 3, "text came from nowhere");
    let message = &event.enclosed.as_ref().expect("the message is kept").0;
    let text = event.text.expose();
    let parts: Vec<&str> = message.parts().iter().map(|part| part.of(text)).collect();
    let identifiers: Vec<&str> = message.identifiers().iter().map(|_| "[ID]").collect();
    let closed = message
        .close(&parts, &identifiers)
        .expect("as many as there were");
    if let Err(diagnosis) = format.read(&closed) {
        // Anything outside of HL7's namespace is dropped.
        assert_eq!(
            diagnosis.problem,
            PayloadError::Missing,
            "what is given back cannot be read"
        );
    }
});
