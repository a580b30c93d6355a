//! Checks the output of a backfill: parts and audit files against each other and against the manifests.
//!
//! Memory holds the names and counts of the parts, one row group of one part, and, while audit rows are
//! checked against texts, the audit of one part.

mod ledger;
mod manifests;
mod part;
mod report;
mod units;

use std::collections::{BTreeMap, HashSet};

use super::{DatasetError, Head, Orphan, Progress, Report, Scope, age};
use crate::sink::{PartName, digest_file};
use crate::store::{Object, Store, StoreError};
use manifests::Manifests;
pub(super) use part::Look;
pub use report::BackfillReport;
use units::Units;

/// Examines the output of a backfill and adds it to the report. Removes the backfill's files from `audits`,
/// which were listed before, and the heads that a manifest still has from `heads`.
pub(super) async fn examine(
    store: &dyn Store,
    scope: &Scope,
    audits: &mut Vec<Object>,
    heads: &mut Vec<Head>,
    report: &mut Report,
    mut progress: impl FnMut(Progress) + Send,
) -> Result<(), StoreError> {
    let own = audits.extract_if(.., |audit| PartName::parse_audit(&audit.name).is_some());
    let own: Vec<Object> = own.collect();
    // Manifests before parts: whatever they list was written earlier.
    let manifests = Manifests::read(store).await?;
    let objects = store.list(PartName::folder()).await?;
    if manifests.is_empty() && objects.is_empty() {
        audits.extend(own);
        return Ok(());
    }
    let mut found = BackfillReport {
        plans: manifests.plans.clone(),
        faults: manifests.faults.clone(),
        broken: manifests.broken.clone(),
        ..BackfillReport::default()
    };
    report.strays.extend(manifests.strays.iter().cloned());
    heads.retain(|head| {
        !manifests
            .heads
            .iter()
            .any(|(file, digest)| head.is_of(file, digest))
    });
    found.heads = manifests.whole_heads();
    let mut done = Progress {
        of: objects.len() as u64,
        ..Progress::default()
    };
    let mut units = Units::default();
    let mut named = HashSet::new();
    let mut there = HashSet::new();
    for object in &objects {
        done.files += 1;
        let Some(name) = PartName::parse(&object.name) else {
            match object.name.ends_with(".parquet") {
                // A reader of the folder would take it for rows of the backfill.
                true => found.faults.push(DatasetError::Added {
                    file: object.name.clone(),
                    why: "its name is not a valid part name",
                }),
                false => report.strays.push(object.name.clone()),
            }
            continue;
        };
        there.insert(object.name.clone());
        found.files += 1;
        found.bytes += object.size;
        let sound = digest(store, scope, object, &manifests, &mut found).await?;
        let mut look = Look::new(store, scope, object.name.clone());
        look.part(sound).await?;
        if let Some(footer) = &look.footer {
            if let Some((audit, _)) = &footer.audit {
                named.insert(audit.clone());
            }
            units.add(&name, footer, look.rows_at, &manifests, &mut found.faults);
        } else {
            units.skip(&name);
        }
        found.take(look);
        done.rows = found.rows();
        progress(done);
    }
    for (file, listed) in manifests.parts.iter().filter(|(file, _)| !there.contains(*file)) {
        found.faults.push(DatasetError::MissingPart {
            file: file.clone(),
            by: listed.by.clone(),
        });
    }
    found.faults.extend(manifests.reconcile(&units));
    for file in &there {
        if manifests.parts.contains_key(file) {
            continue;
        }
        let Some(name) = PartName::parse(file) else {
            continue;
        };
        match manifests.stands_outside(&name) {
            Some(why) => found.faults.push(DatasetError::Added {
                file: file.clone(),
                why,
            }),
            // A manifest of an earlier version names objects, not files.
            None if manifests.covers(&name) => found.uncovered += 1,
            None => found.unfinished.push(file.clone()),
        }
    }
    found.unfinished.sort_unstable();
    orphans(own, &named, &there, &mut found, report);
    found.faults.sort_by_cached_key(ToString::to_string);
    report.backfill = Some(found);
    Ok(())
}

/// Returns whether a part's digest is the one in its manifest; true if none lists it.
async fn digest(
    store: &dyn Store,
    scope: &Scope,
    object: &Object,
    manifests: &Manifests,
    found: &mut BackfillReport,
) -> Result<bool, StoreError> {
    let Some(listed) = manifests.parts.get(&object.name).filter(|_| scope.digests) else {
        return Ok(true);
    };
    let digest = digest_file(store, &object.name, object.size).await?;
    if digest == listed.digest {
        return Ok(true);
    }
    found.faults.push(DatasetError::Digest {
        file: object.name.clone(),
        by: listed.by.clone(),
        kept: listed.digest.clone(),
        found: digest,
    });
    Ok(false)
}

/// Returns audit files that no part names, because an interrupted run left them or somebody added them.
fn orphans(
    audits: Vec<Object>,
    named: &HashSet<String>,
    parts: &HashSet<String>,
    found: &mut BackfillReport,
    report: &mut Report,
) {
    for audit in audits.into_iter().filter(|audit| !named.contains(&audit.name)) {
        let part = PartName::parse_audit(&audit.name).map(|part| part.path());
        let superseded = part.is_some_and(|part| parts.contains(&part));
        if superseded {
            // The same part always has the same audit, so an interrupted run cannot have left this one.
            found.faults.push(DatasetError::Added {
                file: audit.name.clone(),
                why: "its part refers to another audit file or to none",
            });
        }
        report.orphans.push(Orphan {
            name: audit.name,
            bytes: audit.size,
            age_seconds: age(audit.modified),
            superseded,
        });
    }
}

/// Adds counts by key.
fn merge(into: &mut BTreeMap<String, u64>, more: BTreeMap<String, u64>) {
    for (key, count) in more {
        *into.entry(key).or_default() += count;
    }
}
