//! A threshold for each category of labels, and how sure a single member must be to be enough, once the members are chosen.
//!
//! Names and dates are not missed in the same way, so one threshold for both gives something away. Coordinate ascent:
//! category by category the threshold that makes the objective best is taken, and again from the first until none
//! changes. Only what is strictly better is taken, so it ends.

use std::collections::BTreeMap;

use lethe_core::{LabelSet, Voting};

use super::report::{ByCategory, CategoryThreshold, Point};
use super::{Judge, Tried};

/// How sure a single member must be, where that is asked for.
const SURE: &[f32] = &[0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999];
const NOBODY: f32 = f32::INFINITY;

pub(super) fn thresholds(judge: &Judge<'_>, labels: &LabelSet, chosen: Tried) -> ByCategory {
    let used = judge.ballot.used();
    let mut categories: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (id, label) in labels.labels().iter().enumerate() {
        categories.entry(&label.category).or_default().push(id);
    }
    categories.retain(|_, ids| ids.iter().any(|&id| used[id]));
    let mut voting = Voting {
        thresholds: vec![chosen.threshold; labels.labels().len()],
        sure: vec![NOBODY; labels.labels().len()],
        ..judge.voting(chosen.threshold)
    };
    let mut best = judge.judge(&voting, chosen.members);
    let mut rounds = 0;
    loop {
        let before = best.standing;
        for ids in categories.values() {
            let mut kept = (voting.thresholds[ids[0]], voting.sure[ids[0]]);
            for threshold in 1..=chosen.members.len() {
                // Where one vote is enough, that of a sure member is.
                let some = if judge.options.sure && threshold > 1 {
                    SURE
                } else {
                    &[]
                };
                for &sure in some.iter().chain([&NOBODY]) {
                    set(&mut voting, ids, (threshold, sure));
                    let next = judge.judge(&voting, chosen.members);
                    if next.standing.total_cmp(&best.standing).is_gt() {
                        (best, kept) = (next, (threshold, sure));
                    }
                }
            }
            set(&mut voting, ids, kept);
        }
        rounds += 1;
        if best.standing == before {
            break;
        }
    }
    let of = |(category, ids): (&&str, &Vec<usize>)| CategoryThreshold {
        category: (*category).to_owned(),
        threshold: voting.thresholds[ids[0]],
        sure: told(voting.sure[ids[0]]),
    };
    ByCategory {
        categories: categories.iter().map(of).collect(),
        point: Point::of(&best),
        rounds,
        sure: voting.sure.iter().copied().map(told).collect(),
        thresholds: voting.thresholds,
    }
}

fn set(voting: &mut Voting, ids: &[usize], (threshold, sure): (u32, f32)) {
    for &id in ids {
        voting.thresholds[id] = threshold;
        voting.sure[id] = sure;
    }
}

fn told(sure: f32) -> Option<f32> {
    (sure < NOBODY).then_some(sure)
}
