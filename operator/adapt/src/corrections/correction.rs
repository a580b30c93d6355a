//! A correction: a note with all its identifiers as they should be, and the person who made it.

use std::fmt;

use jiff::Timestamp;
use lethe_core::LabelSet;
use lethe_corpus::{Document, Marked, marks_of};
use serde::{Deserialize, Serialize};
use serde_json::error::Category;

/// The size limit of a note in bytes.
const MOST: usize = 16 << 20;

/// A correction as it arrives, one JSON object. `Debug` prints only sizes.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Correction {
    /// The note's id.
    pub note: String,
    /// Its text, as the stream reads it.
    pub text: String,
    /// All identifiers of the note and nothing else; offsets count Unicode code points.
    pub spans: Vec<Marked>,
    /// The person who made the correction.
    pub who: String,
    /// The time, in RFC 3339 format. Of two corrections of a note the later one applies.
    pub when: String,
}

impl fmt::Debug for Correction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Correction({} bytes, {} spans)",
            self.text.len(),
            self.spans.len()
        )
    }
}

/// Why a correction is invalid. It holds no word of the correction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CorrectionError {
    /// A record has no payload, or a line exceeds the size limit.
    #[error("no payload, or a line over the size limit")]
    Empty,
    /// The payload is not a correction.
    #[error(
        "line {line}, column {column}: not a correction of `note`, `text`, `spans`, `who` and `when` ({category:?} error)"
    )]
    Json {
        /// The line in the object, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// The kind of error; the parser's own message could quote the text.
        category: Category,
    },
    /// A required key is empty.
    #[error("key `{0}` is empty")]
    Blank(&'static str),
    /// The time is invalid.
    #[error("key `when`: not an RFC 3339 time")]
    When,
    /// The text exceeds the size limit.
    #[error("the text has {0} bytes, more than the limit of {MOST}")]
    TooLarge(usize),
    /// A span does not lie in the text.
    #[error("{0}")]
    Span(String),
    /// A span's label is not in the bundle's label set.
    #[error("span {index}: label set `{set}` has no such label")]
    Label {
        /// Its number, from 1.
        index: usize,
        /// The label set's id.
        set: String,
    },
}

/// A valid correction.
#[derive(Clone, Debug)]
pub(crate) struct Read {
    pub(crate) document: Document,
    pub(crate) when: Timestamp,
}

impl Correction {
    /// Parses a correction and checks it against the label set.
    ///
    /// # Errors
    /// [`CorrectionError`].
    pub(crate) fn read(payload: &[u8], labels: &LabelSet) -> Result<(Self, Read), CorrectionError> {
        if payload.len() > 6 * MOST {
            return Err(CorrectionError::TooLarge(payload.len()));
        }
        let correction: Self = serde_json::from_slice(payload).map_err(|error| CorrectionError::Json {
            line: error.line(),
            column: error.column(),
            category: error.classify(),
        })?;
        let read = correction.check(labels)?;
        Ok((correction, read))
    }

    /// Checks the correction and converts it to a document.
    ///
    /// # Errors
    /// [`CorrectionError`].
    pub(crate) fn check(&self, labels: &LabelSet) -> Result<Read, CorrectionError> {
        for (key, value) in [("note", &self.note), ("text", &self.text), ("who", &self.who)] {
            if value.trim().is_empty() {
                return Err(CorrectionError::Blank(key));
            }
        }
        if self.text.len() > MOST {
            return Err(CorrectionError::TooLarge(self.text.len()));
        }
        let when = self.when.parse().map_err(|_| CorrectionError::When)?;
        let unknown = |span: &Marked| labels.by_name(&span.label).is_none();
        if let Some(index) = self.spans.iter().position(unknown) {
            return Err(CorrectionError::Label {
                index: index + 1,
                set: labels.id().to_owned(),
            });
        }
        let mut marks = marks_of(&self.text, self.spans.clone())
            .map_err(|fault| CorrectionError::Span(fault.to_string()))?;
        marks.iter_mut().for_each(|mark| mark.score = None);
        Ok(Read {
            document: Document {
                id: self.note.clone(),
                patient: None,
                text: self.text.clone(),
                marks,
            },
            when,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(payload: &str) -> Result<(Correction, Read), CorrectionError> {
        Correction::read(payload.as_bytes(), &LabelSet::i2b2_2014())
    }

    const GOOD: &str = r#"{"note":"n-1","text":"Señor Quill","spans":[{"start":6,"end":11,"label":"PATIENT"}],"who":"mb","when":"2026-03-01T10:00:00+02:00","ward":"x"}"#;

    #[test]
    fn offsets_are_code_points_and_times_are_compared_across_zones() {
        let (correction, read_first) = read(GOOD).unwrap();
        assert_eq!(read_first.document.marks[0].span.of(&correction.text), "Quill");
        let utc = GOOD.replace("10:00:00+02:00", "08:00:00Z");
        assert_eq!(read(&utc).unwrap().1.when, read_first.when);
        // The stored form parses to the same correction.
        let kept = serde_json::to_string(&correction).unwrap();
        assert_eq!(read(&kept).unwrap().0, correction);
    }

    #[test]
    fn what_is_wrong_is_told_by_its_place_and_no_word_of_it() {
        for (from, to, told) in [
            ("\"who\":\"mb\",", "", "column"),
            ("{\"note\"", "Secret {\"note\"", "line 1, column 1"),
            ("\"n-1\"", "\"\"", "key `note` is empty"),
            ("2026-03-01T10:00:00+02:00", "Secret", "key `when`"),
            ("2026-03-01T10:00:00+02:00", "2026-03-01", "key `when`"),
            ("\"end\":11", "\"end\":12", "span 1 (6..12 in code points)"),
            ("\"end\":11", "\"end\":6", "span 1 (6..6"),
            ("PATIENT", "Secret", "span 1: label set `i2b2-2014`"),
            ("\"start\":6", "\"start\":\"Secret\"", "Data error"),
            (
                "\"label\"",
                "\"text\":\"Secret\",\"label\"",
                "its text does not match",
            ),
        ] {
            assert!(GOOD.contains(from));
            let message = read(&GOOD.replace(from, to)).unwrap_err().to_string();
            assert!(message.contains(told), "{message}");
            assert!(
                !message.contains("Secret") && !message.contains("Quill"),
                "{message}"
            );
        }
        let (correction, kept) = read(GOOD).unwrap();
        assert!(!format!("{correction:?} {kept:?}").contains("Quill"));
    }
}
