//! The only code that slices text.
//!
//! Slicing a `str` off a character boundary panics with a message that quotes the text, which would put a
//! patient's words into a log. All other code therefore gets its text from a [`Span`], and
//! `clippy::string_slice` is denied.

use std::fmt;

/// A half-open byte range `start..end` into one note's original text.
///
/// Offsets are UTF-8 bytes. A span never moves: normalisers work on copies and report spans of the original.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    start: u32,
    end: u32,
}

/// Why a pair of offsets is not a span of a text. Contains offsets only, never text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpanError {
    /// `start` lies after `end`.
    #[error("span {start}..{end} ends before it starts")]
    Reversed {
        /// First byte.
        start: usize,
        /// One past the last byte.
        end: usize,
    },
    /// The span reaches past the end of the text.
    #[error("span {start}..{end} lies outside a text of {len} bytes")]
    OutOfBounds {
        /// First byte.
        start: usize,
        /// One past the last byte.
        end: usize,
        /// The text's length in bytes.
        len: usize,
    },
    /// One of the ends falls inside a character.
    #[error("span {start}..{end} cuts a character")]
    InsideCharacter {
        /// First byte.
        start: usize,
        /// One past the last byte.
        end: usize,
    },
    /// The offset does not fit in 32 bits: notes are limited to 4 GiB.
    #[error("offset {0} exceeds 32 bits")]
    TooLarge(usize),
}

impl Span {
    /// Creates a span from byte offsets, without checking it against a text.
    ///
    /// # Errors
    /// [`SpanError::Reversed`] if `start > end`, [`SpanError::TooLarge`] if an offset needs more than 32
    /// bits.
    pub fn new(start: usize, end: usize) -> Result<Self, SpanError> {
        if start > end {
            return Err(SpanError::Reversed { start, end });
        }
        let narrow = |offset: usize| u32::try_from(offset).map_err(|_| SpanError::TooLarge(offset));
        Ok(Self {
            start: narrow(start)?,
            end: narrow(end)?,
        })
    }

    /// Creates a span from offsets that the caller already holds as `u32`, for instance from a token.
    ///
    /// Reversed offsets give the empty span at `start`.
    pub const fn between(start: u32, end: u32) -> Self {
        Self {
            start,
            end: if end < start { start } else { end },
        }
    }

    /// Creates a span after checking that it lies in `text`, on character boundaries.
    ///
    /// # Errors
    /// Any [`SpanError`].
    pub fn checked(text: &str, start: usize, end: usize) -> Result<Self, SpanError> {
        let span = Self::new(start, end)?;
        span.check(text)?;
        Ok(span)
    }

    /// Checks that this span lies in `text`, on character boundaries.
    ///
    /// # Errors
    /// [`SpanError::OutOfBounds`] or [`SpanError::InsideCharacter`].
    pub fn check(self, text: &str) -> Result<(), SpanError> {
        let (start, end) = (self.start(), self.end());
        if end > text.len() {
            return Err(SpanError::OutOfBounds {
                start,
                end,
                len: text.len(),
            });
        }
        if !text.is_char_boundary(start) || !text.is_char_boundary(end) {
            return Err(SpanError::InsideCharacter { start, end });
        }
        Ok(())
    }

    /// Returns the first byte.
    pub const fn start(self) -> usize {
        self.start as usize
    }

    /// Returns one past the last byte.
    pub const fn end(self) -> usize {
        self.end as usize
    }

    /// Returns the length in bytes.
    pub const fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    /// Returns whether the span is empty.
    pub const fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// Returns the text of the span, or `None` if the span is not valid in `text`.
    #[inline]
    pub fn get(self, text: &str) -> Option<&str> {
        text.get(self.start()..self.end())
    }

    /// Returns the text of a span that is known to be valid in `text`.
    ///
    /// # Panics
    /// If it is not. The message has offsets and lengths only.
    #[inline]
    pub fn of(self, text: &str) -> &str {
        match self.get(text) {
            Some(slice) => slice,
            None => panic!(
                "span {}..{} is not valid in a text of {} bytes",
                self.start,
                self.end,
                text.len()
            ),
        }
    }

    /// Returns whether the two spans share at least one byte.
    pub const fn overlaps(self, other: Self) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// Returns whether `other` lies entirely inside this span.
    pub const fn contains(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// Returns the smallest span that covers both.
    pub fn union(self, other: Self) -> Self {
        Self {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }

    /// Returns the span without the white space at its ends; empty (at `start`) if it has nothing else.
    ///
    /// # Panics
    /// As [`Span::of`].
    pub fn trimmed(self, text: &str) -> Self {
        let slice = self.of(text);
        let front = slice.len() - slice.trim_start().len();
        let body = slice.trim().len();
        let start = self.start + front as u32;
        if body == 0 {
            Self::between(self.start, self.start)
        } else {
            Self::between(start, start + body as u32)
        }
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_span_that_cuts_a_character_is_refused() {
        assert_eq!(
            Span::checked("né", 0, 2),
            Err(SpanError::InsideCharacter { start: 0, end: 2 })
        );
        assert_eq!(Span::checked("né", 1, 3).map(|s| s.of("né")), Ok("é"));
    }

    #[test]
    fn errors_and_panics_quote_no_text() {
        let error = Span::checked("Jane", 0, 9).unwrap_err().to_string();
        assert!(!error.contains("Jane"), "{error}");
        let panic = std::panic::catch_unwind(|| Span::between(0, 9).of("Jane").len()).unwrap_err();
        assert!(!panic.downcast_ref::<String>().unwrap().contains("Jane"));
    }

    #[test]
    fn trimming_keeps_only_what_is_not_white_space() {
        let text = "a  bc \n";
        assert_eq!(Span::between(1, 7).trimmed(text).of(text), "bc");
        assert!(Span::between(1, 3).trimmed(text).is_empty());
    }

    proptest! {
        #[test]
        fn a_checked_span_always_slices(text in "\\PC{0,20}", a in 0usize..40, b in 0usize..40) {
            match Span::checked(&text, a, b) {
                Ok(span) => prop_assert_eq!(span.of(&text).len(), b - a),
                Err(_) => prop_assert!(text.get(a..b).is_none()),
            }
        }
    }
}
