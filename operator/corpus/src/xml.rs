//! The common part of the XML layouts: elements, their attributes and their text, each with its line.
//!
//! A thin layer over quick-xml's events. It drops the parser's messages, since those may quote the file, and
//! counts the text's characters in two ways: as XML does, and as bytes (see [`crate::places`]).

use std::path::Path;

use quick_xml::Reader;
use quick_xml::escape::unescape;
use quick_xml::events::{BytesStart, Event};

use crate::error::CorpusError;
use crate::places::Places;

/// The start of an element.
pub(crate) struct Element {
    /// Its name.
    pub(crate) name: String,
    /// Its line, from 1.
    pub(crate) line: usize,
    attributes: Vec<(String, String)>,
}

impl Element {
    /// Returns an attribute's value with references resolved.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(key, _)| key == name)?;
        Some(&found.1)
    }
}

/// A piece of the file.
pub(crate) enum Piece<'a> {
    /// An element begins.
    Open(Element),
    /// The innermost open element ends.
    Close,
    /// Characters as in the file.
    Literal(&'a str),
    /// A character that was written as a reference.
    Character(char),
    /// The file ends.
    End,
}

/// Reads a file piece by piece.
pub(crate) struct Xml<'a> {
    path: &'a Path,
    source: &'a str,
    reader: Reader<&'a [u8]>,
    depth: usize,
    /// A byte, and its line.
    counted: (usize, usize),
    /// Whether an attribute with a bare `&` keeps its characters.
    bare: bool,
}

impl<'a> Xml<'a> {
    /// Reads `source`, the content of `path`. A byte order mark at the start belongs to the encoding, not to
    /// the text.
    pub(crate) fn new(path: &'a Path, source: &'a str) -> Self {
        let source = source.strip_prefix('\u{feff}').unwrap_or(source);
        let mut reader = Reader::from_str(source);
        reader.config_mut().expand_empty_elements = true;
        Self {
            path,
            source,
            reader,
            depth: 0,
            counted: (0, 1),
            bare: false,
        }
    }

    /// Accepts attributes with a bare `&`, which some tools write, with their characters as they are.
    pub(crate) const fn keep_bare_references(&mut self) {
        self.bare = true;
    }

    /// Returns the current line.
    pub(crate) fn line(&mut self) -> usize {
        let at = usize::try_from(self.reader.buffer_position()).unwrap_or(usize::MAX);
        self.line_of(at)
    }

    fn line_of(&mut self, byte: usize) -> usize {
        let (from, line) = self.counted;
        let bytes = self.source.as_bytes();
        let to = byte.clamp(from, bytes.len());
        let breaks = bytes[from..to].iter().filter(|&&byte| byte == b'\n').count();
        self.counted = (to, line + breaks);
        line + breaks
    }

    /// Returns an error at the current line.
    pub(crate) fn error(&mut self, what: &'static str) -> CorpusError {
        let line = self.line();
        CorpusError::layout(self.path, line, what)
    }

    /// Returns the next piece that is neither a comment nor an instruction.
    ///
    /// # Errors
    /// [`CorpusError::Place`] if the file is not well formed or not UTF-8.
    pub(crate) fn next(&mut self) -> Result<Piece<'a>, CorpusError> {
        loop {
            let line = self.line();
            let wrong = |what| CorpusError::layout(self.path, line, what);
            let event = match self.reader.read_event() {
                Ok(event) => event,
                Err(error) => {
                    let what = reason(&error);
                    let at = usize::try_from(self.reader.error_position()).unwrap_or(usize::MAX);
                    let line = self.line_of(at);
                    return Err(CorpusError::layout(self.path, line, what));
                }
            };
            match event {
                Event::Start(start) | Event::Empty(start) => {
                    self.depth += 1;
                    return element(&start, line, self.bare).map(Piece::Open).map_err(wrong);
                }
                Event::End(_) => {
                    self.depth = self.depth.saturating_sub(1);
                    return Ok(Piece::Close);
                }
                // Both are slices of `source`, so they are UTF-8 and outlive the event.
                Event::Text(text) => return literal(text.into_inner()).map(Piece::Literal).map_err(wrong),
                Event::CData(text) => return literal(text.into_inner()).map(Piece::Literal).map_err(wrong),
                Event::GeneralRef(reference) => {
                    let name = reference.decode().unwrap_or_default();
                    let resolved = unescape(&format!("&{name};"))
                        .ok()
                        .and_then(|text| text.chars().next());
                    return resolved.map(Piece::Character).ok_or_else(|| wrong(ENTITY));
                }
                Event::Decl(declaration) => {
                    let utf8 = declaration.encoding().is_none_or(|name| {
                        name.is_ok_and(|name| {
                            name.eq_ignore_ascii_case(b"utf-8") || name.eq_ignore_ascii_case(b"us-ascii")
                        })
                    });
                    if !utf8 && !self.source.is_ascii() {
                        return Err(wrong("the declared encoding is not UTF-8; convert the file"));
                    }
                }
                Event::Comment(_) | Event::PI(_) | Event::DocType(_) => {}
                Event::Eof if self.depth > 0 => return Err(wrong("the file ends within an element")),
                Event::Eof => return Ok(Piece::End),
            }
        }
    }

    /// Returns the next element, or `None` at the end of the innermost open element or of the file. Blank
    /// text between elements is skipped.
    ///
    /// # Errors
    /// As for [`Xml::next`]; also text that is not blank.
    pub(crate) fn child(&mut self) -> Result<Option<Element>, CorpusError> {
        loop {
            match self.next()? {
                Piece::Open(element) => return Ok(Some(element)),
                Piece::Close | Piece::End => return Ok(None),
                Piece::Literal(text) if text.trim().is_empty() => {}
                Piece::Literal(_) | Piece::Character(_) => {
                    return Err(self.error("text where only elements are allowed"));
                }
            }
        }
    }

    /// Skips the rest of the innermost open element.
    ///
    /// # Errors
    /// As for [`Xml::next`].
    pub(crate) fn skip(&mut self) -> Result<(), CorpusError> {
        let depth = self.depth;
        while self.depth >= depth {
            self.next()?;
        }
        Ok(())
    }
}

const ENTITY: &str = "a reference to an entity that XML does not define; write `&` as `&amp;`";

/// Returns the parser's finding without quoting the file.
fn reason(error: &quick_xml::Error) -> &'static str {
    use quick_xml::Error;
    match error {
        Error::Escape(_) => ENTITY,
        Error::IllFormed(_) => "not well-formed XML: mismatched end tag, or a bare `&`",
        Error::Syntax(_) => "not well-formed XML: a stray `<`, or something left open",
        _ => "not well-formed XML",
    }
}

fn literal(bytes: std::borrow::Cow<'_, [u8]>) -> Result<&str, &'static str> {
    match bytes {
        std::borrow::Cow::Borrowed(bytes) => std::str::from_utf8(bytes).map_err(|_| "not UTF-8"),
        std::borrow::Cow::Owned(_) => Err("not UTF-8"),
    }
}

fn element(start: &BytesStart<'_>, line: usize, bare: bool) -> Result<Element, &'static str> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).map_err(|_| "not UTF-8");
    let mut attributes = Vec::new();
    for attribute in start.attributes() {
        let attribute =
            attribute.map_err(|_| "not well-formed XML: an attribute without quotes, or a duplicate one")?;
        let raw = text(&attribute.value)?;
        let value = match unescape(&raw) {
            Ok(value) => value.into_owned(),
            Err(_) if bare => raw.clone(),
            Err(_) => return Err(ENTITY),
        };
        attributes.push((text(attribute.key.as_ref())?, value));
    }
    Ok(Element {
        name: text(start.name().as_ref())?,
        line,
        attributes,
    })
}

/// Text assembled from pieces as XML specifies, with line ends as LF (XML 1.0, 2.11).
#[derive(Default)]
pub(crate) struct Text {
    text: String,
    /// For each code point of the file, its byte in `text`.
    raw: Vec<usize>,
}

impl Text {
    /// Appends characters of the file.
    pub(crate) fn literal(&mut self, literal: &str) {
        let mut characters = literal.chars().peekable();
        while let Some(c) = characters.next() {
            self.character(if c == '\r' { '\n' } else { c });
            if c == '\r' && characters.next_if_eq(&'\n').is_some() {
                self.raw.push(self.text.len() - 1);
            }
        }
    }

    /// Appends one character unchanged: a CR written as a reference stays a CR.
    pub(crate) fn character(&mut self, c: char) {
        self.raw.push(self.text.len());
        self.text.push(c);
    }

    /// Returns the number of bytes so far.
    pub(crate) const fn len(&self) -> usize {
        self.text.len()
    }

    /// Returns the text, and the possible ways to count offsets: its code points, those of the file, or
    /// UTF-16 units.
    pub(crate) fn finish(mut self) -> (String, Vec<Places>) {
        self.raw.push(self.text.len());
        let mut readings = vec![Places::of(&self.text)];
        let others = [Places::from_starts(self.raw), Places::utf16(&self.text)];
        readings.extend(
            others
                .into_iter()
                .filter(|places| *places != readings[0])
                .collect::<Vec<_>>(),
        );
        (self.text, readings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_through(source: &str) -> Result<String, CorpusError> {
        let path = Path::new("a.xml");
        let mut xml = Xml::new(path, source);
        let mut text = Text::default();
        loop {
            match xml.next()? {
                Piece::Open(_) | Piece::Close => {}
                Piece::Literal(literal) => text.literal(literal),
                Piece::Character(c) => text.character(c),
                Piece::End => return Ok(text.finish().0),
            }
        }
    }

    #[test]
    fn line_ends_become_lf_unless_written_as_references() {
        let text = read_through("<a>x\r\ny\rz&#13;&#10;<![CDATA[\r\n&amp;]]>&amp;<!-- c --></a>").unwrap();
        assert_eq!(text, "x\ny\nz\r\n\n&amp;&");
    }

    #[test]
    fn what_is_not_well_formed_is_refused_at_its_line_without_a_word_of_it() {
        for (source, line) in [
            ("<a>\n<b>Secret</a>", 2),
            ("<a>\n\nSecret", 3),
            ("<a>\nSecret & Sons</a>", 2),
            ("<a>\n\n&Secret;</a>", 3),
            ("<a>\n<b Secret=Secret/></a>", 2),
            ("<?xml version='1.0' encoding='latin1'?>\n<a>Señor Secret</a>", 1),
        ] {
            let message = read_through(source).unwrap_err().to_string();
            assert!(
                message.starts_with(&format!("a.xml, line {line}: ")),
                "{source:?}: {message}"
            );
            assert!(!message.contains("Secret"), "{message}");
        }
    }
}
