//! Reads chains as logs of files: which chains there are, and their files one after the other from any offset on.

use std::collections::BTreeSet;
use std::time::SystemTime;

use parquet::file::metadata::ParquetMetaData;

use super::footer::read_metadata;
use super::{ChainError, ChainId, Footer};
use crate::store::{Store, StoreError};

/// The number of attempts to read a file that an erasure replaces at the same time.
const ATTEMPTS: usize = 5;

/// A Parquet file of a chain, without its rows.
#[derive(Clone, Debug)]
pub struct FileHead {
    /// Its name.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
    /// When it was written, according to the store.
    pub modified: SystemTime,
    /// Its Parquet metadata: schema, row groups and statistics.
    pub metadata: ParquetMetaData,
}

/// Returns the chains of a store. Reads the names of folders, not those of files.
///
/// # Errors
/// The store's error.
pub async fn find_chains(store: &dyn Store) -> Result<BTreeSet<ChainId>, StoreError> {
    let mut chains = BTreeSet::new();
    for topic in store.folders("notes").await? {
        for folder in store.folders(&topic).await? {
            let first = format!("{folder}/{:020}.parquet", 0);
            chains.extend(ChainId::parse_notes(&first).map(|(chain, _)| chain));
        }
    }
    Ok(chains)
}

/// Returns the notes file of a chain that begins at this offset, and its footer; `None` if no file does, which is
/// the end of the chain if the previous file ends there.
///
/// # Errors
/// [`ChainError::Footer`] if it is not a file of the chain, or the store's error.
pub async fn read_notes_head(
    store: &dyn Store,
    chain: &ChainId,
    first: i64,
) -> Result<Option<(FileHead, Footer)>, ChainError> {
    let name = chain.notes_name(first);
    let head = match read_head(store, &name).await {
        Ok(head) => head,
        Err(ChainError::Store(StoreError::NotFound(_))) => return Ok(None),
        Err(error) => return Err(error),
    };
    let damaged = |why: String| ChainError::Footer {
        name: name.clone(),
        why,
    };
    let footer = Footer::from_metadata(&head.metadata).map_err(|damage| damaged(damage.to_string()))?;
    if footer.chain != *chain || footer.first != first {
        let why = format!(
            "the footer belongs to {} from offset {}",
            footer.chain, footer.first
        );
        return Err(damaged(why));
    }
    Ok(Some((head, footer)))
}

/// Reads size, time and metadata of a Parquet file.
///
/// # Errors
/// [`ChainError::Footer`] if it is not a Parquet file, or the store's error.
pub async fn read_head(store: &dyn Store, name: &str) -> Result<FileHead, ChainError> {
    let mut attempts = 1;
    loop {
        let (metadata, size) = read_metadata(store, name).await?;
        let after = store.look(name).await?;
        // If an erasure replaced it between the two, they are of two versions.
        if size == after.size {
            return Ok(FileHead {
                name: name.to_owned(),
                size,
                modified: after.modified,
                metadata,
            });
        }
        // An erasure replaces a file once, so that a file that changes more often is no file of a chain.
        if attempts == ATTEMPTS {
            return Err(ChainError::Footer {
                name: name.to_owned(),
                why: "it changes while it is read".to_owned(),
            });
        }
        attempts += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Memory;
    use bytes::Bytes;

    #[tokio::test]
    async fn chains_are_found_by_their_folders() {
        let store = Memory::default();
        let chains = [
            ChainId::new("a", 0),
            ChainId::new("a", 11),
            ChainId::new("b/c", 2),
        ];
        for chain in &chains {
            for first in [0, 7, 1 << 40] {
                store
                    .create(&chain.notes_name(first), Bytes::new())
                    .await
                    .unwrap();
            }
        }
        for stray in [
            "notes/topic=a/other/1.parquet",
            "notes/file",
            "audit/topic=z/partition=0/x",
        ] {
            store.create(stray, Bytes::new()).await.unwrap();
        }
        assert_eq!(find_chains(&store).await.unwrap(), BTreeSet::from(chains));
        assert_eq!(find_chains(&Memory::default()).await.unwrap(), BTreeSet::new());
    }
}
