//! Members and their combination: what decides about a note, without what is done to it.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::footprint::candidates;
use crate::known_patient::KnownPatient;
use crate::plain_forms::PlainForms;
use crate::{
    Annotations, Combine, Decision, Exemption, Hipaa, LabelSet, MemberSet, Merging, NoteBatch, NoteView,
    Propagation, QuarantineCode, Review, ReviewRule, Span, TagError, Tagger, Titles, ToolFailure,
    TrainedMembers,
};

/// A row's decisions and the observation of them, or the code under which it is quarantined.
pub(crate) type Decided<T> = Result<(Vec<Decision>, T), QuarantineCode>;

/// Members, in the order of their votes, and their combination.
pub(crate) struct Ensemble {
    pub(crate) members: Vec<Arc<dyn Tagger>>,
    /// The members' own names.
    pub(crate) names: Vec<String>,
    pub(crate) combiner: Arc<dyn Combine>,
    known_patient: Option<KnownPatient>,
    merging: Merging,
    exemption: Option<Exemption>,
    trained: TrainedMembers,
    /// The members that no exemption overrules.
    always: MemberSet,
}

/// What happens to decisions after the vote, under a policy.
#[derive(Default)]
pub(crate) struct AfterVote {
    pub(crate) propagation: Option<Propagation>,
    pub(crate) titles: Option<Titles>,
}

/// How a note was decided, as an observer sees it.
pub(crate) struct Seen<'a> {
    note: NoteView<'a>,
    /// The predictions of each member of the ensemble.
    pub(crate) predictions: &'a [&'a Annotations],
    decisions: &'a [Decision],
    /// The stretches that the structure of the message explains.
    explained: &'a [Span],
    trained: &'a TrainedMembers,
}

impl Seen<'_> {
    /// Returns why a person should check the note.
    pub(crate) fn review(&self, rule: &ReviewRule) -> Review {
        rule.review(
            self.note,
            self.predictions,
            self.decisions,
            self.explained,
            self.trained,
        )
    }
}

impl Ensemble {
    /// Creates an ensemble. Its members are at most [`MemberSet::CAPACITY`].
    pub(crate) fn new(
        labels: &LabelSet,
        members: Vec<Arc<dyn Tagger>>,
        combiner: Arc<dyn Combine>,
        merging: Merging,
    ) -> Self {
        let names: Vec<String> = members.iter().map(|member| member.name().to_owned()).collect();
        Self {
            known_patient: KnownPatient::new(labels, &names),
            trained: TrainedMembers::new(labels, &members),
            always: always(labels, &names),
            members,
            names,
            combiner,
            merging,
            exemption: None,
        }
    }

    /// Exempts text that the structure of its message explains, if `exemption` is given.
    pub(crate) fn exempting(self, exemption: Option<Exemption>) -> Self {
        Self { exemption, ..self }
    }

    /// Returns the bytes of memory that the members and their combination take for each token of a long note.
    pub(crate) fn token_bytes(&self) -> usize {
        // Members tag one after another.
        let members = self.members.iter().map(|member| member.token_bytes()).max();
        members.unwrap_or(0).max(self.combiner.token_bytes())
    }

    /// Decides the rows of a range of a batch, and passes each to `look`. An error quarantines only its row.
    pub(crate) fn decide<T>(
        &self,
        batch: &NoteBatch,
        rows: Range<usize>,
        after: &AfterVote,
        look: impl Fn(&Seen<'_>) -> T,
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
        // What the members share is not needed any more, and the plain forms neither.
        drop((part, plain_forms));
        rows.clone()
            .map(|row| {
                batch.advance().map_err(code)?;
                let mut predictions = Vec::with_capacity(tagged.len());
                for tagged in &tagged {
                    predictions.push(tagged[row - rows.start].as_ref().map_err(|code| *code)?);
                }
                let note = batch.note(row);
                batch
                    .reserve(footprint.voting(candidates(&predictions)).bytes())
                    .map_err(code)?;
                let mut decisions = self.combiner.decide(note, &predictions);
                if let Some(known_patient) = &self.known_patient {
                    known_patient.apply(&predictions, &mut decisions);
                }
                let explained = self.exemption.as_ref().map_or_else(Vec::new, |exemption| {
                    exemption.explained(note, batch.structural_text(row))
                });
                Exemption::apply(note, &explained, self.always, &mut decisions);
                self.merging.apply(note.text, &mut decisions);
                if let Some(propagation) = &after.propagation {
                    let held = footprint.with(decisions.len());
                    let found = propagation
                        .find(note, &decisions, |bytes| batch.reserve(held.and(bytes).bytes()))
                        .map_err(code)?;
                    let all = decisions.len() + found.len();
                    batch.reserve(footprint.with(all).bytes()).map_err(code)?;
                    Propagation::add(&found, &mut decisions);
                }
                batch
                    .reserve(footprint.with(decisions.len()).bytes())
                    .map_err(code)?;
                if let Some(titles) = &after.titles {
                    titles.apply(note, &mut decisions);
                }
                footprint = footprint.with(decisions.len());
                let seen = look(&Seen {
                    note,
                    predictions: &predictions,
                    decisions: &decisions,
                    explained: &explained,
                    trained: &self.trained,
                });
                Ok((decisions, seen))
            })
            .collect()
    }
}

/// Returns the members that no exemption overrules: those that find known identifiers, and shapes such as
/// telephone numbers; and the one that finds words for an origin, which are ordinary words.
fn always(labels: &LabelSet, names: &[String]) -> MemberSet {
    let has_origin = labels.labels().iter().any(|label| label.hipaa == Hipaa::Unlisted);
    let named = |(_, name): &(usize, &String)| match name.as_str() {
        "known" | "pattern" => true,
        "origin" => has_origin,
        _ => false,
    };
    let members = names.iter().enumerate().filter(named);
    members.fold(MemberSet::default(), |set, (member, _)| set.with(member))
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
