//! JSON lines: `doc_id`, `text`, and `spans` of `start`, `end` (Unicode code points) and `label`.
//!
//! A span may have its `text`, which is then checked, and its `score`; a document may name its patient,
//! `patient_id`.

use std::fs::File;
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::document::sort;
use crate::error::{CorpusError, LineError, named};
use crate::places::{Claim, Places, counted, settle};
use crate::{Document, Mark};

#[derive(Deserialize)]
struct Line {
    doc_id: Option<String>,
    patient_id: Option<String>,
    text: String,
    #[serde(default)]
    spans: Vec<Marked>,
}

/// A span of a line.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Marked {
    /// Its first code point.
    pub start: usize,
    /// One past its last.
    pub end: usize,
    /// Its label's name.
    pub label: String,
    /// The text that it covers; checked if present.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// A prediction's score, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f32>,
}

impl std::fmt::Debug for Marked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Marked({}..{})", self.start, self.end)
    }
}

/// Reads documents. One without `doc_id` is named by its line number, from 1.
///
/// # Errors
/// [`CorpusError`], naming file and line.
pub fn read_jsonl(path: &Path) -> Result<Vec<Document>, CorpusError> {
    let numbered = read_numbered(path)?.into_iter();
    Ok(numbered.map(|(document, _)| document).collect())
}

/// As [`read_jsonl`], each document with its line.
pub(crate) fn read_numbered(path: &Path) -> Result<Vec<(Document, usize)>, CorpusError> {
    let io = |source| CorpusError::io(path, source);
    let mut file = BufReader::new(File::open(path).map_err(io)?);
    let (mut documents, mut line) = (Vec::new(), Vec::new());
    for number in 1.. {
        line.clear();
        if file.read_until(b'\n', &mut line).map_err(io)? == 0 {
            break;
        }
        let text =
            std::str::from_utf8(&line).map_err(|_| CorpusError::at(path, number, LineError::NotUtf8))?;
        // A byte order mark at the start of a file belongs to its encoding (RFC 8259, 8.1).
        let text = text
            .strip_prefix('\u{feff}')
            .filter(|_| number == 1)
            .unwrap_or(text);
        if !text.trim().is_empty() {
            documents.push((document(path, number, text)?, number));
        }
    }
    Ok(documents)
}

/// Converts spans to sorted annotations of a text.
///
/// # Errors
/// [`LineError`] for the first that is not a span of the text, with its number.
pub fn marks_of(text: &str, spans: Vec<Marked>) -> Result<Vec<Mark>, LineError> {
    marked(Path::new(""), 0, text, spans).map_err(|error| match error {
        CorpusError::Place { fault, .. } => fault,
        _ => LineError::Layout("spans that do not lie in the text"),
    })
}

fn marked(path: &Path, line: usize, text: &str, spans: Vec<Marked>) -> Result<Vec<Mark>, CorpusError> {
    let claim = |(index, marked): (usize, Marked)| Claim {
        which: named("span", None, index),
        line,
        parts: vec![(marked.start, marked.end)],
        label: marked.label,
        text: marked.text,
        score: marked.score,
    };
    let claims: Vec<Claim> = spans.into_iter().enumerate().map(claim).collect();
    let mut marks = settle(path, text, &[Places::of(text)], &claims)?;
    sort(&mut marks);
    Ok(marks)
}

fn document(path: &Path, number: usize, line: &str) -> Result<Document, CorpusError> {
    let line: Line = serde_json::from_str(line).map_err(|error| {
        let (column, category) = (error.column(), error.classify());
        CorpusError::at(path, number, LineError::Json { column, category })
    })?;
    Ok(Document {
        id: line.doc_id.unwrap_or_else(|| number.to_string()),
        patient: line.patient_id,
        marks: marked(path, number, &line.text, line.spans)?,
        text: line.text,
    })
}

#[derive(Serialize)]
struct LineOut<'a> {
    doc_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    patient_id: Option<&'a str>,
    text: &'a str,
    spans: Vec<MarkedOut<'a>>,
}

#[derive(Serialize)]
struct MarkedOut<'a> {
    start: usize,
    end: usize,
    label: &'a str,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f32>,
}

/// Writes documents as [`read_jsonl`] reads them, each span with its text.
///
/// # Errors
/// [`CorpusError::Io`]; [`CorpusError::Unwritable`] if a span lies outside its text.
pub fn write_jsonl(path: &Path, documents: &[Document]) -> Result<(), CorpusError> {
    let io = |source| CorpusError::io(path, source);
    let mut file = BufWriter::new(File::create(path).map_err(io)?);
    for (i, document) in documents.iter().enumerate() {
        let outside = || CorpusError::Unwritable {
            document: i,
            format: "jsonl",
            problem: "a span lies outside its text",
        };
        let places = counted(document).ok_or_else(outside)?;
        let spans = document.marks.iter().zip(places).map(|(mark, (start, end))| {
            let text = mark.span.get(&document.text)?;
            Some(MarkedOut {
                start,
                end,
                label: &mark.label,
                text,
                score: mark.score,
            })
        });
        let line = LineOut {
            doc_id: &document.id,
            patient_id: document.patient.as_deref(),
            text: &document.text,
            spans: spans.collect::<Option<_>>().ok_or_else(outside)?,
        };
        serde_json::to_writer(&mut file, &line).map_err(|error| io(error.into()))?;
        file.write_all(b"\n").map_err(io)?;
    }
    file.flush().map_err(io)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content: &str) -> Result<Vec<Document>, CorpusError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes.jsonl");
        std::fs::write(&path, content).unwrap();
        read_jsonl(&path)
    }

    #[test]
    fn offsets_are_code_points_and_a_byte_order_mark_counts() {
        let line =
            r#"{"doc_id":"a","text":"\ufeffSeñor Ruiz","spans":[{"start":7,"end":11,"label":"NAME"}]}"#;
        for content in [line.to_owned(), format!("\u{feff}{line}\r\n\r\n")] {
            let documents = read(&content).unwrap();
            let mark = &documents[0].marks[0];
            assert_eq!(mark.span.of(&documents[0].text), "Ruiz");
        }
    }

    #[test]
    fn a_document_without_id_is_called_by_its_line_and_scores_and_patients_are_kept() {
        let content = "\n{\"text\":\"Ana\",\"patient_id\":\"p\",\"spans\":[{\"start\":0,\"end\":3,\"label\":\"X\",\"score\":0.5}]}\n";
        let documents = read(content).unwrap();
        assert_eq!(
            (documents[0].id.as_str(), documents[0].patient.as_deref()),
            ("2", Some("p"))
        );
        assert_eq!(documents[0].marks[0].score, Some(0.5));
    }

    #[test]
    fn an_error_names_file_and_line_and_quotes_no_text() {
        let good = r#"{"doc_id":"a","text":"Secret"}"#;
        for (bad, place) in [
            (
                r#"{"doc_id":"b","text":"Secret","spans":[{"start":3,"end":99,"label":"X"}]}"#,
                "line 2: span 1 (3..99",
            ),
            (
                r#"{"doc_id":"b","text":"Secret","spans":[{"start":0,"end":3,"label":"X","text":"ecr"}]}"#,
                "line 2: span 1 (0..3 in code points): its text does not match",
            ),
            (
                r#"{"doc_id":"b","text":"Secret","spans":[{"start":"Secret"}]}"#,
                "line 2: column",
            ),
        ] {
            let message = read(&format!("{good}\n{bad}\n")).unwrap_err().to_string();
            assert!(
                message.contains("notes.jsonl") && message.contains(place),
                "{message}"
            );
            assert!(!message.contains("Secret"));
        }
    }
}
