//! Finds every list entry in a note by walking the automaton from each word, on token boundaries.
//!
//! Notes repeat their words, so the result of a single word is kept in a small direct-mapped cache, keyed by
//! the word's bytes in lower case; most words then take one look-up and never touch the automaton.

mod cache;

use std::ops::Range;

use lethe_core::{NoteView, Span, TakenCache, TokenKind};

use crate::dictionary::{At, Dictionary, NONE};
use crate::entry::Entry;
use crate::joint::is_written;
use crate::list::ListSet;
pub(crate) use cache::WordCache;
use cache::{
    ALL_SLOTS, LONG, NO_KEY, NOTHING, SINGLE, SLOTS, STEPS, Slot, State, Step, UNLISTED, UNSOUGHT, Way,
    may_be_near, place_of, short_key,
};

/// An entry found in a note.
#[derive(Clone, Copy, Debug)]
pub struct Match<'d> {
    /// Its first token.
    pub first: usize,
    /// Its last token, included.
    pub last: usize,
    /// Both, and the text between them.
    pub span: Span,
    /// The entry in the wanted lists.
    pub entry: Entry<'d>,
    /// Number of typing errors between the text and the entry: 0 or 1.
    pub distance: u8,
}

/// The cache slot of a word: see [`Matcher::seek`].
#[derive(Clone, Copy, Debug)]
pub struct SlotKey {
    place: usize,
    key: u128,
}

/// Matches notes with a dictionary. Not shared between threads: create one per thread with
/// [`Dictionary::matcher`].
pub struct Matcher<'d> {
    dictionary: &'d Dictionary,
    cache: TakenCache<'d, WordCache>,
}

impl<'d> Matcher<'d> {
    pub(crate) fn new(dictionary: &'d Dictionary, mut cache: TakenCache<'d, WordCache>) -> Self {
        if cache.words.is_empty() {
            // A slot with the key 0 is filled before it is read. Zeros come from the system page by page as
            // they are touched, and a short note touches few.
            cache.words = bytemuck::zeroed_vec(ALL_SLOTS);
            cache.words[NOTHING] = Slot {
                key: NO_KEY,
                ..Slot::EMPTY
            };
            cache.words[UNLISTED] = Slot {
                near: [UNSOUGHT; 2],
                ..cache.words[NOTHING]
            };
            cache.steps = bytemuck::zeroed_vec(STEPS + 1);
        }
        Self { dictionary, cache }
    }

    /// Calls `found` with every match in a wanted list: at each word all lengths, shortest first; matches
    /// overlap.
    pub fn each(&mut self, note: &NoteView<'_>, wanted: ListSet, found: impl FnMut(Match<'d>)) {
        self.each_from(note, 0..note.tokens.len(), wanted, found);
    }

    /// Does the same as [`Matcher::each`] for matches that begin at one of these tokens. They may end after
    /// the last.
    pub fn each_from(
        &mut self,
        note: &NoteView<'_>,
        tokens: Range<usize>,
        wanted: ListSet,
        mut found: impl FnMut(Match<'d>),
    ) {
        for first in tokens {
            self.from(note, first, wanted, &mut found);
        }
    }

    /// Calls `found` with the longest match at the leftmost word that has one, then continues after it:
    /// matches do not overlap.
    ///
    /// If an exact and a misspelt match have the same length, the exact one counts.
    pub fn longest(&mut self, note: &NoteView<'_>, wanted: ListSet, mut found: impl FnMut(Match<'d>)) {
        let mut first = 0;
        while first < note.tokens.len() {
            match self.longest_at(note, first, wanted) {
                Some(best) => {
                    first = best.last + 1;
                    found(best);
                }
                None => first += 1,
            }
        }
    }

    /// Returns the longest match that begins at token `first`, for callers that know where an entry can
    /// begin.
    #[inline]
    pub fn longest_at(&mut self, note: &NoteView<'_>, first: usize, wanted: ListSet) -> Option<Match<'d>> {
        let mut best = None;
        self.from(note, first, wanted, &mut longest(&mut best));
        best
    }

    /// Fills `out` with the entry of each single token.
    pub fn words(&mut self, note: &NoteView<'_>, out: &mut Vec<Entry<'d>>) {
        out.clear();
        out.extend((0..note.tokens.len()).map(|i| self.word(note, i)));
    }

    /// Returns the entry of the single token `i`.
    #[inline]
    pub fn word(&mut self, note: &NoteView<'_>, i: usize) -> Entry<'d> {
        if note.tokens.kinds[i] == TokenKind::Punctuation as u8 {
            return Entry::none(self.dictionary);
        }
        let place = self.slot(note, i);
        self.entry(note, i, place)
    }

    /// Returns the entry of token `i`, whose slot is at `place`.
    #[inline]
    fn entry(&self, note: &NoteView<'_>, i: usize, place: usize) -> Entry<'d> {
        let slot = &self.cache.words[place];
        match slot.record {
            NONE => Entry::none(self.dictionary),
            record => self.dictionary.entry_by(record, (slot.set, slot.exacts), |form| {
                is_written(note, i, i, form)
            }),
        }
    }

    /// Seeks token `i` for [`Matcher::word_and_longest_at`]. A caller that seeks a word before it queries the
    /// previous one does not wait for memory.
    #[inline]
    pub fn seek(&self, note: &NoteView<'_>, i: usize) -> SlotKey {
        let slot_key = self.slot_key(note, i);
        // Prefetched, so that the later read does not stall.
        std::hint::black_box(self.cache.words[slot_key.place].record);
        slot_key
    }

    /// Returns the results of [`Matcher::word`] and [`Matcher::longest_at`] for the sought token `i` with a
    /// single look-up.
    #[inline]
    pub fn word_and_longest_at(
        &mut self,
        note: &NoteView<'_>,
        i: usize,
        slot_key: SlotKey,
        wanted: ListSet,
    ) -> (Entry<'d>, Option<Match<'d>>) {
        if note.tokens.kinds[i] == TokenKind::Punctuation as u8 {
            return (Entry::none(self.dictionary), None);
        }
        let place = self.filled(note, i, slot_key);
        let entry = self.entry(note, i, place);
        let wanted_entry = entry.within(wanted);
        let mut best = (!wanted_entry.is_none()).then(|| Match {
            first: i,
            last: i,
            span: note.tokens.span(i),
            entry: wanted_entry,
            distance: 0,
        });
        if !wanted.is_empty() {
            self.beyond(note, (i, place), wanted, &mut longest(&mut best));
        }
        (entry, best)
    }

    /// Reports every wanted match that begins at token `first`.
    #[inline]
    fn from(
        &mut self,
        note: &NoteView<'_>,
        first: usize,
        wanted: ListSet,
        found: &mut impl FnMut(Match<'d>),
    ) {
        if note.tokens.kinds[first] == TokenKind::Punctuation as u8 {
            return;
        }
        let place = self.slot(note, first);
        let slot = &self.cache.words[place];
        if self.dictionary.lists_of_set(slot.set).intersects(wanted) {
            let entry = self.entry(note, first, place).within(wanted);
            if !entry.is_none() {
                found(Match {
                    first,
                    last: first,
                    span: note.tokens.span(first),
                    entry,
                    distance: 0,
                });
            }
        }
        self.beyond(note, (first, place), wanted, found);
    }

    /// Does the same as [`Matcher::from`] without the token's own entry, for a token that has a known slot
    /// and is not a mark.
    #[inline]
    fn beyond(
        &mut self,
        note: &NoteView<'_>,
        (first, place): (usize, usize),
        wanted: ListSet,
        found: &mut impl FnMut(Match<'d>),
    ) {
        let slot = &self.cache.words[place];
        let misspelt = wanted.intersects(self.dictionary.distance1());
        let way = slot.state.way(note, first, misspelt);
        let way = way.filter(|way| !self.is_dead_end(note, first, way));
        let near = misspelt & (slot.near[0] != NONE);
        if way.is_none() & !near {
            return;
        }
        // Before the walk, in which another word may take the slot.
        let near = if near {
            self.near_of(note, first, place)
        } else {
            [NONE; 2]
        };
        let mut walk = Walk {
            misspelt,
            matcher: self,
            note,
            first,
            wanted,
            found,
        };
        if let Some(way) = way {
            walk.advance(way, 0);
        }
        if near[0] != NONE {
            let root = walk.matcher.dictionary.root();
            walk.try_near(root, near, first);
        }
    }

    /// Returns whether the way from token `first`, a whole word, ends within the next token. Decides by the
    /// first letters of both if nothing is between them. A wrong false only costs a step: in a text without
    /// words each step is different and not cached.
    #[inline]
    fn is_dead_end(&self, note: &NoteView<'_>, first: usize, way: &Way) -> bool {
        let (tokens, text) = (note.tokens, note.text.as_bytes());
        let (start, joint) = (tokens.starts[first] as usize, tokens.starts[way.next] as usize);
        if tokens.ends[first] as usize != joint {
            return false;
        }
        match tokens.kind(way.next) {
            TokenKind::Letters => {
                let end = (tokens.ends[way.next] as usize).min(start + 4);
                short_key(text, start, end).is_some_and(|key| self.dictionary.begins_nothing(key))
            }
            // The cache holds digits that follow a single letter.
            TokenKind::Digits => {
                joint - start > 1
                    && text[joint].is_ascii()
                    && self.dictionary.step(way.at, text[joint]).is_none()
            }
            TokenKind::Punctuation => false,
        }
    }

    /// Returns the index of token `i`'s slot, filling it if necessary.
    #[inline]
    fn slot(&mut self, note: &NoteView<'_>, i: usize) -> usize {
        let slot_key = self.slot_key(note, i);
        self.filled(note, i, slot_key)
    }

    /// Returns the index of token `i`'s slot, and its key if it is filled.
    #[inline]
    fn slot_key(&self, note: &NoteView<'_>, i: usize) -> SlotKey {
        let (start, end) = (note.tokens.starts[i] as usize, note.tokens.ends[i] as usize);
        match short_key(note.text.as_bytes(), start, end) {
            Some(key) if end - start == 1 => SlotKey {
                place: SINGLE + (key as usize & 0x7f),
                key,
            },
            // Random letters would evict all words, and each word would then be read from memory, which costs
            // more.
            Some(key) if self.dictionary.begins_nothing(key) => {
                let near = self.dictionary.near().may_be_near(end - start);
                SlotKey {
                    place: if near { UNLISTED } else { NOTHING },
                    key: NO_KEY,
                }
            }
            Some(key) => SlotKey {
                place: place_of(key),
                key,
            },
            None => SlotKey { place: LONG, key: 0 },
        }
    }

    /// Returns the index of a slot, filling it if necessary.
    #[inline]
    fn filled(&mut self, note: &NoteView<'_>, i: usize, SlotKey { place, key }: SlotKey) -> usize {
        if self.cache.words[place].key != key || key == 0 {
            self.cache.words[place] = Slot::of(self.dictionary, note, i, key);
        }
        place
    }

    /// Returns the words that token `i` may be a misspelling of.
    #[inline]
    fn near(&mut self, note: &NoteView<'_>, i: usize) -> [u32; 2] {
        if !may_be_near(self.dictionary, note, i) {
            return [NONE; 2];
        }
        let place = self.slot(note, i);
        self.near_of(note, i, place)
    }

    /// Does the same as [`Matcher::near`] for a token with a known slot.
    #[inline]
    fn near_of(&mut self, note: &NoteView<'_>, i: usize, place: usize) -> [u32; 2] {
        let near = self.cache.words[place].near;
        if near[0] != UNSOUGHT {
            return near;
        }
        let near = self.dictionary.near().find(note.word(i));
        if place < SLOTS {
            self.cache.words[place].near = near;
        }
        near
    }

    /// Returns where token `i` leads from `node` within a key.
    #[inline]
    fn step(&mut self, note: &NoteView<'_>, node: u32, i: usize) -> &Step {
        let (start, end) = (note.tokens.starts[i] as usize, note.tokens.ends[i] as usize);
        let key = short_key(note.text.as_bytes(), start, end);
        let (place, key) = key.map_or((STEPS, 0), |key| {
            (place_of(key ^ u128::from(node) << 64) % STEPS, key)
        });
        let step = &mut self.cache.steps[place];
        if step.key != key || step.node != node || key == 0 {
            *step = Step::of(self.dictionary, note, node, i, key);
        }
        step
    }
}

/// Keeps the longest match in `best`, and of two with the same length that with fewer typing errors.
#[inline]
fn longest<'d>(best: &mut Option<Match<'d>>) -> impl FnMut(Match<'d>) {
    |this| {
        if best.is_none_or(|best| (this.last, best.distance) > (best.last, this.distance)) {
            *best = Some(this);
        }
    }
}

impl std::fmt::Debug for Matcher<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Matcher({:?})", self.dictionary)
    }
}

/// One walk from one word.
struct Walk<'m, 'd, 'n, 'f, F> {
    matcher: &'m mut Matcher<'d>,
    note: &'n NoteView<'n>,
    first: usize,
    wanted: ListSet,
    /// Whether a wanted list accepts misspelt words.
    misspelt: bool,
    found: &'f mut F,
}

impl<'d, F: FnMut(Match<'d>)> Walk<'_, 'd, '_, '_, F> {
    /// Follows the text on this way.
    fn advance(
        &mut self,
        Way {
            mut next,
            mut at,
            mut exact,
            mut near,
        }: Way,
        distance: u8,
    ) {
        loop {
            let step = exact.then(|| self.matcher.step(self.note, at.node, next));
            let Some(step) = step.filter(|step| step.found) else {
                if near {
                    let near = self.matcher.near(self.note, next);
                    self.try_near(at, near, next);
                }
                return;
            };
            let record = step.record;
            let onward = step.state.way(self.note, next, self.misspelt & (distance == 0));
            if record != NONE {
                self.emit(record + at.sum, next, distance);
            }
            let Some(way) = onward else { return };
            (next, exact, near) = (way.next, way.exact, way.near);
            at = At {
                node: way.at.node,
                sum: at.sum + way.at.sum,
            };
        }
    }

    /// Continues as if token `i` were one of the indexed words within one typing error.
    fn try_near(&mut self, at: At, words: [u32; 2], i: usize) {
        let dictionary = self.matcher.dictionary;
        for word in words {
            let after = dictionary
                .near()
                .word(word)
                .and_then(|word| dictionary.step_word(at, word));
            if let Some(after) = after {
                if let Some(record) = dictionary.record(after) {
                    self.emit(record, i, 1);
                }
                if let Some(way) = State::after(dictionary, after).way(self.note, i, false) {
                    self.advance(way, 1);
                }
            }
        }
    }

    fn emit(&mut self, record: u32, last: usize, distance: u8) {
        let dictionary = self.matcher.dictionary;
        let lists = if distance == 0 {
            self.wanted
        } else {
            self.wanted & dictionary.distance1()
        };
        if !dictionary.lists_of(record).intersects(lists) {
            return;
        }
        let (note, first) = (self.note, self.first);
        let entry = dictionary
            .entry(record, |form| is_written(note, first, last, form))
            .within(lists);
        if !entry.is_none() {
            (self.found)(Match {
                first,
                last,
                span: note.tokens_span(first, last),
                entry,
                distance,
            });
        }
    }
}
