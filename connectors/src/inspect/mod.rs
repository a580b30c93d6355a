//! Inspects an output dataset: whether its chains are complete and unchanged, whether rows and offsets agree,
//! what was redacted and why, and which files are left over.
//!
//! Memory holds the names of the files and one row group of the needed columns. Reports contain no text of a
//! note.

mod backfill;
mod by_fingerprint;
pub(crate) mod columns;
mod dataset_error;
mod deciding_rule;
mod head;
mod ledger;
mod loose;
mod members;
mod orphans;
mod place;
mod replayed;
mod report;
mod summary;
mod tally;
mod topic;
mod verdict;
mod walk;
mod why;

use std::collections::{BTreeMap, HashSet};
use std::time::SystemTime;

use crate::erase::Erasures;
use crate::replay::ReplayName;
use crate::sink::ChainId;
use crate::store::{Object, Store, StoreError};
use walk::Walk;

pub use backfill::BackfillReport;
pub use by_fingerprint::{FingerprintFilter, FingerprintMatch, FingerprintReport, Source, by_fingerprint};
pub use dataset_error::DatasetError;
pub use deciding_rule::in_words as deciding_rule_in_words;
pub use head::Head;
pub use loose::{FileReport, locate};
pub use members::{ByMember, Caught, MemberReport, by_member};
pub use orphans::remove_orphans;
pub use place::Place;
pub use replayed::Replayed;
pub use report::{ChainReport, Change, Gap, Orphan, Report};
pub use summary::{Summary, summarise};
pub use topic::{
    Compared, Finding, Findings, Log, Original, PartitionReport, Suspects, TopicReport, chain_files,
};
pub use verdict::Verdict;
pub use why::{Lost, Voter, Why, WhyField, WhySpan, why};

/// The progress of an inspection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Number of files checked.
    pub files: u64,
    /// Number of all files.
    pub of: u64,
    /// Number of rows counted.
    pub rows: u64,
}

/// The checks to run in addition to footers, offsets and counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// Whether to check digests, which reads every byte of the files.
    pub digests: bool,
    /// Whether to check audit rows against the notes, which reads the redacted texts.
    pub audit: bool,
    /// Heads that were stored elsewhere. They are checked only with `digests`.
    pub heads: Vec<Head>,
}

impl Default for Scope {
    /// Checks digests, but neither audit rows nor heads.
    fn default() -> Self {
        Self {
            digests: true,
            audit: false,
            heads: Vec::new(),
        }
    }
}

/// Inspects the whole dataset in a store, calling `progress` after each file.
///
/// Faults of the data are part of the report, not errors of this function.
///
/// # Errors
/// The store's error.
pub async fn inspect(store: &dyn Store, progress: impl FnMut(Progress) + Send) -> Result<Report, StoreError> {
    inspect_within(store, Scope::default(), progress).await
}

/// Inspects like [`inspect`], with the checks in `scope`.
///
/// # Errors
/// The store's error.
pub async fn inspect_within(
    store: &dyn Store,
    scope: Scope,
    mut progress: impl FnMut(Progress) + Send,
) -> Result<Report, StoreError> {
    // Audit files first: a notes file that names one of these is then listed too, or the audit file lies at its
    // chain's end.
    let mut audits = store.list("audit").await?;
    let replayed_audits = store.list(ReplayName::AUDIT_FOLDER).await?;
    let mut report = Report {
        store: store.describe(),
        digests: scope.digests,
        audited: scope.audit,
        ..Report::default()
    };
    let (chains, of) = chains(store, &mut report.strays).await?;
    // Records after the file names: whatever was replaced before the listing is recorded.
    let erasures = Erasures::read(store).await?;
    let mut done = Progress {
        of,
        ..Progress::default()
    };
    let mut named = HashSet::new();
    let mut heads = scope.heads.clone();
    heads.retain(|head| !erasures.reports().iter().any(|erasure| erasure.is_head(head)));
    for (chain, files) in chains {
        let mut walk = Walk::new(store, chain, &scope, &erasures);
        for (at, file) in files.iter().enumerate() {
            walk.file(file, files.get(at + 1)).await?;
            done.files += 1;
            progress(Progress {
                rows: done.rows + walk.report.rows(),
                ..done
            });
        }
        done.rows += walk.report.rows();
        heads.retain(|head| !walk.found_heads.contains(head));
        named.extend(walk.named);
        report.chains.push(walk.report);
    }
    let (files, rows) = (done.files, done.rows);
    let backfill = |now: Progress| {
        progress(Progress {
            files: files + now.files,
            of: of + now.of,
            rows: rows + now.rows,
        });
    };
    backfill::examine(store, &scope, &mut audits, &mut heads, &mut report, backfill).await?;
    if scope.digests {
        report
            .faults
            .extend(heads.into_iter().map(|head| DatasetError::Head {
                digest: head.digest,
                file: head.file,
            }));
    }
    for audit in audits {
        let Some((chain, first, _)) = ChainId::parse_audit(&audit.name) else {
            report.strays.push(audit.name);
            continue;
        };
        if named.contains(&audit.name) {
            continue;
        }
        let next = report.chains.iter().find(|report| report.chain == chain);
        let next = next.map_or(0, |report| report.next);
        report.orphans.push(Orphan {
            name: audit.name,
            bytes: audit.size,
            age_seconds: age(audit.modified),
            superseded: first < next,
        });
    }
    replayed::examine(store, &scope, &erasures, replayed_audits, &mut report).await?;
    report.take_erasures(&erasures);
    if report.chains.is_empty() && report.backfill.is_none() {
        // A folder with some files of a dataset, or copies of them.
        for object in store.list("").await? {
            if object.name.ends_with(".parquet") {
                report
                    .files
                    .push(loose::inspect_file(store, &object.name, &scope).await?);
            }
        }
        if !report.files.is_empty() {
            report.strays.clear();
        }
    }
    report.settle();
    Ok(report)
}

/// Inspects a single file of a store as far as that is possible without its neighbours: its footer, its rows
/// against the footer's counts, and its audit file if it is found.
///
/// # Errors
/// The store's error.
pub async fn inspect_file(store: &dyn Store, name: &str, scope: &Scope) -> Result<Report, StoreError> {
    let mut report = Report {
        store: store.describe(),
        digests: scope.digests,
        audited: scope.audit,
        files: vec![loose::inspect_file(store, name, scope).await?],
        ..Report::default()
    };
    report.settle();
    Ok(report)
}

/// Returns the seconds since a file was written. A clock that goes back makes a file look new, which is safe.
fn age(modified: SystemTime) -> u64 {
    SystemTime::now()
        .duration_since(modified)
        .unwrap_or_default()
        .as_secs()
}

/// Returns the notes files of each chain by name, and their number; files with other names go to `strays`.
async fn chains(
    store: &dyn Store,
    strays: &mut Vec<String>,
) -> Result<(BTreeMap<ChainId, Vec<Object>>, u64), StoreError> {
    let notes = store.list("notes").await?;
    let of = notes.len() as u64;
    let mut chains: BTreeMap<ChainId, Vec<Object>> = BTreeMap::new();
    for object in notes {
        match ChainId::parse_notes(&object.name) {
            Some((chain, _)) => chains.entry(chain).or_default().push(object),
            None => strays.push(object.name),
        }
    }
    Ok((chains, of))
}

fn add(counts: &mut BTreeMap<String, u64>, key: &str) {
    match counts.get_mut(key) {
        Some(count) => *count += 1,
        None => {
            counts.insert(key.to_owned(), 1);
        }
    }
}
