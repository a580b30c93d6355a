//! The message without its content: what the table accepts, with holes for the narrative and the identifiers.
//! Dropped content is not part of it, so a bug in filling cannot bring it back.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lethe_core::{Change, Envelope, EnvelopeError, Identifier, Span};

use super::charset::Charset;
use super::escape::Codec;
use super::time::typed;
use super::utf16::Utf16;

/// The content of a hole.
#[derive(Clone, Debug)]
pub(super) enum Hole {
    /// A part of the narrative.
    Part(usize, Encoding),
    /// A whole identifier.
    Whole(usize),
    /// A name, and the separator of its components.
    Name(usize, Words, char),
    /// A date, with the time of day after it.
    Date(usize, Box<str>),
    /// The names of the character sets.
    Charset,
    /// The end of a segment.
    End,
}

/// The encoding of a part of the narrative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    /// As text.
    Text,
    /// In base64 (RFC 4648 section 4), in UTF-8 if it was before.
    Base64(Charset),
    /// In pairs of hexadecimal digits, in the same way.
    Hex(Charset),
}

/// Number of words in each component of a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Words {
    pub(super) family: usize,
    pub(super) given: usize,
    pub(super) second: usize,
    pub(super) suffix: usize,
}

/// The encoding of the message.
#[derive(Debug)]
pub(super) struct Written {
    /// The names of the character sets in the message.
    pub(super) charsets: Vec<String>,
    /// `None` if it is in the codec's character set.
    pub(super) utf16: Option<Utf16>,
}

/// A message without its content.
#[derive(Debug)]
pub(super) struct Skeleton {
    pub(super) codec: Codec,
    pub(super) written: Written,
    pub(super) text: String,
    /// The holes and their positions in `text`, in order.
    pub(super) holes: Vec<(usize, Hole)>,
    pub(super) parts: Vec<Span>,
    pub(super) identifiers: Vec<Identifier>,
    pub(super) changes: Vec<Change>,
}

/// MSH-18 of a message whose own character set lacks letters of the replacements.
const UTF8: &str = "UNICODE UTF-8";

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

    fn bytes(&self) -> Option<usize> {
        let identifiers = self.identifiers.iter().map(|one| one.value.len()).sum::<usize>();
        let paths = self.changes.iter().map(|change| change.path.len()).sum::<usize>();
        Some(
            self.text.capacity()
                + self.holes.capacity() * size_of::<(usize, Hole)>()
                + self.parts.capacity() * size_of::<Span>()
                + self.identifiers.capacity() * size_of::<Identifier>()
                + self.changes.capacity() * size_of::<Change>()
                + identifiers
                + paths,
        )
    }

    fn close(&self, parts: &[&str], identifiers: &[&str]) -> Result<Vec<u8>, EnvelopeError> {
        if parts.len() != self.parts.len() || identifiers.len() != self.identifiers.len() {
            return Err(EnvelopeError);
        }
        let whole = self
            .fill(parts, identifiers, &self.written.charsets)
            .ok_or(EnvelopeError)?;
        if let Some(utf16) = self.written.utf16 {
            return Ok(utf16.encode(&whole));
        }
        match self.codec.charset.encode(whole) {
            Ok(bytes) => Ok(bytes),
            Err(_) => {
                let utf8 = [UTF8.to_owned()];
                let whole = self.fill(parts, identifiers, &utf8).ok_or(EnvelopeError)?;
                Ok(whole.into_bytes())
            }
        }
    }
}

impl Skeleton {
    /// Returns the message as text. Each segment ends with a carriage return, without trailing separators.
    fn fill(&self, parts: &[&str], identifiers: &[&str], charsets: &[String]) -> Option<String> {
        let field = self.codec.separators.field;
        let escape = |text: &str, out: &mut String| self.codec.escape(text, out);
        let mut out =
            String::with_capacity(self.text.len() + parts.iter().map(|part| part.len()).sum::<usize>());
        let mut from = 0;
        for (at, hole) in &self.holes {
            out.push_str(self.text.get(from..*at)?);
            from = *at;
            match hole {
                Hole::Part(part, encoding) => {
                    let part = *parts.get(*part)?;
                    match encoding {
                        Encoding::Text => escape(part, &mut out),
                        Encoding::Base64(charset) => {
                            escape(&STANDARD.encode(bytes(*charset, part)), &mut out);
                        }
                        Encoding::Hex(charset) => {
                            let pairs = bytes(*charset, part);
                            out.extend(pairs.iter().map(|byte| format!("{byte:02X}")));
                        }
                    }
                }
                Hole::Whole(identifier) => escape(&line(identifiers.get(*identifier)?), &mut out),
                Hole::Name(identifier, words, separator) => {
                    let name = words.split(identifiers.get(*identifier)?);
                    for (i, words) in name.iter().enumerate() {
                        if i > 0 {
                            out.push(*separator);
                        }
                        escape(words, &mut out);
                    }
                }
                Hole::Date(identifier, time) => escape(&typed(identifiers.get(*identifier)?, time), &mut out),
                Hole::Charset => {
                    for (i, charset) in charsets.iter().enumerate() {
                        if i > 0 {
                            out.extend(self.codec.separators.repetition);
                        }
                        escape(charset, &mut out);
                    }
                }
                Hole::End => {
                    while out.ends_with(field) {
                        out.pop();
                    }
                    out.push('\r');
                }
            }
        }
        out.push_str(self.text.get(from..)?);
        Some(out)
    }
}

impl Words {
    /// Splits a name in natural order into family name, given name, second name and suffix. A name with
    /// another number of words is a family name, since the roles of its words are unknown.
    fn split(self, name: &str) -> [String; 4] {
        let mut words = name.split_whitespace();
        if words.clone().count() != self.given + self.second + self.family + self.suffix {
            return [line(name), String::new(), String::new(), String::new()];
        }
        let mut take = |count| words.by_ref().take(count).collect::<Vec<_>>().join(" ");
        let (given, second, family, suffix) = (
            take(self.given),
            take(self.second),
            take(self.family),
            take(self.suffix),
        );
        [family, given, second, suffix]
    }
}

/// Encodes in the character set if possible, otherwise in UTF-8; the decoder tells the two apart.
fn bytes(charset: Charset, text: &str) -> Vec<u8> {
    charset.encode(text.to_owned()).unwrap_or_else(String::into_bytes)
}

/// Joins an identifier into one line.
fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_as_many_words_goes_back_where_they_were() {
        let words = Words {
            family: 2,
            given: 1,
            second: 0,
            suffix: 1,
        };
        assert_eq!(words.split("Rosa de  Luna Jr"), ["de Luna", "Rosa", "", "Jr"]);
        assert_eq!(words.split("Rosa Luna"), ["Rosa Luna", "", "", ""]);
        assert_eq!(words.split("[PATIENT]"), ["[PATIENT]", "", "", ""]);
        assert_eq!(words.split(""), ["", "", "", ""]);
    }
}
