//! Errors of tables. They name objects, columns and rows, never their content.

use crate::files::CodesError;
use crate::store::StoreError;

/// Why a table, or a part of it, cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The list of objects and their codes cannot be used.
    #[error("key `backfill.codes`: {0}")]
    Codes(CodesError),
    /// There is no table to read.
    #[error(
        "{place}: no table found (.parquet, .jsonl, .ndjson, .json, .csv, .tsv, or .gz and .zst of the last five); check `backfill.input` and `backfill.folder`, or set `backfill.format`"
    )]
    NoTables {
        /// Store and folder.
        place: String,
    },
    /// The configuration of the tables is invalid.
    #[error("key `backfill.{key}`: {problem}")]
    Setting {
        /// The key.
        key: String,
        /// The problem.
        problem: String,
    },
    /// A database, or the connection to it, failed.
    #[error("{place}: {problem}")]
    Database {
        /// The database.
        place: String,
        /// The problem, without what the server wrote about rows.
        problem: String,
    },
    /// The configuration of columns is invalid.
    #[error("key `backfill.columns.{key}`: {problem}")]
    Config {
        /// The key.
        key: String,
        /// The problem.
        problem: String,
    },
    /// A column does not exist or has an unsuitable type.
    #[error("{object}: `backfill.columns.{key}`: column `{column}` {problem}")]
    Column {
        /// The object.
        object: String,
        /// The key that refers to it.
        key: String,
        /// The column.
        column: String,
        /// The problem, and the existing columns.
        problem: String,
    },
    /// An object cannot be decoded from some position on.
    #[error("{object}: {problem}")]
    Broken {
        /// The object.
        object: String,
        /// The problem.
        problem: String,
    },
    /// An object has changed since it was listed.
    #[error("{object}: has changed since it was listed; run again when nothing writes to the input")]
    Changed {
        /// The object.
        object: String,
    },
}

// Without `#[source]`, which would print the cause twice.
impl From<CodesError> for TableError {
    fn from(error: CodesError) -> Self {
        Self::Codes(error)
    }
}

impl TableError {
    pub(super) fn broken(object: &str, problem: impl Into<String>) -> Self {
        Self::Broken {
            object: object.to_owned(),
            problem: problem.into(),
        }
    }

    /// Returns whether a retry would have the same result.
    pub const fn is_permanent(&self) -> bool {
        !matches!(
            self,
            Self::Store(_) | Self::Codes(CodesError::Store(_)) | Self::Changed { .. } | Self::Database { .. }
        )
    }
}
