//! Which members are left, and at which threshold: Kim 2019's backward elimination, for any objective.
//!
//! For each voting threshold: begin with all members; drop the one without which the objective is highest; go on until
//! it no longer improves; at last take the threshold whose set is best (Kim 2019, Methods; Kim 2020, "Voting pruned").
//! "No longer improved" leaves open what becomes of a drop that changes nothing: here it is taken, since what is left
//! does as well and costs less, and costs are what pruning is for. So an order of sets decides everything
//! ([`Standing::total_cmp`]): the rule stops where the best drop is not above what it is dropped from.
//!
//! Beyond the paper: members that are never dropped, bounds on recall and cost, thresholds by category, and the paths
//! beyond where the rule stops, for the report.

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

/// How to prune.
#[derive(Clone, Debug, Default)]
pub struct PruneOptions {
    /// What for.
    pub objective: Objective,
    /// Members that are never dropped.
    pub keep: MemberSet,
    /// Members whose spans are redacted whatever the vote. They may be dropped unless they are kept too.
    pub always_redact: MemberSet,
    /// Each member's cost, in their order; empty where none is known.
    pub costs: Vec<Cost>,
    /// Thresholds to go through; empty for all there can be, 1 to the number of members.
    pub thresholds: Vec<u32>,
    /// Whether every set of members is looked at besides, so that under a floor or a ceiling the chosen one is the best
    /// that there is, at a single threshold, and the front is the true one: 2ⁿ sets a threshold, n at most
    /// [`EVERY_SET`]. What the paper's rule does is the same.
    pub every_set: bool,
    /// Whether each category of labels gets its own threshold once the members are chosen.
    pub by_category: bool,
    /// Whether each category also gets a score from which a single vote suffices ([`Voting::solo_min_scores`]), with `by_category`;
    /// not in the paper.
    pub solo_min_scores: bool,
    /// Whether such a vote needs corroboration ([`Voting::require_corroboration`]).
    pub require_corroboration: bool,
    /// Whether the parts of overruled spans that no winner covers are redacted ([`Voting::redact_uncovered`]); not in the paper.
    pub redact_uncovered: bool,
    /// When members agree ([`Voting::agreement`]); by overlap is not in the paper.
    pub agreement: Agreement,
}

/// Members whose sets can all be looked at in seconds.
pub const EVERY_SET: usize = 14;

/// Why members could not be pruned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PruneError {
    /// No member, or too many.
    #[error("there are {0} members; a vote has 1 to {max}", max = MemberSet::CAPACITY)]
    Members(usize),
    /// Costs that are not the members'.
    #[error("there are {members} members, but costs of {costs}")]
    Costs {
        /// Members.
        members: usize,
        /// Costs given.
        costs: usize,
    },
    /// An invalid cost.
    #[error("`{0}` costs less than nothing or no number")]
    Cost(String),
    /// A ceiling without costs, which nothing would exceed.
    #[error("a ceiling needs to know what members cost")]
    Ceiling,
    /// A set names a member that there is not.
    #[error("there is no member {member} to keep or to count always; there are {members}")]
    NoMember {
        /// Its index.
        member: usize,
        /// Members.
        members: usize,
    },
    /// A threshold that no vote reaches.
    #[error("a threshold of {threshold} with {members} members; it is 1 to the number of members")]
    Threshold {
        /// The threshold.
        threshold: u32,
        /// Members.
        members: usize,
    },
    /// Too many members to look at every set of them.
    #[error("{0} members have too many sets to look at each; up to {EVERY_SET} have few enough")]
    EverySet(usize),
    /// A member that was pruned for is missing among those to judge.
    #[error("no predictions of member `{0}`")]
    Missing(String),
}

/// A set of members at a threshold, and how it does.
#[derive(Clone, Copy, Debug)]
struct Tried {
    threshold: u32,
    members: MemberSet,
    tally: Tally,
    standing: Standing,
}

impl Tried {
    /// The greater is the better: by standing, then of the lower threshold, which leaks less.
    fn total_cmp(&self, other: &Self) -> Ordering {
        let by_threshold = other.threshold.cmp(&self.threshold);
        self.standing.total_cmp(&other.standing).then(by_threshold)
    }
}

/// All measures of a set.
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

    /// Members without which nothing is decided: as many as votes needed, unless one vote of some is enough.
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

/// Prunes. The same answer each time, whatever the machine.
///
/// The chosen set is the best of those the paper's rule stops at, one a threshold. With a floor or a ceiling it is the
/// best of all sets that were looked at on the way, since the rule may stop on the wrong side of a bound.
///
/// # Errors
/// [`PruneError`], if the options are not of these members.
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
    // Each threshold has a path, and each path begins with a set that was tried.
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
