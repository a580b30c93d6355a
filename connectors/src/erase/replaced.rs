//! The files that erasures replaced, for readers that know earlier versions of them.

use std::collections::BTreeSet;

use super::record::{completion_name, parse, record_name};
use crate::sink::{ChainError, digest_of};
use crate::store::{Store, StoreError};

/// The files that erasures replaced, from one record on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replaced {
    /// The number of the next record.
    pub next: u32,
    /// The files, without repetition.
    pub files: BTreeSet<String>,
    /// The last record, if it has no completion: its files may still be replaced.
    pub unfinished: Option<String>,
}

impl Replaced {
    /// Returns an id of the records of a dataset, which follows from the first of them; `None` without a record.
    ///
    /// # Errors
    /// The store's error.
    pub async fn id(store: &dyn Store) -> Result<Option<String>, StoreError> {
        match store.read(&record_name(0)).await {
            Ok(bytes) => Ok(Some(digest_of(&bytes))),
            Err(StoreError::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads the records from number `from` on, and no earlier one.
    ///
    /// # Errors
    /// [`ChainError::Footer`] for a damaged record, or the store's error.
    pub async fn since(store: &dyn Store, from: u32) -> Result<Self, ChainError> {
        let read = async |name: &str| match store.read(name).await {
            Ok(bytes) => Ok(Some(bytes)),
            Err(StoreError::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        };
        let mut replaced = Self {
            next: from,
            ..Self::default()
        };
        loop {
            let name = record_name(replaced.next);
            let Some(bytes) = read(&name).await? else {
                return Ok(replaced);
            };
            let record = parse(&bytes, replaced.next).map_err(|damage| ChainError::Footer {
                name: name.clone(),
                why: damage.to_string(),
            })?;
            if read(&completion_name(replaced.next)).await?.is_none() {
                replaced.unfinished = Some(name);
                return Ok(replaced);
            }
            replaced
                .files
                .extend(record.files.into_iter().map(|file| file.path));
            replaced.next = replaced.next.saturating_add(1);
        }
    }
}
