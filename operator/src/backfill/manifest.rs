//! What a backfill did, reconciled: rows of every unit in, rows of every file out. Read from the files themselves, not from
//! what a run remembers, so that it holds for what other runs made as well.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use futures::{StreamExt as _, TryStreamExt as _};
use lethe_connectors::sink::{PartFooter, read_part};
use lethe_connectors::store::{Store, StoreError};
use serde::{Deserialize, Serialize};

use super::plan::Job;
use crate::cli::Shard;

const FOLDER: &str = "manifest";
/// Footers that are asked for at the same time.
const ASKING: usize = 16;

/// Sums over units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Totals {
    pub(super) units: u64,
    pub(super) files: u64,
    /// Rows that the units' files say they stand for, one after the other without a gap: rows in.
    pub(super) rows_in: u64,
    /// Rows in the files: rows out.
    pub(super) rows_out: u64,
    pub(super) redacted: u64,
    pub(super) quarantined: u64,
    pub(super) texts: u64,
    pub(super) text_bytes: u64,
    pub(super) identifiers: u64,
    pub(super) spans: u64,
    pub(super) review: u64,
}

impl Totals {
    fn add(&mut self, other: &Self) {
        let pairs = [
            (&mut self.units, other.units),
            (&mut self.files, other.files),
            (&mut self.rows_in, other.rows_in),
            (&mut self.rows_out, other.rows_out),
            (&mut self.redacted, other.redacted),
            (&mut self.quarantined, other.quarantined),
            (&mut self.texts, other.texts),
            (&mut self.text_bytes, other.text_bytes),
            (&mut self.identifiers, other.identifiers),
            (&mut self.spans, other.spans),
            (&mut self.review, other.review),
        ];
        for (sum, more) in pairs {
            *sum += more;
        }
    }
}

/// One object, as far as this shard has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    version: String,
    #[serde(flatten)]
    totals: Totals,
}

/// What one shard did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ShardManifest {
    plan: String,
    shard: usize,
    shards: usize,
    totals: Totals,
    /// Objects that could not be read to their ends, and why. What was read of them before is out, and counted.
    broken: BTreeMap<String, String>,
    objects: BTreeMap<String, Entry>,
}

/// What all shards did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct WholeManifest {
    plan: String,
    shards: usize,
    totals: Totals,
    broken: BTreeMap<String, String>,
}

/// Reads what lies of these units, checks that it is all and fits together, and writes it down. The sums.
///
/// # Errors
/// If files of a unit do not follow one another, or the store fails.
pub(super) async fn write(
    store: &Arc<dyn Store>,
    jobs: &[Job],
    broken: BTreeMap<String, String>,
    plan: &str,
    shard: Shard,
) -> anyhow::Result<Totals> {
    let mut objects: BTreeMap<String, Entry> = BTreeMap::new();
    let mut totals = Totals::default();
    for job in jobs {
        let name = &*job.unit.shown;
        let read = futures::stream::iter(job.done.iter().map(|part| {
            let (store, path) = (Arc::clone(store), part.path());
            async move { read_part(store.as_ref(), &path).await }
        }));
        let footers: Vec<PartFooter> = read.buffered(ASKING).try_collect().await?;
        let mut sums = Totals {
            units: 1,
            ..Totals::default()
        };
        for footer in &footers {
            if footer.object != *name
                || footer.version != job.unit.object.version
                || footer.first != sums.rows_in
            {
                bail!(
                    "{name}: its files do not follow one another; write to a new dataset, and find out who changed this one"
                );
            }
            sums.files += 1;
            sums.rows_in = footer.next;
            sums.rows_out += footer.redacted + footer.quarantined;
            sums.redacted += footer.redacted;
            sums.quarantined += footer.quarantined;
            sums.texts += footer.texts;
            sums.text_bytes += footer.text_bytes;
            sums.identifiers += footer.identifiers;
            sums.spans += footer.spans;
            sums.review += footer.review;
        }
        totals.add(&sums);
        let entry = objects.entry(name.to_owned()).or_default();
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
    create(store.as_ref(), &path_of(plan, shard.this, shard.of), &own).await?;
    whole(store.as_ref(), plan, shard.of).await?;
    Ok(totals)
}

fn path_of(plan: &str, shard: usize, shards: usize) -> String {
    format!("{FOLDER}/{plan}/shard-{shard}-of-{shards}.json")
}

/// Writes the sum of all shards, if every one of them is through. Several may find so: one of them is first.
async fn whole(store: &dyn Store, plan: &str, shards: usize) -> anyhow::Result<()> {
    let mut sum = WholeManifest {
        plan: plan.to_owned(),
        shards,
        totals: Totals::default(),
        broken: BTreeMap::new(),
    };
    for shard in 0..shards {
        let bytes = match store.read(&path_of(plan, shard, shards)).await {
            Ok(bytes) => bytes,
            Err(StoreError::NotFound(_)) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let own: ShardManifest = serde_json::from_slice(&bytes)
            .with_context(|| format!("{}: is no manifest", path_of(plan, shard, shards)))?;
        sum.totals.add(&own.totals);
        sum.broken.extend(own.broken);
    }
    create(store, &format!("{FOLDER}/{plan}.json"), &sum).await
}

/// Writes a manifest, unless one that says the same is there.
async fn create(store: &dyn Store, path: &str, manifest: &impl Serialize) -> anyhow::Result<()> {
    let mut bytes = serde_json::to_vec_pretty(manifest)?;
    bytes.push(b'\n');
    match store.create(path, bytes.clone().into()).await {
        Ok(()) => Ok(()),
        Err(StoreError::Exists(_)) if store.read(path).await? == bytes => Ok(()),
        Err(StoreError::Exists(_)) => bail!(
            "{path}: is there and says something else; write to a new dataset, and find out who changed this one"
        ),
        Err(error) => Err(error.into()),
    }
}
