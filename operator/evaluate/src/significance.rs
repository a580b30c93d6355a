//! Three significance tests over documents for the difference between two systems.
//!
//! The first two compare each document's F1 (any finite numbers) and match scipy 1.17; the third compares
//! micro-F1 itself.

use lethe_corpus::Counts;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore as _, SeedableRng as _};
use statrs::function::beta::beta_reg;
use statrs::function::gamma::gamma_ur;

use crate::report::{Method, Test};

/// Computes the paired t-test, two-sided: `scipy.stats.ttest_rel(x, y)`.
///
/// `t` is the mean of the differences over their standard error (sample variance, `n - 1`), with `n - 1`
/// degrees of freedom. If no pair differs or there are fewer than two pairs, scipy returns NaN and this
/// function `None`; if all pairs differ by the same amount, `t` is infinite (`None`) and `p` is 0. Values
/// beyond the length of the shorter side are ignored.
pub fn paired_t_test(x: &[f64], y: &[f64]) -> Test {
    let differences: Vec<f64> = x.iter().zip(y).map(|(x, y)| x - y).collect();
    let pairs = differences.len();
    let test = |statistic, p| Test {
        statistic,
        p,
        pairs: pairs as u64,
        method: Method::StudentT,
    };
    let n = pairs as f64;
    if pairs < 2 || differences.iter().all(|d| *d == 0.0) {
        return test(None, None);
    }
    let mean = differences.iter().sum::<f64>() / n;
    let variance = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (n - 1.0);
    if variance == 0.0 {
        return test(None, Some(0.0));
    }
    let t = mean / (variance / n).sqrt();
    if !t.is_finite() {
        return test(None, None);
    }
    let freedom = n - 1.0;
    // Both tails of Student's t at once, without the cancellation of 1 - cdf.
    test(
        Some(t),
        Some(beta_reg(freedom / 2.0, 0.5, freedom / (freedom + t * t))),
    )
}

/// Computes Wilcoxon's signed-rank test, two-sided: `scipy.stats.wilcoxon(x, y)` with its defaults.
///
/// Pairs that do not differ are dropped, ties share their mean rank, and the statistic is the smaller of the
/// two rank sums. `p` is exact (all `2^n` signs) for up to 50 pairs without ties and zeros, and for up to 13
/// pairs with them; otherwise it is the normal approximation with a variance corrected for ties and without
/// continuity correction. As in scipy, the limits count pairs that do not differ, and ties are ties of the
/// floating-point differences. If no pair differs, `p` is `None` (scipy: NaN above 13 pairs, else 1).
pub fn wilcoxon(x: &[f64], y: &[f64]) -> Test {
    let pairs = x.len().min(y.len());
    let mut differences: Vec<f64> = x
        .iter()
        .zip(y)
        .map(|(x, y)| x - y)
        .filter(|d| *d != 0.0)
        .collect();
    differences.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    let n = differences.len();
    let test = |statistic, p, method| Test {
        statistic,
        p,
        pairs: pairs as u64,
        method,
    };
    if n == 0 {
        return test(None, None, Method::Normal);
    }
    // Twice each rank, so that the mean rank of a tie is whole.
    let mut doubled = Vec::with_capacity(n);
    let (mut tie_sum, mut positive) = (0.0, 0);
    for tie in differences.chunk_by(|a, b| a.abs() == b.abs()) {
        let rank = 2 * doubled.len() + tie.len() + 1;
        positive += rank * tie.iter().filter(|d| **d > 0.0).count();
        doubled.extend(std::iter::repeat_n(rank, tie.len()));
        let size = tie.len() as f64;
        tie_sum += size.powi(3) - size;
    }
    let smaller = positive.min(n * (n + 1) - positive);
    let statistic = Some(smaller as f64 / 2.0);
    let plain = n == pairs && tie_sum == 0.0;
    if pairs <= if plain { 50 } else { 13 } {
        return test(statistic, Some(exact(&doubled, smaller)), Method::Exact);
    }
    let n = n as f64;
    let mean = n * (n + 1.0) / 4.0;
    let variance = (n * (n + 1.0) * (2.0 * n + 1.0) - tie_sum / 2.0) / 24.0;
    let z = (smaller as f64 / 2.0 - mean) / variance.sqrt();
    // Both tails of the normal distribution, erfc(|z| / sqrt 2), by the incomplete gamma function: the
    // library's own erfc has only ten correct digits.
    let square = z * z / 2.0;
    let p = if square > 0.0 { gamma_ur(0.5, square) } else { 1.0 };
    test(statistic, Some(p), Method::Normal)
}

/// Returns twice the share of sign choices whose rank sum is at most `sum`, but at most 1. Ranks and sum are
/// doubled; there are at most 50 ranks.
fn exact(ranks: &[usize], sum: usize) -> f64 {
    let mut ways = vec![0u64; ranks.iter().sum::<usize>() + 1];
    ways[0] = 1;
    for &rank in ranks {
        for at in (rank..ways.len()).rev() {
            ways[at] += ways[at - rank];
        }
    }
    let below: u64 = ways.iter().take(sum + 1).sum();
    (2.0 * below as f64 / 2f64.powi(ranks.len() as i32)).min(1.0)
}

/// Computes approximate randomisation on micro-F1, two-sided (Noreen 1989; Yeh 2000 for F1).
///
/// In each of `shuffles` rounds, every document's counts are swapped with probability one half. `p` is the
/// share of rounds whose two micro-F1 differ at least as much as the real ones, with numerator and
/// denominator raised by one. Differences are compared as fractions, without rounding. `statistic` is the
/// real difference, `a` minus `b`.
pub fn approximate_randomisation(a: &[Counts], b: &[Counts], shuffles: usize, seed: u64) -> Test {
    let pairs: Vec<(Counts, Counts)> = a.iter().copied().zip(b.iter().copied()).collect();
    let sum = |counts: &mut dyn Iterator<Item = Counts>| {
        let mut sum = Counts::default();
        counts.for_each(|count| sum += count);
        sum
    };
    let (all_a, all_b) = (
        sum(&mut pairs.iter().map(|pair| pair.0)),
        sum(&mut pairs.iter().map(|pair| pair.1)),
    );
    let real = Distance::between(all_a, all_b);
    // Swapping equal counts changes nothing.
    let moving: Vec<(Counts, Counts)> = pairs.iter().copied().filter(|(a, b)| a != b).collect();
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut as_far = 0u64;
    for _ in 0..shuffles {
        let (mut left, mut right) = (all_a, all_b);
        for chunk in moving.chunks(64) {
            let mut coins = random.next_u64();
            for &(a, b) in chunk {
                if coins & 1 == 1 {
                    exchange(&mut left, a, b);
                    exchange(&mut right, b, a);
                }
                coins >>= 1;
            }
        }
        as_far += u64::from(Distance::between(left, right).at_least(real));
    }
    Test {
        statistic: Some(all_a.f1() - all_b.f1()),
        p: Some((as_far + 1) as f64 / (shuffles as f64 + 1.0)),
        pairs: pairs.len() as u64,
        method: Method::Randomisation,
    }
}

fn exchange(sum: &mut Counts, gone: Counts, come: Counts) {
    sum.hits = sum.hits - gone.hits + come.hits;
    sum.spurious = sum.spurious - gone.spurious + come.spurious;
    sum.missed = sum.missed - gone.missed + come.missed;
}

/// The distance of two micro-F1, as a fraction.
#[derive(Clone, Copy)]
struct Distance {
    numerator: u128,
    denominator: u128,
}

impl Distance {
    fn between(a: Counts, b: Counts) -> Self {
        let fraction = |counts: Counts| {
            let whole = 2 * counts.hits + counts.spurious + counts.missed;
            // Without spans F1 is 0, as everywhere.
            (2 * u128::from(counts.hits), u128::from(whole.max(1)))
        };
        let ((top_a, bottom_a), (top_b, bottom_b)) = (fraction(a), fraction(b));
        Self {
            numerator: (top_a * bottom_b).abs_diff(top_b * bottom_a),
            denominator: bottom_a * bottom_b,
        }
    }

    /// Products fit 128 bits for corpora of up to a thousand million spans.
    fn at_least(self, other: Self) -> bool {
        self.numerator * other.denominator >= other.numerator * self.denominator
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::of;

    /// Compares with `scipy.stats` 1.17.1 to twelve digits (its exact `p` sums rounded shares, ours counts).
    fn check(found: Test, statistic: f64, p: f64) {
        let near = |found: Option<f64>, expected: f64| {
            found.is_some_and(|found| (found - expected).abs() <= 1e-12 * expected.abs())
        };
        assert!(near(found.statistic, statistic) && near(found.p, p), "{found:?}");
    }

    const X: [f64; 10] = [0.91, 0.84, 0.77, 0.96, 0.68, 0.88, 0.93, 0.71, 0.99, 0.82];
    const Y: [f64; 10] = [0.89, 0.80, 0.78, 0.90, 0.60, 0.85, 0.94, 0.66, 0.92, 0.73];

    #[test]
    fn the_t_test_is_scipys() {
        // scipy.stats.ttest_rel(X, Y)
        check(paired_t_test(&X, &Y), 3.805969187980117, 0.00417889355822773);
        // i = numpy.arange(200); ttest_rel(0.5 + ((i * 7) % 50) / 128, 0.4 + ((i * 11) % 53) / 128)
        let (x, y) = many();
        check(paired_t_test(&x, &y), 7.8174590803836495, 3.069168915487868e-13);
    }

    #[test]
    fn where_nothing_or_everything_differs_alike_the_t_test_says_so() {
        let test = paired_t_test(&X, &X);
        assert_eq!((test.statistic, test.p), (None, None));
        assert_eq!(paired_t_test(&[0.5], &[0.25]).p, None);
        let test = paired_t_test(&[0.5, 0.75], &[0.25, 0.5]);
        assert_eq!((test.statistic, test.p), (None, Some(0.0)));
    }

    #[test]
    fn wilcoxon_without_ties_is_exact_up_to_fifty_pairs() {
        // i = numpy.arange(50); y = ((i * 11) % 53) / 64; x = y + numpy.where(i % 3 == 0, -1, 1) * (i + 1) / 64
        let y: Vec<f64> = (0..50).map(|i| f64::from((i * 11) % 53) / 64.0).collect();
        let x: Vec<f64> = (0..50)
            .map(|i| y[i as usize] + if i % 3 == 0 { -1.0 } else { 1.0 } * f64::from(i + 1) / 64.0)
            .collect();
        let test = wilcoxon(&x, &y);
        assert_eq!(test.method, Method::Exact);
        check(test, 425.0, 0.03996834652842374);
    }

    #[test]
    fn wilcoxon_ties_of_floating_point_differences_are_scipys() {
        // scipy.stats.wilcoxon(X, Y): some differences that look equal are not equal as floats.
        check(wilcoxon(&X, &Y), 3.0, 0.009765625);
    }

    const TIED_X: [f64; 20] = [
        1.0, 1.0, 0.75, 0.5, 1.0, 0.25, 0.75, 1.0, 0.5, 1.0, 0.75, 0.0, 1.0, 0.5, 1.0, 0.75, 1.0, 0.25, 0.75,
        1.0,
    ];
    const TIED_Y: [f64; 20] = [
        1.0, 0.75, 0.5, 0.75, 0.5, 0.25, 0.25, 0.25, 0.25, 0.75, 0.75, 0.5, 0.75, 0.75, 0.25, 0.75, 0.5, 0.5,
        0.5, 1.0,
    ];

    #[test]
    fn wilcoxon_with_ties_and_zeros_is_exact_up_to_thirteen_pairs_and_normal_beyond() {
        // scipy.stats.wilcoxon(TIED_X[:12], TIED_Y[:12]), then of all twenty.
        let test = wilcoxon(&TIED_X[..12], &TIED_Y[..12]);
        assert_eq!(test.method, Method::Exact);
        check(test, 10.0, 0.17578125);
        let test = wilcoxon(&TIED_X, &TIED_Y);
        assert_eq!(test.method, Method::Normal);
        check(test, 26.5, 0.050582257128134245);
    }

    #[test]
    fn wilcoxon_of_many_pairs_is_the_normal_approximation() {
        // i = numpy.arange(60); wilcoxon(((i * 37 + 11) % 61) / 64, ((i * 23 + 5) % 59) / 64)
        let part = |factor: u32, add: u32, modulus: u32| -> Vec<f64> {
            (0..60)
                .map(|i| f64::from((i * factor + add) % modulus) / 64.0)
                .collect()
        };
        check(
            wilcoxon(&part(37, 11, 61), &part(23, 5, 59)),
            836.0,
            0.7114740168062328,
        );
        let (x, y) = many();
        check(wilcoxon(&x, &y), 4527.0, 1.59305090954814e-11);
    }

    #[test]
    fn wilcoxon_without_a_difference_has_no_p() {
        assert_eq!(wilcoxon(&X, &X).p, None);
        assert_eq!(wilcoxon(&[], &[]).p, None);
    }

    #[test]
    fn randomisation_of_few_documents_comes_near_the_count_of_all_exchanges() {
        let a = [
            of(9, 10, 9),
            of(7, 8, 8),
            of(5, 5, 6),
            of(4, 6, 4),
            of(8, 9, 9),
            of(3, 3, 3),
        ];
        let b = [
            of(7, 10, 9),
            of(7, 8, 9),
            of(3, 5, 6),
            of(4, 6, 5),
            of(6, 9, 9),
            of(3, 3, 3),
        ];
        let f1 = |mask: u32, first: bool| {
            let mut sum = Counts::default();
            for i in 0..a.len() {
                sum += if (mask >> i & 1 == 0) == first { a[i] } else { b[i] };
            }
            sum.f1()
        };
        let apart = |mask| (f1(mask, true) - f1(mask, false)).abs();
        let as_far = (0..64).filter(|mask| apart(*mask) >= apart(0) - 1e-12).count();
        let test = approximate_randomisation(&a, &b, 20_000, 7);
        assert!(
            (test.p.unwrap() - as_far as f64 / 64.0).abs() < 0.01,
            "{test:?}, {as_far} of 64"
        );
        assert_eq!(test.statistic, Some(apart(0)));
        assert_eq!(test, approximate_randomisation(&a, &b, 20_000, 7));
    }

    #[test]
    fn randomisation_of_equal_systems_gives_one() {
        let counts = [of(1, 2, 3), of(0, 0, 0)];
        assert_eq!(approximate_randomisation(&counts, &counts, 99, 1).p, Some(1.0));
    }

    fn many() -> (Vec<f64>, Vec<f64>) {
        let series = |base: f64, factor: u32, modulus: u32| {
            (0..200)
                .map(|i| base + f64::from((i * factor) % modulus) / 128.0)
                .collect()
        };
        (series(0.5, 7, 50), series(0.4, 11, 53))
    }
}
