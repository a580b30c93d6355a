//! An ensemble's decision about a span, with everything that the audit reports of it.

use crate::{LabelId, Span};

/// A set of members, by their index. An ensemble has at most 64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MemberSet(pub u64);

impl MemberSet {
    /// The most members an ensemble can have.
    pub const CAPACITY: usize = 64;

    /// Returns the set with `member` in it.
    #[must_use]
    pub const fn with(self, member: usize) -> Self {
        Self(self.0 | 1 << member)
    }

    /// Returns whether `member` is in it.
    pub const fn contains(self, member: usize) -> bool {
        self.0 >> member & 1 == 1
    }

    /// Returns the number of members in the set.
    pub const fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// Returns whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the same members where `first` others come before them.
    #[must_use]
    pub(crate) const fn after(self, first: usize) -> Self {
        Self(self.0 << first)
    }

    /// Returns the members, in order.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let member = rest.trailing_zeros() as usize;
            rest &= rest.checked_sub(1)?;
            Some(member)
        })
    }
}

/// What made a span be redacted.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum DecidingRule {
    /// It has the votes that its label needs.
    Votes,
    /// A member whose spans are always redacted predicted it.
    AlwaysRedact,
    /// The vote of one member sufficed, because its score is at least this.
    SoloScore(f32),
    /// A fitted combiner decided it.
    Combiner,
    /// A rule that does not vote predicted it.
    UnionRules,
    /// It is the part of an overruled span that no winner covers.
    Uncovered,
    /// It repeats a value that is redacted elsewhere in the note.
    Propagation,
    /// It is a value of an identifier column.
    Column,
    /// It is a field of a message, for which the format has a rule.
    Structured,
}

impl DecidingRule {
    /// Returns the name written to the audit.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Votes => "votes",
            Self::AlwaysRedact => "always_redact",
            Self::SoloScore(_) => "solo_score",
            Self::Combiner => "combiner",
            Self::UnionRules => "union_rules",
            Self::Uncovered => "uncovered",
            Self::Propagation => "propagation",
            Self::Column => "column",
            Self::Structured => "structured",
        }
    }

    /// Returns the score from which one vote sufficed, if that decided.
    pub const fn solo_min_score(self) -> Option<f32> {
        match self {
            Self::SoloScore(score) => Some(score),
            _ => None,
        }
    }

    /// Returns whether members' agreement decided about exactly this span.
    pub(crate) const fn weighs_agreement(self) -> bool {
        matches!(self, Self::Votes | Self::SoloScore(_) | Self::Combiner)
    }

    /// Returns whether members decided about the span itself. Such a rule explains a merged span better than
    /// one that follows from another span.
    const fn is_direct(self) -> bool {
        !matches!(self, Self::Uncovered | Self::Propagation)
    }
}

/// An ensemble's decision about a span.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// Bytes of the original note.
    pub span: Span,
    /// The bytes at the beginning of the span that are the title of a name and not the name itself, if
    /// [`Titles`](crate::Titles) extended it.
    pub title: u32,
    /// The label.
    pub label: LabelId,
    /// The members that predicted it.
    pub members: MemberSet,
    /// The score of each, in their order.
    pub scores: Vec<f32>,
    /// The ensemble's score, 0 to 1: in a vote the best score among the members.
    pub score: f32,
    /// The votes that it needed; 0 if votes do not decide.
    pub needed: u32,
    /// What made the span be redacted.
    pub deciding_rule: DecidingRule,
    /// The rule of the best-ranked of those members that has one.
    pub rule: &'static str,
    /// The spans that overlapped it and lost.
    pub overruled: Vec<OverruledSpan>,
}

impl Decision {
    /// Creates a decision of a combiner, without votes and without overruled spans.
    pub const fn new(span: Span, label: LabelId, members: MemberSet, score: f32) -> Self {
        Self {
            span,
            title: 0,
            label,
            members,
            scores: Vec::new(),
            score,
            needed: 0,
            deciding_rule: DecidingRule::Combiner,
            rule: "",
            overruled: Vec::new(),
        }
    }

    /// Returns the span without the title before a name.
    pub const fn value(&self) -> Span {
        let (start, end) = (self.span.start() as u32, self.span.end() as u32);
        Span::between(start + self.title, end)
    }

    /// Records a decision that this one overruled. Most overrule one, for which a list that grows would reserve
    /// room for four.
    pub(crate) fn overrule(&mut self, other: &Self) {
        if self.overruled.is_empty() {
            self.overruled.reserve_exact(1);
        }
        self.overruled.push(OverruledSpan::of(other));
    }

    /// Numbers the members as those of an engine that has `first` others before them.
    pub(crate) fn renumber(&mut self, first: usize) {
        self.members = self.members.after(first);
        for overruled in &mut self.overruled {
            overruled.members = overruled.members.after(first);
        }
    }

    /// Merges the next decision, which has the same label, into this one.
    pub(crate) fn join(&mut self, next: &mut Self) {
        self.span = self.span.union(next.span);
        let members = MemberSet(self.members.0 | next.members.0);
        // A member that predicted both parts has the lower of their scores.
        let score = |decision: &Self, member: usize| {
            let place = decision.members.iter().position(|other| other == member)?;
            decision.scores.get(place).copied()
        };
        let of = |member| {
            let both = score(self, member).into_iter().chain(score(next, member));
            both.reduce(f32::min)
        };
        self.scores = members.iter().filter_map(of).collect();
        self.members = members;
        self.score = self.score.min(next.score);
        if next.deciding_rule.is_direct() && !self.deciding_rule.is_direct() {
            self.deciding_rule = next.deciding_rule;
            self.needed = next.needed;
        }
        self.overruled.append(&mut next.overruled);
    }
}

/// A span that would have been decided if it had not overlapped another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OverruledSpan {
    /// Bytes of the original note.
    pub span: Span,
    /// The label that was predicted for it.
    pub label: LabelId,
    /// The members that predicted it.
    pub members: MemberSet,
    /// The ensemble's score.
    pub score: f32,
}

impl OverruledSpan {
    /// Returns the overruled span of a decision that lost.
    pub const fn of(decision: &Decision) -> Self {
        Self {
            span: decision.span,
            label: decision.label,
            members: decision.members,
            score: decision.score,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_joined_decision_keeps_the_rule_that_decided_about_a_part_itself() {
        let part = |start, rule, needed| Decision {
            deciding_rule: rule,
            needed,
            ..Decision::new(
                Span::between(start, start + 2),
                LabelId(0),
                MemberSet::default(),
                1.0,
            )
        };
        let joined = |first, second| {
            let mut decision = part(0, first, 1);
            decision.join(&mut part(3, second, 2));
            (decision.deciding_rule, decision.needed)
        };
        let (votes, solo) = (DecidingRule::Votes, DecidingRule::SoloScore(0.9));
        assert_eq!(joined(DecidingRule::Uncovered, votes), (votes, 2));
        assert_eq!(joined(solo, DecidingRule::Propagation), (solo, 1));
        assert_eq!(joined(solo, votes), (solo, 1));
    }

    #[test]
    fn a_joined_decision_has_each_members_lesser_score() {
        let part = |start, members: &[usize], scores: &[f32]| Decision {
            scores: scores.to_vec(),
            ..Decision::new(
                Span::between(start, start + 2),
                LabelId(0),
                members
                    .iter()
                    .fold(MemberSet::default(), |set, &member| set.with(member)),
                1.0,
            )
        };
        let mut joined = part(0, &[0, 3], &[0.9, 0.4]);
        joined.join(&mut part(3, &[1, 3], &[0.7, 0.8]));
        assert_eq!(joined.scores, [0.9, 0.7, 0.4]);
        assert_eq!((joined.span, joined.members.len()), (Span::between(0, 5), 3));
    }
}
