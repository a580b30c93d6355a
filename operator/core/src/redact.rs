//! Redaction: the only way from a note to text that may leave.

use std::borrow::Borrow;
use std::sync::Arc;

use crate::output::Written;
use crate::replace::Plain;
use crate::{
    Action, AuditBatch, BatchError, Carried, Decision, Enclosed, LabelSet, NoteBatch, QuarantineCode,
    RedactedBatch, ReplaceError, Replaced, Replacer, Span, SpanError, Subject, audit, output,
};

/// One note's outcome: its decisions, or why it is quarantined.
pub type Outcome = Result<Vec<Decision>, QuarantineCode>;

/// The position of a decision's replacement in the redacted text, and its action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Bytes of the redacted text.
    pub out: Span,
    /// The action.
    pub action: &'static str,
    /// The key that it depends on.
    pub key: Option<Arc<str>>,
    /// As [`Replacement::scope`](crate::Replacement::scope).
    pub scope: Option<&'static str>,
}

/// One redacted note.
#[derive(Clone, Default)]
pub struct Redacted {
    /// Its text.
    pub text: String,
    /// The position of each decision's replacement.
    pub placed: Vec<Placed>,
    /// The redacted message that contained it, if one did.
    pub message: Option<Vec<u8>>,
    /// The action for each of the message's structured identifiers.
    pub identifiers: Vec<Done>,
    /// As [`Replaced::scope`].
    pub scope: &'static str,
}

/// The action for a structured identifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// The action.
    pub action: &'static str,
    /// The key that it depends on.
    pub key: Option<Arc<str>>,
    /// As [`Replacement::scope`](crate::Replacement::scope).
    pub scope: Option<&'static str>,
}

/// Why a note is not redacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unredacted {
    /// The note becomes a quarantined row.
    Quarantined(QuarantineCode),
    /// The note is retried.
    Unavailable(&'static str),
}

impl From<ReplaceError> for Unredacted {
    fn from(error: ReplaceError) -> Self {
        match error {
            ReplaceError::Unavailable(why) => Self::Unavailable(why),
            ReplaceError::Failed => Self::Quarantined(QuarantineCode::NoReplacement),
            ReplaceError::Refused => Self::Quarantined(QuarantineCode::PolicyRefused),
        }
    }
}

impl From<SpanError> for Unredacted {
    fn from(_: SpanError) -> Self {
        Self::Quarantined(QuarantineCode::InvalidSpan)
    }
}

/// Replaces decided spans, and copies kept metadata to the output.
#[derive(Clone, Debug)]
pub struct Redactor {
    replacer: Arc<dyn Replacer>,
    carried: Carried,
}

impl Redactor {
    /// Creates a redactor that applies `action` to every label of the set and keeps `carried` in the output.
    pub fn new(labels: &LabelSet, action: Action, carried: Carried) -> Self {
        Self::by(Arc::new(Plain::new(labels, action)), carried)
    }

    /// Creates a redactor that writes the replacements of `replacer`.
    pub const fn by(replacer: Arc<dyn Replacer>, carried: Carried) -> Self {
        Self { replacer, carried }
    }

    /// Returns the metadata that goes to the output.
    pub const fn carried(&self) -> &Carried {
        &self.carried
    }

    /// Redacts one note. `decisions` must be sorted and free of overlaps, as the vote returns them.
    ///
    /// # Errors
    /// [`Unredacted`] if a decision is not a valid span of the text or begins before the end of the previous
    /// one, if there is no replacement, or if the message cannot be rebuilt. Then nothing is returned: no
    /// note leaves half-redacted.
    ///
    /// # Panics
    /// If the row does not exist.
    pub fn redact_note(
        &self,
        batch: &NoteBatch,
        row: usize,
        decisions: &[Decision],
    ) -> Result<Redacted, Unredacted> {
        let note = batch.note(row);
        let mut at = 0;
        for decision in decisions {
            decision.span.check(note.text)?;
            Span::new(at, decision.span.start())?;
            at = decision.span.end();
        }
        let enclosed = batch.enclosed(row);
        let subject = Subject {
            note,
            patient_id: batch.patient_id(row),
            patient_authority: batch.patient_authority(row),
            column: batch.column(),
            links: batch.links(row),
            note_id: batch.note_id(row),
            authored_at: batch.authored_at(row),
            at: batch.coordinates(row),
            decisions,
            identifiers: enclosed.map_or(&[], |enclosed| enclosed.0.identifiers()),
        };
        let replaced = self.replacer.replace(&subject)?;
        if replaced.spans.len() != decisions.len() || replaced.identifiers.len() != subject.identifiers.len()
        {
            return Err(ReplaceError::Failed.into());
        }
        let (text, outs) = write(note.text, decisions, &replaced)?;
        let message = enclosed
            .map(|enclosed| close(enclosed, decisions, &text, &outs, &replaced))
            .transpose()?;
        let placed = replaced
            .spans
            .into_iter()
            .zip(outs)
            .map(|(replacement, out)| Placed {
                out,
                action: replacement.action,
                key: replacement.key,
                scope: replacement.scope,
            });
        let done = replaced.identifiers.into_iter().map(|replacement| Done {
            action: replacement.action,
            key: replacement.key,
            scope: replacement.scope,
        });
        Ok(Redacted {
            text,
            placed: placed.collect(),
            message,
            identifiers: done.collect(),
            scope: replaced.scope,
        })
    }

    /// Redacts a batch: one output row for each input row, and one audit row for each redacted span and for
    /// each changed field of a message. Takes outcomes or references to them and consumes each when it
    /// redacts its row, so that an iterator needs memory for only one row's decisions.
    ///
    /// A note whose outcome is an error, or that cannot be redacted, becomes a quarantined row without text;
    /// its code is among those returned.
    ///
    /// # Errors
    /// [`BatchError::Arrow`] if the redacted texts exceed 2 GiB; [`BatchError::Unavailable`] if the batch
    /// must be retried.
    ///
    /// # Panics
    /// If there is not one outcome per row.
    pub fn redact(
        &self,
        labels: &LabelSet,
        members: &[String],
        batch: &NoteBatch,
        outcomes: impl IntoIterator<Item: Borrow<Outcome>>,
    ) -> Result<(RedactedBatch, AuditBatch, Vec<QuarantineCode>), BatchError> {
        let bytes = batch.notes().map(|note| note.text.len()).sum::<usize>();
        let mut rows = output::Rows::new(batch.len(), bytes + bytes / 32);
        let mut trail = audit::Trail::default();
        let mut quarantined = Vec::new();
        let mut done = 0;
        for (row, outcome) in outcomes.into_iter().enumerate() {
            done += 1;
            let redacted = match outcome.borrow() {
                Ok(decisions) => self
                    .redact_note(batch, row, decisions)
                    .map(|note| (note, decisions)),
                Err(code) => Err(Unredacted::Quarantined(*code)),
            };
            match redacted {
                Ok((mut note, decisions)) => {
                    let written = Written {
                        text: std::mem::take(&mut note.text),
                        message: note.message.take(),
                        redactions: decisions.len(),
                    };
                    rows.push(batch, row, Ok(written));
                    trail.push(batch, row, labels, members, decisions, &note);
                }
                Err(Unredacted::Quarantined(code)) => {
                    quarantined.push(code);
                    rows.push(batch, row, Err(code));
                }
                Err(Unredacted::Unavailable(why)) => return Err(BatchError::Unavailable(why)),
            }
        }
        assert_eq!(batch.len(), done, "one outcome per row");
        Ok((rows.finish(batch, &self.carried)?, trail.finish()?, quarantined))
    }
}

/// Returns the text with its spans replaced, and the positions of the replacements.
fn write(text: &str, decisions: &[Decision], replaced: &Replaced) -> Result<(String, Vec<Span>), SpanError> {
    let mut out = String::with_capacity(text.len() + decisions.len() * 4);
    let mut outs = Vec::with_capacity(decisions.len());
    let mut at = 0;
    for (decision, replacement) in decisions.iter().zip(&replaced.spans) {
        out.push_str(Span::new(at, decision.span.start())?.of(text));
        let start = out.len();
        out.push_str(&replacement.text);
        outs.push(Span::new(start, out.len())?);
        at = decision.span.end();
    }
    out.push_str(Span::new(at, text.len())?.of(text));
    Ok((out, outs))
}

/// Returns the message with the redacted text of its parts. A replacement that spans two parts stays in the
/// first.
fn close(
    enclosed: &Enclosed,
    decisions: &[Decision],
    text: &str,
    outs: &[Span],
    replaced: &Replaced,
) -> Result<Vec<u8>, Unredacted> {
    let moved = |at: usize| {
        let before = decisions.partition_point(|decision| decision.span.start() < at);
        let Some(last) = before.checked_sub(1) else {
            return at;
        };
        let (from, to) = (decisions[last].span, outs[last]);
        // A position within a replaced span moves to its end.
        to.end() + at.saturating_sub(from.end())
    };
    let parts = enclosed.0.parts().iter().map(|part| {
        let span = Span::new(moved(part.start()), moved(part.end()))?;
        span.check(text)?;
        Ok(span.of(text))
    });
    let parts = parts.collect::<Result<Vec<_>, SpanError>>()?;
    let identifiers: Vec<&str> = replaced.identifiers.iter().map(|one| one.text.as_str()).collect();
    let closed = enclosed.0.close(&parts, &identifiers);
    closed.map_err(|_| Unredacted::Quarantined(QuarantineCode::MessageNotClosed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Change, Changed, Envelope, EnvelopeError, Identifier, MemberSet, NoteEvent, Record};
    use arrow_array::Array as _;
    use arrow_array::cast::AsArray as _;
    use proptest::prelude::*;

    fn decision(labels: &LabelSet, label: &str, start: u32, end: u32) -> Decision {
        let label = labels.by_name(label).unwrap();
        Decision::new(
            Span::between(start, end),
            label,
            MemberSet::default().with(0),
            1.0,
        )
    }

    fn redact(redactor: &Redactor, text: &str, decisions: &[Decision]) -> Result<Redacted, Unredacted> {
        redactor.redact_note(&NoteBatch::from_texts([text]).unwrap(), 0, decisions)
    }

    #[test]
    fn tag_writes_the_label_and_mask_keeps_the_length() {
        let labels = LabelSet::i2b2_2014();
        let plain = Plain::new(&labels, Action::Tag).with(labels.by_name("CITY").unwrap(), Action::Mask);
        let redactor = Redactor::by(Arc::new(plain), Carried::default());
        let decisions = [
            decision(&labels, "PATIENT", 0, 9),
            decision(&labels, "CITY", 16, 21),
        ];
        let done = redact(&redactor, "Ana María, from Cádiz.", &decisions[..1]).unwrap();
        assert_eq!(done.text, "[PATIENT]a, from Cádiz.");
        assert_eq!(done.placed[0].out, Span::between(0, 9));
        let city = [decision(&labels, "CITY", 15, 22)];
        let done = redact(&redactor, "Ana Mara, from Málaga X", &city).unwrap();
        assert_eq!(done.text, "Ana Mara, from ****** X");
    }

    #[test]
    fn overlapping_or_foreign_decisions_give_no_text_at_all() {
        let labels = LabelSet::i2b2_2014();
        let redactor = Redactor::new(&labels, Action::Tag, Carried::default());
        let overlapping = [decision(&labels, "CITY", 0, 4), decision(&labels, "CITY", 2, 6)];
        assert!(redact(&redactor, "abcdefgh", &overlapping).is_err());
        assert!(redact(&redactor, "abc", &overlapping[1..]).is_err());
    }

    #[derive(Debug)]
    struct Away;

    impl Replacer for Away {
        fn replace(&self, _: &Subject<'_>) -> Result<Replaced, ReplaceError> {
            Err(ReplaceError::Unavailable("the vault is away"))
        }
    }

    #[test]
    fn a_batch_whose_replacements_are_away_for_now_is_given_back_whole() {
        let labels = LabelSet::i2b2_2014();
        let redactor = Redactor::by(Arc::new(Away), Carried::default());
        let batch = NoteBatch::from_texts(["a"]).unwrap();
        let told = redactor.redact(&labels, &[], &batch, &[Ok(Vec::new())]);
        assert!(matches!(told, Err(BatchError::Unavailable("the vault is away"))));
    }

    /// A message with one name and one remark of the sender; only the name is returned.
    struct Card([Identifier; 1], [Change; 2]);

    impl Envelope for Card {
        fn parts(&self) -> &[Span] {
            &[]
        }

        fn identifiers(&self) -> &[Identifier] {
            &self.0
        }

        fn changes(&self) -> &[Change] {
            &self.1
        }

        fn close(&self, _: &[&str], identifiers: &[&str]) -> Result<Vec<u8>, EnvelopeError> {
            Ok(format!("card of {}", identifiers[0]).into_bytes())
        }
    }

    #[test]
    fn a_message_without_narrative_is_a_row_without_text_and_its_fields_are_audited() {
        let labels = LabelSet::i2b2_2014();
        let redactor = Redactor::new(&labels, Action::Tag, Carried::default());
        let name = Identifier {
            label: "PATIENT",
            value: "Ruiz^Ana".into(),
            authority: None,
        };
        let change = |path: &'static str, rule, what| Change {
            path: path.into(),
            rule,
            what,
        };
        let changes = [
            change("PID-5", "name", Changed::Replaced(0)),
            change("PID-10", "not in the table", Changed::Removed),
        ];
        let event = NoteEvent {
            note_id: "m-1".into(),
            note_type: Some("Letter to Mrs Ruiz".to_owned()),
            structured: true,
            enclosed: Some(Enclosed(Arc::new(Card([name], changes)))),
            ..NoteEvent::default()
        };
        let batch = NoteBatch::from_records([Record::Note(event)]).unwrap();
        let (rows, audit, quarantined) = redactor.redact(&labels, &[], &batch, &[Ok(Vec::new())]).unwrap();
        assert!(quarantined.is_empty());
        let cell = |name: &str| {
            let column = rows.record().column_by_name(name).unwrap();
            column
                .is_valid(0)
                .then(|| column.as_string::<i32>().value(0).to_owned())
        };
        assert_eq!(cell("row_kind").as_deref(), Some("structured"));
        assert_eq!(cell("note_type").as_deref(), Some("OTHER"));
        assert_eq!(cell("text"), None);
        let message = rows.record().column_by_name("message").unwrap();
        assert_eq!(message.as_binary::<i32>().value(0), b"card of [PATIENT]");
        let redactions = rows.record().column_by_name("redactions").unwrap();
        assert_eq!(
            redactions
                .as_primitive::<arrow_array::types::UInt32Type>()
                .value(0),
            0
        );
        let column = |name: &str| -> Vec<String> {
            let column = audit.record().column_by_name(name).unwrap();
            column
                .as_string::<i32>()
                .iter()
                .flatten()
                .map(str::to_owned)
                .collect()
        };
        assert_eq!(column("path"), ["PID-5", "PID-10"]);
        assert_eq!(column("action"), ["tag", "remove"]);
        assert_eq!(column("label"), ["PATIENT", ""]);
        assert_eq!(column("hipaa"), ["A", ""]);
        assert_eq!(column("rule"), ["name", "not in the table"]);
    }

    /// Two parts and a name, rebuilt with bars between.
    struct Barred([Span; 2], [Identifier; 1]);

    impl Envelope for Barred {
        fn parts(&self) -> &[Span] {
            &self.0
        }

        fn identifiers(&self) -> &[Identifier] {
            &self.1
        }

        fn close(&self, parts: &[&str], identifiers: &[&str]) -> Result<Vec<u8>, EnvelopeError> {
            Ok([parts, identifiers].concat().join("|").into_bytes())
        }
    }

    #[test]
    fn a_message_gets_its_own_parts_back_and_its_identifiers_by_the_same_policy() {
        let labels = LabelSet::i2b2_2014();
        let redactor = Redactor::new(&labels, Action::Tag, Carried::default());
        let name = Identifier {
            label: "PATIENT",
            value: "Ruiz^Ana".into(),
            authority: None,
        };
        let text = "Ana Ruiz came.\n\nAna left Reus";
        let event = NoteEvent {
            text: text.into(),
            enclosed: Some(Enclosed(Arc::new(Barred(
                [Span::between(0, 14), Span::between(16, 29)],
                [name],
            )))),
            ..NoteEvent::default()
        };
        let batch = NoteBatch::from_records([Record::Note(event)]).unwrap();
        let closed = |decisions: &[Decision]| {
            let message = redactor.redact_note(&batch, 0, decisions).unwrap().message;
            String::from_utf8(message.unwrap()).unwrap()
        };
        assert_eq!(closed(&[]), "Ana Ruiz came.|Ana left Reus|[PATIENT]");
        let each = [
            decision(&labels, "PATIENT", 0, 8),
            decision(&labels, "PATIENT", 16, 19),
            decision(&labels, "CITY", 25, 29),
        ];
        assert_eq!(closed(&each), "[PATIENT] came.|[PATIENT] left [CITY]|[PATIENT]");
        let across = [decision(&labels, "PATIENT", 9, 19)];
        assert_eq!(closed(&across), "Ana Ruiz [PATIENT]| left Reus|[PATIENT]");
    }

    proptest! {
        #[test]
        fn what_is_not_decided_stays_byte_for_byte(text in "[a-zé ]{0,40}", cuts in proptest::collection::btree_set(0usize..40, 0..8)) {
            let labels = LabelSet::i2b2_2014();
            let cuts: Vec<_> = cuts.into_iter().filter(|&cut| text.is_char_boundary(cut)).collect();
            let decisions: Vec<_> = cuts.chunks_exact(2).map(|pair| decision(&labels, "CITY", pair[0] as u32, pair[1] as u32)).collect();
            let done = redact(&Redactor::new(&labels, Action::Tag, Carried::default()), &text, &decisions).unwrap();
            let mut rebuilt = String::new();
            let mut at = 0;
            for (decision, placed) in decisions.iter().zip(&done.placed) {
                rebuilt.push_str(Span::between(at, placed.out.start() as u32).of(&done.text));
                rebuilt.push_str(decision.span.of(&text));
                at = placed.out.end() as u32;
            }
            rebuilt.push_str(Span::between(at, done.text.len() as u32).of(&done.text));
            prop_assert_eq!(rebuilt, text);
        }
    }
}
