//! Extracts text from the XML parts of a DOCX document (ECMA-376, part 1, section 17: WordprocessingML).
//!
//! Paragraphs and rows become line ends, and cells of a row are separated by two spaces. Deleted text of
//! tracked changes, field instructions and properties are not text. A shape's content exists twice, for new
//! and for old readers (`mc:AlternateContent`): the second copy is left out.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::Lines;
use crate::PayloadError;

/// Returns the text of a part, such as `word/document.xml`, `word/header1.xml` or `word/footnotes.xml`. Time
/// and memory are linear.
///
/// # Errors
/// [`PayloadError::NotXml`] if it is not well-formed, [`PayloadError::Unsupported`] if it has a document type
/// definition.
///
/// ```
/// use lethe_format::wordprocessing_to_text;
///
/// let part = "<w:document xmlns:w='w'><w:p><w:r><w:t>Seen by </w:t></w:r><w:r><w:t>Dr Roth</w:t></w:r></w:p>\
///             <w:p><w:r><w:t>Well.</w:t></w:r></w:p></w:document>";
/// assert_eq!(wordprocessing_to_text(part).unwrap(), "Seen by Dr Roth\nWell.");
/// ```
pub fn wordprocessing_to_text(xml: &str) -> Result<String, PayloadError> {
    let mut reader = Reader::from_str(xml);
    let mut part = Part {
        lines: Lines::with_capacity(xml.len() / 8),
        text: false,
        silent: 0,
        depth: 0,
    };
    loop {
        match reader.read_event().map_err(|_| PayloadError::NotXml)? {
            Event::Start(start) => part.open(&start, false),
            Event::Empty(start) => part.open(&start, true),
            Event::End(end) => part.close(end.local_name().as_ref()),
            Event::Text(text) => part.put(&text.decode().map_err(|_| PayloadError::NotUtf8)?),
            Event::CData(text) => part.put(&text.decode().map_err(|_| PayloadError::NotUtf8)?),
            Event::GeneralRef(reference) => {
                let c = match reference.resolve_char_ref() {
                    Ok(Some(c)) => Some(c),
                    _ => match &*reference {
                        b"lt" => Some('<'),
                        b"gt" => Some('>'),
                        b"amp" => Some('&'),
                        b"apos" => Some('\''),
                        b"quot" => Some('"'),
                        _ => None,
                    },
                };
                let c = c.ok_or(PayloadError::NotXml)?;
                part.put(c.encode_utf8(&mut [0; 4]));
            }
            Event::DocType(_) => return Err(PayloadError::Unsupported),
            Event::Eof if part.depth > 0 => return Err(PayloadError::Truncated),
            Event::Eof => return Ok(part.lines.finish()),
            _ => {}
        }
    }
}

struct Part {
    lines: Lines,
    /// Whether the reader is in an element of text.
    text: bool,
    /// The number of open elements within one whose content is not text.
    silent: usize,
    /// The number of open elements.
    depth: usize,
}

impl Part {
    fn open(&mut self, start: &BytesStart<'_>, empty: bool) {
        self.depth += usize::from(!empty);
        if self.silent > 0 {
            self.silent += usize::from(!empty);
            return;
        }
        match start.local_name().as_ref() {
            // Text of the document and of a formula.
            b"t" => self.text = !empty,
            b"p" | b"tr" => self.lines.block(false),
            b"tc" => self.lines.cell(),
            b"tab" | b"ptab" => self.lines.preformatted('\t'),
            b"br" | b"cr" => self.lines.line(),
            b"noBreakHyphen" => self.lines.preformatted('-'),
            b"del" | b"moveFrom" | b"Fallback" | b"instrText" | b"delText" if !empty => self.silent = 1,
            _ => {}
        }
    }

    fn close(&mut self, name: &[u8]) {
        self.depth = self.depth.saturating_sub(1);
        if self.silent > 0 {
            self.silent -= 1;
            return;
        }
        match name {
            b"t" => self.text = false,
            b"p" | b"tr" | b"tbl" => self.lines.block(false),
            _ => {}
        }
    }

    fn put(&mut self, text: &str) {
        if self.text && self.silent == 0 {
            text.chars().for_each(|c| self.lines.preformatted(c));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, text: &str) {
        let xml =
            format!("<?xml version=\"1.0\"?><w:document xmlns:w='w'><w:body>{body}</w:body></w:document>");
        assert_eq!(wordprocessing_to_text(&xml).as_deref(), Ok(text), "{body}");
    }

    fn paragraph(text: &str) -> String {
        format!("<w:p><w:r><w:t xml:space='preserve'>{text}</w:t></w:r></w:p>")
    }

    #[test]
    fn a_name_that_is_split_over_runs_is_whole() {
        check(
            "<w:p><w:r><w:t>Oka</w:t></w:r><w:proofErr/><w:r><w:rPr><w:b/></w:rPr><w:t>for</w:t></w:r></w:p>",
            "Okafor",
        );
    }

    #[test]
    fn rows_are_lines_and_their_cells_are_apart() {
        let row = |a: &str, b: &str| {
            format!(
                "<w:tr><w:tc>{}</w:tc><w:tc>{}</w:tc></w:tr>",
                paragraph(a),
                paragraph(b)
            )
        };
        check(
            &format!(
                "<w:tbl>{}{}</w:tbl>{}",
                row("Name", "Ada Roth"),
                row("Na", "140"),
                paragraph("Well.")
            ),
            "Name\nAda Roth\nNa\n140\nWell.",
        );
    }

    #[test]
    fn breaks_tabs_and_entities_are_read() {
        check(
            "<w:p><w:r><w:t>R&amp;D &#233;</w:t><w:tab/><w:t>x</w:t><w:br/><w:t>y</w:t></w:r></w:p>",
            "R&D é x\ny",
        );
    }

    #[test]
    fn deleted_text_instructions_and_second_copies_are_left_out() {
        check(
            "<w:p><w:del><w:r><w:delText>old</w:delText></w:r></w:del><w:ins><w:r><w:t>new</w:t></w:r></w:ins>\
             <w:r><w:instrText>PAGE</w:instrText></w:r></w:p>\
             <mc:AlternateContent><mc:Choice><w:p><w:r><w:t>box</w:t></w:r></w:p></mc:Choice>\
             <mc:Fallback><w:p><w:r><w:t>box</w:t></w:r></w:p></mc:Fallback></mc:AlternateContent>",
            "new\nbox",
        );
    }

    #[test]
    fn damaged_parts_are_refused() {
        let read = |xml| wordprocessing_to_text(xml).unwrap_err();
        assert_eq!(read("<w:p><w:t>Ada"), PayloadError::Truncated);
        assert_eq!(read("<w:p></w:q>"), PayloadError::NotXml);
        assert_eq!(
            read("<!DOCTYPE a [<!ENTITY b 'c'>]><a/>"),
            PayloadError::Unsupported
        );
        assert_eq!(read("<w:p><w:t>&b;</w:t></w:p>"), PayloadError::NotXml);
    }
}
