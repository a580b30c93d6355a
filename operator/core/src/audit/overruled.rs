//! The column of overruled spans: one list per row.

use std::sync::Arc;

use arrow_array::builder::{Float32Builder, StringBuilder, UInt32Builder};
use arrow_array::{ArrayRef, ListArray, StructArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Fields};

use super::write_names;
use crate::{BatchError, LabelSet, OverruledSpan};

/// The column under construction.
pub(super) struct OverruledColumn {
    spans: [UInt32Builder; 2],
    label: StringBuilder,
    members: StringBuilder,
    score: Float32Builder,
    lengths: Vec<usize>,
}

impl OverruledColumn {
    /// Reserves this many rows, each with one overruled span.
    pub(super) fn with_capacity(rows: usize) -> Self {
        let strings = |bytes: usize| StringBuilder::with_capacity(rows, rows * bytes);
        Self {
            spans: std::array::from_fn(|_| UInt32Builder::with_capacity(rows)),
            label: strings(12),
            members: strings(32),
            score: Float32Builder::with_capacity(rows),
            lengths: Vec::with_capacity(rows),
        }
    }

    /// Returns the type of one overruled span.
    pub(super) fn field() -> Arc<Field> {
        Arc::new(Field::new("lost", DataType::Struct(Self::fields()), false))
    }

    fn fields() -> Fields {
        let column = |name: &str, kind| Field::new(name, kind, false);
        Fields::from(vec![
            column("start", DataType::UInt32),
            column("end", DataType::UInt32),
            column("label", DataType::Utf8),
            column("members", DataType::Utf8),
            column("score", DataType::Float32),
        ])
    }

    /// Adds a row.
    pub(super) fn push(&mut self, labels: &LabelSet, members: &[String], overruled: &[OverruledSpan]) {
        for lost in overruled {
            // A span's offsets are 32 bits wide by construction.
            self.spans[0].append_value(lost.span.start() as u32);
            self.spans[1].append_value(lost.span.end() as u32);
            self.label.append_value(&labels.label(lost.label).name);
            write_names(&mut self.members, lost.members, members);
            self.score.append_value(lost.score);
        }
        self.lengths.push(overruled.len());
    }

    pub(super) fn finish(mut self) -> Result<ArrayRef, BatchError> {
        let [start, end] = &mut self.spans;
        let columns: Vec<ArrayRef> = vec![
            Arc::new(start.finish()),
            Arc::new(end.finish()),
            Arc::new(self.label.finish()),
            Arc::new(self.members.finish()),
            Arc::new(self.score.finish()),
        ];
        let lost = StructArray::try_new(Self::fields(), columns, None)?;
        let offsets = OffsetBuffer::from_lengths(self.lengths);
        Ok(Arc::new(ListArray::try_new(
            Self::field(),
            offsets,
            Arc::new(lost),
            None,
        )?))
    }
}
