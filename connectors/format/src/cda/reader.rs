//! One pass over the document, without a tree: what is open is a list of names, and what is being read is one text.

use lethe_core::KnownKind;
use quick_xml::events::{BytesStart, Event};

use super::header::{Header, interned};
use crate::markup::{Lines, Unread, document_text, from_base64};
use crate::{Diagnosis, Problem};

/// Elements within each other. C-CDA nests some forty deep.
const MAX_DEPTH: usize = 200;
/// Between two parts of the text.
const BETWEEN: &str = "\n\n";

pub(super) struct Reader<'a> {
    xml: quick_xml::Reader<&'a [u8]>,
    path: Vec<&'static str>,
    header: Header,
    reading: Option<Reading>,
    max_note_bytes: usize,
}

/// An element whose text is read, from its start to its end.
struct Reading {
    /// How many elements are open while it is the innermost.
    depth: usize,
    what: What,
    lines: Lines,
    /// Text that is not to be touched.
    raw: String,
    /// How many elements are open within a name or an address.
    inner: usize,
    /// Its parts.
    parts: Vec<(&'static str, String)>,
}

enum What {
    /// A section's narrative.
    Narrative,
    Title,
    Name,
    Address,
    /// A body that is no XML: what it is in, and whether in base64.
    Document {
        media: String,
        base64: bool,
    },
}

impl<'a> Reader<'a> {
    pub(super) fn new(xml: &'a str, max_note_bytes: usize) -> Self {
        let mut xml = quick_xml::Reader::from_str(xml);
        xml.config_mut().expand_empty_elements = true;
        Self {
            xml,
            path: Vec::new(),
            header: Header::default(),
            reading: None,
            max_note_bytes,
        }
    }

    pub(super) fn read(mut self) -> Result<Header, Diagnosis> {
        let mut closed = false;
        loop {
            match self.xml.read_event() {
                Ok(Event::Start(start)) => {
                    if closed {
                        return Err(self.fail(None, Problem::NotXml));
                    }
                    self.start(&start)?;
                }
                Ok(Event::End(end)) => {
                    self.end(end.local_name().as_ref())?;
                    closed = self.path.is_empty();
                }
                Ok(Event::Text(text)) => match text.decode() {
                    Ok(text) => self.text(&text),
                    Err(_) => return Err(self.fail(None, Problem::NotUtf8)),
                },
                Ok(Event::CData(text)) => match text.decode() {
                    Ok(text) => self.text(&text),
                    Err(_) => return Err(self.fail(None, Problem::NotUtf8)),
                },
                Ok(Event::GeneralRef(reference)) => {
                    let c = match reference.resolve_char_ref() {
                        Ok(Some(c)) => Some(c),
                        Ok(None) => match &*reference {
                            b"lt" => Some('<'),
                            b"gt" => Some('>'),
                            b"amp" => Some('&'),
                            b"apos" => Some('\''),
                            b"quot" => Some('"'),
                            _ => None,
                        },
                        Err(_) => None,
                    };
                    let c = c.ok_or_else(|| self.fail(None, Problem::NotXml))?;
                    self.text(c.encode_utf8(&mut [0; 4]));
                }
                Ok(Event::DocType(_)) => return Err(self.fail(None, Problem::Unsupported)),
                Ok(Event::Eof) if closed => return Ok(self.header),
                Ok(Event::Eof) => return Err(self.fail(None, Problem::Truncated)),
                Ok(_) => {}
                Err(_) => return Err(self.fail(None, Problem::NotXml)),
            }
        }
    }

    fn fail(&self, field: Option<&'static str>, problem: Problem) -> Diagnosis {
        let at = self.xml.buffer_position().max(self.xml.error_position());
        Diagnosis {
            field,
            byte: usize::try_from(at).unwrap_or(usize::MAX),
            problem,
        }
    }

    fn start(&mut self, start: &BytesStart<'_>) -> Result<(), Diagnosis> {
        if self.path.len() >= MAX_DEPTH {
            return Err(self.fail(None, Problem::TooComplex));
        }
        let local = start.local_name();
        let name = interned(local.as_ref());
        if self.path.is_empty() && name != "ClinicalDocument" {
            return Err(self.fail(None, Problem::Unsupported));
        }
        let parent = self.path.last().copied().unwrap_or_default();
        self.path.push(name);
        if let Some(reading) = &mut self.reading {
            reading.start(local.as_ref(), name);
            return Ok(());
        }
        let get = |wanted: &str| {
            let mut all = start.attributes();
            let found = all
                .with_checks(false)
                .flatten()
                .find(|one| one.key.local_name().as_ref() == wanted.as_bytes());
            found.and_then(|one| one.unescape_value().ok().map(std::borrow::Cow::into_owned))
        };
        let what = match (name, parent) {
            ("text", "section") => Some(What::Narrative),
            ("text", "nonXMLBody") => Some(What::Document {
                media: get("mediaType").unwrap_or_else(|| "text/plain".to_owned()),
                base64: get("representation").as_deref() == Some("B64"),
            }),
            ("title", "section" | "ClinicalDocument") => Some(What::Title),
            ("name", _) if !self.path.contains(&"structuredBody") => Some(What::Name),
            ("addr", _) if !self.path.contains(&"structuredBody") => Some(What::Address),
            _ => None,
        };
        if matches!(name, "structuredBody" | "nonXMLBody") {
            self.header.has_body = true;
        }
        match what {
            Some(what) => {
                self.reading = Some(Reading {
                    depth: self.path.len(),
                    what,
                    lines: Lines::default(),
                    raw: String::new(),
                    inner: 0,
                    parts: Vec::new(),
                });
            }
            None => self.header.attributes(&self.path, get),
        }
        Ok(())
    }

    fn end(&mut self, local: &[u8]) -> Result<(), Diagnosis> {
        match self.reading.take() {
            Some(reading) if reading.depth == self.path.len() => self.done(reading)?,
            Some(mut reading) => {
                reading.end(local);
                self.reading = Some(reading);
            }
            None => {}
        }
        self.path.pop();
        Ok(())
    }

    fn text(&mut self, text: &str) {
        if let Some(reading) = &mut self.reading {
            reading.text(text);
        }
    }

    /// An element has been read to its end.
    fn done(&mut self, reading: Reading) -> Result<(), Diagnosis> {
        match reading.what {
            What::Narrative => self.part(&reading.lines.finish()),
            What::Title => {
                let title = reading.lines.finish();
                if self.path.len() == 2 {
                    self.header.title = Some(title.clone()).filter(|title| !title.is_empty());
                }
                self.part(&title)
            }
            What::Name => {
                let name = reading.name();
                self.header.name(&self.path, &name);
                Ok(())
            }
            What::Address => {
                let address = reading.address();
                self.header.know(KnownKind::Address, &address);
                Ok(())
            }
            What::Document { media, base64 } => {
                let text = if base64 {
                    let bytes = from_base64(&reading.raw, self.max_note_bytes);
                    bytes.and_then(|bytes| document_text(&media, &bytes))
                } else {
                    document_text("text/plain", reading.raw.as_bytes())
                };
                let told = |why| match why {
                    Unread::Data(problem) => self.fail(Some("nonXMLBody.text"), problem),
                    Unread::ContentType(problem) => self.fail(Some("nonXMLBody.text.mediaType"), problem),
                };
                let text = text.map_err(told)?;
                self.part(&text)
            }
        }
    }

    fn part(&mut self, text: &str) -> Result<(), Diagnosis> {
        if text.trim().is_empty() {
            return Ok(());
        }
        let whole = &mut self.header.text;
        if !whole.is_empty() {
            whole.push_str(BETWEEN);
        }
        whole.push_str(text);
        if whole.len() > self.max_note_bytes {
            return Err(self.fail(Some("text"), Problem::TooLarge));
        }
        Ok(())
    }
}

impl Reading {
    /// An element within it starts.
    fn start(&mut self, local: &[u8], name: &'static str) {
        match &self.what {
            What::Narrative => self.layout(local, true),
            What::Name | What::Address => {
                self.inner += 1;
                self.parts.push((name, String::new()));
            }
            _ => {}
        }
    }

    fn end(&mut self, local: &[u8]) {
        match &self.what {
            What::Narrative => self.layout(local, false),
            _ => self.inner = self.inner.saturating_sub(1),
        }
    }

    /// The elements of a narrative (CDA R2, section 4.3.5), and those of HTML that are found there.
    fn layout(&mut self, local: &[u8], starts: bool) {
        match local {
            b"paragraph" | b"list" | b"table" | b"p" | b"ul" | b"ol" => self.lines.block(true),
            b"item" | b"caption" | b"thead" | b"tbody" | b"tfoot" | b"tr" | b"li" | b"div" => {
                self.lines.block(false)
            }
            b"td" | b"th" if starts => self.lines.cell(),
            b"br" if starts => self.lines.line(),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        match &self.what {
            What::Narrative | What::Title => text.chars().for_each(|c| self.lines.flow(c)),
            What::Document { .. } => self.raw.push_str(text),
            What::Name | What::Address => match self.parts.last_mut() {
                Some((_, part)) if self.inner > 0 => part.push_str(text),
                _ => self.parts.push(("", text.to_owned())),
            },
        }
    }

    fn of<'r>(&'r self, name: &'r str) -> impl Iterator<Item = &'r str> {
        let of_name = self.parts.iter().filter(move |(part, _)| *part == name);
        of_name.flat_map(|(_, text)| text.split_whitespace())
    }

    /// A person's or an organization's name in its natural order, without titles.
    fn name(&self) -> String {
        let person: Vec<&str> = self.of("given").chain(self.of("family")).collect();
        let all: Vec<&str> = if person.is_empty() {
            self.of("").collect()
        } else {
            person.into_iter().chain(self.of("suffix")).collect()
        };
        all.join(" ")
    }

    /// A postal address on one line.
    fn address(&self) -> String {
        let named = |name: &'static str| self.parts.iter().filter(move |(part, _)| *part == name);
        let order = ["streetAddressLine", "city", "state", "postalCode"];
        let mut parts: Vec<&str> = order
            .iter()
            .flat_map(|name| named(name))
            .map(|(_, text)| text.trim())
            .collect();
        parts.retain(|part| !part.is_empty());
        if parts.is_empty() {
            parts = self.of("").collect();
            return parts.join(" ");
        }
        parts.join(", ")
    }
}
