//! Notes as a network reads them: sequences of tokens, each with its word type and its context.
//!
//! A token's context is the part of its input that depends on more than its word: the dictionary entries of
//! the phrase around it (Yang 2019, knowledge-based features), the form field that it fills in, and its part of
//! speech. Like word types, contexts are few: each is computed once and referred to by its number.

mod parts;
mod tables;

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasherDefault;
use std::ops::Range;
use std::sync::Arc;

use lethe_core::{NoteBatch, NoteView, TokenKind, vec_bytes};
use lethe_dictionaries::{Dictionary, ListSet, Matcher, UnknownList};
use lethe_learn::{NO_SPEECH, Speech};
use lethe_text::fold_into;

use crate::model::{Architecture, Model};
use crate::types::{Casing, Types, Vocabulary, WordHasher};
pub(crate) use parts::LONGEST;
use parts::Sequences;
pub(crate) use tables::{SPEECH_ROWS, Tables};

/// The rows of a list: beginning and inside of an exact match, beginning and inside of a partial one.
pub(crate) const KNOWLEDGE: usize = 4;
/// A field has a row of its own if the training set has it at least this often.
const FIELD_TIMES: usize = 8;

/// Returns the rows of the field table for `n` fields: those, none and an unknown one, for this line and for
/// the last line with a field.
pub(crate) const fn field_rows(n: usize) -> usize {
    2 * (n + 2)
}

/// Values that are computed once and cached between batches. Holds words of notes; never printed, never
/// written.
#[derive(Clone, Default)]
pub(crate) struct Memory {
    pub(crate) types: Types,
    pub(crate) contexts: Contexts,
}

impl Memory {
    /// Returns the bytes of memory that it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.types.bytes() + self.contexts.bytes()
    }
}

/// Contexts by their first occurrence: each is a set of rows of the tables in [`Tables`].
#[derive(Clone, Default)]
pub(crate) struct Contexts {
    places: HashMap<Box<[u16]>, u32, BuildHasherDefault<WordHasher>>,
    ends: Vec<u32>,
    rows: Vec<u16>,
}

impl Contexts {
    fn bytes(&self) -> usize {
        // A key holds its rows once more.
        let places = self.places.capacity() * size_of::<(Box<[u16]>, u32)>() + vec_bytes(&self.rows);
        places + vec_bytes(&self.ends) + vec_bytes(&self.rows)
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn clear(&mut self) {
        self.places.clear();
        self.ends.clear();
        self.rows.clear();
    }

    /// Returns a context's rows.
    pub(crate) fn rows(&self, at: u32) -> &[u16] {
        let at = at as usize;
        let start = if at == 0 { 0 } else { self.ends[at - 1] as usize };
        &self.rows[start..self.ends[at] as usize]
    }

    fn place(&mut self, rows: &[u16]) -> u32 {
        if let Some(&at) = self.places.get(rows) {
            return at;
        }
        let at = self.ends.len() as u32;
        self.rows.extend_from_slice(rows);
        self.ends.push(self.rows.len() as u32);
        self.places.insert(rows.into(), at);
        at
    }
}

/// The concatenated tokens of a batch's notes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Read {
    /// Each row's tokens.
    pub(crate) notes: Vec<Range<usize>>,
    /// Each token's word type.
    pub(crate) types: Vec<u32>,
    /// Each token's context.
    pub(crate) contexts: Vec<u32>,
    /// The ranges of tokens that are read together; none is empty.
    pub(crate) sequences: Vec<Range<usize>>,
}

/// Reads notes for one model.
pub(crate) struct Reader {
    vocabulary: Vocabulary,
    casing: Casing,
    window: usize,
    dictionary: Option<(Arc<Dictionary>, ListSet, Vec<u16>)>,
    fields: Option<HashMap<String, u16>>,
    speech: Option<Speech>,
    tables: Tables,
}

/// The properties of some tokens that were determined before their contexts.
struct Found<'f> {
    /// The list entries of these tokens and of later ones, as token and row.
    entries: &'f [(u32, u16)],
    /// Their parts of speech; empty if the network does not read them.
    speech: &'f [u8],
}

impl Reader {
    /// Creates a reader for a model; `dictionary` must have the lists that the model was trained with.
    pub(crate) fn new(model: &Model, dictionary: &Arc<Dictionary>) -> Result<Self, UnknownList> {
        let architecture = &model.architecture;
        let dictionary = if architecture.knowledge > 0 {
            let wanted = dictionary.set(model.lists.iter().map(String::as_str))?;
            let mut rows = vec![u16::MAX; 128];
            for (i, list) in model.lists.iter().enumerate() {
                rows[dictionary.list(list)?.index()] = (KNOWLEDGE * i) as u16;
            }
            Some((Arc::clone(dictionary), wanted, rows))
        } else {
            None
        };
        let fields = (architecture.field > 0).then(|| {
            let rows = model.fields.iter().enumerate();
            rows.map(|(i, field)| (field.clone(), i as u16 + 2)).collect()
        });
        Ok(Self {
            vocabulary: model.vocabulary(),
            casing: architecture.casing,
            window: architecture.window,
            dictionary,
            fields,
            speech: model.speech.clone(),
            tables: Tables::new(model),
        })
    }

    /// Returns the tables of a context's rows.
    pub(crate) const fn tables(&self) -> Tables {
        self.tables
    }

    /// Returns the type of a word, which need not occur in a note.
    pub(crate) fn place(&self, memory: &mut Memory, word: &str, kind: TokenKind) -> u32 {
        memory.types.place(word, kind, &self.vocabulary, self.casing)
    }

    /// Reads a batch.
    pub(crate) fn read(&self, batch: &NoteBatch, memory: &mut Memory) -> Read {
        let mut read = self.lay_out(batch, memory);
        let all = 0..read.types.len();
        self.read_words(batch, all, &mut read, memory);
        read
    }

    /// Reads a batch except its words: each token's type is still 0.
    pub(crate) fn lay_out(&self, batch: &NoteBatch, memory: &mut Memory) -> Read {
        let mut read = Read::default();
        let mut matcher = self
            .dictionary
            .as_ref()
            .map(|(dictionary, ..)| dictionary.matcher());
        let speech = self.speech.as_ref().map(|speech| speech.shared(batch));
        let speech = speech.as_ref().map_or(&[][..], |speech| &speech.tags[..]);
        let mut hints = Vec::new();
        for note in batch.notes() {
            let first = read.types.len();
            read.types.resize(first + note.tokens.len(), 0);
            let all = 0..note.tokens.len();
            hints.clear();
            if let Some(matcher) = &mut matcher {
                self.knowledge(&note, all.clone(), matcher, &mut hints);
            }
            self.contexts(
                &note,
                all,
                &Found {
                    entries: &hints,
                    speech: speech.get(first..).unwrap_or_default(),
                },
                &mut Form::default(),
                &mut memory.contexts,
                &mut read.contexts,
            );
            let all = Sequences::default().all(&note, self.window);
            read.sequences
                .extend(all.map(|range| first + range.start..first + range.end));
            read.notes.push(first..read.types.len());
        }
        read
    }

    /// Finds the types of a range of the batch's tokens.
    pub(crate) fn read_words(
        &self,
        batch: &NoteBatch,
        tokens: Range<usize>,
        read: &mut Read,
        memory: &mut Memory,
    ) {
        for (note, range) in batch.notes().zip(&read.notes) {
            for token in range.start.max(tokens.start)..range.end.min(tokens.end) {
                let i = token - range.start;
                let (word, kind) = (note.word(i), note.tokens.kind(i));
                read.types[token] = memory.types.place(word, kind, &self.vocabulary, self.casing);
            }
        }
    }

    /// Adds the list entries that begin at these tokens, as token and row, sorted by token and row.
    fn knowledge(
        &self,
        note: &NoteView<'_>,
        tokens: Range<usize>,
        matcher: &mut Matcher<'_>,
        hints: &mut Vec<(u32, u16)>,
    ) {
        let Some((_, wanted, rows)) = &self.dictionary else {
            return;
        };
        matcher.each_from(note, tokens, *wanted, |found| {
            let exceptions = found.entry.exceptions();
            for list in found.entry.lists().iter() {
                let partial = found.distance > 0 || exceptions.contains(list);
                let row = rows[list.index()] + 2 * u16::from(partial);
                hints.push((found.first as u32, row));
                hints.extend((found.first + 1..=found.last).map(|i| (i as u32, row + 1)));
            }
        });
        hints.sort_unstable();
        hints.dedup();
    }

    /// Computes the contexts of these tokens; `form` is the reader's position.
    fn contexts(
        &self,
        note: &NoteView<'_>,
        tokens: Range<usize>,
        found: &Found<'_>,
        form: &mut Form,
        contexts: &mut Contexts,
        out: &mut Vec<u32>,
    ) {
        let mut rows: Vec<u16> = Vec::new();
        let mut hints = found.entries.iter().peekable();
        let mut speech = found.speech.iter();
        for i in tokens {
            rows.clear();
            while let Some(&&(_, row)) = hints.peek().filter(|(token, _)| *token == i as u32) {
                rows.push(row);
                hints.next();
            }
            if let Some(fields) = &self.fields {
                let count = fields.len() as u16 + 2;
                rows.push(self.tables.field(form.here));
                rows.push(self.tables.field(count + form.above));
                form.pass(note, i, |key| fields.get(key).copied().unwrap_or(1));
            }
            if self.speech.is_some() {
                let tag = speech.next().copied().unwrap_or(NO_SPEECH);
                rows.push(self.tables.speech(tag));
            }
            out.push(contexts.place(&rows));
        }
    }
}

/// The reader's position in a form.
#[derive(Default)]
struct Form {
    /// The field before the last colon of this line; 0 for none.
    here: u16,
    /// The last field of the last line that had one.
    above: u16,
    /// The first token after the last colon or line break.
    from: usize,
    key: String,
}

impl Form {
    /// Moves past token `i`.
    fn pass(&mut self, note: &NoteView<'_>, i: usize, row: impl Fn(&str) -> u16) {
        if note.word(i) == ":" {
            self.key.clear();
            let words = (self.from..i)
                .rev()
                .filter(|&j| note.tokens.kinds[j] == TokenKind::Letters as u8);
            let mut words: Vec<usize> = words.take(2).collect();
            words.reverse();
            for j in words {
                if !self.key.is_empty() {
                    self.key.push(' ');
                }
                fold_into(note.word(j), &mut self.key);
            }
            self.here = row(&self.key);
            self.from = i + 1;
        }
        if note.gap_after(i).contains('\n') {
            if self.here != 0 {
                self.above = self.here;
            }
            self.here = 0;
            self.from = i + 1;
        }
    }
}

/// Returns the fields that occur often enough in a corpus, by name.
pub(crate) fn fields(batch: &NoteBatch) -> Vec<String> {
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    for note in batch.notes() {
        let mut form = Form::default();
        for i in 0..note.tokens.len() {
            form.pass(&note, i, |_| 1);
            if note.word(i) == ":" {
                *times.entry(form.key.clone()).or_default() += 1;
            }
        }
    }
    let often = times.into_iter().filter(|&(_, n)| n >= FIELD_TIMES);
    often.map(|(key, _)| key).filter(|key| !key.is_empty()).collect()
}

/// Returns the lists that a network sees: all lists of the dictionary.
pub(crate) fn lists(dictionary: &Dictionary, architecture: &Architecture) -> Vec<String> {
    if architecture.knowledge == 0 {
        return Vec::new();
    }
    dictionary.lists().iter().map(|list| list.id.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_read_together_up_to_the_window_and_long_ones_in_parts() {
        let batch =
            NoteBatch::from_texts([format!("A b.\nC d e.\nF.\n{}", "x ".repeat(700)).as_str()]).unwrap();
        let ranges = |window| {
            let note = batch.note(0);
            let all = Sequences::default().all(&note, window);
            all.map(|range| range.start + 10..range.end + 10)
                .collect::<Vec<_>>()
        };
        assert_eq!(ranges(0)[..3], [10..13, 13..17, 17..719 - 402]);
        assert_eq!(ranges(7)[0], 10..17);
        assert!(ranges(0).iter().all(|range| range.len() <= LONGEST));
        let end = 10 + batch.note(0).tokens.len();
        for window in [0, 7, 50] {
            let all = ranges(window);
            assert!(all.windows(2).all(|pair| pair[0].end == pair[1].start));
            assert_eq!((all[0].start, all[all.len() - 1].end), (10, end));
        }
    }

    #[test]
    fn a_token_knows_the_field_before_its_colon_and_that_of_the_line_above() {
        let batch = NoteBatch::from_texts(["Nombre: Ana\nFecha de alta: 3\nx"]).unwrap();
        let note = batch.note(0);
        let (mut form, mut seen) = (Form::default(), Vec::new());
        for i in 0..note.tokens.len() {
            seen.push((form.here, form.above));
            form.pass(&note, i, |key| {
                ["nombre", "de alta"]
                    .iter()
                    .position(|k| *k == key)
                    .map_or(1, |at| at as u16 + 2)
            });
        }
        assert_eq!(
            seen,
            [
                (0, 0),
                (0, 0),
                (2, 0),
                (0, 2),
                (0, 2),
                (0, 2),
                (0, 2),
                (3, 2),
                (0, 3)
            ]
        );
    }
}
