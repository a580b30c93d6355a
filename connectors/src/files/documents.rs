//! Reads documents for `redact` and `annotate`, and keeps enough of each to write it back unchanged.
//!
//! The input is JSON lines with `doc_id` or `note_id`, `text`, and optionally the other fields of a note
//! event; or plain text files. The id is optional, and its JSON is kept.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use lethe_core::{Coordinates, Record, Sensitive};

use super::inputs::{ends_in, inputs};
use super::jsonl::{TOO_LONG, line_limit};
use super::lines::Lines;
use super::{FileError, OnBad, TextFolderConfig};
use crate::format::{Diagnosis, Format, JsonConfig, JsonFormat, MAX_NOTE_BYTES, TextConfig};

/// Field names of a document's id.
const ID_NAMES: [&str; 2] = ["doc_id", "note_id"];

/// Settings for reading documents.
#[derive(Clone, Copy, Debug)]
pub struct DocumentsConfig {
    /// Texts over this size in bytes are bad records.
    pub max_note_bytes: usize,
    /// What to do with a bad record.
    pub on_bad: OnBad,
}

impl Default for DocumentsConfig {
    fn default() -> Self {
        Self {
            max_note_bytes: MAX_NOTE_BYTES,
            on_bad: OnBad::Fail,
        }
    }
}

/// One document.
#[derive(Debug)]
pub struct Document {
    /// Its id; `None` if it has none or it could not be read.
    pub id: Option<DocumentId>,
    /// A note or a quarantined record. Its topic is the file's name, its offset the line's number from 0.
    pub record: Record,
    /// The original line, for writers that keep its other fields. Empty for a plain text file and for a
    /// record that could not be read.
    pub line: Sensitive,
}

/// A document's original id.
#[derive(Clone, PartialEq, Eq)]
pub struct DocumentId {
    /// Its field name: `doc_id` or `note_id`.
    pub name: &'static str,
    /// Its value as JSON: a string with its quotes, or an integer.
    pub json: String,
}

impl std::fmt::Debug for DocumentId {
    /// An id may name a patient.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DocumentId({}, [{} bytes])", self.name, self.json.len())
    }
}

/// Documents in order. The iterator ends after an error.
pub struct Documents {
    inner: Box<dyn Iterator<Item = Result<Document, FileError>> + Send>,
    failed: bool,
}

impl Documents {
    /// Opens an input by its kind: a folder of `.txt` files or one of them as plain text, a folder of
    /// `.jsonl` files or any other file as JSON lines, `-` as JSON lines from standard input. A folder that
    /// has both is read as JSON lines.
    ///
    /// # Errors
    /// [`FileError`].
    pub fn open(input: &Path, config: DocumentsConfig) -> Result<Self, FileError> {
        if input.as_os_str() == "-" {
            return Self::jsonl(BufReader::new(io::stdin()), "standard input", config);
        }
        if ends_in(input, &["parquet"]) {
            return Err(FileError::Kind {
                path: input.into(),
                problem: "is Parquet; give it to `lethe run` as a source, or convert it to JSON lines",
            });
        }
        let files = match inputs(input, &["jsonl", "ndjson"]) {
            Err(FileError::NoFiles { .. }) => return Self::texts(input, config),
            _ if ends_in(input, &["txt"]) && input.is_file() => return Self::texts(input, config),
            files => files?,
        };
        let mut rest = files.into_iter();
        let mut open: Option<Self> = None;
        let mut step = move || -> Result<Option<Document>, FileError> {
            loop {
                if let Some(document) = open.as_mut().and_then(Iterator::next) {
                    return document.map(Some);
                }
                let Some(file) = rest.next() else { return Ok(None) };
                let reader = File::open(&file.path).map_err(FileError::io(&file.path, "open it"))?;
                open = Some(Self::jsonl(
                    BufReader::with_capacity(1 << 18, reader),
                    &file.name,
                    config,
                )?);
            }
        };
        Ok(Self::new(std::iter::from_fn(move || step().transpose())))
    }

    /// Reads JSON lines from any reader. `name` is its name in coordinates and errors.
    ///
    /// # Errors
    /// Currently none; [`FileError::Format`] is in the type because the format's settings are checked here.
    pub fn jsonl(
        reader: impl BufRead + Send + 'static,
        name: &str,
        config: DocumentsConfig,
    ) -> Result<Self, FileError> {
        let settings = JsonConfig {
            required: Vec::new(),
            max_note_bytes: config.max_note_bytes,
            ..JsonConfig::default()
        };
        let format = settings.build()?.with_id_names(&ID_NAMES);
        let topic: Arc<str> = name.into();
        let mut lines = Lines::new(reader, line_limit(&settings));
        let mut step = move || -> Result<Option<Document>, FileError> {
            let Some(line) = lines.next().map_err(FileError::io(&*topic, "read it"))? else {
                return Ok(None);
            };
            let at = Coordinates {
                topic: Arc::clone(&topic),
                partition: 0,
                offset: i64::try_from(line.number - 1).unwrap_or(i64::MAX),
            };
            let read = line
                .bytes
                .ok_or(TOO_LONG)
                .and_then(|bytes| read_line(&format, bytes));
            let (read, id, whole) = match read {
                Ok((event, id, whole)) => (Ok(event), id, whole),
                Err(diagnosis) => (Err(diagnosis), None, Sensitive::default()),
            };
            let record = config.on_bad.settle(at, "line", line.number, read)?;
            Ok(Some(Document {
                id,
                record,
                line: whole,
            }))
        };
        Ok(Self::new(std::iter::from_fn(move || step().transpose())))
    }

    /// Reads one document of plain text, without an id, from any reader. `name` is its name in coordinates
    /// and errors.
    ///
    /// # Errors
    /// [`FileError`] if the reader fails, or if the text is bad under [`OnBad::Fail`].
    pub fn text(reader: impl io::Read, name: &str, config: DocumentsConfig) -> Result<Document, FileError> {
        let max = config.max_note_bytes;
        let mut bytes = Vec::new();
        // One byte over the limit suffices to detect that the text is too long.
        reader
            .take((max as u64).saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(FileError::io(name, "read it"))?;
        let at = Coordinates {
            topic: name.into(),
            ..Coordinates::default()
        };
        let read = TextConfig { max_note_bytes: max }.build().read(&bytes);
        Ok(Document {
            id: None,
            record: config.on_bad.settle(at, "file", 1, read)?,
            line: Sensitive::default(),
        })
    }

    /// Reads plain text files; a document's id is its path relative to the input, without its extension.
    ///
    /// # Errors
    /// [`FileError`].
    pub fn texts(input: &Path, config: DocumentsConfig) -> Result<Self, FileError> {
        let folder = TextFolderConfig {
            input: input.into(),
            max_note_bytes: config.max_note_bytes,
            on_bad: config.on_bad,
            names: None,
            codes: None,
            input_id: None,
        };
        Ok(Self::new(folder.notes()?.map(move |note| {
            let (at, number, read) = note?;
            let id = read.as_ref().ok().map(|event| DocumentId {
                name: ID_NAMES[0],
                json: quoted(event.note_id.expose()),
            });
            Ok(Document {
                id,
                record: config.on_bad.settle(at, "file", number, read)?,
                line: Sensitive::default(),
            })
        })))
    }

    fn new(inner: impl Iterator<Item = Result<Document, FileError>> + Send + 'static) -> Self {
        Self {
            inner: Box::new(inner),
            failed: false,
        }
    }
}

impl Iterator for Documents {
    type Item = Result<Document, FileError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let next = self.inner.next();
        self.failed = matches!(next, Some(Err(_)));
        next
    }
}

type Line = (lethe_core::NoteEvent, Option<DocumentId>, Sensitive);

fn read_line(format: &JsonFormat, bytes: &[u8]) -> Result<Line, Diagnosis> {
    let read = format.read_full(bytes)?;
    let id = read.has_id.then(|| DocumentId {
        name: ID_NAMES[read.id_name],
        json: if read.id_is_number {
            read.event.note_id.expose().to_owned()
        } else {
            quoted(read.event.note_id.expose())
        },
    });
    // `read_full` has checked that the line is UTF-8.
    let line = String::from_utf8_lossy(bytes).into_owned();
    Ok((read.event, id, line.into()))
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
