//! The candidates of combiners of concepts: every span with a label that some member predicted; and the code
//! that fitting on them shares.

use std::cell::OnceCell;
use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;

use lethe_core::{Annotation, Annotations, Combine, Decision, LabelId, MemberSet, OverruledSpan, Span};
use lethe_corpus::{Counts, FoldError};
use lethe_linear::TrainError;

use crate::PredictionSet;

/// Why a combiner cannot be fitted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    /// There are no members, or more than a vote can have.
    #[error("{0} members: an ensemble has 1 to {most}", most = MemberSet::CAPACITY)]
    Members(usize),
    /// All predictions are right, or all are wrong: there are no two classes to separate.
    #[error("{right} of the members' {all} spans are right: fitting needs both right and wrong ones")]
    OneSided {
        /// Distinct spans that gold also has.
        right: usize,
        /// All distinct spans.
        all: usize,
    },
    /// The documents cannot be split.
    #[error(transparent)]
    Folds(#[from] FoldError),
    /// The learner failed.
    #[error(transparent)]
    Train(#[from] TrainError),
}

/// A span with a label, and the members that predicted exactly this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Bytes of the note.
    pub span: Span,
    /// The predicted label.
    pub label: LabelId,
    /// The members.
    pub members: MemberSet,
}

/// Returns every distinct span with a label that a member predicted in a note, sorted.
pub fn candidates(predictions: &[&Annotations]) -> Vec<Candidate> {
    let members = predictions.iter().enumerate();
    let mut all: Vec<Candidate> = members
        .flat_map(|(member, annotations)| {
            annotations.iter().map(move |annotation| Candidate {
                span: annotation.span,
                label: annotation.label,
                members: MemberSet::default().with(member),
            })
        })
        .collect();
    all.sort_by_key(|candidate| (candidate.span, candidate.label));
    all.dedup_by(|next, first| {
        let same = (next.span, next.label) == (first.span, first.label);
        if same {
            first.members.0 |= next.members.0;
        }
        same
    });
    all
}

impl Candidate {
    /// Returns whether gold has exactly this span and label.
    pub fn is_of(&self, gold: &Annotations) -> bool {
        has(gold, self.span, self.label)
    }
}

/// Returns whether there is an annotation of exactly this span with this label.
pub(crate) fn has(predictions: &Annotations, span: Span, label: LabelId) -> bool {
    predictions
        .starting_from(span.start())
        .take_while(|a| a.span.start() == span.start())
        .any(|a| (a.span, a.label) == (span, label))
}

/// Refuses ensembles with a number of members that a vote cannot have.
pub(crate) fn check_members(predictions: &PredictionSet) -> Result<(), FitError> {
    match predictions.members.len() {
        1..=MemberSet::CAPACITY => Ok(()),
        n => Err(FitError::Members(n)),
    }
}

/// The members' predictions for a note by position, for the audit of a combiner's decisions.
pub(crate) struct NoteVotes<'a> {
    predictions: &'a [&'a Annotations],
    /// For each member, the furthest end of its annotations up to each; computed for the first span that no
    /// member predicted exactly.
    reach: OnceCell<Vec<Vec<usize>>>,
}

impl<'a> NoteVotes<'a> {
    pub(crate) const fn new(predictions: &'a [&'a Annotations]) -> Self {
        Self {
            predictions,
            reach: OnceCell::new(),
        }
    }

    /// Returns the decision for a span with its audit data: the members that predicted exactly this span, or,
    /// if none did (a combiner of sequences may join separate predictions), those with an overlapping
    /// prediction.
    pub(crate) fn decision(&self, span: Span, label: LabelId, ranks: &[u32], score: f32) -> Decision {
        let mut votes = votes(self.predictions, |_, predictions| {
            let mut here = predictions
                .starting_from(span.start())
                .take_while(|a| a.span.start() == span.start());
            here.find(|a| (a.span, a.label) == (span, label))
        });
        if votes.is_empty() {
            let reach = self.reach.get_or_init(|| {
                self.predictions
                    .iter()
                    .map(|predictions| reach(predictions))
                    .collect()
            });
            votes = self::votes(self.predictions, |member, predictions| {
                let reach = reach.get(member)?;
                let first = reach.partition_point(|&end| end <= span.start());
                let rest = predictions.iter().as_slice().get(first..)?.iter();
                rest.take_while(|a| a.span.start() < span.end())
                    .find(|a| a.span.overlaps(span))
            });
        }
        let rank = |member: usize| ranks.get(member).copied().unwrap_or(u32::MAX);
        let of_rules = votes.iter().filter(|(_, a)| !a.rule.is_empty());
        let rule = of_rules.min_by_key(|&&(member, _)| rank(member));
        let members = votes
            .iter()
            .fold(MemberSet::default(), |set, &(member, _)| set.with(member));
        Decision {
            scores: votes.iter().map(|(_, a)| a.score).collect(),
            rule: rule.map_or("", |(_, a)| a.rule),
            ..Decision::new(span, label, members, score)
        }
    }
}

/// Returns for each annotation the furthest end of it and those before it.
fn reach(predictions: &Annotations) -> Vec<usize> {
    let furthest = |most: &mut usize, a: &Annotation| {
        *most = a.span.end().max(*most);
        Some(*most)
    };
    predictions.iter().scan(0, furthest).collect()
}

/// Returns the predictions of each member that `find` selects.
fn votes<'a>(
    predictions: &[&'a Annotations],
    find: impl Fn(usize, &'a Annotations) -> Option<&'a Annotation>,
) -> Vec<(usize, &'a Annotation)> {
    let members = predictions.iter().enumerate();
    members
        .filter_map(|(member, &annotations)| Some((member, find(member, annotations)?)))
        .collect()
}

/// Orders two scored spans by precedence: the one that stays in an overlap is less. It has the higher score,
/// then is longer, then earlier, then has the lower label.
pub(crate) fn by_score(one: (f64, Span, LabelId), other: (f64, Span, LabelId)) -> Ordering {
    let place = |(_, span, label): (f64, Span, LabelId)| (Reverse(span.len()), span, label);
    (other.0.total_cmp(&one.0)).then_with(|| place(one).cmp(&place(other)))
}

/// Resolves overlaps between scored decisions by [`by_score`]; the winner records the loser. The result is
/// sorted by start.
pub(crate) fn resolve_by_score(mut scored: Vec<(f64, Decision)>) -> Vec<Decision> {
    let of = |(score, d): &(f64, Decision)| (*score, d.span, d.label);
    scored.sort_by(|one, other| by_score(of(one), of(other)));
    let mut kept: BTreeMap<usize, Decision> = BTreeMap::new();
    for (_, decision) in scored {
        // The kept decisions do not overlap: only the last one that begins before this one's end can overlap
        // it.
        let before = kept.range_mut(..decision.span.end()).next_back();
        match before.filter(|(_, other)| other.span.overlaps(decision.span)) {
            Some((_, other)) => other.overruled.push(OverruledSpan::of(&decision)),
            None => {
                kept.insert(decision.span.start(), decision);
            }
        }
    }
    kept.into_values().collect()
}

/// Returns the strict counts against gold of a combiner's decisions on all predictions.
pub fn evaluate(combine: &dyn Combine, predictions: &PredictionSet) -> Counts {
    let mut counts = Counts::default();
    for (note, gold) in predictions.batch.notes().zip(&predictions.gold) {
        let decisions = combine.decide(note, &predictions.row(note.row));
        let hits = decisions
            .iter()
            .filter(|decision| has(gold, decision.span, decision.label))
            .count();
        counts += Counts {
            hits: hits as u64,
            spurious: (decisions.len() - hits) as u64,
            missed: (gold.len() - hits) as u64,
        };
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(spans: &[(u32, u32, u16)]) -> Annotations {
        let one = |&(start, end, label): &(u32, u32, u16)| Annotation {
            span: Span::between(start, end),
            label: LabelId(label),
            score: 0.5,
            rule: if label == 7 { "seven" } else { "" },
        };
        Annotations::new("abcdefghij", spans.iter().map(one).collect()).unwrap()
    }

    #[test]
    fn what_members_say_alike_is_one_candidate() {
        let [a, b] = [says(&[(0, 2, 0), (4, 6, 1)]), says(&[(4, 6, 1), (4, 6, 0)])];
        let found: Vec<_> = candidates(&[&a, &b])
            .iter()
            .map(|c| (c.span.start(), c.label.0, c.members.0))
            .collect();
        assert_eq!(found, [(0, 0, 0b01), (4, 0, 0b10), (4, 1, 0b11)]);
    }

    #[test]
    fn a_decision_names_the_members_with_the_same_span_else_those_that_overlap_it() {
        let [a, b] = [says(&[(0, 4, 0)]), says(&[(2, 6, 7)])];
        let predictions = [&a, &b];
        let index = NoteVotes::new(&predictions);
        let exact = index.decision(Span::between(0, 4), LabelId(0), &[0, 1], 0.25);
        assert_eq!((exact.members.0, exact.scores.len(), exact.rule), (0b01, 1, ""));
        let joined = index.decision(Span::between(0, 6), LabelId(0), &[0, 1], 0.25);
        assert_eq!(
            (joined.members.0, joined.scores.len(), joined.rule),
            (0b11, 2, "seven")
        );
        assert_eq!(joined.score, 0.25);
    }

    #[test]
    fn of_two_overlapping_decisions_the_higher_score_wins_and_the_other_is_overruled() {
        let decision =
            |start, end| Decision::new(Span::between(start, end), LabelId(0), MemberSet::default(), 0.5);
        let kept = resolve_by_score(vec![
            (0.5, decision(0, 4)),
            (1.0, decision(3, 5)),
            (0.1, decision(5, 9)),
        ]);
        let told: Vec<_> = kept.iter().map(|d| (d.span.start(), d.overruled.len())).collect();
        assert_eq!(told, [(3, 1), (5, 0)]);
        // On equal scores the longer wins.
        let kept = resolve_by_score(vec![(0.5, decision(0, 4)), (0.5, decision(0, 6))]);
        assert_eq!((kept.len(), kept[0].span.end()), (1, 6));
    }
}
