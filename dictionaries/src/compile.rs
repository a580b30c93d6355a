//! Compiles lists to one dictionary: the same lists always give the same bytes.

use std::collections::{BTreeMap, BTreeSet};

use fst::MapBuilder;

use crate::format::Writer;
use crate::key::{Key, SEPARATOR};
use crate::near::MIN_LETTERS;
use crate::source::{List, MatchMode, Role};

/// Maximum number of lists in a dictionary, since a set of them is a 128-bit mask.
pub const MAX_LISTS: usize = 128;

/// Why lists cannot be compiled. Lists contain no patient data, so messages may quote entries.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompileError {
    /// Two lists have the same id.
    #[error("two lists are named `{id}`")]
    SameId {
        /// The id.
        id: String,
    },
    /// More lists than a dictionary can hold.
    #[error("{count} lists, a dictionary holds at most {MAX_LISTS}")]
    TooMany {
        /// Their number.
        count: usize,
    },
    /// `exceptions.txt` has an entry that is missing in `items.txt`.
    #[error("list `{list}`: exception `{entry}` is not an item of the list")]
    Exception {
        /// The list.
        list: String,
        /// The exception.
        entry: String,
    },
    /// The automaton could not be built.
    #[error("building the automaton: {0}")]
    Automaton(#[from] fst::Error),
}

/// One list's data of a key.
#[derive(Default)]
struct ListEntry {
    number: u32,
    exception: bool,
    /// Exact forms, for exact lists only.
    exact: BTreeSet<String>,
}

/// A key's lists, in the order of their places.
type Cell = BTreeMap<u8, ListEntry>;

/// Compiles `lists`, in this order, to the bytes of a dictionary.
///
/// # Errors
/// [`CompileError`].
pub fn compile(lists: &[List]) -> Result<Vec<u8>, CompileError> {
    if lists.len() > MAX_LISTS {
        return Err(CompileError::TooMany { count: lists.len() });
    }
    let mut ids = BTreeSet::new();
    if let Some(twice) = lists.iter().find(|list| !ids.insert(&list.id)) {
        return Err(CompileError::SameId { id: twice.id.clone() });
    }

    let mut cells: BTreeMap<String, Cell> = BTreeMap::new();
    let mut near = Near::default();
    let mut counts = Vec::new();
    for (place, list) in lists.iter().enumerate() {
        counts.push(add(list, place as u8, &mut cells, &mut near)?);
    }

    let mut tables = Tables::default();
    let mut automaton = MapBuilder::memory();
    for (key, cell) in &cells {
        automaton.insert(key, u64::from(tables.record(cell, lists)))?;
    }
    let automaton = automaton.into_inner()?;

    let mut out = Writer::default();
    out.count(lists.len());
    for (list, count) in lists.iter().zip(counts) {
        header(list, count, &mut out);
    }
    tables.write(&mut out);
    near.write(&mut out);
    out.bytes(&automaton);
    Ok(out.finish())
}

/// Adds a list's entries to the cells and returns their number.
fn add(
    list: &List,
    place: u8,
    cells: &mut BTreeMap<String, Cell>,
    near: &mut Near,
) -> Result<usize, CompileError> {
    let source = &list.source;
    let mut count = 0;
    for (entry, number) in &list.items {
        let key = Key::of(entry);
        if key.letters() < source.min_length.max(1) {
            continue;
        }
        count += 1;
        let mut spellings = vec![key.folded.clone()];
        // An exact list means its literal form; other spellings have other forms.
        if source.variants && source.match_mode != MatchMode::Exact {
            spellings.extend(key.variants());
        }
        for spelling in spellings {
            if source.match_mode == MatchMode::Distance1 {
                near.add(&spelling);
            }
            let listed = cells.entry(spelling).or_default().entry(place).or_default();
            listed.number = listed.number.max(*number);
            if source.match_mode == MatchMode::Exact {
                listed.exact.insert(key.exact.clone());
            }
        }
    }
    for entry in &list.exceptions {
        let key = Key::of(entry);
        match cells.get_mut(&key.folded).and_then(|cell| cell.get_mut(&place)) {
            Some(listed) => listed.exception = true,
            None if key.letters() < source.min_length => {}
            None => {
                return Err(CompileError::Exception {
                    list: list.id.clone(),
                    entry: entry.clone(),
                });
            }
        }
    }
    Ok(count)
}

fn header(list: &List, count: usize, out: &mut Writer) {
    let source = &list.source;
    for text in [
        &list.id,
        &source.title,
        &source.origin,
        &source.licence,
        &source.attribution,
        &source.date,
        &source.language,
        &source.label,
        &source.number,
    ] {
        out.str(text);
    }
    out.u8(match source.match_mode {
        MatchMode::Exact => 0,
        MatchMode::Folded => 1,
        MatchMode::Distance1 => 2,
    });
    out.u8(match source.role {
        Role::Phi => 0,
        Role::Cue => 1,
        Role::Exception => 2,
    });
    out.count(count);
}

/// Tables shared by keys, with each row written once: most keys are rare surnames with the same data.
#[derive(Default)]
struct Tables {
    sets: Rows<(u128, u128)>,
    numbers: Rows<Vec<u32>>,
    exacts: Rows<Vec<(u128, String)>>,
    records: Rows<(u32, u32, u32)>,
}

impl Tables {
    /// Returns the record of a cell: its list sets, its numbers in the order of the lists that have one, its
    /// exact forms.
    fn record(&mut self, cell: &Cell, lists: &[List]) -> u32 {
        let (mut held, mut exceptions, mut numbers) = (0u128, 0u128, vec![]);
        let mut forms: BTreeMap<&str, u128> = BTreeMap::new();
        for (&place, listed) in cell {
            let bit = 1u128 << place;
            held |= bit;
            exceptions |= if listed.exception { bit } else { 0 };
            if !lists[usize::from(place)].source.number.is_empty() {
                numbers.push(listed.number);
            }
            for form in &listed.exact {
                *forms.entry(form).or_default() |= bit;
            }
        }
        let forms = forms
            .into_iter()
            .map(|(form, bits)| (bits, form.to_owned()))
            .collect();
        let set = self.sets.place((held, exceptions));
        let numbers = self.numbers.place(numbers);
        let exact = self.exacts.place(forms);
        self.records.place((set, numbers, exact))
    }

    fn write(&self, out: &mut Writer) {
        out.count(self.sets.rows.len());
        for (held, exceptions) in &self.sets.rows {
            out.u128(*held);
            out.u128(*exceptions);
        }
        out.count(self.numbers.rows.len());
        for row in &self.numbers.rows {
            out.count(row.len());
            row.iter().for_each(|number| out.u32(*number));
        }
        out.count(self.exacts.rows.len());
        for row in &self.exacts.rows {
            out.count(row.len());
            for (bits, form) in row {
                out.u128(*bits);
                out.str(form);
            }
        }
        out.count(self.records.rows.len());
        for (set, numbers, exact) in &self.records.rows {
            out.u32(*set);
            out.u32(*numbers);
            out.u32(*exact);
        }
    }
}

/// Unique rows in the order of their first occurrence.
struct Rows<T> {
    rows: Vec<T>,
    places: BTreeMap<T, u32>,
}

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Self {
            rows: vec![],
            places: BTreeMap::new(),
        }
    }
}

impl<T: Ord + Clone> Rows<T> {
    fn place(&mut self, row: T) -> u32 {
        if let Some(&place) = self.places.get(&row) {
            return place;
        }
        let place = self.rows.len() as u32;
        self.rows.push(row.clone());
        self.places.insert(row, place);
        place
    }
}

/// The data of distance-1 lists.
#[derive(Default)]
struct Near {
    /// Words that may be misspelt.
    words: BTreeSet<String>,
    /// The text before them in their keys, including the separator; empty for first words.
    prefixes: BTreeSet<String>,
}

impl Near {
    fn add(&mut self, key: &str) {
        let mut prefix = String::new();
        for word in key.split(char::from(SEPARATOR)) {
            if word.chars().count() >= MIN_LETTERS && word.chars().all(char::is_alphabetic) {
                self.words.insert(word.to_owned());
                self.prefixes.insert(prefix.clone());
            }
            prefix.push_str(word);
            prefix.push(char::from(SEPARATOR));
        }
    }

    fn write(&self, out: &mut Writer) {
        for texts in [&self.words, &self.prefixes] {
            out.count(texts.len());
            texts.iter().for_each(|text| out.str(text));
        }
    }
}
