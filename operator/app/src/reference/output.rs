//! The page of every column that Lethe writes, from the lists that make the schemas.

use arrow_schema::{DataType, TimeUnit};
use lethe_connectors::sink::stored_schema;
use lethe_core::{AuditBatch, Column, RedactedBatch};

use super::markdown::{GENERATED, code, table};
use crate::backfill::{audit_columns, row_columns};

const INTRODUCTION: &str = "# Output columns

Every column of the Parquet files that Lethe writes. [Output and audit](../output.md) explains how to read
and verify them, and [Backfill](../backfill.md) the files of a backfill. The files of `lethe replay` have the
columns of notes and audit.
";

/// Returns the page.
pub(super) fn page() -> String {
    let parts = [
        (
            "Notes",
            "Files `notes/topic=T/partition=P/<offset>.parquet`: one row per record. The columns from \
             `note_id` to `authored_at` are null unless the configuration and the policy let them leave.",
            stored(RedactedBatch::columns()),
        ),
        (
            "Audit",
            "Files `audit/topic=T/partition=P/<offset>-<random>.parquet`: one row per replaced span, then \
             one row per changed field of the message. A row of a field has no span (its offsets are 0), no \
             votes and score 1.",
            stored(AuditBatch::columns()),
        ),
        (
            "Rows of a backfill",
            "Files below `rows/`: one row per row of a table. These columns come before the table's own \
             columns that leave.",
            row_columns(),
        ),
        (
            "Audit of a backfill",
            "Files below `audit/`: the columns of [Audit](#audit), where `topic` is the object, \
             `partition` is 0 and `offset` is the number of the row, and these. Their counts and positions are \
             uint32.",
            audit_columns(),
        ),
    ];
    let mut page = format!("{GENERATED}{INTRODUCTION}");
    for (title, text, columns) in parts {
        page.push_str(&format!("\n## {title}\n\n{text}\n\n{}", columns_table(&columns)));
    }
    page
}

/// Returns the columns with the types that chains have for them.
fn stored(columns: Vec<Column>) -> Vec<Column> {
    let schema = stored_schema(&Column::schema(columns.clone()));
    let fields = schema.fields().iter().zip(columns);
    fields
        .map(|(field, column)| Column {
            field: field.as_ref().clone(),
            ..column
        })
        .collect()
}

fn columns_table(columns: &[Column]) -> String {
    let rows = columns.iter().map(|column| {
        let nullable = if column.field.is_nullable() { "yes" } else { "no" };
        [
            code(column.field.name()),
            name(column.field.data_type()),
            nullable.to_owned(),
            column.meaning.to_owned(),
        ]
    });
    table(["column", "type", "nullable", "meaning"], rows)
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
