//! A threshold for each category of labels, once the members are chosen.
//!
//! Names and dates are not missed in the same way, so one threshold for both gives something away. Coordinate ascent:
//! category by category the threshold that makes the objective best is taken, and again from the first until none
//! changes. Only what is strictly better is taken, so it ends.

use std::collections::BTreeMap;

use lethe_core::{LabelSet, Voting};

use super::report::{ByCategory, CategoryThreshold, Point};
use super::{Judge, Tried};

pub(super) fn thresholds(judge: &Judge<'_>, labels: &LabelSet, chosen: Tried) -> ByCategory {
    let used = judge.ballot.used();
    let mut categories: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (id, label) in labels.labels().iter().enumerate() {
        categories.entry(&label.category).or_default().push(id);
    }
    categories.retain(|_, ids| ids.iter().any(|&id| used[id]));
    let mut voting = Voting {
        thresholds: vec![chosen.threshold; labels.labels().len()],
        ..judge.voting(chosen.threshold)
    };
    let mut best = judge.judge(&voting, chosen.members);
    let mut rounds = 0;
    loop {
        let before = best.standing;
        for ids in categories.values() {
            let mut kept = voting.thresholds[ids[0]];
            for threshold in 1..=chosen.members.len() {
                ids.iter().for_each(|&id| voting.thresholds[id] = threshold);
                let next = judge.judge(&voting, chosen.members);
                if next.standing.total_cmp(&best.standing).is_gt() {
                    (best, kept) = (next, threshold);
                }
            }
            ids.iter().for_each(|&id| voting.thresholds[id] = kept);
        }
        rounds += 1;
        if best.standing == before {
            break;
        }
    }
    let of = |(category, ids): (&&str, &Vec<usize>)| CategoryThreshold {
        category: (*category).to_owned(),
        threshold: voting.thresholds[ids[0]],
    };
    ByCategory {
        categories: categories.iter().map(of).collect(),
        point: Point::of(&best),
        rounds,
        thresholds: voting.thresholds,
    }
}
