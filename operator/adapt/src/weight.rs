//! The weight of two learners, told from what both said of documents that neither had seen: by the Brier loss in closed form
//! (Singh 2020, equation 6), and by the logarithmic loss with Newton's method (appendix B).
//!
//! The paper tells the weight of each increment from the batch that has just arrived alone, which is what stands first here.
//! A batch is small, and the weight jumps with it: the same from everything that has arrived so far, each batch with what the
//! learners said of it then, is told beside it.

use lethe_members::Brier;
use serde::Serialize;

/// A probability below this counts as this: a token that both hold impossible must not rule out every weight.
const LEAST: f64 = 1e-9;

/// What the logarithmic loss needs: for each token what either learner gave its gold tag.
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
            // Where both say the same no weight is better than another.
            if p != q {
                self.pairs.push((p, q));
            }
        }
    }

    /// Slope and curvature of the loss `-Σ ln(w p + (1 - w) q)` at a weight. It is convex: the curvature is never negative.
    fn derivatives(&self, weight: f64) -> (f64, f64) {
        self.pairs.iter().fold((0.0, 0.0), |(slope, curvature), (p, q)| {
            let share = (p - q) / (weight * p + (1.0 - weight) * q);
            (slope - share, curvature + share * share)
        })
    }

    /// The first learner's weight, 0 to 1; a half where nothing tells.
    ///
    /// Newton's method from the middle. A step that would leave the interval in which the slope changes its sign halves that
    /// interval instead, so that it ends whatever the pairs are; where the slope does not change its sign between 0 and 1,
    /// the nearer end is best.
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
        // Halving alone would be through after 53 steps.
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

/// By which loss a weight is best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// Squared differences (equation 5).
    Brier,
    /// Negative logarithms (equation 2).
    Log,
}

/// Over which documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Over {
    /// The batch that has just arrived.
    Latest,
    /// Every batch so far.
    All,
}

/// A way to tell the weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Weighing {
    /// By which loss.
    pub loss: Loss,
    /// Over which documents.
    pub over: Over,
}

impl Weighing {
    /// Every way. The first is what runs: a batch of a few dozen sentences has few names, and the weight that it tells alone,
    /// as the paper's does (the second), changes from batch to batch more than the learners do.
    pub const ALL: [Self; 4] = [
        Self::of(Loss::Brier, Over::All),
        Self::of(Loss::Brier, Over::Latest),
        Self::of(Loss::Log, Over::All),
        Self::of(Loss::Log, Over::Latest),
    ];

    const fn of(loss: Loss, over: Over) -> Self {
        Self { loss, over }
    }

    /// In a reader's words.
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

/// Both losses over the same documents.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    brier: Brier,
    log: LogLoss,
}

impl Evidence {
    /// Adds a note: `first` and `second` have `tags` probabilities a token, `gold` one tag a token.
    pub fn add(&mut self, first: &[f32], second: &[f32], gold: &[u16], tags: usize) {
        self.brier.add(first, second, gold, tags);
        self.log.add(first, second, gold, tags);
    }

    /// The first learner's weight by a loss.
    pub fn weight(&self, loss: Loss) -> f64 {
        match loss {
            Loss::Brier => self.brier.weight(),
            Loss::Log => self.log.weight(),
        }
    }
}

/// What batch after batch tells of the weight.
#[derive(Clone, Debug, Default)]
pub struct Weigher {
    latest: Evidence,
    all: Evidence,
}

impl Weigher {
    /// Begins a new batch.
    pub fn next_batch(&mut self) {
        self.latest = Evidence::default();
    }

    /// Adds a note of the batch, as [`Evidence::add`] does.
    pub fn add(&mut self, first: &[f32], second: &[f32], gold: &[u16], tags: usize) {
        self.latest.add(first, second, gold, tags);
        self.all.add(first, second, gold, tags);
    }

    /// The first learner's weight.
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

    /// Where a convex function of a weight is least between 0 and 1, given its slope: by halving, in full precision.
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

    /// Probabilities of a token's tags, some of them sure, as learners are.
    fn token() -> impl Strategy<Value = Vec<f32>> {
        (proptest::collection::vec(0.0..1.0_f32, TAGS), 0..=TAGS).prop_map(|(mut raw, sure)| {
            if let Some(value) = raw.get_mut(sure) {
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
            // Equation 5, derived by the weight, over every token and tag.
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
        // Both hold the second token's tag impossible, and the same: it tells nothing.
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
