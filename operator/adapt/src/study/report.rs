//! A study's results as numbers; the fields are the format of `study.json`.

use lethe_evaluate::{Test, wilcoxon};
use serde::Serialize;
use statrs::distribution::{ContinuousCDF as _, StudentsT};

use super::{Point, Repeat, Study, WAYS};
use crate::weight::Weighing;

/// The study's inputs.
#[derive(Clone, Debug, Serialize)]
pub struct Setup {
    /// The study's title.
    pub title: String,
    /// A description of the model and of how it learns.
    pub first: String,
    /// The kind of unit: `sentence` or `document`.
    pub unit: String,
    /// Documents in the stream.
    pub stream_documents: usize,
    /// Their spans.
    pub stream_spans: usize,
    /// Documents in the test.
    pub test_documents: usize,
    /// Their spans.
    pub test_spans: usize,
    /// The labels after renaming.
    pub labels: Vec<String>,
}

/// A study's result.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The study's inputs.
    pub setup: Setup,
    /// Units in the stream.
    pub units: usize,
    /// Units per batch.
    pub batch: usize,
    /// The number of orders.
    pub repeats: usize,
    /// The seed of the orders.
    pub seed: u64,
    /// Results after each increment, from the first at which a learner has any data.
    pub increments: Vec<Increment>,
    /// For each weighing, where the mixture is below the better learner.
    pub told: Vec<WeighingSummary>,
    /// Where the learners' mean curves cross.
    pub crossings: Vec<Crossing>,
    /// The stationary setup.
    pub stationary: Stationary,
    /// The effect of other weights in it.
    pub landscape: Landscape,
}

/// Statistics of a value over the repeats.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Its mean.
    pub mean: f64,
    /// Its standard deviation; 0 for one repeat.
    pub deviation: f64,
    /// The 95 % interval of the mean, by Student's t.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// Results after some increments.
#[derive(Clone, Debug, Serialize)]
pub struct Increment {
    /// The number of increments.
    pub after: usize,
    /// Units learnt.
    pub units: usize,
    /// The model's strict micro-F1 on the test.
    pub first: Spread,
    /// Naive Bayes'.
    pub second: Spread,
    /// The mixture's, by each of [`Weighing::ALL`].
    pub mixture: [Spread; WAYS],
    /// The model's weight, likewise.
    pub weight: [Spread; WAYS],
    /// The mixture with the paper's weight against each learner.
    pub against: Against,
    /// F1 on the next batch before it is learnt; `None` after the last.
    pub unseen: Option<Unseen>,
}

/// Wilcoxon's signed-rank test, two-sided, over the repeats.
#[derive(Clone, Debug, Serialize)]
pub struct Against {
    /// The mixture against the model.
    pub first: Test,
    /// Against naive Bayes.
    pub second: Test,
}

/// F1 on unseen documents, with the weight from before them.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Unseen {
    /// The model's.
    pub first: Spread,
    /// Naive Bayes'.
    pub second: Spread,
    /// The mixture's, with the paper's weight.
    pub mixture: Spread,
}

/// A weighing.
#[derive(Clone, Debug, Serialize)]
pub struct WeighingSummary {
    /// The weighing.
    pub how: Weighing,
    /// Increments at which the mixture's mean F1 is at least the better learner's.
    pub at_least: usize,
    /// The number of increments.
    pub of: usize,
    /// Those at which it is not.
    pub below: Vec<Below>,
    /// The mixture's mean F1 minus the better learner's, averaged over increments.
    pub gain: f64,
}

/// An increment at which the mixture is below the better learner.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Below {
    /// The number of increments.
    pub after: usize,
    /// The difference of mean F1.
    pub by: f64,
    /// Wilcoxon's `p` against the better learner.
    pub p: Option<f64>,
}

/// Where one learner's mean F1 overtakes the other's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Crossing {
    /// The first increment with the new order.
    pub after: usize,
    /// Whether the model is better from there.
    pub to_first: bool,
}

/// The stationary setup (figure 2, table III).
#[derive(Clone, Debug, Serialize)]
pub struct Stationary {
    /// The number of increments learnt.
    pub learnt: usize,
    /// The number of increments from which the weight is estimated.
    pub held: usize,
    /// The model's F1.
    pub first: Spread,
    /// Naive Bayes'.
    pub second: Spread,
    /// The mixture's, with the weight by the Brier loss and by the logarithmic loss.
    pub mixture: [Spread; 2],
    /// These weights.
    pub weight: [Spread; 2],
    /// Tests, in the same order.
    pub against: [Against; 2],
}

/// The effect of every weight, in the first order (figure 7).
#[derive(Clone, Debug, Serialize)]
pub struct Landscape {
    /// The weight that the Brier loss gives.
    pub brier: f64,
    /// The weight that the logarithmic loss gives.
    pub log: f64,
    /// Weights from 0 to 1.
    pub points: Vec<LandscapePoint>,
}

/// The results at one weight.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct LandscapePoint {
    /// The weight.
    pub weight: f64,
    /// Brier loss per token on the batches that give the weight.
    pub loss: f64,
    /// F1 on the test.
    pub f1: f64,
}

impl Spread {
    /// Computes the statistics of at least one value.
    pub fn of(values: &[f64]) -> Self {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        if values.len() < 2 {
            return Self {
                mean,
                deviation: 0.0,
                low: mean,
                high: mean,
            };
        }
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
        // A scale of 1 and at least one degree of freedom are always a distribution.
        let quantile = StudentsT::new(0.0, 1.0, n - 1.0).map_or(f64::NAN, |t| t.inverse_cdf(0.975));
        let half = quantile * (variance / n).sqrt();
        Self {
            mean,
            deviation: variance.sqrt(),
            low: mean - half,
            high: mean + half,
        }
    }
}

impl Increment {
    /// Returns the better learner's mean F1.
    pub fn better(&self) -> f64 {
        self.first.mean.max(self.second.mean)
    }
}

/// Aggregates the repeats.
pub(super) fn of(study: &Study<'_>, setup: Setup, repeats: &[Repeat]) -> Report {
    // Which learner has data at an increment is the same in all orders, except in streams that begin without
    // annotations.
    let known = |at: &usize| repeats.iter().any(|repeat| repeat.points[*at].known);
    let at: Vec<usize> = (0..=study.increments()).filter(known).collect();
    let increments: Vec<Increment> = at.iter().map(|&at| increment(study, repeats, at)).collect();
    let column = |at: usize, value: &dyn Fn(&Point) -> f64| column(repeats, at, value);
    let told = (0..WAYS).map(|way| {
        let below = increments.iter().filter_map(|increment| {
            let by = increment.better() - increment.mixture[way].mean;
            let first = increment.first.mean >= increment.second.mean;
            let better = |point: &Point| if first { point.first } else { point.second };
            let mixture = column(increment.after, &|point| point.mixed[way]);
            (by > 0.0).then(|| Below {
                after: increment.after,
                by,
                p: wilcoxon(&mixture, &column(increment.after, &better)).p,
            })
        });
        let below: Vec<Below> = below.collect();
        let gains = increments.iter().map(|one| one.mixture[way].mean - one.better());
        WeighingSummary {
            how: Weighing::ALL[way],
            at_least: increments.len() - below.len(),
            of: increments.len(),
            below,
            gain: gains.sum::<f64>() / increments.len().max(1) as f64,
        }
    });
    Report {
        units: study.units.len(),
        batch: study.plan.batch,
        repeats: repeats.len(),
        seed: study.plan.seed,
        told: told.collect(),
        crossings: crossings(&increments),
        stationary: stationary(study, repeats),
        landscape: landscape(repeats),
        setup,
        increments,
    }
}

fn column(repeats: &[Repeat], at: usize, value: &dyn Fn(&Point) -> f64) -> Vec<f64> {
    repeats.iter().map(|repeat| value(&repeat.points[at])).collect()
}

fn increment(study: &Study<'_>, repeats: &[Repeat], at: usize) -> Increment {
    let values = |value: &dyn Fn(&Point) -> f64| column(repeats, at, value);
    let (first, second) = (values(&|point| point.first), values(&|point| point.second));
    let mixture = values(&|point| point.mixed[0]);
    let unseen: Option<Vec<[f64; 3]>> = repeats.iter().map(|repeat| repeat.points[at].unseen).collect();
    Increment {
        after: at,
        units: (at * study.plan.batch).min(study.units.len()),
        first: Spread::of(&first),
        second: Spread::of(&second),
        mixture: std::array::from_fn(|way| Spread::of(&values(&|point| point.mixed[way]))),
        weight: std::array::from_fn(|way| Spread::of(&values(&|point| point.weights[way]))),
        against: Against {
            first: wilcoxon(&mixture, &first),
            second: wilcoxon(&mixture, &second),
        },
        unseen: unseen.map(|unseen| {
            let spread = |which: usize| {
                let values: Vec<f64> = unseen.iter().map(|f1| f1[which]).collect();
                Spread::of(&values)
            };
            Unseen {
                first: spread(0),
                second: spread(1),
                mixture: spread(2),
            }
        }),
    }
}

/// Finds where the difference of the learners' means changes its sign; increments at which they are equal are
/// skipped.
fn crossings(increments: &[Increment]) -> Vec<Crossing> {
    let mut crossings = Vec::new();
    let mut ahead = None;
    for one in increments.iter().filter(|one| one.first.mean != one.second.mean) {
        let first = one.first.mean > one.second.mean;
        if ahead.is_some_and(|ahead| ahead != first) {
            crossings.push(Crossing {
                after: one.after,
                to_first: first,
            });
        }
        ahead = Some(first);
    }
    crossings
}

fn stationary(study: &Study<'_>, repeats: &[Repeat]) -> Stationary {
    let values = |value: &dyn Fn(&super::Settled) -> f64| -> Vec<f64> {
        repeats.iter().map(|repeat| value(&repeat.stationary)).collect()
    };
    let (first, second) = (values(&|one| one.first), values(&|one| one.second));
    let mixed = [0, 1].map(|loss| values(&|one| one.mixed[loss]));
    let learnt = repeats.first().map_or(0, |repeat| repeat.turn);
    Stationary {
        learnt,
        held: study.increments() - learnt,
        first: Spread::of(&first),
        second: Spread::of(&second),
        mixture: [Spread::of(&mixed[0]), Spread::of(&mixed[1])],
        weight: [0, 1].map(|loss| Spread::of(&values(&|one| one.weights[loss]))),
        against: [&mixed[0], &mixed[1]].map(|mixed| Against {
            first: wilcoxon(mixed, &first),
            second: wilcoxon(mixed, &second),
        }),
    }
}

fn landscape(repeats: &[Repeat]) -> Landscape {
    let settled = repeats.first().map(|repeat| &repeat.stationary);
    let [brier, log] = settled.map_or([0.5; 2], |one| one.weights);
    Landscape {
        brier,
        log,
        points: settled.map_or_else(Vec::new, |one| one.landscape.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_students_interval_of_the_mean() {
        // scipy.stats.t.interval(0.95, 3, loc=3, scale=scipy.stats.sem([1, 2, 4, 5]))
        let spread = Spread::of(&[1.0, 2.0, 4.0, 5.0]);
        assert_eq!(spread.mean, 3.0);
        assert!((spread.deviation - 1.825_741_858).abs() < 1e-9);
        assert!((spread.low - 0.094_837_2).abs() < 1e-5, "{spread:?}");
        assert!((spread.high - 5.905_162_8).abs() < 1e-5, "{spread:?}");
        let one = Spread::of(&[0.5]);
        assert_eq!((one.low, one.mean, one.high, one.deviation), (0.5, 0.5, 0.5, 0.0));
    }
}
