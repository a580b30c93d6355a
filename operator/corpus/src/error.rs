//! Errors of reading and writing gold. They name the file, the line and the cause, and never quote the text.

use std::path::{Path, PathBuf};

use crate::places::OffsetUnit;

/// Why documents could not be read or written. It holds positions, never text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CorpusError {
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A line is invalid.
    #[error("{}, line {line}: {fault}", path.display())]
    Place {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The cause.
        fault: LineError,
    },
    /// A file or folder as a whole cannot be used.
    #[error("{}: {problem}", path.display())]
    Whole {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        problem: &'static str,
    },
    /// Two documents have the same id, so that predictions could not be matched with them.
    #[error("documents {first} and {second} (counted from 1) have the same id", first = first + 1, second = second + 1)]
    SameId {
        /// Index of the first.
        first: usize,
        /// Index of the second.
        second: usize,
    },
    /// A document cannot be written in a format.
    #[error("document {document} (counted from 1) cannot be written as {format}: {problem}", document = document + 1)]
    Unwritable {
        /// Index of the document.
        document: usize,
        /// The format's name.
        format: &'static str,
        /// The cause.
        problem: &'static str,
    },
}

/// Why a line is invalid.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LineError {
    /// The bytes are not UTF-8.
    #[error("not UTF-8; convert the file")]
    NotUtf8,
    /// The line is not a JSON document.
    #[error("column {column}: not a document of `doc_id`, `text` and `spans` ({category:?} error)")]
    Json {
        /// The column, from 1.
        column: usize,
        /// The kind of error; the parser's own message could quote the text.
        category: serde_json::error::Category,
    },
    /// The file is not JSON.
    #[error("column {column}: not valid JSON ({category:?} error)")]
    NotJson {
        /// The column, from 1.
        column: usize,
        /// The kind of error; the parser's own message could quote the text.
        category: serde_json::error::Category,
    },
    /// The XML is not well formed, or does not have the expected layout.
    #[error("{0}")]
    Layout(&'static str),
    /// A span does not lie in its document's text.
    #[error("{which} ({start}..{end} in {unit}) is not a span of the text, which has {len} {unit}")]
    Span {
        /// Which annotation.
        which: String,
        /// Its start.
        start: usize,
        /// Its end.
        end: usize,
        /// What the offsets count.
        unit: OffsetUnit,
        /// The text's length in these units.
        len: usize,
    },
    /// A span begins or ends inside a character.
    #[error("{which} ({start}..{end} in {unit}) cuts a character")]
    Cut {
        /// Which annotation.
        which: String,
        /// Its start.
        start: usize,
        /// Its end.
        end: usize,
        /// What the offsets count.
        unit: OffsetUnit,
    },
    /// The annotation quotes its text, and the document has other text there.
    #[error("{which} ({start}..{end} in {unit}): its text does not match the text at these offsets")]
    Text {
        /// Which annotation.
        which: String,
        /// Its start.
        start: usize,
        /// Its end.
        end: usize,
        /// What the offsets count.
        unit: OffsetUnit,
    },
}

impl CorpusError {
    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        Self::Io {
            path: path.to_owned(),
            source,
        }
    }

    pub(crate) fn at(path: &Path, line: usize, fault: LineError) -> Self {
        Self::Place {
            path: path.to_owned(),
            line,
            fault,
        }
    }

    pub(crate) fn layout(path: &Path, line: usize, what: &'static str) -> Self {
        Self::at(path, line, LineError::Layout(what))
    }

    pub(crate) fn whole(path: &Path, problem: &'static str) -> Self {
        Self::Whole {
            path: path.to_owned(),
            problem,
        }
    }
}

/// Reads a file without any conversion.
pub(crate) fn content(path: &Path) -> Result<String, CorpusError> {
    let bytes = std::fs::read(path).map_err(|source| CorpusError::io(path, source))?;
    String::from_utf8(bytes).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + good.iter().filter(|&&byte| byte == b'\n').count();
        CorpusError::at(path, line, LineError::NotUtf8)
    })
}

/// Names an annotation in messages: by its id if that is a short plain code, else by its number, so that no
/// message can quote more of a file.
pub(crate) fn named(kind: &str, id: Option<&str>, index: usize) -> String {
    let plain = |id: &&str| {
        let digits = id.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        let letters = id.len() - digits.len();
        (1..=2).contains(&letters) && digits.len() <= 6 && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    match id.filter(plain) {
        Some(id) => format!("{kind} `{id}`"),
        None => format!("{kind} {}", index + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_not_utf_8_are_refused_at_their_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        std::fs::write(&path, b"one\ntwo \xff\n").unwrap();
        let message = content(&path).unwrap_err().to_string();
        assert!(
            message.ends_with("a.txt, line 2: not UTF-8; convert the file"),
            "{message}"
        );
    }

    #[test]
    fn only_an_id_that_is_a_plain_code_is_shown() {
        assert_eq!(named("tag", Some("P12"), 3), "tag `P12`");
        for id in [None, Some("Jane"), Some("P 1"), Some("4822917"), Some("")] {
            assert_eq!(named("tag", id, 3), "tag 4");
        }
    }
}
