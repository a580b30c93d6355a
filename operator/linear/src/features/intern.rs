//! Tables under construction: values are interned as types.

use std::sync::OnceLock;

use lethe_core::vec_bytes;

use crate::Table;

/// Numbers for 64-bit keys, in the order in which they occur. Open addressing with linear probing, at most
/// half full.
#[derive(Default)]
pub(super) struct Interner {
    /// Key and id; an id of 0 marks a free slot, since type 0 is the outside.
    slots: Vec<(u64, u32)>,
    len: usize,
}

impl Interner {
    /// Returns the bytes of memory that it takes.
    pub(super) const fn bytes(&self) -> usize {
        vec_bytes(&self.slots)
    }

    /// Forgets everything and reserves room for `expected` keys.
    pub(super) fn reset(&mut self, expected: usize) {
        let wanted = (expected * 2).next_power_of_two().max(64);
        if wanted > self.slots.len() || wanted * 8 < self.slots.len() {
            self.slots = vec![(0, 0); wanted];
        } else {
            self.slots.fill((0, 0));
        }
        self.len = 0;
    }

    /// Returns the number of `key`; `next` if it is new, and then `true`.
    #[inline]
    pub(super) fn id(&mut self, key: u64, next: u32) -> (u32, bool) {
        if self.len * 2 >= self.slots.len() {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let mut at = key as usize & mask;
        loop {
            let (held, id) = self.slots[at];
            if id == 0 {
                self.slots[at] = (key, next);
                self.len += 1;
                return (next, true);
            }
            if held == key {
                return (id, false);
            }
            at = (at + 1) & mask;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(64);
        let old = std::mem::replace(&mut self.slots, vec![(0, 0); size]);
        for (key, id) in old.into_iter().filter(|&(_, id)| id != 0) {
            let mut at = key as usize & (size - 1);
            while self.slots[at].1 != 0 {
                at = (at + 1) & (size - 1);
            }
            self.slots[at] = (key, id);
        }
    }
}

/// A table that identifies types by a key.
pub(super) struct Interned<'s> {
    table: Table,
    /// The key of each type.
    keys: Vec<u64>,
    interner: &'s mut Interner,
}

impl<'s> Interned<'s> {
    /// Creates an empty table for `tokens` tokens with about `types` types. The outside of a note has no
    /// features.
    pub(super) fn new(interner: &'s mut Interner, tokens: usize, types: usize) -> Self {
        interner.reset(types);
        Self {
            table: Table {
                ends: vec![0],
                features: Vec::new(),
                ids: Vec::with_capacity(tokens),
                ..Table::default()
            },
            keys: vec![0],
            interner,
        }
    }

    /// Adds a token whose features `make` writes; they are the same for every token with this key, in every
    /// batch. The key's lower bits must be well mixed.
    #[inline]
    pub(super) fn push(&mut self, key: u64, make: impl FnOnce(&mut Vec<u64>)) {
        let next = self.table.ends.len() as u32;
        let (id, new) = self.interner.id(key, next);
        if new {
            make(&mut self.table.features);
            self.table.ends.push(self.table.features.len() as u32);
            self.keys.push(key);
        }
        self.table.ids.push(id);
    }

    /// Returns the table.
    pub(super) fn into_table(self) -> Table {
        Table {
            keys: OnceLock::from(self.keys),
            ..self.table
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_numbered_once_however_many_there_are() {
        let mut interner = Interner::default();
        interner.reset(3);
        let numbered = |interner: &mut Interner| -> Vec<u32> {
            (0..1000u32)
                .map(|key| interner.id(u64::from(key) << 40, key + 1).0)
                .collect()
        };
        let first = numbered(&mut interner);
        assert_eq!(first, (1..=1000).collect::<Vec<_>>());
        assert_eq!(numbered(&mut interner), first);
    }

    #[test]
    fn a_types_features_are_made_once() {
        let mut interner = Interner::default();
        let mut table = Interned::new(&mut interner, 3, 3);
        for (key, value) in [(1, 10), (2, 20), (1, 99)] {
            table.push(key, |out| out.push(value));
        }
        let table = table.into_table();
        assert_eq!(table.ids, [1, 2, 1]);
        assert!(table.of(0, 0).is_empty());
        assert_eq!(table.of(1, 0), [10]);
        assert_eq!(table.types(), 3);
        assert_eq!(table.keys(), [0, 1, 2]);
    }
}
