//! What can be wrong with a table. Names objects, columns and rows; never what stands there.

use crate::files::CodesError;
use crate::store::StoreError;

/// Why a table, or a part of it, cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// The store does not do what it is asked.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The list of objects and their codes cannot be used.
    #[error("key `backfill.codes`: {0}")]
    Codes(CodesError),
    /// Nothing to read.
    #[error(
        "{place}: no table there (.parquet, .jsonl, .ndjson, .json, .csv, .tsv, or .gz and .zst of the last five); check `backfill.input` and `backfill.folder`, or say `backfill.format`"
    )]
    NoTables {
        /// Store and folder.
        place: String,
    },
    /// The configuration of columns.
    #[error("key `backfill.columns.{key}`: {problem}")]
    Config {
        /// The key.
        key: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A column that is not there, or cannot serve.
    #[error("{object}: `backfill.columns.{key}`: column `{column}` {problem}")]
    Column {
        /// The object.
        object: String,
        /// What it is named as.
        key: String,
        /// The column.
        column: String,
        /// What is wrong and what there is.
        problem: String,
    },
    /// An object that cannot be decoded, from some place on.
    #[error("{object}: {problem}")]
    Broken {
        /// The object.
        object: String,
        /// What is wrong.
        problem: String,
    },
    /// An object that is another than it was when it was listed.
    #[error("{object}: has changed since it was listed; run again, when nobody writes there")]
    Changed {
        /// The object.
        object: String,
    },
}

// By hand: an error with a source would print its cause twice.
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

    /// Whether it will be the same when it is tried again.
    pub const fn is_permanent(&self) -> bool {
        !matches!(
            self,
            Self::Store(_) | Self::Codes(CodesError::Store(_)) | Self::Changed { .. }
        )
    }
}
