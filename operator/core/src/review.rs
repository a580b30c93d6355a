//! Residual risk: which redacted notes a human should look at, and why.
//!
//! A vote draws a line, and what lies close to it on either side is where it errs. A note is flagged by what its members
//! predicted compared with the final decisions, under every combiner: no combiner can forget to report it.

use crate::{Annotations, Decision, NoteView, Span};

/// Why a note is flagged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// Something was decided by a hair: with hardly the votes that it needed where more members could have voted, or by a
    /// combiner that was not sure.
    LowMargin,
    /// A member predicted with a high score a span of which nothing is redacted.
    Dropped,
    /// A member predicted with a high score a span of which a part with letters or digits is not redacted.
    UncoveredPart,
}

impl Reason {
    /// Every reason, in the order in which they are written.
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

/// The reasons of one note. Empty: nobody need look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Review(u8);

impl Review {
    /// With this reason too.
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

/// What counts as a reason.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReviewRule {
    /// A decision that needed two votes or more is close with fewer than so many beyond those; 0: none is. Where one vote
    /// is enough there is no line to be close to, and where a rule counts whatever the others say votes tell nothing.
    pub margin: u32,
    /// A span that is not redacted counts from this score of a member's on, 0 to 1; above 1: none does.
    pub score: f32,
    /// A decision of a combiner that was fitted is close below this score, 0 to 1; 0: none is.
    pub min_score: f32,
}

impl Default for ReviewRule {
    /// One vote more than was needed is enough; a member is sure from 0.9 on, a combiner from 0.6 on.
    fn default() -> Self {
        Self {
            margin: 1,
            score: 0.9,
            min_score: 0.6,
        }
    }
}

impl ReviewRule {
    /// Returns why a person should look at a note, from the members' predictions and the final decisions, sorted and free
    /// of overlaps. What lies within one of the `explained` spans stands for a reason of its own. `O(a + d)` in annotations
    /// and decisions.
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
                // Annotations and decisions are both sorted, so that those behind an annotation are behind the next.
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

/// Returns whether a letter or digit of `span` stands outside all decisions, and whether one of them overlaps
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

    /// Returns the names of the reasons of what this vote decides.
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
