//! The report of pruning. Serialised, these structs are the JSON format `lethe-pruning`, version 1: fields
//! are added, and never renamed or redefined without a higher version. It contains names, numbers and
//! coordinates, but no note text.

use serde::{Deserialize, Serialize};

use lethe_core::{Agreement, MemberSet, Voting};

use super::{PruneError, Tried, everyone};
use crate::leak::{SharedErrors, UniqueFinds};
use crate::{Cost, Objective, PredictionSet, Tally, VoteIndex};

pub(super) const FORMAT: &str = "lethe-pruning";
pub(super) const VERSION: u32 = 1;

/// The result of pruning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pruned {
    /// `lethe-pruning`.
    pub format: String,
    /// Raised when a field changes its meaning.
    pub version: u32,
    /// The objective.
    pub objective: Objective,
    /// Whether the parts of overruled spans that no winner covers are redacted.
    pub redact_uncovered: bool,
    /// When members agree.
    #[serde(default)]
    pub agreement: Agreement,
    /// Whether a single vote needs corroboration.
    #[serde(default)]
    pub require_corroboration: bool,
    /// The number of documents that members were evaluated on.
    pub documents: u64,
    /// All members; other fields refer to them by index.
    pub members: Vec<PrunedMember>,
    /// One path per threshold.
    pub paths: Vec<Path>,
    /// The chosen set with its threshold.
    pub chosen: Point,
    /// Whether the paper's rule stops there; else, with a floor or a ceiling, it is the best evaluated set.
    pub by_stop_rule: bool,
    /// The best evaluated set on any path.
    pub best_met: Point,
    /// Thresholds by category for the chosen set, if requested.
    pub by_category: Option<ByCategory>,
    /// The evaluated sets that no other set beats in covered characters, F1 and cost; cheapest first.
    pub front: Vec<Point>,
    /// The value of each of all members, and the errors that they share.
    pub all: Left,
    /// The same of the chosen set.
    pub pruned: Left,
}

/// One member.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PrunedMember {
    /// Its name.
    pub name: String,
    /// Its rank by strict F1, 0 the best.
    pub rank: u32,
    /// Whether it is never dropped.
    pub keep: bool,
    /// Whether its single vote is enough.
    pub always_redact: bool,
    /// Its cost in µs per token, if known.
    pub cost: Option<Cost>,
    /// Its results alone.
    pub tally: Tally,
}

/// A set of members at a threshold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Votes needed.
    pub threshold: u32,
    /// Indices of the members, ascending.
    pub members: Vec<usize>,
    /// Its results.
    pub tally: Tally,
    /// The objective's measure.
    pub value: f64,
    /// µs per token; 0 if no cost is known.
    pub cost: f64,
    /// Whether floor and ceiling are met.
    pub meets: bool,
}

/// One threshold's elimination, down to as many members as votes are needed (to one, if single votes of some
/// are enough), or to those that are never dropped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Path {
    /// Votes needed.
    pub threshold: u32,
    /// All members.
    pub start: Point,
    /// The drops in order.
    pub steps: Vec<Step>,
    /// The number of steps that the paper's rule takes; those after it are for the report.
    pub stop: usize,
}

/// One drop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The index of the dropped member.
    pub dropped: usize,
    /// Its name.
    pub name: String,
    /// The remaining set.
    pub left: Point,
}

/// Thresholds by category.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ByCategory {
    /// One entry per category that gold or a member has, by name.
    pub categories: Vec<CategoryThreshold>,
    /// The same by label id, as [`Voting::thresholds`] takes them.
    pub thresholds: Vec<u32>,
    /// The score from which a single vote suffices, by label id; a label without an entry has no such score.
    #[serde(default)]
    pub solo_min_scores: Vec<Option<f32>>,
    /// The results of the chosen set with these thresholds; its `threshold` applies to labels in no category
    /// above.
    pub point: Point,
    /// The number of rounds over all categories.
    pub rounds: u32,
}

/// A category's threshold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CategoryThreshold {
    /// The label set's category.
    pub category: String,
    /// Votes needed.
    pub threshold: u32,
    /// The score from which a single vote suffices, if any does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub solo_min_score: Option<f32>,
}

/// The value of the members of a set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Left {
    /// Indices of the members, ascending; the next two lists are in this order.
    pub members: Vec<usize>,
    /// What only this member finds, before the vote.
    pub alone: Vec<UniqueFinds>,
    /// The vote without it, at the chosen threshold.
    pub without: Vec<LeftOut>,
    /// The errors that all of them share.
    pub shared_errors: SharedErrors,
}

/// A set without one member.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The µs per token that are saved.
    pub saved: f64,
    /// The results of the vote.
    pub tally: Tally,
}

/// The thresholds evaluated on held-out documents: the papers' figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeldOut {
    /// The name of these documents.
    pub name: String,
    /// The number of documents.
    pub documents: u64,
    /// Each member alone.
    pub members: Vec<Tally>,
    /// One entry per threshold.
    pub thresholds: Vec<HeldOutThreshold>,
    /// The chosen set, thresholds by category included if there are any.
    pub chosen: Tally,
}

/// One threshold on held-out documents.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeldOutThreshold {
    /// Votes needed.
    pub threshold: u32,
    /// All members.
    pub all: Tally,
    /// The set where the paper's rule stops.
    pub pruned: Tally,
}

impl Point {
    pub(super) fn of(tried: &Tried) -> Self {
        Self {
            threshold: tried.threshold,
            members: tried.members.iter().collect(),
            tally: tried.tally,
            value: tried.standing.value,
            cost: tried.standing.cost,
            meets: tried.standing.meets(),
        }
    }

    /// Returns its members as a set.
    pub fn set(&self) -> MemberSet {
        self.members
            .iter()
            .fold(MemberSet::default(), |set, &member| set.with(member))
    }
}

/// Returns the score from which a single vote suffices; infinite if no score does.
fn bound(score: Option<f32>) -> f32 {
    score.unwrap_or(f32::INFINITY)
}

impl ByCategory {
    /// Returns the threshold that was chosen for this category, if any.
    fn of(&self, category: &str) -> Option<&CategoryThreshold> {
        self.categories.iter().find(|one| one.category == category)
    }

    /// Returns the scores for [`Voting::solo_min_scores`].
    fn solo_min_scores(&self) -> Vec<f32> {
        self.solo_min_scores.iter().copied().map(bound).collect()
    }
}

impl Path {
    /// Returns the set where the paper's rule stops.
    pub fn stopped(&self) -> &Point {
        match self.stop.checked_sub(1).and_then(|last| self.steps.get(last)) {
            Some(step) => &step.left,
            None => &self.start,
        }
    }
}

impl Pruned {
    /// Returns the vote of the chosen members alone, in the order of [`Pruned::chosen`]: its member indices
    /// are positions in that list.
    pub fn voting(&self) -> Voting {
        let members = &self.chosen.members;
        let always = members.iter().enumerate();
        Voting {
            threshold: self.chosen.threshold,
            thresholds: (self.by_category.as_ref()).map_or_else(Vec::new, |by| by.thresholds.clone()),
            solo_min_scores: (self.by_category.as_ref()).map_or_else(Vec::new, ByCategory::solo_min_scores),
            always_redact: always
                .filter(|&(_, &member)| self.members[member].always_redact)
                .fold(MemberSet::default(), |set, (place, _)| set.with(place)),
            always_min_score: 0.0,
            ranks: self.ranks_of(members),
            redact_uncovered: self.redact_uncovered,
            agreement: self.agreement,
            require_corroboration: self.require_corroboration,
        }
    }

    /// Returns the names of the chosen members, in the order of [`Pruned::voting`].
    pub fn names(&self) -> Vec<&str> {
        let name = |&member: &usize| self.members[member].name.as_str();
        self.chosen.members.iter().map(name).collect()
    }

    /// Evaluates every threshold's two sets, and the chosen one, on held-out documents. Members are found by
    /// name; members that were not pruned are ignored.
    ///
    /// # Errors
    /// [`PruneError::Missing`].
    pub fn held_out(&self, name: &str, predictions: &PredictionSet) -> Result<HeldOut, PruneError> {
        let place = |member: &PrunedMember| {
            let place = predictions.members.iter().position(|other| *other == member.name);
            place.ok_or_else(|| PruneError::Missing(member.name.clone()))
        };
        let places = self.members.iter().map(place).collect::<Result<Vec<_>, _>>()?;
        let graded =
            (self.by_category.as_ref()).is_some_and(|by| by.solo_min_scores.iter().any(Option::is_some));
        let vote_index = VoteIndex::new(&predictions.with(&places), graded);
        let all = everyone(self.members.len());
        let always = (0..self.members.len()).filter(|&member| self.members[member].always_redact);
        let voting = Voting {
            threshold: 1,
            thresholds: Vec::new(),
            solo_min_scores: Vec::new(),
            always_redact: always.fold(MemberSet::default(), MemberSet::with),
            always_min_score: 0.0,
            ranks: self.members.iter().map(|member| member.rank).collect(),
            redact_uncovered: self.redact_uncovered,
            agreement: self.agreement,
            require_corroboration: self.require_corroboration,
        };
        let tally = |threshold: u32, members: MemberSet| {
            let voting = Voting {
                threshold,
                ..voting.clone()
            };
            vote_index.tally(&voting, members)
        };
        let of = |path: &Path| HeldOutThreshold {
            threshold: path.threshold,
            all: tally(path.threshold, all),
            pruned: tally(path.threshold, path.stopped().set()),
        };
        let by_label = |by| {
            let labels = predictions.labels.labels().iter();
            labels.map(|label| ByCategory::of(by, &label.category)).collect()
        };
        let chosen_for: Vec<_> = self.by_category.as_ref().map_or_else(Vec::new, by_label);
        let chosen = Voting {
            threshold: self.chosen.threshold,
            // Thresholds are mapped by name, because these documents may have another label set.
            thresholds: (chosen_for.iter())
                .map(|by| by.map_or(self.chosen.threshold, |by| by.threshold))
                .collect(),
            solo_min_scores: (chosen_for.iter())
                .map(|by| bound(by.and_then(|by| by.solo_min_score)))
                .collect(),
            ..voting.clone()
        };
        Ok(HeldOut {
            name: name.to_owned(),
            documents: predictions.documents.len() as u64,
            members: (0..self.members.len())
                .map(|member| tally(1, MemberSet::default().with(member)))
                .collect(),
            thresholds: self.paths.iter().map(of).collect(),
            chosen: vote_index.tally(&chosen, self.chosen.set()),
        })
    }

    /// Returns the ranks among these members, 0 the best.
    fn ranks_of(&self, members: &[usize]) -> Vec<u32> {
        let better = |member: usize, other: usize| self.members[other].rank < self.members[member].rank;
        members
            .iter()
            .map(|&member| members.iter().filter(|&&other| better(member, other)).count() as u32)
            .collect()
    }
}
