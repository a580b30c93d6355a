//! Lists by number, sets of them, and what a dictionary knows of each.

use std::fmt;
use std::ops::{BitAnd, BitOr, Sub};

use crate::source::{MatchMode, Role};

/// A list's place in its dictionary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListId(pub(crate) u8);

impl ListId {
    /// The place as a number, for tables with a row a list.
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
    /// Every list that there can be.
    pub const ALL: Self = Self(u128::MAX);

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// How many.
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether `list` is one of them.
    pub const fn contains(self, list: ListId) -> bool {
        self.0 >> list.0 & 1 == 1
    }

    /// Whether some list is in both.
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The lists, in the order of their places.
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

/// What a dictionary knows of one of its lists: its `SOURCE.toml` and its size.
#[derive(Clone, Debug)]
pub struct ListInfo {
    /// Its place.
    pub list: ListId,
    /// Its folder's name.
    pub id: String,
    /// What it holds, in a line.
    pub title: String,
    /// Package and version, or who compiled it.
    pub origin: String,
    /// SPDX identifier, or "public domain".
    pub licence: String,
    /// The attribution that the licence asks for; may be empty.
    pub attribution: String,
    /// Day the items were made, `YYYY-MM-DD`.
    pub date: String,
    /// ISO 639-1 code, or "any".
    pub language: String,
    /// Label that an entry suggests; empty for cues and exceptions.
    pub label: String,
    /// What the number beside an entry counts; empty if there is none.
    pub number: String,
    /// How text must resemble an entry.
    pub match_mode: MatchMode,
    /// What the entries say.
    pub role: Role,
    /// Entries compiled.
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
