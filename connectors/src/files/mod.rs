//! Files as a source: messages in any format (`messages/`), lines of JSON, folders of plain text, Parquet.
//!
//! Each yields records in order, and each record knows its place, so that a run over files is as accountable as one over
//! a topic. A file that cannot be read is an error; a bad record in it is quarantined, or an error where the caller wants
//! none (see [`OnBad`]). Compressed text is refused: decompress it first.

pub(crate) mod cells;
mod codes;
mod documents;
mod follow;
mod inputs;
mod jsonl;
pub(crate) mod lines;
mod messages;
mod parquet;
mod text;

use std::io;
use std::path::{Path, PathBuf};

use lethe_core::Record;
use serde::{Deserialize, Serialize};

use crate::format::{Diagnosis, FormatError};
use crate::store::{StoreConfig, StoreError};

pub use codes::{Codes, CodesError, Names, Slot, is_code};
pub use documents::{Document, DocumentId, Documents, DocumentsConfig};
pub use follow::{Follow, Followed};
pub use jsonl::JsonlConfig;
pub use messages::{
    ArchiveLimits, BatchSegment, FilePayload, FileRecords, Framing, Gap, MessageFile, MessageFiles,
    MessageFilesConfig, Payloads, Piece, is_compressed_or_archive,
};
pub use parquet::{Columns, ParquetConfig};
pub use text::TextFolderConfig;

/// Records in the order of their files, and of their place in each.
pub type Records = Box<dyn Iterator<Item = Result<Record, FileError>> + Send>;

/// What to do with a record that cannot be read. What it holds is kept in neither case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnBad {
    /// Yield a quarantined record and go on.
    #[default]
    Quarantine,
    /// Yield an error that says where it is; the reader ends there.
    Fail,
}

/// Which files to read: `kind = "jsonl"`, `"text"` or `"parquet"`. This enum is the list of file sources.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum FileSourceConfig {
    /// One JSON object a line.
    Jsonl(JsonlConfig),
    /// One note a file.
    Text(TextFolderConfig),
    /// One note a row.
    Parquet(ParquetConfig),
}

impl FileSourceConfig {
    /// Finds the files and starts to read.
    ///
    /// # Errors
    /// [`FileError`] if there is no input, or its settings or columns do not fit.
    pub fn build(&self) -> Result<Records, FileError> {
        match self {
            Self::Jsonl(config) => config.build(),
            Self::Text(config) => config.build(),
            Self::Parquet(config) => config.build(),
        }
    }
}

impl FileSourceConfig {
    /// The topics that its records have: the names of its files, or of the folder that plain text lies in.
    ///
    /// # Errors
    /// [`FileError`] if there is no input.
    pub fn topics(&self) -> Result<Vec<String>, FileError> {
        let names = |input: &Path, endings: &[&str]| {
            let files = inputs::inputs(input, endings)?;
            Ok(files.into_iter().map(|file| file.name).collect())
        };
        match self {
            Self::Jsonl(config) => names(&config.input, jsonl::ENDINGS),
            Self::Parquet(config) => names(&config.input, parquet::ENDINGS),
            Self::Text(config) => Ok(vec![text::topic_of(&config.input)]),
        }
    }

    /// The file or folder that is read.
    pub fn input(&self) -> &Path {
        match self {
            Self::Jsonl(config) => &config.input,
            Self::Text(config) => &config.input,
            Self::Parquet(config) => &config.input,
        }
    }

    /// What chains are named by, where the list of codes lies, and what the input goes by in it.
    pub fn naming(&self) -> (Names, Option<&StoreConfig>, String) {
        let (names, codes, id) = match self {
            Self::Jsonl(config) => (config.names, &config.codes, &config.input_id),
            Self::Text(config) => (config.names, &config.codes, &config.input_id),
            Self::Parquet(config) => (config.names, &config.codes, &config.input_id),
        };
        let id = id.clone().unwrap_or_else(|| self.input().display().to_string());
        (names.unwrap_or(Names::Paths), codes.as_ref(), id)
    }
}

/// Why files cannot be read. Names files, lines, columns and byte offsets; never what stands there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The system refused.
    #[error("{}: cannot {doing}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// A folder without a file of the kind.
    #[error("{}: no file ending in {endings}; check `input`", path.display())]
    NoFiles {
        /// The folder.
        path: PathBuf,
        /// The endings looked for.
        endings: String,
    },
    /// A compressed file.
    #[error("{}: is compressed; decompress it first (gzip -d, zstd -d)", path.display())]
    Compressed {
        /// The file.
        path: PathBuf,
    },
    /// A file that says by its ending that it is of another kind.
    #[error("{}: {problem}", path.display())]
    Kind {
        /// The file.
        path: PathBuf,
        /// What it is, and what to do.
        problem: &'static str,
    },
    /// A file that only grows has lost some of what was read of it.
    #[error("{}: has {length} bytes, and {read} were read of it before: a file that is followed only grows; put it back, or begin anew with another", path.display())]
    Shorter {
        /// The file.
        path: PathBuf,
        /// Its bytes.
        length: u64,
        /// How many were read.
        read: u64,
    },
    /// A record that cannot be read, where [`OnBad::Fail`] holds.
    #[error(
        "{file}: {place} {number}: {diagnosis}; correct it, or quarantine bad records instead of failing"
    )]
    Record {
        /// The file.
        file: String,
        /// What is counted: `line`, `row` or `file`.
        place: &'static str,
        /// Which, from 1.
        number: u64,
        /// What is wrong.
        diagnosis: Diagnosis,
    },
    /// A Parquet file that does not open or decode.
    #[error("{}: {doing}: {problem}", path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// The reader's words on structure.
        problem: String,
    },
    /// A column that is not there or of a type that cannot serve.
    #[error("{}: `columns.{field}`: column \"{column}\" {problem}", path.display())]
    Column {
        /// The file.
        path: PathBuf,
        /// The field mapped to it.
        field: String,
        /// The column.
        column: String,
        /// What is wrong and what there is.
        problem: String,
    },
    /// A setting of a source that cannot be.
    #[error("key `source.{key}`: {problem}")]
    Setting {
        /// The key.
        key: &'static str,
        /// What is wrong, and what to do.
        problem: &'static str,
    },
    /// The store of the input does not do what it is asked.
    #[error("key `source.store`: {0}")]
    Store(StoreError),
    /// A file that cannot be read now.
    #[error("{file}: cannot be read: {kind}; see to it and run again")]
    Unreadable {
        /// The file's code, or its name where chains go by names.
        file: String,
        /// Why not.
        kind: io::ErrorKind,
    },
    /// The list of files and codes.
    #[error("key `source.codes`: {0}")]
    Codes(CodesError),
    /// The format's settings.
    #[error("`format`: {0}")]
    Format(#[from] FormatError),
}

// By hand: an error with a source would print its cause twice.
impl From<CodesError> for FileError {
    fn from(error: CodesError) -> Self {
        Self::Codes(error)
    }
}

impl FileError {
    fn io(path: impl Into<PathBuf>, doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, doing, source }
    }

    /// The file or folder that it is about.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Io { path, .. }
            | Self::NoFiles { path, .. }
            | Self::Compressed { path }
            | Self::Kind { path, .. }
            | Self::Shorter { path, .. }
            | Self::Parquet { path, .. }
            | Self::Column { path, .. } => Some(path),
            Self::Record { file, .. } | Self::Unreadable { file, .. } => Some(Path::new(file)),
            Self::Setting { .. } | Self::Store(_) | Self::Codes(_) | Self::Format(_) => None,
        }
    }

    /// The same error about `place`, a file's code or a folder, in the place of a file's own path.
    #[must_use]
    pub fn about(mut self, place: &Path) -> Self {
        match &mut self {
            Self::Io { path, .. }
            | Self::NoFiles { path, .. }
            | Self::Compressed { path }
            | Self::Kind { path, .. }
            | Self::Shorter { path, .. }
            | Self::Parquet { path, .. }
            | Self::Column { path, .. } => *path = place.to_owned(),
            Self::Record { file, .. } | Self::Unreadable { file, .. } => *file = place.display().to_string(),
            Self::Setting { .. } | Self::Store(_) | Self::Codes(_) | Self::Format(_) => {}
        }
        self
    }
}

impl OnBad {
    /// The record that a read payload is, or the error that this policy makes of a bad one.
    fn settle(
        self,
        at: lethe_core::Coordinates,
        place: &'static str,
        number: u64,
        read: Result<lethe_core::NoteEvent, Diagnosis>,
    ) -> Result<Record, FileError> {
        match (read, self) {
            (Ok(event), _) => Ok(Record::Note(lethe_core::NoteEvent { at, ..event })),
            (Err(diagnosis), Self::Quarantine) => {
                tracing::debug!(%at, %diagnosis, "quarantined a record");
                Ok(Record::Quarantined(at, diagnosis.quarantine()))
            }
            (Err(diagnosis), Self::Fail) => Err(FileError::Record {
                file: at.topic.to_string(),
                place,
                number,
                diagnosis,
            }),
        }
    }
}
