//! What Lethe and a tool write to each other: one JSON object on a line, or as the body of a request and its
//! response.
//!
//! Lethe writes `{"id": 7, "text": "..."}`, and the tool answers `{"id": 7, "spans": [{"start": 0, "end": 3,
//! "label": "PERSON", "score": 0.9}]}`. `score`, and `text` (the text that the span covers, which is then
//! checked), may be left out; so may `version`, next to `id`. Further keys are ignored.

use lethe_core::{Annotation, Annotations, Span, ToolFailure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::labels::LabelTable;
use super::live::Fault;

/// The unit of a span's `start` and `end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Offsets {
    /// Unicode code points, as Python counts.
    #[default]
    Chars,
    /// Bytes of UTF-8, as Perl without decoding, C and Go count.
    Bytes,
    /// UTF-16 units, as Java and JavaScript count.
    Utf16,
}

#[derive(Serialize)]
struct Request<'a> {
    id: u64,
    text: &'a str,
}

#[derive(Deserialize)]
struct Answer {
    id: u64,
    #[serde(default)]
    version: Option<String>,
    spans: Vec<Marked>,
}

#[derive(Deserialize)]
struct Marked {
    start: usize,
    end: usize,
    label: String,
    #[serde(default)]
    score: Option<f32>,
    #[serde(default)]
    text: Option<String>,
}

/// Returns the request for a note, without a line end. JSON escapes the line ends of the text.
pub(super) fn request(id: u64, text: &str) -> Vec<u8> {
    serde_json::to_vec(&Request { id, text }).expect("a number and a text are JSON")
}

/// Reads answers to requests.
pub(super) struct Reader {
    pub(super) offsets: Offsets,
    pub(super) version: String,
}

impl Reader {
    /// Reads the answer to the request of this id.
    ///
    /// # Errors
    /// [`Fault`] of kind [`ToolFailure::Answer`], with the position of the problem and never its text.
    pub(super) fn read(
        &self,
        answer: &[u8],
        id: u64,
        text: &str,
        labels: &mut LabelTable<'_>,
    ) -> Result<Annotations, Fault> {
        let answer: Answer = serde_json::from_slice(answer).map_err(|error| {
            // The message of the parser may quote the answer.
            let problem = match error.classify() {
                serde_json::error::Category::Data => "not the keys and types of an answer",
                _ => "not one JSON object",
            };
            out_of_step(format!("the answer: {problem} (column {})", error.column()))
        })?;
        if answer.id != id {
            return Err(out_of_step("the answer has the id of another request".to_owned()));
        }
        if answer.version.is_some_and(|version| version != self.version) {
            return Err(unusable(
                "the tool has another version than `version` says; adapt `version` if the tool was changed",
            ));
        }
        let places = Places::new(text, self.offsets);
        let mut found = Vec::with_capacity(answer.spans.len());
        for (i, marked) in answer.spans.into_iter().enumerate() {
            let wrong = |problem: &str| unusable(format!("span {} of the answer: {problem}", i + 1));
            let span = places
                .span(text, marked.start, marked.end)
                .ok_or_else(|| wrong("not a span of the note; check `offsets`"))?;
            if marked.text.is_some_and(|claimed| claimed != span.of(text)) {
                return Err(wrong("its text is not the note's text there; check `offsets`"));
            }
            let score = marked.score.unwrap_or(1.0);
            if !(0.0..=1.0).contains(&score) {
                return Err(wrong("a score that is not between 0 and 1"));
            }
            let label = labels.id(&marked.label).map_err(|_| {
                wrong("a label that neither `labels` nor the label set has; add it to `labels`")
            })?;
            // Tools include blanks around a name in their spans; trimming loses nothing.
            let span = span.trimmed(text);
            if !span.is_empty() {
                found.push(Annotation {
                    span,
                    label,
                    score,
                    rule: "",
                });
            }
        }
        Annotations::new(text, found).map_err(|_| unusable("a span of the answer is not a span of the note"))
    }
}

/// Creates a fault of an answer after which the tool can be asked further.
fn unusable(reason: impl Into<String>) -> Fault {
    Fault {
        failure: ToolFailure::Answer,
        reason: reason.into(),
        in_step: true,
    }
}

/// Creates a fault of an answer after which the tool's next answer could belong to another note.
pub(super) fn out_of_step(reason: String) -> Fault {
    Fault {
        failure: ToolFailure::Answer,
        reason,
        in_step: false,
    }
}

/// The byte at which each unit begins, then the end; `None` if the units are bytes.
struct Places(Option<Vec<usize>>);

impl Places {
    const INSIDE: usize = usize::MAX;

    fn new(text: &str, offsets: Offsets) -> Self {
        if offsets == Offsets::Bytes || text.is_ascii() {
            return Self(None);
        }
        let mut starts = Vec::with_capacity(text.len() + 1);
        for (at, c) in text.char_indices() {
            starts.push(at);
            if offsets == Offsets::Utf16 && c.len_utf16() == 2 {
                starts.push(Self::INSIDE);
            }
        }
        starts.push(text.len());
        Self(Some(starts))
    }

    /// Returns the span between two units; `None` if it is empty, out of range or within a character.
    fn span(&self, text: &str, start: usize, end: usize) -> Option<Span> {
        let byte = |unit: usize| match &self.0 {
            Some(starts) => starts.get(unit).copied().filter(|&at| at != Self::INSIDE),
            None => Some(unit),
        };
        let span = Span::checked(text, byte(start)?, byte(end)?).ok()?;
        (!span.is_empty()).then_some(span)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use lethe_core::LabelSet;

    use super::*;
    use crate::external::{ExternalConfig, Missing};

    const TEXT: &str = "né Ana 👩🏽 Ruiz";

    fn config() -> ExternalConfig {
        ExternalConfig {
            name: "mist".to_owned(),
            path: None,
            process: None,
            service: None,
            version: Some("1".to_owned()),
            offsets: None,
            format: None,
            labels: BTreeMap::from([("PERSON".to_owned(), "PATIENT".to_owned())]),
            missing: Missing::Fail,
        }
    }

    fn read(offsets: Offsets, answer: &str) -> Result<Vec<String>, (String, bool)> {
        let set = LabelSet::i2b2_2014();
        let mut labels = LabelTable::new(&config(), &set, None).unwrap();
        let reader = Reader {
            offsets,
            version: "1".to_owned(),
        };
        let read = reader.read(answer.as_bytes(), 7, TEXT, &mut labels);
        read.map(|found| {
            let name = |a: &Annotation| format!("{}={}", set.label(a.label).name, a.span.of(TEXT));
            found.iter().map(name).collect()
        })
        .map_err(|fault| {
            assert_eq!(fault.failure, ToolFailure::Answer);
            (fault.reason, fault.in_step)
        })
    }

    fn spans(spans: &str) -> String {
        format!("{{\"id\": 7, \"spans\": [{spans}]}}")
    }

    #[test]
    fn a_request_is_one_line_whatever_the_note_holds() {
        let line = String::from_utf8(request(7, "a\r\nb\u{2028}\"c\"")).unwrap();
        assert!(!line.contains(['\n', '\r']), "{line}");
        let back: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(back["text"], "a\r\nb\u{2028}\"c\"");
    }

    #[test]
    fn offsets_count_in_the_configured_unit_and_labels_are_mapped() {
        for (offsets, start, end) in [
            (Offsets::Chars, 10, 14),
            (Offsets::Bytes, 17, 21),
            (Offsets::Utf16, 12, 16),
        ] {
            let answer = spans(&format!(
                "{{\"start\": {start}, \"end\": {end}, \"label\": \"PERSON\", \"score\": 0.5, \"text\": \"Ruiz\"}}"
            ));
            assert_eq!(read(offsets, &answer).unwrap(), ["PATIENT=Ruiz"]);
        }
        let blank = spans(
            "{\"start\": 2, \"end\": 7, \"label\": \"DOCTOR\"}, {\"start\": 2, \"end\": 3, \"label\": \"DOCTOR\"}",
        );
        assert_eq!(read(Offsets::Chars, &blank).unwrap(), ["DOCTOR=Ana"]);
    }

    #[test]
    fn an_answer_that_cannot_be_used_is_told_by_position_and_never_by_its_text() {
        let at = |start: usize, end: usize| {
            format!("{{\"start\": {start}, \"end\": {end}, \"label\": \"PERSON\"}}")
        };
        for (offsets, answer, reason, in_step) in [
            (Offsets::Chars, "Okafor".to_owned(), "not one JSON object", false),
            (
                Offsets::Chars,
                "{\"id\": 7".to_owned(),
                "not one JSON object",
                false,
            ),
            (Offsets::Chars, "{\"id\": 7}".to_owned(), "not the keys", false),
            (
                Offsets::Chars,
                "{\"id\": \"Okafor\", \"spans\": []}".to_owned(),
                "not the keys",
                false,
            ),
            (
                Offsets::Chars,
                "{\"id\": 8, \"spans\": []}".to_owned(),
                "another request",
                false,
            ),
            (
                Offsets::Chars,
                "{\"id\": 7, \"version\": \"Okafor\", \"spans\": []}".to_owned(),
                "another version",
                true,
            ),
            (
                Offsets::Chars,
                spans(&at(3, 99)),
                "span 1 of the answer: not a span",
                true,
            ),
            (
                Offsets::Chars,
                spans(&at(3, 3)),
                "span 1 of the answer: not a span",
                true,
            ),
            (
                Offsets::Chars,
                spans(&at(6, 3)),
                "span 1 of the answer: not a span",
                true,
            ),
            (
                Offsets::Bytes,
                spans(&at(2, 5)),
                "span 1 of the answer: not a span",
                true,
            ),
            (
                Offsets::Utf16,
                spans(&at(8, 12)),
                "span 1 of the answer: not a span",
                true,
            ),
            (
                Offsets::Chars,
                spans(&format!(
                    "{}, {{\"start\": 3, \"end\": 6, \"label\": \"Okafor\"}}",
                    at(3, 6)
                )),
                "span 2 of the answer: a label",
                true,
            ),
            (
                Offsets::Chars,
                spans("{\"start\": 3, \"end\": 6, \"label\": \"PERSON\", \"score\": 1.5}"),
                "span 1 of the answer: a score",
                true,
            ),
            (
                Offsets::Chars,
                spans("{\"start\": 3, \"end\": 6, \"label\": \"PERSON\", \"text\": \"Okafor\"}"),
                "its text is not the note's",
                true,
            ),
        ] {
            let (told, step) = read(offsets, &answer).unwrap_err();
            assert!(
                told.contains(reason) && !told.contains("Okafor"),
                "{answer}: {told}"
            );
            assert_eq!(step, in_step, "{answer}");
        }
    }
}
