//! One note of a batch, as members read it.

use arrow_array::ListArray;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt8Type;

use super::range;
use crate::{KnownKind, Span, Token, TokenKind};

/// One note of a batch, borrowed.
#[derive(Clone, Copy)]
pub struct NoteView<'a> {
    /// The note's row in the batch.
    pub row: usize,
    /// The original text.
    pub text: &'a str,
    /// Its tokens.
    pub tokens: Tokens<'a>,
    /// Where its sentences end, as exclusive token indices.
    pub sentence_ends: &'a [u32],
    pub(super) known: &'a ListArray,
}

impl<'a> NoteView<'a> {
    /// Returns the text of token `i`.
    ///
    /// # Panics
    /// If there is no such token.
    #[inline]
    pub fn word(&self, i: usize) -> &'a str {
        self.tokens.span(i).of(self.text)
    }

    /// Returns the text between token `i` and the next one, or up to the end of the text after the last
    /// token.
    ///
    /// # Panics
    /// If there is no token `i`.
    #[inline]
    pub fn gap_after(&self, i: usize) -> &'a str {
        let end = self
            .tokens
            .starts
            .get(i + 1)
            .map_or(self.text.len(), |&start| start as usize);
        Span::between(self.tokens.ends[i], end as u32).of(self.text)
    }

    /// Returns the span from token `first` to token `last`, both included.
    ///
    /// # Panics
    /// If there is no such token.
    #[inline]
    pub fn tokens_span(&self, first: usize, last: usize) -> Span {
        Span::between(self.tokens.starts[first], self.tokens.ends[last])
    }

    /// Returns the patient's identifiers that the event carries.
    pub fn known(&self) -> impl Iterator<Item = (KnownKind, &'a str)> {
        let (from, to) = range(self.known, self.row);
        let fields = self.known.values().as_struct();
        let kinds = fields.column(0).as_primitive::<UInt8Type>();
        let values = fields.column(1).as_string::<i32>();
        (from..to).filter_map(move |i| Some((KnownKind::from_u8(kinds.value(i))?, values.value(i))))
    }
}

impl std::fmt::Debug for NoteView<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "NoteView(row {}, {} bytes, {} tokens)",
            self.row,
            self.text.len(),
            self.tokens.len()
        )
    }
}

/// The tokens of one note, as three parallel slices.
#[derive(Clone, Copy, Debug)]
pub struct Tokens<'a> {
    /// First bytes.
    pub starts: &'a [u32],
    /// One past the last bytes.
    pub ends: &'a [u32],
    /// [`TokenKind`]s by number.
    pub kinds: &'a [u8],
}

impl<'a> Tokens<'a> {
    /// Returns the number of tokens.
    pub const fn len(&self) -> usize {
        self.starts.len()
    }

    /// Returns whether there are no tokens.
    pub const fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Returns the span of token `i`.
    ///
    /// # Panics
    /// If the token does not exist.
    #[inline]
    pub fn span(&self, i: usize) -> Span {
        Span::between(self.starts[i], self.ends[i])
    }

    /// Returns the kind of token `i`.
    ///
    /// # Panics
    /// If the token does not exist.
    #[inline]
    pub fn kind(&self, i: usize) -> TokenKind {
        TokenKind::from_u8(self.kinds[i])
    }

    /// Returns token `i`, if it exists.
    #[inline]
    pub fn get(&self, i: usize) -> Option<Token> {
        (i < self.len()).then(|| Token {
            span: self.span(i),
            kind: self.kind(i),
        })
    }

    /// Returns all tokens in order.
    pub fn iter(&self) -> impl Iterator<Item = Token> + 'a {
        let tokens = *self;
        (0..tokens.len()).map(move |i| Token {
            span: tokens.span(i),
            kind: tokens.kind(i),
        })
    }

    /// Returns the index of the first token that starts at or after byte `offset`; the number of tokens if
    /// none does.
    pub fn at_or_after(&self, offset: usize) -> usize {
        self.starts.partition_point(|&start| (start as usize) < offset)
    }
}
