//! Percentile intervals by resampling documents or patients (Efron 1979). Only counts are resampled; nothing
//! is scored again.

use lethe_corpus::Counts;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng as _};

use crate::report::Interval;

/// Counts by unit (row: a document or a patient) and measure (column).
pub(crate) struct Matrix {
    columns: usize,
    counts: Vec<Counts>,
}

impl Matrix {
    pub(crate) fn new(columns: usize) -> Self {
        Self {
            columns,
            counts: Vec::new(),
        }
    }

    pub(crate) fn rows(&self) -> impl ExactSizeIterator<Item = &[Counts]> {
        self.counts.chunks_exact(self.columns)
    }

    /// Adds a row, with one count per column.
    pub(crate) fn push(&mut self, row: &[Counts]) {
        debug_assert_eq!(row.len(), self.columns);
        self.counts.extend_from_slice(row);
    }

    /// Sums the rows of each unit; row `i` belongs to unit `of[i]`.
    pub(crate) fn clustered(&self, of: &[usize]) -> Self {
        let units = of.iter().max().map_or(0, |last| last + 1);
        let mut counts = vec![Counts::default(); units * self.columns];
        for (row, unit) in self.rows().zip(of) {
            for (sum, count) in counts[unit * self.columns..].iter_mut().zip(row) {
                *sum += *count;
            }
        }
        Self {
            columns: self.columns,
            counts,
        }
    }

    /// Changes each row's count in one column.
    pub(crate) fn map(&mut self, column: usize, change: impl Fn(Counts) -> Counts) {
        for row in self.counts.chunks_exact_mut(self.columns) {
            row[column] = change(row[column]);
        }
    }

    /// Returns the column sums.
    pub(crate) fn total(&self) -> Vec<Counts> {
        self.weighted(&vec![1; self.rows().len()])
    }

    /// Returns the column sums with row `i` counted `weights[i]` times.
    fn weighted(&self, weights: &[u32]) -> Vec<Counts> {
        let mut sums = vec![Counts::default(); self.columns];
        for (row, &weight) in self.rows().zip(weights).filter(|(_, weight)| **weight > 0) {
            let weight = u64::from(weight);
            for (sum, count) in sums.iter_mut().zip(row) {
                sum.hits += weight * count.hits;
                sum.spurious += weight * count.spurious;
                sum.missed += weight * count.missed;
            }
        }
        sums
    }

    /// Returns the sums over `resamples` draws, each of as many rows as the matrix has, with replacement. The
    /// same seed and number of rows give the same draws, so that systems are resampled together.
    pub(crate) fn resample(&self, resamples: usize, seed: u64) -> Samples {
        let rows = self.rows().len();
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut weights = vec![0u32; rows];
        let mut counts = Vec::with_capacity(resamples * self.columns);
        for _ in 0..resamples {
            weights.fill(0);
            for _ in 0..rows {
                weights[below(&mut random, rows)] += 1;
            }
            counts.extend(self.weighted(&weights));
        }
        Samples {
            columns: self.columns,
            counts,
        }
    }
}

/// The result of [`Matrix::resample`]: sums by resample and column.
pub(crate) struct Samples {
    columns: usize,
    counts: Vec<Counts>,
}

impl Samples {
    /// Returns one column's sums in the order of the draws.
    pub(crate) fn column(&self, column: usize) -> impl Iterator<Item = Counts> {
        self.counts.chunks_exact(self.columns).map(move |row| row[column])
    }

    /// Returns the 95 % interval of a measure, without the resamples in which it is undefined (`None`).
    pub(crate) fn interval(
        &self,
        column: usize,
        measure: impl Fn(Counts) -> Option<f64>,
    ) -> Option<Interval> {
        interval(self.column(column).filter_map(measure).collect())
    }
}

/// Returns the 2.5 % and 97.5 % quantiles; `None` without values.
pub(crate) fn interval(mut values: Vec<f64>) -> Option<Interval> {
    values.sort_by(f64::total_cmp);
    Some(Interval {
        low: quantile(&values, 0.025)?,
        high: quantile(&values, 0.975)?,
    })
}

/// Returns the `share` quantile of ascending values, with linear interpolation between neighbours: definition
/// 7 of Hyndman and Fan (1996), numpy's default, to the last digit. `None` without values.
pub fn quantile(ascending: &[f64], share: f64) -> Option<f64> {
    let at = share * (ascending.len().checked_sub(1)? as f64);
    let below = at.floor();
    let (low, high) = (
        *ascending.get(below as usize)?,
        *ascending.get(at.ceil() as usize)?,
    );
    let part = at - below;
    // The two forms that numpy has, so that rounding cannot move the result beyond its neighbours.
    Some(if part >= 0.5 {
        high - (high - low) * (1.0 - part)
    } else {
        low + (high - low) * part
    })
}

/// Returns a number below `limit`; all are equally likely to within 2^-64. It is written out so that a new
/// version of a library does not change the intervals.
fn below(random: &mut impl RngCore, limit: usize) -> usize {
    ((u128::from(random.next_u64()) * limit as u128) >> 64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::of;

    /// Twelve invented documents as (hits, gold, predicted).
    const DOCUMENTS: [(u64, u64, u64); 12] = [
        (9, 10, 10),
        (4, 5, 4),
        (0, 2, 1),
        (12, 12, 13),
        (7, 9, 8),
        (3, 3, 3),
        (5, 8, 6),
        (20, 22, 21),
        (1, 1, 2),
        (6, 6, 6),
        (8, 11, 9),
        (2, 4, 5),
    ];

    fn matrix() -> Matrix {
        let mut matrix = Matrix::new(1);
        for (hits, gold, predicted) in DOCUMENTS {
            matrix.push(&[of(hits, gold, predicted)]);
        }
        matrix
    }

    fn f1(counts: Counts) -> Option<f64> {
        Some(counts.f1())
    }

    #[test]
    fn quantiles_are_numpys() {
        // numpy.quantile([0.1, 0.25, 0.3, 0.7, 0.95, 1.0, 1.3], q)
        let values = [0.1, 0.25, 0.3, 0.7, 0.95, 1.0, 1.3];
        for (share, expected) in [
            (0.0, 0.1),
            (0.025, 0.12250000000000001),
            (0.5, 0.7),
            (0.6, 0.8499999999999999),
            (0.975, 1.255),
        ] {
            assert_eq!(quantile(&values, share), Some(expected));
        }
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantile(&[0.5], 0.975), Some(0.5));
    }

    #[test]
    fn given_the_same_draws_the_interval_is_numpys_to_the_last_digit() {
        // w = numpy.array([[(r * r * (i + 3) + 7 * i + r) % 5 for i in range(12)] for r in range(101)])
        // h, g, p = (w @ column for column in numpy.array(DOCUMENTS).T)
        // numpy.quantile(2 * h / (g + p), [0.025, 0.975])
        let counts = (0..101u32)
            .flat_map(|r| {
                let weights: Vec<u32> = (0..12).map(|i| (r * r * (i + 3) + 7 * i + r) % 5).collect();
                matrix().weighted(&weights)
            })
            .collect();
        let interval = Samples { columns: 1, counts }.interval(0, f1).unwrap();
        assert_eq!(
            (interval.low, interval.high),
            (0.8484848484848485, 0.8847184986595175)
        );
    }

    #[test]
    fn the_interval_is_scipys_but_for_its_other_random_numbers() {
        // scipy.stats.bootstrap(tuple(numpy.array(DOCUMENTS).T), lambda h, g, p, axis=-1: 2 * h.sum(axis) /
        //   (g.sum(axis) + p.sum(axis)), paired=True, n_resamples=200_000, method="percentile", rng=1)
        let interval = matrix().resample(50_000, 1).interval(0, f1).unwrap();
        assert!((interval.low - 0.748387).abs() < 0.002, "{interval:?}");
        assert!((interval.high - 0.911917).abs() < 0.002, "{interval:?}");
    }

    #[test]
    fn the_draws_of_a_seed_are_the_same_on_every_machine_and_in_every_version() {
        // ChaCha with 8 rounds, seeded and drawn from with numpy: the first draw is 4, 0, 7, 2, 3, 8, 5, 1,
        // 10, 8, 5, 6.
        let interval = matrix().resample(2_000, 1).interval(0, f1).unwrap();
        assert_eq!((interval.low, interval.high), (0.75, 0.9111111111111111));
    }

    #[test]
    fn a_seed_gives_the_same_interval_and_another_seed_another() {
        let of_seed = |seed| matrix().resample(500, seed).interval(0, f1);
        assert_eq!(of_seed(3), of_seed(3));
        assert_ne!(of_seed(3), of_seed(4));
    }

    #[test]
    fn resamples_without_the_label_do_not_drag_its_interval_to_zero() {
        let mut matrix = Matrix::new(1);
        matrix.push(&[of(3, 3, 3)]);
        for _ in 0..9 {
            matrix.push(&[Counts::default()]);
        }
        let samples = matrix.resample(200, 1);
        let defined = |counts: Counts| (counts != Counts::default()).then(|| counts.f1());
        assert_eq!(
            samples.interval(0, defined),
            Some(Interval { low: 1.0, high: 1.0 })
        );
    }

    #[test]
    fn a_patients_documents_are_drawn_together() {
        let mut matrix = Matrix::new(1);
        for hits in [1, 2, 3] {
            matrix.push(&[of(hits, 4, 4)]);
        }
        let clustered = matrix.clustered(&[0, 1, 0]);
        let rows: Vec<Counts> = clustered.rows().map(|row| row[0]).collect();
        assert_eq!(rows, [of(4, 8, 8), of(2, 4, 4)]);
        assert_eq!(clustered.total(), matrix.total());
    }
}
