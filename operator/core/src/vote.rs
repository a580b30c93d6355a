//! Voting: counts identical (span, label) triples and resolves overlaps.
//!
//! Kim 2020, "Voting": keep the terms with at least the threshold's votes; of two that overlap, keep the one
//! with more votes, and on a tie the one whose member did better in cross-validation. The paper leaves
//! further ties open; here the longer span wins, then the earlier one, then the lower label.

use std::cmp::Reverse;

use crate::overlap_resolver::resolve_run;
use crate::{Annotation, Annotations, DecidingRule, Decision, LabelId, MemberSet, Span};

/// When members agree.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Agreement {
    /// Only the same span with the same label, as in the paper.
    #[default]
    Exact,
    /// Overlapping spans, whatever their labels. How many members find an identifier there then decides
    /// whether it is redacted; exact votes still decide which span and label win.
    Overlap,
}

/// The settings of a vote.
#[derive(Clone, Debug)]
pub struct Voting {
    /// The votes that a triple needs.
    pub threshold: u32,
    /// The votes that a triple of a label needs instead, by label; labels beyond the list need `threshold`.
    pub thresholds: Vec<u32>,
    /// The score from which the vote of a single member suffices, 0 to 1, by label; for labels beyond the
    /// list no score suffices. Not in the paper.
    pub solo_min_scores: Vec<f32>,
    /// Whether a single vote suffices only in notes that have another span with enough votes. A note in which
    /// members agree on nothing usually has no identifier, so that a single vote there is usually a false
    /// positive. Not in the paper.
    pub require_corroboration: bool,
    /// Members whose spans are redacted whatever the vote.
    pub always_redact: MemberSet,
    /// The minimum score for those, 0 to 1, in notes without another span that has enough votes. Counts only
    /// with `require_corroboration`.
    pub always_min_score: f32,
    /// Each member's rank in cross-validation, 0 the best. Members beyond the list rank after it, by index.
    pub ranks: Vec<u32>,
    /// Whether the part of an overruled span that no winner covers is redacted, under the overruled label.
    /// The paper does not redact it.
    pub redact_uncovered: bool,
    /// When members agree. Under [`Agreement::Overlap`] a decision's members are all that predicted an
    /// overlapping span.
    pub agreement: Agreement,
}

impl Default for Voting {
    fn default() -> Self {
        Self {
            threshold: 1,
            thresholds: Vec::new(),
            solo_min_scores: Vec::new(),
            require_corroboration: false,
            always_redact: MemberSet::default(),
            always_min_score: 0.0,
            ranks: Vec::new(),
            redact_uncovered: true,
            agreement: Agreement::Exact,
        }
    }
}

impl Voting {
    /// Returns the votes that a triple of this label needs.
    pub fn needed(&self, label: LabelId) -> u32 {
        self.thresholds
            .get(usize::from(label.0))
            .copied()
            .unwrap_or(self.threshold)
    }

    /// Returns whether the votes of these members suffice for a triple of this label, regardless of their
    /// scores.
    pub fn is_enough(&self, label: LabelId, members: MemberSet) -> bool {
        members.len() >= self.needed(label) || members.0 & self.always_redact.0 != 0
    }

    /// Returns whether a member's score suffices for a triple of this label, so that it needs no second vote.
    pub fn is_solo(&self, label: LabelId, score: f32) -> bool {
        self.solo(label, score).is_some()
    }

    /// Returns the rule by which this score suffices, if it does.
    fn solo(&self, label: LabelId, score: f32) -> Option<DecidingRule> {
        let enough = *self.solo_min_scores.get(usize::from(label.0))?;
        (score >= enough).then_some(DecidingRule::SoloScore(enough))
    }

    /// Returns the rule by which a candidate is redacted, whatever else the note has.
    fn by_itself(&self, candidate: &Decision) -> Option<DecidingRule> {
        if candidate.members.len() >= self.needed(candidate.label) {
            return Some(DecidingRule::Votes);
        }
        let mut predictions = candidate.members.iter().zip(&candidate.scores);
        let always = |(member, score): (usize, &f32)| {
            *score >= self.always_min_score && self.always_redact.contains(member)
        };
        predictions.any(always).then_some(DecidingRule::AlwaysRedact)
    }

    /// Returns the rule by which a candidate is redacted in a note with a corroborated span.
    fn corroborated(&self, candidate: &Decision) -> Option<DecidingRule> {
        if self.is_enough(candidate.label, candidate.members) {
            return Some(DecidingRule::AlwaysRedact);
        }
        let best = candidate.scores.iter().copied().fold(0.0, f32::max);
        self.solo(candidate.label, best)
    }

    /// Decides one note, given each member's annotations of it, in member order.
    ///
    /// The result is sorted by start and free of overlaps. `O(n log n)` in the number of annotations, `O(n)`
    /// where few overlap.
    pub fn decide(&self, text: &str, members: &[&Annotations]) -> Vec<Decision> {
        let mut candidates = self.count(members);
        let runs = overlapping_runs(&candidates);
        let mut rest = candidates.as_mut_slice();
        for &run in &runs {
            let (run, after) = rest.split_at_mut(run);
            // Most candidates overlap no other.
            if run.len() > 1 {
                self.order(run);
            }
            rest = after;
        }
        if self.agreement == Agreement::Overlap {
            support(&mut candidates, members);
        }
        let corroborated =
            !self.require_corroboration || candidates.iter().any(|one| self.by_itself(one).is_some());
        let kept = |mut candidate: Decision| {
            let alone = || corroborated.then(|| self.corroborated(&candidate)).flatten();
            candidate.deciding_rule = self.by_itself(&candidate).or_else(alone)?;
            Some(candidate)
        };
        let mut decisions = Vec::with_capacity(candidates.len());
        let mut rest = candidates.into_iter();
        for run in runs {
            let kept = rest.by_ref().take(run).filter_map(kept);
            resolve_run(text, kept, self.redact_uncovered, &mut decisions);
        }
        decisions
    }

    /// Returns the distinct triples, each with the members that predicted it.
    pub(crate) fn count(&self, members: &[&Annotations]) -> Vec<Decision> {
        let mut all = Vec::with_capacity(members.iter().map(|annotations| annotations.len()).sum());
        for (member, annotations) in members.iter().enumerate() {
            all.extend(annotations.iter().map(|a| (member, a)));
        }
        // In the order of each member's annotations, so that sorting only merges them.
        all.sort_by_key(|&(member, a)| (a.span.start(), Reverse(a.span.end()), a.label, member));
        let same = |a: &(usize, &Annotation), b: &(usize, &Annotation)| {
            (a.1.span, a.1.label) == (b.1.span, b.1.label)
        };
        let one = |votes: &[(usize, &Annotation)]| {
            let of_rules = votes.iter().filter(|(_, a)| !a.rule.is_empty());
            let rule = of_rules.min_by_key(|&&(member, _)| self.rank(member));
            let scores: Vec<f32> = votes.iter().map(|(_, a)| a.score).collect();
            Decision {
                span: votes[0].1.span,
                title: 0,
                label: votes[0].1.label,
                members: votes
                    .iter()
                    .fold(MemberSet::default(), |set, &(member, _)| set.with(member)),
                score: scores.iter().copied().fold(0.0, f32::max),
                scores,
                needed: self.needed(votes[0].1.label),
                deciding_rule: DecidingRule::Votes,
                rule: rule.map_or("", |(_, a)| a.rule),
                overruled: Vec::new(),
            }
        };
        // They are counted first because a growing list of decisions is moved repeatedly.
        let mut candidates = Vec::with_capacity(all.chunk_by(same).count());
        candidates.extend(all.chunk_by(same).map(one));
        candidates
    }

    /// Sorts candidates by precedence: more votes, better rank, longer span, earlier span, lower label.
    pub(crate) fn order(&self, candidates: &mut [Decision]) {
        candidates.sort_by_cached_key(|d| {
            // One number compares faster than its parts in sequence. Among spans of one length, the earlier
            // start is the earlier span.
            let votes = MemberSet::CAPACITY - d.members.len() as usize;
            let shortness = u32::MAX - d.span.len() as u32;
            (votes as u128) << 112
                | u128::from(self.best_rank(d.members)) << 80
                | u128::from(shortness) << 48
                | (d.span.start() as u128) << 16
                | u128::from(d.label.0)
        });
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

/// Returns the lengths of the runs of candidates in which each overlaps an earlier one. The candidates are
/// sorted by start, so that none overlaps a candidate of another run.
fn overlapping_runs(candidates: &[Decision]) -> Vec<usize> {
    let mut runs = Vec::with_capacity(candidates.len());
    let mut reach = 0;
    for candidate in candidates {
        match runs.last_mut() {
            Some(run) if candidate.span.start() < reach => *run += 1,
            _ => runs.push(1),
        }
        reach = reach.max(candidate.span.end());
    }
    runs
}

/// Adds to each candidate the members that predicted an overlapping span, with the highest score of each.
fn support(candidates: &mut [Decision], members: &[&Annotations]) {
    let ends: Vec<Ends<'_>> = members.iter().map(|predictions| Ends::new(predictions)).collect();
    for candidate in candidates {
        let mut own = std::mem::take(&mut candidate.scores).into_iter();
        let exact = candidate.members;
        for (member, ends) in ends.iter().enumerate() {
            if exact.contains(member) {
                candidate.scores.extend(own.next());
            } else if let Some(score) = ends.best_score(candidate.span) {
                candidate.members = candidate.members.with(member);
                candidate.scores.push(score);
            }
        }
    }
}

/// A member's annotations by their starts, and the furthest end up to each.
pub(crate) struct Ends<'a> {
    predictions: Vec<&'a Annotation>,
    reach: Vec<usize>,
}

impl<'a> Ends<'a> {
    pub(crate) fn new(annotations: &'a Annotations) -> Self {
        let predictions: Vec<&Annotation> = annotations.iter().collect();
        let mut reach = Vec::with_capacity(predictions.len());
        for annotation in &predictions {
            let before = reach.last().copied().unwrap_or(0);
            reach.push(annotation.span.end().max(before));
        }
        Self { predictions, reach }
    }

    /// Returns the best score among what overlaps a span.
    pub(crate) fn best_score(&self, span: Span) -> Option<f32> {
        let before = self
            .predictions
            .partition_point(|one| one.span.start() < span.end());
        let near = (0..before)
            .rev()
            .take_while(|&place| self.reach[place] > span.start());
        let over = near.filter(|&place| self.predictions[place].span.overlaps(span));
        over.map(|place| self.predictions[place].score).reduce(f32::max)
    }
}

#[cfg(test)]
mod tests;
