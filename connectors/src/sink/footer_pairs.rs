//! The key-value pairs with the prefix `lethe.` in a Parquet file's footer, and what can be wrong with them.

use std::collections::HashMap;

use parquet::file::metadata::ParquetMetaData;

use super::{FORMAT, is_digest};

/// What is wrong with a file that Lethe should have written. No variant quotes a value of a row.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Damage {
    /// The footer lacks a pair.
    #[error("the footer lacks lethe.{key}")]
    MissingPair {
        /// The pair's key, without the prefix.
        key: String,
    },
    /// A pair of the footer has an invalid value.
    #[error("lethe.{key} of the footer is not {expected}")]
    Pair {
        /// The pair's key, without the prefix.
        key: String,
        /// What its value should be.
        expected: &'static str,
    },
    /// Another version of the program wrote the file.
    #[error("it has format {found}, but this program reads {supported}")]
    Format {
        /// The file's format.
        found: u64,
        /// The format that this version reads.
        supported: u32,
    },
    /// The file contradicts its footer or its name.
    #[error("{0}")]
    Contradiction(&'static str),
    /// A column is missing.
    #[error("it lacks the column {0}")]
    MissingColumn(String),
    /// A column has another type than the program writes, or a required one would have to be emptied.
    #[error("its column {column} {problem}")]
    Column {
        /// The column.
        column: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The Parquet library cannot read or write the columns. Its message could quote a value.
    #[error("its columns cannot be {0}")]
    Columns(&'static str),
}

impl Damage {
    /// The Parquet library cannot read the columns.
    pub(crate) const UNREADABLE: Self = Self::Columns("read");
}

/// The pairs of a footer by key, without the prefix.
pub(crate) struct FooterPairs<'a>(HashMap<&'a str, &'a str>);

impl<'a> FooterPairs<'a> {
    pub(crate) fn of(metadata: &'a ParquetMetaData) -> Self {
        let pairs = metadata
            .file_metadata()
            .key_value_metadata()
            .into_iter()
            .flatten();
        Self(
            pairs
                .filter_map(|pair| Some((pair.key.strip_prefix("lethe.")?, pair.value.as_deref()?)))
                .collect(),
        )
    }

    /// Returns a value; `None` if the footer lacks the pair.
    pub(crate) fn find(&self, key: &str) -> Option<String> {
        self.0.get(key).map(|value| (*value).to_owned())
    }

    /// Returns a value that every file has.
    pub(crate) fn text(&self, key: &str) -> Result<String, Damage> {
        self.find(key)
            .ok_or_else(|| Damage::MissingPair { key: key.to_owned() })
    }

    /// Returns a count that every file has.
    pub(crate) fn count(&self, key: &str) -> Result<u64, Damage> {
        // Counts of rows and offsets both fit in Kafka's signed offsets.
        let count = self
            .text(key)?
            .parse()
            .ok()
            .filter(|count| i64::try_from(*count).is_ok());
        count.ok_or_else(|| wrong(key, "a count"))
    }

    /// Returns a count that files of earlier versions lack; 0 for those.
    pub(crate) fn later_count(&self, key: &str) -> Result<u64, Damage> {
        self.find(key).map_or(Ok(0), |_| self.count(key))
    }

    /// Returns an offset that every file has.
    pub(crate) fn offset(&self, key: &str) -> Result<i64, Damage> {
        i64::try_from(self.count(key)?).map_err(|_| wrong(key, "an offset"))
    }

    /// Returns a SHA-256 digest; `None` if the footer lacks the pair.
    pub(crate) fn digest(&self, key: &str) -> Result<Option<String>, Damage> {
        match self.find(key) {
            Some(digest) if !is_digest(&digest) => Err(wrong(key, "a SHA-256 digest")),
            digest => Ok(digest),
        }
    }

    /// Checks that this version of the program reads the file's format.
    pub(crate) fn check_format(&self) -> Result<(), Damage> {
        match self.count("format")? {
            found if found == u64::from(FORMAT) => Ok(()),
            found => Err(Damage::Format {
                found,
                supported: FORMAT,
            }),
        }
    }
}

fn wrong(key: &str, expected: &'static str) -> Damage {
    Damage::Pair {
        key: key.to_owned(),
        expected,
    }
}

/// Returns the first contradiction whose check fails.
pub(crate) fn check_all(checks: impl IntoIterator<Item = (bool, &'static str)>) -> Result<(), Damage> {
    match checks.into_iter().find(|(is_sound, _)| !is_sound) {
        Some((_, why)) => Err(Damage::Contradiction(why)),
        None => Ok(()),
    }
}
