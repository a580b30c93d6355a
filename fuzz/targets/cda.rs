//! Any bytes as a CDA document: no panic, and never more text than there was document.
#![no_main]

use lethe_format::{CdaConfig, Format};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|payload: &[u8]| {
    let format = CdaConfig::default()
        .build()
        .expect("the default settings are valid");
    if let Ok(event) = format.read(payload) {
        // A character of a one-byte code page may take three bytes.
        assert!(event.text.len() <= payload.len() * 3, "text came from nowhere");
    }
});
