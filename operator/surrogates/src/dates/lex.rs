//! Splits a written date into tokens: numbers, words with their meaning in the calendar, punctuation marks.

use lethe_core::Span;
use lethe_text::fold_into;

use super::words::{Sense, sense};

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Is {
    /// A run of ASCII digits: its value and its length.
    Number(u32, usize),
    /// A run of letters.
    Word(Sense),
    /// One other character.
    Mark(char),
    /// Past the last token.
    End,
}

/// A token and its position.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tok {
    pub(super) is: Is,
    pub(super) span: Span,
    /// Whether it directly follows the previous token.
    pub(super) glued: bool,
}

impl Tok {
    pub(super) fn mark(&self, mark: char) -> bool {
        self.is == Is::Mark(mark)
    }

    /// Returns whether it is a dash of any width.
    pub(super) fn dash(&self) -> bool {
        matches!(self.is, Is::Mark('-' | '\u{2010}'..='\u{2014}' | '\u{2212}'))
    }

    pub(super) fn number(&self) -> Option<(u32, usize)> {
        match self.is {
            Is::Number(value, len) => Some((value, len)),
            _ => None,
        }
    }
}

/// Returns the tokens of `text`; `None` if it has more than a date can have, or numbers too long for one.
pub(super) fn tokens(text: &str) -> Option<Vec<Tok>> {
    const MOST: usize = 40;
    let mut out: Vec<Tok> = Vec::with_capacity(12);
    let mut folded = String::new();
    let mut chars = text.char_indices().peekable();
    let mut glued = false;
    while let Some((start, c)) = chars.next() {
        if c.is_whitespace() {
            glued = false;
            continue;
        }
        let mut end = start + c.len_utf8();
        let same = |other: char| {
            if c.is_ascii_digit() {
                other.is_ascii_digit()
            } else {
                c.is_alphabetic() && other.is_alphabetic()
            }
        };
        while let Some(&(at, next)) = chars.peek() {
            // Combining accents belong to the previous letter.
            let accent = c.is_alphabetic() && matches!(next, '\u{300}'..='\u{36f}');
            if !(same(next) || accent) {
                break;
            }
            end = at + next.len_utf8();
            chars.next();
        }
        let span = Span::new(start, end).ok()?;
        let is = if c.is_ascii_digit() {
            let value = span.of(text).parse().ok()?;
            Is::Number(value, end - start)
        } else if c.is_alphabetic() {
            folded.clear();
            fold_into(span.of(text), &mut folded);
            Is::Word(sense(&folded))
        } else {
            Is::Mark(c)
        };
        out.push(Tok {
            is,
            span,
            glued: glued && !out.is_empty(),
        });
        glued = true;
        if out.len() > MOST {
            return None;
        }
    }
    Some(out)
}
