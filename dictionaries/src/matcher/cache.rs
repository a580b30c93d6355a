//! The cache of a matcher: the results of single words, and of a further word within a key.

use bytemuck::Zeroable;
use lethe_core::{Cache, NoteView, TokenKind, vec_bytes};

use crate::dictionary::{At, Dictionary, NONE, OUTSIDE, class};
use crate::joint::next_word;

/// Number of cached words; a power of two. With 64 bytes each they fill a second-level CPU cache and save
/// nearly all walks.
pub(super) const SLOTS: usize = 32768;

/// The slot of words that are too long to cache: refilled for each.
pub(super) const LONG: usize = SLOTS;
/// The slot of words that begin no key and are too short to be misspelt. Never filled.
pub(super) const NOTHING: usize = SLOTS + 1;
/// The slot of words that begin no key and may be misspelt. Never filled.
pub(super) const UNLISTED: usize = SLOTS + 2;
/// The key of these two slots, which no text has.
pub(super) const NO_KEY: u128 = u128::MAX;
/// The first slot of one-byte words, which need no hash: one slot per ASCII character.
pub(super) const SINGLE: usize = SLOTS + 3;
/// Number of all slots.
pub(super) const ALL_SLOTS: usize = SINGLE + 128;

/// Number of cached steps from one word of a key to the next; a power of two.
pub(super) const STEPS: usize = 4096;

/// The value of [`Slot::near`] before a search: few callers need misspellings.
pub(super) const UNSOUGHT: u32 = NONE - 1;

/// Cached words and steps. Contains note text: never printed, never written.
#[derive(Default)]
pub(crate) struct WordCache {
    pub(super) words: Vec<Slot>,
    pub(super) steps: Vec<Step>,
}

impl Cache for WordCache {
    fn bytes(&self) -> usize {
        vec_bytes(&self.words) + vec_bytes(&self.steps)
    }
}

/// The position of the automaton after some words, and what can follow.
#[derive(Clone, Copy, Zeroable)]
pub(super) struct State {
    /// The position, and the position after a separator.
    tight: At,
    apart: At,
    /// First bytes that can follow each, by [`class`].
    classes_tight: u32,
    classes_apart: u32,
    /// Whether a misspelt word can follow a separator.
    takes_near: bool,
}

/// A continuation to a token.
#[derive(Clone, Copy)]
pub(super) struct Way {
    pub(super) next: usize,
    pub(super) at: At,
    /// Whether the token may continue a key, by its first byte.
    pub(super) exact: bool,
    /// Whether a word that the token misspells may continue it.
    pub(super) near: bool,
}

impl State {
    /// Nothing can follow.
    const END: Self = Self {
        tight: At { node: 0, sum: 0 },
        apart: At { node: 0, sum: 0 },
        classes_tight: 0,
        classes_apart: 0,
        takes_near: false,
    };

    /// Returns how the token after `i` may continue a key, if it may; with `misspelt`, also as a misspelt
    /// word.
    // Inlined, since the returned parts are used at once; through memory they would wait for stores.
    #[inline(always)]
    pub(super) fn way(&self, note: &NoteView<'_>, i: usize, misspelt: bool) -> Option<Way> {
        let takes_near = self.takes_near & misspelt;
        if self.classes_tight | self.classes_apart == 0 && !takes_near {
            return None;
        }
        let (next, apart) = next_word(note, i)?;
        let (at, classes) = if apart {
            (self.apart, self.classes_apart)
        } else {
            (self.tight, self.classes_tight)
        };
        let (exact, near) = (can_begin(note, next, classes), apart & takes_near);
        (exact | near).then_some(Way {
            next,
            at,
            exact,
            near,
        })
    }

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

/// The result of one word, in a cache line of 64 bytes.
#[derive(Clone, Copy, Zeroable)]
#[repr(align(64))]
pub(super) struct Slot {
    /// The word's bytes with ASCII letters in lower case, padded with zeros; 0 for an empty slot.
    pub(super) key: u128,
    /// The resulting position.
    pub(super) state: State,
    /// Its own record, the number of the lists that may hold it, and the index of its exact forms.
    pub(super) record: u32,
    pub(super) set: u32,
    pub(super) exacts: u32,
    /// Words of distance-1 lists that it may misspell; [`UNSOUGHT`] before a search.
    pub(super) near: [u32; 2],
}

impl Slot {
    pub(super) const EMPTY: Self = Self {
        key: 0,
        state: State::END,
        record: NONE,
        set: NONE,
        exacts: NONE,
        near: [NONE; 2],
    };

    #[inline(never)]
    pub(super) fn of(dictionary: &Dictionary, note: &NoteView<'_>, i: usize, key: u128) -> Self {
        let at = dictionary.step_first(note.word(i));
        let record = at.and_then(|at| dictionary.record(at)).unwrap_or(NONE);
        // A known word is not a misspelling.
        let sought = record == NONE && may_be_near(dictionary, note, i);
        let near = [if sought { UNSOUGHT } else { NONE }; 2];
        let (set, exacts) = dictionary.parts_of(record);
        let empty = Self {
            key,
            record,
            set,
            exacts,
            near,
            ..Self::EMPTY
        };
        at.map_or(empty, |at| Self {
            state: State::after(dictionary, at),
            ..empty
        })
    }
}

/// The result of one word from a position within a key. Sums and the record are relative to the sum at that
/// position.
#[derive(Clone, Copy, Zeroable)]
#[repr(align(64))]
pub(super) struct Step {
    /// The word's bytes, as in [`Slot`]; 0 for an empty step.
    pub(super) key: u128,
    /// The starting node.
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
        state: State::END,
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
}

/// Returns the bytes of a word of at most sixteen as one number. Its ASCII letters are in lower case, since
/// walks fold them anyway.
#[inline(always)]
pub(super) fn short_key(text: &[u8], start: usize, end: usize) -> Option<u128> {
    if end - start == 1 {
        return Some(u128::from(text[start].to_ascii_lowercase()));
    }
    longer_key(text, start, end)
}

#[inline]
fn longer_key(text: &[u8], start: usize, end: usize) -> Option<u128> {
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
    // Most words are short and have an empty upper half.
    let high = if len > 8 { lower(high & MASKS[len - 8]) } else { 0 };
    Some(u128::from(lower(low & MASKS[len.min(8)])) | u128::from(high) << 64)
}

const fn halves(bytes: [u8; 16]) -> [u64; 2] {
    let both = u128::from_le_bytes(bytes);
    [both as u64, (both >> 64) as u64]
}

/// Masks of the first bytes of eight.
const MASKS: [u64; 9] = {
    let mut masks = [u64::MAX; 9];
    let mut len = 0;
    while len < 8 {
        masks[len] = (1 << (8 * len)) - 1;
        len += 1;
    }
    masks
};

/// Lower-cases the ASCII capitals in eight bytes.
#[inline]
const fn lower(bytes: u64) -> u64 {
    const EACH: u64 = u64::from_le_bytes([1; 8]);
    let low = bytes & (0x7f * EACH);
    // The highest bit of each byte tells whether its other bits are at least "A", or more than "Z". No sum
    // carries over.
    let from_a = low + (0x80 - b'A' as u64) * EACH;
    let after_z = low + (0x7f - b'Z' as u64) * EACH;
    let capitals = (from_a ^ after_z) & !bytes & (0x80 * EACH);
    bytes | capitals >> 2
}

/// Returns whether token `i` may be a misspelt word; false is certain.
#[inline]
pub(super) fn may_be_near(dictionary: &Dictionary, note: &NoteView<'_>, i: usize) -> bool {
    let tokens = note.tokens;
    let length = (tokens.ends[i] - tokens.starts[i]) as usize;
    tokens.kinds[i] == TokenKind::Letters as u8 && dictionary.near().may_be_near(length)
}

/// Returns whether token `i` begins with one of these classes. Most words of a note end here, since no key
/// continues with the next word.
#[inline]
pub(super) fn can_begin(note: &NoteView<'_>, i: usize, classes: u32) -> bool {
    let begins = class(note.text.as_bytes()[note.tokens.starts[i] as usize]);
    // A letter outside ASCII may fold into any class.
    classes & begins != 0 || (begins == OUTSIDE && classes != 0)
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
