//! Checks replayed parts against the notes files that they belong to, and against each other.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use arrow_array::Array as _;
use arrow_array::cast::AsArray as _;
use arrow_array::types::UInt32Type;
use lethe_core::{AuditBatch, RedactedBatch};
use serde::Serialize;

use super::columns::{Batches, Wanted};
use super::{DatasetError, Orphan, Report, Scope, add, age, ledger};
use crate::erase::{ERASED, Erasures};
use crate::replay::{NotesFile, ReplayFooter, ReplayName, Rows, each_row, parts, read_replay};
use crate::sink::{ChainError, ChainId, digest_whole};
use crate::store::{Object, Store, StoreError};

/// The replay of a chain's quarantined rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Replayed {
    /// Number of replayed parts.
    pub files: u64,
    /// Size of the parts in bytes.
    pub bytes: u64,
    /// Size of their audit files in bytes.
    pub audit_bytes: u64,
    /// Number of records that are notes now.
    pub notes: u64,
    /// Number of records that are tombstones now.
    pub tombstones: u64,
    /// Number of records that are messages without narrative now.
    pub structured: u64,
    /// Number of notes among them that are flagged for review.
    pub review: u64,
    /// Number of records that were replayed and quarantined again, by the code of the last attempt.
    pub quarantined: BTreeMap<String, u64>,
}

impl Replayed {
    /// Returns the number of records that are no longer quarantined.
    pub const fn rows(&self) -> u64 {
        self.notes + self.tombstones + self.structured
    }

    fn add(&mut self, more: Self) {
        self.files += more.files;
        self.bytes += more.bytes;
        self.audit_bytes += more.audit_bytes;
        self.notes += more.notes;
        self.tombstones += more.tombstones;
        self.structured += more.structured;
        self.review += more.review;
        for (code, count) in more.quarantined {
            *self.quarantined.entry(code).or_default() += count;
        }
    }
}

impl fmt::Display for Replayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "  replayed: {} records in {} files ({} notes, {} tombstones, {} structured messages)",
            self.rows(),
            self.files,
            self.notes,
            self.tombstones,
            self.structured
        )?;
        for (code, count) in &self.quarantined {
            writeln!(f, "  quarantined again, {code}: {count}")?;
        }
        Ok(())
    }
}

/// Returns the replayed parts of a dataset by name.
pub(super) async fn replays(store: &dyn Store) -> Result<Vec<Object>, StoreError> {
    let mut parts = store.list(ReplayName::NOTES_FOLDER).await?;
    parts.retain(|object| ReplayName::parse(&object.name).is_some());
    Ok(parts)
}

/// Examines all replayed parts and adds the result to the report, which has the chains already. Audit files
/// in `audits`, which were listed before, are orphans if no part names them.
pub(super) async fn examine(
    store: &dyn Store,
    scope: &Scope,
    erasures: &Erasures,
    audits: Vec<Object>,
    report: &mut Report,
) -> Result<(), StoreError> {
    let mut named = HashSet::new();
    for ((chain, first), numbers) in parts(store).await? {
        let file = NotesFile {
            chain,
            first,
            parts: numbers,
        };
        let mut examiner = Examiner {
            store,
            scope,
            erasures,
            found: Found::default(),
        };
        examiner.examine(&file).await?;
        let Found {
            replayed,
            labels,
            faults,
            named: names,
        } = examiner.found;
        named.extend(names);
        match report.chains.iter_mut().find(|report| report.chain == file.chain) {
            Some(chain) => {
                chain.replayed.get_or_insert_default().add(replayed);
                for (label, count) in labels {
                    *chain.labels.entry(label).or_default() += count;
                }
                chain.faults.extend(faults);
            }
            None => report.faults.extend(faults),
        }
    }
    for audit in audits {
        match ReplayName::parse_audit(&audit.name) {
            None => report.strays.push(audit.name),
            Some(_) if named.contains(&audit.name) => {}
            Some(part) => report.orphans.push(Orphan {
                bytes: audit.size,
                age_seconds: age(audit.modified),
                // Once the part exists, no other attempt to write it can succeed.
                superseded: !matches!(store.look(&part.path()).await, Err(StoreError::NotFound(_))),
                name: audit.name,
            }),
        }
    }
    for object in store.list(ReplayName::NOTES_FOLDER).await? {
        if ReplayName::parse(&object.name).is_none() {
            report.strays.push(object.name);
        }
    }
    Ok(())
}

/// The result of examining the parts of a notes file.
#[derive(Default)]
struct Found {
    replayed: Replayed,
    labels: BTreeMap<String, u64>,
    faults: Vec<DatasetError>,
    /// Audit files that parts refer to.
    named: Vec<String>,
}

/// Examines the parts of a notes file.
struct Examiner<'a> {
    store: &'a dyn Store,
    scope: &'a Scope,
    erasures: &'a Erasures,
    found: Found,
}

impl Examiner<'_> {
    /// Examines the parts of a notes file. Holds a few bytes per quarantined row.
    async fn examine(&mut self, file: &NotesFile) -> Result<(), StoreError> {
        let original = file.chain.notes_name(file.first);
        let mut rows = match Rows::read(self.store, &original).await {
            Ok(rows) => rows,
            Err(ChainError::Store(StoreError::NotFound(_))) => {
                for &number in &file.parts {
                    self.fault(&file.part(number).path(), "its notes file is missing");
                }
                return Ok(());
            }
            // The examination of the chain reports faults of the notes file.
            Err(ChainError::Store(error)) => return Err(error),
            Err(_) => return Ok(()),
        };
        let digest = match self.scope.digests {
            true => Some(digest_whole(self.store, &original).await?),
            false => None,
        };
        let mut previous: Option<String> = None;
        for (due, &number) in (0..).zip(&file.parts) {
            let path = file.part(number).path();
            if number != due {
                self.fault(&path, "the part with the previous number is missing");
            }
            let examined = self.part(
                &file.chain,
                &path,
                digest.as_deref(),
                previous.as_deref(),
                &mut rows,
            );
            match examined.await {
                Ok(()) => {}
                Err(ChainError::Store(error)) => return Err(error),
                Err(ChainError::Footer { why, .. }) => self.found.faults.push(DatasetError::Unreadable {
                    file: path.clone(),
                    why,
                }),
                Err(error) => self.found.faults.push(DatasetError::Unreadable {
                    file: path.clone(),
                    why: error.to_string(),
                }),
            }
            previous = match self.scope.digests {
                true => Some(digest_whole(self.store, &path).await?),
                false => None,
            };
        }
        for row in rows.waiting().filter(|row| row.ran) {
            add(&mut self.found.replayed.quarantined, row.code);
        }
        Ok(())
    }

    async fn part(
        &mut self,
        chain: &ChainId,
        path: &str,
        original: Option<&str>,
        previous: Option<&str>,
        rows: &mut Rows,
    ) -> Result<(), ChainError> {
        self.found.replayed.files += 1;
        self.found.replayed.bytes += self.store.read_tail(path, 1).await?.size;
        let footer = read_replay(self.store, path).await?;
        if let Some((audit, _)) = &footer.audit {
            self.found.named.push(audit.clone());
        }
        self.digest(
            &footer.name.original(),
            path,
            Some(&footer.original_digest),
            original,
        );
        if let (Some(kept), Some(number)) = (&footer.previous, footer.name.number.checked_sub(1)) {
            let before = footer.name.chain.clone();
            let before = NotesFile {
                chain: before,
                first: footer.name.first,
                parts: Vec::new(),
            }
            .part(number);
            self.digest(&before.path(), path, Some(kept), previous);
        }
        self.rows(path, &footer, rows).await?;
        self.audit(chain, path, &footer).await
    }

    /// Compares the digest of a file with the one that a part holds; false if they differ.
    fn digest(&mut self, file: &str, by: &str, kept: Option<&str>, found: Option<&str>) -> bool {
        let (Some(kept), Some(found)) = (kept, found) else {
            return true;
        };
        let contradiction = self.erasures.contradicts(file, Some((by, kept)), found);
        self.found
            .faults
            .extend(contradiction.map(|(by, kept)| DatasetError::Digest {
                file: file.to_owned(),
                by: by.to_owned(),
                kept: kept.to_owned(),
                found: found.to_owned(),
            }));
        contradiction.is_none()
    }

    /// Compares the rows of a part with its footer, and with the quarantined rows that await replay.
    async fn rows(&mut self, path: &str, footer: &ReplayFooter, rows: &mut Rows) -> Result<(), ChainError> {
        let schema = RedactedBatch::schema();
        let wanted = Wanted {
            schema: &schema,
            must: &["offset", "row_kind", "error", "redactions"],
            may: &["review"],
        };
        let mut batches = Batches::open(self.store, path, &wanted).await?;
        let mut counted: BTreeMap<String, u64> = BTreeMap::new();
        let (mut redactions, mut review) = (0, 0);
        let (mut last, mut misplaced) = (None, None);
        while let Some(batch) = batches.next().await? {
            for kind in batch["row_kind"].as_string::<i32>().iter().flatten() {
                add(&mut counted, kind);
            }
            let mut kinds = batch["row_kind"].as_string::<i32>().iter();
            each_row(&batch, &mut |offset, error| {
                // If a row of a part is erased, so is the row of the chain, which then awaits no replay.
                let is_erased = kinds.next().flatten() == Some(ERASED);
                let is_placed = (footer.first..footer.next).contains(&offset)
                    && last.is_none_or(|last| last < offset)
                    && (rows.update(offset, error, false) || is_erased);
                if !is_placed && misplaced.is_none() {
                    misplaced = Some(offset);
                }
                last = Some(offset);
            });
            let replaced = batch["redactions"].as_primitive::<UInt32Type>().values();
            redactions += replaced.iter().map(|&count| u64::from(count)).sum::<u64>();
            if let Some(column) = batch.column_by_name("review") {
                review += (column.len() - column.null_count()) as u64;
            }
        }
        if let Some(offset) = misplaced {
            self.found.faults.push(DatasetError::Offset {
                file: path.to_owned(),
                offset,
            });
        }
        let found = |kind: &str| counted.get(kind).copied().unwrap_or_default();
        for (of, footer, found) in [
            ("notes", footer.notes, found("note")),
            ("tombstones", footer.tombstones, found("tombstone")),
            ("quarantined rows", footer.quarantined, found("quarantined")),
            ("structured rows", footer.structured, found("structured")),
            ("erased rows", footer.erased, found(ERASED)),
            (
                "redacted spans",
                footer.audit_rows - footer.audit_fields,
                redactions,
            ),
            ("notes to review", footer.review, review),
        ] {
            self.compare(path, of, footer, found);
        }
        let replayed = &mut self.found.replayed;
        replayed.notes += footer.notes;
        replayed.tombstones += footer.tombstones;
        replayed.structured += footer.structured;
        replayed.review += footer.review;
        Ok(())
    }

    /// Compares the audit file of a part with its footer, and its rows with the part's if the scope includes
    /// that.
    async fn audit(&mut self, chain: &ChainId, path: &str, footer: &ReplayFooter) -> Result<(), ChainError> {
        let Some((audit, kept)) = &footer.audit else {
            return Ok(());
        };
        match self.store.read_tail(audit, 1).await {
            Ok(end) => self.found.replayed.audit_bytes += end.size,
            Err(StoreError::NotFound(_)) => {
                self.found.faults.push(DatasetError::NoAudit {
                    file: path.to_owned(),
                    audit: audit.clone(),
                });
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        }
        if self.scope.digests {
            let found = digest_whole(self.store, audit).await?;
            if !self.digest(audit, path, Some(kept), Some(&found)) {
                return Ok(());
            }
        }
        let schema = AuditBatch::schema();
        let wanted = Wanted {
            schema: &schema,
            must: &["label"],
            may: &[],
        };
        let mut batches = Batches::open(self.store, audit, &wanted).await?;
        let mut rows = 0;
        while let Some(batch) = batches.next().await? {
            rows += batch.num_rows() as u64;
            for label in batch["label"].as_string::<i32>().iter().flatten() {
                add(&mut self.found.labels, label);
            }
        }
        self.compare(audit, "audit rows", footer.audit_rows, rows);
        if self.scope.audit {
            let faults = ledger::hold(self.store, chain, path, audit).await?;
            self.found.faults.extend(faults);
        }
        Ok(())
    }

    fn compare(&mut self, file: &str, of: &'static str, footer: u64, found: u64) {
        if footer != found {
            self.found.faults.push(DatasetError::Count {
                file: file.to_owned(),
                of,
                footer,
                found,
            });
        }
    }

    fn fault(&mut self, file: &str, why: &str) {
        self.found.faults.push(DatasetError::Unreadable {
            file: file.to_owned(),
            why: why.to_owned(),
        });
    }
}
