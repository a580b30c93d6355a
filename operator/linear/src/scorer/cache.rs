//! Rows of types by their features, cached between batches, since the same words recur.

use lethe_core::vec_bytes;

use super::{Ahead, HANDS};
use crate::model::Lookup;
use crate::{Table, kernel, salted};

/// The bytes of rows beyond which nothing is kept for the next batch: enough for most words of most batches.
const MOST_BYTES: usize = 16 << 20;

/// The slots of a new cache, and of one that has grown as far as it may; powers of two.
const FIRST_SLOTS: usize = 1 << 12;
const MOST_SLOTS: usize = 1 << 18;

/// The index of the row of zeros, which is never added.
pub(super) const ZERO: u32 = 0;

/// How far ahead of the look-ups keys are prefetched.
const AHEAD: usize = 8;

/// The cache of one thread for a model's types.
#[derive(Default)]
pub(crate) struct Cache {
    /// By hash: a key, 0 for a free slot, and the index of its list of rows.
    slots: Vec<(u64, u32)>,
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
    /// Returns the bytes of memory that it takes.
    pub(crate) fn bytes(&self) -> usize {
        let hands: usize = self.hands.iter().map(Ahead::bytes).sum();
        vec_bytes(&self.slots) + vec_bytes(&self.lists) + vec_bytes(&self.rows) + hands
    }

    /// Begins a batch, and resets the cache if it is too large.
    pub(super) fn begin(&mut self, width: usize) {
        if self.slots.is_empty() || self.used > MOST_SLOTS / 4 || size_of_val(&*self.rows) > MOST_BYTES {
            // Keeps the memory: to get it anew from the system takes as long as to compute the rows.
            let slots = self.slots.len().max(FIRST_SLOTS);
            self.slots.clear();
            self.slots.resize(slots, (0, 0));
            self.lists.clear();
            self.rows.clear();
            self.rows.resize(width, 0);
            self.used = 0;
        }
    }

    /// Returns for each type of a table its row in each of the views, and computes missing rows. Of each view
    /// it is given the number and the part that it reads.
    pub(super) fn rows_of(
        &mut self,
        weights: &Lookup,
        table: &Table,
        number: usize,
        views: &[(usize, u8)],
    ) -> Vec<u32> {
        let keys = table.keys();
        let key = |id: usize| salted(keys[id], number);
        let mut list = vec![ZERO; keys.len() * views.len()];
        self.missing.clear();
        for (id, row) in list.chunks_exact_mut(views.len()).enumerate() {
            if id + AHEAD < keys.len() {
                let soon = self.first_place(key(id + AHEAD));
                kernel::fetch(&self.slots[soon..=soon]);
            }
            match self.find(key(id)) {
                Ok(at) => {
                    let start = self.slots[at].1 as usize;
                    row.copy_from_slice(&self.lists[start..start + views.len()]);
                }
                Err(_) => self.missing.push(id as u32),
            }
        }
        self.make(weights, table, views, &mut list);
        let missing = std::mem::take(&mut self.missing);
        for &id in &missing {
            // The table stays at most half full. For a batch with very many types, the rest is computed each
            // time.
            if self.used == self.slots.len() / 2 {
                if self.slots.len() == MOST_SLOTS {
                    break;
                }
                self.grow();
            }
            let id = id as usize;
            if let Err(free) = self.find(key(id)) {
                self.used += 1;
                self.slots[free] = (key(id), self.lists.len() as u32);
                self.lists
                    .extend_from_slice(&list[id * views.len()..][..views.len()]);
            }
        }
        self.missing = missing;
        list
    }

    /// Doubles the number of slots.
    fn grow(&mut self) {
        // Written at once: the system would map zeros that are read first a second time when they are written.
        let mut larger = Vec::with_capacity(self.slots.len() * 2);
        larger.resize(self.slots.len() * 2, (0, 0));
        for (key, list) in std::mem::replace(&mut self.slots, larger) {
            if let (true, Err(free)) = (key != 0, self.find(key)) {
                self.slots[free] = (key, list);
            }
        }
    }

    fn first_place(&self, key: u64) -> usize {
        (key >> 32) as usize & (self.slots.len() - 1)
    }

    /// Returns the index of a key, or else the free slot for it.
    fn find(&self, key: u64) -> Result<usize, usize> {
        let mut at = self.first_place(key);
        while self.slots[at].0 != 0 {
            if self.slots[at].0 == key {
                return Ok(at);
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
        Err(at)
    }

    /// Computes the rows of the missing types in each of the views, and writes them into the list.
    fn make(&mut self, weights: &Lookup, table: &Table, views: &[(usize, u8)], list: &mut [u32]) {
        let width = weights.width();
        let sums = &mut [0i16; 256][..width];
        let count = self.missing.len() * views.len();
        for i in 0..count + HANDS - 1 {
            if i < count {
                let newest = &mut self.hands[i % HANDS];
                newest.hashes.clear();
                newest.rows.clear();
                let (view, part) = views[i % views.len()];
                let features = table.of(self.missing[i / views.len()], part);
                newest.hash(weights, features, view);
            }
            if let Some(t) = i.checked_sub(1).filter(|&t| t < count) {
                self.hands[t % HANDS].keep(weights);
            }
            if let Some(t) = i.checked_sub(2).filter(|&t| t < count) {
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

#[cfg(test)]
mod tests {
    use lethe_learn::{Scheme, TagSet};

    use super::*;
    use crate::States;
    use crate::chain::Layout;
    use crate::model::{Form, Model, Weight};

    #[test]
    fn types_keep_their_rows_when_the_table_grows() {
        let states = States::new(TagSet::new(Scheme::Bio, vec!["A".to_owned()])).unwrap();
        let types = FIRST_SLOTS as u64;
        let feature = |id: u64| (id + 1) << 30;
        let weight = |id| Weight {
            hash: salted(feature(id), 0),
            state: states.of(1),
            weight: 1.0 + id as f32,
            count: 1,
        };
        let steps = vec![0.0; Layout::of(&states).len()];
        let weights = (0..types).map(weight).collect();
        let model = Model::of_weights(&states, Form::Chain, weights, types as f32, steps, Vec::new());
        let table = Table::new(
            (0..=types as u32).collect(),
            (0..types).map(feature).collect(),
            vec![1],
        );
        let mut cache = Cache::default();
        cache.begin(states.width());
        let computed = cache.rows_of(model.lookup(), &table, 0, &[(0, 0)]);
        assert!(cache.slots.len() > FIRST_SLOTS && cache.used * 2 <= cache.slots.len());
        let rows = cache.rows.clone();
        let cached = cache.rows_of(model.lookup(), &table, 0, &[(0, 0)]);
        assert_eq!(cached, computed);
        assert_eq!(cache.rows, rows, "no row is computed again");
        let own = |id: u64| {
            let row = cached[id as usize + 1] as usize * states.width();
            f32::from(rows[row + usize::from(states.of(1))]) * model.scale()
        };
        for id in [0, 9, types / 2, types - 1] {
            assert!(
                (own(id) - 1.0 - id as f32).abs() <= model.scale(),
                "{id}: {}",
                own(id)
            );
        }
    }
}
