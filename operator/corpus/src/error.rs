//! Why gold was refused: the file, the line, and what is wrong there, never a word of the text.

use std::path::{Path, PathBuf};

/// Why documents could not be read or written. Holds places, never text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CorpusError {
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// Something is wrong at a line.
    #[error("{}, line {line}: {fault}", path.display())]
    Place {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        fault: Fault,
    },
    /// A file or folder as a whole is not what it should be.
    #[error("{}: {problem}", path.display())]
    Whole {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// Two documents bear one id, so that predictions could not be held against them.
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
        /// What stands against it.
        problem: &'static str,
    },
}

/// What is wrong at a line.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The bytes are not UTF-8.
    #[error("not UTF-8; convert the file")]
    NotUtf8,
    /// The line is no JSON document.
    #[error("column {column}: not a document of `doc_id`, `text` and `spans` ({category:?} error)")]
    Json {
        /// The column, from 1.
        column: usize,
        /// What kind of error; the parser's own message could quote the text.
        category: serde_json::error::Category,
    },
    /// The XML is not well formed, or not in the layout.
    #[error("{0}")]
    Layout(&'static str),
    /// A span is none of its document's text.
    #[error("{which} ({start}..{end} in code points) is not a span of a text of {len} code points")]
    Span {
        /// Which annotation.
        which: String,
        /// Its start.
        start: usize,
        /// Its end.
        end: usize,
        /// The text's length in code points.
        len: usize,
    },
    /// The annotation says what text it marks, and that is not what stands there.
    #[error("{which} ({start}..{end} in code points): the text it gives is not the text at these offsets")]
    Text {
        /// Which annotation.
        which: String,
        /// Its start.
        start: usize,
        /// Its end.
        end: usize,
    },
}

impl CorpusError {
    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        Self::Io {
            path: path.to_owned(),
            source,
        }
    }

    pub(crate) fn at(path: &Path, line: usize, fault: Fault) -> Self {
        Self::Place {
            path: path.to_owned(),
            line,
            fault,
        }
    }

    pub(crate) fn layout(path: &Path, line: usize, what: &'static str) -> Self {
        Self::at(path, line, Fault::Layout(what))
    }

    pub(crate) fn whole(path: &Path, problem: &'static str) -> Self {
        Self::Whole {
            path: path.to_owned(),
            problem,
        }
    }
}

/// A file's content, exactly.
pub(crate) fn content(path: &Path) -> Result<String, CorpusError> {
    let bytes = std::fs::read(path).map_err(|source| CorpusError::io(path, source))?;
    String::from_utf8(bytes).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + good.iter().filter(|&&byte| byte == b'\n').count();
        CorpusError::at(path, line, Fault::NotUtf8)
    })
}

/// An annotation's name for messages: its id where that is a plain one, else its number, so that no message can quote
/// more of a file than a short code.
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
