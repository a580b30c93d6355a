//! Sequences of similar length in parallel, step by step, without padding.

use std::ops::Range;

use crate::rng::Rng;

/// The shape of a bucket. The rows of step `t` are those of the sequences longer than `t`, the longest
/// sequence first, and steps follow one another: so no row is padding, and the sequences of a step are one
/// block of rows.
#[derive(Clone, Debug, Default)]
pub struct Bucket {
    lengths: Vec<usize>,
    starts: Vec<usize>,
}

impl Bucket {
    /// Creates a bucket of sequences of these lengths.
    ///
    /// # Panics
    /// If the lengths increase, or one is 0.
    pub fn new(lengths: Vec<usize>) -> Self {
        assert!(
            lengths.is_sorted_by(|a, b| a >= b) && lengths.iter().all(|&n| n > 0),
            "a bucket's sequences have decreasing lengths of at least 1"
        );
        let mut starts = vec![0];
        let (mut rows, mut live) = (0, lengths.len());
        for t in 0..lengths.first().copied().unwrap_or(0) {
            while lengths[live - 1] <= t {
                live -= 1;
            }
            rows += live;
            starts.push(rows);
        }
        Self { lengths, starts }
    }

    /// Returns the lengths of the sequences.
    pub fn lengths(&self) -> &[usize] {
        &self.lengths
    }

    /// Returns the total number of rows.
    pub fn rows(&self) -> usize {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Returns the number of steps of the longest sequence.
    pub fn steps(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the rows of a step; none beyond the last.
    pub fn step(&self, t: usize) -> Range<usize> {
        let at = |t: usize| self.starts[t.min(self.steps())];
        at(t)..at(t + 1)
    }

    /// Returns the row of step `t` of a sequence.
    pub fn row(&self, sequence: usize, t: usize) -> usize {
        debug_assert!(t < self.lengths[sequence]);
        self.starts[t] + sequence
    }
}

/// Returns sequences in random groups of similar length, each by decreasing length.
pub(crate) fn groups(sequences: &[Range<usize>], batch: usize, rng: &mut Rng) -> Vec<Vec<Range<usize>>> {
    let mut order = sequences.to_vec();
    rng.shuffle(&mut order);
    for part in order.chunks_mut(40 * batch) {
        part.sort_by_key(|range| std::cmp::Reverse(range.len()));
    }
    let mut groups: Vec<_> = order
        .chunks(40 * batch)
        .flat_map(|part| part.chunks(batch))
        .map(<[_]>::to_vec)
        .collect();
    rng.shuffle(&mut groups);
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_steps_rows_are_the_sequences_that_are_still_running() {
        let bucket = Bucket::new(vec![4, 2, 2, 1]);
        let steps: Vec<_> = (0..6).map(|t| bucket.step(t)).collect();
        assert_eq!(steps, [0..4, 4..7, 7..8, 8..9, 9..9, 9..9]);
        assert_eq!((bucket.rows(), bucket.steps()), (9, 4));
        assert_eq!((bucket.row(2, 1), bucket.row(0, 3)), (6, 8));
        assert_eq!(Bucket::new(Vec::new()).rows(), 0);
    }
}
