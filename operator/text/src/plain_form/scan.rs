//! A quick look at a text, which nearly all texts end with.

/// Characters that may stand between the letters of a word.
pub(super) const SEPARATORS: [char; 6] = [' ', '.', '-', '_', '*', '\u{a0}'];

/// Returns whether the plain form of a text may differ from it. Compares bytes, a few at a time; a text for
/// which this returns true may still have no disguised character.
pub(super) fn may_differ(text: &str) -> bool {
    let bytes = text.as_bytes();
    has_entity(bytes)
        || !bytes.is_ascii() && has_other_letters(bytes)
        || has_spaced(bytes)
        || has_break(bytes)
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
    bytes.iter().enumerate().any(|(at, byte)| match byte {
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
    })
}

/// Returns whether there are two single characters in a row, with the same separator around them.
fn has_spaced(bytes: &[u8]) -> bool {
    let separates = |byte: u8| matches!(byte, b' ' | b'.' | b'-' | b'_' | b'*');
    let (Some(second), Some(third)) = (bytes.get(2..), bytes.get(4..)) else {
        return false;
    };
    // In blocks, which the compiler compares at once.
    let blocks = bytes.chunks(64).zip(second.chunks(64)).zip(third.chunks(64));
    blocks.into_iter().any(|((first, second), third)| {
        let triples = first.iter().zip(second).zip(third);
        triples.fold(false, |found, ((&first, &second), &third)| {
            found | ((first == second) & (second == third) & separates(first))
        })
    })
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
