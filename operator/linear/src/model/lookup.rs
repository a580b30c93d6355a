//! A model's weights in a table for fast look-ups, which are needed for every feature of every token.
//!
//! A filter answers for most of the features that the model does not have. Among the others, features with
//! weights of many states have rows over all states, the rest entries of state and weight.

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
    /// By hash: a part of the hash, 0 for a free slot, and the position of the weights.
    table: Vec<(u32, Place)>,
    entries: Vec<(u8, i16)>,
    /// Rows over the states, the first all zeros.
    rows: Vec<i16>,
}

impl Lookup {
    /// Builds the table for rows of `width` states: features by the upper 40 bits of their hashes, the number
    /// of weights of each, and the weights grouped by feature.
    pub(crate) fn new(width: usize, hashes: &[u64], counts: &[u8], mut weights: &[(u8, i16)]) -> Self {
        // At most half full; between 8 and 22 bits, which the 40 known bits hold together with a tag of 32
        // bits.
        let bits = (hashes.len() * 2)
            .next_power_of_two()
            .trailing_zeros()
            .clamp(8, 22);
        let dense = |count: u8| usize::from(count) * DENSE >= width;
        let dense_rows = counts.iter().filter(|&&count| dense(count)).count();
        let sparse_counts = counts.iter().filter(|&&count| !dense(count));
        let sparse_entries = sparse_counts.map(|&count| usize::from(count)).sum();
        let mut rows = Vec::with_capacity((1 + dense_rows) * width);
        rows.resize(width, 0);
        let mut lookup = Self {
            width,
            shift: 64 - bits,
            filter: vec![0; (1 << (bits + FILTER)) / 64],
            table: vec![(0, Place::NONE); 1 << bits],
            entries: Vec::with_capacity(sparse_entries),
            rows,
        };
        for (&hash, &count) in hashes.iter().zip(counts) {
            let (own, rest) = weights.split_at(count.into());
            weights = rest;
            let place = lookup.place(own, count);
            lookup.insert(hash << 24, place);
        }
        lookup
    }

    /// Stores a feature's weights.
    fn place(&mut self, own: &[(u8, i16)], count: u8) -> Place {
        if own.len() * DENSE < self.width {
            let first = self.entries.len() as u32;
            self.entries.extend_from_slice(own);
            return Place::entries(first, count);
        }
        let start = self.rows.len();
        self.rows.resize(start + self.width, 0);
        for &(state, weight) in own {
            self.rows[start + usize::from(state)] = weight;
        }
        Place::of_row(start / self.width)
    }

    fn insert(&mut self, hash: u64, place: Place) {
        let part = (hash >> (self.shift - FILTER)) as usize;
        self.filter[part / 64] |= 1 << (part % 64);
        let mut at = (hash >> self.shift) as usize;
        while self.table[at].0 != 0 {
            at = (at + 1) & (self.table.len() - 1);
        }
        self.table[at] = (mark(hash), place);
    }

    /// Returns the numbers per row.
    pub(crate) const fn width(&self) -> usize {
        self.width
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
                return place;
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
