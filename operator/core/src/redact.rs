//! Redaction: the only way from a note to text that may leave.

use crate::{
    AuditBatch, BatchError, Carried, Decision, LabelId, LabelSet, NoteBatch, QuarantineCode, RedactedBatch,
    Span, SpanError, audit, output,
};

/// What is written in a span's place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Its label in brackets, for instance `[PATIENT]`.
    #[default]
    Tag,
    /// One `*` for each character that is no white space. Line breaks stay, lengths show.
    Mask,
}

impl Action {
    /// The name written to the audit.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tag => "tag",
            Self::Mask => "mask",
        }
    }
}

/// One note's outcome: its decisions, or why it is quarantined.
pub type Outcome = Result<Vec<Decision>, QuarantineCode>;

/// Where a decision's span came to lie in the redacted text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Bytes of the redacted text.
    pub out: Span,
    /// What was done.
    pub action: Action,
}

/// Replaces decided spans, a label's way.
#[derive(Clone, Debug)]
pub struct Redactor {
    actions: Vec<Action>,
    tags: Vec<String>,
    carried: Carried,
}

impl Redactor {
    /// A redactor that does `action` to every label of the set, and carries `carried` to the output.
    pub fn new(labels: &LabelSet, action: Action, carried: Carried) -> Self {
        let tags = labels
            .labels()
            .iter()
            .map(|label| format!("[{}]", label.name))
            .collect();
        Self {
            actions: vec![action; labels.labels().len()],
            tags,
            carried,
        }
    }

    /// Does something else to one label.
    ///
    /// # Panics
    /// If the label is of another set.
    #[must_use]
    pub fn with(mut self, label: LabelId, action: Action) -> Self {
        self.actions[usize::from(label.0)] = action;
        self
    }

    /// Redacts one text. `decisions` must be sorted and free of overlaps, as the vote leaves them.
    ///
    /// # Errors
    /// A [`SpanError`] if a decision is not a span of the text, or lies before the end of the one before it. Then
    /// nothing is given out: no note leaves half-redacted.
    pub fn redact_text(
        &self,
        text: &str,
        decisions: &[Decision],
    ) -> Result<(String, Vec<Placed>), SpanError> {
        let mut out = String::with_capacity(text.len() + decisions.len() * 4);
        let mut placed = Vec::with_capacity(decisions.len());
        let mut at = 0;
        for decision in decisions {
            decision.span.check(text)?;
            out.push_str(Span::new(at, decision.span.start())?.of(text));
            let start = out.len();
            let action = self.actions[usize::from(decision.label.0)];
            match action {
                Action::Tag => out.push_str(&self.tags[usize::from(decision.label.0)]),
                Action::Mask => out.extend(
                    decision
                        .span
                        .of(text)
                        .chars()
                        .map(|c| if c.is_whitespace() { c } else { '*' }),
                ),
            }
            placed.push(Placed {
                out: Span::new(start, out.len())?,
                action,
            });
            at = decision.span.end();
        }
        out.push_str(Span::new(at, text.len())?.of(text));
        Ok((out, placed))
    }

    /// Redacts a batch: one output row for each input row, and one audit row for each redacted span.
    ///
    /// A note whose outcome is an error, or whose decisions fail a check, becomes a quarantined row without text.
    ///
    /// # Errors
    /// [`BatchError::Arrow`] if the redacted texts pass 2 GiB.
    ///
    /// # Panics
    /// If there is not one outcome a row.
    pub fn redact(
        &self,
        labels: &LabelSet,
        members: &[String],
        batch: &NoteBatch,
        outcomes: &[Outcome],
    ) -> Result<(RedactedBatch, AuditBatch), BatchError> {
        assert_eq!(batch.len(), outcomes.len(), "one outcome a row");
        let bytes = batch.notes().map(|note| note.text.len()).sum::<usize>();
        let mut rows = output::Rows::new(batch.len(), bytes + bytes / 32);
        let mut trail = audit::Trail::default();
        for (note, outcome) in batch.notes().zip(outcomes) {
            let redacted = match outcome {
                Ok(decisions) => self
                    .redact_text(note.text, decisions)
                    .map(|(text, placed)| (text, decisions, placed))
                    .map_err(|_| QuarantineCode::InvalidSpan),
                Err(code) => Err(*code),
            };
            match redacted {
                Ok((text, decisions, placed)) => {
                    trail.push(batch, note.row, labels, members, decisions, &placed);
                    rows.push(batch, note.row, Ok((&text, decisions.len())));
                }
                Err(code) => rows.push(batch, note.row, Err(code)),
            }
        }
        Ok((rows.finish(batch, &self.carried)?, trail.finish()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemberSet;
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

    #[test]
    fn tag_writes_the_label_and_mask_keeps_the_length() {
        let labels = LabelSet::i2b2_2014();
        let redactor = Redactor::new(&labels, Action::Tag, Carried::default())
            .with(labels.by_name("CITY").unwrap(), Action::Mask);
        let decisions = [
            decision(&labels, "PATIENT", 0, 9),
            decision(&labels, "CITY", 16, 21),
        ];
        let (out, placed) = redactor
            .redact_text("Ana María, from Cádiz.", &decisions[..1])
            .unwrap();
        assert_eq!(out, "[PATIENT]a, from Cádiz.");
        assert_eq!(placed[0].out, Span::between(0, 9));
        let (out, _) = redactor
            .redact_text("Ana Mara, from Málaga X", &[decision(&labels, "CITY", 15, 22)])
            .unwrap();
        assert_eq!(out, "Ana Mara, from ****** X");
    }

    #[test]
    fn overlapping_or_foreign_decisions_give_no_text_at_all() {
        let labels = LabelSet::i2b2_2014();
        let redactor = Redactor::new(&labels, Action::Tag, Carried::default());
        let overlapping = [decision(&labels, "CITY", 0, 4), decision(&labels, "CITY", 2, 6)];
        assert!(redactor.redact_text("abcdefgh", &overlapping).is_err());
        assert!(redactor.redact_text("abc", &overlapping[1..]).is_err());
    }

    proptest! {
        #[test]
        fn what_is_not_decided_stays_byte_for_byte(text in "[a-zé ]{0,40}", cuts in proptest::collection::btree_set(0usize..40, 0..8)) {
            let labels = LabelSet::i2b2_2014();
            let cuts: Vec<_> = cuts.into_iter().filter(|&cut| text.is_char_boundary(cut)).collect();
            let decisions: Vec<_> = cuts.chunks_exact(2).map(|pair| decision(&labels, "CITY", pair[0] as u32, pair[1] as u32)).collect();
            let (out, placed) = Redactor::new(&labels, Action::Tag, Carried::default()).redact_text(&text, &decisions).unwrap();
            let mut rebuilt = String::new();
            let mut at = 0;
            for (decision, placed) in decisions.iter().zip(&placed) {
                rebuilt.push_str(Span::between(at, placed.out.start() as u32).of(&out));
                rebuilt.push_str(decision.span.of(&text));
                at = placed.out.end() as u32;
            }
            rebuilt.push_str(Span::between(at, out.len() as u32).of(&out));
            prop_assert_eq!(rebuilt, text);
        }
    }
}
