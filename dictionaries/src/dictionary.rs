//! The compiled dictionary at run time: one automaton over the keys of all lists, and the data of each key.

mod forms;
mod numbers;
mod parse;
mod starts;

use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use bytemuck::Zeroable;
use fst::raw::Fst;
use lethe_core::Caches;

use crate::entry::{Entry, EntryId};
use crate::joint::begins_alike;
use crate::key::{Key, SEPARATOR};
use crate::list::{ListId, ListInfo, ListSet};
use crate::matcher::{Matcher, WordCache};
use crate::near::NearIndex;
use crate::read::LoadError;
use crate::source::Role;
use forms::Forms;
use lethe_text::fold_char;
use numbers::Numbers;
use starts::Starts;

// `BUILTIN`, the built-in dictionary.
include!(concat!(env!("OUT_DIR"), "/builtin.rs"));

type Automaton = Fst<Vec<u8>>;

/// Names, places, institutions and ordinary words, ready to be matched against notes.
pub struct Dictionary {
    lists: Vec<ListInfo>,
    /// Sets of lists, with the subset that holds an exception; the sets of exact forms follow those of
    /// records.
    sets: Vec<(ListSet, ListSet)>,
    numbers: Numbers,
    forms: Vec<Forms>,
    records: Vec<Record>,
    automaton: Automaton,
    starts: Starts,
    near: NearIndex,
    /// Sorted nodes after which a word of a distance-1 list may follow.
    near_nodes: Vec<u32>,
    digest: [u8; 32],
    numbered: ListSet,
    distance1: ListSet,
    /// Word caches between uses, so that a matcher starts warm.
    caches: Caches<WordCache>,
}

#[derive(Clone, Copy)]
struct Record {
    set: u32,
    numbers: u32,
    /// Index of its exact forms, [`NONE`] if no exact list holds it.
    exacts: u32,
}

/// A position in the automaton: a node and the sum of outputs on the way to it.
#[derive(Clone, Copy, Zeroable)]
pub(crate) struct At {
    pub(crate) node: u32,
    pub(crate) sum: u32,
}

/// No list of the dictionary has this id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no list is named `{0}`")]
pub struct UnknownList(pub String);

impl Dictionary {
    /// Returns the dictionary of the bundled lists.
    pub fn builtin() -> Arc<Self> {
        static SHARED: OnceLock<Arc<Dictionary>> = OnceLock::new();
        let shared = SHARED.get_or_init(|| {
            // The build script wrote these bytes with the writer of this version; a test parses them.
            #[allow(clippy::expect_used)]
            let built = Dictionary::parse(BUILTIN.unpack(), false).expect("the built-in dictionary is whole");
            Arc::new(built)
        });
        Arc::clone(shared)
    }

    /// Returns the bytes of the dictionary of the bundled lists, as [`Dictionary::from_bytes`] reads them.
    pub fn builtin_bytes() -> Vec<u8> {
        BUILTIN.unpack()
    }

    /// Reads a file that [`compile`](crate::compile()) wrote.
    ///
    /// # Errors
    /// [`LoadError`].
    pub fn load(path: &Path) -> Result<Self, LoadError> {
        let bytes = std::fs::read(path).map_err(|source| LoadError::Read {
            path: path.into(),
            source,
        })?;
        Self::from_bytes(bytes)
    }

    /// Reads a dictionary from the bytes of [`compile`](crate::compile()).
    ///
    /// # Errors
    /// [`LoadError`].
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, LoadError> {
        Self::parse(bytes, true)
    }

    /// Returns the lists in the order of their indices.
    pub fn lists(&self) -> &[ListInfo] {
        &self.lists
    }

    /// Returns the list with the id `id`.
    ///
    /// # Errors
    /// [`UnknownList`] if it does not exist.
    pub fn list(&self, id: &str) -> Result<ListId, UnknownList> {
        let found = self.lists.iter().find(|list| list.id == id);
        found
            .map(|list| list.list)
            .ok_or_else(|| UnknownList(id.to_owned()))
    }

    /// Returns the lists with these ids.
    ///
    /// # Errors
    /// [`UnknownList`] for the first id that does not exist.
    pub fn set<'i>(&self, ids: impl IntoIterator<Item = &'i str>) -> Result<ListSet, UnknownList> {
        ids.into_iter().map(|id| self.list(id)).collect()
    }

    /// Returns the lists for which `wanted` holds.
    pub fn lists_where(&self, wanted: impl Fn(&ListInfo) -> bool) -> ListSet {
        self.lists
            .iter()
            .filter(|list| wanted(list))
            .map(|list| list.list)
            .collect()
    }

    /// Returns the lists with this role.
    pub fn role(&self, role: Role) -> ListSet {
        self.lists_where(|list| list.role == role)
    }

    /// Returns the lists whose entries suggest this label.
    pub fn labelled(&self, label: &str) -> ListSet {
        self.lists_where(|list| list.label == label)
    }

    /// Returns the list sets of its keys: with exact lists whatever the case, and with those of each exact
    /// form.
    pub fn list_sets(&self) -> impl Iterator<Item = ListSet> {
        self.sets.iter().map(|&(lists, _)| lists)
    }

    /// Returns the SHA-256 of the compiled content, for fingerprints of configurations and outputs.
    pub const fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    /// Returns the number of keys, including spelling variants.
    pub fn len(&self) -> usize {
        self.automaton.len()
    }

    /// Returns whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.automaton.is_empty()
    }

    /// Returns the entry of a single word, in any case and with any accents; [`Entry::lists`] is empty for an
    /// unknown one.
    ///
    /// Exact lists match only if the word is written in their form.
    pub fn word(&self, word: &str) -> Entry<'_> {
        let found = self.step_first(word).and_then(|at| self.record(at));
        self.entry_of(EntryId(found.unwrap_or(NONE)), word)
    }

    /// Returns the entry of one or more words, in any case and with any accents; [`Entry::lists`] is empty for
    /// an unknown one. Full stops and hyphens separate words like blanks.
    ///
    /// ```
    /// use lethe_dictionaries::Dictionary;
    ///
    /// let dictionary = Dictionary::builtin();
    /// let states = dictionary.list("us-states")?;
    /// assert!(dictionary.phrase("new york").lists().contains(states));
    /// # Ok::<(), lethe_dictionaries::UnknownList>(())
    /// ```
    pub fn phrase(&self, text: &str) -> Entry<'_> {
        let key = Key::of(text);
        let end = (key.folded.bytes()).try_fold(self.root(), |at, byte| self.step(at, byte));
        let found = end.and_then(|at| self.record(at));
        self.entry(found.unwrap_or(NONE), |form| form == key.exact)
    }

    /// Returns the entry of a single word by an earlier entry's id.
    pub fn entry_of(&self, id: EntryId, word: &str) -> Entry<'_> {
        self.entry(id.0, |form| begins_alike(form, word) && form == word)
    }

    /// Returns the entry with this id, restricted to these lists.
    pub const fn entry_in(&self, id: EntryId, lists: ListSet) -> Entry<'_> {
        Entry::new(self, id.0, lists)
    }

    /// Returns a matcher over this dictionary. It caches words: reuse it for as many notes as possible.
    pub fn matcher(&self) -> Matcher<'_> {
        Matcher::new(self, self.caches.take())
    }

    /// Returns the bytes of memory that the caches of matchers take.
    pub fn cache_bytes(&self) -> usize {
        self.caches.bytes()
    }

    pub(crate) const fn distance1(&self) -> ListSet {
        self.distance1
    }

    pub(crate) fn root(&self) -> At {
        At {
            // The parser refuses automatons of 4 GiB.
            node: self.automaton.root().addr() as u32,
            sum: 0,
        }
    }

    /// Follows one key byte.
    #[inline]
    pub(crate) fn step(&self, at: At, byte: u8) -> Option<At> {
        let node = self.automaton.node(at.node as usize);
        let edge = node.transition(node.find_input(byte)?);
        Some(At {
            node: edge.addr as u32,
            // Sums are record numbers, which fit.
            sum: at.sum + edge.out.value() as u32,
        })
    }

    /// Follows the folded form of `word`.
    #[inline]
    pub(crate) fn step_word(&self, mut at: At, word: &str) -> Option<At> {
        if word.is_ascii() {
            for byte in word.bytes() {
                at = self.step(at, byte.to_ascii_lowercase())?;
            }
            return Some(at);
        }
        let mut alive = Some(at);
        for c in word.chars() {
            fold_char(c, |folded| {
                let mut buffer = [0; 4];
                for byte in folded.encode_utf8(&mut buffer).bytes() {
                    alive = alive.and_then(|at| self.step(at, byte));
                }
            });
            alive?;
        }
        alive
    }

    /// Follows the folded form of `word` from the root.
    #[inline]
    pub(crate) fn step_first(&self, word: &str) -> Option<At> {
        match self.starts.of(word) {
            Some((at, rest)) => self.step_word(at?, rest),
            None => self.step_word(self.root(), word),
        }
    }

    /// Returns whether no key begins with a lower-case word, given as a number from its first byte on.
    /// Decides by three or four letters.
    #[inline]
    pub(crate) fn begins_nothing(&self, word: u128) -> bool {
        self.starts.is_nowhere(word as u32)
    }

    /// Follows a separator.
    pub(crate) fn step_apart(&self, at: At) -> Option<At> {
        self.step(at, SEPARATOR)
    }

    /// Returns the first bytes that can follow, by [`class`].
    pub(crate) fn classes(&self, at: At) -> u32 {
        let node = self.automaton.node(at.node as usize);
        node.transitions()
            .fold(0, |classes, edge| classes | class(edge.inp))
    }

    /// Returns whether a word of a distance-1 list may follow.
    pub(crate) fn takes_near(&self, at: At) -> bool {
        self.near_nodes.binary_search(&at.node).is_ok()
    }

    /// Returns the record of the key that ends here.
    #[inline]
    pub(crate) fn record(&self, at: At) -> Option<u32> {
        let node = self.automaton.node(at.node as usize);
        node.is_final()
            .then(|| at.sum + node.final_output().value() as u32)
    }

    /// Returns the lists of a record, including exact ones whatever the case.
    #[inline]
    pub(crate) fn lists_of(&self, record: u32) -> ListSet {
        let record = self.records.get(record as usize);
        record.map_or(ListSet::EMPTY, |record| self.sets[record.set as usize].0)
    }

    /// Returns the number of [`Dictionary::lists_of`] a record and the index of its exact forms, or [`NONE`].
    pub(crate) fn parts_of(&self, record: u32) -> (u32, u32) {
        self.records
            .get(record as usize)
            .map_or((NONE, NONE), |record| (record.set, record.exacts))
    }

    /// Returns the lists of a set by its number; none if it does not exist.
    #[inline]
    pub(crate) fn lists_of_set(&self, set: u32) -> ListSet {
        self.sets
            .get(set as usize)
            .map_or(ListSet::EMPTY, |&(lists, _)| lists)
    }

    /// Returns the entry of a record; `is_written` tests whether the text has this exact form.
    #[inline]
    pub(crate) fn entry(&self, record: u32, is_written: impl Fn(&str) -> bool) -> Entry<'_> {
        match self.records.get(record as usize) {
            Some(&Record { set, exacts, .. }) => self.entry_by(record, (set, exacts), is_written),
            None => Entry::none(self),
        }
    }

    /// Does the same as [`Dictionary::entry`] for callers with a cached result of [`Dictionary::parts_of`],
    /// so that records stay out of the CPU caches.
    #[inline]
    pub(crate) fn entry_by(
        &self,
        record: u32,
        (set, exacts): (u32, u32),
        is_written: impl Fn(&str) -> bool,
    ) -> Entry<'_> {
        let set = match self.forms.get(exacts as usize) {
            Some(forms) => forms.set(is_written),
            None => set,
        };
        let lists = self.sets[set as usize].0;
        Entry::of_set(self, record, lists, set)
    }

    /// Returns the lists that hold a record as an exception.
    pub(crate) fn exceptions_of(&self, record: u32) -> ListSet {
        let record = self.records.get(record as usize);
        record.map_or(ListSet::EMPTY, |record| self.sets[record.set as usize].1)
    }

    /// Returns the number of a record in `list`, if the list has numbers and holds it.
    pub(crate) fn number_of(&self, record: u32, list: ListId) -> Option<u32> {
        let record = self.records.get(record as usize)?;
        let held = self.sets[record.set as usize].0 & self.numbered;
        if !held.contains(list) {
            return None;
        }
        // Numbers follow the order of the lists that have one.
        let before = held.0 & ((1u128 << list.0) - 1);
        self.numbers
            .row(record.numbers as usize)
            .get(before.count_ones() as usize)
            .copied()
    }

    /// Returns the words of distance-1 lists.
    pub(crate) const fn near(&self) -> &NearIndex {
        &self.near
    }
}

impl fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dictionary({} lists, {} keys)", self.lists.len(), self.len())
    }
}

/// Returns one bit for the first byte of a folded word: a letter, any digit, each of the most frequent marks,
/// another mark, [`OUTSIDE`] ASCII, or the separator. A combining mark folds into nothing, so that anything
/// may follow it.
#[inline]
pub(crate) fn class(byte: u8) -> u32 {
    CLASSES[byte as usize]
}

/// A table, since branches on text without words would be mispredicted.
static CLASSES: [u32; 256] = {
    let mut classes = [OUTSIDE; 256];
    let mut byte = 0;
    while byte < 128 {
        classes[byte as usize] = match byte {
            b'a'..=b'z' => 1 << (byte - b'a'),
            b'A'..=b'Z' => 1 << (byte - b'A'),
            b'0'..=b'9' => 1 << 26,
            b'&' => 1 << 27,
            b'/' => 1 << 28,
            // A mark follows a separator and a separator never does, so both can have one bit. Addresses are
            // full of this mark, and keys are not.
            SEPARATOR | b'@' => 1 << 31,
            _ => 1 << 29,
        };
        byte += 1;
    }
    classes
};

/// The [`class`] of bytes outside ASCII.
pub(crate) const OUTSIDE: u32 = 1 << 30;

/// Means "no record" and "no word" in packed numbers.
pub(crate) const NONE: u32 = u32::MAX;
