//! Exact intervals of a share.

use statrs::function::beta::beta_reg;

use crate::report::Interval;

/// The probability on each side of a 95 % interval.
const TAIL: f64 = 0.025;

/// Returns the exact 95 % interval of the probability of an event that happened in `count` of `of` independent cases
/// (Clopper and Pearson 1934); `None` without cases. With 0 of 300 it is 0 to 1.22 %.
pub(crate) fn exact(count: u64, of: u64) -> Option<Interval> {
    let (k, n) = (count as f64, of as f64);
    // The distribution of the count is that of a beta variable: P(X >= k) at p is I_p(k, n - k + 1).
    let low = || solve(|p| beta_reg(k, n - k + 1.0, p) - TAIL);
    let high = || solve(|p| beta_reg(k + 1.0, n - k, p) - (1.0 - TAIL));
    (of > 0).then(|| Interval {
        low: if count == 0 { 0.0 } else { low() },
        high: if count == of { 1.0 } else { high() },
    })
}

/// Returns where a rising function of a probability crosses zero. Halving needs no more steps than a double has digits.
fn solve(rising: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..f64::MANTISSA_DIGITS {
        let middle = (low + high) / 2.0;
        if rising(middle) < 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near((count, of): (u64, u64), (low, high): (f64, f64)) {
        let interval = exact(count, of).unwrap();
        assert!(
            (interval.low - low).abs() < 5e-5 && (interval.high - high).abs() < 5e-5,
            "{count} of {of}: {interval:?}"
        );
    }

    #[test]
    fn intervals_are_those_of_the_binomial_distribution() {
        // Without an event (1 - p)^n is the tail.
        near((0, 300), (0.0, 1.0 - 0.025_f64.powf(1.0 / 300.0)));
        near((1, 1), (0.025, 1.0));
        // R: binom.test(7, 20).
        near((7, 20), (0.1539, 0.5922));
        near((20, 20), (0.025_f64.powf(1.0 / 20.0), 1.0));
    }

    #[test]
    fn a_share_of_nothing_has_no_interval() {
        assert_eq!(exact(0, 0), None);
    }

    #[test]
    fn each_end_leaves_its_tail_to_the_counts_beyond() {
        // Sums the distribution term by term, which needs no beta function.
        let (count, of) = (13_i32, 40_i32);
        let at = |p: f64, k: i32| {
            let choose = (0..k).fold(1.0, |product, i| product * f64::from(of - i) / f64::from(i + 1));
            choose * p.powi(k) * (1.0 - p).powi(of - k)
        };
        let interval = exact(13, 40).unwrap();
        let above: f64 = (count..=of).map(|k| at(interval.low, k)).sum();
        let below: f64 = (0..=count).map(|k| at(interval.high, k)).sum();
        assert!((above - TAIL).abs() < 1e-9 && (below - TAIL).abs() < 1e-9);
    }
}
