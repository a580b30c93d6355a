//! The page of every column that Lethe writes, from the lists that make the schemas.

use std::sync::Arc;

use arrow_schema::{DataType, TimeUnit};
use lethe_connectors::sink::{FieldIds, stored_schema};
use lethe_core::{AuditBatch, Column, RedactedBatch};

use super::markdown::{GENERATED, code, table};
use crate::backfill::{audit_columns, row_columns};

const INTRODUCTION: &str = "# Output columns

Every column of the Parquet files that Lethe writes. [Output and audit](../output.md) explains how to read
and verify them, and [Backfill](../backfill.md) the files of a backfill. The files of `lethe replay` have the
columns of notes and audit.

Counts and positions are signed numbers of 64 bits. Files of earlier versions have unsigned ones of 32 bits (uint32)
in their place, and no field ids. The field id of a column is its `field_id` in the Parquet schema, by which Apache
Iceberg finds it. A column keeps its id in every later version. The ids of notes files and of audit files are
independent. Files without field ids, of earlier versions or of the rows of a backfill, need a name mapping in an
Iceberg table (its property `schema.name-mapping.default`).
";

/// Returns the page.
pub(super) fn page() -> String {
    let (notes, audit) = (Some(FieldIds::NOTES), Some(FieldIds::AUDIT));
    let parts = [
        (
            "Notes",
            "Files `notes/topic=T/partition=P/<offset>.parquet`: one row per record. The columns from \
             `note_id` to `authored_at` are null unless the configuration and the policy let them leave.",
            RedactedBatch::columns(),
            notes,
        ),
        (
            "Audit",
            "Files `audit/topic=T/partition=P/<offset>-<random>.parquet`: one row per replaced span, then \
             one row per changed field of the message. A row of a field has no span (its offsets are 0), no \
             votes and score 1.",
            AuditBatch::columns(),
            audit,
        ),
        (
            "Rows of a backfill",
            "Files below `rows/`: one row per row of a table. These columns come before the table's own \
             columns that leave, which keep their types. These files have no field ids.",
            row_columns(),
            None,
        ),
        (
            "Audit of a backfill",
            "Files below `audit/`: the columns of [Audit](#audit), where `topic` is the object, \
             `partition` is 0 and `offset` is the number of the row, and these.",
            audit_columns(),
            audit,
        ),
    ];
    let mut page = format!("{GENERATED}{INTRODUCTION}");
    for (title, text, columns, ids) in parts {
        let columns = columns_table(&columns, ids);
        page.push_str(&format!("\n## {title}\n\n{text}\n\n{columns}"));
    }
    page
}

/// Returns a table of columns with their types in files, and their field ids if the files have any.
fn columns_table(columns: &[Column], ids: Option<FieldIds>) -> String {
    let schema = Column::schema(columns.to_vec());
    let schema = ids.map_or_else(|| Arc::clone(&schema), |ids| stored_schema(&schema, ids));
    let rows = schema.fields().iter().zip(columns).map(|(field, column)| {
        let nullable = if field.is_nullable() { "yes" } else { "no" };
        [
            code(field.name()),
            name(field.data_type()),
            nullable.to_owned(),
            ids.map_or_else(String::new, |ids| field_ids(field.name(), ids)),
            column.meaning.to_owned(),
        ]
    });
    if ids.is_some() {
        table(["column", "type", "nullable", "field id", "meaning"], rows)
    } else {
        let rows = rows.map(|[column, kind, nullable, _, meaning]| [column, kind, nullable, meaning]);
        table(["column", "type", "nullable", "meaning"], rows)
    }
}

/// Returns the field id of a column, and of each path within it.
fn field_ids(column: &str, ids: FieldIds) -> String {
    let own = ids.of(column).map_or_else(String::new, |id| id.to_string());
    let below: Vec<_> = ids
        .within(column)
        .map(|(path, id)| format!("{} {id}", code(path)))
        .collect();
    if below.is_empty() {
        own
    } else {
        format!("{own} ({})", below.join(", "))
    }
}

/// Returns the name of a type, as readers of Parquet know it.
fn name(kind: &DataType) -> String {
    match kind {
        DataType::Utf8 | DataType::LargeUtf8 => "string".to_owned(),
        DataType::Timestamp(TimeUnit::Millisecond, Some(zone)) => format!("timestamp, milliseconds, {zone}"),
        DataType::List(item) => format!("list of {}", name(item.data_type())),
        DataType::Struct(fields) => {
            let fields = fields
                .iter()
                .map(|field| format!("{} {}", field.name(), name(field.data_type())));
            format!("({})", fields.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string().to_ascii_lowercase(),
    }
}
