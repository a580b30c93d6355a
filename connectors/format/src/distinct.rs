//! An index of distinct values.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasher as _, Hash, RandomState};

/// The positions of distinct values in a list of the caller: 12 bytes for each, while a set would hold the
/// values twice.
#[derive(Debug, Default)]
pub(crate) struct Distinct {
    hasher: RandomState,
    /// Positions by the value's hash, or by the next free number.
    places: HashMap<u64, u32>,
}

impl Distinct {
    /// Returns the position of a value with the identity `key`; `is_at` compares it with the value at a
    /// position. `None` if it is new: the caller then appends it to its list.
    ///
    /// No message has more than 4 billion values. In a longer list, later values would be appended
    /// repeatedly.
    pub(crate) fn place(&mut self, key: &impl Hash, is_at: impl Fn(usize) -> bool) -> Option<usize> {
        let next = u32::try_from(self.places.len()).unwrap_or(u32::MAX);
        let mut hash = self.hasher.hash_one(key);
        loop {
            match self.places.entry(hash) {
                Entry::Occupied(place) if is_at(*place.get() as usize) => return Some(*place.get() as usize),
                Entry::Occupied(_) => hash = hash.wrapping_add(1),
                Entry::Vacant(free) => {
                    free.insert(next);
                    return None;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key whose hash is always the same.
    struct Same;

    impl Hash for Same {
        fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
    }

    #[test]
    fn a_value_has_one_place_also_where_hashes_collide() {
        let (mut distinct, mut colliding) = (Distinct::default(), Distinct::default());
        let mut seen: Vec<u32> = Vec::new();
        for value in [7, 9, 7, 11, 9, 7] {
            let known = seen.iter().position(|&one| one == value);
            assert_eq!(distinct.place(&value, |at| seen[at] == value), known);
            assert_eq!(colliding.place(&Same, |at| seen[at] == value), known);
            if known.is_none() {
                seen.push(value);
            }
        }
        assert_eq!(seen, [7, 9, 11]);
    }
}
