//! Joins a note's tokens into keys: finds the next token, and whether a separator precedes it.
//!
//! Applies the rules of [`key`](crate::key) to tokens and the gaps between them.

use lethe_core::{NoteView, TokenKind};

use crate::key::{is_apostrophe, is_hyphen};

/// Returns the next token of a key after token `i`, and whether a separator precedes it.
#[inline(always)]
pub(crate) fn next_word(note: &NoteView<'_>, i: usize) -> Option<(usize, bool)> {
    let tokens = note.tokens;
    let next = i + 1;
    if next >= tokens.len() {
        return None;
    }
    let gap = gap(note, i)?;
    let mark = |i: usize| tokens.kinds[i] == TokenKind::Punctuation as u8;
    if !mark(next) {
        return Some((next, gap != Gap::None || mark(i)));
    }
    let c = match note.text.as_bytes()[tokens.starts[next] as usize] {
        byte if byte.is_ascii() => char::from(byte),
        _ => note.word(next).chars().next()?,
    };
    let hyphen = is_hyphen(c);
    if c != '.' && !hyphen && !is_apostrophe(c) {
        return Some((next, true));
    }
    // These bind only adjacent tokens.
    let after = next + 1;
    if gap != Gap::None || after >= tokens.len() || mark(after) || mark(i) {
        return None;
    }
    let behind = self::gap(note, next)?;
    match behind {
        _ if c == '.' => Some((after, true)),
        Gap::Wrap => Some((after, true)),
        Gap::Blank => (!hyphen).then_some((after, true)),
        Gap::None => Some((after, hyphen || is_single_s(note, after))),
    }
}

/// Returns whether token `i` is the letter "s".
#[inline(always)]
fn is_single_s(note: &NoteView<'_>, i: usize) -> bool {
    let (start, end) = (note.tokens.starts[i] as usize, note.tokens.ends[i] as usize);
    end - start == 1 && matches!(note.text.as_bytes()[start], b's' | b'S')
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Gap {
    None,
    Blank,
    Wrap,
}

/// Returns the gap after token `i`; `None` if it separates the tokens on its sides: an empty line, a column,
/// a control character.
#[inline(always)]
fn gap(note: &NoteView<'_>, i: usize) -> Option<Gap> {
    let (end, start) = (note.tokens.ends[i] as usize, note.tokens.starts[i + 1] as usize);
    match start - end {
        0 => Some(Gap::None),
        1 if note.text.as_bytes()[end] == b' ' => Some(Gap::Blank),
        1 if note.text.as_bytes()[end] == b'\n' => Some(Gap::Wrap),
        _ => wide_gap(note.gap_after(i)),
    }
}

/// Returns the gap of these characters between two tokens.
fn wide_gap(between: &str) -> Option<Gap> {
    let lines = between.bytes().filter(|&b| b == b'\n').count();
    let blank = between.chars().all(char::is_whitespace);
    match (blank, lines) {
        (true, 1) => Some(Gap::Wrap),
        (true, 0) if between.chars().count() <= 2 => Some(Gap::Blank),
        _ => None,
    }
}

/// Returns whether the tokens' letters, in their case, are those of an exact form.
pub(crate) fn is_written(note: &NoteView<'_>, first: usize, last: usize, form: &str) -> bool {
    // Most differ in the case of their first letter.
    if form.as_bytes().first() != note.text.as_bytes().get(note.tokens.starts[first] as usize) {
        return false;
    }
    let mut rest = form;
    for i in first..=last {
        let word = note.word(i);
        match rest.strip_prefix(word) {
            Some(after) => rest = after,
            None if note.tokens.kinds[i] == TokenKind::Punctuation as u8 && is_dropped(word) => {}
            None => return false,
        }
    }
    rest.is_empty()
}

/// Returns whether two texts have the same first byte, which rejects most different ones without a call.
#[inline]
pub(crate) fn begins_alike(a: &str, b: &str) -> bool {
    a.as_bytes().first() == b.as_bytes().first()
}

/// Returns whether a mark is dropped in keys.
fn is_dropped(mark: &str) -> bool {
    mark.chars().all(|c| c == '.' || is_hyphen(c) || is_apostrophe(c))
}
