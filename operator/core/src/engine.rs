//! De-identification without the stream: members tag, the ensemble decides, the redactor writes.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::footprint::candidates;
use crate::known_patient::KnownPatient;
use crate::plain_forms::PlainForms;
use crate::together::together;
use crate::{
    Annotations, AuditBatch, BatchError, Carried, Combine, DecidingRule, Decision, Exemption, Hipaa, LabelId,
    LabelSet, Lookups, MemberSet, Merging, NoteBatch, NoteView, Outcome, Propagation, QuarantineCode,
    Redacted, RedactedBatch, Redactor, Review, ReviewRule, Span, TagError, Tagger, Titles, ToolFailure,
    TrainedMembers, Unredacted,
};

/// A row's decisions and the observation of them, or the code under which it is quarantined.
type Decided<T> = Result<(Vec<Decision>, T), QuarantineCode>;

/// Members, their combination and the redactor. Shared by every lane; synchronous and pure.
pub struct Engine {
    labels: Arc<LabelSet>,
    members: Vec<Arc<dyn Tagger>>,
    names: Vec<String>,
    combiner: Arc<dyn Combine>,
    known_patient: Option<KnownPatient>,
    merging: Merging,
    exemption: Option<Exemption>,
    propagation: Option<Propagation>,
    titles: Option<Titles>,
    review: ReviewRule,
    trained: TrainedMembers,
    redactor: Redactor,
}

/// The output for a batch.
#[derive(Debug)]
pub struct Processed {
    /// One row for each row of the batch.
    pub redacted: RedactedBatch,
    /// One row for each redacted span.
    pub audit: AuditBatch,
    /// The codes of the notes that were quarantined.
    pub quarantined: Vec<QuarantineCode>,
}

/// How a note was decided.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The predictions of each member, in the order of [`Engine::members`].
    pub predictions: Vec<Annotations>,
    /// The decisions, sorted and free of overlaps.
    pub decisions: Vec<Decision>,
    /// Why a person should check the note.
    pub review: Review,
}

impl Engine {
    /// Creates an engine of these members, in the order of their votes.
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
        let names: Vec<String> = members.iter().map(|member| member.name().to_owned()).collect();
        Self {
            known_patient: KnownPatient::new(&labels, &names),
            trained: TrainedMembers::new(&labels, &members),
            labels,
            members,
            names,
            combiner,
            merging,
            exemption: None,
            propagation: None,
            titles: None,
            review: ReviewRule::default(),
            redactor,
        }
    }

    /// Propagates decisions to further occurrences in the note, if `propagation` is given.
    #[must_use]
    pub fn propagating(self, propagation: Option<Propagation>) -> Self {
        Self { propagation, ..self }
    }

    /// Extends decisions about names over the titles before them, if `titles` is given.
    #[must_use]
    pub fn with_titles(self, titles: Option<Titles>) -> Self {
        Self { titles, ..self }
    }

    /// Exempts text that the structure of its message explains, if `exemption` is given.
    #[must_use]
    pub fn exempting(self, exemption: Option<Exemption>) -> Self {
        Self { exemption, ..self }
    }

    /// Flags notes for review by a rule other than the default.
    #[must_use]
    pub fn reviewing(self, review: ReviewRule) -> Self {
        Self { review, ..self }
    }

    /// Returns the label set that decisions are in.
    pub fn labels(&self) -> &Arc<LabelSet> {
        &self.labels
    }

    /// Returns the members' names, in the order of their votes.
    pub fn members(&self) -> &[String] {
        &self.names
    }

    /// Returns the metadata that goes to the output.
    pub const fn carried(&self) -> &Carried {
        self.redactor.carried()
    }

    /// Returns the name and cache statistics of each member that keeps values between batches.
    pub fn lookups(&self) -> Vec<(String, Lookups)> {
        let of = |member: &Arc<dyn Tagger>| Some((member.name().to_owned(), member.lookups()?));
        self.members.iter().filter_map(of).collect()
    }

    /// Starts and tries what members need outside of the program ([`Tagger::prepare`]). Returns a line for each
    /// such member.
    ///
    /// # Errors
    /// The first member that fails, with the reason.
    pub fn prepare(&self) -> Result<Vec<String>, String> {
        let mut lines = Vec::new();
        for (name, member) in self.names.iter().zip(&self.members) {
            let found = member.prepare();
            let found = found.map_err(|reason| format!("member `{name}`: {reason}"))?;
            lines.extend(found.map(|found| format!("member `{name}`: {found}")));
        }
        Ok(lines)
    }

    /// Returns the bytes of memory that the members and their combination take for each token of a long note,
    /// in addition to the note and its spans.
    pub fn token_bytes(&self) -> usize {
        // Members tag one after another.
        let members = self.members.iter().map(|member| member.token_bytes()).max();
        members.unwrap_or(0).max(self.combiner.token_bytes())
    }

    /// Decides every row. An error quarantines only its row.
    pub fn decide(&self, batch: &NoteBatch) -> Vec<Outcome> {
        self.decide_with(batch, |_, _, _, _| ())
            .map(|outcome| outcome.map(|(decisions, ())| decisions))
            .collect()
    }

    /// Decides every row as [`Engine::decide`] does, and returns with each outcome why a person should check the
    /// note.
    pub fn decide_and_review(&self, batch: &NoteBatch) -> Vec<(Outcome, Review)> {
        let decided = self.decide_with(batch, |note, predictions, decisions, explained| {
            self.review
                .review(note, predictions, decisions, explained, &self.trained)
        });
        let each = |decided: Decided<Review>| match decided {
            Ok((decisions, review)) => (Ok(decisions), review),
            Err(code) => (Err(code), Review::default()),
        };
        decided.map(each).collect()
    }

    /// Decides every row, and returns what each member predicted and what was decided, to explain a decision.
    pub fn trace(&self, batch: &NoteBatch) -> Vec<Result<Trace, QuarantineCode>> {
        let decided = self.decide_with(batch, |note, predictions, decisions, explained| Trace {
            predictions: predictions
                .iter()
                .map(|&annotations| annotations.clone())
                .collect(),
            decisions: Vec::new(),
            review: self
                .review
                .review(note, predictions, decisions, explained, &self.trained),
        });
        let each = |decided: Decided<Trace>| decided.map(|(decisions, trace)| Trace { decisions, ..trace });
        decided.map(each).collect()
    }

    /// Decides every row, and passes it to `look`: the note, the members' predictions, the decisions, and the
    /// stretches that the structure of the message explains. Rows are decided on demand, a few at a time, so
    /// that the memory of the members' features and spans does not grow with the batch.
    fn decide_with<'a, T: 'a>(
        &'a self,
        batch: &'a NoteBatch,
        look: impl Fn(NoteView<'_>, &[&Annotations], &[Decision], &[Span]) -> T + 'a,
    ) -> impl Iterator<Item = Decided<T>> + 'a {
        together(batch).flat_map(move |rows| self.decide_rows(batch, rows, &look))
    }

    fn decide_rows<T>(
        &self,
        batch: &NoteBatch,
        rows: Range<usize>,
        look: &impl Fn(NoteView<'_>, &[&Annotations], &[Decision], &[Span]) -> T,
    ) -> Vec<Decided<T>> {
        let part = batch.slice(rows.start, rows.len());
        let Ok(plain_forms) = PlainForms::of(&part) else {
            return (0..part.len()).map(|_| Err(QuarantineCode::OverBudget)).collect();
        };
        let mut footprint = plain_forms
            .as_ref()
            .map(PlainForms::footprint)
            .unwrap_or_default();
        let mut tagged = Vec::with_capacity(self.members.len());
        for member in &self.members {
            let mut rows = tag_isolated(member.as_ref(), &part);
            if let Some(plain_forms) = &plain_forms {
                plain_forms.tag(member.as_ref(), &part, &mut rows);
            }
            footprint.annotations += rows.iter().flatten().map(Annotations::len).sum::<usize>();
            tagged.push(rows);
            if let Err(error) = batch.reserve(footprint.bytes()) {
                return (0..part.len()).map(|_| Err(code(error.clone()))).collect();
            }
        }
        let always = self.always();
        rows.clone()
            .map(|row| {
                batch.advance().map_err(code)?;
                let mut predictions = Vec::with_capacity(tagged.len());
                for tagged in &tagged {
                    predictions.push(tagged[row - rows.start].as_ref().map_err(|code| *code)?);
                }
                let note = batch.note(row);
                batch
                    .reserve(footprint.with(candidates(&predictions)).bytes())
                    .map_err(code)?;
                let mut decisions = self.combiner.decide(note, &predictions);
                if let Some(known_patient) = &self.known_patient {
                    known_patient.apply(&predictions, &mut decisions);
                }
                let explained = self.exemption.as_ref().map_or_else(Vec::new, |exemption| {
                    exemption.explained(note, batch.structural_text(row))
                });
                Exemption::apply(note, &explained, always, &mut decisions);
                self.merging.apply(note.text, &mut decisions);
                if let Some(propagation) = &self.propagation {
                    let found = propagation.find(note, &decisions);
                    let all = decisions.len() + found.len();
                    batch.reserve(footprint.with(all).bytes()).map_err(code)?;
                    Propagation::add(&found, &mut decisions);
                }
                if let Some(titles) = &self.titles {
                    titles.apply(note, &mut decisions);
                }
                footprint = footprint.with(decisions.len());
                let seen = look(note, &predictions, &decisions, &explained);
                Ok((decisions, seen))
            })
            .collect()
    }

    /// Returns the members that no exemption overrules: those that find known identifiers, and shapes such as
    /// telephone numbers; and the one that finds words for an origin, which are ordinary words.
    fn always(&self) -> MemberSet {
        let has_origin = self
            .labels
            .labels()
            .iter()
            .any(|label| label.hipaa == Hipaa::Unlisted);
        let named = |(_, name): &(usize, &String)| match name.as_str() {
            "known" | "pattern" => true,
            "origin" => has_origin,
            _ => false,
        };
        let members = self.names.iter().enumerate().filter(named);
        members.fold(MemberSet::default(), |set, (member, _)| set.with(member))
    }

    /// Redacts one row, for callers that do not write rows.
    ///
    /// # Errors
    /// The code under which the note would be quarantined, or the service that is unavailable.
    pub fn redact(&self, batch: &NoteBatch, row: usize, outcome: &Outcome) -> Result<Redacted, Unredacted> {
        let decisions = outcome.as_ref().map_err(|code| Unredacted::Quarantined(*code))?;
        self.redactor.redact_note(batch, row, decisions)
    }

    /// Replaces every note as one span of `label`, for values that are known to be identifiers.
    ///
    /// # Errors
    /// As [`Redactor::redact`].
    pub fn replace(&self, batch: &NoteBatch, label: LabelId) -> Result<Processed, BatchError> {
        let whole = |note: NoteView<'_>| -> Outcome {
            if note.text.is_empty() {
                return Ok(Vec::new());
            }
            let span = Span::new(0, note.text.len()).map_err(|_| QuarantineCode::InvalidSpan)?;
            let decision = Decision::new(span, label, MemberSet::default(), 1.0);
            Ok(vec![Decision {
                rule: "column",
                deciding_rule: DecidingRule::Column,
                ..decision
            }])
        };
        let outcomes = batch.notes().map(whole);
        let (redacted, audit, quarantined) =
            self.redactor.redact(&self.labels, &self.names, batch, outcomes)?;
        Ok(Processed {
            redacted,
            audit,
            quarantined,
        })
    }

    /// Tags, decides and redacts a batch.
    ///
    /// # Errors
    /// As [`Redactor::redact`].
    pub fn process(&self, batch: &NoteBatch) -> Result<Processed, BatchError> {
        let decided = self.decide_with(batch, |note, predictions, decisions, explained| {
            self.review
                .review(note, predictions, decisions, explained, &self.trained)
        });
        let mut reviews = Vec::with_capacity(batch.len());
        let outcomes = decided.map(|decided| -> Outcome {
            let (outcome, review) = match decided {
                Ok((decisions, review)) => (Ok(decisions), review),
                Err(code) => (Err(code), Review::default()),
            };
            reviews.push(review);
            outcome
        });
        let (redacted, audit, quarantined) =
            self.redactor.redact(&self.labels, &self.names, batch, outcomes)?;
        Ok(Processed {
            redacted: redacted.reviewed(&reviews)?,
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

/// Runs a member so that a panic affects only the note that caused it: tags the whole batch, and note by note
/// if that panics.
pub(crate) fn tag_isolated(
    member: &dyn Tagger,
    batch: &NoteBatch,
) -> Vec<Result<Annotations, QuarantineCode>> {
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
        TagError::OverBudget => QuarantineCode::OverBudget,
        TagError::Tool(ToolFailure::Timeout) => QuarantineCode::ToolTimeout,
        TagError::Tool(ToolFailure::Failed) => QuarantineCode::ToolFailed,
        TagError::Tool(ToolFailure::Answer) => QuarantineCode::ToolAnswer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Action, LabelId, Pace, Voting, tag_each};
    use arrow_array::Array;
    use arrow_array::cast::AsArray;

    /// Tags the word "Ana"; panics, fails or returns an invalid span on three other words.
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

    /// Allows spans to take this many bytes.
    #[derive(Debug)]
    struct Room(usize);

    impl Pace for Room {
        fn advance(&self) -> bool {
            true
        }

        fn allow(&self, bytes: usize) -> bool {
            bytes <= self.0
        }
    }

    #[test]
    fn a_note_whose_spans_take_too_much_is_quarantined_at_whatever_stage_they_do() {
        let plain = engine();
        let propagating = engine().propagating(Some(Propagation::new(plain.labels(), Arc::new(|_| false))));
        let quarantined = |engine: &Engine, text: &str, room: usize| {
            let batch = NoteBatch::from_texts([text]).unwrap().paced(Arc::new(Room(room)));
            engine.process(&batch).unwrap().quarantined
        };
        let over = vec![QuarantineCode::OverBudget];
        // Three annotations; then three decisions as well.
        assert_eq!(quarantined(&plain, "Ana Ana Ana", 100), over);
        assert_eq!(quarantined(&plain, "Ana Ana Ana", 1_000), over);
        assert_eq!(quarantined(&plain, "Ana Ana Ana", 10_000), []);
        // One decision, and two that propagation would add.
        assert_eq!(quarantined(&plain, "Ana. ANA. ANA.", 1_000), []);
        assert_eq!(quarantined(&propagating, "Ana. ANA. ANA.", 1_000), over);
        assert_eq!(quarantined(&propagating, "Ana. ANA. ANA.", 10_000), []);
    }

    #[test]
    fn a_note_that_a_member_was_outvoted_on_is_flagged_and_a_quarantined_one_is_not() {
        let both = Voting {
            threshold: 2,
            ..Voting::default()
        };
        let engine = Engine {
            combiner: Arc::new(both),
            ..engine()
        };
        let texts = ["Ana fell.", "panic", "Nobody fell.", "stray"];
        let done = engine.process(&NoteBatch::from_texts(texts).unwrap()).unwrap();
        let review = done.redacted.record().column_by_name("review").unwrap();
        let told: Vec<_> = review.as_string::<i32>().iter().collect();
        assert_eq!(told, [Some("dropped"), None, None, None]);
        let lax = engine.reviewing(ReviewRule {
            dropped_agreement: 2.0,
            ..ReviewRule::default()
        });
        let done = lax.process(&NoteBatch::from_texts(texts).unwrap()).unwrap();
        let review = done.redacted.record().column_by_name("review").unwrap();
        assert_eq!(review.null_count(), 4);
    }

    #[test]
    fn a_value_that_is_an_identifier_is_replaced_whole_and_the_audit_says_so() {
        let engine = engine();
        let label = engine.labels().by_name("MEDICALRECORD").unwrap();
        let batch = NoteBatch::from_texts(["00-12 ", "", "Ana"]).unwrap();
        let done = engine.replace(&batch, label).unwrap();
        let text = done.redacted.record().column_by_name("text").unwrap();
        let told: Vec<_> = text.as_string::<i32>().iter().flatten().collect();
        assert_eq!(told, ["[MEDICALRECORD]", "", "[MEDICALRECORD]"]);
        let rules = done.audit.record().column_by_name("rule").unwrap();
        assert_eq!(
            rules.as_string::<i32>().iter().flatten().collect::<Vec<_>>(),
            ["column", "column"]
        );
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
