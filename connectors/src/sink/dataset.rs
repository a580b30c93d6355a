//! Compares all chains of a dataset with the policy that will write the next file of one of them.

use std::collections::BTreeMap;

use futures::{StreamExt as _, TryStreamExt as _, stream};

use super::{ChainError, ChainId, Fingerprints, read_link};
use crate::store::Store;

/// Number of footers read concurrently.
const AT_ONCE: usize = 8;

/// Checks the policy against the last file of every chain, since a new topic or partition has no file of its
/// own to compare with.
///
/// Skips files whose footers cannot be read: `lethe inspect` reports them, and the lane of such a chain
/// halts.
///
/// # Errors
/// [`ChainError::WeakerMode`] or [`ChainError::NewSurrogates`] without acknowledgement, or the store's error.
pub async fn check_dataset(store: &dyn Store, now: &Fingerprints) -> Result<(), ChainError> {
    // Names are sorted, so the last of each chain remains.
    let names = store.list("notes").await?.into_iter().map(|object| object.name);
    let last: BTreeMap<ChainId, String> = names
        .filter_map(|name| Some((ChainId::parse_notes(&name)?.0, name)))
        .collect();
    stream::iter(&last)
        .map(async |(chain, name)| match read_link(store, chain, name).await {
            Ok(tail) => tail.check_policy(now),
            Err(ChainError::Footer { .. }) => Ok(()),
            Err(error) => Err(error),
        })
        .buffer_unordered(AT_ONCE)
        .try_collect()
        .await
}
