//! LIBLINEAR's linear support vector machine (Fan et al. 2008) by dual coordinate descent (Hsieh et al. 2008,
//! algorithm 1), with the squared hinge; and its scores as probabilities (Platt 1999).
//!
//! Minimises `w·w / 2 + C Σ n max(0, 1 - y w·x)²` over examples that occur `n` times each: spans on which all
//! members agree look alike, so there are far fewer distinct examples than examples.

use std::collections::BTreeMap;

use rand::seq::SliceRandom as _;
use rand_chacha::ChaCha8Rng;

/// An example's features that are not 0, by ascending index.
pub(crate) type Row = Vec<(u32, f32)>;

/// Training stops when no dual variable can gain more than this (LIBLINEAR's `-e`).
const ENOUGH: f64 = 0.01;

/// The maximum number of passes.
const PASSES: usize = 1000;

/// An example, the number of its occurrences, and whether it belongs to the class.
struct Example<'a> {
    row: &'a Row,
    sign: f64,
    times: f64,
    squares: f64,
}

/// Returns the weights of the features; `chance` sets the order of the descent.
pub(crate) fn separate(rows: &[(&Row, bool)], dimension: usize, c: f64, chance: &mut ChaCha8Rng) -> Vec<f64> {
    // Floats have no total order, and any fixed one will do.
    type Bits = Vec<(u32, u32)>;
    let mut distinct: BTreeMap<(Bits, bool), (&Row, f64)> = BTreeMap::new();
    for &(row, right) in rows {
        let key = row.iter().map(|&(at, value)| (at, value.to_bits())).collect();
        distinct.entry((key, right)).or_insert((row, 0.0)).1 += 1.0;
    }
    let examples: Vec<Example<'_>> = distinct
        .into_iter()
        .map(|((_, right), (row, times))| Example {
            row,
            sign: if right { 1.0 } else { -1.0 },
            times,
            squares: row.iter().map(|&(_, value)| f64::from(value).powi(2)).sum(),
        })
        .collect();
    let mut weights = vec![0.0f64; dimension];
    let mut alphas = vec![0.0f64; examples.len()];
    let mut order: Vec<usize> = (0..examples.len()).collect();
    for _ in 0..PASSES {
        order.shuffle(chance);
        let (mut most, mut least) = (0.0f64, 0.0f64);
        for &i in &order {
            let example = &examples[i];
            // With the squared hinge the dual has no upper bound, and has this on its diagonal.
            let soft = 0.5 / (c * example.times);
            let gradient = example.sign * dot(&weights, example.row) - 1.0 + soft * alphas[i];
            let projected = if alphas[i] == 0.0 {
                gradient.min(0.0)
            } else {
                gradient
            };
            (most, least) = (most.max(projected), least.min(projected));
            if projected != 0.0 {
                let alpha = (alphas[i] - gradient / (example.squares + soft)).max(0.0);
                let step = (alpha - alphas[i]) * example.sign;
                alphas[i] = alpha;
                for &(at, value) in example.row {
                    weights[at as usize] += step * f64::from(value);
                }
            }
        }
        if most - least < ENOUGH {
            break;
        }
    }
    weights
}

/// Returns the machine's output for an example: above 0 it belongs to the class.
pub(crate) fn dot(weights: &[f64], row: &Row) -> f64 {
    row.iter()
        .map(|&(at, value)| weights[at as usize] * f64::from(value))
        .sum()
}

/// `1 / (1 + exp(a score + b))`: the probability that an example with this score belongs to the class.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Platt {
    a: f64,
    b: f64,
}

impl Platt {
    /// Fits the most likely curve to these scores by Newton's method, with the numerically stable logarithms
    /// and backtracking of Lin, Lin and Weng 2007, towards Platt's targets, which are slightly less than
    /// certain.
    pub(crate) fn fit(scored: &[(f64, bool)]) -> Self {
        let right = scored.iter().filter(|(_, right)| *right).count() as f64;
        let wrong = scored.len() as f64 - right;
        let (high, low) = ((right + 1.0) / (right + 2.0), 1.0 / (wrong + 2.0));
        let target = |right: bool| if right { high } else { low };
        let loss = |curve: Self| -> f64 {
            let one = |&(score, right): &(f64, bool)| {
                let f = curve.a * score + curve.b;
                let t = target(right);
                if f >= 0.0 {
                    t * f + (-f).exp().ln_1p()
                } else {
                    (t - 1.0) * f + f.exp().ln_1p()
                }
            };
            scored.iter().map(one).sum()
        };
        let mut curve = Self {
            a: 0.0,
            b: ((wrong + 1.0) / (right + 1.0)).ln(),
        };
        let mut value = loss(curve);
        for _ in 0..100 {
            // The ridge keeps the Hessian positive definite.
            let (mut aa, mut bb, mut ab) = (1e-12, 1e-12, 0.0);
            let (mut by_a, mut by_b) = (0.0, 0.0);
            for &(score, right) in scored {
                let p = curve.of(score);
                let (pull, bend) = (target(right) - p, p * (1.0 - p));
                aa += score * score * bend;
                bb += bend;
                ab += score * bend;
                by_a += score * pull;
                by_b += pull;
            }
            if by_a.abs() < 1e-5 && by_b.abs() < 1e-5 {
                break;
            }
            let determinant = aa * bb - ab * ab;
            let (da, db) = (
                -(bb * by_a - ab * by_b) / determinant,
                -(aa * by_b - ab * by_a) / determinant,
            );
            let slope = by_a * da + by_b * db;
            let steps = std::iter::successors(Some(1.0f64), |step| Some(step / 2.0)).take(34);
            let better = steps
                .map(|step| {
                    let next = Self {
                        a: curve.a + step * da,
                        b: curve.b + step * db,
                    };
                    (step, next, loss(next))
                })
                .find(|&(step, _, next)| next < value + 1e-4 * step * slope);
            let Some((_, next, at)) = better else { break };
            (curve, value) = (next, at);
        }
        curve
    }

    /// Returns the probability that an example with this score belongs to the class.
    pub(crate) fn of(self, score: f64) -> f64 {
        1.0 / (1.0 + (self.a * score + self.b).exp())
    }

    /// Returns whether the parameters are valid.
    pub(crate) const fn is_sound(self) -> bool {
        self.a.is_finite() && self.b.is_finite()
    }
}

#[cfg(test)]
mod tests {
    use rand::{Rng as _, SeedableRng as _};

    use super::*;

    /// Returns the primal objective, example by example.
    fn objective(rows: &[(&Row, bool)], weights: &[f64], c: f64) -> f64 {
        let hinge = |&(row, right): &(&Row, bool)| {
            let sign = if right { 1.0 } else { -1.0 };
            (1.0 - sign * dot(weights, row)).max(0.0).powi(2)
        };
        let squares: f64 = weights.iter().map(|w| w * w).sum();
        squares / 2.0 + c * rows.iter().map(hinge).sum::<f64>()
    }

    #[test]
    fn two_points_are_parted_as_by_hand() {
        // min w²/2 + 2 C (1 - w)² has its minimum at w = 4C / (1 + 4C).
        let rows: [Row; 2] = [vec![(0, 1.0)], vec![(0, -1.0)]];
        let rows = [(&rows[0], true), (&rows[1], false)];
        let weights = separate(&rows, 1, 0.5, &mut ChaCha8Rng::seed_from_u64(1));
        assert!((weights[0] - 2.0 / 3.0).abs() < 0.01, "{weights:?}");
    }

    #[test]
    fn no_small_step_from_the_solution_lowers_the_objective() {
        let mut chance = ChaCha8Rng::seed_from_u64(2);
        let rows: Vec<(Row, bool)> = (0..200)
            .map(|_| {
                let right = chance.random_range(0..3) > 0;
                let lean = if right { 0.3 } else { -0.3 };
                let row = (0..4).map(|at| (at, (lean + chance.random_range(-4..=4) as f32 / 4.0)));
                (row.collect(), right)
            })
            .collect();
        let rows: Vec<(&Row, bool)> = rows.iter().map(|(row, right)| (row, *right)).collect();
        let weights = separate(&rows, 4, 0.3, &mut chance);
        let least = objective(&rows, &weights, 0.3);
        for at in 0..4 {
            for step in [-0.05, 0.05] {
                let mut moved = weights.clone();
                moved[at] += step;
                assert!(objective(&rows, &moved, 0.3) > least);
            }
        }
    }

    #[test]
    fn probabilities_follow_the_shares_of_each_score() {
        // Of score 1 three in four are right, of score -1 one in four: the curve passes through both, apart
        // from Platt's targets.
        let scored: Vec<(f64, bool)> = (0..4000)
            .map(|i| {
                if i % 2 == 0 {
                    (1.0, i % 8 != 0)
                } else {
                    (-1.0, i % 8 == 1)
                }
            })
            .collect();
        let curve = Platt::fit(&scored);
        assert!((curve.of(1.0) - 0.75).abs() < 0.002 && (curve.of(-1.0) - 0.25).abs() < 0.002);
        assert!((curve.of(0.0) - 0.5).abs() < 0.002);
    }
}
