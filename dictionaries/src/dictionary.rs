//! The compiled dictionary at run time: one automaton over every list's keys, and what each key's lists say.

mod forms;
mod parse;
mod starts;

use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

use fst::raw::Fst;

use crate::entry::{Entry, EntryId};
use crate::joint::begins_alike;
use crate::key::SEPARATOR;
use crate::list::{ListId, ListInfo, ListSet};
use crate::matcher::{Cache, Matcher};
use crate::near::NearIndex;
use crate::read::LoadError;
use crate::source::Role;
use forms::Forms;
use lethe_text::fold_char;
use starts::Starts;

static BUILTIN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/builtin.dictionary"));

type Automaton = Fst<Cow<'static, [u8]>>;

/// Names, places, institutions and ordinary words, ready to be matched against notes.
pub struct Dictionary {
    lists: Vec<ListInfo>,
    /// Sets of lists, and those lists that hold an exception; after those of records, the sets of exact forms.
    sets: Vec<(ListSet, ListSet)>,
    numbers: Vec<Vec<u32>>,
    forms: Vec<Forms>,
    records: Vec<Record>,
    automaton: Automaton,
    starts: Starts,
    near: NearIndex,
    /// Nodes after which a word of a distance-1 list may stand, sorted.
    near_nodes: Vec<u32>,
    digest: [u8; 32],
    numbered: ListSet,
    distance1: ListSet,
    /// Word caches between uses, so that a matcher starts warm.
    pool: Mutex<Vec<Cache>>,
}

#[derive(Clone, Copy)]
struct Record {
    set: u32,
    numbers: u32,
    /// The place of its exact forms, [`NONE`] if no exact list holds it.
    exacts: u32,
}

/// A place in the automaton: a node and the sum of outputs on the way to it.
#[derive(Clone, Copy)]
pub(crate) struct At {
    pub(crate) node: u32,
    pub(crate) sum: u32,
}

/// An id that no list of the dictionary has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no list is named `{0}`")]
pub struct UnknownList(pub String);

impl Dictionary {
    /// The dictionary of the lists that ship.
    pub fn builtin() -> Arc<Self> {
        static SHARED: OnceLock<Arc<Dictionary>> = OnceLock::new();
        let shared = SHARED.get_or_init(|| {
            // The build script wrote these bytes with the writer of this very version; a test parses them.
            #[allow(clippy::expect_used)]
            let built =
                Dictionary::parse(Cow::Borrowed(BUILTIN), false).expect("the built-in dictionary is whole");
            Arc::new(built)
        });
        Arc::clone(shared)
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

    /// A dictionary from the bytes that [`compile`](crate::compile()) gave.
    ///
    /// # Errors
    /// [`LoadError`].
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, LoadError> {
        Self::parse(Cow::Owned(bytes), true)
    }

    /// The lists, in the order of their places.
    pub fn lists(&self) -> &[ListInfo] {
        &self.lists
    }

    /// The list named `id`.
    ///
    /// # Errors
    /// [`UnknownList`] if there is none.
    pub fn list(&self, id: &str) -> Result<ListId, UnknownList> {
        let found = self.lists.iter().find(|list| list.id == id);
        found
            .map(|list| list.list)
            .ok_or_else(|| UnknownList(id.to_owned()))
    }

    /// The lists of these names.
    ///
    /// # Errors
    /// [`UnknownList`] for the first that is not there.
    pub fn set<'i>(&self, ids: impl IntoIterator<Item = &'i str>) -> Result<ListSet, UnknownList> {
        ids.into_iter().map(|id| self.list(id)).collect()
    }

    /// The lists for which `wanted` holds.
    pub fn lists_where(&self, wanted: impl Fn(&ListInfo) -> bool) -> ListSet {
        self.lists
            .iter()
            .filter(|list| wanted(list))
            .map(|list| list.list)
            .collect()
    }

    /// The lists of this role.
    pub fn role(&self, role: Role) -> ListSet {
        self.lists_where(|list| list.role == role)
    }

    /// The lists whose entries suggest this label.
    pub fn labelled(&self, label: &str) -> ListSet {
        self.lists_where(|list| list.label == label)
    }

    /// The sets of lists that hold its keys: with exact lists whatever the case, and with those of each written form.
    pub fn list_sets(&self) -> impl Iterator<Item = ListSet> {
        self.sets.iter().map(|&(lists, _)| lists)
    }

    /// SHA-256 of everything compiled, for fingerprints of configurations and outputs.
    pub const fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    /// Number of keys, spellings included.
    pub fn len(&self) -> usize {
        self.automaton.len()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.automaton.is_empty()
    }

    /// What the lists say of a single word, in any case and with any accents; [`Entry::lists`] is empty for an unknown one.
    ///
    /// Exact lists answer only if the word is written as they write it.
    pub fn word(&self, word: &str) -> Entry<'_> {
        let found = self.step_first(word).and_then(|at| self.record(at));
        self.entry_of(EntryId(found.unwrap_or(NONE)), word)
    }

    /// What the lists say of a single word whose entry had this id.
    pub fn entry_of(&self, id: EntryId, word: &str) -> Entry<'_> {
        self.entry(id.0, |form| begins_alike(form, word) && form == word)
    }

    /// The entry that had this id and was in these lists.
    pub const fn entry_in(&self, id: EntryId, lists: ListSet) -> Entry<'_> {
        Entry::new(self, id.0, lists)
    }

    /// A matcher over this dictionary. It remembers the words it has seen: keep it for as many notes as you can.
    pub fn matcher(&self) -> Matcher<'_> {
        let cache = self.pool.lock().map(|mut pool| pool.pop()).unwrap_or_default();
        Matcher::new(self, cache.unwrap_or_default())
    }

    /// Takes back a matcher's cache.
    pub(crate) fn give_back(&self, cache: Cache) {
        if let Ok(mut pool) = self.pool.lock() {
            pool.push(cache);
        }
    }

    pub(crate) const fn distance1(&self) -> ListSet {
        self.distance1
    }

    pub(crate) fn root(&self) -> At {
        At {
            // An automaton of 4 GiB is refused when it is parsed.
            node: self.automaton.root().addr() as u32,
            sum: 0,
        }
    }

    /// Where one key byte leads.
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

    /// Where the folded form of `word` leads.
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

    /// Where the folded form of `word` leads from the root.
    #[inline]
    pub(crate) fn step_first(&self, word: &str) -> Option<At> {
        match self.starts.of(word) {
            Some((at, rest)) => self.step_word(at?, rest),
            None => self.step_word(self.root(), word),
        }
    }

    /// Whether a word in lower case, as a number from its first byte on, begins no key. Tells it by up to four letters, and by
    /// no fewer than three.
    #[inline]
    pub(crate) fn begins_nothing(&self, word: u128) -> bool {
        self.starts.is_nowhere(word as u32)
    }

    /// Where a separator leads.
    pub(crate) fn step_apart(&self, at: At) -> Option<At> {
        self.step(at, SEPARATOR)
    }

    /// The first bytes of what can follow, by [`class`].
    pub(crate) fn classes(&self, at: At) -> u32 {
        let node = self.automaton.node(at.node as usize);
        node.transitions()
            .fold(0, |classes, edge| classes | class(edge.inp))
    }

    /// Whether a word of a distance-1 list may stand here.
    pub(crate) fn takes_near(&self, at: At) -> bool {
        self.near_nodes.binary_search(&at.node).is_ok()
    }

    /// The record of the key that ends here.
    #[inline]
    pub(crate) fn record(&self, at: At) -> Option<u32> {
        let node = self.automaton.node(at.node as usize);
        node.is_final()
            .then(|| at.sum + node.final_output().value() as u32)
    }

    /// The lists of a record, exact ones included whatever the case.
    #[inline]
    pub(crate) fn lists_of(&self, record: u32) -> ListSet {
        let record = self.records.get(record as usize);
        record.map_or(ListSet::EMPTY, |record| self.sets[record.set as usize].0)
    }

    /// The number of [`Dictionary::lists_of`] a record and the place of its exact forms, [`NONE`] for what there is not.
    pub(crate) fn parts_of(&self, record: u32) -> (u32, u32) {
        self.records
            .get(record as usize)
            .map_or((NONE, NONE), |record| (record.set, record.exacts))
    }

    /// The lists of a set by its number; none if there is no such set.
    #[inline]
    pub(crate) fn lists_of_set(&self, set: u32) -> ListSet {
        self.sets
            .get(set as usize)
            .map_or(ListSet::EMPTY, |&(lists, _)| lists)
    }

    /// The entry of a record; `is_written` tells whether the text has this exact form.
    #[inline]
    pub(crate) fn entry(&self, record: u32, is_written: impl Fn(&str) -> bool) -> Entry<'_> {
        match self.records.get(record as usize) {
            Some(&Record { set, exacts, .. }) => self.entry_by(record, (set, exacts), is_written),
            None => Entry::none(self),
        }
    }

    /// As [`Dictionary::entry`], for callers who remember what [`Dictionary::parts_of`] returned: the records fill no cache.
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

    /// The lists of a record that hold it as an exception.
    pub(crate) fn exceptions_of(&self, record: u32) -> ListSet {
        let record = self.records.get(record as usize);
        record.map_or(ListSet::EMPTY, |record| self.sets[record.set as usize].1)
    }

    /// The number beside a record in `list`, if the list has numbers and holds it.
    pub(crate) fn number_of(&self, record: u32, list: ListId) -> Option<u32> {
        let record = self.records.get(record as usize)?;
        let held = self.sets[record.set as usize].0 & self.numbered;
        if !held.contains(list) {
            return None;
        }
        // Numbers stand in the order of the lists that have one.
        let before = held.0 & ((1u128 << list.0) - 1);
        self.numbers[record.numbers as usize]
            .get(before.count_ones() as usize)
            .copied()
    }

    /// The words of distance-1 lists.
    pub(crate) const fn near(&self) -> &NearIndex {
        &self.near
    }
}

impl fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dictionary({} lists, {} keys)", self.lists.len(), self.len())
    }
}

/// One bit for what a folded word can begin with: a letter, any digit, each of the marks that entries have most, another mark,
/// [`OUTSIDE`] ASCII. One for the separator too: a combining mark folds into nothing, so that anything may follow it.
#[inline]
pub(crate) fn class(byte: u8) -> u32 {
    CLASSES[byte as usize]
}

/// Read from a table: in a text without words no branch could be foretold.
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
            SEPARATOR => 1 << 31,
            _ => 1 << 29,
        };
        byte += 1;
    }
    classes
};

/// The [`class`] of bytes outside ASCII.
pub(crate) const OUTSIDE: u32 = 1 << 30;

/// Stands for "no record" and "no word" in packed numbers.
pub(crate) const NONE: u32 = u32::MAX;
