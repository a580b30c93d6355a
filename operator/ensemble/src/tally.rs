//! What a vote comes to against gold, in counts.

use serde::{Deserialize, Serialize};

/// Counts of one vote over all documents. Spans are compared strictly: label, start and end; characters (code points)
/// are covered or not, whatever the label.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Spans that gold has too.
    pub hits: u64,
    /// Spans decided.
    pub predicted: u64,
    /// Spans of gold.
    pub gold: u64,
    /// Characters of gold's that are under a decided span.
    pub covered: u64,
    /// Characters under a decided span.
    pub marked: u64,
    /// Characters of gold's.
    pub characters: u64,
}

impl Tally {
    /// Hits among what was decided; 0 where nothing was.
    pub fn precision(&self) -> f64 {
        ratio(self.hits, self.predicted)
    }

    /// Hits among gold; 0 where gold has nothing.
    pub fn recall(&self) -> f64 {
        ratio(self.hits, self.gold)
    }

    /// Harmonic mean of precision and recall; 0 where nothing was hit.
    pub fn f1(&self) -> f64 {
        ratio(2 * self.hits, self.predicted + self.gold)
    }

    /// F with recall `beta` times as important as precision; 0 where nothing was hit.
    pub fn f_beta(&self, beta: f64) -> f64 {
        f_beta(beta, self.hits, self.gold, self.predicted)
    }

    /// [`f_beta`](Self::f_beta) of characters, covered or not, whatever the label; 0 where none of gold's is covered.
    pub fn character_f_beta(&self, beta: f64) -> f64 {
        f_beta(beta, self.covered, self.characters, self.marked)
    }

    /// Gold's characters that are covered; 1 where gold has none, since then none can leak.
    pub fn character_recall(&self) -> f64 {
        if self.characters == 0 {
            1.0
        } else {
            ratio(self.covered, self.characters)
        }
    }

    /// Covered characters that are gold's; 0 where none is covered.
    pub fn character_precision(&self) -> f64 {
        ratio(self.covered, self.marked)
    }
}

fn f_beta(beta: f64, hits: u64, gold: u64, predicted: u64) -> f64 {
    let square = beta * beta;
    if hits == 0 {
        0.0
    } else {
        (1.0 + square) * hits as f64 / (square * gold as f64 + predicted as f64)
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
    use super::*;

    #[test]
    fn f_of_one_is_f1_and_of_two_leans_to_recall() {
        let tally = Tally {
            hits: 6,
            predicted: 8,
            gold: 10,
            ..Tally::default()
        };
        assert_eq!(tally.f_beta(1.0), tally.f1());
        // 5 P R / (4 P + R) with P = 0.75 and R = 0.6.
        assert!((tally.f_beta(2.0) - 0.625).abs() < 1e-15);
        assert_eq!((Tally::default().f_beta(2.0), Tally::default().f1()), (0.0, 0.0));
    }
}
