//! A note as the rule members read it: folded words, their dictionary entries, and the layout of the lines.

use std::cell::Cell;

use lethe_core::NoteView;
use lethe_dictionaries::{Entry, EntryId, ListSet, Match, Matcher, SlotKey};

use crate::lexicon::Flags;
use crate::vocabulary::{Traits, Vocabulary};
use crate::words::{Case, Words};

/// One note with its look-ups.
pub(crate) struct Reading<'d, 'n> {
    pub(crate) words: Words<'n>,
    pub(crate) vocabulary: &'d Vocabulary,
    /// The entries of the capitalised tokens.
    entries: Vec<EntryId>,
    /// The traits of words in lower case, looked up when a rule first needs them.
    traits: Vec<Cell<Traits>>,
    /// The lexicon's flags of each token, looked up when a rule first needs them.
    flags: Vec<Cell<Flags>>,
    layout: Vec<u8>,
    /// The entries found, in the note's order.
    found: Vec<Found>,
    /// Whether the note has no capitals, so that capitalisation carries no information.
    pub(crate) all_lower: bool,
    /// Whether the note is in Spanish, judging by its function words.
    pub(crate) spanish: bool,
}

/// An entry of one or more tokens. Half as large as a [`Match`], since a note that consists of entries has
/// many.
#[derive(Clone, Copy)]
struct Found {
    lists: ListSet,
    first: u32,
    last: u32,
    id: EntryId,
    distance: u8,
}

impl Found {
    const fn of(found: &Match<'_>) -> Self {
        Self {
            lists: found.entry.lists(),
            // A note has less than 2^32 tokens, since its bytes fit in 32 bits.
            first: found.first as u32,
            last: found.last as u32,
            id: found.entry.id(),
            distance: found.distance,
        }
    }
}

/// The entries that a reader looks for: at each capitalised token, the longest that begins there.
#[derive(Clone, Copy, Default)]
pub(crate) struct Sought {
    /// The lists of these entries.
    pub(crate) lists: ListSet,
    /// Lists whose entries of several tokens exclude others inside them.
    pub(crate) passed: ListSet,
}

impl Sought {
    /// Returns whether no other entry is looked for inside this one.
    pub(crate) fn is_passed(&self, found: &Match<'_>) -> bool {
        found.last > found.first && found.entry.lists().intersects(self.passed)
    }
}

/// A line ends after the token and is not wrapped.
const ENDS_LINE: u8 = 1;
/// The token is in a line without lower case.
const CAPS: u8 = 2;

impl<'d, 'n> Reading<'d, 'n> {
    /// Reads a note. `matcher` must use the vocabulary's dictionary.
    pub(crate) fn new(
        note: NoteView<'n>,
        vocabulary: &'d Vocabulary,
        matcher: &mut Matcher<'d>,
        sought: Sought,
    ) -> Self {
        let mut words = Words::new(note);
        let encoded = words.mask_encoded();
        let mut reading = Self {
            layout: vec![0; words.len()],
            // Moving a long list as it grows costs more than its look-ups.
            found: Vec::with_capacity(words.len() / 4),
            all_lower: false,
            spanish: false,
            entries: vec![EntryId::default(); words.len()],
            traits: vec![Cell::default(); words.len()],
            flags: vec![Cell::new(Flags::UNREAD); words.len()],
            words,
            vocabulary,
        };
        reading.lay_out(encoded);
        reading.look_up(matcher, sought);
        reading
    }

    /// Looks up capitalised words. Most words are in lower case, and few rules need those: they are looked up
    /// on demand.
    fn look_up(&mut self, matcher: &mut Matcher<'d>, sought: Sought) {
        let note = self.words.note;
        let mut next = 0;
        let mut current: Option<(usize, SlotKey)> = None;
        for i in 0..=self.len() {
            let ahead = if i == self.len() {
                None
            } else if self.is_capital(i) {
                Some((i, matcher.seek(&note, i)))
            } else {
                if self.case(i) == Case::Lower {
                    self.traits[i].set(Traits::UNREAD);
                }
                continue;
            };
            // Processes the previous word, whose memory has been prefetched since.
            if let Some((i, slot_key)) = std::mem::replace(&mut current, ahead) {
                let lists = if i < next { ListSet::EMPTY } else { sought.lists };
                let (entry, longest) = matcher.word_and_longest_at(&note, i, slot_key, lists);
                self.entries[i] = entry.id();
                self.traits[i].set(self.vocabulary.traits(entry));
                if let Some(found) = longest {
                    if sought.is_passed(&found) {
                        next = found.last + 1;
                    }
                    self.found.push(Found::of(&found));
                }
            }
        }
    }

    /// Determines the layout. `encoded` is the number of tokens that are no part of the text.
    fn lay_out(&mut self, encoded: usize) {
        let words = &self.words;
        let (starts, ends) = (words.note.tokens.starts, words.note.tokens.ends);
        let (mut line, mut longest, mut capitals) = (0, 0, 0_usize);
        let mut lines: Vec<(usize, u32)> = Vec::new();
        let mut upper = 0;
        let mut lower = 0;
        let mut spanish = 0;
        for i in 0..words.len() {
            // Counted without branches: in a text without words nothing predicts the next token.
            let (case, length) = (words.case(i), ends[i] - starts[i]);
            let (is_upper, is_title, is_lower) =
                (case == Case::Upper, case == Case::Title, case == Case::Lower);
            let long = length > 1;
            upper += usize::from(is_upper & long);
            capitals += usize::from(is_title | is_upper & !long);
            lower += usize::from(is_title | is_lower & long);
            if is_lower & long & (length <= 3) {
                spanish += usize::from(matches!(
                    words.bytes(i),
                    b"de" | b"la" | b"el" | b"en" | b"con" | b"del" | b"que" | b"los" | b"se"
                ));
            }
            let breaks = if words.glued(i) { 0 } else { words.breaks_after(i) };
            if breaks > 0 {
                let length = ends[i] - starts[line];
                longest = longest.max(length);
                // "40 mmHg" in capitals may keep a lower-case letter: up to one in ten is ignored.
                if upper > 0 && lower * 10 <= upper {
                    self.layout[line..=i].iter_mut().for_each(|flags| *flags |= CAPS);
                }
                if breaks > 1 {
                    self.layout[i] |= ENDS_LINE;
                } else {
                    lines.push((i, length));
                }
                capitals += upper;
                (line, upper, lower) = (i + 1, 0, 0);
            }
        }
        // A line is wrapped if the next word would not have fitted in the note's line width.
        for (i, length) in lines {
            let next = ends[i + 1] - starts[i + 1];
            let wrapped = (40..=132).contains(&longest) && length + 1 + next >= longest.min(100) - 2;
            if !wrapped {
                self.layout[i] |= ENDS_LINE;
            }
        }
        let of_text = words.len() - encoded;
        self.all_lower = capitals * 100 < of_text;
        self.spanish = spanish * 14 > of_text;
    }

    /// Returns the number of tokens.
    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    /// Returns token `i`, folded; empty past the end.
    #[inline]
    pub(crate) fn get(&self, i: usize) -> &str {
        self.words.get(i)
    }

    /// Returns the bytes of token `i`, folded.
    #[inline]
    pub(crate) fn width(&self, i: usize) -> usize {
        self.words.width(i)
    }

    /// Returns token `i`, folded, if it is one byte; `'` for the curly apostrophe; else 0.
    #[inline]
    pub(crate) fn byte(&self, i: usize) -> u8 {
        self.words.byte(i)
    }

    /// Returns the case of token `i`.
    #[inline]
    pub(crate) fn case(&self, i: usize) -> Case {
        self.words.case(i)
    }

    /// Returns the dictionary's traits of token `i`.
    #[inline]
    pub(crate) fn traits(&self, i: usize) -> Traits {
        let Some(cell) = self.traits.get(i) else {
            return Traits::default();
        };
        match cell.get() {
            Traits::UNREAD => self.read_traits(i, cell),
            traits => traits,
        }
    }

    #[inline(never)]
    fn read_traits(&self, i: usize, cell: &Cell<Traits>) -> Traits {
        cell.set(self.vocabulary.traits(self.entry(i)));
        cell.get()
    }

    /// Returns whether token `i` has one of these flags.
    #[inline]
    pub(crate) fn flag(&self, i: usize, flags: Flags) -> bool {
        let Some(cell) = self.flags.get(i) else {
            return false;
        };
        match cell.get() {
            Flags::UNREAD => self.read_flags(i, cell).any(flags),
            read => read.any(flags),
        }
    }

    #[inline(never)]
    fn read_flags(&self, i: usize, cell: &Cell<Flags>) -> Flags {
        cell.set(self.vocabulary.lexicon.flags(self.get(i)));
        cell.get()
    }

    /// Returns whether token `i` has one of these traits.
    #[inline]
    pub(crate) fn is(&self, i: usize, traits: Traits) -> bool {
        self.traits(i).any(traits)
    }

    /// Returns the dictionary's entry of token `i`.
    ///
    /// # Panics
    /// If the token does not exist.
    pub(crate) fn entry(&self, i: usize) -> Entry<'d> {
        let (dictionary, word) = (&self.vocabulary.dictionary, self.words.note.word(i));
        if self.is_capital(i) {
            dictionary.entry_of(self.entries[i], word)
        } else {
            dictionary.word(word)
        }
    }

    /// Returns whether a line ends after token `i` and is not wrapped.
    pub(crate) fn ends_line(&self, i: usize) -> bool {
        self.layout.get(i).is_none_or(|flags| flags & ENDS_LINE != 0)
    }

    /// Returns whether token `i` is in a line in capitals.
    pub(crate) fn in_caps(&self, i: usize) -> bool {
        self.layout.get(i).is_some_and(|flags| flags & CAPS != 0)
    }

    /// Returns whether token `i` and the next are separated like columns of a form: by a tab, two blanks, or
    /// the end of a line.
    #[inline]
    pub(crate) fn ends_field(&self, i: usize) -> bool {
        if self.words.glued(i) {
            return false;
        }
        if self.ends_line(i) {
            return true;
        }
        let tokens = self.words.note.tokens;
        let (end, start) = (tokens.ends[i] as usize, tokens.starts[i + 1] as usize);
        start - end > 1 && !self.words.note.text.as_bytes()[end..start].contains(&b'\n')
    }

    /// Returns whether token `i` begins a sentence or a line, so that its capital carries no information.
    pub(crate) fn starts_sentence(&self, i: usize) -> bool {
        i == 0
            || self.ends_line(i - 1)
            || match self.get(i - 1) {
                "!" | "?" | ":" | "•" | "*" => true,
                // The full stop of an initial or of a title does not end a sentence.
                "." => i < 2 || self.get(i - 2).len() > 3 || self.case(i - 2) == Case::Digits,
                _ => false,
            }
    }

    /// Returns whether token `i` is written like a name: with a capital, or in any case in a note without
    /// capitals.
    #[inline]
    pub(crate) fn is_capital(&self, i: usize) -> bool {
        self.case(i).is_capital() || (self.all_lower && self.case(i) == Case::Lower)
    }

    /// Returns the entries found, in the note's order.
    pub(crate) fn found(&self) -> impl Iterator<Item = Match<'d>> {
        self.found.iter().map(|found| {
            let (first, last) = (found.first as usize, found.last as usize);
            Match {
                first,
                last,
                span: self.words.note.tokens_span(first, last),
                entry: self.vocabulary.dictionary.entry_in(found.id, found.lists),
                distance: found.distance,
            }
        })
    }

    /// Returns whether capitals carry no information at token `i`.
    pub(crate) fn is_shapeless(&self, i: usize) -> bool {
        self.all_lower || self.in_caps(i)
    }

    /// Returns whether the text after token `last` makes it an eponym or a brand: "Foley catheter", "Blake
    /// chest drain".
    pub(crate) fn is_eponym(&self, last: usize) -> bool {
        let next = last + 1;
        if self.ends_line(last) || next >= self.len() {
            return false;
        }
        let possessive = matches!(self.get(next), "'" | "’") && self.get(next + 1) == "s";
        let noun = if possessive { next + 2 } else { next };
        self.flag(noun, Flags::EPONYM_NOUN)
            || (self.case(noun) == Case::Lower
                && !self.all_lower
                && self.flag(noun + 1, Flags::EPONYM_NOUN)
                && !possessive)
    }

    /// Returns whether a noun in lower case follows in the same sentence, as after a brand: "Medtronic cage",
    /// "St. Jude valve".
    pub(crate) fn is_before_noun(&self, last: usize) -> bool {
        let next = last + 1;
        !self.all_lower
            && !self.ends_line(last)
            && self.case(next) == Case::Lower
            && self.get(next).len() > 2
            && !self.flag(next, Flags::FUNCTION)
            && !self.flag(next, Flags::PERSON_VERB)
            && !self.get(next).ends_with("ed")
    }
}
