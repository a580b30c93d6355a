//! Voting: identical (span, label) triples are counted, overlaps resolved.
//!
//! Kim 2020, "Voting": keep the terms with at least the threshold's votes; where two overlap, the one with more votes
//! stays; on a tie, the one whose member did better in cross-validation. What the paper leaves open is fixed here: a
//! further tie goes to the longer span, then to the earlier one, then to the lower label.

use std::collections::BTreeMap;

use crate::{Annotations, LabelId, Span};

/// A set of members, by their index. An ensemble has at most 64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MemberSet(pub u64);

impl MemberSet {
    /// The most members an ensemble can have.
    pub const CAPACITY: usize = 64;

    /// The set with `member` in it.
    #[must_use]
    pub const fn with(self, member: usize) -> Self {
        Self(self.0 | 1 << member)
    }

    /// Whether `member` is in it.
    pub const fn contains(self, member: usize) -> bool {
        self.0 >> member & 1 == 1
    }

    /// How many members are in it.
    pub const fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether none is.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The members, in order.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let member = rest.trailing_zeros() as usize;
            rest &= rest.checked_sub(1)?;
            Some(member)
        })
    }
}

/// What the ensemble decides about a span.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// Bytes of the original note.
    pub span: Span,
    /// What it is.
    pub label: LabelId,
    /// Who said so.
    pub members: MemberSet,
    /// The best score among them.
    pub score: f32,
    /// The rule of the best-ranked of them that has one.
    pub rule: &'static str,
}

/// How members are combined.
#[derive(Clone, Debug)]
pub struct Voting {
    /// Votes that a triple needs.
    pub threshold: u32,
    /// Members whose single vote is enough, whatever the threshold.
    pub always: MemberSet,
    /// Each member's place in cross-validation, 0 the best. Members beyond the list rank after it, by index.
    pub ranks: Vec<u32>,
    /// What becomes of the part of a beaten span that no winner covers: redacted under the beaten label (true), as
    /// recall asks, or let go (false), as in the paper.
    pub cover_beaten: bool,
}

impl Default for Voting {
    fn default() -> Self {
        Self {
            threshold: 1,
            always: MemberSet::default(),
            ranks: Vec::new(),
            cover_beaten: true,
        }
    }
}

impl Voting {
    /// Decides one note, given each member's annotations of it, in member order.
    ///
    /// The answer is sorted by start and free of overlaps. `O(n log n)` in the number of annotations.
    pub fn decide(&self, text: &str, members: &[&Annotations]) -> Vec<Decision> {
        let mut candidates = self.count(members);
        candidates.retain(|c| c.members.len() >= self.threshold || c.members.0 & self.always.0 != 0);
        candidates.sort_by_cached_key(|d| {
            (
                std::cmp::Reverse(d.members.len()),
                self.best_rank(d.members),
                std::cmp::Reverse(d.span.len()),
                d.span,
                d.label,
            )
        });
        let mut kept = Disjoint::default();
        let mut beaten = Vec::new();
        for candidate in candidates {
            if !kept.insert(candidate) {
                beaten.push(candidate);
            }
        }
        if self.cover_beaten {
            for candidate in beaten {
                for rest in kept.uncovered(candidate.span) {
                    let rest = rest.trimmed(text);
                    if rest.of(text).chars().any(char::is_alphanumeric) {
                        kept.insert(Decision {
                            span: rest,
                            ..candidate
                        });
                    }
                }
            }
        }
        kept.0.into_values().collect()
    }

    fn count(&self, members: &[&Annotations]) -> Vec<Decision> {
        let mut all: Vec<(usize, Decision)> = Vec::new();
        for (member, annotations) in members.iter().enumerate() {
            all.extend(annotations.iter().map(|a| {
                let members = MemberSet::default().with(member);
                (
                    member,
                    Decision {
                        span: a.span,
                        label: a.label,
                        members,
                        score: a.score,
                        rule: a.rule,
                    },
                )
            }));
        }
        all.sort_by_key(|(member, d)| (d.span, d.label, self.rank(*member)));
        let mut counted: Vec<Decision> = Vec::new();
        for (_, next) in all {
            match counted.last_mut() {
                Some(last) if last.span == next.span && last.label == next.label => {
                    last.members.0 |= next.members.0;
                    last.score = last.score.max(next.score);
                    if last.rule.is_empty() {
                        last.rule = next.rule;
                    }
                }
                _ => counted.push(next),
            }
        }
        counted
    }

    fn rank(&self, member: usize) -> u32 {
        self.ranks
            .get(member)
            .copied()
            .unwrap_or(self.ranks.len() as u32 + member as u32)
    }

    fn best_rank(&self, members: MemberSet) -> u32 {
        members
            .iter()
            .map(|member| self.rank(member))
            .min()
            .unwrap_or(u32::MAX)
    }
}

/// Decisions without overlaps, by their start.
#[derive(Default)]
struct Disjoint(BTreeMap<usize, Decision>);

impl Disjoint {
    fn insert(&mut self, decision: Decision) -> bool {
        let before = self.0.range(..decision.span.end()).next_back();
        if before.is_some_and(|(_, other)| other.span.overlaps(decision.span)) {
            return false;
        }
        self.0.insert(decision.span.start(), decision);
        true
    }

    /// The parts of `span` that no decision covers.
    fn uncovered(&self, span: Span) -> Vec<Span> {
        let first = self
            .0
            .range(..span.start())
            .next_back()
            .filter(|(_, d)| d.span.end() > span.start());
        let from = first.map_or(span.start(), |(&start, _)| start);
        let (mut parts, mut at) = (Vec::new(), span.start());
        for decision in self.0.range(from..span.end()).map(|(_, d)| d) {
            if decision.span.start() > at {
                parts.push(Span::between(at as u32, decision.span.start() as u32));
            }
            at = at.max(decision.span.end());
        }
        if at < span.end() {
            parts.push(Span::between(at as u32, span.end() as u32));
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Annotation;
    use proptest::prelude::*;

    const TEXT: &str = "abcdefghijklmnopqrstuvwxyz";

    fn says(spans: &[(u32, u32, u16)]) -> Annotations {
        let found = spans.iter().map(|&(start, end, label)| Annotation {
            span: Span::between(start, end),
            label: LabelId(label),
            score: 0.5,
            rule: "",
        });
        Annotations::new(TEXT, found.collect()).unwrap()
    }

    fn decided(voting: &Voting, members: &[Annotations]) -> Vec<(usize, usize, u16, u32)> {
        let members: Vec<_> = members.iter().collect();
        voting
            .decide(TEXT, &members)
            .iter()
            .map(|d| (d.span.start(), d.span.end(), d.label.0, d.members.len()))
            .collect()
    }

    fn paper(threshold: u32) -> Voting {
        Voting {
            threshold,
            cover_beaten: false,
            ..Voting::default()
        }
    }

    #[test]
    fn only_identical_triples_share_votes() {
        let members = [
            says(&[(0, 4, 0)]),
            says(&[(0, 4, 0), (6, 9, 1)]),
            says(&[(0, 5, 0), (6, 9, 2)]),
        ];
        assert_eq!(decided(&paper(2), &members), [(0, 4, 0, 2)]);
    }

    #[test]
    fn more_votes_beat_a_better_rank() {
        let members = [says(&[(0, 8, 0)]), says(&[(2, 5, 1)]), says(&[(2, 5, 1)])];
        assert_eq!(decided(&paper(1), &members), [(2, 5, 1, 2)]);
    }

    #[test]
    fn on_equal_votes_the_better_ranked_member_wins() {
        let members = [says(&[(0, 8, 0)]), says(&[(2, 5, 1)])];
        assert_eq!(
            decided(
                &Voting {
                    ranks: vec![1, 0],
                    ..paper(1)
                },
                &members
            ),
            [(2, 5, 1, 1)]
        );
        assert_eq!(
            decided(
                &Voting {
                    ranks: vec![0, 1],
                    ..paper(1)
                },
                &members
            ),
            [(0, 8, 0, 1)]
        );
    }

    #[test]
    fn the_uncovered_part_of_a_beaten_span_is_still_redacted() {
        let members = [says(&[(0, 8, 0)]), says(&[(2, 5, 1)])];
        let voting = Voting {
            ranks: vec![1, 0],
            ..Voting::default()
        };
        assert_eq!(
            decided(&voting, &members),
            [(0, 2, 0, 1), (2, 5, 1, 1), (5, 8, 0, 1)]
        );
    }

    #[test]
    fn a_member_that_always_counts_needs_no_second_vote() {
        let members = [says(&[(0, 3, 0)]), says(&[(5, 8, 0)])];
        let voting = Voting {
            always: MemberSet::default().with(1),
            ..paper(2)
        };
        assert_eq!(decided(&voting, &members), [(5, 8, 0, 1)]);
    }

    proptest! {
        #[test]
        fn with_cover_every_byte_that_reaches_the_threshold_is_decided_once(
            spans in proptest::collection::vec((0u32..20, 1u32..6, 0u16..3, 0usize..3), 0..20)
        ) {
            let mut by_member = vec![Vec::new(); 3];
            for &(start, len, label, member) in &spans {
                by_member[member].push((start, start + len, label));
            }
            let members: Vec<_> = by_member.iter().map(|s| says(s)).collect();
            let found = decided(&Voting::default(), &members);
            for byte in 0..TEXT.len() {
                let claimed = spans.iter().any(|&(s, l, _, _)| (s as usize..(s + l) as usize).contains(&byte));
                let covered = found.iter().filter(|d| (d.0..d.1).contains(&byte)).count();
                prop_assert_eq!(covered, usize::from(claimed));
            }
        }
    }
}
