//! Checks the end of a schedule: every record is one row, in order, completely redacted, in an intact chain.

use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::types::Int64Type;
use arrow_array::{Array as _, RecordBatch};
use lethe_connectors::inspect::{Scope, inspect_within};
use lethe_connectors::sink::ChainId;
use lethe_connectors::store::{Memory, Store as _};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::broker::{Broker, chain};
use super::notes::row;
use super::store::Disk;

/// The columns of a row that a record determines.
const COLUMNS: [&str; 3] = ["offset", "row_kind", "text"];

/// A row as written.
pub(crate) type Row = (i64, String, Option<String>);

/// Returns the first violation, if any. Logs began at these offsets.
pub(super) async fn check(disk: &Arc<Disk>, broker: &Broker, begins: &[i64]) -> Result<(), String> {
    for (number, &begin) in (0..).zip(begins) {
        let expected: Vec<Row> = (0..)
            .zip(broker.entries(number))
            .skip(begin as usize)
            .filter_map(|(offset, entry)| {
                let (kind, text) = row(&entry)?;
                Some((offset, kind.to_owned(), text))
            })
            .collect();
        compare(number, &expected, &rows(&disk.memory, &chain(number)).await?)?;
    }
    let scope = Scope {
        audit: true,
        ..Scope::default()
    };
    let report = inspect_within(&disk.memory, scope, |_| {})
        .await
        .map_err(|error| error.to_string())?;
    if report.is_intact() {
        Ok(())
    } else {
        Err(format!("inspect: {report}"))
    }
}

fn compare(number: i32, expected: &[Row], found: &[Row]) -> Result<(), String> {
    let mut last = -1;
    for (offset, ..) in found {
        if *offset == last {
            return Err(format!("duplicated: {number}/{offset}"));
        }
        if *offset < last {
            return Err(format!("reordered: {number}/{offset} after {last}"));
        }
        last = *offset;
    }
    for row in expected {
        match found.binary_search_by_key(&row.0, |found| found.0) {
            Err(_) => return Err(format!("lost: {number}/{}", row.0)),
            Ok(at) if found[at] != *row => {
                return Err(format!("half-redacted or changed: {number}/{}", row.0));
            }
            Ok(_) => {}
        }
    }
    if found.len() > expected.len() {
        return Err(format!("partition {number} has rows of no record"));
    }
    Ok(())
}

/// Returns the rows of a chain, file by file.
pub(crate) async fn rows(store: &Memory, chain: &ChainId) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    let files = store.list(&chain.notes_folder()).await;
    for file in files.map_err(|error| error.to_string())? {
        let bytes = store.read(&file.name).await.map_err(|error| error.to_string())?;
        let reader = ParquetRecordBatchReaderBuilder::try_new(bytes)
            .and_then(|builder| {
                let columns = ProjectionMask::columns(builder.parquet_schema(), COLUMNS);
                builder.with_projection(columns).build()
            })
            .map_err(|error| error.to_string())?;
        for batch in reader {
            take_rows(&batch.map_err(|error| error.to_string())?, &mut rows)?;
        }
    }
    Ok(rows)
}

fn take_rows(batch: &RecordBatch, rows: &mut Vec<Row>) -> Result<(), String> {
    let column = |name: &str| {
        batch
            .column_by_name(name)
            .ok_or_else(|| format!("there is no column {name}"))
    };
    let [offset, kind, text] = COLUMNS;
    let offsets = column(offset)?.as_primitive::<Int64Type>();
    let kinds = column(kind)?.as_string::<i32>();
    let texts = column(text)?.as_string::<i32>();
    for row in 0..batch.num_rows() {
        let text = texts.is_valid(row).then(|| texts.value(row).to_owned());
        rows.push((offsets.value(row), kinds.value(row).to_owned(), text));
    }
    Ok(())
}
