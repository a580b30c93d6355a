//! Begins a dataset, or continues it by the plan that it was begun with.

use anyhow::Context as _;
use lethe_connectors::files::Names;
use lethe_connectors::sink::{BEGUN, encode_manifest};
use lethe_connectors::store::{Store, StoreError};
use lethe_connectors::tables::{EARLIER_PART_BYTES, PART_BYTES, TablesConfig};
use serde_json::{Map, Value};

use super::plan;
use crate::exit::{Coded, Failure};
use crate::pipeline::EngineVersion;

/// The plan of a dataset.
pub(super) struct Begun {
    /// The digest of the configuration.
    pub(super) digest: String,
    /// The approximate amount of text per part.
    pub(super) part_bytes: u64,
}

/// Records the configuration in a new dataset, and refuses a dataset of another one.
///
/// # Errors
/// [`Failure::Halted`] if the dataset is of another configuration; the error of the store.
pub(super) async fn begin(
    store: &dyn Store,
    engine_version: &EngineVersion,
    tables: &TablesConfig,
) -> anyhow::Result<Begun> {
    let plan = |part_bytes| Begun {
        digest: plan::digest(&engine_version.fingerprints, tables, part_bytes),
        part_bytes,
    };
    let current = plan(tables.part_bytes.unwrap_or(PART_BYTES));
    let entries = engine_version.fingerprints.entries();
    let mut begun: Map<String, Value> = entries
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect();
    begun.insert("columns".to_owned(), serde_json::to_value(&tables.columns)?);
    if tables.naming() == Names::Codes {
        begun.insert("names".to_owned(), "codes".into());
    }
    if let Some(query) = plan::query(tables) {
        begun.insert("query".to_owned(), query);
    }
    if let Some(version) = plan::version(tables) {
        begun.insert("table".to_owned(), version);
    }
    begun.insert("digest".to_owned(), current.digest.as_str().into());
    match store.create(BEGUN, encode_manifest(&begun)?).await {
        Ok(()) => return Ok(current),
        Err(StoreError::Exists(_)) => {}
        Err(error) => return Err(error).context("cannot write to the output store"),
    }
    let was: Map<String, Value> = serde_json::from_slice(&store.read(BEGUN).await?)
        .with_context(|| format!("{BEGUN}: not a description of a backfill"))?;
    if was.get("digest") == begun.get("digest") {
        return Ok(current);
    }
    let earlier = plan(EARLIER_PART_BYTES);
    if tables.part_bytes.is_none() && was.get("digest").and_then(Value::as_str) == Some(&*earlier.digest) {
        tracing::info!(
            "the dataset was begun with the earlier default `part_bytes = {EARLIER_PART_BYTES}` and keeps it; a new dataset has {PART_BYTES}"
        );
        return Ok(earlier);
    }
    if was.get("scheme") != begun.get("scheme") {
        return Err(Coded(
            Failure::Halted,
            format!(
                "{}: begun by version {} of Lethe, whose fingerprints this version cannot compare; finish it with that version, or write to a new dataset",
                store.describe(),
                was.get("program").and_then(Value::as_str).unwrap_or("unknown")
            ),
        )
        .into());
    }
    let other: Vec<&str> = begun
        .iter()
        .filter(|(name, value)| *name != "digest" && was.get(*name) != Some(*value))
        .map(|(name, _)| name.as_str())
        .collect();
    let other = if other.is_empty() {
        vec!["settings of `[backfill]`, such as `part_bytes` and `unit_bytes`"]
    } else {
        other
    };
    Err(Coded(
        Failure::Halted,
        format!(
            "{}: made by another configuration ({}); write to a new dataset, so that rows of both do not mix",
            store.describe(),
            other.join(", ")
        ),
    )
    .into())
}
