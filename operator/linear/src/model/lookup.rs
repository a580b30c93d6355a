//! A model's weights in a table for fast look-ups, which are needed for every feature of every token.
//!
//! A filter answers for most of the features that the model does not have. Among the others, features with
//! weights of many states have rows over all states, the rest entries of state and weight.

use super::packed::Packed;
use crate::kernel::{self, Rows};

/// A feature with weights for at least one in this many states has a row.
const DENSE: usize = 6;

/// The parts of a slot of the table, as a power of 2.
const FILTER: u32 = 3;

/// The position of a feature's weights: the first entry (24 bits) and the number of entries (8), or, if that
/// is 0, the number of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place(u32);

impl Place {
    /// The position for a missing feature: the row of zeros.
    const NONE: Self = Self(0);

    const fn entries(first: u32, count: u8) -> Self {
        Self(first << 8 | count as u32)
    }

    const fn of_row(row: usize) -> Self {
        Self((row as u32) << 8)
    }

    /// Returns the number of the row; `None` if the feature has no row.
    #[inline]
    pub(crate) const fn row(self) -> Option<u32> {
        if self.0 & 255 == 0 {
            Some(self.0 >> 8)
        } else {
            None
        }
    }
}

/// Weights by the hashes of features.
#[derive(Clone, Debug)]
pub(crate) struct Lookup {
    width: usize,
    shift: u32,
    /// One bit for each part of a slot of the table, set if a feature's hash falls there. Small enough for
    /// the cache.
    filter: Vec<u64>,
    /// By hash: a part of the hash, 0 for a free slot, and the [`Place`] of the weights. Plain numbers, so that
    /// the allocator's zeros need not be written again.
    table: Vec<(u32, u32)>,
    entries: Vec<(u8, i16)>,
    /// Rows over the states, the first all zeros.
    rows: Vec<i16>,
}

impl Lookup {
    /// Builds the table of a model's weights, for rows of `width` states.
    pub(super) fn new(width: usize, packed: &Packed) -> Self {
        let (features, _) = packed.size();
        // At most half full; between 8 and 22 bits, which the 40 known bits hold together with a tag of 32
        // bits.
        let bits = (features * 2).next_power_of_two().trailing_zeros().clamp(8, 22);
        let is_dense = |count: usize| count * DENSE >= width;
        let (mut dense, mut sparse) = (0, 0);
        for count in packed.counts().iter().map(|&count| usize::from(count)) {
            if is_dense(count) {
                dense += 1;
            } else {
                sparse += count;
            }
        }
        let mut lookup = Self {
            width,
            shift: 64 - bits,
            filter: vec![0; (1 << (bits + FILTER)) / 64],
            table: vec![(0, 0); 1 << bits],
            entries: Vec::with_capacity(sparse),
            rows: vec![0; (1 + dense) * width],
        };
        let mut rows = 1;
        for (hash, own) in packed.features() {
            let place = if is_dense(own.len()) {
                let row = &mut lookup.rows[rows * width..][..width];
                own.iter()
                    .for_each(|(state, weight)| row[usize::from(state)] = weight);
                rows += 1;
                Place::of_row(rows - 1)
            } else {
                let first = lookup.entries.len() as u32;
                lookup.entries.extend(own.iter());
                Place::entries(first, own.len() as u8)
            };
            lookup.insert(hash << 24, place);
        }
        lookup
    }

    fn insert(&mut self, hash: u64, place: Place) {
        let part = (hash >> (self.shift - FILTER)) as usize;
        self.filter[part / 64] |= 1 << (part % 64);
        let mut at = (hash >> self.shift) as usize;
        while self.table[at].0 != 0 {
            at = (at + 1) & (self.table.len() - 1);
        }
        self.table[at] = (mark(hash), place.0);
    }

    /// Returns the numbers per row.
    pub(crate) const fn width(&self) -> usize {
        self.width
    }

    /// Prefetches what [`Lookup::may_have`] reads of a feature.
    #[inline]
    pub(crate) fn fetch_filter(&self, hash: u64) {
        let part = (hash >> (self.shift - FILTER)) as usize;
        kernel::fetch(&self.filter[part / 64..=part / 64]);
    }

    /// Returns whether the feature may exist. `false` is certain.
    #[inline]
    pub(crate) fn may_have(&self, hash: u64) -> bool {
        let part = (hash >> (self.shift - FILTER)) as usize;
        self.filter[part / 64] >> (part % 64) & 1 != 0
    }

    /// Prefetches the slot of a feature for a later look-up.
    #[inline]
    pub(crate) fn fetch(&self, hash: u64) {
        let at = (hash >> self.shift) as usize;
        kernel::fetch(&self.table[at..=at]);
    }

    /// Returns the position of a feature's weights.
    #[inline]
    pub(crate) fn locate(&self, hash: u64) -> Place {
        let wanted = mark(hash);
        let mut at = (hash >> self.shift) as usize;
        loop {
            let (found, place) = self.table[at];
            if found == wanted {
                return Place(place);
            }
            if found == 0 {
                return Place::NONE;
            }
            at = (at + 1) & (self.table.len() - 1);
        }
    }

    /// Returns the entries at a position without a row.
    #[inline]
    fn at(&self, Place(place): Place) -> &[(u8, i16)] {
        let start = (place >> 8) as usize;
        &self.entries[start..start + (place & 255) as usize]
    }

    /// Prefetches the weights at a position for a later addition.
    #[inline]
    pub(crate) fn fetch_weights(&self, place: Place) {
        match place.row() {
            Some(row) => kernel::fetch(&self.rows[row as usize * self.width..][..self.width]),
            None => kernel::fetch(self.at(place)),
        }
    }

    /// Adds the weights at positions without rows to a row over the states.
    #[inline]
    pub(crate) fn add(&self, places: &[Place], sums: &mut [i32]) {
        for &place in places {
            for &(state, weight) in self.at(place) {
                sums[state as usize] += i32::from(weight);
            }
        }
    }

    /// Returns all rows, which positions refer to.
    pub(crate) fn rows(&self) -> &[i16] {
        &self.rows
    }

    /// Computes the sums of the weights of these features.
    pub(crate) fn sum(&self, hashes: &[u64], sums: &mut [i16]) {
        let places = hashes.iter().map(|&hash| self.locate(hash));
        let (dense, sparse): (Vec<Place>, Vec<Place>) = places.partition(|place| place.row().is_some());
        let dense: Vec<u32> = dense.into_iter().filter_map(Place::row).collect();
        let mut added = vec![0; self.width];
        self.add(&sparse, &mut added);
        let rows = Rows {
            all: &self.rows,
            which: &dense,
        };
        kernel::sum_rows([rows], &added, sums);
    }
}

/// Returns the part of a hash that distinguishes features of neighbouring slots: bits 24 to 55, and never 0.
#[inline]
const fn mark(hash: u64) -> u32 {
    (hash >> 24) as u32 | 1
}
