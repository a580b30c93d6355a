//! The whole of de-identification, without the stream: members tag, the ensemble decides, the redactor writes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::{
    Annotations, AuditBatch, BatchError, Combine, LabelSet, MemberSet, Merging, NoteBatch, Outcome,
    QuarantineCode, RedactedBatch, Redactor, TagError, Tagger,
};

/// Members, and how they are combined and acted upon. Shared by every lane; synchronous and pure.
pub struct Engine {
    labels: Arc<LabelSet>,
    members: Vec<Arc<dyn Tagger>>,
    names: Vec<String>,
    combiner: Arc<dyn Combine>,
    merging: Merging,
    redactor: Redactor,
}

/// A batch's way out.
#[derive(Debug)]
pub struct Processed {
    /// One row for each row of the batch.
    pub redacted: RedactedBatch,
    /// One row for each redacted span.
    pub audit: AuditBatch,
    /// Notes that a member could not handle, by code.
    pub quarantined: Vec<QuarantineCode>,
}

impl Engine {
    /// An engine of these members, in the order of their votes.
    ///
    /// # Panics
    /// If there are more than [`MemberSet::CAPACITY`] members.
    pub fn new(
        labels: Arc<LabelSet>,
        members: Vec<Arc<dyn Tagger>>,
        combiner: Arc<dyn Combine>,
        merging: Merging,
        redactor: Redactor,
    ) -> Self {
        assert!(
            members.len() <= MemberSet::CAPACITY,
            "an ensemble has at most {} members",
            MemberSet::CAPACITY
        );
        let names = members.iter().map(|member| member.name().to_owned()).collect();
        Self {
            labels,
            members,
            names,
            combiner,
            merging,
            redactor,
        }
    }

    /// The label set that decisions are in.
    pub fn labels(&self) -> &Arc<LabelSet> {
        &self.labels
    }

    /// The members' names, in the order of their votes.
    pub fn members(&self) -> &[String] {
        &self.names
    }

    /// What the ensemble decides about each row. An error quarantines that row alone.
    pub fn decide(&self, batch: &NoteBatch) -> Vec<Outcome> {
        let tagged: Vec<_> = self
            .members
            .iter()
            .map(|member| tag_isolated(member.as_ref(), batch))
            .collect();
        (0..batch.len())
            .map(|row| {
                let mut said = Vec::with_capacity(tagged.len());
                for rows in &tagged {
                    said.push(rows[row].as_ref().map_err(|code| *code)?);
                }
                let note = batch.note(row);
                let mut decisions = self.combiner.decide(note, &said);
                self.merging.apply(note.text, &mut decisions);
                Ok(decisions)
            })
            .collect()
    }

    /// The redacted text of one row, for callers that write no rows.
    ///
    /// # Errors
    /// The code under which the note would be quarantined.
    pub fn redact(&self, batch: &NoteBatch, row: usize, outcome: &Outcome) -> Result<String, QuarantineCode> {
        let decisions = outcome.as_ref().map_err(|code| *code)?;
        let redacted = self.redactor.redact_text(batch.note(row).text, decisions);
        redacted
            .map(|(text, _)| text)
            .map_err(|_| QuarantineCode::InvalidSpan)
    }

    /// Tags, decides and redacts a batch.
    ///
    /// # Errors
    /// [`BatchError::Arrow`] if the redacted texts pass 2 GiB.
    pub fn process(&self, batch: &NoteBatch) -> Result<Processed, BatchError> {
        let outcomes = self.decide(batch);
        let (redacted, audit) = self
            .redactor
            .redact(&self.labels, &self.names, batch, &outcomes)?;
        let quarantined = outcomes.into_iter().filter_map(Result::err).collect();
        Ok(Processed {
            redacted,
            audit,
            quarantined,
        })
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Engine({:?}, {})", self.labels, self.names.join(", "))
    }
}

/// Runs a member so that a panic costs the note that caused it, not the batch: the batch is tried whole, and note by
/// note only if that panics.
fn tag_isolated(member: &dyn Tagger, batch: &NoteBatch) -> Vec<Result<Annotations, QuarantineCode>> {
    let attempt = catch_unwind(AssertUnwindSafe(|| member.tag(batch)));
    match attempt {
        Ok(rows) if rows.len() == batch.len() => rows.into_iter().map(|row| row.map_err(code)).collect(),
        Ok(_) => vec![Err(QuarantineCode::MemberError); batch.len()],
        Err(_) if batch.len() > 1 => (0..batch.len())
            .flat_map(|row| tag_isolated(member, &batch.slice(row, 1)))
            .collect(),
        Err(_) => vec![Err(QuarantineCode::MemberPanic)],
    }
}

fn code(error: TagError) -> QuarantineCode {
    match error {
        TagError::Annotation(_) => QuarantineCode::InvalidSpan,
        TagError::Failed(_) => QuarantineCode::MemberError,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Action, Carried, LabelId, Voting, tag_each};
    use arrow_array::Array;
    use arrow_array::cast::AsArray;

    /// Tags the word "Ana"; panics, fails or strays on three others.
    struct Moody;

    impl Tagger for Moody {
        fn name(&self) -> &str {
            "moody"
        }

        fn tag(&self, batch: &NoteBatch) -> Vec<Result<Annotations, TagError>> {
            if batch.notes().any(|note| note.text.contains("fail")) && batch.len() == 1 {
                return vec![Err(TagError::Failed("out of sorts"))];
            }
            tag_each(batch, |note, out| {
                for i in 0..note.tokens.len() {
                    match note.word(i) {
                        "Ana" => out.tokens(i, i, LabelId(0), 1.0, "moody.ana"),
                        "panic" => panic!("as asked"),
                        "stray" => out.span(crate::Span::between(0, 9999), LabelId(0), 1.0, ""),
                        _ => {}
                    }
                }
            })
        }
    }

    fn engine() -> Engine {
        let labels = Arc::new(LabelSet::i2b2_2014());
        let redactor = Redactor::new(&labels, Action::Tag, Carried::default());
        Engine::new(
            labels,
            vec![Arc::new(Moody)],
            Arc::new(Voting::default()),
            Merging::default(),
            redactor,
        )
    }

    #[test]
    fn a_panic_or_a_stray_span_costs_only_its_own_note() {
        let batch = NoteBatch::from_texts(["Ana fell.", "panic", "stray", "Ana Ana left."]).unwrap();
        let done = engine().process(&batch).unwrap();
        let text = done
            .redacted
            .record()
            .column_by_name("text")
            .unwrap()
            .as_string::<i32>();
        assert_eq!(text.value(0), "[PATIENT] fell.");
        assert!(text.is_null(1) && text.is_null(2));
        assert_eq!(text.value(3), "[PATIENT] left.");
        let errors = done
            .redacted
            .record()
            .column_by_name("error")
            .unwrap()
            .as_string::<i32>();
        assert_eq!(
            (errors.value(1), errors.value(2)),
            ("member_panic", "invalid_span")
        );
        assert_eq!(done.quarantined.len(), 2);
    }

    #[test]
    fn the_audit_names_member_and_rule_and_holds_no_text() {
        let batch = NoteBatch::from_texts(["Seen: Ana."]).unwrap();
        let audit = engine().process(&batch).unwrap().audit;
        let value = |name: &str| {
            audit
                .record()
                .column_by_name(name)
                .unwrap()
                .as_string::<i32>()
                .value(0)
                .to_owned()
        };
        assert_eq!(
            (value("label"), value("members"), value("rule")),
            ("PATIENT".into(), "moody".into(), "moody.ana".into())
        );
        assert_eq!(audit.len(), 1);
    }
}
