//! Splits a message into separators, segments and fields.
//!
//! Strict where a mistake could hide text (every segment must look like one), lenient where it cannot (CR, LF
//! or CRLF, MLLP frames, missing trailing separators).

use super::escape::Code;
use super::table;
use crate::{Diagnosis, PayloadError};

/// Maximum number of segments of a message.
pub(super) const MAX_SEGMENTS: usize = 1 << 16;
/// Maximum number of fields of a segment. The longest in the standard has fewer than a hundred.
pub(super) const MAX_FIELDS: usize = 512;

/// The separators that MSH-1 and MSH-2 declare, each of them one ASCII character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Separators {
    pub(super) field: char,
    pub(super) component: char,
    pub(super) repetition: Option<char>,
    pub(super) escape: Option<char>,
    pub(super) sub: Option<char>,
}

impl Separators {
    /// Reads the separators at the start of a message.
    ///
    /// # Errors
    /// [`PayloadError::NotHl7`] if it starts otherwise, or if two of them are the same.
    pub(super) fn read(message: &[u8]) -> Result<Self, Diagnosis> {
        let fail = |field, byte| Diagnosis {
            field,
            byte,
            problem: PayloadError::NotHl7,
        };
        let Some([field, rest @ ..]) = message.strip_prefix(b"MSH") else {
            return Err(fail(None, 0));
        };
        let ends = |byte: &u8| byte == field || matches!(byte, b'\r' | b'\n');
        let end = rest.iter().take(6).position(ends);
        let encoding = rest.get(..end.unwrap_or(rest.len().min(6))).unwrap_or_default();
        // Four are usual, and v2.7 may add one for truncation; a sender may omit those that it never needs.
        if !(1..=5).contains(&encoding.len()) || !separates(*field) {
            return Err(fail(Some("MSH-2"), 4));
        }
        for (i, byte) in encoding.iter().enumerate() {
            if !separates(*byte) || encoding.iter().skip(i + 1).any(|other| other == byte) {
                return Err(fail(Some("MSH-2"), 4 + i));
            }
        }
        let at = |i: usize| encoding.get(i).copied().map(char::from);
        Ok(Self {
            field: char::from(*field),
            component: at(0).unwrap_or('^'),
            repetition: at(1),
            escape: at(2),
            sub: at(3),
        })
    }

    /// Returns the encoding of a character that cannot be written literally.
    pub(super) fn code(&self, c: char) -> Option<Code> {
        Some(match c {
            _ if c == self.field => Code::Letter('F'),
            _ if c == self.component => Code::Letter('S'),
            _ if Some(c) == self.sub => Code::Letter('T'),
            _ if Some(c) == self.repetition => Code::Letter('R'),
            _ if Some(c) == self.escape => Code::Letter('E'),
            '\n' | '\r' => Code::Break,
            '\0'..='\x08' | '\x0b'..='\x1f' | '\x7f' => Code::Hex(c as u8),
            _ => return None,
        })
    }

    /// Returns the repetitions of a field.
    pub(super) fn repetitions<'a>(&self, field: &'a str) -> impl Iterator<Item = &'a str> + use<'a> {
        split(field, self.repetition)
    }

    /// Returns the components of a repetition.
    pub(super) fn components<'a>(&self, repetition: &'a str) -> impl Iterator<Item = &'a str> + use<'a> {
        split(repetition, Some(self.component))
    }

    /// Returns the sub-components of a component.
    pub(super) fn subs<'a>(&self, component: &'a str) -> impl Iterator<Item = &'a str> + use<'a> {
        split(component, self.sub)
    }

    /// Returns component `n`, from 1, of the field's first repetition; empty if it is missing or null.
    pub(super) fn component<'a>(&self, field: &'a str, n: usize) -> &'a str {
        let first = self.repetitions(field).next().unwrap_or_default();
        let component = self.components(first).nth(n - 1).unwrap_or_default();
        if is_null(component) { "" } else { component }
    }
}

/// Returns whether it can be a separator. Characters of null, escape sequences, base64 and time stamps
/// cannot: in a message without an escape character they could not be written.
const fn separates(byte: u8) -> bool {
    byte.is_ascii_punctuation() && !matches!(byte, b'.' | b'"' | b'+' | b'/' | b'=' | b'-')
}

/// Returns whether it is HL7's null: two quotes, which tell the receiver to delete the value.
pub(super) fn is_null(raw: &str) -> bool {
    raw == "\"\""
}

fn split(text: &str, separator: Option<char>) -> impl Iterator<Item = &str> {
    text.split(move |c| Some(c) == separator)
}

/// A segment.
#[derive(Debug)]
pub(super) struct Segment<'a> {
    /// Its three letters.
    pub(super) name: &'a str,
    /// Its start in the message's text, in bytes.
    pub(super) at: usize,
    /// Its name and its fields.
    fields: Vec<&'a str>,
}

impl<'a> Segment<'a> {
    /// Returns the numbers of the fields that are not empty.
    pub(super) fn numbers(&self) -> impl Iterator<Item = usize> + use<'_, 'a> {
        let fields = self.fields.iter().enumerate().skip(1);
        fields
            .filter(|(_, raw)| !raw.is_empty())
            .map(|(number, _)| number)
    }

    /// Returns field `n`, from 1; empty if it is missing.
    pub(super) fn field(&self, n: usize) -> &'a str {
        self.fields.get(n).copied().unwrap_or_default()
    }
}

/// Maximum number of character sets in MSH-18. Table 0211 has some two dozen.
const MAX_CHARSETS: usize = 32;

/// Returns the repetitions of MSH-18 before the message is decoded; empty for null.
pub(super) fn declared_charsets(message: &[u8], separators: &Separators) -> Vec<String> {
    let head = message.split(|byte| matches!(byte, b'\r' | b'\n')).next();
    let mut fields = head
        .unwrap_or_default()
        .split(|&byte| char::from(byte) == separators.field);
    let field = String::from_utf8_lossy(fields.nth(17).unwrap_or_default());
    let repetitions = separators.repetitions(&field).map(str::trim);
    repetitions
        .map(|one| if is_null(one) { "" } else { one }.to_owned())
        .take(MAX_CHARSETS)
        .collect()
}

/// Splits the text.
///
/// # Errors
/// The place in the text, the field, and the problem: [`PayloadError::NotHl7`] for a line that is no segment,
/// [`PayloadError::Duplicate`] for a second message, [`PayloadError::TooComplex`] past the limits.
pub(super) fn segments<'a>(
    text: &'a str,
    separators: &Separators,
) -> Result<Vec<Segment<'a>>, (usize, Option<&'static str>, PayloadError)> {
    let mut segments: Vec<Segment<'a>> = Vec::new();
    let mut at = 0;
    for line in lines(text, separators) {
        let start = at;
        at += line.len() + 1;
        if line.is_empty() {
            continue;
        }
        if !is_head(line, separators.field) {
            return Err((start, None, PayloadError::NotHl7));
        }
        if segments.len() == MAX_SEGMENTS {
            return Err((start, None, PayloadError::TooComplex));
        }
        let mut fields: Vec<&str> = line.split(separators.field).take(MAX_FIELDS + 2).collect();
        if fields.len() > MAX_FIELDS + 1 {
            return Err((start, None, PayloadError::TooComplex));
        }
        // A head is a name and a separator, or only a name.
        let name = fields.first().copied().unwrap_or_default();
        if name == "MSH" {
            if !segments.is_empty() {
                return Err((start, Some("MSH"), PayloadError::Duplicate));
            }
            // MSH-1 is the separator itself.
            fields.insert(1, line.get(3..4).unwrap_or_default());
        }
        segments.push(Segment {
            name,
            at: start,
            fields,
        });
    }
    Ok(segments)
}

/// Returns the lines of a message that are segments, or blank.
pub(super) fn lines<'a>(text: &'a str, separators: &Separators) -> impl Iterator<Item = &'a str> {
    let first = text.find(['\r', '\n']);
    Lines {
        rest: Some(text),
        field: separators.field,
        by_return: first.is_some_and(|at| text.get(at..=at) == Some("\r")),
    }
}

/// A carriage return always ends a segment. A line feed ends one if another segment follows it, since senders
/// leave line feeds in a note's text. If segments end with carriage returns, the following segment must also
/// be one that is returned, since a line of the text may look like any other.
struct Lines<'a> {
    rest: Option<&'a str>,
    field: char,
    by_return: bool,
}

impl<'a> Iterator for Lines<'a> {
    type Item = &'a str;
    fn next(&mut self) -> Option<&'a str> {
        let rest = self.rest?;
        for i in memchr::memchr2_iter(b'\r', b'\n', rest.as_bytes()) {
            let after = rest.get(i + 1..).unwrap_or_default();
            // The line feed of CRLF comes first and ends an empty line.
            let ends = || {
                let name = after.get(..3).unwrap_or_default();
                is_head(after, self.field) && (!self.by_return || table::of(name).is_some())
            };
            if rest.as_bytes().get(i) == Some(&b'\r') || i == 0 || ends() {
                self.rest = Some(after);
                return rest.get(..i);
            }
        }
        self.rest.take()
    }
}

/// Returns whether a segment starts here: a letter, two letters or digits, and a separator or the end.
fn is_head(line: &str, field: char) -> bool {
    let mut chars = line.chars();
    chars.next().is_some_and(|c| c.is_ascii_uppercase())
        && (0..2).all(|_| {
            chars
                .next()
                .is_some_and(|c| c.is_ascii_uppercase() || c.is_ascii_digit())
        })
        && chars.next().is_none_or(|c| c == field || c == '\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<(&str, usize)> {
        let separators = Separators::read(text.as_bytes()).unwrap();
        let segments = segments(text, &separators).unwrap();
        segments
            .iter()
            .map(|one| (one.name, one.fields.len() - 1))
            .collect()
    }

    #[test]
    fn segments_end_by_carriage_return_line_feed_or_both() {
        let expected = vec![("MSH", 3), ("PID", 2), ("PV1", 0), ("NTE", 3)];
        for end in ["\r", "\n", "\r\n", "\r\r\n"] {
            let lines = ["MSH|^~\\&|a", "PID|1|2", "PV1", "NTE|1||b"].join(end);
            // A name alone is a segment if a carriage return ends it.
            if end != "\n" {
                assert_eq!(names(&lines), expected, "{end:?}");
            }
            assert_eq!(names(&lines.replace("PV1", "PV1|")).len(), 4, "{end:?}");
        }
    }

    #[test]
    fn a_line_feed_within_a_field_is_its_text() {
        let text = "MSH|^~\\&|a\rNTE|1||first\nCBC second|x\nPV1|2";
        let separators = Separators::read(text.as_bytes()).unwrap();
        let segments = segments(text, &separators).unwrap();
        assert_eq!(segments.len(), 3);
        assert_eq!(segments[1].field(3), "first\nCBC second");
        assert_eq!(segments[2].at, text.len() - "PV1|2".len());
    }

    #[test]
    fn what_is_no_segment_is_refused() {
        let separators = Separators::read(b"MSH|^~\\&|").unwrap();
        let refused = |text: &str| segments(text, &separators).unwrap_err();
        assert_eq!(
            refused("MSH|^~\\&|a\rof the text"),
            (11, None, PayloadError::NotHl7)
        );
        assert_eq!(
            refused("MSH|^~\\&\rMSH|^~\\&"),
            (9, Some("MSH"), PayloadError::Duplicate)
        );
        let long = format!("MSH|^~\\&\rZZZ{}", "|".repeat(MAX_FIELDS + 1));
        assert_eq!(refused(&long), (9, None, PayloadError::TooComplex));
        let many = format!("MSH|^~\\&{}", "\rZZZ".repeat(MAX_SEGMENTS));
        assert_eq!(refused(&many).2, PayloadError::TooComplex);
    }

    #[test]
    fn separators_are_those_of_the_message() {
        let separators = Separators::read(b"MSH$%*?!$app").unwrap();
        assert_eq!(separators.component, '%');
        assert_eq!(separators.sub, Some('!'));
        assert_eq!(Separators::read(b"MSH|^|").unwrap().escape, None);
        assert_eq!(
            Separators::read(b"MSH|^~\\&\rPID"),
            Separators::read(b"MSH|^~\\&|")
        );
        for bad in [
            "",
            "MSH",
            "MSH|",
            "MSH||a",
            "MSH|^^\\&|",
            "MSHa^~\\&a",
            "MSH|^.\\&|",
            "MSH|^~+|",
            "MSH|^~\\&#!|",
            "PID|^~\\&|",
        ] {
            assert_eq!(
                Separators::read(bad.as_bytes()).unwrap_err().problem,
                PayloadError::NotHl7,
                "{bad}"
            );
        }
    }
}
