//! The Pareto front of the evaluated sets: those that no other set beats in recall, F1 and cost at once.

use super::{Point, Tried};

/// Returns the sets for which no other set is at least as good in covered gold characters, strict F1 and
/// cost, and better in one. Among sets that are equal in all three, the one with fewer members, then with the
/// lower threshold, represents the others. Sorted by ascending cost, then by descending F1.
pub(super) fn front(tried: &[Tried]) -> Vec<Point> {
    let mut order: Vec<&Tried> = tried.iter().collect();
    order.sort_by(|a, b| {
        (a.standing.cost.total_cmp(&b.standing.cost))
            .then(b.tally.f1().total_cmp(&a.tally.f1()))
            .then(b.tally.covered.cmp(&a.tally.covered))
            .then(a.standing.members.cmp(&b.standing.members))
            .then(a.threshold.cmp(&b.threshold))
            .then(a.members.0.cmp(&b.members.0))
    });
    // Every later set costs at least as much, so it must be better in one of the other measures than each
    // before it.
    let mut kept: Vec<&Tried> = Vec::new();
    for next in order {
        let dominated = kept
            .iter()
            .any(|before| before.tally.f1() >= next.tally.f1() && before.tally.covered >= next.tally.covered);
        if !dominated {
            kept.push(next);
        }
    }
    kept.into_iter().map(Point::of).collect()
}

#[cfg(test)]
mod tests {
    use lethe_core::MemberSet;

    use super::*;
    use crate::{Objective, Tally};

    fn tried(hits: u64, covered: u64, cost: f64, threshold: u32) -> Tried {
        let tally = Tally {
            hits,
            predicted: 100,
            gold: 100,
            covered,
            marked: 100,
            characters: 100,
            ..Tally::default()
        };
        Tried {
            threshold,
            members: MemberSet(1),
            tally,
            standing: Objective::default().standing(&tally, cost, 1),
        }
    }

    #[test]
    fn only_what_nothing_beats_in_all_three_is_on_the_front_and_equals_stand_there_once() {
        let all = [
            tried(90, 90, 5.0, 2),
            tried(90, 90, 5.0, 1),
            tried(80, 95, 4.0, 1),
            tried(80, 94, 4.0, 1),
            tried(89, 90, 6.0, 1),
            tried(50, 50, 1.0, 1),
            tried(90, 96, 9.0, 3),
        ];
        let shown: Vec<(u64, u64, u32)> = front(&all)
            .iter()
            .map(|point| (point.tally.hits, point.tally.covered, point.threshold))
            .collect();
        assert_eq!(shown, [(50, 50, 1), (80, 95, 1), (90, 90, 1), (90, 96, 3)]);
    }
}
