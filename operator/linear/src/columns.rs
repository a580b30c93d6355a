//! The features of a batch's tokens by column, the layout that makes linear members fast.
//!
//! Most features of a token depend on one word alone: its form, affixes, shape, dictionary entries. A batch
//! has far fewer word types than tokens. So a [`Table`] holds the features once per type, and each token only
//! has the index of its type. A [`View`] reads a table at an offset, so that "the previous word ends in -ez"
//! needs no features of its own. A member then sums each type's weights once per batch and view, and a
//! token's scores are the sum of one short vector per view.
//!
//! A table may keep the features of a type in several parts, and a view reads one of them: of the previous
//! word fewer properties matter than of the word itself.

use std::ops::Range;
use std::sync::OnceLock;

/// The features of the types of one column, and each token's type.
///
/// Type 0 is the outside of a note: positions before the first token and after the last have it.
#[derive(Clone, Debug)]
pub struct Table {
    /// The end of each part of each type's features in `features`: the parts of the first type, then those
    /// of the second, and so on.
    pub ends: Vec<u32>,
    /// Hashes of features, grouped by type. Features are binary: present or absent.
    pub features: Vec<u64>,
    /// Each token's type, for the concatenated tokens of all notes.
    pub ids: Vec<u32>,
    /// The parts of a type, at least 1.
    pub parts: usize,
    /// See [`Table::keys`].
    pub(crate) keys: OnceLock<Vec<u64>>,
}

impl Default for Table {
    fn default() -> Self {
        Self::new(Vec::new(), Vec::new(), Vec::new())
    }
}

impl Table {
    /// Creates a table of these types, of one part each, and tokens; the fields describe their layout.
    pub const fn new(ends: Vec<u32>, features: Vec<u64>, ids: Vec<u32>) -> Self {
        Self {
            ends,
            features,
            ids,
            parts: 1,
            keys: OnceLock::new(),
        }
    }

    /// Returns the number of types, the outside one included.
    pub fn types(&self) -> usize {
        self.ends.len() / self.parts
    }

    /// Returns the features of a part of a type.
    ///
    /// # Panics
    /// If the type or the part does not exist.
    pub fn of(&self, id: u32, part: u8) -> &[u64] {
        let at = id as usize * self.parts + usize::from(part);
        self.between(at, at + 1)
    }

    /// Returns the features of these parts of types, counted from the first part of the first type.
    fn between(&self, first: usize, end: usize) -> &[u64] {
        let start = first
            .checked_sub(1)
            .map_or(0, |before| self.ends[before] as usize);
        &self.features[start..self.ends[end - 1] as usize]
    }

    /// Returns a key of each type's features: types with equal features have the same key in every batch, and
    /// others another one; a collision is as unlikely as a memory error. Unless the table was made with keys,
    /// they are computed on the first request, for all members.
    pub(crate) fn keys(&self) -> &[u64] {
        self.keys.get_or_init(|| {
            let key = |id| {
                let features = self.between(id * self.parts, (id + 1) * self.parts);
                features.iter().fold(1, |key: u64, &feature| {
                    (key ^ feature)
                        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                        .rotate_left(29)
                })
            };
            (0..self.types()).map(key).collect()
        })
    }
}

/// A table read at an offset: token `i` has the features of a part of the type of token `i + shift` of its
/// note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// Index of the table.
    pub table: usize,
    /// The part of each type's features.
    pub part: u8,
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

impl View {
    /// Creates a view of a table whose types have one part.
    pub const fn new(table: usize, shift: i8) -> Self {
        Self {
            table,
            part: 0,
            shift,
        }
    }
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
            views: vec![View::new(0, -1), View::new(0, 1)],
        };
        let ids = |view: usize, note: usize| -> Vec<u32> {
            let range = &columns.notes[note];
            (0..range.len())
                .map(|i| columns.id(columns.views[view], range, i))
                .collect()
        };
        assert_eq!((ids(0, 0), ids(1, 0)), (vec![0, 1], vec![2, 0]));
        assert_eq!((ids(0, 1), ids(1, 1)), (vec![0], vec![0]));
        assert_eq!(columns.tables[0].of(0, 0), [9]);
        assert_eq!(columns.tables[0].of(1, 0), [10, 11]);
        assert_eq!(columns.tokens(), 3);
    }

    #[test]
    fn a_type_has_its_features_in_parts_and_one_key() {
        let table = Table {
            parts: 2,
            ..Table::new(vec![1, 1, 3, 4], vec![9, 10, 11, 12], vec![1])
        };
        assert_eq!(table.types(), 2);
        let parts = [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(id, part)| table.of(id, part).to_vec());
        assert_eq!(parts, [vec![9], vec![], vec![10, 11], vec![12]]);
        let one = Table::new(vec![1, 4], vec![9, 10, 11, 12], vec![1]);
        assert_eq!(table.keys(), one.keys());
        assert_ne!(table.keys()[0], table.keys()[1]);
    }
}
