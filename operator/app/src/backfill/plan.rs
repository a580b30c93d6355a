//! The work to do: the units of all tables, this shard's share of them, and the parts that exist already.

use std::collections::{BTreeMap, BTreeSet};

use lethe_connectors::sink::{Fingerprints, PartName, object_id, unit_id};
use lethe_connectors::tables::{TableVersion, TablesConfig, Unit};
use lethe_core::{fingerprint, hex};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::cli::Shard;

/// A unit, and the names of its parts.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) unit: Unit,
    /// Identifies the object, the configuration and everything else that determines the rows.
    pub(super) object: String,
    pub(super) id: String,
    /// The existing parts, from the first on without a gap.
    pub(super) done: Vec<PartName>,
}

impl Job {
    /// Returns whether all parts exist.
    pub(super) fn is_done(&self) -> bool {
        self.done.last().is_some_and(|part| part.last)
    }

    /// Returns the name of a part.
    pub(super) fn part(&self, part: u32, last: bool) -> PartName {
        PartName {
            object: self.object.clone(),
            unit: self.id.clone(),
            part,
            last,
        }
    }
}

/// The whole work.
pub(super) struct Plan {
    /// This shard's jobs.
    pub(super) jobs: Vec<Job>,
    /// Identifies the units of all shards.
    pub(super) digest: String,
    /// Objects whose files in the output are of another version than the current one, and the number of files
    /// of each.
    pub(super) stale: Vec<(String, usize)>,
    /// Files of the output whose object no longer exists.
    pub(super) gone: usize,
}

/// Returns the configuration's digest: everything that determines the rows, except the table itself.
pub(super) fn digest(fingerprints: &Fingerprints, tables: &TablesConfig, part_bytes: u64) -> String {
    // The location of the tables is left out, since they may move.
    let mut configuration = json!({
        "made_by": fingerprints.entries(),
        "columns": tables.columns,
        "csv": tables.csv,
        "format": tables.format,
        "names": tables.naming(),
        "max_note_bytes": tables.max_note_bytes,
        "unit_bytes": tables.unit_bytes,
        "part_bytes": part_bytes,
    });
    if let Some(query) = query(tables) {
        configuration["query"] = query;
    }
    if let Some(version) = version(tables) {
        configuration["table"] = version;
    }
    fingerprint(&configuration)
}

/// Describes the version of the table that is read. Another version can have the same rows in other files, and would add
/// them again. The place of the table and its catalogue are left out, since they may move.
pub(super) fn version(tables: &TablesConfig) -> Option<Value> {
    Some(match tables.table.as_ref()? {
        TableVersion::Delta { version } => json!({ "kind": "delta", "version": version }),
        TableVersion::Iceberg { snapshot, .. } => json!({ "kind": "iceberg", "snapshot": snapshot }),
    })
}

/// Describes the query whose rows are the table. The text itself is left out, since it may contain a value.
pub(super) fn query(tables: &TablesConfig) -> Option<Value> {
    let database = tables.database.as_ref()?;
    Some(fingerprint(&json!({ "query": database.query.trim(), "key": database.key })).into())
}

/// Describes the row groups of a unit.
pub(super) fn groups(unit: &Unit) -> String {
    unit.groups
        .as_ref()
        .map(|groups| format!("{}..{}", groups.start, groups.end))
        .unwrap_or_default()
}

/// Plans `units` under a configuration's digest; `there` are the files of the output.
pub(super) fn plan(units: Vec<Unit>, digest: &str, there: &[PartName], shard: Shard) -> Plan {
    let mut found: BTreeMap<(&str, &str), BTreeMap<u32, &PartName>> = BTreeMap::new();
    for part in there {
        let parts = found.entry((&part.object, &part.unit)).or_default();
        parts.insert(part.part, part);
    }
    let mut all = Sha256::new();
    let (mut jobs, mut objects, mut ids) = (Vec::new(), BTreeMap::new(), BTreeSet::new());
    for (at, unit) in units.into_iter().enumerate() {
        let object = object_id(&unit.shown);
        let id = unit_id(&unit.shown, &unit.object.version, &groups(&unit), digest);
        all.update(id.as_bytes());
        objects.insert(object.clone(), unit.shown.to_string());
        ids.insert(id.clone());
        if at % shard.of == shard.this {
            let parts = found.get(&(object.as_str(), id.as_str()));
            let done = (0..)
                .map_while(|part| Some((*parts?.get(&part)?).clone()))
                .collect();
            jobs.push(Job {
                unit,
                object,
                id,
                done,
            });
        }
    }
    let (mut stale, mut gone) = (BTreeMap::<String, usize>::new(), 0);
    for ((object, unit), parts) in &found {
        match objects.get(*object) {
            Some(_) if ids.contains(*unit) => {}
            Some(name) => *stale.entry(name.clone()).or_default() += parts.len(),
            None => gone += parts.len(),
        }
    }
    Plan {
        jobs,
        digest: hex(&all.finalize()).chars().take(16).collect(),
        stale: stale.into_iter().collect(),
        gone,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lethe_connectors::store::Object;
    use std::time::SystemTime;

    fn unit(name: &str, version: &str) -> Unit {
        Unit {
            shown: name.into(),
            object: Object {
                name: name.into(),
                size: 1,
                modified: SystemTime::UNIX_EPOCH,
                version: version.into(),
            },
            groups: None,
            keys: None,
            bytes: 1,
        }
    }

    const WHOLE: Shard = Shard { this: 0, of: 1 };

    #[test]
    fn shards_part_the_units_and_agree_on_the_whole() {
        let units: Vec<Unit> = (0..7).map(|n| unit(&n.to_string(), "v")).collect();
        let plans = [0, 1, 2].map(|this| plan(units.clone(), "c", &[], Shard { this, of: 3 }));
        assert_eq!(
            plans.iter().map(|plan| plan.jobs.len()).collect::<Vec<_>>(),
            [3, 2, 2]
        );
        assert!(plans.iter().all(|plan| plan.digest == plans[0].digest));
        let mut ids: Vec<_> = plans
            .iter()
            .flat_map(|plan| &plan.jobs)
            .map(|job| &job.id)
            .collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 7);
    }

    #[test]
    fn parts_count_from_the_first_without_a_gap_and_the_last_ends_a_unit() {
        let job = plan(vec![unit("a", "v")], "c", &[], WHOLE).jobs.remove(0);
        let there = |parts: &[(u32, bool)]| {
            let names: Vec<_> = parts.iter().map(|&(part, last)| job.part(part, last)).collect();
            let job = plan(vec![unit("a", "v")], "c", &names, WHOLE).jobs.remove(0);
            (job.done.len(), job.is_done())
        };
        assert_eq!(there(&[]), (0, false));
        assert_eq!(there(&[(0, false), (2, true)]), (1, false));
        assert_eq!(there(&[(0, false), (1, true)]), (2, true));
    }

    #[test]
    fn another_version_or_configuration_is_stale_and_an_object_that_is_gone_is_not() {
        let old = plan(vec![unit("a", "v"), unit("b", "v")], "c", &[], WHOLE);
        let names: Vec<_> = old.jobs.iter().map(|job| job.part(0, true)).collect();
        let now = plan(vec![unit("a", "w")], "c", &names, WHOLE);
        assert_eq!((now.stale, now.gone), (vec![("a".to_owned(), 1)], 1));
        assert!(!now.jobs[0].is_done());
        let other = plan(vec![unit("a", "v"), unit("b", "v")], "d", &names, WHOLE);
        assert_eq!(other.stale.len(), 2);
    }
}
