//! The audit of a backfill: the engine's audit rows, with the column and the index of the text among the
//! row's values.

use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::types::Int64Type;
use arrow_array::{BooleanArray, Int64Array, RecordBatch, StringArray, UInt32Array};
use arrow_schema::{DataType, SchemaRef};
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use lethe_core::{AuditBatch, Column};

/// Returns the columns that a backfill adds to those of every audit.
pub(crate) fn own_columns() -> Vec<Column> {
    vec![
        Column::new(
            "column",
            DataType::Utf8,
            "The path of the text or identifier within the table's columns.",
        ),
        Column::new(
            "element",
            DataType::UInt32,
            "The index of the value among the row's values at this path, from 0.",
        ),
    ]
}

/// Returns the schema of audit rows.
pub(super) fn schema() -> SchemaRef {
    let mut columns = AuditBatch::columns();
    columns.extend(own_columns());
    Column::schema(columns)
}

/// Adds column and element to audit rows. The offset is the row in the slab for now.
pub(super) fn trail(
    path: &str,
    audit: &RecordBatch,
    rows: &[i64],
    elements: Vec<u32>,
) -> anyhow::Result<RecordBatch> {
    let mut columns = audit.columns().to_vec();
    let offset = audit.schema().index_of("offset")?;
    columns[offset] = Arc::new(Int64Array::from(rows.to_vec()));
    columns.push(Arc::new(StringArray::from(vec![path; audit.num_rows()])));
    columns.push(Arc::new(UInt32Array::from(elements)));
    Ok(RecordBatch::try_new(schema(), columns)?)
}

/// Returns the audit of the rows that leave, with their numbers in the object. `leaves` returns whether a row
/// of the slab leaves.
pub(super) fn of(
    first: i64,
    trails: &[RecordBatch],
    leaves: impl Fn(usize) -> bool,
) -> anyhow::Result<RecordBatch> {
    let schema = schema();
    let whole = concat_batches(&schema, trails)?;
    let offset = schema.index_of("offset")?;
    let rows = whole.column(offset).as_primitive::<Int64Type>().clone();
    let mut columns = whole.columns().to_vec();
    columns[offset] = Arc::new(Int64Array::from_iter_values(
        rows.values().iter().map(|row| first + row),
    ));
    let whole = RecordBatch::try_new(schema, columns)?;
    let is_out = |row: &i64| usize::try_from(*row).is_ok_and(&leaves);
    let out: BooleanArray = rows.values().iter().map(|row| Some(is_out(row))).collect();
    Ok(filter_record_batch(&whole, &out)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lethe_connectors::sink::{FieldIds, stored_schema};

    #[test]
    fn every_column_has_a_field_id() {
        let stored = stored_schema(&schema(), FieldIds::AUDIT);
        let without = stored.fields().iter().find(|field| field.metadata().is_empty());
        assert_eq!(without, None);
    }
}
