//! File sources: messages in any format (`messages/`), JSON lines, folders of plain text, Parquet.
//!
//! Each source yields records in order, with their positions, so that a run over files is as accountable as
//! one over a topic. A file that cannot be read is an error; a bad record is quarantined, or an error if the
//! caller requires that (see [`OnBad`]). Compressed text is refused: decompress it first.

pub(crate) mod cells;
mod codes;
mod documents;
mod docx;
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
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::format::{Diagnosis, FormatError};
use crate::store::{StoreConfig, StoreError};

pub use codes::{Codes, CodesError, Names, Slot, is_code};
pub use documents::{Document, DocumentId, Documents, DocumentsConfig};
pub use docx::docx_to_text;
pub use follow::{Follow, Followed};
pub use inputs::{Input, find};
pub use jsonl::JsonlConfig;
pub use messages::{
    Archive, ArchiveEntry, ArchiveLimits, BatchSegment, Compressor, FilePayload, FileRecords, Framing, Gap,
    MessageFile, MessageFiles, MessageFilesConfig, Packing, Payloads, Piece, decompress,
    is_compressed_or_archive,
};
pub use parquet::{Columns, ParquetConfig};
pub use text::TextFolderConfig;

/// Records in the order of their files and of their positions in each.
pub type Records = Box<dyn Iterator<Item = Result<Record, FileError>> + Send>;

/// How to treat a record that cannot be read. Its content is dropped in either case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnBad {
    /// Yields a quarantined record and continues.
    #[default]
    Quarantine,
    /// Yields an error with the position and ends.
    Fail,
}

/// The files to read: `kind = "jsonl"`, `"text"` or `"parquet"`. This enum is the list of file sources.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum FileSourceConfig {
    /// One JSON object per line.
    Jsonl(JsonlConfig),
    /// One note per file.
    Text(TextFolderConfig),
    /// One note per row.
    Parquet(ParquetConfig),
}

impl FileSourceConfig {
    /// Lists the files and starts to read.
    ///
    /// # Errors
    /// [`FileError`] if the input does not exist, or its settings or columns do not fit.
    pub fn build(&self) -> Result<Records, FileError> {
        match self {
            Self::Jsonl(config) => config.build(),
            Self::Text(config) => config.build(),
            Self::Parquet(config) => config.build(),
        }
    }
}

impl FileSourceConfig {
    /// Returns the topics of its records: the names of its files, or of the folder of plain text.
    ///
    /// # Errors
    /// [`FileError`] if the input does not exist.
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

    /// Returns the file or folder to read.
    pub fn input(&self) -> &Path {
        match self {
            Self::Jsonl(config) => &config.input,
            Self::Text(config) => &config.input,
            Self::Parquet(config) => &config.input,
        }
    }

    /// Returns how chains are named, the store of the list of codes, and the input's id in it.
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

/// Why files cannot be read. Messages name files, lines, columns and byte offsets, never their content.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The system refused an operation.
    #[error("{}: cannot {doing}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The operation.
        doing: &'static str,
        /// The cause.
        source: io::Error,
    },
    /// The folder has no file of the kind.
    #[error("{}: no file ending in {endings}; check `input`", path.display())]
    NoFiles {
        /// The folder.
        path: PathBuf,
        /// The expected endings.
        endings: String,
    },
    /// The file is compressed.
    #[error("{}: is compressed; decompress it first (gzip -d, zstd -d)", path.display())]
    Compressed {
        /// The file.
        path: PathBuf,
    },
    /// The extension shows that the file is of another kind.
    #[error("{}: {problem}", path.display())]
    Kind {
        /// The file.
        path: PathBuf,
        /// The actual kind, and what to do.
        problem: &'static str,
    },
    /// A followed file became shorter than the part that was read.
    #[error("{}: has {length} bytes, but {read} were read before; a followed file must only grow: restore it, or start over with another file", path.display())]
    Shorter {
        /// The file.
        path: PathBuf,
        /// Its length in bytes.
        length: u64,
        /// Number of bytes read before.
        read: u64,
    },
    /// A record that cannot be read, under [`OnBad::Fail`].
    #[error(
        "{file}: {place} {number}: {diagnosis}; correct it, or quarantine bad records instead of failing"
    )]
    Record {
        /// The file.
        file: String,
        /// The counted unit: `line`, `row` or `file`.
        place: &'static str,
        /// Its number, from 1.
        number: u64,
        /// The problem.
        diagnosis: Diagnosis,
    },
    /// A Parquet file cannot be opened or decoded.
    #[error("{}: {doing}: {problem}", path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// The operation.
        doing: &'static str,
        /// The reader's message about the structure.
        problem: String,
    },
    /// A column is missing or has an unsuitable type.
    #[error("{}: `columns.{field}`: column \"{column}\" {problem}", path.display())]
    Column {
        /// The file.
        path: PathBuf,
        /// The field that is mapped to it.
        field: String,
        /// The column.
        column: String,
        /// The problem, and the existing columns.
        problem: String,
    },
    /// A setting of a source is invalid.
    #[error("key `source.{key}`: {problem}")]
    Setting {
        /// The key.
        key: &'static str,
        /// The problem, and what to do.
        problem: &'static str,
    },
    /// The store of the input failed.
    #[error("key `source.store`: {0}")]
    Store(StoreError),
    /// A file cannot be read at the moment.
    #[error("{file}: cannot be read: {kind}; fix the cause and run again")]
    Unreadable {
        /// The file's code, or its name if chains are named by files.
        file: String,
        /// The cause.
        kind: io::ErrorKind,
    },
    /// The list of files and codes cannot be used.
    #[error("key `source.codes`: {0}")]
    Codes(CodesError),
    /// The format's settings are invalid.
    #[error("`format`: {0}")]
    Format(#[from] FormatError),
}

// Without `#[source]`, which would print the cause twice.
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

    /// Returns the file or folder that the error is about.
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

    /// Replaces the file's own path in the error by `place`, a file's code or a folder.
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
    /// Returns the record of a parsed payload, or this policy's error for a bad one.
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
