//! One threshold's backward elimination.

use std::cmp::Ordering;

use lethe_core::MemberSet;

use super::report::{Path, Point, Step};
use super::{Evaluator, Tried, without};
use crate::PredictionSet;

/// A threshold's path from all members to the last drop.
pub(super) struct Eliminated {
    start: Tried,
    /// The dropped members, each with the remaining set.
    steps: Vec<(usize, Tried)>,
    /// The number of steps that the rule takes.
    stop: usize,
}

/// Drops one member after another, and appends every evaluated set to `tried`.
pub(super) fn eliminate(
    evaluator: &Evaluator<'_>,
    threshold: u32,
    all: MemberSet,
    tried: &mut Vec<Tried>,
) -> Eliminated {
    let voting = evaluator.voting(threshold);
    let start = evaluator.evaluate(&voting, all);
    tried.push(start);
    let (mut now, mut steps, mut stop) = (start, Vec::new(), None);
    // The worst-ranked come first: they are dropped if nothing else decides.
    let mut order: Vec<usize> = all.iter().collect();
    order.sort_by_key(|&member| (std::cmp::Reverse(evaluator.ranks[member]), member));
    while now.members.len() > evaluator.least(threshold) {
        let mut best: Option<(usize, Tried)> = None;
        let may_go =
            |member: &&usize| now.members.contains(**member) && !evaluator.options.keep.contains(**member);
        for &member in order.iter().filter(may_go) {
            let next = evaluator.evaluate(&voting, without(now.members, member));
            tried.push(next);
            if best.is_none_or(|(_, best)| prefer(&now, &next, &best) == Ordering::Greater) {
                best = Some((member, next));
            }
        }
        let Some((dropped, next)) = best else { break };
        if stop.is_none() && next.standing.total_cmp(&now.standing) != Ordering::Greater {
            stop = Some(steps.len());
        }
        steps.push((dropped, next));
        now = next;
    }
    Eliminated {
        start,
        stop: stop.unwrap_or(steps.len()),
        steps,
    }
}

/// Compares two drops from `now`; the better is greater.
///
/// Under the ceiling this is the order of sets. Above it that order would always drop the most expensive
/// member, so there the better drop keeps more for each µs it saves: first of the recall that the floor
/// requires, then of the measure. Members that save nothing go last.
fn prefer(now: &Tried, one: &Tried, other: &Tried) -> Ordering {
    let saved = |next: &Tried| now.standing.cost - next.standing.cost;
    let saves = |next: &Tried| now.standing.excess > 0.0 && saved(next) > 0.0;
    if saves(one) && saves(other) {
        let rate = |from: f64, to: f64, next: &Tried| (to - from) / saved(next);
        let short = |next: &Tried| rate(now.standing.shortfall, next.standing.shortfall, next);
        let value = |next: &Tried| rate(now.standing.value, next.standing.value, next);
        short(other)
            .total_cmp(&short(one))
            .then(value(one).total_cmp(&value(other)))
            .then(one.standing.total_cmp(&other.standing))
    } else {
        one.standing.total_cmp(&other.standing)
    }
}

impl Eliminated {
    /// Returns the set where the rule stops.
    pub(super) fn stopped(&self) -> Tried {
        match self.stop.checked_sub(1).and_then(|last| self.steps.get(last)) {
            Some((_, left)) => *left,
            None => self.start,
        }
    }

    /// Converts the path for the report.
    pub(super) fn told(self, predictions: &PredictionSet) -> Path {
        let step = |(dropped, left): &(usize, Tried)| Step {
            dropped: *dropped,
            name: predictions.members[*dropped].clone(),
            left: Point::of(left),
        };
        Path {
            threshold: self.start.threshold,
            start: Point::of(&self.start),
            steps: self.steps.iter().map(step).collect(),
            stop: self.stop,
        }
    }
}
