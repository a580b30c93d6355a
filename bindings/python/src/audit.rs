//! What was found in the notes of a table, as a table.

use std::sync::Arc;

use arrow_array::builder::{Float32Builder, Int64Builder, LargeStringBuilder, ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use pyo3::prelude::*;
use pyo3_arrow::PyTable;

use crate::errors;
use crate::redacted::Redacted;

/// Collects a row for each identifier.
#[derive(Default)]
pub(crate) struct Audit {
    row: Int64Builder,
    column: LargeStringBuilder,
    label: StringBuilder,
    start: Int64Builder,
    end: Int64Builder,
    replacement_start: Int64Builder,
    replacement_end: Int64Builder,
    score: Float32Builder,
    members: ListBuilder<StringBuilder>,
}

impl Audit {
    /// Adds what was found in the note of `row`. `column` is nothing for a column by itself.
    pub(crate) fn add(&mut self, row: usize, column: Option<&str>, redacted: &Redacted) {
        for (span, replacement) in redacted.spans.iter().zip(&redacted.replacements) {
            self.row.append_value(whole(row));
            self.column.append_option(column);
            self.label.append_value(&span.label);
            self.start.append_value(whole(span.start));
            self.end.append_value(whole(span.end));
            self.replacement_start.append_value(whole(replacement.0));
            self.replacement_end.append_value(whole(replacement.1));
            self.score.append_value(span.score);
            self.members.append_value(span.members.iter().map(Some));
        }
    }

    /// Returns the table.
    pub(crate) fn finish(mut self) -> PyResult<PyTable> {
        let columns: [(&str, ArrayRef, bool); 9] = [
            ("row", Arc::new(self.row.finish()), false),
            ("column", Arc::new(self.column.finish()), true),
            ("label", Arc::new(self.label.finish()), false),
            ("start", Arc::new(self.start.finish()), false),
            ("end", Arc::new(self.end.finish()), false),
            (
                "replacement_start",
                Arc::new(self.replacement_start.finish()),
                false,
            ),
            ("replacement_end", Arc::new(self.replacement_end.finish()), false),
            ("score", Arc::new(self.score.finish()), false),
            ("members", Arc::new(self.members.finish()), false),
        ];
        let batch = RecordBatch::try_from_iter_with_nullable(columns);
        let batch = batch.map_err(|_| errors::value("the audit does not fit in Arrow arrays".to_owned()))?;
        let schema = batch.schema();
        PyTable::try_new(vec![batch], schema)
    }
}

fn whole(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
