//! Chooses members and a threshold: Kim 2019's backward elimination, for any objective.
//!
//! For each voting threshold, start with all members, drop the member without which the objective is highest,
//! and repeat while it improves; finally take the threshold whose set is best (Kim 2019, Methods; Kim 2020,
//! "Voting pruned"). The paper does not define what happens to a drop that changes nothing: here it is taken,
//! since the remaining set is as good and costs less. So one order of sets decides everything
//! ([`Standing::total_cmp`]): the rule stops when the best drop is not above its predecessor.
//!
//! Beyond the paper: members that are never dropped, bounds on recall and cost, thresholds by category, and,
//! for the report, the paths after the stop.

mod category;
mod front;
mod page;
mod path;
mod report;

use std::cmp::Ordering;

use lethe_core::{Agreement, MemberSet, Voting};

pub use page::{page, picture};
pub use report::{
    ByCategory, CategoryThreshold, HeldOut, HeldOutThreshold, Left, LeftOut, Path, Point, Pruned,
    PrunedMember, Step,
};

use crate::leak::{found_alone, shared_errors};
use crate::{Cost, Costs, Objective, PredictionSet, Standing, Tally, VoteIndex};

/// The options of pruning.
#[derive(Clone, Debug, Default)]
pub struct PruneOptions {
    /// The objective.
    pub objective: Objective,
    /// Members that are never dropped.
    pub keep: MemberSet,
    /// Members whose spans are redacted whatever the vote. They can be dropped unless they are also in
    /// `keep`.
    pub always_redact: MemberSet,
    /// Each member's cost, in their order; empty if costs are unknown.
    pub costs: Vec<Cost>,
    /// The thresholds to try; empty for all possible ones, 1 to the number of members.
    pub thresholds: Vec<u32>,
    /// Whether every set of members is evaluated too, so that under a floor or a ceiling the chosen set is
    /// the best possible at a single threshold, and the front is the true one: 2ⁿ sets per threshold, with n
    /// at most [`EVERY_SET`]. The paper's rule is not affected.
    pub every_set: bool,
    /// Whether each category of labels gets its own threshold once the members are chosen.
    pub by_category: bool,
    /// Whether each category also gets a score from which a single vote suffices
    /// ([`Voting::solo_min_scores`]), with `by_category`; not in the paper.
    pub solo_min_scores: bool,
    /// Whether such a vote needs corroboration ([`Voting::require_corroboration`]).
    pub require_corroboration: bool,
    /// Whether the parts of overruled spans that no winner covers are redacted
    /// ([`Voting::redact_uncovered`]); not in the paper.
    pub redact_uncovered: bool,
    /// When members agree ([`Voting::agreement`]); by overlap is not in the paper.
    pub agreement: Agreement,
}

/// The most members whose sets can all be evaluated in seconds.
pub const EVERY_SET: usize = 14;

/// Why members could not be pruned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PruneError {
    /// There is no member, or there are too many.
    #[error("there are {0} members; a vote has 1 to {max}", max = MemberSet::CAPACITY)]
    Members(usize),
    /// The costs do not match the members.
    #[error("there are {members} members, but costs of {costs}")]
    Costs {
        /// The number of members.
        members: usize,
        /// The number of costs given.
        costs: usize,
    },
    /// A cost is invalid.
    #[error("the cost of `{0}` is negative or not a number")]
    Cost(String),
    /// A ceiling is given without costs, so that nothing would exceed it.
    #[error("a ceiling needs the costs of the members")]
    Ceiling,
    /// A set names a member that does not exist.
    #[error("there is no member {member} to keep or to redact always; there are {members}")]
    NoMember {
        /// Its index.
        member: usize,
        /// The number of members.
        members: usize,
    },
    /// No vote reaches the threshold.
    #[error("the threshold is {threshold}, but {members} members allow 1 to {members}")]
    Threshold {
        /// The threshold.
        threshold: u32,
        /// The number of members.
        members: usize,
    },
    /// There are too many members to evaluate every set of them.
    #[error("{0} members have too many sets to evaluate each; the limit is {EVERY_SET} members")]
    EverySet(usize),
    /// A pruned member has no predictions for evaluation.
    #[error("no predictions of member `{0}`")]
    Missing(String),
}

/// A set of members at a threshold, with its results.
#[derive(Clone, Copy, Debug)]
struct Tried {
    threshold: u32,
    members: MemberSet,
    tally: Tally,
    standing: Standing,
}

impl Tried {
    /// Compares by standing; on a tie the lower threshold is greater, since it leaks less.
    fn total_cmp(&self, other: &Self) -> Ordering {
        let by_threshold = other.threshold.cmp(&self.threshold);
        self.standing.total_cmp(&other.standing).then(by_threshold)
    }
}

/// Everything that evaluates a set.
struct Evaluator<'a> {
    vote_index: VoteIndex,
    options: &'a PruneOptions,
    costs: Costs,
    ranks: Vec<u32>,
}

impl Evaluator<'_> {
    fn voting(&self, threshold: u32) -> Voting {
        Voting {
            threshold,
            thresholds: Vec::new(),
            solo_min_scores: Vec::new(),
            require_corroboration: self.options.require_corroboration,
            always_redact: self.options.always_redact,
            always_min_score: 0.0,
            ranks: self.ranks.clone(),
            redact_uncovered: self.options.redact_uncovered,
            agreement: self.options.agreement,
        }
    }

    /// Returns the number of members below which nothing is decided: the votes needed, or 1 if a single vote
    /// of some members is enough.
    fn least(&self, threshold: u32) -> u32 {
        if self.options.always_redact.is_empty() {
            threshold
        } else {
            1
        }
    }

    fn evaluate(&self, voting: &Voting, members: MemberSet) -> Tried {
        let tally = self.vote_index.tally(voting, members);
        let cost = self.costs.of(members);
        Tried {
            threshold: voting.threshold,
            members,
            tally,
            standing: self.options.objective.standing(&tally, cost, members.len()),
        }
    }
}

/// Prunes. The result is the same each time, on every machine.
///
/// The chosen set is the best of those where the paper's rule stops, one per threshold. With a floor or a
/// ceiling it is the best of all sets that were evaluated on the way, since the rule may stop on the wrong
/// side of a bound.
///
/// # Errors
/// [`PruneError`] if the options do not match these members.
pub fn prune(predictions: &PredictionSet, options: &PruneOptions) -> Result<Pruned, PruneError> {
    check(predictions, options)?;
    let all = everyone(predictions.members.len());
    let evaluator = Evaluator {
        vote_index: VoteIndex::new(predictions, options.solo_min_scores),
        options,
        costs: Costs(options.costs.clone()),
        ranks: predictions.ranks(),
    };
    let thresholds: Vec<u32> = match options.thresholds.as_slice() {
        [] => (1..=all.len()).collect(),
        some => some.to_vec(),
    };
    let (mut paths, mut tried) = (Vec::new(), Vec::new());
    for &threshold in &thresholds {
        paths.push(path::eliminate(&evaluator, threshold, all, &mut tried));
        if options.every_set {
            let voting = evaluator.voting(threshold);
            let sets = (1..=all.0).map(MemberSet);
            let may_be = |set: &MemberSet| {
                set.0 & options.keep.0 == options.keep.0 && set.len() >= evaluator.least(threshold)
            };
            tried.extend(sets.filter(may_be).map(|set| evaluator.evaluate(&voting, set)));
        }
    }
    let best = |of: &mut dyn Iterator<Item = Tried>| {
        of.reduce(|best, next| match next.total_cmp(&best) {
            Ordering::Greater => next,
            _ => best,
        })
    };
    // Each threshold has a path, and each path begins with a set that was evaluated.
    let missing = PruneError::Members(0);
    let best_tried = best(&mut tried.iter().copied()).ok_or(missing.clone())?;
    let best_stop = best(&mut paths.iter().map(path::Eliminated::stopped)).ok_or(missing)?;
    let bounded = options.objective.floor.is_some() || options.objective.ceiling.is_some();
    let chosen = if bounded { best_tried } else { best_stop };
    let by_category = options
        .by_category
        .then(|| category::thresholds(&evaluator, &predictions.labels, chosen));
    let left = |members: MemberSet| Left {
        members: members.iter().collect(),
        alone: found_alone(predictions, members),
        without: members
            .iter()
            .map(|member| LeftOut {
                saved: evaluator.costs.saved(members, member),
                tally: evaluator
                    .vote_index
                    .tally(&evaluator.voting(chosen.threshold), without(members, member)),
            })
            .collect(),
        shared_errors: shared_errors(predictions, members),
    };
    let single = |member: usize| {
        let alone = evaluator.evaluate(&evaluator.voting(1), MemberSet::default().with(member));
        PrunedMember {
            name: predictions.members[member].clone(),
            rank: evaluator.ranks[member],
            keep: options.keep.contains(member),
            always_redact: options.always_redact.contains(member),
            cost: options.costs.get(member).cloned(),
            tally: alone.tally,
        }
    };
    Ok(Pruned {
        format: report::FORMAT.to_owned(),
        version: report::VERSION,
        objective: options.objective,
        redact_uncovered: options.redact_uncovered,
        agreement: options.agreement,
        require_corroboration: options.require_corroboration,
        documents: predictions.documents.len() as u64,
        members: (0..predictions.members.len()).map(single).collect(),
        paths: paths.into_iter().map(|path| path.told(predictions)).collect(),
        chosen: Point::of(&chosen),
        by_stop_rule: !bounded,
        best_met: Point::of(&best_tried),
        by_category,
        front: front::front(&tried),
        all: left(all),
        pruned: left(chosen.members),
    })
}

fn check(predictions: &PredictionSet, options: &PruneOptions) -> Result<(), PruneError> {
    let members = predictions.members.len();
    if members == 0 || members > MemberSet::CAPACITY {
        return Err(PruneError::Members(members));
    }
    let costs = options.costs.len();
    if costs != 0 && costs != members {
        return Err(PruneError::Costs { members, costs });
    }
    let sound = |amount: f64| amount.is_finite() && amount >= 0.0;
    for (cost, name) in options.costs.iter().zip(&predictions.members) {
        if !sound(cost.own) || cost.shared.as_ref().is_some_and(|(_, amount)| !sound(*amount)) {
            return Err(PruneError::Cost(name.clone()));
        }
    }
    if options.objective.ceiling.is_some() && costs == 0 {
        return Err(PruneError::Ceiling);
    }
    if options.every_set && members > EVERY_SET {
        return Err(PruneError::EverySet(members));
    }
    let named = MemberSet(options.keep.0 | options.always_redact.0);
    if let Some(member) = named.iter().find(|&member| member >= members) {
        return Err(PruneError::NoMember { member, members });
    }
    let outside = |threshold: &&u32| **threshold == 0 || **threshold as usize > members;
    match options.thresholds.iter().find(outside) {
        Some(&threshold) => Err(PruneError::Threshold { threshold, members }),
        None => Ok(()),
    }
}

fn everyone(members: usize) -> MemberSet {
    (0..members).fold(MemberSet::default(), MemberSet::with)
}

fn without(members: MemberSet, member: usize) -> MemberSet {
    MemberSet(members.0 & !(1 << member))
}

#[cfg(test)]
mod tests;
