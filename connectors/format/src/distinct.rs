//! Which of the values that were seen is this one.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasher as _, Hash, RandomState};

/// The places of distinct values in a list that somebody else keeps: 12 bytes for each, where a set of the values would hold them twice.
#[derive(Debug, Default)]
pub(crate) struct Distinct {
    hasher: RandomState,
    /// Places by the value's hash, or by the next number that was free.
    places: HashMap<u64, u32>,
}

impl Distinct {
    /// The place of a value whose identity is `key`; `is_at` compares it with the one at a place. None if it is new: the caller
    /// then adds it at the end of its list.
    ///
    /// A list of more than 4 billion values is beyond any message. In one, the values after those would be added again and again.
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

    /// A key whose hash is that of all others.
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
