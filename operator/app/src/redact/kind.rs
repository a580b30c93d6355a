//! The kinds of files that `lethe redact` reads, and how it recognises them.

use clap::ValueEnum;
use lethe_connectors::files::Packing;

/// What a file contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum FileKind {
    /// One note of plain text or Markdown
    Text,
    /// HTML or XHTML, of which the text is written
    Html,
    /// Rich Text Format, of which the text is written
    Rtf,
    /// PDF with a text layer, of which the text is written
    Pdf,
    /// A Word document, of which the text is written
    Docx,
    /// An e-mail, of which headers, text and readable attachments are written as text
    Eml,
    /// Documents, one JSON object per line with the note under `text`
    Jsonl,
    /// A table of comma-separated values with a header line
    Csv,
    /// A table of tab-separated values with a header line
    Tsv,
    /// A Parquet table
    Parquet,
    /// HL7 v2: one message, a batch, an MLLP dump, or consecutive messages
    Hl7v2,
    /// FHIR in JSON: one resource or Bundle, or one per line
    Fhir,
    /// One C-CDA document
    Ccda,
}

/// Extensions by kind; the first bytes decide between the kinds of `json` and `xml`.
const EXTENSIONS: [(FileKind, &[&str]); 13] = [
    (FileKind::Text, &["txt", "text", "md", "markdown"]),
    (FileKind::Html, &["html", "htm", "xhtml"]),
    (FileKind::Rtf, &["rtf"]),
    (FileKind::Pdf, &["pdf"]),
    (FileKind::Docx, &["docx", "docm"]),
    (FileKind::Eml, &["eml"]),
    (FileKind::Jsonl, &["jsonl", "ndjson"]),
    (FileKind::Csv, &["csv"]),
    (FileKind::Tsv, &["tsv"]),
    (FileKind::Parquet, &["parquet", "parq", "pq"]),
    (FileKind::Hl7v2, &["hl7", "hl7v2"]),
    (FileKind::Fhir, &["fhir"]),
    (FileKind::Ccda, &["ccda", "cda"]),
];

impl FileKind {
    /// Returns the kind of a file from its name, without a compression suffix, and its first bytes.
    ///
    /// The bytes count more than the name where they are certain, since a message in a file that is named
    /// `.txt` would otherwise leave with its structured identifiers.
    ///
    /// # Errors
    /// What the file is instead, and what to do.
    pub(crate) fn detect(name: &str, head: &[u8]) -> Result<Self, &'static str> {
        if let Some(kind) = by_content(head) {
            return Ok(kind);
        }
        let file = name.rsplit('/').next().unwrap_or_default();
        let extension = file
            .rsplit_once('.')
            .map(|(_, extension)| extension.to_ascii_lowercase());
        let Some(extension) = extension.as_deref() else {
            return plain(head);
        };
        match extension {
            "json" => return json(head),
            "xml" => return Err("is XML but not C-CDA; name its format with --format"),
            "docx" | "docm" if Packing::of(head) != Packing::Zip => {
                return Err("is not a Word document: it is no ZIP archive");
            }
            "pdf" | "parquet" | "parq" | "pq" | "rtf" => {
                return Err("does not begin as files with its extension do; it is damaged or misnamed");
            }
            "doc" | "xls" | "xlsx" | "ppt" | "pptx" | "odt" | "msg" | "dcm" => {
                return Err("is of a format that Lethe does not read; convert it to PDF or text");
            }
            _ => {}
        }
        let by_extension = EXTENSIONS.iter().find(|(_, names)| names.contains(&extension));
        match by_extension {
            Some((Self::Text, _)) | None => plain(head),
            Some((kind, _)) => Ok(*kind),
        }
    }

    /// Returns whether files of this kind are messages, which are written back as messages.
    pub(crate) const fn is_messages(self) -> bool {
        matches!(self, Self::Hl7v2 | Self::Fhir | Self::Ccda)
    }

    /// Returns whether the output is plain text although the input is not.
    pub(crate) const fn becomes_text(self) -> bool {
        matches!(self, Self::Html | Self::Rtf | Self::Pdf | Self::Docx | Self::Eml)
    }

    /// Returns the kind's name, as `--format` takes it.
    pub(crate) fn name(self) -> &'static str {
        EXTENSIONS
            .iter()
            .find(|(kind, _)| *kind == self)
            .map_or("text", |(kind, names)| match kind {
                Self::Text => "text",
                Self::Hl7v2 => "hl7v2",
                _ => names.first().copied().unwrap_or_default(),
            })
    }
}

fn by_content(head: &[u8]) -> Option<FileKind> {
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let text = text.trim_ascii_start();
    let begins = |with: &[u8]| text.starts_with(with);
    // HL7 v2 (section 2.5.4) and its batches, also within MLLP.
    let message = text.strip_prefix(b"\x0b").unwrap_or(text);
    if ["MSH", "FHS", "BHS"]
        .iter()
        .any(|segment| message.starts_with(segment.as_bytes()) && message.get(3) == Some(&b'|'))
    {
        return Some(FileKind::Hl7v2);
    }
    if begins(b"%PDF-") {
        return Some(FileKind::Pdf);
    }
    if begins(b"{\\rtf") {
        return Some(FileKind::Rtf);
    }
    if begins(b"PAR1") {
        return Some(FileKind::Parquet);
    }
    // The document element may follow a declaration, style sheets and comments.
    if begins(b"<") && contains(text, b"<ClinicalDocument")
        || begins(b"<") && contains(text, b":ClinicalDocument")
    {
        return Some(FileKind::Ccda);
    }
    None
}

/// Returns the kind of a file with the extension `json`.
fn json(head: &[u8]) -> Result<FileKind, &'static str> {
    let text = head
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(head)
        .trim_ascii_start();
    if contains(text, b"\"resourceType\"") {
        return Ok(FileKind::Fhir);
    }
    if text.starts_with(b"{") && contains(text, b"\"text\"") {
        return Ok(FileKind::Jsonl);
    }
    Err("is JSON, but neither FHIR nor lines of documents with a `text`; name its format with --format")
}

/// Returns text for a file that may be text.
fn plain(head: &[u8]) -> Result<FileKind, &'static str> {
    if Packing::of(head) != Packing::None {
        return Err("is packed within something that is packed; unpack it first");
    }
    if head.contains(&0) {
        return Err("is not text, and of a format that Lethe does not read");
    }
    Ok(FileKind::Text)
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_known_by_the_extension() {
        for (name, kind) in [
            ("a/note.txt", FileKind::Text),
            ("note", FileKind::Text),
            ("note.2024", FileKind::Text),
            ("README.MD", FileKind::Text),
            ("x.HTM", FileKind::Html),
            ("x.eml", FileKind::Eml),
            ("x.ndjson", FileKind::Jsonl),
            ("x.csv", FileKind::Csv),
            ("x.tsv", FileKind::Tsv),
        ] {
            assert_eq!(FileKind::detect(name, b"Seen today."), Ok(kind), "{name}");
        }
    }

    #[test]
    fn certain_content_counts_more_than_the_extension() {
        for (head, kind) in [
            (&b"MSH|^~\\&|A"[..], FileKind::Hl7v2),
            (b"\x0bMSH|^~\\&|A", FileKind::Hl7v2),
            (b"%PDF-1.7", FileKind::Pdf),
            (b"{\\rtf1 x}", FileKind::Rtf),
            (b"PAR1", FileKind::Parquet),
            (b"<?xml version='1.0'?>\n<ClinicalDocument>", FileKind::Ccda),
        ] {
            assert_eq!(FileKind::detect("note.txt", head), Ok(kind));
        }
        assert_eq!(
            FileKind::detect("note.txt", b"MSH is a segment"),
            Ok(FileKind::Text)
        );
    }

    #[test]
    fn json_is_fhir_or_lines_of_documents() {
        let fhir = br#"{"resourceType": "Bundle"}"#;
        assert_eq!(FileKind::detect("x.json", fhir), Ok(FileKind::Fhir));
        assert_eq!(
            FileKind::detect("x.json", br#"{"text": "Seen."}"#),
            Ok(FileKind::Jsonl)
        );
        assert!(FileKind::detect("x.json", b"[1, 2]").is_err());
    }

    #[test]
    fn what_is_not_read_is_refused() {
        for (name, head) in [
            ("scan.dcm", &b"\0\0DICM"[..]),
            ("x.bin", b"a\0b"),
            ("x.docx", b"Seen."),
            ("x.pdf", b"Seen."),
            ("x.xml", b"<note/>"),
            ("x.txt", b"PK\x03\x04"),
        ] {
            assert!(FileKind::detect(name, head).is_err(), "{name}");
        }
    }
}
