//! Audit records: what the redactor did to which bytes and which fields, and why. They never hold the
//! original text.

mod overruled;

use std::sync::Arc;

use arrow_array::builder::{
    Float32Builder, Int32Builder, Int64Builder, ListBuilder, StringBuilder, UInt32Builder,
};
use arrow_array::{Array as _, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, SchemaRef};

use crate::{
    BatchError, Change, Changed, Column, Decision, Enclosed, LabelSet, MemberSet, NoteBatch, Redacted,
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
                "The letter of 45 CFR 164.514(b)(2)(i), `A` to `R`, that the label stands for.",
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
}

impl Default for Trail {
    fn default() -> Self {
        Self {
            topic: StringBuilder::default(),
            partition: Int32Builder::default(),
            offset: Int64Builder::default(),
            spans: Default::default(),
            labels: Default::default(),
            key: StringBuilder::default(),
            scope: StringBuilder::default(),
            votes: UInt32Builder::default(),
            members: StringBuilder::default(),
            rule: StringBuilder::default(),
            score: Float32Builder::default(),
            needed: UInt32Builder::default(),
            scores: ListBuilder::new(Float32Builder::default()).with_field(score()),
            overruled: OverruledColumn::default(),
            path: StringBuilder::default(),
        }
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
    path: Option<&'a str>,
}

impl Trail {
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
        ];
        Ok(AuditBatch(RecordBatch::try_new(AuditBatch::schema(), columns)?))
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::StructArray;
    use arrow_array::cast::AsArray;
    use arrow_array::types::Float32Type;

    use super::*;
    use crate::{Annotation, Annotations, Carried, LabelId, Redactor, Span, Voting};

    #[test]
    fn a_row_has_votes_scores_votes_needed_and_overruled_spans() {
        let (labels, text) = (LabelSet::i2b2_2014(), "Ana Ruiz came");
        let (patient, city) = (
            labels.by_name("PATIENT").unwrap(),
            labels.by_name("CITY").unwrap(),
        );
        let says = |end, label: LabelId, score| {
            let annotation = Annotation {
                span: Span::between(0, end),
                label,
                score,
                rule: "",
            };
            Annotations::new(text, vec![annotation]).unwrap()
        };
        let predictions = [says(8, patient, 0.75), says(3, city, 0.5), says(8, patient, 0.25)];
        let voting = Voting {
            redact_uncovered: false,
            ..Voting::default()
        };
        let decisions = voting.decide(text, &predictions.iter().collect::<Vec<_>>());
        let redactor = Redactor::new(&labels, crate::Action::Tag, Carried::default());
        let batch = NoteBatch::from_texts([text]).unwrap();
        let names = ["a", "b", "c"].map(str::to_owned);
        let (_, audit, _) = redactor
            .redact(&labels, &names, &batch, &[Ok(decisions)])
            .unwrap();
        let record = audit.record();
        let column = |name: &str| record.column_by_name(name).unwrap();
        assert_eq!(column("members").as_string::<i32>().value(0), "a,c");
        assert_eq!(
            column("needed")
                .as_primitive::<arrow_array::types::UInt32Type>()
                .value(0),
            1
        );
        let scores = column("scores").as_list::<i32>().value(0);
        assert_eq!(scores.as_primitive::<Float32Type>().values(), &[0.75, 0.25]);
        let lost = column("beat").as_list::<i32>().value(0);
        let lost: &StructArray = lost.as_struct();
        assert_eq!(lost.len(), 1);
        let of = |name: &str| {
            lost.column_by_name(name)
                .unwrap()
                .as_string::<i32>()
                .value(0)
                .to_owned()
        };
        assert_eq!((of("label"), of("members")), ("CITY".to_owned(), "b".to_owned()));
    }
}
