//! The layout of the 2006 i2b2 track: many records per file, with the annotations in the text itself.
//!
//! ```xml
//! <ROOT>
//!   <RECORD ID="1"><TEXT>Seen by Dr. <PHI TYPE="DOCTOR">...</PHI> on ...</TEXT></RECORD>
//! </ROOT>
//! ```
//!
//! The document's text is that of `TEXT` without the elements; line ends are normalised as XML requires.

use std::path::Path;

use lethe_core::Span;

use crate::error::{CorpusError, content};
use crate::xml::{Piece, Text, Xml};
use crate::{Document, Mark};

/// Reads a file.
pub(crate) fn read(path: &Path) -> Result<Vec<Document>, CorpusError> {
    let source = content(path)?;
    let mut xml = Xml::new(path, &source);
    if xml.child()?.is_none() {
        return Err(xml.error("no element"));
    }
    let mut documents = Vec::new();
    while let Some(element) = xml.child()? {
        if element.name != "RECORD" {
            xml.skip()?;
            continue;
        }
        let wrong = |what| CorpusError::layout(path, element.line, what);
        let id = element.get("ID").map(str::trim).filter(|id| !id.is_empty());
        let id = id.ok_or_else(|| wrong("a `RECORD` without `ID`"))?.to_owned();
        let mut document = None;
        while let Some(part) = xml.child()? {
            match part.name.as_str() {
                "TEXT" if document.is_none() => document = Some(record(&id, &mut xml)?),
                "TEXT" => return Err(CorpusError::layout(path, part.line, "a second `TEXT`")),
                _ => xml.skip()?,
            }
        }
        documents.push(document.ok_or_else(|| wrong("a `RECORD` without `TEXT`"))?);
    }
    Ok(documents)
}

fn record(id: &str, xml: &mut Xml<'_>) -> Result<Document, CorpusError> {
    let mut text = Text::default();
    let mut marks = Vec::new();
    let mut open: Option<(usize, String)> = None;
    loop {
        match xml.next()? {
            Piece::Literal(literal) => text.literal(literal),
            Piece::Character(c) => text.character(c),
            Piece::Open(element) if element.name == "PHI" && open.is_none() => {
                let label = element
                    .get("TYPE")
                    .map(str::trim)
                    .filter(|label| !label.is_empty());
                let label = label.ok_or_else(|| xml.error("a `PHI` without `TYPE`"))?;
                open = Some((text.len(), label.to_owned()));
            }
            Piece::Open(_) => {
                return Err(
                    xml.error("an element within `TEXT` that is not `PHI`, or a `PHI` within a `PHI`")
                );
            }
            Piece::Close | Piece::End => match open.take() {
                // An empty element has no span.
                Some((start, label)) if start < text.len() => {
                    let span =
                        Span::new(start, text.len()).map_err(|_| xml.error("a text of more than 4 GiB"))?;
                    marks.push(Mark::gold(span, label));
                }
                Some(_) => {}
                None => break,
            },
        }
    }
    let mut document = Document {
        id: id.to_owned(),
        patient: None,
        text: text.finish().0,
        marks,
    };
    document.sort();
    Ok(document)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(content: &str) -> Result<Vec<Document>, CorpusError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records.xml");
        std::fs::write(&path, content).unwrap();
        read(&path)
    }

    #[test]
    fn every_record_is_a_document_and_marks_count_the_text_without_elements() {
        let content = "\u{feff}<ROOT>\r\n<RECORD ID=\"7\">\r\n<TEXT>\r\nDr. <PHI TYPE=\"DOCTOR\">Smith &amp; 👩🏽</PHI> of \
                       <PHI TYPE=\"HOSPITAL\">St.\r\nMary</PHI>\r\n</TEXT>\r\n</RECORD>\r\n<RECORD ID=\"8\"><TEXT>x</TEXT></RECORD></ROOT>";
        let documents = read_text(content).unwrap();
        assert_eq!(documents.len(), 2);
        let first = &documents[0];
        assert_eq!(
            (first.id.as_str(), first.text.as_str()),
            ("7", "\nDr. Smith & 👩🏽 of St.\nMary\n")
        );
        let marks: Vec<_> = first
            .marks
            .iter()
            .map(|m| (m.span.of(&first.text), m.label.as_str()))
            .collect();
        assert_eq!(marks, [("Smith & 👩🏽", "DOCTOR"), ("St.\nMary", "HOSPITAL")]);
    }

    #[test]
    fn what_is_out_of_place_is_refused_at_its_line() {
        for (content, place) in [
            (
                "<R>\n<RECORD><TEXT>x</TEXT></RECORD></R>",
                "line 2: a `RECORD` without `ID`",
            ),
            (
                "<R>\n<RECORD ID='1'></RECORD></R>",
                "line 2: a `RECORD` without `TEXT`",
            ),
            (
                "<R><RECORD ID='1'><TEXT>\n\n<PHI>x</PHI></TEXT></RECORD></R>",
                "line 3: a `PHI` without `TYPE`",
            ),
            (
                "<R><RECORD ID='1'><TEXT>\n<B>x</B></TEXT></RECORD></R>",
                "line 2: an element within `TEXT`",
            ),
            (
                "<R><RECORD ID='1'><TEXT><PHI TYPE='A'>\n<PHI TYPE='B'>x</PHI></PHI></TEXT></RECORD></R>",
                "line 2: an element",
            ),
        ] {
            let message = read_text(content).unwrap_err().to_string();
            assert!(message.contains(place), "{message}");
        }
    }
}
