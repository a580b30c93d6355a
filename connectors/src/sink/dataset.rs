//! All chains of a dataset, compared with the policy that is to write the next file of one of them.

use std::collections::BTreeMap;

use futures::{StreamExt as _, TryStreamExt as _, stream};

use super::{ChainError, ChainId, Fingerprints, read_link};
use crate::store::Store;

/// Footers that are read at a time.
const AT_ONCE: usize = 8;

/// Checks that a policy goes on as readers of the dataset expect, against the last file of every chain: a topic or partition
/// that is new has no file of its own to compare with.
///
/// Files whose footers cannot be read are passed over: `lethe inspect` reports them, and the lane that owns one halts.
///
/// # Errors
/// [`ChainError::WeakerMode`] or [`ChainError::NewSurrogates`], unless the configuration acknowledges it, or the store's error.
pub async fn check_dataset(store: &dyn Store, now: &Fingerprints) -> Result<(), ChainError> {
    // Names are sorted, so the last of each chain stays.
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
