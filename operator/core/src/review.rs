//! Residual risk: which redacted notes a person should look at, and why.
//!
//! A vote is most often wrong near its threshold, on either side. The flags come from the members'
//! predictions and the final decisions, whatever the combiner: no combiner can forget to report them.

use crate::{Annotations, Decision, NoteView, Span};

/// Why a note is flagged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// A decision has hardly more votes than it needed although more members could have voted, or a low score
    /// of a fitted combiner.
    LowMargin,
    /// A member returned a span with a high score, and nothing of it is redacted.
    Dropped,
    /// A member returned a span with a high score, and a part of it with letters or digits is not redacted.
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

    /// Returns whether there is no reason.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the reasons, in order.
    pub fn reasons(self) -> impl Iterator<Item = Reason> {
        Reason::ALL
            .into_iter()
            .filter(move |reason| self.0 >> *reason as u8 & 1 == 1)
    }
}

/// The thresholds from which a note is flagged.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReviewRule {
    /// A decision is narrow (reason `low_margin`) if it has fewer than this many votes beyond those that it
    /// needed. 0 turns the reason off. A decision is never narrow if one vote was enough, or if all members
    /// voted for it.
    #[schemars(extend("x-unit" = "votes"))]
    pub margin: u32,
    /// A member's span that is not redacted flags the note from this score on: reason `dropped` if nothing of
    /// it is redacted, else `uncovered_part`. A value above 1 turns both reasons off.
    #[schemars(extend("x-unit" = "score"))]
    pub score: f32,
    /// A decision of a fitted combiner is narrow (reason `low_margin`) below this score. 0 turns this off.
    #[schemars(extend("x-unit" = "score"))]
    pub min_score: f32,
}

impl Default for ReviewRule {
    /// One vote more than needed is enough; a member's score is high from 0.9, and a combiner's low below
    /// 0.6.
    fn default() -> Self {
        Self {
            margin: 1,
            score: 0.9,
            min_score: 0.6,
        }
    }
}

impl ReviewRule {
    /// Returns why a person should look at a note, from the members' predictions and the final decisions,
    /// which are sorted and free of overlaps. A prediction within one of the `explained` spans is no reason.
    /// `O(a + d)` in annotations and decisions.
    pub fn review(
        &self,
        note: NoteView<'_>,
        predictions: &[&Annotations],
        decisions: &[Decision],
        explained: &[Span],
    ) -> Review {
        let mut review = Review::default();
        if decisions
            .iter()
            .any(|decision| self.is_close(decision, predictions.len()))
        {
            review = review.with(Reason::LowMargin);
        }
        for annotations in predictions {
            let mut before = 0;
            for annotation in annotations.iter().filter(|one| one.score >= self.score) {
                if !explained.is_empty() && crate::exemption::covers(note, explained, annotation.span) {
                    continue;
                }
                // Annotations and decisions are both sorted, so a decision that ends before an annotation
                // also ends before the next one.
                let behind = |decision: &Decision| decision.span.end() <= annotation.span.start();
                before += decisions[before..].iter().take_while(|one| behind(one)).count();
                let (stands, touched) = left(note.text, annotation.span, &decisions[before..]);
                review = match (stands, touched) {
                    (false, _) => review,
                    (true, false) => review.with(Reason::Dropped),
                    (true, true) => review.with(Reason::UncoveredPart),
                };
            }
        }
        review
    }

    fn is_close(&self, decision: &Decision, members: usize) -> bool {
        let votes = decision.members.len();
        if decision.needed == 0 {
            return decision.score < self.min_score;
        }
        let beyond = votes.checked_sub(decision.needed);
        decision.needed > 1 && (votes as usize) < members && beyond.is_some_and(|beyond| beyond < self.margin)
    }
}

/// Returns whether a letter or digit of `span` lies outside all decisions, and whether any decision overlaps
/// it. None of them ends before `span` starts.
fn left(text: &str, span: Span, decisions: &[Decision]) -> (bool, bool) {
    let over = decisions
        .iter()
        .take_while(|decision| decision.span.start() < span.end());
    let bare = |from: usize, to: usize| {
        let part = Span::between(from as u32, to as u32);
        part.of(text).chars().any(char::is_alphanumeric)
    };
    let (mut at, mut stands, mut touched) = (span.start(), false, false);
    for decision in over {
        touched = true;
        stands |= bare(at, decision.span.start());
        at = at.max(decision.span.end());
    }
    (stands || bare(at, span.end()), touched)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Annotation, LabelId, MemberSet, NoteBatch, Voting};
    use proptest::prelude::*;

    const TEXT: &str = "Ana Ruiz, seen by Dr. Gil on May 4";

    fn says(spans: &[(u32, u32, f32)]) -> Annotations {
        let found = spans.iter().map(|&(start, end, score)| Annotation {
            span: Span::between(start, end),
            label: LabelId(0),
            score,
            rule: "",
        });
        Annotations::new(TEXT, found.collect()).unwrap()
    }

    fn vote(threshold: u32) -> Voting {
        Voting {
            threshold,
            redact_uncovered: false,
            ..Voting::default()
        }
    }

    /// Returns the names of the reasons for the decisions of this vote.
    fn reasons(voting: &Voting, predictions: &[Annotations]) -> Vec<&'static str> {
        let batch = NoteBatch::from_texts([TEXT]).unwrap();
        let predictions: Vec<_> = predictions.iter().collect();
        let decisions = voting.decide(TEXT, &predictions);
        let review = ReviewRule::default().review(batch.note(0), &predictions, &decisions, &[]);
        assert_eq!(review.is_empty(), review.reasons().count() == 0);
        review.reasons().map(Reason::name).collect()
    }

    #[test]
    fn as_many_votes_as_were_needed_are_close_where_more_members_could_have_voted() {
        let name = || says(&[(0, 8, 0.5)]);
        assert_eq!(reasons(&vote(2), &[name(), name(), says(&[])]), ["low_margin"]);
        assert!(reasons(&vote(2), &[name(), name(), name()]).is_empty());
        assert!(reasons(&vote(2), &[name(), name()]).is_empty());
    }

    #[test]
    fn where_one_vote_is_enough_or_a_rule_always_counts_no_decision_is_close() {
        let predictions = [says(&[(0, 8, 1.0)]), says(&[])];
        assert!(reasons(&vote(1), &predictions).is_empty());
        let always = Voting {
            always_redact: MemberSet::default().with(0),
            ..vote(2)
        };
        assert!(reasons(&always, &predictions).is_empty());
    }

    #[test]
    fn a_confident_span_that_is_not_redacted_is_flagged_as_dropped() {
        assert_eq!(
            reasons(&vote(2), &[says(&[(22, 25, 0.9)]), says(&[])]),
            ["dropped"]
        );
        assert!(reasons(&vote(2), &[says(&[(22, 25, 0.89)]), says(&[])]).is_empty());
    }

    #[test]
    fn an_uncovered_part_is_flagged_and_punctuation_is_not() {
        let three = |wide: &[(u32, u32, f32)]| {
            let name = || says(&[(4, 8, 0.5)]);
            [says(wide), name(), name(), name()]
        };
        assert_eq!(reasons(&vote(2), &three(&[(0, 8, 0.95)])), ["uncovered_part"]);
        assert!(reasons(&vote(2), &three(&[(3, 9, 0.95)])).is_empty());
    }

    #[test]
    fn a_low_score_of_a_fitted_combiner_is_close() {
        let batch = NoteBatch::from_texts([TEXT]).unwrap();
        let decided = |score| {
            let members = MemberSet::default().with(0);
            let decision = Decision::new(Span::between(0, 8), LabelId(0), members, score);
            let review = ReviewRule::default().review(batch.note(0), &[&says(&[])], &[decision], &[]);
            review.reasons().next()
        };
        assert_eq!(decided(0.59), Some(Reason::LowMargin));
        assert_eq!(decided(0.6), None);
    }

    #[test]
    fn limits_are_read_from_configuration() {
        let rule: ReviewRule = toml::from_str("margin = 2\nscore = 0.5").unwrap();
        assert_eq!((rule.margin, rule.score, rule.min_score), (2, 0.5, 0.6));
        assert!(toml::from_str::<ReviewRule>("margins = 2").is_err());
    }

    proptest! {
        #[test]
        fn a_note_is_flagged_for_a_span_exactly_if_a_letter_or_digit_of_it_stands(
            spans in proptest::collection::vec((0u32..30, 1u32..8), 0..5),
            sure in (0u32..30, 1u32..8),
        ) {
            let clip = |(start, length): (u32, u32)| (start, (start + length).min(TEXT.len() as u32), 1.0);
            let of: Vec<_> = spans.iter().map(|&span| clip(span)).collect();
            let decided = [says(&of)];
            let decided: Vec<_> = decided.iter().collect();
            let decisions = Voting::default().decide(TEXT, &decided);
            let sure = clip(sure);
            let batch = NoteBatch::from_texts([TEXT]).unwrap();
            let review = ReviewRule::default().review(batch.note(0), &[&says(&[sure])], &decisions, &[]);
            let covered = |at: usize| decisions.iter().any(|d| (d.span.start()..d.span.end()).contains(&at));
            let stands = (sure.0 as usize..sure.1 as usize)
                .any(|at| !covered(at) && TEXT.as_bytes()[at].is_ascii_alphanumeric());
            prop_assert_eq!(!review.is_empty(), stands);
        }
    }
}
