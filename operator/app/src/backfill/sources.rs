//! Compares a backfill with its tables: which tables are missing from the dataset or have changed, and
//! whether all rows of each are there.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use anyhow::Context as _;
use lethe_connectors::sink::{BEGUN, PartName, object_id, read_part, unit_id};
use lethe_connectors::store::Store;
use lethe_connectors::tables::{Tables, TablesConfig, Unit};
use serde::Serialize;
use serde_json::{Map, Value};
use tokio::runtime::Handle;

use super::plan::groups;
use crate::exit::usage;
use crate::progress::Progress;

/// The most objects to name in the text output; JSON has all of them.
const SHOWN: usize = 10;

/// The result of a comparison with the tables. Objects have the names that the dataset uses.
#[derive(Debug, Default, Serialize)]
pub(crate) struct SourcesReport {
    /// Units of the tables.
    units: u64,
    /// Rows of the tables.
    rows: u64,
    /// Objects whose units are complete in the dataset.
    whole: u64,
    /// Objects that are missing or incomplete in the dataset.
    missing: BTreeSet<String>,
    /// Objects in the dataset that are of another version, or of another configuration.
    changed: BTreeSet<String>,
    /// Objects whose row counts differ: in the table, in the dataset.
    counts: BTreeMap<String, (u64, u64)>,
    /// Objects that cannot be read.
    unreadable: BTreeSet<String>,
    /// Files of the dataset whose objects no longer exist.
    gone: u64,
}

impl SourcesReport {
    /// Returns whether the dataset has every table completely.
    pub(crate) fn is_intact(&self) -> bool {
        self.missing.is_empty() && self.changed.is_empty() && self.counts.is_empty()
    }
}

impl fmt::Display for SourcesReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "sources: {} rows in {} units; {} objects are complete in the dataset",
            self.rows, self.units, self.whole
        )?;
        if self.gone > 0 {
            writeln!(f, "  {} files are of objects that no longer exist", self.gone)?;
        }
        for object in &self.unreadable {
            writeln!(f, "  cannot be read: {object}")?;
        }
        for (what, objects) in [
            (
                "missing or incomplete in the dataset; run `lethe backfill` again",
                &self.missing,
            ),
            (
                "changed since it was backfilled; write to a new dataset",
                &self.changed,
            ),
        ] {
            for object in objects.iter().take(SHOWN) {
                writeln!(f, "  FAULT: {object}: {what}")?;
            }
        }
        for (object, (there, here)) in &self.counts {
            writeln!(
                f,
                "  FAULT: {object}: {there} rows in the table, and {here} in the dataset"
            )?;
        }
        Ok(())
    }
}

/// Compares a dataset with the tables of a configuration. It reads every table completely, a slab of rows at
/// a time, and changes nothing.
///
/// # Errors
/// A usage error if the tables cannot be opened; errors of the store.
pub(crate) fn compare_sources(
    config: &TablesConfig,
    store: &dyn Store,
    runtime: &Handle,
) -> anyhow::Result<SourcesReport> {
    let tables = Tables::open(config, runtime.clone()).map_err(usage)?;
    let begun = runtime
        .block_on(store.read(BEGUN))
        .with_context(|| format!("{BEGUN}: this dataset is not a backfill"))?;
    let begun: Map<String, Value> = serde_json::from_slice(&begun)
        .with_context(|| format!("{BEGUN}: not a description of a backfill"))?;
    let digest = begun.get("digest").and_then(Value::as_str).unwrap_or_default();
    let codes = config.open_codes(runtime.clone())?;
    let mut found = tables.units(None)?;
    let mut report = SourcesReport::default();
    if let Some(codes) = &codes {
        // An object without a code was never backfilled. The report uses its number, since its name may
        // identify a patient.
        for (number, unit) in found.units.iter_mut().enumerate() {
            unit.shown = match codes.slot(&unit.object.name) {
                Some(slot) => Arc::clone(&slot.topic),
                None => format!("object {number} without a code").into(),
            };
        }
    } else {
        report
            .unreadable
            .extend(found.broken.iter().map(|(object, _)| object.clone()));
    }
    let mut parts: BTreeMap<(String, String), Vec<PartName>> = BTreeMap::new();
    for object in runtime.block_on(store.list(PartName::folder()))? {
        if let Some(name) = PartName::parse(&object.name) {
            let unit = (name.object.clone(), name.unit.clone());
            parts.entry(unit).or_default().push(name);
        }
    }
    let mut progress = Progress::start("reading the tables", "units", Some(found.units.len() as u64));
    let key = |unit: &Unit| {
        let id = unit_id(&unit.shown, &unit.object.version, &groups(unit), digest);
        (object_id(&unit.shown), id)
    };
    let keys: BTreeSet<(String, String)> = found.units.iter().map(key).collect();
    // Units of another version of an object, or of another configuration.
    let stale: BTreeSet<&String> = parts
        .keys()
        .filter(|there| !keys.contains(*there))
        .map(|(object, _)| object)
        .collect();
    let mut objects = BTreeSet::new();
    for unit in &found.units {
        objects.insert(unit.shown.to_string());
        report.units += 1;
        let (object, id) = key(unit);
        if let Some(names) = parts.get(&(object.clone(), id)) {
            look(&tables, unit, names, store, runtime, &mut report)?;
        } else if stale.contains(&object) {
            report.changed.insert(unit.shown.to_string());
        } else {
            report.missing.insert(unit.shown.to_string());
        }
        progress.add(1);
    }
    progress.finish();
    let ids: BTreeSet<String> = objects.iter().map(|object| object_id(object)).collect();
    for ((object, _), names) in &parts {
        if !ids.contains(object) {
            report.gone += names.len() as u64;
        }
    }
    let bad = |object: &String| {
        report.missing.contains(object)
            || report.changed.contains(object)
            || report.counts.contains_key(object)
            || report.unreadable.contains(object)
    };
    report.whole = objects.iter().filter(|object| !bad(object)).count() as u64;
    Ok(report)
}

/// Compares the rows of one unit with those of its parts.
fn look(
    tables: &Tables,
    unit: &Unit,
    names: &[PartName],
    store: &dyn Store,
    runtime: &Handle,
    report: &mut SourcesReport,
) -> anyhow::Result<()> {
    let shown = unit.shown.to_string();
    let last = names.iter().max_by_key(|name| name.part);
    let Some(last) = last.filter(|last| last.last) else {
        report.missing.insert(shown);
        return Ok(());
    };
    let here = runtime.block_on(read_part(store, &last.path()))?.next;
    let Ok((_, slabs)) = tables.read(unit, 0) else {
        report.unreadable.insert(shown);
        return Ok(());
    };
    let mut there = 0;
    for slab in slabs {
        match slab {
            Ok(slab) => there += slab.record.num_rows() as u64,
            Err(_) => {
                report.unreadable.insert(shown);
                return Ok(());
            }
        }
    }
    report.rows += there;
    if there != here {
        report.counts.insert(shown, (there, here));
    }
    Ok(())
}
