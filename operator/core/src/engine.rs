//! De-identification without the stream: members tag, the ensemble decides, the redactor writes.

mod by_language;

use std::sync::Arc;

use crate::ensemble::{AfterVote, Decided, Ensemble, Seen};
use crate::together::together;
use crate::{
    Annotations, AuditBatch, BatchError, Carried, Combine, DecidingRule, Decision, Exemption, LabelId,
    LabelSet, Lookups, MemberSet, Merging, NoteBatch, NoteView, Outcome, Propagation, QuarantineCode,
    Redacted, RedactedBatch, Redactor, Review, ReviewRule, Span, Tagger, Titles, Unredacted,
};
pub use by_language::{ChooseLanguage, MixedLabels};

/// Members, their combination and the redactor. Shared by every lane; synchronous and pure.
pub struct Engine {
    labels: Arc<LabelSet>,
    /// One for each language, or one for all notes.
    ensembles: Vec<Ensemble>,
    /// Chooses one of several ensembles for a note.
    choose: Option<Arc<dyn ChooseLanguage>>,
    /// The names of all members, those of the first ensemble first.
    names: Vec<String>,
    after: AfterVote,
    review: ReviewRule,
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
        let ensemble = Ensemble::new(&labels, members, combiner, merging);
        Self {
            names: ensemble.names.clone(),
            labels,
            ensembles: vec![ensemble],
            choose: None,
            after: AfterVote::default(),
            review: ReviewRule::default(),
            redactor,
        }
    }

    /// Propagates decisions to further occurrences in the note, if `propagation` is given.
    #[must_use]
    pub fn propagating(mut self, propagation: Option<Propagation>) -> Self {
        self.after.propagation = propagation;
        self
    }

    /// Extends decisions about names over the titles before them, if `titles` is given.
    #[must_use]
    pub fn with_titles(mut self, titles: Option<Titles>) -> Self {
        self.after.titles = titles;
        self
    }

    /// Exempts text that the structure of its message explains, if `exemption` is given.
    #[must_use]
    pub fn exempting(self, exemption: Option<Exemption>) -> Self {
        let exempting = |ensemble: Ensemble| ensemble.exempting(exemption.clone());
        Self {
            ensembles: self.ensembles.into_iter().map(exempting).collect(),
            ..self
        }
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

    /// Returns the members' names, in the order of their votes. In an engine of several languages the language
    /// comes before the name, as in `de/ssvm`.
    pub fn members(&self) -> &[String] {
        &self.names
    }

    /// Returns the metadata that goes to the output.
    pub const fn carried(&self) -> &Carried {
        self.redactor.carried()
    }

    /// Returns the name and cache statistics of each member that keeps values between batches.
    pub fn lookups(&self) -> Vec<(String, Lookups)> {
        let named = self.names.iter().zip(self.taggers());
        named
            .filter_map(|(name, member)| Some((name.clone(), member.lookups()?)))
            .collect()
    }

    /// Returns the name and the bytes of the caches of each member that has some.
    pub fn cache_bytes(&self) -> Vec<(String, usize)> {
        let named = self.names.iter().zip(self.taggers());
        let held = named.map(|(name, member)| (name.clone(), member.cache_bytes()));
        held.filter(|&(_, bytes)| bytes > 0).collect()
    }

    /// Returns the bytes of all members' caches.
    pub fn all_cache_bytes(&self) -> usize {
        self.taggers().map(|member| member.cache_bytes()).sum()
    }

    /// Starts and tries what members need outside of the program ([`Tagger::prepare`]). Returns a line for each
    /// such member.
    ///
    /// # Errors
    /// The first member that fails, with the reason.
    pub fn prepare(&self) -> Result<Vec<String>, String> {
        let mut lines = Vec::new();
        for (name, member) in self.names.iter().zip(self.taggers()) {
            let found = member.prepare();
            let found = found.map_err(|reason| format!("member `{name}`: {reason}"))?;
            lines.extend(found.map(|found| format!("member `{name}`: {found}")));
        }
        Ok(lines)
    }

    /// Returns the members of all ensembles, in the order of their names.
    fn taggers(&self) -> impl Iterator<Item = &Arc<dyn Tagger>> {
        self.ensembles.iter().flat_map(|ensemble| &ensemble.members)
    }

    /// Returns the bytes of memory that the members and their combination take for each token of a long note,
    /// in addition to the note and its spans.
    pub fn token_bytes(&self) -> usize {
        let bytes = self.ensembles.iter().map(Ensemble::token_bytes).max();
        bytes.unwrap_or(0)
    }

    /// Decides every row. An error quarantines only its row.
    pub fn decide(&self, batch: &NoteBatch) -> Vec<Outcome> {
        self.decide_with(batch, |_, _| ())
            .map(|outcome| outcome.map(|(decisions, ())| decisions))
            .collect()
    }

    /// Decides every row as [`Engine::decide`] does, and returns with each outcome why a person should check the
    /// note.
    pub fn decide_and_review(&self, batch: &NoteBatch) -> Vec<(Outcome, Review)> {
        let decided = self.decide_with(batch, |_, seen| seen.review(&self.review));
        let each = |decided: Decided<Review>| match decided {
            Ok((decisions, review)) => (Ok(decisions), review),
            Err(code) => (Err(code), Review::default()),
        };
        decided.map(each).collect()
    }

    /// Decides every row, and returns what each member predicted and what was decided, to explain a decision.
    pub fn trace(&self, batch: &NoteBatch) -> Vec<Result<Trace, QuarantineCode>> {
        let decided = self.decide_with(batch, |first, seen| {
            // Members of other languages did not read the note.
            let mut predictions = vec![Annotations::default(); self.names.len()];
            for (of, found) in predictions.iter_mut().skip(first).zip(seen.predictions) {
                of.clone_from(found);
            }
            Trace {
                predictions,
                decisions: Vec::new(),
                review: seen.review(&self.review),
            }
        });
        let each = |decided: Decided<Trace>| decided.map(|(decisions, trace)| Trace { decisions, ..trace });
        decided.map(each).collect()
    }

    /// Decides every row, and passes it to `look` with the place of its ensemble's first member. Rows are
    /// decided on demand, a few at a time, so that the memory of the members' features and spans does not grow
    /// with the batch.
    fn decide_with<'a, T: 'a>(
        &'a self,
        batch: &'a NoteBatch,
        look: impl Fn(usize, &Seen<'_>) -> T + 'a,
    ) -> impl Iterator<Item = Decided<T>> + 'a {
        let parts = together(batch).flat_map(move |rows| self.by_language(batch, rows));
        parts.flat_map(move |(rows, language)| {
            let first = self.first_member(language);
            let seen = |seen: &Seen<'_>| look(first, seen);
            let mut decided = self.ensembles[language].decide(batch, rows, &self.after, seen);
            if first > 0 {
                let decisions = decided.iter_mut().flatten().flat_map(|(decisions, _)| decisions);
                decisions.for_each(|decision| decision.renumber(first));
            }
            decided
        })
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
        let decided = self.decide_with(batch, |_, seen| seen.review(&self.review));
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

#[cfg(test)]
mod tests;
