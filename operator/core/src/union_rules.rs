//! The union of a combiner's decisions with the spans of rules that it was not fitted on.
//!
//! A fitted combiner takes the predictions of the members that it was fitted on. An identifier that the feed
//! knows of its patient, or that a check digit proves, needs no vote: it is redacted regardless of the
//! combiner's decision.

use std::sync::Arc;

use crate::overlap_resolver::OverlapResolver;
use crate::{Annotations, Combine, DecidingRule, Decision, MemberSet, NoteView, Voting};

/// A combiner of the first members, united with every span of the others.
///
/// Where a rule's span overlaps a decision of the combiner, the decision stays unchanged and the rest of the
/// span is redacted too. Where both have the same span and label, the rule's vote is added to the decision's.
pub struct UnionRules {
    combiner: Arc<dyn Combine>,
    members: usize,
}

impl UnionRules {
    /// Unites a combiner of the first `members` members with the others.
    pub fn new(combiner: Arc<dyn Combine>, members: usize) -> Self {
        Self { combiner, members }
    }
}

impl Combine for UnionRules {
    fn decide(&self, note: NoteView<'_>, predictions: &[&Annotations]) -> Vec<Decision> {
        let (members, rules) = predictions.split_at(self.members.min(predictions.len()));
        let mut kept = OverlapResolver::of(self.combiner.decide(note, members));
        let voting = Voting::default();
        let mut candidates = voting.count(rules);
        voting.order(&mut candidates);
        let mut new = Vec::new();
        for mut candidate in candidates {
            candidate.members = MemberSet(candidate.members.0 << members.len());
            candidate.deciding_rule = DecidingRule::UnionRules;
            match kept.same(&candidate) {
                Some(decision) => {
                    // Some combiners do not keep the members' scores.
                    if decision.scores.len() == decision.members.len() as usize {
                        decision.scores.append(&mut candidate.scores);
                    }
                    decision.members = MemberSet(decision.members.0 | candidate.members.0);
                    decision.score = decision.score.max(candidate.score);
                    if decision.rule.is_empty() {
                        decision.rule = candidate.rule;
                    }
                }
                None => new.push(candidate),
            }
        }
        kept.resolve(note.text, new, true);
        kept.into_decisions()
    }

    fn token_bytes(&self) -> usize {
        self.combiner.token_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Annotation, LabelId, NoteBatch, Span};

    const TEXT: &str = "abcdefghijklmnopqrstuvwxyz";

    fn says(spans: &[(u32, u32, u16)]) -> Annotations {
        let found = spans.iter().map(|&(start, end, label)| Annotation {
            span: Span::between(start, end),
            label: LabelId(label),
            score: 0.5,
            rule: "rule",
        });
        Annotations::new(TEXT, found.collect()).unwrap()
    }

    /// Returns start, end, label, members and the number of overruled spans of each decision, with the vote
    /// of two of the first members.
    fn decided(members: &[Annotations]) -> Vec<(usize, usize, u16, Vec<usize>, usize)> {
        let both = Voting {
            threshold: 2,
            redact_uncovered: false,
            ..Voting::default()
        };
        let union = UnionRules::new(Arc::new(both), 2);
        let batch = NoteBatch::from_texts([TEXT]).unwrap();
        let predictions: Vec<_> = members.iter().collect();
        union
            .decide(batch.note(0), &predictions)
            .iter()
            .inspect(|d| assert_eq!(d.scores.len(), d.members.len() as usize))
            .map(|d| {
                let members = d.members.iter().collect();
                (
                    d.span.start(),
                    d.span.end(),
                    d.label.0,
                    members,
                    d.overruled.len(),
                )
            })
            .collect()
    }

    #[test]
    fn a_rule_counts_where_the_combiner_decides_nothing() {
        let predictions = [says(&[(0, 4, 0)]), says(&[(6, 9, 0)]), says(&[(10, 12, 1)])];
        assert_eq!(decided(&predictions), [(10, 12, 1, vec![2], 0)]);
    }

    #[test]
    fn a_decision_tells_whether_the_combiner_or_a_rule_made_it() {
        let predictions = [
            says(&[(2, 5, 0)]),
            says(&[(2, 5, 0)]),
            says(&[(0, 5, 1), (8, 9, 1)]),
        ];
        let both = Voting {
            threshold: 2,
            ..Voting::default()
        };
        let batch = NoteBatch::from_texts([TEXT]).unwrap();
        let predictions: Vec<_> = predictions.iter().collect();
        let decided = UnionRules::new(Arc::new(both), 2).decide(batch.note(0), &predictions);
        let rules: Vec<_> = decided.iter().map(|decision| decision.deciding_rule).collect();
        let expected = [
            DecidingRule::Uncovered,
            DecidingRule::Votes,
            DecidingRule::UnionRules,
        ];
        assert_eq!(rules, expected);
    }

    #[test]
    fn a_rule_with_the_same_prediction_is_added_to_the_members() {
        let predictions = [says(&[(0, 4, 0)]), says(&[(0, 4, 0)]), says(&[(0, 4, 0)])];
        assert_eq!(decided(&predictions), [(0, 4, 0, vec![0, 1, 2], 0)]);
    }

    #[test]
    fn a_decision_keeps_its_place_and_the_rest_of_a_rules_span_is_redacted_too() {
        let predictions = [says(&[(2, 5, 0)]), says(&[(2, 5, 0)]), says(&[(0, 9, 1)])];
        assert_eq!(
            decided(&predictions),
            [
                (0, 2, 1, vec![2], 0),
                (2, 5, 0, vec![0, 1], 1),
                (5, 9, 1, vec![2], 0)
            ]
        );
    }

    #[test]
    fn of_overlapping_rules_the_one_with_more_votes_wins_and_every_part_is_redacted() {
        let predictions = [
            says(&[]),
            says(&[]),
            says(&[(0, 6, 0)]),
            says(&[(4, 8, 1)]),
            says(&[(4, 8, 1)]),
        ];
        assert_eq!(
            decided(&predictions),
            [(0, 4, 0, vec![2], 0), (4, 8, 1, vec![3, 4], 1)]
        );
    }
}
