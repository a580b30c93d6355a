//! What a dictionary's lists say of one word or name.

use std::fmt;

use crate::dictionary::{Dictionary, NONE};
use crate::list::{ListId, ListSet};

/// Names the key of an [`Entry`] in four bytes: for callers who keep one for every token of a note.
/// [`Dictionary::entry_of`](crate::Dictionary::entry_of) gives the entry back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryId(pub(crate) u32);

impl Default for EntryId {
    /// That of no key.
    fn default() -> Self {
        Self(NONE)
    }
}

/// What the lists say of a key.
#[derive(Clone, Copy)]
pub struct Entry<'d> {
    dictionary: &'d Dictionary,
    record: u32,
    /// The number of `lists` among the dictionary's sets, [`NONE`] if it is unknown.
    set: u32,
    lists: ListSet,
}

impl<'d> Entry<'d> {
    /// What `lists`, each of which holds `record`, say of it.
    pub(crate) const fn new(dictionary: &'d Dictionary, record: u32, lists: ListSet) -> Self {
        Self {
            dictionary,
            record,
            set: NONE,
            lists,
        }
    }

    /// As [`Entry::new`], with the number of `lists`.
    pub(crate) const fn of_set(dictionary: &'d Dictionary, record: u32, lists: ListSet, set: u32) -> Self {
        Self {
            set,
            ..Self::new(dictionary, record, lists)
        }
    }

    pub(crate) const fn none(dictionary: &'d Dictionary) -> Self {
        Self::new(dictionary, NONE, ListSet::EMPTY)
    }

    /// Only what these lists say.
    #[must_use]
    pub fn within(self, lists: ListSet) -> Self {
        Self {
            lists: self.lists & lists,
            set: NONE,
            ..self
        }
    }

    /// The id of its key.
    pub const fn id(self) -> EntryId {
        EntryId(self.record)
    }

    /// The lists that hold it.
    pub const fn lists(self) -> ListSet {
        self.lists
    }

    /// The place of [`Entry::lists`] in [`Dictionary::list_sets`](crate::Dictionary::list_sets), if it is known: for tables with
    /// a row a set. `None` for entries that are restricted to some lists.
    #[inline]
    pub fn list_set(self) -> Option<usize> {
        (self.set != NONE).then_some(self.set as usize)
    }

    /// Whether no list holds it.
    pub const fn is_none(self) -> bool {
        self.lists.is_empty()
    }

    /// The lists that hold it as an exception: it is an ordinary word too and needs more evidence.
    pub fn exceptions(self) -> ListSet {
        self.dictionary.exceptions_of(self.record) & self.lists
    }

    /// Whether `list` holds it as an exception.
    pub fn is_exception(self, list: ListId) -> bool {
        self.exceptions().contains(list)
    }

    /// The number beside it in `list` ([`ListInfo::number`](crate::ListInfo::number) says of what); `None` if the list has
    /// no numbers or does not hold it.
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
