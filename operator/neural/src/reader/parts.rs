//! A note's sequences, and long notes in parts.

use std::ops::Range;

use lethe_core::NoteView;
use lethe_dictionaries::Matcher;
use lethe_learn::{Speech, SpeechReader};

use super::{Form, Found, Memory, Read, Reader};

/// The most tokens of a sequence: a longer sentence is read in parts.
pub(crate) const LONGEST: usize = 300;

impl Reader {
    /// Reads a long note in parts.
    pub(crate) fn parts<'r, 'n>(&'r self, note: NoteView<'n>) -> Parts<'r, 'n> {
        let matcher = self.dictionary.as_ref();
        Parts {
            matcher: matcher.map(|(dictionary, ..)| dictionary.matcher()),
            reader: self,
            note,
            hints: Vec::new(),
            speech: self.speech.as_ref().map(Speech::reader),
            tags: Vec::new(),
            form: Form::default(),
            sequences: Sequences::default(),
            next: 0,
        }
    }
}

/// Returns a note's sequences in order: sentences, read together up to `window` tokens, and parts of longer
/// ones.
#[derive(Default)]
pub(super) struct Sequences {
    open: Range<usize>,
    /// Closed tokens that were not returned yet.
    closed: Range<usize>,
    sentence: usize,
}

impl Sequences {
    pub(super) fn next(&mut self, note: &NoteView<'_>, window: usize) -> Option<Range<usize>> {
        while self.closed.is_empty() {
            match note.sentence_ends.get(self.sentence) {
                Some(&end) => {
                    let end = end as usize;
                    self.sentence += 1;
                    if end - self.open.start > window && !self.open.is_empty() {
                        self.closed = self.open.clone();
                        self.open.start = self.open.end;
                    }
                    self.open.end = end;
                }
                None if self.open.is_empty() => return None,
                None => self.closed = std::mem::take(&mut self.open),
            }
        }
        let start = self.closed.start;
        self.closed.start = self.closed.end.min(start + LONGEST);
        Some(start..self.closed.start)
    }

    pub(super) fn all<'n>(
        mut self,
        note: &'n NoteView<'_>,
        window: usize,
    ) -> impl Iterator<Item = Range<usize>> + 'n {
        std::iter::from_fn(move || self.next(note, window))
    }
}

/// A long note that is read in parts, with the memory of a part, whatever its length.
pub(crate) struct Parts<'r, 'n> {
    reader: &'r Reader,
    note: NoteView<'n>,
    matcher: Option<Matcher<'r>>,
    hints: Vec<(u32, u16)>,
    speech: Option<Box<dyn SpeechReader + 'r>>,
    tags: Vec<u8>,
    form: Form,
    sequences: Sequences,
    next: usize,
}

impl Parts<'_, '_> {
    /// Returns the next sequences, of at least `size` tokens together if the note has as many: the first
    /// token, and the tokens read, counted from it.
    pub(crate) fn next(&mut self, size: usize, memory: &mut Memory) -> Option<(usize, Read)> {
        let (first, mut end) = (self.next, self.next);
        let mut read = Read::default();
        while end - first < size
            && let Some(range) = self.sequences.next(&self.note, self.reader.window)
        {
            end = range.end;
            read.sequences.push(range.start - first..range.end - first);
        }
        if end == first {
            return None;
        }
        let tokens = first..end;
        if let Some(matcher) = &mut self.matcher {
            self.hints.retain(|&(token, _)| token as usize >= first);
            self.reader
                .knowledge(&self.note, tokens.clone(), matcher, &mut self.hints);
        }
        self.tags.clear();
        if let Some(speech) = &mut self.speech {
            speech.read(&self.note, tokens.clone(), &mut self.tags);
        }
        let contexts = &mut memory.contexts;
        self.reader.contexts(
            &self.note,
            tokens.clone(),
            &Found {
                entries: &self.hints,
                speech: &self.tags,
            },
            &mut self.form,
            contexts,
            &mut read.contexts,
        );
        for i in tokens {
            let (word, kind) = (self.note.word(i), self.note.tokens.kind(i));
            read.types.push(self.reader.place(memory, word, kind));
        }
        read.notes.push(0..end - first);
        self.next = end;
        Some((first, read))
    }
}
