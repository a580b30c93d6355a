//! Any bytes as HTML and as RTF: no panic, bounded output, and text that is unchanged when it is read as
//! lines of HTML.
#![no_main]

use lethe_format::{html_to_text, rtf_to_text};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|payload: &[u8]| {
    if let Ok(text) = rtf_to_text(payload) {
        assert!(text.len() <= payload.len() * 3, "text came from nowhere");
    }
    let Ok(html) = std::str::from_utf8(payload) else {
        return;
    };
    let text = html_to_text(html);
    assert!(text.len() <= html.len() * 2, "text came from nowhere");
    let escaped = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace(' ', "&nbsp;");
    assert!(
        html_to_text(&escaped.replace('\n', "<br>")) == text,
        "the text does not read back"
    );
});
