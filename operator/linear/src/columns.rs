//! The features of a batch's tokens, by column: the shape that makes linear members fast.
//!
//! Most features of a token depend on one word alone: its form, affixes, shape, what the dictionary says. A batch has far
//! fewer word types than tokens. So a [`Table`] holds the features once a type, and each token only says which type it
//! is. A [`View`] reads a table at an offset, so that "the previous word ends in -ez" costs no features of its own. A
//! member then adds up each type's weights once a batch and view, and a token's scores are one short vector a view.

use std::ops::Range;
use std::sync::OnceLock;

/// Features of the types of one column, and each token's type.
///
/// Type 0 is what lies outside a note; what stands before the first token and after the last reads as it.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Where each type's features end in `features`; one entry a type.
    pub ends: Vec<u32>,
    /// Hashes of features, each type's one after another. Binary features: each is there or not.
    pub features: Vec<u64>,
    /// Each token's type, for the tokens of all notes one after another.
    pub ids: Vec<u32>,
    /// See [`Table::keys`].
    pub(crate) keys: OnceLock<Vec<u64>>,
}

impl Table {
    /// Creates a table of these types and tokens; the fields say how each is laid out.
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
    /// If there is no such type.
    pub fn of(&self, id: u32) -> &[u64] {
        let id = id as usize;
        let start = if id == 0 { 0 } else { self.ends[id - 1] as usize };
        &self.features[start..self.ends[id] as usize]
    }

    /// Returns each type's features as one number, never 0; made when a member first asks, for all members.
    /// Types of equal features have the same in every batch; that others do is as likely as a fault of the
    /// memory.
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
    /// Each row's tokens, as a range of all tokens; empty for rows that are no notes.
    pub notes: Vec<Range<usize>>,
    /// The tables.
    pub tables: Vec<Table>,
    /// What a token's features are: its types' in every view. The same views, in the same order, for every batch.
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

/// Returns a feature as seen through the view of this index: the same property of the previous word is
/// another feature.
///
/// Never 0, so that 0 can stand for an empty place in a hash table.
#[inline]
pub const fn salted(feature: u64, view: usize) -> u64 {
    // A bijection, so that salting makes no collisions within a view. Features are well mixed already; the product (its
    // factor is Fibonacci hashing's, Knuth 1973) brings what differs up to the bits by which models find their weights.
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
