//! Rows of types by their features, cached between batches, since the same words recur.

use super::{Ahead, HANDS};
use crate::model::Lookup;
use crate::{Table, kernel, salted};

/// The most types that are cached between batches: some MB of rows, and most words of most batches.
const MOST_TYPES: usize = 1 << 16;

/// The index of the row of zeros, which is never added.
pub(super) const ZERO: u32 = 0;

/// How far ahead of the look-ups keys are prefetched.
const AHEAD: usize = 8;

/// The cache of one thread for a model's types.
#[derive(Default)]
pub(crate) struct Cache {
    /// Keys by hash, 0 for free slots.
    keys: Vec<u64>,
    /// The index of each key's list of rows.
    at: Vec<u32>,
    /// For each type one row per view of its table.
    lists: Vec<u32>,
    /// Rows, one after another; row 0 is all zeros.
    pub(super) rows: Vec<i16>,
    used: usize,
    /// The new types of a table.
    missing: Vec<u32>,
    pub(super) hands: [Ahead; HANDS],
}

impl Cache {
    /// Begins a batch, and resets the cache if it is too large.
    pub(super) fn begin(&mut self, width: usize) {
        if self.keys.is_empty() || self.used > MOST_TYPES {
            self.keys = vec![0; 4 * MOST_TYPES];
            self.at = vec![0; 4 * MOST_TYPES];
            self.lists.clear();
            self.rows = vec![0; width];
            self.used = 0;
        }
    }

    /// Returns for each type of a table its row in each of the views, and computes missing rows.
    pub(super) fn rows_of(
        &mut self,
        weights: &Lookup,
        table: &Table,
        number: usize,
        views: &[usize],
    ) -> Vec<u32> {
        let keys = table.keys();
        let key = |id: usize| salted(keys[id], number);
        let mut list = vec![ZERO; keys.len() * views.len()];
        self.missing.clear();
        for (id, row) in list.chunks_exact_mut(views.len()).enumerate() {
            if id + AHEAD < keys.len() {
                let soon = self.first_place(key(id + AHEAD));
                kernel::fetch(&self.keys[soon..=soon]);
                kernel::fetch(&self.at[soon..=soon]);
            }
            match self.find(key(id)) {
                Ok(at) => {
                    let start = self.at[at] as usize;
                    row.copy_from_slice(&self.lists[start..start + views.len()]);
                }
                Err(_) => self.missing.push(id as u32),
            }
        }
        self.make(weights, table, views, &mut list);
        for &id in &self.missing {
            // For a batch with very many types, the table stays at most half full, and the rest is computed
            // each time.
            if self.used == self.keys.len() / 2 {
                break;
            }
            let id = id as usize;
            if let Err(free) = self.find(key(id)) {
                self.used += 1;
                self.keys[free] = key(id);
                self.at[free] = self.lists.len() as u32;
                self.lists
                    .extend_from_slice(&list[id * views.len()..][..views.len()]);
            }
        }
        list
    }

    fn first_place(&self, key: u64) -> usize {
        (key >> 32) as usize & (self.keys.len() - 1)
    }

    /// Returns the index of a key, or else the free slot for it.
    fn find(&self, key: u64) -> Result<usize, usize> {
        let mut at = self.first_place(key);
        while self.keys[at] != 0 {
            if self.keys[at] == key {
                return Ok(at);
            }
            at = (at + 1) & (self.keys.len() - 1);
        }
        Err(at)
    }

    /// Computes the rows of the missing types in each of the views, and writes them into the list.
    fn make(&mut self, weights: &Lookup, table: &Table, views: &[usize], list: &mut [u32]) {
        let width = weights.width();
        let sums = &mut [0i16; 256][..width];
        let count = self.missing.len() * views.len();
        for i in 0..count + HANDS - 1 {
            if i < count {
                let newest = &mut self.hands[i % HANDS];
                newest.hashes.clear();
                newest.rows.clear();
                let features = table.of(self.missing[i / views.len()]);
                newest.hash(weights, features, views[i % views.len()]);
            }
            if let Some(t) = i.checked_sub(1).filter(|&t| t < count) {
                self.hands[t % HANDS].locate(weights);
            }
            if let Some(t) = i.checked_sub(HANDS - 1) {
                self.hands[t % HANDS].add(weights, &self.rows, sums);
                if sums.iter().any(|&sum| sum != 0) {
                    let id = self.missing[t / views.len()] as usize;
                    list[id * views.len() + t % views.len()] = (self.rows.len() / width) as u32;
                    self.rows.extend_from_slice(sums);
                }
            }
        }
    }
}
