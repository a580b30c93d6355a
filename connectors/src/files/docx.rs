//! Reads the text of a DOCX document: the parts of its archive that a reader sees (ECMA-376, parts 1 and 2).

use std::io;
use std::sync::Arc;

use super::{Archive, ArchiveLimits};
use crate::format::{MAX_NOTE_BYTES, PayloadError, wordprocessing_to_text};

/// The parts with text, by the beginning of their names, in the order in which they are read.
const PARTS: [&str; 6] = [
    "word/header",
    "word/document",
    "word/footnotes",
    "word/endnotes",
    "word/comments",
    "word/footer",
];

/// Returns the text of a DOCX document: headers, body, notes, comments and footers, with an empty line
/// between them. Properties such as the author are not read.
///
/// # Errors
/// [`PayloadError::Container`] if the archive holds no text of a document, [`PayloadError::Truncated`] if it
/// is damaged, [`PayloadError::TooLarge`], or why a part cannot be read.
pub fn docx_to_text(bytes: Arc<[u8]>) -> Result<String, PayloadError> {
    let damaged = |error: io::Error| match error.kind() {
        io::ErrorKind::FileTooLarge => PayloadError::TooLarge,
        io::ErrorKind::Unsupported => PayloadError::Encrypted,
        _ => PayloadError::Truncated,
    };
    let mut archive = Archive::of_bytes(bytes, &ArchiveLimits::default()).map_err(damaged)?;
    let mut parts = Vec::new();
    let mut left = MAX_NOTE_BYTES;
    while let Some(entry) = archive.next_file().map_err(damaged)? {
        let name = entry.name.clone();
        let place = PARTS.iter().position(|part| {
            let rest = name.strip_prefix(part).and_then(|rest| rest.strip_suffix(".xml"));
            // Not `word/commentsExtended.xml`, which has no text.
            rest.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
        });
        let Some(place) = place else { continue };
        let part = entry.read(left).map_err(damaged)?;
        left -= part.len();
        let xml = std::str::from_utf8(&part).map_err(|_| PayloadError::NotUtf8)?;
        let text = wordprocessing_to_text(xml.trim_start_matches('\u{feff}'))?;
        parts.push((place, name, text));
    }
    if !parts.iter().any(|(place, ..)| PARTS[*place] == "word/document") {
        return Err(PayloadError::Container);
    }
    parts.sort();
    let texts: Vec<String> = parts
        .into_iter()
        .map(|(.., text)| text)
        .filter(|text| !text.is_empty())
        .collect();
    Ok(texts.join("\n\n"))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Crc;

    use super::*;

    /// Returns a ZIP archive of stored files.
    fn zip(files: &[(&str, &str)]) -> Arc<[u8]> {
        let (mut out, mut directory) = (Vec::new(), Vec::new());
        for (name, content) in files {
            let mut sum = Crc::new();
            sum.update(content.as_bytes());
            let at = out.len() as u32;
            let mut fields = vec![0; 8];
            fields.extend(sum.sum().to_le_bytes());
            fields.extend((content.len() as u32).to_le_bytes());
            fields.extend((content.len() as u32).to_le_bytes());
            fields.extend((name.len() as u16).to_le_bytes());
            fields.extend([0, 0]);
            write!(out, "PK\u{3}\u{4}\u{14}\0").unwrap();
            out.extend(&fields);
            write!(out, "{name}{content}").unwrap();
            write!(directory, "PK\u{1}\u{2}\u{14}\0\u{14}\0").unwrap();
            directory.extend(&fields);
            directory.extend([0; 10]);
            directory.extend(at.to_le_bytes());
            directory.extend(name.bytes());
        }
        let (start, count) = (out.len() as u32, files.len() as u16);
        out.extend(&directory);
        out.extend(b"PK\x05\x06\0\0\0\0");
        out.extend(count.to_le_bytes());
        out.extend(count.to_le_bytes());
        out.extend((directory.len() as u32).to_le_bytes());
        out.extend(start.to_le_bytes());
        out.extend([0, 0]);
        out.into()
    }

    fn part(text: &str) -> String {
        format!("<w:x xmlns:w='w'><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:x>")
    }

    #[test]
    fn headers_body_notes_and_comments_are_read_and_properties_are_not() {
        let (header, body) = (part("Mercy Hospital"), part("Ada Roth came."));
        let (notes, comments, core) = (part("See chart."), part("Really?"), part("Author"));
        let archive = zip(&[
            ("docProps/core.xml", &core),
            ("word/document.xml", &body),
            ("word/comments.xml", &comments),
            ("word/commentsExtended.xml", &core),
            ("word/footnotes.xml", &notes),
            ("word/header1.xml", &header),
        ]);
        let text = docx_to_text(archive).unwrap();
        assert_eq!(text, "Mercy Hospital\n\nAda Roth came.\n\nSee chart.\n\nReally?");
    }

    #[test]
    fn another_archive_and_a_damaged_one_are_refused() {
        assert_eq!(
            docx_to_text(zip(&[("notes.txt", "Ada")])),
            Err(PayloadError::Container)
        );
        let whole = zip(&[("word/document.xml", &part("Ada Roth came."))]);
        assert_eq!(
            docx_to_text(whole[..whole.len() / 2].into()),
            Err(PayloadError::Truncated)
        );
    }
}
