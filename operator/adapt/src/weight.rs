//! Estimates the weight of two learners from their predictions for documents that neither had seen: by the
//! Brier loss in closed form (Singh 2020, equation 6), and by the logarithmic loss with Newton's method
//! (appendix B).
//!
//! The paper estimates each weight from the latest batch alone. A batch is small, and the weight jumps with
//! it; so the weight is also estimated from all batches so far, each with the predictions from the time when
//! it arrived.

use lethe_members::Brier;
use serde::Serialize;

/// The minimum probability: a token that both learners consider impossible must not rule out every weight.
const LEAST: f64 = 1e-9;

/// The data of the logarithmic loss: for each token the probabilities that the two learners gave to its gold
/// tag.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogLoss {
    pairs: Vec<(f64, f64)>,
}

impl LogLoss {
    /// Adds a note, as [`Brier::add`] does.
    pub fn add(&mut self, first: &[f32], second: &[f32], gold: &[u16], tags: usize) {
        let rows = first.chunks_exact(tags).zip(second.chunks_exact(tags));
        for ((first, second), &gold) in rows.zip(gold) {
            let at = |row: &[f32]| f64::from(row[usize::from(gold)]).max(LEAST);
            let (p, q) = (at(first), at(second));
            // Equal probabilities do not depend on the weight.
            if p != q {
                self.pairs.push((p, q));
            }
        }
    }

    /// Returns the slope and curvature of the loss `-Σ ln(w p + (1 - w) q)` at a weight. The loss is convex:
    /// the curvature is never negative.
    fn derivatives(&self, weight: f64) -> (f64, f64) {
        self.pairs.iter().fold((0.0, 0.0), |(slope, curvature), (p, q)| {
            let share = (p - q) / (weight * p + (1.0 - weight) * q);
            (slope - share, curvature + share * share)
        })
    }

    /// Returns the first learner's weight, 0 to 1; one half without evidence.
    ///
    /// Uses Newton's method, starting from the middle. A step that would leave the interval in which the
    /// slope changes its sign bisects that interval instead, so that the method ends for all data; if the
    /// slope does not change its sign between 0 and 1, the nearer end is best.
    pub fn weight(&self) -> f64 {
        if self.pairs.is_empty() {
            return 0.5;
        }
        if self.derivatives(0.0).0 >= 0.0 {
            return 0.0;
        }
        if self.derivatives(1.0).0 <= 0.0 {
            return 1.0;
        }
        let (mut low, mut high, mut weight) = (0.0, 1.0, 0.5);
        // Bisection alone would end after 53 steps.
        for _ in 0..200 {
            let (slope, curvature) = self.derivatives(weight);
            if slope > 0.0 {
                high = weight;
            } else {
                low = weight;
            }
            let newton = weight - slope / curvature;
            let next = if newton > low && newton < high {
                newton
            } else {
                f64::midpoint(low, high)
            };
            let moved = (next - weight).abs();
            weight = next;
            if moved < 1e-15 {
                break;
            }
        }
        weight
    }
}

/// The loss that the weight minimises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// Squared differences (equation 5).
    Brier,
    /// Negative logarithms (equation 2).
    Log,
}

/// The documents to estimate the weight from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Over {
    /// The batch that has just arrived.
    Latest,
    /// Every batch so far.
    All,
}

/// A way to estimate the weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Weighing {
    /// The loss.
    pub loss: Loss,
    /// The documents.
    pub over: Over,
}

impl Weighing {
    /// All weighings. The first is the default: a batch of a few dozen sentences has few names, and a weight
    /// from one batch, as in the paper (the second), varies more between batches than the learners do.
    pub const ALL: [Self; 4] = [
        Self::of(Loss::Brier, Over::All),
        Self::of(Loss::Brier, Over::Latest),
        Self::of(Loss::Log, Over::All),
        Self::of(Loss::Log, Over::Latest),
    ];

    const fn of(loss: Loss, over: Over) -> Self {
        Self { loss, over }
    }

    /// Returns the name in reports.
    pub const fn name(self) -> &'static str {
        match (self.loss, self.over) {
            (Loss::Brier, Over::Latest) => "Brier, latest batch",
            (Loss::Brier, Over::All) => "Brier, all batches",
            (Loss::Log, Over::Latest) => "log loss, latest batch",
            (Loss::Log, Over::All) => "log loss, all batches",
        }
    }
}

impl Default for Weighing {
    fn default() -> Self {
        Self::ALL[0]
    }
}

/// The data of both losses over the same documents.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    brier: Brier,
    log: LogLoss,
}

impl Evidence {
    /// Adds a note: `first` and `second` have `tags` probabilities per token, `gold` one tag per token.
    pub fn add(&mut self, first: &[f32], second: &[f32], gold: &[u16], tags: usize) {
        self.brier.add(first, second, gold, tags);
        self.log.add(first, second, gold, tags);
    }

    /// Returns the first learner's weight under a loss.
    pub fn weight(&self, loss: Loss) -> f64 {
        match loss {
            Loss::Brier => self.brier.weight(),
            Loss::Log => self.log.weight(),
        }
    }
}

/// The evidence of all batches for the weight.
#[derive(Clone, Debug, Default)]
pub struct Weigher {
    latest: Evidence,
    all: Evidence,
}

impl Weigher {
    /// Starts a new batch.
    pub fn next_batch(&mut self) {
        self.latest = Evidence::default();
    }

    /// Adds a note of the batch, as [`Evidence::add`] does.
    pub fn add(&mut self, first: &[f32], second: &[f32], gold: &[u16], tags: usize) {
        self.latest.add(first, second, gold, tags);
        self.all.add(first, second, gold, tags);
    }

    /// Returns the first learner's weight.
    pub fn weight(&self, how: Weighing) -> f64 {
        match how.over {
            Over::Latest => self.latest.weight(how.loss),
            Over::All => self.all.weight(how.loss),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TAGS: usize = 4;

    /// Returns the minimum of a convex function on 0 to 1, given its slope, by bisection to full precision.
    fn least(slope: impl Fn(f64) -> f64) -> f64 {
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..200 {
            let middle = f64::midpoint(low, high);
            if slope(middle) > 0.0 {
                high = middle;
            } else {
                low = middle;
            }
        }
        f64::midpoint(low, high)
    }

    /// Generates the probabilities of a token's tags, some of them extreme, as learners return them.
    fn token() -> impl Strategy<Value = Vec<f32>> {
        (proptest::collection::vec(0.0..1.0_f32, TAGS), 0..=TAGS).prop_map(|(mut raw, certain)| {
            if let Some(value) = raw.get_mut(certain) {
                *value += 50.0;
            }
            let sum: f32 = raw.iter().sum();
            raw.iter().map(|value| value / sum.max(1e-3)).collect()
        })
    }

    fn tokens() -> impl Strategy<Value = Vec<(Vec<f32>, Vec<f32>, u16)>> {
        proptest::collection::vec((token(), token(), 0..TAGS as u16), 1..80)
    }

    proptest! {
        #[test]
        fn the_closed_form_is_where_the_brier_loss_is_least(tokens in tokens()) {
            let mut evidence = Evidence::default();
            for (p, q, gold) in &tokens {
                evidence.add(p, q, &[*gold], TAGS);
            }
            // The derivative of equation 5 by the weight, over every token and tag.
            let slope = |w: f64| -> f64 {
                tokens.iter().flat_map(|(p, q, gold)| (0..TAGS).map(move |tag| {
                    let (p, q) = (f64::from(p[tag]), f64::from(q[tag]));
                    let y = if tag == usize::from(*gold) { 1.0 } else { 0.0 };
                    2.0 * (w * p + (1.0 - w) * q - y) * (p - q)
                })).sum()
            };
            let numerical = least(slope);
            let closed = evidence.weight(Loss::Brier);
            prop_assert!((closed - numerical).abs() < 1e-9, "{closed} {numerical}");
        }

        #[test]
        fn newtons_weight_is_where_the_logarithmic_loss_is_least(tokens in tokens()) {
            let mut evidence = Evidence::default();
            for (p, q, gold) in &tokens {
                evidence.add(p, q, &[*gold], TAGS);
            }
            let slope = |w: f64| -> f64 {
                tokens.iter().map(|(p, q, gold)| {
                    let at = |row: &[f32]| f64::from(row[usize::from(*gold)]).max(LEAST);
                    let (p, q) = (at(p), at(q));
                    -(p - q) / (w * p + (1.0 - w) * q)
                }).sum()
            };
            let numerical = least(slope);
            let newton = evidence.weight(Loss::Log);
            prop_assert!((newton - numerical).abs() < 1e-9, "{newton} {numerical}");
        }
    }

    #[test]
    fn newtons_weight_by_hand() {
        // Gold tags got .8 and .2, then .2 and .6: slope -.6/(.6 w + .2) + .4/(.6 - .4 w) is 0 at w = 7/12.
        let mut log = LogLoss::default();
        log.add(&[0.8, 0.2], &[0.2, 0.8], &[0], 2);
        log.add(&[0.8, 0.2], &[0.4, 0.6], &[1], 2);
        assert!((log.weight() - 7.0 / 12.0).abs() < 1e-7, "{}", log.weight());
    }

    #[test]
    fn a_learner_that_is_always_the_better_has_all_the_weight_and_nothing_told_is_a_half() {
        let mut evidence = Evidence::default();
        assert_eq!(
            [Loss::Brier, Loss::Log].map(|loss| evidence.weight(loss)),
            [0.5; 2]
        );
        // Both learners consider the second token's tag impossible, so it is no evidence.
        evidence.add(&[0.9, 0.1, 0.0, 1.0], &[0.6, 0.4, 0.0, 1.0], &[0, 0], 2);
        assert_eq!(
            [Loss::Brier, Loss::Log].map(|loss| evidence.weight(loss)),
            [1.0; 2]
        );
        let mut other = Evidence::default();
        other.add(&[0.6, 0.4], &[1.0, 0.0], &[0], 2);
        assert_eq!([Loss::Brier, Loss::Log].map(|loss| other.weight(loss)), [0.0; 2]);
    }

    #[test]
    fn the_latest_batch_forgets_those_before_it_and_all_does_not() {
        let mut weigher = Weigher::default();
        weigher.next_batch();
        weigher.add(&[0.9, 0.1], &[0.6, 0.4], &[0], 2);
        weigher.next_batch();
        weigher.add(&[0.4, 0.6], &[0.9, 0.1], &[0], 2);
        let [all, latest, ..] = Weighing::ALL.map(|how| weigher.weight(how));
        assert_eq!(latest, 0.0);
        // (.4 · .3 - .1 · .5) · 2 of (.09 + .25) · 2
        assert!((all - 0.07 / 0.34).abs() < 1e-6, "{all}");
    }
}
