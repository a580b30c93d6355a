//! The features of a batch's tokens by column, the layout that makes linear members fast.
//!
//! Most features of a token depend on one word alone: its form, affixes, shape, dictionary entries. A batch
//! has far fewer word types than tokens. So a [`Table`] holds the features once per type, and each token only
//! has the index of its type. A [`View`] reads a table at an offset, so that "the previous word ends in -ez"
//! needs no features of its own. A member then sums each type's weights once per batch and view, and a
//! token's scores are the sum of one short vector per view.

use std::ops::Range;
use std::sync::OnceLock;

/// The features of the types of one column, and each token's type.
///
/// Type 0 is the outside of a note: positions before the first token and after the last have it.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// The end of each type's features in `features`; one entry per type.
    pub ends: Vec<u32>,
    /// Hashes of features, grouped by type. Features are binary: present or absent.
    pub features: Vec<u64>,
    /// Each token's type, for the concatenated tokens of all notes.
    pub ids: Vec<u32>,
    /// See [`Table::keys`].
    pub(crate) keys: OnceLock<Vec<u64>>,
}

impl Table {
    /// Creates a table of these types and tokens; the fields describe their layout.
    pub fn new(ends: Vec<u32>, features: Vec<u64>, ids: Vec<u32>) -> Self {
        Self {
            ends,
            features,
            ids,
            ..Self::default()
        }
    }

    /// Returns the number of types, the outside one included.
    pub fn types(&self) -> usize {
        self.ends.len()
    }

    /// Returns the features of a type.
    ///
    /// # Panics
    /// If the type does not exist.
    pub fn of(&self, id: u32) -> &[u64] {
        let id = id as usize;
        let start = if id == 0 { 0 } else { self.ends[id - 1] as usize };
        &self.features[start..self.ends[id] as usize]
    }

    /// Returns a key of each type's features, never 0; computed on the first request, for all members. Types
    /// with equal features have the same key in every batch; a collision is as unlikely as a memory error.
    pub(crate) fn keys(&self) -> &[u64] {
        self.keys.get_or_init(|| {
            let key = |id| {
                let key = self.of(id).iter().fold(1, |key: u64, &feature| {
                    (key ^ feature)
                        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                        .rotate_left(29)
                });
                salted(key, 0)
            };
            (0..self.types() as u32).map(key).collect()
        })
    }
}

/// A table read at an offset: token `i` has the features of the type of token `i + shift` of its note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// Index of the table.
    pub table: usize,
    /// Tokens ahead (positive) or back (negative).
    pub shift: i8,
}

/// The features of every token of a batch.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    /// Each row's tokens, as a range of all tokens; empty for rows that are not notes.
    pub notes: Vec<Range<usize>>,
    /// The tables.
    pub tables: Vec<Table>,
    /// The views that together give a token's features. Every batch has the same views in the same order.
    pub views: Vec<View>,
}

impl Columns {
    /// Returns the number of tokens.
    pub fn tokens(&self) -> usize {
        self.notes.last().map_or(0, |note| note.end)
    }

    /// Returns the type that token `i` of the note `note` has in `view`, where `i` counts from the note's
    /// first token.
    pub fn id(&self, view: View, note: &Range<usize>, i: usize) -> u32 {
        let at = (note.start + i) as isize + isize::from(view.shift);
        if at < note.start as isize || at >= note.end as isize {
            return 0;
        }
        self.tables[view.table].ids[at as usize]
    }
}

/// Returns a feature as seen through the view of this index: the same property of the previous word is a
/// different feature.
///
/// It is never 0, so that 0 can mark a free slot in a hash table.
#[inline]
pub const fn salted(feature: u64, view: usize) -> u64 {
    // A bijection, so that salting causes no collisions within a view. Features are already well mixed; the
    // product (with the factor of Fibonacci hashing, Knuth 1973) moves differences up to the bits by which
    // models find their weights.
    let x =
        (feature ^ (view as u64 + 1).wrapping_mul(0xd6e8_feb8_6659_fd93)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    if x == 0 { 1 } else { x }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_reads_the_neighbour_and_the_outside_beyond_a_notes_ends() {
        let columns = Columns {
            notes: vec![0..2, 2..3],
            tables: vec![Table {
                ends: vec![1, 3, 4],
                features: vec![9, 10, 11, 12],
                ids: vec![1, 2, 1],
                ..Table::default()
            }],
            views: vec![View { table: 0, shift: -1 }, View { table: 0, shift: 1 }],
        };
        let ids = |view: usize, note: usize| -> Vec<u32> {
            let range = &columns.notes[note];
            (0..range.len())
                .map(|i| columns.id(columns.views[view], range, i))
                .collect()
        };
        assert_eq!((ids(0, 0), ids(1, 0)), (vec![0, 1], vec![2, 0]));
        assert_eq!((ids(0, 1), ids(1, 1)), (vec![0], vec![0]));
        assert_eq!(columns.tables[0].of(0), [9]);
        assert_eq!(columns.tables[0].of(1), [10, 11]);
        assert_eq!(columns.tokens(), 3);
    }
}
