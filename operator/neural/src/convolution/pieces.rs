//! The pieces of a word: its n-grams and the word itself, as rows of a table by their hash.

use lethe_core::TokenKind;

use crate::types::shape;

/// The characters of a word that are read, from its beginning; longer runs are not words.
const LONGEST: usize = 32;
/// The lengths of n-grams, the marks of the word's beginning and end included.
const GRAMS: std::ops::RangeInclusive<usize> = 3..=4;

/// A word's rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pieces {
    /// The row of the word itself, then those of its n-grams.
    pub(super) rows: Vec<u32>,
    /// The row of its shape.
    pub(super) shape: u8,
    /// The word in lower case between two marks, digits as zeros.
    form: Vec<char>,
}

impl Pieces {
    /// Reads a word.
    pub(super) fn read(&mut self, word: &str, kind: TokenKind, buckets: usize) {
        self.shape = shape(word, kind);
        self.form.clear();
        self.form.push('<');
        let folded = word.chars().take(LONGEST).flat_map(char::to_lowercase);
        self.form
            .extend(folded.map(|c| if c.is_numeric() { '0' } else { c }));
        self.form.push('>');
        self.rows.clear();
        self.rows.push(row(&self.form, 1, buckets));
        for length in GRAMS {
            let grams = self.form.windows(length);
            self.rows.extend(grams.map(|gram| row(gram, 0, buckets)));
        }
    }
}

/// Returns the row of some characters: FNV-1a (Fowler, Noll and Vo) over their code points, with the bits
/// mixed (Steele et al. 2014), so that the low ones depend on all. Part of the model's format.
fn row(characters: &[char], seed: u64, buckets: usize) -> u32 {
    let mut hash = 0xcbf2_9ce4_8422_2325 ^ seed;
    for &c in characters {
        hash = (hash ^ u64::from(u32::from(c))).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((hash ^ hash >> 31) % buckets as u64) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(word: &str) -> Pieces {
        let mut pieces = Pieces::default();
        pieces.read(word, TokenKind::Letters, 1 << 15);
        pieces
    }

    #[test]
    fn a_word_shares_the_pieces_of_its_relatives_and_not_the_row_of_the_word() {
        let (one, two) = (pieces("Quiroga"), pieces("Quirogas"));
        let shared = one.rows[1..].iter().filter(|row| two.rows[1..].contains(row));
        assert!(shared.count() >= 9);
        assert_ne!(one.rows[0], two.rows[0]);
        assert_eq!(pieces("QUIROGA").rows, one.rows);
        assert_ne!(pieces("QUIROGA").shape, one.shape);
    }

    #[test]
    fn every_word_has_at_least_the_row_of_the_word_and_a_bounded_number_of_others() {
        for word in ["", "a", "(", "日本", &"x".repeat(5000)] {
            let rows = pieces(word).rows;
            assert!((1..=70).contains(&rows.len()), "{}", rows.len());
        }
    }

    #[test]
    fn rows_are_those_of_models_that_exist() {
        // A change of these makes every saved model useless.
        assert_eq!(pieces("Ana").rows, [7_047, 5_618, 2_442, 13_439, 15_480, 12_729]);
    }
}
