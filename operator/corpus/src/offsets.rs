//! Predictions of several systems as offsets only. Such a file holds no word of a note, so that it can be
//! stored with results or shared; reading it needs the documents.
//!
//! The format is JSON lines. The first line has `format` ([`FORMAT`]), `version`, the SHA-256 of all
//! documents' `texts`, and the names of `labels` and of `systems`. Each further line is a document: `doc_id`,
//! and `spans`, each `[start, end, label, systems]`: bytes of the text, the label's index, and the systems
//! that predicted it as bits, the first system in the lowest. Scores are not stored. All texts share one
//! digest, since a short note could be guessed from its own.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::path::Path;

use lethe_core::Span;
use serde::{Deserialize, Serialize};

use crate::error::{CorpusError, LineError};
use crate::{Document, Mark, digest};

/// The value of `format`.
const FORMAT: &str = "lethe-offsets";
const VERSION: u32 = 1;
/// The most systems in one file: the bits of a number.
const MOST: usize = 64;

#[derive(Serialize, Deserialize)]
struct Head {
    format: String,
    version: u32,
    texts: String,
    labels: Vec<String>,
    systems: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct Line {
    doc_id: String,
    spans: Vec<(usize, usize, usize, u64)>,
}

/// A system's name, and the documents with its predictions.
pub type Predicted = (String, Vec<Document>);

/// Writes the predictions of systems for the same documents, in the first system's order.
///
/// # Errors
/// [`CorpusError::Io`]; [`CorpusError::Whole`] if there are no systems, more than 64, or systems with
/// different documents.
pub fn write_offsets(path: &Path, systems: &[Predicted]) -> Result<(), CorpusError> {
    let first = match systems {
        [] => return Err(CorpusError::whole(path, "no system to write")),
        [_, ..] if systems.len() > MOST => {
            return Err(CorpusError::whole(
                path,
                "more than 64 systems; write several files",
            ));
        }
        [(_, documents), ..] => documents,
    };
    let marks = systems.iter().flat_map(|(_, documents)| documents);
    let labels: BTreeSet<&str> = marks
        .flat_map(|document| &document.marks)
        .map(|mark| mark.label.as_str())
        .collect();
    let places: HashMap<&str, usize> = labels.iter().copied().zip(0..).collect();
    let by_id: Vec<HashMap<&str, &Document>> = systems
        .iter()
        .map(|(_, documents)| documents.iter().map(|d| (d.id.as_str(), d)).collect())
        .collect();
    if by_id.iter().any(|documents| documents.len() != first.len()) {
        return Err(CorpusError::whole(
            path,
            "the systems do not have the same documents",
        ));
    }
    let io = |source| CorpusError::io(path, source);
    let mut file = BufWriter::new(File::create(path).map_err(io)?);
    let head = Head {
        format: FORMAT.to_owned(),
        version: VERSION,
        texts: texts(first),
        labels: labels.iter().map(|&label| label.to_owned()).collect(),
        systems: systems.iter().map(|(name, _)| name.clone()).collect(),
    };
    put(&mut file, &head).map_err(io)?;
    for document in first {
        let mut merged: BTreeMap<(usize, Reverse<usize>, usize), u64> = BTreeMap::new();
        for (system, documents) in by_id.iter().enumerate() {
            let same = documents
                .get(document.id.as_str())
                .filter(|other| other.text == document.text)
                .ok_or_else(|| CorpusError::whole(path, "the systems do not have the same documents"))?;
            for mark in &same.marks {
                let (start, end) = (mark.span.start(), Reverse(mark.span.end()));
                *merged
                    .entry((start, end, places[mark.label.as_str()]))
                    .or_default() |= 1 << system;
            }
        }
        let line = Line {
            doc_id: document.id.clone(),
            spans: merged
                .into_iter()
                .map(|((start, end, label), systems)| (start, end.0, label, systems))
                .collect(),
        };
        put(&mut file, &line).map_err(io)?;
    }
    file.flush().map_err(io)
}

/// Returns the digest of documents' ids and texts, independent of their order and annotations.
fn texts(documents: &[Document]) -> String {
    let mut bare: Vec<Document> = documents
        .iter()
        .map(|document| Document {
            marks: Vec::new(),
            ..document.clone()
        })
        .collect();
    bare.sort_by(|a, b| a.id.cmp(&b.id));
    digest(&bare)
}

fn put(file: &mut impl std::io::Write, line: &impl Serialize) -> std::io::Result<()> {
    serde_json::to_writer(&mut *file, line)?;
    file.write_all(b"\n")
}

/// Reads the predictions for `gold`'s documents, with their texts; `None` if the file has another format.
///
/// # Errors
/// [`CorpusError`], which names file and line: documents or texts that differ from gold's, a span outside its
/// text, a label or a system that the first line does not name.
pub fn read_offsets(path: &Path, gold: &[Document]) -> Result<Option<Vec<Predicted>>, CorpusError> {
    let io = |source| CorpusError::io(path, source);
    if !path.is_file() {
        return Ok(None);
    }
    let mut file = BufReader::new(File::open(path).map_err(io)?);
    let mut line = Vec::new();
    file.read_until(b'\n', &mut line).map_err(io)?;
    let head: Head = match serde_json::from_slice(&line) {
        Ok(head) => head,
        Err(_) => return Ok(None),
    };
    if head.format != FORMAT {
        return Ok(None);
    }
    if head.version != VERSION {
        return Err(CorpusError::whole(
            path,
            "unsupported version; this program reads version 1",
        ));
    }
    if head.systems.len() > MOST {
        return Err(CorpusError::whole(path, "more than 64 systems"));
    }
    if head.texts != texts(gold) {
        return Err(CorpusError::whole(
            path,
            "the offsets belong to other documents or texts than gold's",
        ));
    }
    let gold: HashMap<&str, &Document> = gold.iter().map(|d| (d.id.as_str(), d)).collect();
    let mut systems: Vec<Predicted> = head.systems.into_iter().map(|name| (name, Vec::new())).collect();
    for number in 2.. {
        line.clear();
        if file.read_until(b'\n', &mut line).map_err(io)? == 0 {
            break;
        }
        let record: Line = serde_json::from_slice(&line).map_err(|error| {
            let (column, category) = (error.column(), error.classify());
            CorpusError::at(path, number, LineError::Json { column, category })
        })?;
        let wrong = |what| CorpusError::layout(path, number, what);
        let document = gold
            .get(record.doc_id.as_str())
            .ok_or_else(|| wrong("a document that is not in gold"))?;
        let first = systems.first().map_or(0, |(_, documents)| documents.len());
        for (_, documents) in &mut systems {
            documents.push(Document {
                marks: Vec::new(),
                ..Document::clone(document)
            });
        }
        for (start, end, label, bits) in record.spans {
            let span = Span::checked(&document.text, start, end)
                .map_err(|_| wrong("a span that does not lie in the document's text"))?;
            let label = head
                .labels
                .get(label)
                .ok_or_else(|| wrong("a label that the first line does not name"))?;
            if systems.len() < MOST && bits >> systems.len() != 0 {
                return Err(wrong("a system that the first line does not name"));
            }
            let who = systems.iter_mut().enumerate();
            for (_, (_, documents)) in who.filter(|(system, _)| bits >> system & 1 == 1) {
                documents[first].marks.push(Mark::gold(span, label));
            }
        }
    }
    Ok(Some(systems))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(id: &str, text: &str, marks: &[(u32, u32, &str)]) -> Document {
        let mark = |&(start, end, label): &(u32, u32, &str)| Mark::gold(Span::between(start, end), label);
        Document {
            id: id.to_owned(),
            patient: None,
            text: text.to_owned(),
            marks: marks.iter().map(mark).collect(),
        }
    }

    fn systems() -> Vec<Predicted> {
        let ana = "\u{feff}Ana Núñez, 40";
        let one = vec![
            document("a", ana, &[(3, 14, "NAME"), (16, 18, "AGE")]),
            document("b", "Bea", &[]),
        ];
        // In another order, which the file does not preserve.
        let two = vec![
            document("b", "Bea", &[(0, 3, "NAME")]),
            document("a", ana, &[(3, 14, "NAME"), (3, 6, "NAME")]),
        ];
        vec![("one".to_owned(), one), ("two".to_owned(), two)]
    }

    fn written(systems: &[Predicted]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("said.jsonl");
        write_offsets(&path, systems).unwrap();
        std::fs::read_to_string(path).unwrap()
    }

    fn read(content: &str) -> Result<Option<Vec<Predicted>>, CorpusError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("said.jsonl");
        std::fs::write(&path, content).unwrap();
        read_offsets(&path, &systems()[0].1)
    }

    #[test]
    fn what_was_written_comes_back_and_no_word_of_the_text_is_in_the_file() {
        let file = written(&systems());
        assert!(!file.contains("Ana") && !file.contains("Bea"), "{file}");
        let mut expected = systems();
        expected[1].1.reverse();
        assert_eq!(read(&file).unwrap().unwrap(), expected);
    }

    #[test]
    fn a_span_that_two_systems_have_stands_there_once() {
        let file = written(&systems());
        assert_eq!(
            file.lines().nth(1).unwrap(),
            r#"{"doc_id":"a","spans":[[3,14,1,3],[3,6,1,2],[16,18,0,1]]}"#
        );
    }

    #[test]
    fn another_format_is_left_to_its_own_reader() {
        for content in ["", "{\"doc_id\":\"a\",\"text\":\"Bea\",\"spans\":[]}\n", "x"] {
            assert!(read(content).unwrap().is_none());
        }
    }

    #[test]
    fn what_is_not_gold_s_or_not_in_the_first_line_is_refused_by_line() {
        let file = written(&systems());
        for (from, to, told) in [
            (
                "\"texts\":\"",
                "\"texts\":\"0",
                "other documents or texts than gold's",
            ),
            ("\"doc_id\":\"b\"", "\"doc_id\":\"c\"", "not in gold"),
            ("[3,6,1,2]", "[3,99,1,2]", "a span that does not lie"),
            ("[3,6,1,2]", "[3,9,1,2]", "a span that does not lie"),
            ("[3,6,1,2]", "[6,3,1,2]", "a span that does not lie"),
            ("[3,6,1,2]", "[3,6,2,2]", "a label"),
            ("[3,6,1,2]", "[3,6,1,4]", "a system"),
            ("[3,6,1,2]", "[3,6,1]", "column"),
            ("\"version\":1", "\"version\":2", "unsupported version"),
        ] {
            let altered = file.replace(from, to);
            assert_ne!(altered, file, "{from}");
            let error = read(&altered).unwrap_err().to_string();
            assert!(error.contains(told), "{error}");
        }
    }

    #[test]
    fn systems_of_other_documents_are_not_written_side_by_side() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("said.jsonl");
        let mut fewer = systems();
        fewer[1].1.pop();
        let mut other = systems();
        other[1].1[0].text = "Leo".to_owned();
        for systems in [fewer, other, Vec::new()] {
            assert!(write_offsets(&path, &systems).is_err());
        }
    }
}
