//! Reconciles a backfill: rows of every unit against rows of every file. It reads the files themselves rather
//! than a run's memory, so that it also covers the files of other runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use futures::{StreamExt as _, TryStreamExt as _};
use lethe_connectors::sink::{
    BEGUN, Entry, PartFooter, ShardManifest, Totals, WholeManifest, digest_whole, encode_manifest, read_part,
    shard_path,
};
use lethe_connectors::store::{Store, StoreError};
use serde::Serialize;

use super::plan::Job;
use crate::cli::Shard;

/// Files that are read in parallel.
const ASKING: usize = 16;

/// Reads the files of these units, checks that they are complete and consistent, writes the manifest, and
/// returns the sums. `digests` has the parts that this run wrote; other parts are read.
///
/// # Errors
/// If the files of a unit are not consecutive, or the store fails.
pub(super) async fn write(
    store: &Arc<dyn Store>,
    jobs: &[Job],
    broken: BTreeMap<String, String>,
    plan: &str,
    shard: Shard,
    digests: &BTreeMap<String, String>,
) -> anyhow::Result<Totals> {
    let known = known(store.as_ref(), plan, shard, digests).await?;
    let mut objects: BTreeMap<String, Entry> = BTreeMap::new();
    let mut totals = Totals::default();
    for job in jobs {
        let name = &*job.unit.shown;
        let read = futures::stream::iter(job.done.iter().map(|part| {
            let (store, path) = (Arc::clone(store), part.path());
            let known = known.get(&path).cloned();
            async move {
                let footer = read_part(store.as_ref(), &path).await?;
                let digest = match known {
                    Some(digest) => digest,
                    None => digest_whole(store.as_ref(), &path).await?,
                };
                anyhow::Ok((path, footer, digest))
            }
        }));
        let parts: Vec<(String, PartFooter, String)> = read.buffered(ASKING).try_collect().await?;
        let mut sums = Totals {
            units: 1,
            ..Totals::default()
        };
        let entry = objects.entry(name.to_owned()).or_default();
        for (path, footer, digest) in parts {
            if footer.object != *name
                || footer.version != job.unit.object.version
                || footer.first != sums.rows_in
            {
                bail!(
                    "{name}: its files are not consecutive; find out who changed this dataset, and write to a new one"
                );
            }
            sums.add_part(&footer);
            entry.parts.insert(path, digest);
        }
        totals.add(&sums);
        entry.version.clone_from(&job.unit.object.version);
        entry.totals.add(&sums);
    }
    let own = ShardManifest {
        plan: plan.to_owned(),
        shard: shard.this,
        shards: shard.of,
        totals,
        broken,
        objects,
    };
    create(store.as_ref(), &own.path(), &own, &own.without_digests()).await?;
    whole(store.as_ref(), plan, shard.of).await?;
    Ok(totals)
}

/// Returns the digests of parts that need not be read: those that this run wrote, and those in this shard's
/// earlier manifest.
async fn known(
    store: &dyn Store,
    plan: &str,
    shard: Shard,
    made: &BTreeMap<String, String>,
) -> anyhow::Result<BTreeMap<String, String>> {
    let mut known = match store.read(&shard_path(plan, shard.this, shard.of)).await {
        Ok(bytes) => serde_json::from_slice::<ShardManifest>(&bytes).map_or_else(
            |_| BTreeMap::new(),
            |manifest| {
                manifest
                    .objects
                    .into_values()
                    .flat_map(|entry| entry.parts)
                    .collect()
            },
        ),
        Err(StoreError::NotFound(_)) => BTreeMap::new(),
        Err(error) => return Err(error.into()),
    };
    known.extend(made.clone());
    Ok(known)
}

/// Writes the manifest of all shards, if every shard has finished. If several shards do so, the first one
/// wins.
async fn whole(store: &dyn Store, plan: &str, shards: usize) -> anyhow::Result<()> {
    let mut read: Vec<ShardManifest> = Vec::new();
    let mut files = BTreeMap::new();
    for shard in 0..shards {
        let path = shard_path(plan, shard, shards);
        let bytes = match store.read(&path).await {
            Ok(bytes) => bytes,
            Err(StoreError::NotFound(_)) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        read.push(serde_json::from_slice(&bytes).with_context(|| format!("{path}: not a manifest"))?);
        files.insert(path.clone(), digest_whole(store, &path).await?);
    }
    files.insert(BEGUN.to_owned(), digest_whole(store, BEGUN).await?);
    let sum = WholeManifest {
        files,
        ..WholeManifest::of(plan, &read)
    };
    match store.read(&sum.path()).await {
        Ok(bytes) if is_of_other_shards(&bytes, &sum) => Ok(()),
        _ => create(store, &sum.path(), &sum, &sum.without_digests()).await,
    }
}

/// Returns whether a manifest has the same units in another number of shards. It stays: the dataset was complete
/// before, and these shards found nothing to do.
fn is_of_other_shards(bytes: &[u8], sum: &WholeManifest) -> bool {
    serde_json::from_slice::<WholeManifest>(bytes).is_ok_and(|other| {
        other.shards != sum.shards && other.totals == sum.totals && other.broken == sum.broken
    })
}

/// Writes a manifest, unless the same one exists, or one that an earlier version wrote for the same files.
async fn create(
    store: &dyn Store,
    path: &str,
    manifest: &impl Serialize,
    earlier: &impl Serialize,
) -> anyhow::Result<()> {
    let bytes = encode_manifest(manifest)?;
    match store.create(path, bytes.clone()).await {
        Ok(()) => Ok(()),
        Err(StoreError::Exists(_)) => {
            let there = store.read(path).await?;
            if there == bytes || there == encode_manifest(earlier)? {
                return Ok(());
            }
            bail!(
                "{path}: already exists with other content; find out who changed this dataset, and write to a new one"
            )
        }
        Err(error) => Err(error.into()),
    }
}
