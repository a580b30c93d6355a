//! Any bytes as an e-mail, as the XML of a DOCX document and as its archive: text or an error, and no text that
//! the file does not have.
#![no_main]

use std::sync::Arc;

use lethe_connectors::files::docx_to_text;
use lethe_format::{DocumentFile, wordprocessing_to_text};
use lethe_fuzz::{archive, store};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    content: &'a [u8],
    /// Changed bytes of the archive, by their positions from the end.
    damage: Vec<(u16, u8)>,
}

fuzz_target!(|input: Input<'_>| {
    // A byte decodes to three at most, and each attachment that is left out has a line. A PDF is compressed.
    let is_plain = !input.content.windows(4).any(|part| part == b"%PDF");
    if let Ok(text) = DocumentFile::Email.text(input.content)
        && is_plain
    {
        assert!(
            text.len() <= input.content.len() * 8 + 1024,
            "text came from nowhere"
        );
    }
    let mut docx = archive::zip_named(&[
        ("[Content_Types].xml", b"<Types/>"),
        ("word/document.xml", input.content),
    ]);
    if !input.damage.is_empty() {
        store::damage(&mut docx, &input.damage);
        drop(docx_to_text(Arc::from(docx)));
        return;
    }
    // A byte order mark is removed from a part of an archive.
    let text = match std::str::from_utf8(input.content) {
        Ok(xml) => wordprocessing_to_text(xml.trim_start_matches('\u{feff}')).ok(),
        Err(_) => None,
    };
    assert!(
        docx_to_text(Arc::from(docx)).ok() == text,
        "the archive changes the text"
    );
});
