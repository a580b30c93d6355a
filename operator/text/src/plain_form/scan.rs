//! A quick look at a text. Most texts need no more.

/// Characters that may stand between the letters of a word.
pub(super) const SEPARATORS: [char; 6] = [' ', '.', '-', '_', '*', '\u{a0}'];

/// The ways in which the plain form of a text may differ from it.
#[derive(Clone, Copy)]
pub(super) struct Scan {
    pub(super) entities: bool,
    pub(super) characters: bool,
    pub(super) spaced: bool,
    pub(super) broken: bool,
}

impl Scan {
    /// Looks for them. It compares bytes, many at a time, and may find one where nothing is disguised.
    pub(super) fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        Self {
            entities: has_entity(bytes),
            characters: !bytes.is_ascii() && has_other_letters(bytes),
            spaced: has_spaced(bytes),
            broken: has_break(bytes),
        }
    }

    /// Returns whether the text is its own plain form.
    pub(super) const fn is_plain(self) -> bool {
        !(self.entities || self.characters || self.spaced || self.broken)
    }
}

/// Returns whether there is an ampersand in front of a letter or a number sign.
fn has_entity(bytes: &[u8]) -> bool {
    memchr::memchr_iter(b'&', bytes).any(|at| {
        let next = bytes.get(at + 1);
        next.is_some_and(|next| *next == b'#' || next.is_ascii_alphabetic())
    })
}

/// Returns whether there are characters that [`characters`](super::characters) may replace. It tells them from
/// accents, dashes, quotes and emoji by their first bytes.
fn has_other_letters(bytes: &[u8]) -> bool {
    let next = |at: usize| bytes.get(at).copied().unwrap_or(0);
    let other = |(at, byte): (usize, &u8)| match byte {
        // The soft hyphen; strokes through letters.
        0xc2 => next(at + 1) == 0xad,
        0xcc => matches!(next(at + 1), 0xb5..=0xb8),
        // Phonetic letters, and all from Greek to Arabic.
        0xc9 | 0xcd..=0xdf => true,
        0xe1 => next(at + 1) == 0xa0,
        // Zero-width characters, Roman numerals, letters in circles.
        0xe2 => match next(at + 1) {
            0x80 => matches!(next(at + 2), 0x8b..=0x8f | 0xaa..=0xae),
            0x81 => next(at + 2) >= 0xa0,
            0x85 => next(at + 2) >= 0xa0,
            second => matches!(second, 0x91..=0x93),
        },
        // Ligatures, variation selectors, full-width forms.
        0xef => true,
        // Letters of formulas, and in squares.
        0xf0 => match next(at + 1) {
            0x9d => true,
            0x9f => matches!(next(at + 2), 0x84 | 0x85),
            _ => false,
        },
        _ => false,
    };
    let blocks = bytes.chunks(BLOCK).zip((0..).step_by(BLOCK));
    let mut blocks = blocks.filter(|(block, _)| !block.is_ascii());
    blocks.any(|(block, start)| (start..).zip(block).any(other))
}

/// Returns whether there are two single letters or digits in a row, with the same separator around them.
fn has_spaced(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    while let Some(block) = rest.first_chunk() {
        if is_spaced(block) {
            return true;
        }
        rest = rest.get(BLOCK..).unwrap_or_default();
    }
    let mut last = [0; BLOCK + 4];
    for (to, from) in last.iter_mut().zip(rest) {
        *to = *from;
    }
    is_spaced(&last)
}

/// The bytes that are compared at once.
const BLOCK: usize = 64;

/// Looks for them in a block, and the four bytes behind it. Without branches, so that the compiler compares many bytes
/// with one instruction.
#[expect(clippy::indexing_slicing, reason = "the bounds are constants")]
fn is_spaced(block: &[u8; BLOCK + 4]) -> bool {
    let separates = |byte: u8| {
        u8::from(byte == b' ')
            | u8::from(byte == b'.')
            | u8::from(byte == b'-')
            | u8::from(byte == b'_')
            | u8::from(byte == b'*')
    };
    let stands = |byte: u8| {
        u8::from((byte | 0x20).wrapping_sub(b'a') < 26) | u8::from(byte.wrapping_sub(b'0') < 10) | (byte >> 7)
    };
    let mut found = 0;
    for i in 0..BLOCK {
        let same = u8::from(block[i] == block[i + 2]) & u8::from(block[i] == block[i + 4]);
        found |= separates(block[i]) & same & stands(block[i + 1]) & stands(block[i + 3]);
    }
    found != 0
}

/// Returns whether a line may end within a number: after a digit or a sign between digits, where the next line
/// begins with one.
fn has_break(bytes: &[u8]) -> bool {
    let within = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'/' | b'.');
    let blank = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\r');
    memchr::memchr_iter(b'\n', bytes).any(|at| {
        let (before, after) = bytes.split_at(at);
        let before = before.iter().rev().find(|byte| !blank(byte));
        let after = after.iter().skip(1).find(|byte| !blank(byte));
        before.is_some_and(within) && after.is_some_and(within)
    })
}
