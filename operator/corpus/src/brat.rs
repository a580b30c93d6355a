//! brat's stand-off format: `NAME.txt`, and `NAME.ann` with one annotation per line.
//!
//! A text-bound line is `T1<TAB>LABEL START END[;START END...]<TAB>TEXT`. Offsets are code points of the text
//! file; its byte order mark and both characters of a CR LF count (see [`crate::places`] for files that count
//! otherwise). Notes, relations, events, attributes and normalisations are ignored. Each part of a
//! discontinuous annotation becomes a span of its own; parts with only white space between them are joined,
//! since brat itself cuts annotations at line ends.

use std::path::Path;

use lethe_core::Span;

use crate::Document;
use crate::error::{CorpusError, content, named};
use crate::format::{file_name, into_folder};
use crate::places::{Claim, Places, settle};

/// Reads the document from either of its two files.
pub(crate) fn read(path: &Path) -> Result<Document, CorpusError> {
    let (text_path, marks_path) = (path.with_extension("txt"), path.with_extension("ann"));
    for (there, missing) in [
        (&text_path, "no `.ann` file of the same name in this folder"),
        (&marks_path, "no `.txt` file of the same name in this folder"),
    ] {
        let other = if there == &text_path {
            &marks_path
        } else {
            &text_path
        };
        if there.is_file() && !other.is_file() {
            return Err(CorpusError::whole(there, missing));
        }
    }
    let text = content(&text_path)?;
    let claims = claims(&marks_path, &content(&marks_path)?)?;
    let mut readings = vec![Places::of(&text)];
    if text.contains("\r\n") {
        readings.push(Places::line_ends_once(&text));
    }
    let mut document = Document {
        id: file_name(&text_path)?,
        patient: None,
        marks: settle(&marks_path, &text, &readings, &claims)?,
        text,
    };
    document.sort();
    Ok(document)
}

/// Returns the text-bound annotations of an `.ann` file.
pub(crate) fn claims(path: &Path, lines: &str) -> Result<Vec<Claim>, CorpusError> {
    let mut claims = Vec::new();
    for (i, line) in lines
        .strip_prefix('\u{feff}')
        .unwrap_or(lines)
        .lines()
        .enumerate()
    {
        let line = line.strip_suffix('\r').unwrap_or(line);
        match line.chars().next() {
            Some('T') => claims.push(
                claim(line, i + 1, claims.len())
                    .ok_or_else(|| CorpusError::layout(path, i + 1, TEXT_BOUND))?,
            ),
            Some('#' | 'R' | 'E' | 'A' | 'M' | 'N' | '*') => {}
            _ if line.trim().is_empty() => {}
            _ => {
                return Err(CorpusError::layout(path, i + 1, "not a line of the brat format"));
            }
        }
    }
    Ok(claims)
}

const TEXT_BOUND: &str = "not `T1<TAB>LABEL START END<TAB>TEXT`";

fn claim(line: &str, number: usize, index: usize) -> Option<Claim> {
    let mut columns = line.splitn(3, '\t');
    let id = columns.next()?;
    let (label, offsets) = columns.next()?.split_once(' ')?;
    let part = |part: &str| {
        let (start, end) = part.trim().split_once(' ')?;
        Some((start.parse().ok()?, end.trim().parse().ok()?))
    };
    Some(Claim {
        which: named("annotation", Some(id), index),
        line: number,
        parts: offsets.split(';').map(part).collect::<Option<_>>()?,
        label: Some(label).filter(|label| !label.is_empty())?.to_owned(),
        text: columns.next().map(str::to_owned),
        score: None,
    })
}

/// Writes each document to `folder/ID.txt` and `folder/ID.ann`. An annotation over several lines is cut at
/// the line ends, as brat requires, so line ends at its start or end are lost. Scores and patients are not
/// written.
///
/// # Errors
/// [`CorpusError::Io`]; [`CorpusError::Unwritable`] if an id is not a file name or a label has white space in
/// it.
pub fn write_brat(folder: &Path, documents: &[Document]) -> Result<(), CorpusError> {
    into_folder(folder, "brat", documents, |document| {
        Ok(vec![("txt", document.text.clone()), ("ann", lines(document)?)])
    })
}

fn lines(document: &Document) -> Result<String, &'static str> {
    let mut out = String::new();
    for (i, mark) in document.marks.iter().enumerate() {
        if mark.label.is_empty() || mark.label.contains(char::is_whitespace) {
            return Err("a label is empty or has white space in it");
        }
        let parts = parts(&document.text, mark.span)
            .ok_or("a span lies outside its text, or covers only line ends")?;
        let places: Vec<String> = parts
            .iter()
            .map(|((start, end), _)| format!("{start} {end}"))
            .collect();
        let texts: Vec<&str> = parts.iter().map(|&(_, text)| text).collect();
        let text = texts.join(" ").replace('\t', " ");
        out.push_str(&format!(
            "T{}\t{} {}\t{text}\n",
            i + 1,
            mark.label,
            places.join(";")
        ));
    }
    Ok(out)
}

/// Splits a span at line ends: the start and end of each part in code points, and its text.
fn parts(text: &str, span: Span) -> Option<Vec<((usize, usize), &str)>> {
    let before = Span::new(0, span.start()).ok()?.get(text)?;
    let mut at = before.chars().count();
    let mut parts = Vec::new();
    for part in span.get(text)?.split(['\r', '\n']) {
        let end = at + part.chars().count();
        // brat rejects a part of only white space, and between two parts it makes no difference.
        if !part.trim().is_empty() {
            parts.push(((at, end), part));
        }
        at = end + 1;
    }
    (!parts.is_empty()).then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_pair(text: &str, lines: &str) -> Result<Document, CorpusError> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("note.txt"), text).unwrap();
        std::fs::write(folder.path().join("note.ann"), lines).unwrap();
        read(&folder.path().join("note.ann"))
    }

    #[test]
    fn text_bound_lines_are_marks_and_all_others_are_passed_over() {
        let lines = "T1\tNAME 5 9\tRuiz\r\n#1\tAnnotatorNotes T1\tsure?\r\nT2\tCITY 13 17;22 25\tLeon Gil\r\n\
                     R1\tAt Arg1:T1 Arg2:T2\r\nA1\tOld T1\r\n*\tEquiv T1 T2\r\n\r\n";
        let document = read_pair("\u{feff}Ana Ruiz in Leon y/o Gil", lines).unwrap();
        let marks: Vec<_> = document
            .marks
            .iter()
            .map(|m| (m.span.of(&document.text), m.label.as_str()))
            .collect();
        assert_eq!(
            (document.id.as_str(), marks),
            ("note", vec![("Ruiz", "NAME"), ("Leon", "CITY"), ("Gil", "CITY")])
        );
    }

    #[test]
    fn what_brat_cut_at_a_line_end_is_one_mark_again() {
        let document = read_pair("Ana\r\nRuiz", "T1\tNAME 0 3;5 9\tAna Ruiz\n").unwrap();
        assert_eq!(document.marks.len(), 1);
        assert_eq!(document.marks[0].span.of(&document.text), "Ana\r\nRuiz");
    }

    #[test]
    fn a_line_that_is_none_of_brats_or_does_not_fit_is_refused_by_its_number() {
        for (lines, what) in [
            (
                "T1\tNAME 0 3\tAna\nSecret",
                "line 2: not a line of the brat format",
            ),
            ("T1 NAME 0 3 Ana", "line 1: not `T1"),
            ("T1\tNAME 0\tAna", "line 1: not `T1"),
            ("T1\tNAME 0 x\tAna", "line 1: not `T1"),
            (
                "T1\tNAME 0 3\tAna\nT2\tNAME 0 30\tSecret",
                "line 2: annotation `T2` (0..30",
            ),
            (
                "T1\tNAME 0 3\tSecret",
                "line 1: annotation `T1` (0..3 in code points): its text does not match",
            ),
        ] {
            let message = read_pair("Ana Ruiz", lines).unwrap_err().to_string();
            assert!(
                message.contains("note.ann") && message.contains(what),
                "{message}"
            );
            assert!(!message.contains("Secret"), "{message}");
        }
    }

    #[test]
    fn a_file_without_its_pair_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("alone.txt");
        std::fs::write(&path, "x").unwrap();
        let message = read(&path).unwrap_err().to_string();
        assert!(
            message.ends_with("alone.txt: no `.ann` file of the same name in this folder"),
            "{message}"
        );
    }
}
