//! Looks an output dataset over: are its chains whole, do rows and offsets agree, what was redacted, what is left over.
//!
//! Reads footers and the few columns that count, never the notes. Memory holds the names of the files and one row
//! group's share of those columns.

mod columns;
mod orphans;
mod report;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::SystemTime;

use arrow_array::Array as _;
use arrow_array::cast::AsArray as _;
use arrow_array::types::{Int64Type, UInt32Type};
use parquet::file::metadata::ParquetMetaData;

use crate::sink::{ChainError, ChainId, Footer, Tail, read_link, read_metadata};
use crate::store::{Object, Store, StoreError};
use columns::for_each_batch;

pub use orphans::remove_orphans;
pub use report::{ChainReport, Change, Fault, Gap, Orphan, Report};

/// How far an inspection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Notes files looked at.
    pub files: u64,
    /// Notes files there are.
    pub of: u64,
    /// Rows counted.
    pub rows: u64,
}

/// Inspects the whole dataset in a store, calling `progress` after each file.
///
/// What is wrong with the data stands in the report; it is no error of this function.
///
/// # Errors
/// The store's error.
pub async fn inspect(
    store: &dyn Store,
    mut progress: impl FnMut(Progress) + Send,
) -> Result<Report, StoreError> {
    // Audit files first: of those listed now, whatever will be named is named by a notes file listed after them, or
    // lies at its chain's end.
    let audits = store.list("audit").await?;
    let notes = store.list("notes").await?;
    let mut report = Report {
        store: store.describe(),
        ..Report::default()
    };
    let mut chains: BTreeMap<ChainId, Vec<Object>> = BTreeMap::new();
    let of = notes.len() as u64;
    for object in notes {
        match ChainId::parse_notes(&object.name) {
            Some((chain, _)) => chains.entry(chain).or_default().push(object),
            None => report.strays.push(object.name),
        }
    }
    let mut done = Progress {
        files: 0,
        of,
        rows: 0,
    };
    let mut named = HashSet::new();
    for (chain, files) in chains {
        let mut walk = Walk::new(store, chain);
        for file in files {
            walk.file(&file).await?;
            done.files += 1;
            progress(Progress {
                rows: done.rows + walk.report.rows(),
                ..done
            });
        }
        done.rows += walk.report.rows();
        named.extend(walk.named);
        report.chains.push(walk.report);
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
        let age = SystemTime::now().duration_since(audit.modified);
        report.orphans.push(Orphan {
            name: audit.name,
            bytes: audit.size,
            // A clock that goes back makes a file young, and so it stays.
            age_seconds: age.unwrap_or_default().as_secs(),
            superseded: first < next,
        });
    }
    Ok(report)
}

/// The walk along one chain.
struct Walk<'a> {
    store: &'a dyn Store,
    report: ChainReport,
    last: Option<Tail>,
    /// Audit files that notes files name.
    named: Vec<String>,
}

impl<'a> Walk<'a> {
    const fn new(store: &'a dyn Store, chain: ChainId) -> Self {
        Self {
            store,
            report: ChainReport::new(chain),
            last: None,
            named: Vec::new(),
        }
    }

    async fn file(&mut self, file: &Object) -> Result<(), StoreError> {
        self.report.files += 1;
        self.report.bytes += file.size;
        let link = read_link(self.store, &self.report.chain, &file.name).await;
        let Some(tail) = self.readable(&file.name, link)? else {
            return Ok(());
        };
        self.place(&tail);
        self.account(&tail.footer);
        let counted = self.count_rows(&tail).await;
        self.readable(&file.name, counted)?;
        if let Some(audit) = tail.footer.audit.clone() {
            self.named.push(audit.clone());
            let counted = self.count_audit(&tail, &audit).await;
            self.readable(&audit, counted)?;
        }
        self.last = Some(tail);
        Ok(())
    }

    /// Passes the store's errors on and notes all others as faults.
    fn readable<T>(&mut self, file: &str, result: Result<T, ChainError>) -> Result<Option<T>, StoreError> {
        let why = match result {
            Ok(value) => return Ok(Some(value)),
            Err(ChainError::Store(error)) => return Err(error),
            Err(ChainError::Footer { why, .. }) => why,
            Err(error) => error.to_string(),
        };
        self.report.faults.push(Fault::Unreadable {
            file: file.to_owned(),
            why,
        });
        Ok(None)
    }

    /// Holds the file's first offset against the end of the one before, and its fingerprints too.
    fn place(&mut self, tail: &Tail) {
        let next = self.report.next;
        if tail.first > next {
            let after = self.last.as_ref().map(|last| last.file.clone());
            self.report.faults.push(Fault::Missing {
                after: after.unwrap_or_default(),
                from: next,
                to: tail.first,
            });
        } else if tail.first < next {
            self.report.faults.push(Fault::Overlap {
                file: tail.file.clone(),
                next,
            });
        }
        self.report.next = next.max(tail.next);
        let Some(last) = &self.last else {
            return;
        };
        let of = |footer: &Footer| -> BTreeMap<&'static str, String> {
            let entries = footer.fingerprints.entries().into_iter();
            entries.map(|(field, value)| (field, value.to_owned())).collect()
        };
        let (then, now) = (of(&last.footer), of(&tail.footer));
        let fields: std::collections::BTreeSet<_> = then.keys().chain(now.keys()).copied().collect();
        for field in fields
            .into_iter()
            .filter(|field| then.get(field) != now.get(field))
        {
            let value = |of: &BTreeMap<&str, String>| of.get(field).cloned().unwrap_or_else(|| "none".into());
            self.report.changes.push(Change {
                offset: tail.first,
                field: field.to_owned(),
                from: value(&then),
                to: value(&now),
            });
        }
    }

    fn account(&mut self, footer: &Footer) {
        self.report.notes += footer.notes;
        self.report.tombstones += footer.tombstones;
        self.report.quarantined += footer.quarantined;
        match &footer.gap {
            Some(reason) => self.report.gaps.push(Gap {
                from: footer.first,
                to: footer.next,
                reason: reason.clone(),
            }),
            None => self.report.skipped += footer.skipped(),
        }
    }

    /// Counts the rows of a notes file and holds them against its footer.
    async fn count_rows(&mut self, tail: &Tail) -> Result<(), ChainError> {
        let (metadata, size) = self.metadata(&tail.file).await?;
        let mut counted: BTreeMap<String, u64> = BTreeMap::new();
        let mut codes: BTreeMap<String, u64> = BTreeMap::new();
        let mut redactions = 0;
        let (mut expected, mut misplaced) = (tail.first, None);
        let columns = ["offset", "row_kind", "error", "redactions"];
        for_each_batch(self.store, &tail.file, metadata, size, &columns, |batch| {
            for &offset in batch.column(0).as_primitive::<Int64Type>().values() {
                if (offset < expected || offset >= tail.next) && misplaced.is_none() {
                    misplaced = Some(offset);
                }
                expected = offset.saturating_add(1);
            }
            let kinds = batch.column(1).as_string::<i32>();
            let errors = batch.column(2).as_string::<i32>();
            for row in 0..kinds.len() {
                add(&mut counted, kinds.value(row));
                if errors.is_valid(row) {
                    add(&mut codes, errors.value(row));
                }
            }
            let replaced = batch.column(3).as_primitive::<UInt32Type>().values();
            redactions += replaced.iter().map(|&count| u64::from(count)).sum::<u64>();
        })
        .await?;
        if let Some(offset) = misplaced {
            self.report.faults.push(Fault::Offset {
                file: tail.file.clone(),
                offset,
            });
        }
        let footer = &tail.footer;
        let found = |kind: &str| counted.get(kind).copied().unwrap_or_default();
        self.hold(&tail.file, "notes", footer.notes, found("note"));
        self.hold(&tail.file, "tombstones", footer.tombstones, found("tombstone"));
        self.hold(
            &tail.file,
            "quarantined rows",
            footer.quarantined,
            found("quarantined"),
        );
        self.hold(&tail.file, "redacted spans", footer.audit_rows, redactions);
        for (code, count) in codes {
            *self.report.codes.entry(code).or_default() += count;
        }
        Ok(())
    }

    /// Counts the labels of an audit file and holds its rows against the notes file's footer.
    async fn count_audit(&mut self, tail: &Tail, audit: &str) -> Result<(), ChainError> {
        let (metadata, size) = match self.metadata(audit).await {
            Ok(found) => found,
            Err(ChainError::Store(StoreError::NotFound(_))) => {
                self.report.faults.push(Fault::NoAudit {
                    file: tail.file.clone(),
                    audit: audit.to_owned(),
                });
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        self.report.audit_bytes += size;
        let (mut rows, mut misplaced) = (0, None);
        let labels = &mut self.report.labels;
        for_each_batch(self.store, audit, metadata, size, &["offset", "label"], |batch| {
            rows += batch.num_rows() as u64;
            for &offset in batch.column(0).as_primitive::<Int64Type>().values() {
                if !(tail.first..tail.next).contains(&offset) && misplaced.is_none() {
                    misplaced = Some(offset);
                }
            }
            let names = batch.column(1).as_string::<i32>();
            (0..names.len()).for_each(|row| add(labels, names.value(row)));
        })
        .await?;
        if let Some(offset) = misplaced {
            self.report.faults.push(Fault::Offset {
                file: audit.to_owned(),
                offset,
            });
        }
        self.hold(audit, "audit rows", tail.footer.audit_rows, rows);
        Ok(())
    }

    async fn metadata(&self, name: &str) -> Result<(Arc<ParquetMetaData>, u64), ChainError> {
        let (metadata, size) = read_metadata(self.store, name).await?;
        Ok((Arc::new(metadata), size))
    }

    fn hold(&mut self, file: &str, of: &'static str, footer: u64, found: u64) {
        if footer != found {
            self.report.faults.push(Fault::Count {
                file: file.to_owned(),
                of,
                footer,
                found,
            });
        }
    }
}

fn add(counts: &mut BTreeMap<String, u64>, key: &str) {
    match counts.get_mut(key) {
        Some(count) => *count += 1,
        None => {
            counts.insert(key.to_owned(), 1);
        }
    }
}
