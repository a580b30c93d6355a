//! The strict score: a prediction counts if gold has the same label, start and end in the same document.

use std::collections::HashSet;

use crate::Mark;

/// True positives, false positives and false negatives, summed over documents (micro average).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// True positives.
    pub hits: u64,
    /// False positives: predictions that are not in gold.
    pub spurious: u64,
    /// False negatives: gold that was not predicted.
    pub missed: u64,
}

impl Counts {
    /// Scores one document, with both sides as sets of (label, start, end), as MEDDOCAN's second sub-task
    /// does.
    pub fn strict(gold: &[Mark], predicted: &[Mark]) -> Self {
        let set = |marks: &[Mark]| -> HashSet<(String, usize, usize)> {
            marks
                .iter()
                .map(|mark| (mark.label.clone(), mark.span.start(), mark.span.end()))
                .collect()
        };
        let (gold, predicted) = (set(gold), set(predicted));
        let hits = gold.intersection(&predicted).count() as u64;
        Self {
            hits,
            spurious: predicted.len() as u64 - hits,
            missed: gold.len() as u64 - hits,
        }
    }

    /// Returns the precision; 0 without predictions.
    pub fn precision(self) -> f64 {
        ratio(self.hits, self.hits + self.spurious)
    }

    /// Returns the recall; 0 without gold.
    pub fn recall(self) -> f64 {
        ratio(self.hits, self.hits + self.missed)
    }

    /// Returns the harmonic mean of precision and recall; 0 if both are 0.
    pub fn f1(self) -> f64 {
        ratio(2 * self.hits, 2 * self.hits + self.spurious + self.missed)
    }
}

impl std::iter::Sum for Counts {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::default(), |mut sum, one| {
            sum += one;
            sum
        })
    }
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.hits += other.hits;
        self.spurious += other.spurious;
        self.missed += other.missed;
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

#[cfg(test)]
mod tests {
    use lethe_core::Span;

    use super::*;

    #[test]
    fn a_repeated_triple_counts_once_and_a_wrong_label_misses_and_is_spurious() {
        let mark = |start, end, label: &str| Mark::gold(Span::between(start, end), label);
        let gold = [mark(0, 4, "DATE"), mark(5, 9, "CITY")];
        let predicted = [mark(0, 4, "DATE"), mark(0, 4, "DATE"), mark(5, 9, "STATE")];
        let counts = Counts::strict(&gold, &predicted);
        assert_eq!((counts.hits, counts.spurious, counts.missed), (1, 1, 1));
        assert_eq!(
            (counts.precision(), counts.recall(), counts.f1()),
            (0.5, 0.5, 0.5)
        );
        assert_eq!(Counts::default().f1(), 0.0);
    }
}
