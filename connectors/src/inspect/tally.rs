//! Helpers for checking files of streams and backfills: recording faults, and counting an audit file.

use std::collections::BTreeMap;
use std::ops::Range;

use arrow_array::cast::AsArray as _;
use arrow_array::types::Int64Type;
use lethe_core::AuditBatch;

use super::columns::{Batches, Wanted};
use super::{DatasetError, add};
use crate::sink::ChainError;
use crate::store::{Store, StoreError};

/// Returns the store's errors and records all others as faults.
pub(super) fn readable<T>(
    faults: &mut Vec<DatasetError>,
    file: &str,
    result: Result<T, ChainError>,
) -> Result<Option<T>, StoreError> {
    let why = match result {
        Ok(value) => return Ok(Some(value)),
        Err(ChainError::Store(error)) => return Err(error),
        Err(ChainError::Footer { why, .. }) => why,
        Err(error) => error.to_string(),
    };
    faults.push(DatasetError::Unreadable {
        file: file.to_owned(),
        why,
    });
    Ok(None)
}

/// Records a fault if a number in a footer differs from the rows.
pub(super) fn hold(faults: &mut Vec<DatasetError>, file: &str, of: &'static str, footer: u64, found: u64) {
    if footer != found {
        faults.push(DatasetError::Count {
            file: file.to_owned(),
            of,
            footer,
            found,
        });
    }
}

/// Counts the rows of an audit file, of which the notes file's footer lists `footer`, and adds their labels
/// to `labels`. A row of a note outside `notes` is a fault.
pub(super) async fn count_audit(
    store: &dyn Store,
    audit: &str,
    notes: Range<i64>,
    footer: u64,
    labels: &mut BTreeMap<String, u64>,
    faults: &mut Vec<DatasetError>,
) -> Result<(), ChainError> {
    let wanted = Wanted {
        schema: &AuditBatch::schema(),
        must: &["offset", "label"],
        may: &[],
    };
    let mut batches = Batches::open(store, audit, &wanted).await?;
    let (mut rows, mut misplaced) = (0, None);
    while let Some(batch) = batches.next().await? {
        rows += batch.num_rows() as u64;
        for &offset in batch["offset"].as_primitive::<Int64Type>().values() {
            if !notes.contains(&offset) {
                misplaced.get_or_insert(offset);
            }
        }
        for label in batch["label"].as_string::<i32>().iter().flatten() {
            add(labels, label);
        }
    }
    if let Some(offset) = misplaced {
        faults.push(DatasetError::Offset {
            file: audit.to_owned(),
            offset,
        });
    }
    hold(faults, audit, "audit rows", footer, rows);
    Ok(())
}
