//! Lists by index, sets of them, and their metadata.

use std::fmt;
use std::ops::{BitAnd, BitOr, Sub};

use crate::source::{MatchMode, Role};

/// A list's index in its dictionary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListId(pub(crate) u8);

impl ListId {
    /// Returns the index as a number, for tables with one row per list.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A set of a dictionary's lists.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ListSet(pub(crate) u128);

impl ListSet {
    /// No list.
    pub const EMPTY: Self = Self(0);
    /// All possible lists.
    pub const ALL: Self = Self(u128::MAX);

    /// Returns whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the number of lists.
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Returns whether the set contains `list`.
    pub const fn contains(self, list: ListId) -> bool {
        self.0 >> list.0 & 1 == 1
    }

    /// Returns whether both sets share a list.
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns the lists in the order of their indices.
    pub fn iter(self) -> impl Iterator<Item = ListId> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let place = rest.trailing_zeros();
            rest &= rest.checked_sub(1)?;
            Some(ListId(place as u8))
        })
    }
}

impl From<ListId> for ListSet {
    fn from(list: ListId) -> Self {
        Self(1 << list.0)
    }
}

impl FromIterator<ListId> for ListSet {
    fn from_iter<I: IntoIterator<Item = ListId>>(lists: I) -> Self {
        lists.into_iter().fold(Self::EMPTY, |set, list| set | list.into())
    }
}

impl BitOr for ListSet {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitAnd for ListSet {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl Sub for ListSet {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl fmt::Debug for ListSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(|list| list.0)).finish()
    }
}

/// The metadata of a list: its `SOURCE.toml` and its size.
#[derive(Clone, Debug)]
pub struct ListInfo {
    /// Its index.
    pub list: ListId,
    /// Its folder's name.
    pub id: String,
    /// Its content, in one line.
    pub title: String,
    /// Package and version, or the compiler of the list.
    pub origin: String,
    /// SPDX identifier, or "public domain".
    pub licence: String,
    /// The attribution that the licence requires; may be empty.
    pub attribution: String,
    /// Day on which the items were made, `YYYY-MM-DD`.
    pub date: String,
    /// ISO 639-1 code, or "any".
    pub language: String,
    /// The label that an entry suggests; empty for cues and exceptions.
    pub label: String,
    /// The meaning of an entry's number; empty if the list has no numbers.
    pub number: String,
    /// How closely text must match an entry.
    pub match_mode: MatchMode,
    /// The role of the entries.
    pub role: Role,
    /// Number of compiled entries.
    pub entries: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_lists_its_members_in_order() {
        let set: ListSet = [ListId(127), ListId(0), ListId(5)].into_iter().collect();
        assert_eq!(set.iter().map(ListId::index).collect::<Vec<_>>(), [0, 5, 127]);
        assert_eq!(set.len(), 3);
        assert!((set - set).is_empty() && ListSet::EMPTY.iter().next().is_none());
    }
}
