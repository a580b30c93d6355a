//! The document without its content: the markup that the table accepts, with holes for narrative and
//! identifiers.

use lethe_core::{Change, Envelope, EnvelopeError, Identifier, Span};

/// The content of a hole.
#[derive(Clone, Debug)]
pub(super) enum Hole {
    /// A part of the narrative, and whether its spaces are significant.
    Part(usize, bool),
    /// An identifier as text.
    Text(usize),
    /// An element with an identifier as text.
    Element(&'static str, usize),
    /// The rest of a name's element after `<name` and its attributes.
    Name(usize, Words),
    /// The attributes of an instance identifier.
    Id(usize, Root),
    /// The value of a point in time, with the time of day after the date.
    Date(usize, Box<str>),
    /// The value of a telecommunication address, with its scheme.
    Url(usize, &'static str),
}

/// Number of words in each part of a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Words {
    pub(super) given: Vec<usize>,
    pub(super) family: usize,
    pub(super) suffix: usize,
}

/// The root of an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Root {
    /// A published root.
    Published(&'static str),
    /// The number that replaces the sender's root.
    Number(usize),
    /// The id had no root.
    Absent,
    /// The root was the whole id.
    Alone,
}

/// HL7's object identifier for examples, below which no ids are assigned.
const EXAMPLES: &str = "2.16.840.1.113883.19";
const MASKED: &str = " nullFlavor=\"MSK\"";

/// A document without its content.
#[derive(Debug)]
pub(super) struct Skeleton {
    pub(super) out: String,
    /// The holes and their positions in `out`, in order.
    pub(super) holes: Vec<(usize, Hole)>,
    pub(super) parts: Vec<Span>,
    pub(super) identifiers: Vec<Identifier>,
    pub(super) changes: Vec<Change>,
}

impl Envelope for Skeleton {
    fn parts(&self) -> &[Span] {
        &self.parts
    }

    fn identifiers(&self) -> &[Identifier] {
        &self.identifiers
    }

    fn changes(&self) -> &[Change] {
        &self.changes
    }

    fn close(&self, parts: &[&str], identifiers: &[&str]) -> Result<Vec<u8>, EnvelopeError> {
        if parts.len() != self.parts.len() || identifiers.len() != self.identifiers.len() {
            return Err(EnvelopeError);
        }
        let whole = self.fill(parts, identifiers).ok_or(EnvelopeError)?;
        Ok(whole.into_bytes())
    }
}

impl Skeleton {
    /// Returns whether the whole document is dropped, because its root is not in HL7's namespace.
    pub(super) fn is_empty(&self) -> bool {
        !self.out.ends_with("</ClinicalDocument>") && !self.out.ends_with("/>")
    }

    fn fill(&self, parts: &[&str], identifiers: &[&str]) -> Option<String> {
        let of_parts: usize = parts.iter().map(|part| part.len()).sum();
        let mut out = String::with_capacity(self.out.len() + of_parts);
        let mut from = 0;
        for (at, hole) in &self.holes {
            out.push_str(self.out.get(from..*at)?);
            from = *at;
            match hole {
                Hole::Part(part, preformatted) => content(parts.get(*part)?, *preformatted, &mut out),
                Hole::Text(at) => content(&line(identifiers.get(*at)?), true, &mut out),
                Hole::Element(name, at) => element(name, &line(identifiers.get(*at)?), &mut out),
                Hole::Name(at, words) => words.write(&line(identifiers.get(*at)?), &mut out),
                Hole::Id(at, root) => root.write(&line(identifiers.get(*at)?), &mut out),
                Hole::Date(at, time) => {
                    let date = crate::hl7v2::time::typed(identifiers.get(*at)?, time);
                    attribute("value", &date, &mut out);
                }
                Hole::Url(at, scheme) => {
                    let rest = line(identifiers.get(*at)?);
                    let url = match rest.is_empty() {
                        true => String::new(),
                        false => format!("{scheme}:{}", encoded(&rest)),
                    };
                    attribute("value", &url, &mut out);
                }
            }
        }
        out.push_str(self.out.get(from..)?);
        Some(out)
    }
}

impl Words {
    /// Writes the rest of a name's element. A name with the same number of words is split into the same
    /// parts; any other is a family name, since the roles of its words are unknown.
    fn write(&self, name: &str, out: &mut String) {
        if name.is_empty() {
            out.push_str(MASKED);
            out.push_str("/>");
            return;
        }
        out.push('>');
        let given: usize = self.given.iter().sum();
        let mut words = name.split(' ');
        if given + self.family == 0 {
            content(name, true, out);
        } else if words.clone().count() == given + self.family + self.suffix {
            let mut take = |count| words.by_ref().take(count).collect::<Vec<_>>().join(" ");
            let given: Vec<String> = self.given.iter().map(|&count| take(count)).collect();
            let (family, suffix) = (take(self.family), take(self.suffix));
            let parts = given.iter().map(|part| ("given", part));
            for (tag, part) in parts.chain([("family", &family), ("suffix", &suffix)]) {
                if !part.is_empty() {
                    element(tag, part, out);
                }
            }
        } else if self.family == 0 {
            element("given", name, out);
        } else {
            // A name in the US Realm has both (C-CDA R2.1, section 1.1.2).
            if given > 0 {
                element("given", "", out);
            }
            element("family", name, out);
        }
        out.push_str("</name>");
    }
}

impl Root {
    fn write(self, id: &str, out: &mut String) {
        if id.is_empty() {
            out.push_str(MASKED);
            return;
        }
        match self {
            Self::Published(root) => attribute("root", root, out),
            Self::Number(number) => attribute("root", &format!("{EXAMPLES}.{number}"), out),
            Self::Absent => {}
            Self::Alone if is_uuid(id) => return attribute("root", id, out),
            Self::Alone => attribute("root", &format!("{EXAMPLES}.0"), out),
        }
        attribute("extension", id, out);
    }
}

fn is_uuid(id: &str) -> bool {
    id.len() == 36
        && id.bytes().enumerate().all(|(i, byte)| match i {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Writes an attribute, or the mask without a value.
fn attribute(name: &str, value: &str, out: &mut String) {
    if value.is_empty() {
        out.push_str(MASKED);
        return;
    }
    out.push(' ');
    out.push_str(name);
    out.push_str("=\"");
    escape(value, out);
    out.push('"');
}

fn element(name: &str, text: &str, out: &mut String) {
    out.push('<');
    out.push_str(name);
    if text.is_empty() {
        out.push_str(MASKED);
        out.push_str("/>");
        return;
    }
    out.push('>');
    content(text, true, out);
    out.push_str("</");
    out.push_str(name);
    out.push('>');
}

/// Returns whether it is not a character of XML 1.0 (section 2.2).
const fn is_none(c: char) -> bool {
    matches!(c, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}')
}

/// Writes an attribute's value.
pub(super) fn escape(value: &str, out: &mut String) {
    for c in value.chars().filter(|&c| !is_none(c)) {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\r' => out.push_str("&#13;"),
            '\t' => out.push_str("&#9;"),
            c => out.push(c),
        }
    }
}

/// Writes text; where spaces collapse, the second of two becomes a non-breaking one.
fn content(text: &str, preformatted: bool, out: &mut String) {
    let mut after_space = false;
    for c in text.chars().filter(|&c| !is_none(c)) {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\r' => out.push_str("&#13;"),
            ' ' if after_space && !preformatted => out.push_str("&#160;"),
            c => out.push(c),
        }
        after_space = c == ' ';
    }
}

/// Percent-encodes a text as a part of a URL (RFC 3986, section 2.1).
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => out.push(char::from(byte)),
            b'-' | b'.' | b'_' | b'~' | b'+' | b'(' | b')' | b'@' | b'/' | b'*' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// Joins an identifier into one line.
fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(words: &Words, name: &str) -> String {
        let mut out = "<name".to_owned();
        words.write(name, &mut out);
        out
    }

    #[test]
    fn a_name_of_as_many_words_goes_into_the_same_parts() {
        let words = Words {
            given: vec![1, 1],
            family: 2,
            suffix: 1,
        };
        assert_eq!(
            name(&words, "Rosa M. de Luna Jr."),
            "<name><given>Rosa</given><given>M.</given><family>de Luna</family><suffix>Jr.</suffix></name>"
        );
        assert_eq!(
            name(&words, "[PATIENT-1]"),
            "<name><given nullFlavor=\"MSK\"/><family>[PATIENT-1]</family></name>"
        );
        assert_eq!(name(&words, ""), "<name nullFlavor=\"MSK\"/>");
        assert_eq!(name(&Words::default(), "A & B"), "<name>A &amp; B</name>");
    }

    #[test]
    fn an_id_has_a_root_that_nobody_assigns() {
        let written = |root: Root, id: &str| {
            let mut out = String::new();
            root.write(id, &mut out);
            out
        };
        assert_eq!(
            written(Root::Number(3), "[ID]"),
            " root=\"2.16.840.1.113883.19.3\" extension=\"[ID]\""
        );
        let uuid = "6c0f1d6e-9a1b-4c3d-8e2f-0a1b2c3d4e5f";
        assert_eq!(written(Root::Alone, uuid), format!(" root=\"{uuid}\""));
        assert_eq!(written(Root::Alone, ""), " nullFlavor=\"MSK\"");
        assert_eq!(written(Root::Absent, "7"), " extension=\"7\"");
    }

    #[test]
    fn what_is_no_character_of_xml_is_left_out() {
        let mut out = String::new();
        content("a\u{1}  <&>\r\u{fffe}", false, &mut out);
        escape("\"\n\u{0}", &mut out);
        assert_eq!(out, "a &#160;&lt;&amp;&gt;&#13;&quot;&#10;");
        assert_eq!(encoded("[PHONE 1]é"), "%5BPHONE%201%5D%C3%A9");
    }
}
