//! The data of one word or name in a dictionary's lists.

use std::fmt;

use crate::dictionary::{Dictionary, NONE};
use crate::list::{ListId, ListSet};

/// Identifies the key of an [`Entry`] in four bytes, for callers who keep one per token.
/// [`Dictionary::entry_of`](crate::Dictionary::entry_of) returns the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryId(pub(crate) u32);

impl Default for EntryId {
    /// Returns the id of no key.
    fn default() -> Self {
        Self(NONE)
    }
}

/// The lists' data of a key.
#[derive(Clone, Copy)]
pub struct Entry<'d> {
    dictionary: &'d Dictionary,
    record: u32,
    /// Number of `lists` among the dictionary's sets, [`NONE`] if unknown.
    set: u32,
    lists: ListSet,
}

impl<'d> Entry<'d> {
    /// Returns the data of `record` in `lists`, each of which holds it.
    pub(crate) const fn new(dictionary: &'d Dictionary, record: u32, lists: ListSet) -> Self {
        Self {
            dictionary,
            record,
            set: NONE,
            lists,
        }
    }

    /// Does the same as [`Entry::new`] with the number of `lists`.
    pub(crate) const fn of_set(dictionary: &'d Dictionary, record: u32, lists: ListSet, set: u32) -> Self {
        Self {
            set,
            ..Self::new(dictionary, record, lists)
        }
    }

    pub(crate) const fn none(dictionary: &'d Dictionary) -> Self {
        Self::new(dictionary, NONE, ListSet::EMPTY)
    }

    /// Restricts the entry to these lists.
    #[must_use]
    pub fn within(self, lists: ListSet) -> Self {
        Self {
            lists: self.lists & lists,
            set: NONE,
            ..self
        }
    }

    /// Returns the id of its key.
    pub const fn id(self) -> EntryId {
        EntryId(self.record)
    }

    /// Returns the lists that hold it.
    pub const fn lists(self) -> ListSet {
        self.lists
    }

    /// Returns the index of [`Entry::lists`] in [`Dictionary::list_sets`](crate::Dictionary::list_sets), if
    /// known, for tables with one row per set. `None` for restricted entries.
    #[inline]
    pub fn list_set(self) -> Option<usize> {
        (self.set != NONE).then_some(self.set as usize)
    }

    /// Returns whether no list holds it.
    pub const fn is_none(self) -> bool {
        self.lists.is_empty()
    }

    /// Returns the lists that hold it as an exception: it is also an ordinary word and needs more evidence.
    pub fn exceptions(self) -> ListSet {
        self.dictionary.exceptions_of(self.record) & self.lists
    }

    /// Returns whether `list` holds it as an exception.
    pub fn is_exception(self, list: ListId) -> bool {
        self.exceptions().contains(list)
    }

    /// Returns its number in `list`, which counts [`ListInfo::number`](crate::ListInfo::number); `None` if
    /// the list has no numbers or does not hold it.
    pub fn frequency(self, list: ListId) -> Option<u32> {
        if self.lists.contains(list) {
            self.dictionary.number_of(self.record, list)
        } else {
            None
        }
    }
}

impl fmt::Debug for Entry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Entry({:?})", self.lists)
    }
}
