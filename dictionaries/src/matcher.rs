//! Finds every list entry in a note: a walk over the automaton from each word, on token boundaries.
//!
//! Notes repeat their words, so what a word alone leads to is remembered in a small direct-mapped cache keyed by the word's
//! bytes in lower case; most words then cost one look-up and never touch the automaton.

mod cache;

use std::ops::Range;

use lethe_core::{NoteView, Span, TokenKind};

use crate::dictionary::{At, Dictionary, NONE, class};
use crate::entry::Entry;
use crate::joint::{is_written, next_word};
use crate::list::ListSet;
pub(crate) use cache::Cache;
use cache::{SLOTS, STEPS, Slot, State, Step, UNSOUGHT, place_of, short_key};

/// An entry found in a note.
#[derive(Clone, Copy, Debug)]
pub struct Match<'d> {
    /// Its first token.
    pub first: usize,
    /// Its last token, included.
    pub last: usize,
    /// Both and what lies between them.
    pub span: Span,
    /// What the wanted lists say of it.
    pub entry: Entry<'d>,
    /// Typing errors between the text and the entry: 0 or 1.
    pub distance: u8,
}

/// Walks notes over a dictionary. Not shared between threads: take one each from [`Dictionary::matcher`].
pub struct Matcher<'d> {
    dictionary: &'d Dictionary,
    cache: Cache,
}

impl<'d> Matcher<'d> {
    pub(crate) fn new(dictionary: &'d Dictionary, mut cache: Cache) -> Self {
        if cache.words.is_empty() {
            cache.words = vec![Slot::EMPTY; SLOTS];
            cache.steps = vec![Step::EMPTY; STEPS];
        }
        Self { dictionary, cache }
    }

    /// Calls `found` with every match that a wanted list holds: at each word all lengths, shortest first; matches overlap.
    pub fn each(&mut self, note: &NoteView<'_>, wanted: ListSet, found: impl FnMut(Match<'d>)) {
        self.each_from(note, 0..note.tokens.len(), wanted, found);
    }

    /// As [`Matcher::each`], with those matches alone that begin at one of these tokens. They may end after the last.
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

    /// Calls `found` with the longest match at the leftmost word that has one, then goes on after it: no two overlap.
    ///
    /// Of an exact and a misspelt match of one length the exact one counts.
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

    /// The longest match that begins at token `first`: for callers that know where an entry can begin.
    #[inline]
    pub fn longest_at(&mut self, note: &NoteView<'_>, first: usize, wanted: ListSet) -> Option<Match<'d>> {
        let mut best: Option<Match<'d>> = None;
        self.from(note, first, wanted, &mut |this| {
            if best.is_none_or(|best| (this.last, best.distance) > (best.last, this.distance)) {
                best = Some(this);
            }
        });
        best
    }

    /// Fills `out` with what the lists say of each token alone, one entry a token.
    pub fn words(&mut self, note: &NoteView<'_>, out: &mut Vec<Entry<'d>>) {
        out.clear();
        out.extend((0..note.tokens.len()).map(|i| self.word(note, i)));
    }

    /// What the lists say of token `i` alone.
    #[inline]
    pub fn word(&mut self, note: &NoteView<'_>, i: usize) -> Entry<'d> {
        if note.tokens.kinds[i] == TokenKind::Punctuation as u8 {
            return Entry::none(self.dictionary);
        }
        match self.slot(note, i).record {
            NONE => Entry::none(self.dictionary),
            record => self.dictionary.entry(record, |form| form == note.word(i)),
        }
    }

    /// Every wanted match that begins at token `first`.
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
        let slot = self.slot(note, first);
        let mut walk = Walk {
            misspelt: wanted.intersects(self.dictionary.distance1()),
            matcher: self,
            note,
            first,
            wanted,
            found,
        };
        if slot.record != NONE {
            walk.emit(slot.record, first, 0);
        }
        if slot.classes_tight | slot.classes_apart != 0 || slot.takes_near {
            walk.go_on(&slot.state(), first, 0);
        }
        if walk.misspelt && slot.near[0] != NONE {
            let root = walk.matcher.dictionary.root();
            let near = walk.matcher.near(note, first, &slot);
            walk.try_near(root, near, first);
        }
    }

    /// What token `i` alone leads to.
    #[inline]
    fn slot(&mut self, note: &NoteView<'_>, i: usize) -> Slot {
        let (start, end) = (note.tokens.starts[i] as usize, note.tokens.ends[i] as usize);
        let Some(key) = short_key(note.text.as_bytes(), start, end) else {
            return Slot::of(self.dictionary, note, i, 0);
        };
        let place = place_of(key);
        let slot = self.cache.words[place];
        if slot.key == key {
            return slot;
        }
        let slot = Slot::of(self.dictionary, note, i, key);
        self.cache.words[place] = slot;
        slot
    }

    /// The words that token `i`, of this slot, may be a misspelling of.
    fn near(&mut self, note: &NoteView<'_>, i: usize, slot: &Slot) -> [u32; 2] {
        if slot.near[0] != UNSOUGHT {
            return slot.near;
        }
        let near = self.dictionary.near().find(note.word(i));
        // A word that is too long for a key is in no slot.
        let kept = &mut self.cache.words[place_of(slot.key)];
        if slot.key != 0 && kept.key == slot.key {
            kept.near = near;
        }
        near
    }

    /// Where token `i` leads from `at`: the record of the key that ends with it or [`NONE`], and what can follow.
    #[inline]
    fn follow(&mut self, note: &NoteView<'_>, at: At, i: usize) -> Option<(u32, State)> {
        let (start, end) = (note.tokens.starts[i] as usize, note.tokens.ends[i] as usize);
        let Some(key) = short_key(note.text.as_bytes(), start, end) else {
            return Step::of(self.dictionary, note, at.node, i, 0).from(at);
        };
        let place = place_of(key ^ u128::from(at.node) << 64) % STEPS;
        let step = self.cache.steps[place];
        if step.key == key && step.node == at.node {
            return step.from(at);
        }
        let step = Step::of(self.dictionary, note, at.node, i, key);
        self.cache.steps[place] = step;
        step.from(at)
    }
}

impl Drop for Matcher<'_> {
    fn drop(&mut self) {
        self.dictionary.give_back(std::mem::take(&mut self.cache));
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
    /// Whether a wanted list holds misspelt words too.
    misspelt: bool,
    found: &'f mut F,
}

impl<'d, F: FnMut(Match<'d>)> Walk<'_, 'd, '_, '_, F> {
    /// Follows the text from token `last`, after which the automaton stands as `state` says.
    fn go_on(&mut self, state: &State, mut last: usize, distance: u8) {
        let mut state = *state;
        while let Some((next, apart)) = next_word(self.note, last) {
            let (at, classes) = if apart {
                (state.apart, state.classes_apart)
            } else {
                (state.tight, state.classes_tight)
            };
            // Most words end here: what follows them in the note begins no key's next word.
            let begins = class(self.note.text.as_bytes()[self.note.tokens.starts[next] as usize]);
            // A letter outside ASCII may fold into it.
            let possible = classes & begins != 0 || (begins == class(0) && classes != 0);
            let after = if possible {
                self.matcher.follow(self.note, at, next)
            } else {
                None
            };
            let Some((record, after)) = after else {
                if apart && distance == 0 && state.takes_near && self.misspelt {
                    let slot = self.matcher.slot(self.note, next);
                    let near = self.matcher.near(self.note, next, &slot);
                    self.try_near(at, near, next);
                }
                return;
            };
            if record != NONE {
                self.emit(record, next, distance);
            }
            state = after;
            last = next;
        }
    }

    /// Goes on as if token `i` were one of the indexed words that it is one typing error away from.
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
                self.go_on(&State::after(dictionary, after), i, 1);
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
