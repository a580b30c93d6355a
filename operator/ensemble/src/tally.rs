//! The counts of a vote against gold.

use serde::{Deserialize, Serialize};

/// Counts of one vote over all documents. Spans are compared strictly: label, start and end; characters (code
/// points) are covered or not, whatever the label.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Decided spans that gold also has.
    pub hits: u64,
    /// Decided spans.
    pub predicted: u64,
    /// Gold spans.
    pub gold: u64,
    /// Gold characters within a decided span.
    pub covered: u64,
    /// Characters within a decided span.
    pub marked: u64,
    /// Gold characters.
    pub characters: u64,
    /// Documents with gold spans.
    pub documents: u64,
    /// Those of them in which every gold letter and digit is within a decided span: no identifier leaks.
    pub intact: u64,
}

impl Tally {
    /// Returns the share of decided spans that are hits; 0 if there are none.
    pub fn precision(&self) -> f64 {
        ratio(self.hits, self.predicted)
    }

    /// Returns the share of gold spans that are hits; 0 if gold has none.
    pub fn recall(&self) -> f64 {
        ratio(self.hits, self.gold)
    }

    /// Returns the harmonic mean of precision and recall; 0 if there are no hits.
    pub fn f1(&self) -> f64 {
        ratio(2 * self.hits, self.predicted + self.gold)
    }

    /// Returns F with recall `beta` times as important as precision; 0 if there are no hits.
    pub fn f_beta(&self, beta: f64) -> f64 {
        f_beta(beta, self.hits, self.gold, self.predicted)
    }

    /// Returns [`f_beta`](Self::f_beta) over characters, covered or not, whatever the label; 0 if no gold
    /// character is covered.
    pub fn character_f_beta(&self, beta: f64) -> f64 {
        f_beta(beta, self.covered, self.characters, self.marked)
    }

    /// Returns the share of gold characters that are covered; 1 if gold has none, since then none can leak.
    pub fn character_recall(&self) -> f64 {
        if self.characters == 0 {
            1.0
        } else {
            ratio(self.covered, self.characters)
        }
    }

    /// Returns the share of documents with gold spans in which no letter or digit of them leaks; 1 if there are
    /// none.
    pub fn intact_documents(&self) -> f64 {
        if self.documents == 0 {
            1.0
        } else {
            ratio(self.intact, self.documents)
        }
    }

    /// Returns the share of covered characters that are gold; 0 if none is covered.
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
