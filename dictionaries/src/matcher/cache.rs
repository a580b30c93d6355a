//! What a matcher remembers: where single words lead, and where a further word leads within a key.

use lethe_core::{NoteView, TokenKind};

use crate::dictionary::{At, Dictionary, NONE, class};
use crate::joint::next_word;

/// Words remembered; a power of two. With 64 bytes each they fill a second-level cache and spare
/// nearly all walks.
pub(super) const SLOTS: usize = 32768;

/// The slot of words that are too long to be remembered: filled anew for each.
pub(super) const LONG: usize = SLOTS;
/// The slot of words that begin no key and are too short to be misspelt ones. Never filled.
pub(super) const NOTHING: usize = SLOTS + 1;
/// The slot of words that begin no key and may be misspelt ones. Never filled.
pub(super) const UNLISTED: usize = SLOTS + 2;

/// Steps remembered from one word of a key to the next; a power of two.
pub(super) const STEPS: usize = 4096;

/// Stands in [`Slot::near`] for words not looked for yet: few callers ask for misspellings.
pub(super) const UNSOUGHT: u32 = NONE - 1;

/// Remembered words and steps. Holds note text: never printed, never written.
#[derive(Default)]
pub(crate) struct Cache {
    pub(super) words: Vec<Slot>,
    pub(super) steps: Vec<Step>,
}

/// Where the automaton stands after some words, and what it can go on with.
#[derive(Clone, Copy)]
pub(super) struct State {
    pub(super) tight: At,
    pub(super) apart: At,
    pub(super) classes_tight: u32,
    pub(super) classes_apart: u32,
    pub(super) takes_near: bool,
}

impl State {
    pub(super) fn after(dictionary: &Dictionary, tight: At) -> Self {
        let apart = dictionary.step_apart(tight);
        Self {
            tight,
            apart: apart.unwrap_or(tight),
            classes_tight: dictionary.classes(tight),
            classes_apart: apart.map_or(0, |at| dictionary.classes(at)),
            takes_near: apart.is_some_and(|at| dictionary.takes_near(at)),
        }
    }
}

/// What one word leads to. A cache line of 64 bytes.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Slot {
    /// The word's bytes, its ASCII letters in lower case, padded with zeros; 0 for an empty slot.
    pub(super) key: u128,
    /// Where the automaton stands after it, and after it and a separator.
    pub(super) tight: At,
    pub(super) apart: At,
    /// First bytes of what can follow, by [`class`].
    pub(super) classes_tight: u32,
    pub(super) classes_apart: u32,
    /// Its own record.
    pub(super) record: u32,
    /// Words of distance-1 lists that it may be a misspelling of; [`UNSOUGHT`] until a caller asks.
    pub(super) near: [u32; 2],
    /// Whether a misspelt word can follow.
    pub(super) takes_near: bool,
}

impl Slot {
    pub(super) const EMPTY: Self = Self {
        key: 0,
        tight: At { node: 0, sum: 0 },
        apart: At { node: 0, sum: 0 },
        classes_tight: 0,
        classes_apart: 0,
        record: NONE,
        near: [NONE; 2],
        takes_near: false,
    };

    #[inline(never)]
    pub(super) fn of(dictionary: &Dictionary, note: &NoteView<'_>, i: usize, key: u128) -> Self {
        let at = dictionary.step_first(note.word(i));
        let record = at.and_then(|at| dictionary.record(at)).unwrap_or(NONE);
        let letters = note.tokens.kinds[i] == TokenKind::Letters as u8;
        // A known word is no misspelling.
        let near = [if record == NONE && letters { UNSOUGHT } else { NONE }; 2];
        let empty = Self {
            key,
            record,
            near,
            ..Self::EMPTY
        };
        at.map_or(empty, |at| {
            let state = State::after(dictionary, at);
            Self {
                tight: state.tight,
                apart: state.apart,
                classes_tight: state.classes_tight,
                classes_apart: state.classes_apart,
                takes_near: state.takes_near,
                ..empty
            }
        })
    }

    /// The token after `i`, which this slot is of, and whether it stands apart, if it may go on with a key; where `misspelt`,
    /// with a misspelt word too.
    #[inline]
    pub(super) fn next(&self, note: &NoteView<'_>, i: usize, misspelt: bool) -> Option<(usize, bool)> {
        if self.classes_tight | self.classes_apart == 0 && !self.takes_near {
            return None;
        }
        next_word(note, i).filter(|&(next, apart)| {
            let classes = if apart {
                self.classes_apart
            } else {
                self.classes_tight
            };
            can_begin(note, next, classes) || apart & misspelt & self.takes_near
        })
    }

    #[inline]
    pub(super) const fn state(&self) -> State {
        State {
            tight: self.tight,
            apart: self.apart,
            classes_tight: self.classes_tight,
            classes_apart: self.classes_apart,
            takes_near: self.takes_near,
        }
    }
}

/// What one word leads to from a place within a key. Sums and the record count from the sum at that place.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Step {
    /// The word's bytes, as in [`Slot`]; 0 for an empty step.
    pub(super) key: u128,
    /// The place.
    pub(super) node: u32,
    /// Whether it leads anywhere.
    pub(super) found: bool,
    pub(super) record: u32,
    pub(super) state: State,
}

impl Step {
    pub(super) const EMPTY: Self = Self {
        key: 0,
        node: 0,
        found: false,
        record: NONE,
        state: State {
            tight: At { node: 0, sum: 0 },
            apart: At { node: 0, sum: 0 },
            classes_tight: 0,
            classes_apart: 0,
            takes_near: false,
        },
    };

    #[inline(never)]
    pub(super) fn of(dictionary: &Dictionary, note: &NoteView<'_>, node: u32, i: usize, key: u128) -> Self {
        let empty = Self {
            key,
            node,
            ..Self::EMPTY
        };
        let after = dictionary.step_word(At { node, sum: 0 }, note.word(i));
        after.map_or(empty, |after| Self {
            found: true,
            record: dictionary.record(after).unwrap_or(NONE),
            state: State::after(dictionary, after),
            ..empty
        })
    }

    /// The step taken from `at`, which stands at its place.
    #[inline]
    pub(super) fn from(&self, at: At) -> Option<(u32, State)> {
        if !self.found {
            return None;
        }
        let record = if self.record == NONE {
            NONE
        } else {
            self.record + at.sum
        };
        let mut state = self.state;
        state.tight.sum += at.sum;
        state.apart.sum += at.sum;
        Some((record, state))
    }
}

/// The bytes of a word of at most sixteen as one number. Its ASCII letters are in lower case: walks fold them anyhow.
#[inline]
pub(super) fn short_key(text: &[u8], start: usize, end: usize) -> Option<u128> {
    let len = end - start;
    if len > 16 {
        return None;
    }
    let [low, high] = match text.get(start..).and_then(<[u8]>::first_chunk::<16>) {
        Some(&bytes) => halves(bytes),
        None => {
            let mut word = [0; 16];
            word[..len].copy_from_slice(&text[start..end]);
            halves(word)
        }
    };
    // Most words are short, and have nothing in the upper half.
    let high = if len > 8 { lower(high & MASKS[len - 8]) } else { 0 };
    Some(u128::from(lower(low & MASKS[len.min(8)])) | u128::from(high) << 64)
}

const fn halves(bytes: [u8; 16]) -> [u64; 2] {
    let both = u128::from_le_bytes(bytes);
    [both as u64, (both >> 64) as u64]
}

/// The first so many bytes of eight.
const MASKS: [u64; 9] = {
    let mut masks = [u64::MAX; 9];
    let mut len = 0;
    while len < 8 {
        masks[len] = (1 << (8 * len)) - 1;
        len += 1;
    }
    masks
};

/// Eight bytes with their ASCII capitals in lower case.
#[inline]
const fn lower(bytes: u64) -> u64 {
    const EACH: u64 = u64::from_le_bytes([1; 8]);
    let low = bytes & (0x7f * EACH);
    // The highest bit of each byte tells whether its other bits are at least "A", or more than "Z". No sum carries over.
    let from_a = low + (0x80 - b'A' as u64) * EACH;
    let after_z = low + (0x7f - b'Z' as u64) * EACH;
    let capitals = (from_a ^ after_z) & !bytes & (0x80 * EACH);
    bytes | capitals >> 2
}

/// Whether token `i` begins with one of these classes. Most words of a note end here: what follows them begins no key's
/// next word.
#[inline]
pub(super) fn can_begin(note: &NoteView<'_>, i: usize, classes: u32) -> bool {
    let begins = class(note.text.as_bytes()[note.tokens.starts[i] as usize]);
    // A letter outside ASCII may fold into any.
    classes & begins != 0 || (begins == class(0) && classes != 0)
}

#[inline]
pub(super) fn place_of(key: u128) -> usize {
    let mixed = (key as u64 ^ ((key >> 64) as u64).rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> (64 - SLOTS.trailing_zeros())) as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn keys_fold_ascii_capitals_and_nothing_else(bytes in any::<[u8; 16]>(), len in 0..=16usize) {
            let mut lower = bytes;
            lower.make_ascii_lowercase();
            lower[len..].fill(0);
            prop_assert_eq!(short_key(&bytes, 0, len), Some(u128::from_le_bytes(lower)));
        }
    }
}
