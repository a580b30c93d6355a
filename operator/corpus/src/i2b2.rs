//! The layout of the 2014 i2b2 track, which the 2016 N-GRID track and MEDDOCAN's XML share: one document per
//! file.
//!
//! ```xml
//! <root>
//!   <TEXT><![CDATA[...]]></TEXT>
//!   <TAGS><NAME id="P0" start="29" end="34" text="..." TYPE="PATIENT" comment=""/></TAGS>
//! </root>
//! ```
//!
//! The root may have any name. Offsets count the characters of `TEXT` as an XML parser returns it: CR LF is
//! one character (XML 1.0, 2.11), and so is a byte order mark within the text. The `text` attributes verify
//! the offsets; if they match only under another way of counting, the reader uses that one (see
//! [`crate::places`]).

use std::path::Path;

use crate::Document;
use crate::error::{CorpusError, content, named};
use crate::format::{file_name, into_folder};
use crate::places::{Claim, counted, settle};
use crate::xml::{Element, Piece, Text, Xml};

/// Reads a file. The document's id is the file's name; one called `NNN-MM` belongs to patient `NNN`, as in
/// the 2014 track.
pub(crate) fn read(path: &Path) -> Result<Document, CorpusError> {
    let (text, claims) = parts(path, &content(path)?)?;
    let (text, readings) = text.finish();
    let id = file_name(path)?;
    let mut document = Document {
        patient: patient(&id).map(str::to_owned),
        marks: settle(path, &text, &readings, &claims)?,
        id,
        text,
    };
    document.sort();
    Ok(document)
}

/// Returns the text and the annotations of a file.
pub(crate) fn parts(path: &Path, source: &str) -> Result<(Text, Vec<Claim>), CorpusError> {
    let mut xml = Xml::new(path, source);
    match xml.child()? {
        None => return Err(xml.error("no element")),
        // Philter writes the words of its `text` attributes as they are.
        Some(root) if root.name == "Philter" => xml.keep_bare_references(),
        Some(_) => {}
    }
    let (mut text, mut claims) = (None, None);
    while let Some(element) = xml.child()? {
        match element.name.as_str() {
            "TEXT" if text.is_none() => text = Some(whole_text(&mut xml)?),
            "TAGS" if claims.is_none() => claims = Some(tags(path, &mut xml)?),
            "TEXT" | "TAGS" => {
                return Err(CorpusError::layout(
                    path,
                    element.line,
                    "a second `TEXT` or `TAGS`",
                ));
            }
            _ => xml.skip()?,
        }
    }
    let text = text.ok_or_else(|| xml.error("no element `TEXT`"))?;
    let claims = claims.ok_or_else(|| xml.error("no element `TAGS`"))?;
    Ok((text, claims))
}

fn whole_text(xml: &mut Xml<'_>) -> Result<Text, CorpusError> {
    let mut text = Text::default();
    loop {
        match xml.next()? {
            Piece::Literal(literal) => text.literal(literal),
            Piece::Character(c) => text.character(c),
            Piece::Open(_) => return Err(xml.error("an element within `TEXT`")),
            Piece::Close | Piece::End => return Ok(text),
        }
    }
}

fn tags(path: &Path, xml: &mut Xml<'_>) -> Result<Vec<Claim>, CorpusError> {
    let mut claims = Vec::new();
    while let Some(tag) = xml.child()? {
        claims.push(claim(path, &tag, claims.len())?);
        if xml.child()?.is_some() {
            return Err(xml.error("an element within a tag"));
        }
    }
    Ok(claims)
}

fn claim(path: &Path, tag: &Element, index: usize) -> Result<Claim, CorpusError> {
    let number = |name: &str| {
        let value = tag.get(name).and_then(|value| value.trim().parse::<usize>().ok());
        value.ok_or_else(|| {
            CorpusError::layout(
                path,
                tag.line,
                "a tag's `start` or `end` is missing or not a number",
            )
        })
    };
    let label = tag.get("TYPE").map(str::trim).filter(|label| !label.is_empty());
    Ok(Claim {
        which: named("tag", tag.get("id"), index),
        line: tag.line,
        parts: vec![(number("start")?, number("end")?)],
        label: label.unwrap_or(&tag.name).to_owned(),
        text: tag.get("text").map(str::to_owned),
        score: None,
    })
}

/// Returns `NNN` of `NNN-MM`.
fn patient(id: &str) -> Option<&str> {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    id.split_once('-')
        .filter(|(patient, note)| digits(patient) && digits(note))
        .map(|(patient, _)| patient)
}

/// Writes each document to `folder/ID.xml`. `category` returns the element of a label, for instance `NAME`
/// for `PATIENT`. Scores and patients are not written, since the layout has no field for them.
///
/// # Errors
/// [`CorpusError::Io`]; [`CorpusError::Unwritable`] if an id is not a file name, a category not an element
/// name, or the text has a character that XML 1.0 does not allow.
pub fn write_i2b2(
    folder: &Path,
    documents: &[Document],
    category: impl Fn(&str) -> String,
) -> Result<(), CorpusError> {
    into_folder(folder, "i2b2", documents, |document| {
        let page = page(document, &category)?;
        Ok(vec![("xml", page)])
    })
}

fn page(document: &Document, category: &impl Fn(&str) -> String) -> Result<String, &'static str> {
    let known = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    if !document.text.chars().all(known) {
        return Err("its text has a character that XML 1.0 does not allow");
    }
    let mut page = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\" ?>\n<deIdi2b2>\n<TEXT>");
    // CDATA has no references, and a bare CR would be read back as LF.
    let inside = document
        .text
        .replace("]]>", "]]]]><![CDATA[>")
        .replace('\r', "]]>&#13;<![CDATA[");
    page.extend(["<![CDATA[", &inside, "]]></TEXT>\n<TAGS>\n"]);
    let counted = counted(document).ok_or("a span lies outside its text")?;
    for (i, (mark, (start, end))) in document.marks.iter().zip(counted).enumerate() {
        let name = category(&mark.label);
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') || !name.bytes().all(plain) {
            return Err("a category is not an element name");
        }
        let text = attribute(
            mark.span
                .get(&document.text)
                .ok_or("a span lies outside its text")?,
        );
        let label = attribute(&mark.label);
        page.push_str(&format!(
            "<{name} id=\"P{i}\" start=\"{start}\" end=\"{end}\" text=\"{text}\" TYPE=\"{label}\" comment=\"\" />\n"
        ));
    }
    page.push_str("</TAGS>\n</deIdi2b2>\n");
    Ok(page)
}

/// Quotes an attribute's value; white space that XML would normalise is written as references.
fn attribute(value: &str) -> String {
    let escaped = quick_xml::escape::escape(value);
    escaped
        .replace('\t', "&#9;")
        .replace('\n', "&#10;")
        .replace('\r', "&#13;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_as(name: &str, content: &str) -> Result<Document, CorpusError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        read(&path)
    }

    fn file(text: &str, tags: &str) -> String {
        format!(
            "<?xml version='1.0'?>\n<anyRoot>\n<TEXT><![CDATA[{text}]]></TEXT>\n<TAGS>\n{tags}\n</TAGS></anyRoot>"
        )
    }

    #[test]
    fn a_document_bears_its_files_name_and_its_patients_number() {
        let tag =
            "<NAME id=\"P0\" start=\"4\" end=\"11\" text=\"O&apos;Hara\" TYPE=\"DOCTOR\" comment=\"\" />";
        let document = read_as("204-03.xml", &file("Dr. O'Hara\n", tag));
        // "O'Hara" has six characters: the seventh is the line end.
        assert!(document.is_err());
        let tag = tag.replace("11", "10");
        let document = read_as("204-03.xml", &file("Dr. O'Hara\n", &tag)).unwrap();
        assert_eq!(
            (document.id.as_str(), document.patient.as_deref()),
            ("204-03", Some("204"))
        );
        let mark = &document.marks[0];
        assert_eq!(
            (mark.span.of(&document.text), mark.label.as_str()),
            ("O'Hara", "DOCTOR")
        );
        for name in ["0001_gs.xml", "S12-3a.xml", "-01.xml"] {
            assert_eq!(read_as(name, &file("x", "")).unwrap().patient, None);
        }
    }

    #[test]
    fn a_crlf_counts_once_or_twice_as_the_text_attributes_prove() {
        for start in [5, 6] {
            let tag = format!(
                "<NAME id=\"P0\" start=\"{start}\" end=\"{}\" text=\"Ruiz\" TYPE=\"X\"/>",
                start + 4
            );
            let document = read_as("a.xml", &file("\u{feff}one\r\nRuiz", &tag)).unwrap();
            assert_eq!(document.text, "\u{feff}one\nRuiz");
            assert_eq!(document.marks[0].span.of(&document.text), "Ruiz");
        }
    }

    #[test]
    fn a_tool_that_counts_utf_16_is_understood_where_the_text_attributes_prove_it() {
        for (start, taken) in [(4, true), (6, true), (5, false)] {
            let tag = format!(
                "<NAME id=\"P0\" start=\"{start}\" end=\"{}\" text=\"Ruiz\" TYPE=\"X\"/>",
                start + 4
            );
            let document = read_as("a.xml", &file("👩🏽é Ruiz", &tag));
            assert_eq!(document.is_ok(), taken);
        }
    }

    #[test]
    fn a_text_attribute_that_differs_is_refused_by_file_tag_and_line() {
        let tags = "<NAME id=\"P0\" start=\"0\" end=\"3\" text=\"Ana\" TYPE=\"X\"/>\n\
                    <NAME id=\"P1\" start=\"4\" end=\"8\" text=\"Secret\" TYPE=\"X\"/>";
        let message = read_as("7-01.xml", &file("Ana Ruiz", tags))
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("7-01.xml, line 6: tag `P1` (4..8 in code points)"),
            "{message}"
        );
        assert!(!message.contains("Secret") && !message.contains("Ruiz"));
    }

    #[test]
    fn a_tag_without_numbers_a_missing_part_or_a_second_text_is_refused() {
        for (content, what) in [
            (
                file("Ana", "<NAME id=\"P0\" start=\"x\" end=\"3\" TYPE=\"X\"/>"),
                "not a number",
            ),
            (
                file("Ana", "<NAME id=\"P0\" start=\"-1\" end=\"-1\" TYPE=\"X\"/>"),
                "not a number",
            ),
            (
                file("Ana", "<NAME id=\"P0\" start=\"0\" end=\"9\" TYPE=\"X\"/>"),
                "not a span",
            ),
            ("<a><TEXT>x</TEXT></a>".to_owned(), "no element `TAGS`"),
            ("<a><TAGS/></a>".to_owned(), "no element `TEXT`"),
            (
                "<a><TEXT>x</TEXT><TEXT>x</TEXT><TAGS/></a>".to_owned(),
                "a second",
            ),
            (String::new(), "no element"),
        ] {
            let message = read_as("a.xml", &content).unwrap_err().to_string();
            assert!(message.contains(what), "{message}");
        }
    }

    #[test]
    fn a_tag_without_type_bears_its_elements_name_and_other_elements_are_passed_over() {
        let content =
            "<a><META><B>x</B></META><TEXT>Ana &amp; Co</TEXT><TAGS><PHI start='0' end='8'/></TAGS></a>";
        let document = read_as("a.xml", content).unwrap();
        assert_eq!(document.text, "Ana & Co");
        assert_eq!(document.marks[0].label, "PHI");
    }

    #[test]
    fn a_character_that_xml_has_not_cannot_be_written() {
        let folder = tempfile::tempdir().unwrap();
        let document = Document {
            id: "a".to_owned(),
            patient: None,
            text: "\0".to_owned(),
            marks: Vec::new(),
        };
        let message = write_i2b2(folder.path(), &[document], str::to_owned)
            .unwrap_err()
            .to_string();
        assert_eq!(
            message,
            "document 1 (counted from 1) cannot be written as i2b2: its text has a character that XML 1.0 does not allow"
        );
    }
}
