//! Audit records: what the redactor did to which bytes and which fields, and why. They never hold the
//! original text.

mod overruled;

use std::sync::Arc;

use arrow_array::builder::{
    ArrayBuilder as _, Float32Builder, Int32Builder, Int64Builder, ListBuilder, StringBuilder, UInt32Builder,
};
use arrow_array::{Array as _, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, SchemaRef};

use crate::{
    BatchError, Change, Changed, Column, DecidingRule, Decision, Enclosed, LabelSet, MemberSet, NoteBatch,
    Redacted,
};
use overruled::OverruledColumn;

/// Audit records as Arrow columns, in the order of notes: one row per redacted span, in the order of spans,
/// then one row for each field of the note's message that leaves changed.
#[derive(Clone)]
pub struct AuditBatch(RecordBatch);

impl AuditBatch {
    /// The unit of span offsets, as files name it: bytes of UTF-8, not characters or UTF-16 units.
    pub const SPAN_UNIT: &str = "utf-8 byte";

    /// Returns the columns. A row of a message's field has no span (0 everywhere), no votes and score 1.
    pub fn columns() -> Vec<Column> {
        let utf8 = |name, meaning| Column::new(name, DataType::Utf8, meaning);
        let number = |name, meaning| Column::new(name, DataType::UInt32, meaning);
        vec![
            utf8("topic", "The topic of the note's row."),
            Column::new("partition", DataType::Int32, "The partition of the note's row."),
            Column::new("offset", DataType::Int64, "The offset of the note's row."),
            number(
                "start",
                "The start of the span in the original text, in bytes of UTF-8.",
            ),
            number("end", "The end of the span in the original text, exclusive."),
            number(
                "out_start",
                "The start of the replacement in the redacted text, in bytes of UTF-8.",
            ),
            number(
                "out_end",
                "The end of the replacement in the redacted text, exclusive.",
            ),
            utf8(
                "label",
                "The label. It is empty for a field that was removed without being recognised as an \
                 identifier, as are `category` and `hipaa`.",
            ),
            utf8("category", "The category of the label in its label set."),
            utf8(
                "hipaa",
                "The letter of 45 CFR 164.514(b)(2)(i), `A` to `R`, that the label stands for; `-` for a label \
                 that the regulation does not list.",
            ),
            utf8(
                "action",
                "The action that replaced the span, such as `tag` or `surrogate`.",
            ),
            utf8(
                "key",
                "The id of the key that the replacement depends on. Null if it depends on none.",
            )
            .nullable(),
            utf8(
                "scope",
                "The notes within which equal values are replaced alike: `patient`, `note` or `site`.",
            ),
            number("votes", "The number of members that voted for the span."),
            utf8("members", "The names of these members, comma-separated."),
            utf8(
                "rule",
                "The rule of the best-ranked of these members. For a field, the rule of the format's table \
                 that decided.",
            ),
            Column::new("score", DataType::Float32, "The score of the decision, 0 to 1."),
            number(
                "needed",
                "The votes that the span needed. 0 if votes did not decide.",
            ),
            Column::new(
                "scores",
                DataType::List(score()),
                "The scores of the members, in the order of `members`.",
            ),
            Column::new(
                "beat",
                DataType::List(OverruledColumn::field()),
                "The overruled spans: `start` and `end` in the original text, `label`, `members` and `score` \
                 of each.",
            ),
            utf8(
                "path",
                "The field of the message. Null for a span of the narrative.",
            )
            .nullable(),
            utf8(
                "deciding_rule",
                "What made the span be redacted: `votes` (as many as needed); `solo_score` (one vote sufficed, \
                 by its score); `always_redact` or `union_rules` (by a member that needs no second vote); \
                 `combiner` (a fitted combiner); `uncovered` (the part of an overruled span that no other \
                 redaction covers); `propagation` (the value is redacted elsewhere in the note); `column` (an \
                 identifier column of a table); `structured` (a field of the message). Files of versions \
                 before this column lack it.",
            )
            .nullable(),
            Column::new(
                "solo_min_score",
                DataType::Float32,
                "The score from which one vote sufficed. Null unless `deciding_rule` is `solo_score`.",
            )
            .nullable(),
        ]
    }

    /// Returns the schema of [`AuditBatch::columns`].
    pub fn schema() -> SchemaRef {
        Column::schema(Self::columns())
    }

    /// Returns the Arrow form.
    pub const fn record(&self) -> &RecordBatch {
        &self.0
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.0.num_rows()
    }

    /// Returns the number of rows about fields of messages.
    pub fn fields(&self) -> usize {
        let paths = self.0.column_by_name("path");
        paths.map_or(0, |paths| paths.len() - paths.null_count())
    }

    /// Returns whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl std::fmt::Debug for AuditBatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AuditBatch({} rows)", self.len())
    }
}

/// Returns the type of a member's score in a list.
fn score() -> Arc<Field> {
    Arc::new(Field::new("score", DataType::Float32, false))
}

/// Writes the members' names, separated by commas.
fn write_names(builder: &mut StringBuilder, set: MemberSet, members: &[String]) {
    use std::fmt::Write as _;
    let mut first = true;
    for name in set.iter().filter_map(|member| members.get(member)) {
        // Writing to a builder cannot fail.
        let comma = if first { "" } else { "," };
        let _ok = builder
            .write_str(comma)
            .and_then(|()| builder.write_str(name))
            .is_ok();
        first = false;
    }
    builder.append_value("");
}

/// The number of decisions of a long note, whose rows are reserved.
const MANY: usize = 1 << 12;

/// Audit rows under construction.
pub(crate) struct Trail {
    topic: StringBuilder,
    partition: Int32Builder,
    offset: Int64Builder,
    spans: [UInt32Builder; 4],
    labels: [StringBuilder; 4],
    key: StringBuilder,
    scope: StringBuilder,
    votes: UInt32Builder,
    members: StringBuilder,
    rule: StringBuilder,
    score: Float32Builder,
    needed: UInt32Builder,
    scores: ListBuilder<Float32Builder>,
    overruled: OverruledColumn,
    path: StringBuilder,
    deciding_rule: StringBuilder,
    solo_min_score: Float32Builder,
}

impl Default for Trail {
    fn default() -> Self {
        Self::with_capacity(0, 0)
    }
}

/// The columns that both kinds of rows have.
struct Row<'a> {
    ends: [usize; 4],
    /// Label, category, HIPAA letter, action.
    names: [&'a str; 4],
    key: Option<&'a str>,
    scope: &'a str,
    rule: &'a str,
    score: f32,
    deciding_rule: DecidingRule,
    path: Option<&'a str>,
}

impl Trail {
    /// Reserves this many rows of a topic with a name of this length. Builders that double as they grow would take
    /// up to three times the memory of their contents; reserved memory that is not written to costs nothing.
    fn with_capacity(rows: usize, topic: usize) -> Self {
        let strings = |bytes: usize| StringBuilder::with_capacity(rows, rows * bytes);
        let numbers = || UInt32Builder::with_capacity(rows);
        Self {
            topic: strings(topic),
            partition: Int32Builder::with_capacity(rows),
            offset: Int64Builder::with_capacity(rows),
            spans: std::array::from_fn(|_| numbers()),
            labels: std::array::from_fn(|_| strings(12)),
            key: strings(12),
            scope: strings(8),
            votes: numbers(),
            members: strings(48),
            rule: strings(16),
            score: Float32Builder::with_capacity(rows),
            needed: numbers(),
            scores: ListBuilder::with_capacity(Float32Builder::with_capacity(rows * 4), rows)
                .with_field(score()),
            overruled: OverruledColumn::with_capacity(rows),
            path: StringBuilder::with_capacity(rows, 0),
            deciding_rule: strings(12),
            solo_min_score: Float32Builder::with_capacity(rows),
        }
    }

    /// Adds the rows of a note: its decisions, then the fields of its message.
    pub(crate) fn push(
        &mut self,
        batch: &NoteBatch,
        row: usize,
        labels: &LabelSet,
        members: &[String],
        decisions: &[Decision],
        redacted: &Redacted,
    ) {
        let at = batch.coordinates(row);
        if decisions.len() > MANY && self.spans[0].is_empty() {
            *self = Self::with_capacity(decisions.len(), at.0.len());
        }
        let mut letter = [0; 4];
        for (decision, placed) in decisions.iter().zip(&redacted.placed) {
            let label = labels.label(decision.label);
            self.row(
                at,
                &Row {
                    ends: [
                        decision.span.start(),
                        decision.span.end(),
                        placed.out.start(),
                        placed.out.end(),
                    ],
                    names: [
                        &label.name,
                        &label.category,
                        label.hipaa.letter().encode_utf8(&mut letter),
                        placed.action,
                    ],
                    key: placed.key.as_deref(),
                    scope: placed.scope.unwrap_or(redacted.scope),
                    rule: decision.rule,
                    score: decision.score,
                    deciding_rule: decision.deciding_rule,
                    path: None,
                },
            );
            self.votes.append_value(decision.members.len());
            write_names(&mut self.members, decision.members, members);
            self.needed.append_value(decision.needed);
            self.scores.values().append_slice(&decision.scores);
            self.scores.append(true);
            self.overruled.push(labels, members, &decision.overruled);
        }
        if let Some(enclosed) = batch.enclosed(row) {
            for change in enclosed.0.changes() {
                self.change(at, labels, enclosed, change, redacted);
            }
        }
    }

    /// Adds the row of a field of a message.
    fn change(
        &mut self,
        at: (&str, i32, i64),
        labels: &LabelSet,
        enclosed: &Enclosed,
        change: &Change,
        redacted: &Redacted,
    ) {
        let replaced = match change.what {
            Changed::Replaced(identifier) => enclosed
                .0
                .identifiers()
                .get(identifier)
                .zip(redacted.identifiers.get(identifier)),
            Changed::Removed => None,
        };
        let label = replaced.and_then(|(identifier, _)| labels.resolve(identifier.label).ok());
        let label = label.map(|label| labels.label(label));
        let mut letter = [0; 4];
        self.row(
            at,
            &Row {
                ends: [0; 4],
                names: [
                    label.map_or("", |label| &label.name),
                    label.map_or("", |label| &label.category),
                    label.map_or("", |label| label.hipaa.letter().encode_utf8(&mut letter)),
                    replaced.map_or("remove", |(_, done)| done.action),
                ],
                key: replaced.and_then(|(_, done)| done.key.as_deref()),
                scope: replaced.map_or("", |(_, done)| done.scope.unwrap_or(redacted.scope)),
                rule: change.rule,
                score: 1.0,
                deciding_rule: DecidingRule::Structured,
                path: Some(&change.path),
            },
        );
        self.votes.append_value(0);
        self.members.append_value("");
        self.needed.append_value(0);
        self.scores.append(true);
        self.overruled.push(labels, &[], &[]);
    }

    fn row(&mut self, (topic, partition, offset): (&str, i32, i64), row: &Row<'_>) {
        self.topic.append_value(topic);
        self.partition.append_value(partition);
        self.offset.append_value(offset);
        for (builder, end) in self.spans.iter_mut().zip(row.ends) {
            // A span's offsets are 32 bits wide by construction.
            builder.append_value(end as u32);
        }
        for (builder, name) in self.labels.iter_mut().zip(row.names) {
            builder.append_value(name);
        }
        self.key.append_option(row.key);
        self.scope.append_value(row.scope);
        self.rule.append_value(row.rule);
        self.score.append_value(row.score);
        self.path.append_option(row.path);
        self.deciding_rule.append_value(row.deciding_rule.name());
        self.solo_min_score
            .append_option(row.deciding_rule.solo_min_score());
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
            Arc::new(self.key.finish()),
            Arc::new(self.scope.finish()),
            Arc::new(self.votes.finish()),
            Arc::new(self.members.finish()),
            Arc::new(self.rule.finish()),
            Arc::new(self.score.finish()),
            Arc::new(self.needed.finish()),
            Arc::new(self.scores.finish()),
            self.overruled.finish()?,
            Arc::new(self.path.finish()),
            Arc::new(self.deciding_rule.finish()),
            Arc::new(self.solo_min_score.finish()),
        ];
        Ok(AuditBatch(RecordBatch::try_new(AuditBatch::schema(), columns)?))
    }
}

#[cfg(test)]
mod tests;
