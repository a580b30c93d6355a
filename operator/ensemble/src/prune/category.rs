//! Fits a threshold for each category of labels, and the score from which a single vote suffices, once the
//! members are chosen.
//!
//! Members miss names and dates in different ways, so one threshold for both is not optimal. Coordinate
//! ascent takes the threshold with the best objective, category by category, and starts again until none
//! changes. It takes only strict improvements, so it ends.

use std::collections::BTreeMap;

use lethe_core::{LabelSet, Voting};

use super::report::{ByCategory, CategoryThreshold, Point};
use super::{Evaluator, Tried};

/// The minimum scores for a single vote that are tried.
const SCORES: &[f32] = &[0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999];
const NEVER: f32 = f32::INFINITY;

pub(super) fn thresholds(evaluator: &Evaluator<'_>, labels: &LabelSet, chosen: Tried) -> ByCategory {
    let used = evaluator.vote_index.used();
    let mut categories: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (id, label) in labels.labels().iter().enumerate() {
        categories.entry(&label.category).or_default().push(id);
    }
    categories.retain(|_, ids| ids.iter().any(|&id| used[id]));
    let mut voting = Voting {
        thresholds: vec![chosen.threshold; labels.labels().len()],
        solo_min_scores: vec![NEVER; labels.labels().len()],
        ..evaluator.voting(chosen.threshold)
    };
    let mut best = evaluator.evaluate(&voting, chosen.members);
    let mut rounds = 0;
    loop {
        let before = best.standing;
        for ids in categories.values() {
            let mut kept = (voting.thresholds[ids[0]], voting.solo_min_scores[ids[0]]);
            for threshold in 1..=chosen.members.len() {
                // If one vote is enough, no score is needed.
                let some = if evaluator.options.solo_min_scores && threshold > 1 {
                    SCORES
                } else {
                    &[]
                };
                for &score in some.iter().chain([&NEVER]) {
                    set(&mut voting, ids, (threshold, score));
                    let next = evaluator.evaluate(&voting, chosen.members);
                    if next.standing.total_cmp(&best.standing).is_gt() {
                        (best, kept) = (next, (threshold, score));
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
        solo_min_score: finite(voting.solo_min_scores[ids[0]]),
    };
    ByCategory {
        categories: categories.iter().map(of).collect(),
        point: Point::of(&best),
        rounds,
        solo_min_scores: voting.solo_min_scores.iter().copied().map(finite).collect(),
        thresholds: voting.thresholds,
    }
}

fn set(voting: &mut Voting, ids: &[usize], (threshold, score): (u32, f32)) {
    for &id in ids {
        voting.thresholds[id] = threshold;
        voting.solo_min_scores[id] = score;
    }
}

fn finite(score: f32) -> Option<f32> {
    (score < NEVER).then_some(score)
}
