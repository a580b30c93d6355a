//! The tokenizer that all members share.
//!
//! Tokens are letter runs, digit runs and single punctuation marks; a missing space also separates them:
//! "prnInsulin" and "1950Sex" are two tokens each (Yang 2019, pre-processing). Offsets are bytes of the
//! original text.

use std::ops::ControlFlow;

use crate::Span;

/// Changes whenever the tokens of some text change; bundles and output footers record it.
pub const TOKENIZER_VERSION: u32 = 1;

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum TokenKind {
    /// A run of letters, with the combining marks that belong to them.
    Letters = 0,
    /// A run of decimal digits.
    Digits = 1,
    /// One punctuation mark, symbol or other visible character.
    Punctuation = 2,
}

impl TokenKind {
    /// Returns the kind stored as this number, as in the `kind` field of a batch's token list.
    pub const fn from_u8(value: u8) -> Self {
        match value {
            0 => Self::Letters,
            1 => Self::Digits,
            _ => Self::Punctuation,
        }
    }
}

/// A token's position in its note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// Bytes of the original text.
    pub span: Span,
    /// Its kind.
    pub kind: TokenKind,
}

/// Calls `emit` with each token of `text`, in order. Takes linear time and does not allocate.
///
/// White space, control characters and byte order marks lie between tokens; every other character is in
/// exactly one.
///
/// # Panics
/// If `text` is longer than 4 GiB; the note decoder refuses such notes.
pub fn tokenize(text: &str, mut emit: impl FnMut(Token)) {
    tokenize_until(text, |token| {
        emit(token);
        ControlFlow::Continue(())
    });
}

/// Counts the tokens of `text`, and stops at `limit`: returns the smaller of both.
///
/// It allocates nothing and reads no more of the text than it counts, so that the cost of a note can be
/// estimated before any work on it.
///
/// ```
/// use lethe_core::count_tokens;
///
/// assert_eq!(count_tokens("BP 120/80, ok.", usize::MAX), 7);
/// assert_eq!(count_tokens("BP 120/80, ok.", 5), 5);
/// ```
///
/// # Panics
/// If `text` is longer than 4 GiB, as [`tokenize`] does.
pub fn count_tokens(text: &str, limit: usize) -> usize {
    let mut count = 0;
    if limit == 0 {
        return 0;
    }
    tokenize_until(text, |_| {
        count += 1;
        if count < limit {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    });
    count
}

/// Returns the bytes of the longest token of `text`.
///
/// # Panics
/// If `text` is longer than 4 GiB, as [`tokenize`] does.
pub fn longest_token(text: &str) -> usize {
    let mut longest = 0;
    tokenize(text, |token| longest = longest.max(token.span.len()));
    longest
}

/// Calls `emit` with each token of `text`, in order, until it breaks.
fn tokenize_until(text: &str, emit: impl FnMut(Token) -> ControlFlow<()>) {
    // The caller knows whether it broke off.
    let (ControlFlow::Continue(()) | ControlFlow::Break(())) = scan(text, emit);
}

fn scan(text: &str, mut emit: impl FnMut(Token) -> ControlFlow<()>) -> ControlFlow<()> {
    assert!(
        u32::try_from(text.len()).is_ok(),
        "a text of {} bytes exceeds 32-bit offsets",
        text.len()
    );
    let bytes = text.as_bytes();
    let mut open: Option<(usize, TokenKind)> = None;
    let mut previous_lower = false;
    let mut at = 0;
    while at < bytes.len() {
        let (class, lower, upper, width) = match bytes[at] {
            byte if byte < 0x80 => {
                let class = ASCII[byte as usize];
                (class, byte.is_ascii_lowercase(), byte.is_ascii_uppercase(), 1)
            }
            _ => match Span::between(at as u32, text.len() as u32)
                .of(text)
                .chars()
                .next()
            {
                Some(c) => (class_of(c), c.is_lowercase(), c.is_uppercase(), c.len_utf8()),
                None => break,
            },
        };
        match class {
            Class::Letter => match open {
                Some((_, TokenKind::Letters)) if !(previous_lower && upper) => {}
                _ => {
                    close(&mut open, at, &mut emit)?;
                    open = Some((at, TokenKind::Letters));
                }
            },
            Class::Digit => {
                if !matches!(open, Some((_, TokenKind::Digits))) {
                    close(&mut open, at, &mut emit)?;
                    open = Some((at, TokenKind::Digits));
                }
            }
            // A mark belongs to the character before it; alone it is a token, so that every visible character
            // is in a token.
            Class::Mark => {
                if open.is_none() {
                    open = Some((at, TokenKind::Punctuation));
                }
            }
            Class::Punctuation => {
                close(&mut open, at, &mut emit)?;
                open = Some((at, TokenKind::Punctuation));
            }
            Class::Gap => close(&mut open, at, &mut emit)?,
        }
        if class != Class::Mark {
            previous_lower = lower;
        }
        at += width;
    }
    close(&mut open, at, &mut emit)
}

fn close(
    open: &mut Option<(usize, TokenKind)>,
    end: usize,
    emit: &mut impl FnMut(Token) -> ControlFlow<()>,
) -> ControlFlow<()> {
    match open.take() {
        Some((start, kind)) => emit(Token {
            span: Span::between(start as u32, end as u32),
            kind,
        }),
        None => ControlFlow::Continue(()),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Letter,
    Digit,
    Mark,
    Punctuation,
    Gap,
}

const ASCII: [Class; 128] = {
    let mut table = [Class::Punctuation; 128];
    let mut i = 0;
    while i < 128 {
        let byte = i as u8;
        table[i] = if byte.is_ascii_alphabetic() {
            Class::Letter
        } else if byte.is_ascii_digit() {
            Class::Digit
        } else if byte <= b' ' || byte == 0x7f {
            Class::Gap
        } else {
            Class::Punctuation
        };
        i += 1;
    }
    table
};

fn class_of(c: char) -> Class {
    if is_joining_mark(c) {
        Class::Mark
    } else if c.is_alphabetic() {
        Class::Letter
    } else if c.is_numeric() && c.to_digit(36).is_none() && !is_decimal_digit(c) {
        // "½", "²" and "Ⅷ" are numeric but not digits of a number.
        Class::Punctuation
    } else if is_decimal_digit(c) {
        Class::Digit
    } else if c.is_whitespace()
        || c.is_control()
        || matches!(c, '\u{feff}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    {
        Class::Gap
    } else {
        Class::Punctuation
    }
}

/// Returns whether a character is a combining mark, joiner, soft hyphen or variation selector, which change
/// the character before them.
fn is_joining_mark(c: char) -> bool {
    matches!(c,
        '\u{0300}'..='\u{036f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}'
        | '\u{fe20}'..='\u{fe2f}' | '\u{fe00}'..='\u{fe0f}' | '\u{200c}' | '\u{200d}' | '\u{00ad}' | '\u{1f3fb}'..='\u{1f3ff}')
}

/// Returns whether a character is a decimal digit of a script that notes are written in, for instance
/// full-width, Arabic-Indic or Devanagari.
fn is_decimal_digit(c: char) -> bool {
    matches!(c, '0'..='9' | '\u{0660}'..='\u{0669}' | '\u{06f0}'..='\u{06f9}' | '\u{0966}'..='\u{096f}' | '\u{ff10}'..='\u{ff19}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(text: &str) -> Vec<&str> {
        let mut out = Vec::new();
        tokenize(text, |token| out.push(token.span.of(text)));
        out
    }

    #[test]
    fn letters_digits_and_single_marks_are_tokens() {
        assert_eq!(words("BP 120/80, ok."), ["BP", "120", "/", "80", ",", "ok", "."]);
    }

    #[test]
    fn a_missing_space_is_a_boundary() {
        assert_eq!(words("prnInsulin 1950Sex"), ["prn", "Insulin", "1950", "Sex"]);
    }

    #[test]
    fn accents_and_combining_marks_stay_in_their_word() {
        assert_eq!(
            words("Ibáñez Iba\u{301}n\u{303}ez"),
            ["Ibáñez", "Iba\u{301}n\u{303}ez"]
        );
    }

    #[test]
    fn a_byte_order_mark_and_a_nul_lie_between_tokens() {
        assert_eq!(words("\u{feff}Ana\0Ruiz\r\nok"), ["Ana", "Ruiz", "ok"]);
    }

    #[test]
    fn emoji_and_right_to_left_text_keep_exact_offsets() {
        assert_eq!(words("👩🏽 דנה 12"), ["👩🏽", "דנה", "12"]);
    }

    proptest! {
        #[test]
        fn the_count_is_the_number_of_tokens_up_to_the_limit(
            text in prop_oneof![any::<String>(), "[a-z A-Z0-9.\u{301}\n\u{feff}]{0,200}"],
            limit in prop_oneof![0_usize..40, Just(usize::MAX)],
        ) {
            let mut tokens = 0;
            tokenize(&text, |_| tokens += 1);
            prop_assert_eq!(count_tokens(&text, limit), tokens.min(limit));
        }

        #[test]
        fn tokens_are_ordered_disjoint_and_cover_every_visible_character(text in any::<String>()) {
            let mut end = 0;
            let mut covered = vec![false; text.len()];
            tokenize(&text, |token| {
                assert!(token.span.start() >= end && !token.span.is_empty());
                token.span.check(&text).unwrap();
                end = token.span.end();
                covered[token.span.start()..end].fill(true);
            });
            for (at, c) in text.char_indices() {
                if c.is_alphanumeric() {
                    prop_assert!(covered[at]);
                }
            }
        }
    }
}
