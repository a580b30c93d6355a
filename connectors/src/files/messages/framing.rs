//! Cuts a stream of bytes into payloads.

use std::io::{self, BufReader, Read};

use schemars::JsonSchema;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::hl7v2::{Gap, Messages};
use crate::files::lines::Lines;
use crate::format::FormatConfig;
use crate::source::Payload;

/// Bytes to read ahead.
const AHEAD: usize = 256 << 10;

/// How a file is cut into records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Framing {
    /// By the format: HL7 v2 by messages; FHIR and JSON by lines if the first line is a complete JSON value,
    /// else whole; every other format whole.
    #[default]
    Auto,
    /// The file is one record.
    Whole,
    /// Each line is a record, except blank lines.
    Lines,
    /// Each HL7 v2 message is a record: single, in a batch (FHS, BHS), in MLLP frames, or concatenated.
    #[serde(rename = "hl7v2")]
    Hl7v2,
}

/// A framing for a known format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    Whole,
    Lines,
    Hl7v2,
    /// By lines or whole, depending on the first line.
    Json,
}

impl Cut {
    pub(super) const fn of(framing: Framing, format: &FormatConfig) -> Self {
        match (framing, format) {
            (Framing::Whole, _) => Self::Whole,
            (Framing::Lines, _) => Self::Lines,
            (Framing::Hl7v2, _) | (Framing::Auto, FormatConfig::Hl7v2(_)) => Self::Hl7v2,
            (Framing::Auto, FormatConfig::Fhir(_) | FormatConfig::Json(_)) => Self::Json,
            (Framing::Auto, _) => Self::Whole,
        }
    }
}

/// A record's payload, and the framing before it.
#[derive(Debug)]
pub struct Piece {
    /// The payload; `None` if it exceeds the limit.
    pub payload: Option<Payload>,
    /// The HL7 v2 framing before it.
    pub before: Gap,
}

impl Piece {
    fn of(payload: Option<Vec<u8>>) -> Self {
        Self {
            payload: payload.map(Payload),
            before: Gap::default(),
        }
    }
}

/// Iterates over the payloads of a stream. Memory is bounded by the largest accepted payload.
///
/// ```
/// use lethe_connectors::files::{Framing, Payloads};
/// use lethe_connectors::format::FormatConfig;
///
/// let format: FormatConfig = serde_json::from_str(r#"{"kind": "hl7v2"}"#).unwrap();
/// let dump = b"MSH|^~\\&|A\rPID|1\rMSH|^~\\&|B\r";
/// let mut payloads = Payloads::new(&dump[..], Framing::Auto, &format, 1 << 20);
/// assert_eq!(payloads.next().unwrap().unwrap().payload.unwrap().0, b"MSH|^~\\&|A\rPID|1");
/// assert!(payloads.next().unwrap().is_some());
/// assert!(payloads.next().unwrap().is_none());
/// ```
pub struct Payloads<R> {
    state: State<R>,
    limit: usize,
    lined: bool,
}

enum State<R> {
    Whole(R),
    Lines(Lines<BufReader<R>>),
    Json(Lines<BufReader<R>>),
    Hl7v2(Messages<R>),
    Ended,
}

impl<R: Read> Payloads<R> {
    /// Cuts `reader` by the framing, or by the format's default. A payload over `limit` bytes is dropped and
    /// reported.
    pub fn new(reader: R, framing: Framing, format: &FormatConfig, limit: usize) -> Self {
        Self::cut(reader, Cut::of(framing, format), limit)
    }

    pub(super) fn cut(reader: R, cut: Cut, limit: usize) -> Self {
        let lines = |reader| Lines::new(BufReader::with_capacity(AHEAD, reader), limit);
        Self {
            state: match cut {
                Cut::Whole => State::Whole(reader),
                Cut::Lines => State::Lines(lines(reader)),
                Cut::Json => State::Json(lines(reader)),
                Cut::Hl7v2 => State::Hl7v2(Messages::new(reader, limit)),
            },
            limit,
            lined: cut == Cut::Lines,
        }
    }

    /// Returns the next payload; `None` at the end. An empty stream with the framing `whole` is one empty
    /// payload.
    ///
    /// # Errors
    /// The reader's error.
    #[expect(
        clippy::should_implement_trait,
        reason = "it fails, and ends at its first failure"
    )]
    pub fn next(&mut self) -> io::Result<Option<Piece>> {
        match &mut self.state {
            State::Hl7v2(messages) => messages.next(),
            State::Lines(lines) => {
                let line = lines.next()?;
                Ok(line.map(|line| Piece::of(line.bytes.map(<[u8]>::to_vec))))
            }
            State::Whole(_) | State::Json(_) => self.first().map(Some),
            State::Ended => Ok(None),
        }
    }

    /// Returns the HL7 v2 framing after the last payload.
    pub fn rest(&mut self) -> Gap {
        match &mut self.state {
            State::Hl7v2(messages) => messages.rest(),
            _ => Gap::default(),
        }
    }

    /// Returns whether payloads are lines. For JSON this is known once the first payload is read.
    pub const fn are_lines(&self) -> bool {
        self.lined
    }

    /// Reads the first payload of a stream that may be a single record.
    fn first(&mut self) -> io::Result<Piece> {
        match std::mem::replace(&mut self.state, State::Ended) {
            State::Whole(reader) => self.whole(Vec::new(), reader),
            State::Json(mut lines) => {
                let line = lines.next()?.map(|line| line.bytes.map(<[u8]>::to_vec));
                let Some(line) = line else {
                    return Ok(Piece::of(Some(Vec::new())));
                };
                // A line over the limit cannot be part of a payload.
                if line.as_deref().is_none_or(is_value) {
                    self.lined = true;
                    self.state = State::Lines(lines);
                    return Ok(Piece::of(line));
                }
                let mut start = line.unwrap_or_default();
                start.push(b'\n');
                self.whole(start, lines.into_inner())
            }
            other => {
                self.state = other;
                Ok(Piece::of(None))
            }
        }
    }

    /// Returns the whole stream, beginning with the bytes that were read already.
    fn whole(&self, mut bytes: Vec<u8>, reader: impl Read) -> io::Result<Piece> {
        // One byte over the limit suffices to detect that the payload is too long.
        let left = (self.limit as u64)
            .saturating_add(1)
            .saturating_sub(bytes.len() as u64);
        reader.take(left).read_to_end(&mut bytes)?;
        Ok(Piece::of((bytes.len() <= self.limit).then_some(bytes)))
    }
}

fn is_value(line: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(line).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str, cut: Cut, limit: usize) -> Vec<Option<String>> {
        let mut payloads = Payloads::cut(text.as_bytes(), cut, limit);
        let mut all = Vec::new();
        while let Some(piece) = payloads.next().unwrap() {
            all.push(piece.payload.map(|payload| String::from_utf8(payload.0).unwrap()));
        }
        all
    }

    fn some(texts: &[&str]) -> Vec<Option<String>> {
        texts.iter().map(|&text| Some(text.to_owned())).collect()
    }

    #[test]
    fn json_is_one_record_a_line_or_one_in_all() {
        let lined = "\u{feff}{\"a\":1}\n\n{oops\n{\"b\":2}";
        assert_eq!(
            cut(lined, Cut::Json, 99),
            some(&["{\"a\":1}", "{oops", "{\"b\":2}"])
        );
        assert_eq!(cut("{\"a\":1}\n", Cut::Json, 99), some(&["{\"a\":1}"]));
        let indented = "\n{\n  \"a\": 1\n}\n";
        assert_eq!(cut(indented, Cut::Json, 99), some(&["{\n  \"a\": 1\n}\n"]));
        assert_eq!(cut(indented, Cut::Json, 5), [None]);
        assert_eq!(cut(" \n", Cut::Json, 9), some(&[""]));
    }

    #[test]
    fn a_whole_file_over_the_limit_is_told_and_an_empty_one_is_a_record() {
        assert_eq!(cut("12345", Cut::Whole, 5), some(&["12345"]));
        assert_eq!(cut("123456", Cut::Whole, 5), [None]);
        assert_eq!(cut("", Cut::Whole, 5), some(&[""]));
    }

    #[test]
    fn lines_over_the_limit_are_told() {
        assert_eq!(
            cut("a\n123456\r\nb", Cut::Lines, 5),
            [Some("a".into()), None, Some("b".into())]
        );
    }

    #[test]
    fn the_format_says_how_a_file_is_cut() {
        let of = |format: &str, framing| Cut::of(framing, &serde_json::from_str(format).unwrap());
        assert_eq!(of(r#"{"kind":"hl7v2"}"#, Framing::Auto), Cut::Hl7v2);
        assert_eq!(of(r#"{"kind":"fhir"}"#, Framing::Auto), Cut::Json);
        assert_eq!(of(r#"{"kind":"cda"}"#, Framing::Auto), Cut::Whole);
        assert_eq!(of(r#"{"kind":"text"}"#, Framing::Lines), Cut::Lines);
        assert_eq!(of(r#"{"kind":"hl7v2"}"#, Framing::Whole), Cut::Whole);
    }
}
