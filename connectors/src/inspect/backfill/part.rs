//! Checks one part of a backfill: its rows against its footer, and its audit file against its rows.

use std::collections::BTreeMap;

use arrow_array::Array as _;
use arrow_array::cast::AsArray as _;
use arrow_array::types::{Int64Type, UInt32Type};
use arrow_schema::{DataType, Field, Schema};
use lethe_core::RowKind;

use super::ledger;
use crate::inspect::columns::{Batches, Wanted};
use crate::inspect::tally::{count_audit, hold, readable};
use crate::inspect::{DatasetError, Scope, add};
use crate::sink::{ChainError, PartFooter, digest_file, read_part};
use crate::store::{Store, StoreError};

/// The inspection of one part.
pub(in crate::inspect) struct Look<'a> {
    store: &'a dyn Store,
    scope: &'a Scope,
    name: String,
    pub(in crate::inspect) footer: Option<PartFooter>,
    /// The object's row number of its first row.
    pub(super) rows_at: Option<i64>,
    rows: std::ops::Range<i64>,
    pub(super) audit_bytes: u64,
    pub(super) codes: BTreeMap<String, u64>,
    pub(super) labels: BTreeMap<String, u64>,
    pub(in crate::inspect) faults: Vec<DatasetError>,
    /// The audit file, if it is not where the footer says.
    pub(in crate::inspect) audit_at: Option<String>,
    /// Whether a missing file is acceptable.
    pub(in crate::inspect) alone: bool,
    /// Whether an audit file was checked.
    pub(in crate::inspect) audited: bool,
}

impl<'a> Look<'a> {
    pub(in crate::inspect) fn new(store: &'a dyn Store, scope: &'a Scope, name: String) -> Self {
        Self {
            store,
            scope,
            name,
            footer: None,
            rows_at: None,
            rows: 0..0,
            audit_bytes: 0,
            codes: BTreeMap::new(),
            labels: BTreeMap::new(),
            faults: Vec::new(),
            audit_at: None,
            alone: false,
            audited: false,
        }
    }

    /// Checks the part. Skips the counts if its digest is wrong.
    pub(in crate::inspect) async fn part(&mut self, sound: bool) -> Result<(), StoreError> {
        let name = self.name.clone();
        let footer = read_part(self.store, &name).await;
        let Some(footer) = readable(&mut self.faults, &name, footer)? else {
            return Ok(());
        };
        self.footer = Some(footer.clone());
        if !sound {
            return Ok(());
        }
        let counted = self.count(&footer).await;
        if readable(&mut self.faults, &name, counted)?.is_none() {
            return Ok(());
        }
        let Some((audit, digest)) = footer.audit.clone() else {
            if footer.spans > 0 {
                self.wrong(&name, "it has redacted spans but refers to no audit file");
            }
            return Ok(());
        };
        let at = self.audit_at.clone().unwrap_or_else(|| audit.clone());
        let looked = self.audit(&footer, &at, &digest).await;
        readable(&mut self.faults, &at, looked)?;
        Ok(())
    }

    fn wrong(&mut self, file: &str, why: &str) {
        self.faults.push(DatasetError::Unreadable {
            file: file.to_owned(),
            why: why.to_owned(),
        });
    }

    /// Checks the row counts.
    async fn count(&mut self, footer: &PartFooter) -> Result<(), ChainError> {
        let name = self.name.clone();
        let schema = own_columns();
        let wanted = Wanted {
            schema: &schema,
            must: &[
                "lethe_object",
                "lethe_row",
                "lethe_kind",
                "lethe_error",
                "lethe_redactions",
                "lethe_review",
            ],
            may: &[],
        };
        let mut batches = Batches::open(self.store, &name, &wanted).await?;
        let (mut kinds, mut redactions, mut review) = (BTreeMap::new(), 0, 0);
        let (mut expected, mut misplaced, mut foreign): (Option<i64>, _, _) = (None, None, false);
        while let Some(batch) = batches.next().await? {
            for &row in batch["lethe_row"].as_primitive::<Int64Type>().values() {
                let due = *expected.get_or_insert(row);
                self.rows_at.get_or_insert(row);
                if row != due {
                    misplaced.get_or_insert(row);
                }
                expected = Some(row.saturating_add(1));
            }
            let objects = batch["lethe_object"].as_string::<i32>();
            foreign |= objects
                .iter()
                .any(|object| object != Some(footer.object.as_str()));
            for kind in batch["lethe_kind"].as_string::<i32>().iter().flatten() {
                add(&mut kinds, kind);
            }
            for code in batch["lethe_error"].as_string::<i32>().iter().flatten() {
                add(&mut self.codes, code);
            }
            let replaced = batch["lethe_redactions"].as_primitive::<UInt32Type>().values();
            redactions += replaced.iter().map(|&count| u64::from(count)).sum::<u64>();
            let reviews = &batch["lethe_review"];
            review += (reviews.len() - reviews.null_count()) as u64;
        }
        self.rows = self.rows_at.unwrap_or_default()..expected.unwrap_or_default();
        if foreign {
            self.wrong(&name, "it has rows of an object other than the one in its footer");
        }
        if let Some(offset) = misplaced {
            self.faults.push(DatasetError::Offset {
                file: name.clone(),
                offset,
            });
        }
        let found = |kind: RowKind| kinds.get(kind.name()).copied().unwrap_or_default();
        for (of, footer, found) in [
            ("redacted rows", footer.redacted, found(RowKind::Note)),
            (
                "quarantined rows",
                footer.quarantined,
                found(RowKind::Quarantined),
            ),
            ("redacted spans", footer.spans, redactions),
            ("rows to review", footer.review, review),
        ] {
            hold(&mut self.faults, &name, of, footer, found);
        }
        Ok(())
    }

    /// Checks the audit file.
    async fn audit(&mut self, footer: &PartFooter, audit: &str, kept: &str) -> Result<(), ChainError> {
        let size = match self.store.read_tail(audit, 1).await {
            Ok(end) => end.size,
            Err(StoreError::NotFound(_)) if self.alone => return Ok(()),
            Err(StoreError::NotFound(_)) => {
                self.faults.push(DatasetError::NoAudit {
                    file: self.name.clone(),
                    audit: audit.to_owned(),
                });
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        self.audit_bytes += size;
        self.audited = true;
        if self.scope.digests {
            let found = digest_file(self.store, audit, size).await?;
            if found != kept {
                self.faults.push(DatasetError::Digest {
                    file: audit.to_owned(),
                    by: self.name.clone(),
                    kept: kept.to_owned(),
                    found,
                });
                return Ok(());
            }
        }
        count_audit(
            self.store,
            audit,
            self.rows.clone(),
            footer.spans,
            &mut self.labels,
            &mut self.faults,
        )
        .await?;
        if self.scope.audit {
            let faults = ledger::hold(self.store, &self.name, audit).await?;
            self.faults.extend(faults);
        }
        Ok(())
    }
}

/// Returns the columns that precede those of the table.
pub(super) fn own_columns() -> Schema {
    let field = |name: &str, kind, nullable| Field::new(name, kind, nullable);
    Schema::new(vec![
        field("lethe_object", DataType::Utf8, false),
        field("lethe_row", DataType::Int64, false),
        field("lethe_kind", DataType::Utf8, false),
        field("lethe_error", DataType::Utf8, true),
        field("lethe_redactions", DataType::UInt32, false),
        field("lethe_review", DataType::Utf8, true),
    ])
}
