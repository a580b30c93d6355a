//! A batch's tables under construction, note by note, and the order of the views.

use std::ops::Range;

use lethe_core::{NoteView, vec_bytes};

use super::FeatureConfig;
use super::combined::Combined;
use super::document::{Document, Evidence};
use super::hits::Hits;
use super::intern::{Interned, Interner};
use super::layout::{Gap, Place, gap_of, lay_out};
use super::templates::{push_chunk, push_cue, push_field, push_gaps, push_hits, push_layout, push_parts};
use super::words::{BatchWords, FAR, Lists, NEAR, OWN, Word, Words};
use crate::pos::PosTagger;
use crate::{Columns, Table, View};

/// Tables that identify types by a key.
pub(super) const INTERNED: usize = 10;

/// The approximate maximum of types in a table with a few small values.
const FEW: usize = 256;

/// One note as the templates read it.
#[derive(Default)]
pub(super) struct Read {
    /// Each token's type in the batch.
    pub(super) ids: Vec<u32>,
    pub(super) words: Vec<Word>,
    pub(super) places: Vec<Place>,
    gaps: Vec<Gap>,
    parts: Vec<u8>,
}

impl Read {
    /// Returns the bytes of memory that it takes.
    pub(super) const fn bytes(&self) -> usize {
        vec_bytes(&self.ids) + vec_bytes(&self.words) + vec_bytes(&self.places) + vec_bytes(&self.gaps)
    }

    /// Clears the note.
    pub(super) fn clear(&mut self) {
        self.ids.clear();
        self.words.clear();
        self.gaps.clear();
        self.places.clear();
    }

    /// Reads a note: its words, which become types of the batch, and their positions.
    pub(super) fn note(
        &mut self,
        note: &NoteView<'_>,
        store: &mut Words,
        batch: &mut BatchWords,
        lists: &Lists<'_>,
    ) {
        self.clear();
        let (tokens, text) = (note.tokens, note.text.as_bytes());
        let mut before = 0;
        for i in 0..tokens.len() {
            let (start, end) = (tokens.starts[i] as usize, tokens.ends[i] as usize);
            self.gaps.push(match i {
                0 => Gap::Edge,
                _ => gap_of(&text[before..start]),
            });
            before = end;
            let id = store.push(batch, note.text, (start, end, tokens.kind(i)), lists);
            self.ids.push(id);
            self.words.push(batch.words[id as usize]);
        }
        self.gaps.push(Gap::Edge);
        lay_out(&self.words, &self.gaps, note.sentence_ends, &mut self.places);
    }
}

/// The tables of one batch.
pub(super) struct Tables<'s> {
    pub(super) words: BatchWords,
    gaps: Interned<'s>,
    layout: [Interned<'s>; 2],
    fields: Interned<'s>,
    chunks: Interned<'s>,
    cues: Interned<'s>,
    phrases: Interned<'s>,
    rules: Interned<'s>,
    document: Interned<'s>,
    parts: Interned<'s>,
    combined: Combined,
}

impl<'s> Tables<'s> {
    /// Creates empty tables for a batch with this many tokens.
    pub(super) fn new(interners: &'s mut [Interner; INTERNED], words: BatchWords, tokens: usize) -> Self {
        let [a, b, c, d, e, f, g, h, i, j] = interners;
        let some = tokens / 4;
        Self {
            words,
            gaps: Interned::new(a, tokens, FEW),
            layout: [Interned::new(i, tokens, FEW), Interned::new(j, tokens, FEW)],
            fields: Interned::new(b, tokens, some),
            chunks: Interned::new(c, tokens, some),
            cues: Interned::new(d, tokens, some),
            phrases: Interned::new(e, tokens, some / 4),
            rules: Interned::new(f, tokens, some / 4),
            document: Interned::new(g, tokens, some),
            parts: Interned::new(h, tokens, some),
            combined: Combined::new(tokens),
        }
    }

    /// Adds the features of a note's words and their positions.
    pub(super) fn push_places(&mut self, note: &Read) {
        for (i, place) in note.places.iter().enumerate() {
            push_gaps(&mut self.gaps, place);
            push_layout(&mut self.layout, place);
            push_field(&mut self.fields, place);
            push_chunk(&mut self.chunks, place);
            push_cue(&mut self.cues, place, note.words[i].form);
            self.combined.push(&note.ids, &note.words, &note.places, i);
        }
    }

    /// Adds the features of a note's entries of several words.
    pub(super) fn push_phrases(&mut self, note: &Read, hits: &mut Hits) {
        push_hits(&mut self.phrases, note.words.len(), hits);
    }

    /// Adds the features of the rules' hits.
    pub(super) fn push_rules(&mut self, note: &Read, hits: &mut Hits) {
        push_hits(&mut self.rules, note.words.len(), hits);
    }

    /// Adds the features of the whole note, which `document` has read.
    pub(super) fn push_document(&mut self, note: &Read, document: &Document) {
        for (i, word) in note.words.iter().enumerate() {
            document.of(i, word).push(&mut self.document);
        }
    }

    /// Adds the same for a window that begins with token `first` of its note.
    pub(super) fn push_evidence(&mut self, note: &Read, first: usize, evidence: &Evidence) {
        for (i, word) in note.words.iter().enumerate() {
            evidence.of(first + i, word).push(&mut self.document);
        }
    }

    /// Adds the features of parts of speech.
    pub(super) fn push_parts(&mut self, note: &NoteView<'_>, read: &mut Read, tagger: &PosTagger) {
        read.parts.clear();
        let mut from = 0;
        for &end in note.sentence_ends {
            let sentence = read.ids[from..end as usize].iter();
            let vectors = sentence.map(|&id| &self.words.vectors[id as usize]);
            tagger.tag(vectors, &mut read.parts);
            from = end as usize;
        }
        push_parts(&mut self.parts, &read.parts, 0..read.parts.len());
    }

    /// Adds the same for some tokens of a long note; `tags` also has those of the tokens around them.
    pub(super) fn push_tags(&mut self, tags: &[u8], tokens: Range<usize>) {
        push_parts(&mut self.parts, tags, tokens);
    }

    /// Returns the columns: all tables of the settings, and the views that read them.
    pub(super) fn finish(self, notes: Vec<Range<usize>>, config: &FeatureConfig) -> Columns {
        let mut columns = Columns {
            notes,
            ..Columns::default()
        };
        let mut add_parts = |table: Table, parts: &[(u8, &[i8])]| {
            let place = columns.tables.len();
            columns.tables.push(table);
            for &(part, shifts) in parts {
                columns.views.extend(shifts.iter().map(|&shift| View {
                    table: place,
                    part,
                    shift,
                }));
            }
        };
        add_parts(
            self.words.into_table(),
            &[(OWN, &[0]), (NEAR, &[-1, 1]), (FAR, &[-2, 2, -3, 3])],
        );
        let mut add = |table: Table, shifts: &[i8]| add_parts(table, &[(0, shifts)]);
        add(self.gaps.into_table(), &[0]);
        for layout in self.layout {
            add(layout.into_table(), &[0]);
        }
        add(self.fields.into_table(), &[0]);
        add(self.chunks.into_table(), &[0]);
        add(self.combined.into_table(), &[0]);
        if config.lists {
            add(self.cues.into_table(), &[0]);
            add(self.phrases.into_table(), &[0, -1, 1]);
        }
        if config.rules {
            add(self.rules.into_table(), &[0, -1, 1]);
        }
        if config.document {
            add(self.document.into_table(), &[0, -1]);
        }
        if config.pos.is_some() {
            add(self.parts.into_table(), &[0]);
        }
        columns
    }
}
