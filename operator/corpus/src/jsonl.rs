//! JSON lines: `doc_id`, `text`, and `spans` of `start`, `end` (Unicode code points) and `label`.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use lethe_core::{Span, SpanError};
use serde::Deserialize;

use crate::{Document, Mark};

/// Why a file of JSON lines was refused. Holds places, never text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JsonlError {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A line is no document.
    #[error("{}, line {line}, column {column}: not a document of `doc_id`, `text` and `spans` ({category:?} error)", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The column in it, from 1.
        column: usize,
        /// What kind of error; the parser's own message could quote the text.
        category: serde_json::error::Category,
    },
    /// A span is none of its document's text.
    #[error("{}, line {line}: span {index} ({start}..{end} in code points) is not one of a text of {len} code points", path.display())]
    Span {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// Which of the document's spans, from 0.
        index: usize,
        /// Its start.
        start: usize,
        /// Its end.
        end: usize,
        /// The text's length in code points.
        len: usize,
    },
}

#[derive(Deserialize)]
struct Line {
    doc_id: Option<String>,
    patient_id: Option<String>,
    text: String,
    #[serde(default)]
    spans: Vec<Marked>,
}

#[derive(Deserialize)]
struct Marked {
    start: usize,
    end: usize,
    label: String,
    score: Option<f32>,
}

/// Reads documents. One without `doc_id` is called by its line's number, from 1.
///
/// # Errors
/// [`JsonlError`], naming file and line.
pub fn read_jsonl(path: &Path) -> Result<Vec<Document>, JsonlError> {
    let io = |source| JsonlError::Io {
        path: path.to_owned(),
        source,
    };
    let file = File::open(path).map_err(io)?;
    let mut documents = Vec::new();
    for (i, line) in BufReader::new(file).lines().enumerate() {
        let line = line.map_err(io)?;
        if !line.trim().is_empty() {
            documents.push(document(path, i + 1, &line)?);
        }
    }
    Ok(documents)
}

fn document(path: &Path, number: usize, line: &str) -> Result<Document, JsonlError> {
    let line: Line = serde_json::from_str(line).map_err(|error| JsonlError::Line {
        path: path.to_owned(),
        line: number,
        column: error.column(),
        category: error.classify(),
    })?;
    let mut bytes: Vec<usize> = line.text.char_indices().map(|(at, _)| at).collect();
    bytes.push(line.text.len());
    let mut document = Document {
        id: line.doc_id.unwrap_or_else(|| number.to_string()),
        patient: line.patient_id,
        text: line.text,
        marks: Vec::with_capacity(line.spans.len()),
    };
    for (index, marked) in line.spans.into_iter().enumerate() {
        let span = span(&bytes, marked.start, marked.end).ok_or_else(|| JsonlError::Span {
            path: path.to_owned(),
            line: number,
            index,
            start: marked.start,
            end: marked.end,
            len: bytes.len() - 1,
        })?;
        document.marks.push(Mark {
            span,
            label: marked.label,
            score: marked.score,
        });
    }
    document.sort();
    Ok(document)
}

/// A span of code points in bytes; empty ones are none.
fn span(bytes: &[usize], start: usize, end: usize) -> Option<Span> {
    let (start, end) = (*bytes.get(start)?, *bytes.get(end)?);
    let span: Result<Span, SpanError> = Span::new(start, end);
    span.ok().filter(|span| !span.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content: &str) -> Result<Vec<Document>, JsonlError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes.jsonl");
        std::fs::write(&path, content).unwrap();
        read_jsonl(&path)
    }

    #[test]
    fn offsets_are_code_points_and_a_byte_order_mark_counts() {
        let line =
            r#"{"doc_id":"a","text":"\ufeffSeñor Ruiz","spans":[{"start":7,"end":11,"label":"NAME"}]}"#;
        let documents = read(line).unwrap();
        let mark = &documents[0].marks[0];
        assert_eq!(mark.span.of(&documents[0].text), "Ruiz");
    }

    #[test]
    fn an_error_names_file_and_line_and_quotes_no_text() {
        let good = r#"{"doc_id":"a","text":"Secret"}"#;
        for (bad, place) in [
            (
                r#"{"doc_id":"b","text":"Secret","spans":[{"start":3,"end":99,"label":"X"}]}"#,
                "line 2: span 0 (3..99",
            ),
            (
                r#"{"doc_id":"b","text":"Secret","spans":[{"start":"Secret"}]}"#,
                "line 2, column",
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
