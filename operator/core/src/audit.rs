//! Audit records: what was done to which bytes, and on whose word. Never the words themselves.

use std::sync::Arc;

use arrow_array::builder::{Float32Builder, Int32Builder, Int64Builder, StringBuilder, UInt32Builder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use crate::{BatchError, Decision, LabelSet, NoteBatch, Placed};

/// Audit records as Arrow columns, one row a redacted span, in the order of notes and spans.
#[derive(Clone)]
pub struct AuditBatch(RecordBatch);

impl AuditBatch {
    /// `topic`, `partition`, `offset` of the note; `start`, `end`, bytes of the original; `out_start`, `out_end`,
    /// bytes of the redacted text; `label`, `category`, `hipaa` (letter of 45 CFR 164.514(b)(2)(i)); `action`;
    /// `votes`, `members` (names, comma-separated), `rule` and `score`: why.
    pub fn schema() -> SchemaRef {
        let utf8 = |name: &str| Field::new(name, DataType::Utf8, false);
        let number = |name: &str| Field::new(name, DataType::UInt32, false);
        Arc::new(Schema::new(vec![
            utf8("topic"),
            Field::new("partition", DataType::Int32, false),
            Field::new("offset", DataType::Int64, false),
            number("start"),
            number("end"),
            number("out_start"),
            number("out_end"),
            utf8("label"),
            utf8("category"),
            utf8("hipaa"),
            utf8("action"),
            number("votes"),
            utf8("members"),
            utf8("rule"),
            Field::new("score", DataType::Float32, false),
        ]))
    }

    /// The Arrow form.
    pub const fn record(&self) -> &RecordBatch {
        &self.0
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.0.num_rows()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl std::fmt::Debug for AuditBatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AuditBatch({} rows)", self.len())
    }
}

/// Audit rows under construction.
#[derive(Default)]
pub(crate) struct Trail {
    topic: StringBuilder,
    partition: Int32Builder,
    offset: Int64Builder,
    spans: [UInt32Builder; 4],
    labels: [StringBuilder; 4],
    votes: UInt32Builder,
    members: StringBuilder,
    rule: StringBuilder,
    score: Float32Builder,
}

impl Trail {
    pub(crate) fn push(
        &mut self,
        batch: &NoteBatch,
        row: usize,
        labels: &LabelSet,
        members: &[String],
        decisions: &[Decision],
        placed: &[Placed],
    ) {
        let (topic, partition, offset) = batch.coordinates(row);
        let mut letter = [0; 4];
        for (decision, placed) in decisions.iter().zip(placed) {
            self.topic.append_value(topic);
            self.partition.append_value(partition);
            self.offset.append_value(offset);
            let ends = [
                decision.span.start(),
                decision.span.end(),
                placed.out.start(),
                placed.out.end(),
            ];
            for (builder, end) in self.spans.iter_mut().zip(ends) {
                // A span's offsets are 32 bits wide by construction.
                builder.append_value(end as u32);
            }
            let label = labels.label(decision.label);
            let names = [
                label.name.as_str(),
                &label.category,
                label.hipaa.letter().encode_utf8(&mut letter),
                placed.action.name(),
            ];
            for (builder, name) in self.labels.iter_mut().zip(names) {
                builder.append_value(name);
            }
            self.votes.append_value(decision.members.len());
            let mut first = true;
            for name in decision.members.iter().filter_map(|member| members.get(member)) {
                use std::fmt::Write as _;
                // Writing to a builder cannot fail: it grows.
                let _ok = write!(self.members, "{}{name}", if first { "" } else { "," }).is_ok();
                first = false;
            }
            self.members.append_value("");
            self.rule.append_value(decision.rule);
            self.score.append_value(decision.score);
        }
    }

    pub(crate) fn finish(mut self) -> Result<AuditBatch, BatchError> {
        let [mut start, mut end, mut out_start, mut out_end] = self.spans;
        let [mut label, mut category, mut hipaa, mut action] = self.labels;
        let columns: Vec<ArrayRef> = vec![
            Arc::new(self.topic.finish()),
            Arc::new(self.partition.finish()),
            Arc::new(self.offset.finish()),
            Arc::new(start.finish()),
            Arc::new(end.finish()),
            Arc::new(out_start.finish()),
            Arc::new(out_end.finish()),
            Arc::new(label.finish()),
            Arc::new(category.finish()),
            Arc::new(hipaa.finish()),
            Arc::new(action.finish()),
            Arc::new(self.votes.finish()),
            Arc::new(self.members.finish()),
            Arc::new(self.rule.finish()),
            Arc::new(self.score.finish()),
        ];
        Ok(AuditBatch(RecordBatch::try_new(AuditBatch::schema(), columns)?))
    }
}
