//! Residual risk: which redacted notes a person should look at, and why.
//!
//! Members that disagree about one span are often all wrong about another of the same note. The flags come
//! from the members' predictions and the final decisions, whatever the combiner: no combiner can forget to
//! report them. `docs/results/review` measures how many notes they flag and how many of those leak.

use std::cell::OnceCell;
use std::sync::Arc;

use crate::vote::Ends;
use crate::{
    Annotation, Annotations, DecidingRule, Decision, LabelId, LabelSet, MemberSet, NoteView, Span, Tagger,
};

/// Why a note is flagged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// The members agree little about a redacted span, or a fitted combiner gave it a low score.
    LowMargin,
    /// A member predicted a span, and nothing of it is redacted.
    Dropped,
    /// Members predicted a span, and a part of it with letters or digits is not redacted.
    UncoveredPart,
}

impl Reason {
    /// All reasons, in the order in which they are written.
    pub const ALL: [Self; 3] = [Self::LowMargin, Self::Dropped, Self::UncoveredPart];

    /// Returns the name written to the output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LowMargin => "low_margin",
            Self::Dropped => "dropped",
            Self::UncoveredPart => "uncovered_part",
        }
    }
}

/// The reasons of one note; empty if nobody needs to look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Review(u8);

impl Review {
    /// Returns the reasons with this one added.
    #[must_use]
    pub const fn with(self, reason: Reason) -> Self {
        Self(self.0 | 1 << reason as u8)
    }

    const fn has(self, reason: Reason) -> bool {
        self.0 >> reason as u8 & 1 == 1
    }

    /// Returns whether there is no reason.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the reasons, in order.
    pub fn reasons(self) -> impl Iterator<Item = Reason> {
        Reason::ALL.into_iter().filter(move |reason| self.has(*reason))
    }
}

/// The thresholds from which a note is flagged.
///
/// All but the last compare with the agreement about a span: the mean score, 0 to 1, of the members that could
/// have predicted it, where an abstention counts as 0. Those are the members that were trained on its label,
/// and all that predicted something that overlaps it.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReviewRule {
    /// A redacted span is narrow (reason `low_margin`) below this agreement. Spans are never narrow that are
    /// redacted by `always_redact`, by `union_rules` or because of another span. 0 turns this off.
    #[schemars(extend("x-unit" = "score"))]
    pub min_agreement: f32,
    /// A member's span of which nothing is redacted flags the note (reason `dropped`) from this agreement on. A
    /// value above 1 turns the reason off.
    #[schemars(extend("x-unit" = "score"))]
    pub dropped_agreement: f32,
    /// The part of a member's span that is not redacted flags the note (reason `uncovered_part`), if it has a
    /// letter or a digit, from this agreement about the part on. A value above 1 turns the reason off.
    #[schemars(extend("x-unit" = "score"))]
    pub uncovered_agreement: f32,
    /// A decision of a fitted combiner is narrow (reason `low_margin`) below this score. 0 turns this off.
    #[schemars(extend("x-unit" = "score"))]
    pub min_score: f32,
}

impl Default for ReviewRule {
    /// The thresholds that `docs/results/review` found: a span that one of five members predicted with
    /// confidence flags a note if nothing of it is redacted. Two must agree if only a part is left, because
    /// members often differ in borders.
    fn default() -> Self {
        Self {
            min_agreement: 0.25,
            dropped_agreement: 0.1,
            uncovered_agreement: 0.3,
            min_score: 0.0,
        }
    }
}

/// The members that were trained on each label. Only they abstain where they predict nothing: a rule that does
/// not fire, or a member that does not know the label, says nothing about a span.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrainedMembers(Vec<MemberSet>);

impl TrainedMembers {
    /// Asks every member about every label of a set.
    pub fn new(labels: &LabelSet, members: &[Arc<dyn Tagger>]) -> Self {
        Self::from_fn(labels, members.len(), |member, label| {
            members[member].is_trained_on(label)
        })
    }

    /// Creates the sets of `members` members from whether one was trained on a label.
    pub fn from_fn(labels: &LabelSet, members: usize, is_trained: impl Fn(usize, LabelId) -> bool) -> Self {
        let of = |label: usize| {
            let label = LabelId(label as u16);
            let trained = (0..members).filter(|&member| is_trained(member, label));
            trained.fold(MemberSet::default(), MemberSet::with)
        };
        Self((0..labels.labels().len()).map(of).collect())
    }

    /// Returns the members that were trained on a label.
    pub fn of(&self, label: LabelId) -> MemberSet {
        self.0.get(usize::from(label.0)).copied().unwrap_or_default()
    }
}

/// How far the members agree about spans of one note.
struct Agreements<'a> {
    predictions: &'a [&'a Annotations],
    trained: &'a TrainedMembers,
    /// Computed for the first span that needs it: most notes have none.
    ends: OnceCell<Vec<Ends<'a>>>,
}

impl Agreements<'_> {
    /// Returns the mean score of the members that could have predicted a span.
    fn of(&self, span: Span, label: LabelId) -> f32 {
        let predictions = || self.predictions.iter().map(|one| Ends::new(one)).collect();
        let ends = self.ends.get_or_init(predictions);
        let trained = self.trained.of(label);
        let (mut sum, mut could) = (0.0, 0.0);
        for (member, ends) in ends.iter().enumerate() {
            let score = ends.best_score(span);
            if score.is_some() || trained.contains(member) {
                sum += score.unwrap_or(0.0);
                could += 1.0;
            }
        }
        // No member could have predicted what no member predicted.
        if could == 0.0 { 0.0 } else { sum / could }
    }

    /// Returns whether the members agree about a decision at least this far.
    fn reach(&self, decision: &Decision, min: f32) -> bool {
        // More members can only add to the sum, so most decisions need no look at the others.
        let least = decision.scores.iter().sum::<f32>() / self.predictions.len().max(1) as f32;
        least >= min || self.of(decision.span, decision.label) >= min
    }
}

impl ReviewRule {
    /// Returns why a person should look at a note, from the members' predictions and the final decisions,
    /// which are sorted and free of overlaps. A prediction within one of the `explained` spans is no reason.
    /// `O(a + d)` in annotations and decisions where few overlap.
    pub fn review(
        &self,
        note: NoteView<'_>,
        predictions: &[&Annotations],
        decisions: &[Decision],
        explained: &[Span],
        trained: &TrainedMembers,
    ) -> Review {
        let agreements = Agreements {
            predictions,
            trained,
            ends: OnceCell::new(),
        };
        let mut review = Review::default();
        if decisions.iter().any(|one| self.is_narrow(one, &agreements)) {
            review = review.with(Reason::LowMargin);
        }
        for annotations in predictions {
            let mut before = 0;
            for annotation in annotations.iter() {
                // Annotations and decisions are both sorted, so a decision that ends before an annotation
                // also ends before the next one.
                let behind = |decision: &Decision| decision.span.end() <= annotation.span.start();
                before += decisions[before..].iter().take_while(|one| behind(one)).count();
                let is_left = self.left(note, annotation, &decisions[before..], review, &agreements);
                review = match is_left {
                    Some(reason) if !crate::exemption::covers(note, explained, annotation.span) => {
                        review.with(reason)
                    }
                    _ => review,
                };
            }
        }
        review
    }

    /// Returns the reason that a prediction is, if the note is not flagged for it yet. No decision ends before
    /// the prediction starts.
    fn left(
        &self,
        note: NoteView<'_>,
        prediction: &Annotation,
        decisions: &[Decision],
        review: Review,
        agreements: &Agreements<'_>,
    ) -> Option<Reason> {
        let first = decisions.first();
        let (reason, min) = match first.is_some_and(|one| one.span.overlaps(prediction.span)) {
            false => (Reason::Dropped, self.dropped_agreement),
            true => (Reason::UncoveredPart, self.uncovered_agreement),
        };
        if review.has(reason) {
            return None;
        }
        let mut parts = uncovered(note.text, prediction.span, decisions);
        let agreed = parts.any(|part| agreements.of(part, prediction.label) >= min);
        agreed.then_some(reason)
    }

    fn is_narrow(&self, decision: &Decision, agreements: &Agreements<'_>) -> bool {
        let rule = decision.deciding_rule;
        rule == DecidingRule::Combiner && decision.score < self.min_score
            || rule.weighs_agreement() && !agreements.reach(decision, self.min_agreement)
    }
}

/// Returns the parts of `span` outside all decisions that have a letter or a digit. None of the decisions ends
/// before the span starts.
fn uncovered(text: &str, span: Span, decisions: &[Decision]) -> impl Iterator<Item = Span> {
    let over = decisions
        .iter()
        .take_while(move |decision| decision.span.start() < span.end());
    // The span's end closes the last part.
    let borders = over.map(|decision| (decision.span.start(), decision.span.end()));
    let borders = borders.chain([(span.end(), span.end())]);
    let parts = borders.scan(span.start(), |at, (start, end)| {
        let part = Span::between(*at as u32, start.max(*at) as u32);
        *at = end.max(*at);
        Some(part)
    });
    parts.filter(|part| part.of(text).chars().any(char::is_alphanumeric))
}

#[cfg(test)]
mod tests;
