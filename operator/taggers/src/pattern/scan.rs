//! A note's tokens with the properties that patterns use: word class, number, preceding gap, case.

use std::cell::Cell;

use lethe_core::{NoteView, Span, TokenKind};

use super::fold::{Case, Key, fold, fold_at};
use super::ids::Chunk;
use super::lexicon::{Lexicon, class};

/// The gap between a token and the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Gap {
    /// Nothing.
    None,
    /// One blank.
    Blank,
    /// More white space, on the same line.
    Wide,
    /// One line break.
    Line,
    /// An empty line, or the start or the end of the note.
    Paragraph,
}

/// One token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tok {
    /// Word classes, [`class`].
    pub(crate) class: u64,
    /// The value of a digit run of up to nine ASCII digits; of a word, its number (which month, which unit of
    /// time).
    pub(crate) value: u32,
    /// Bytes, at most 255.
    pub(crate) len: u8,
    /// The character of an ASCII punctuation mark, `-` for other dashes, `'` for the curly apostrophe; 0 for
    /// words and numbers.
    pub(crate) mark: u8,
    /// The first letter of a word, folded; 0 for numbers and punctuation marks, and for words that are in no
    /// table.
    pub(crate) first: u8,
    /// The bytes of digit runs up to and including this token.
    digits_so_far: u32,
    /// The gap before it.
    pub(crate) gap: Gap,
    /// Its case.
    pub(crate) case: Case,
    /// The identifier cues that end with it.
    pub(crate) cue: u8,
    kind: Option<TokenKind>,
}

/// Positions start here: the positions before it are empty, so that looking back needs no check. No pattern
/// looks further back from a note's first token.
pub(crate) const FIRST: usize = 16;

/// The token beyond both ends of a note.
const OUTSIDE: Tok = Tok {
    class: 0,
    value: 0,
    len: 0,
    mark: 0,
    first: 0,
    digits_so_far: 0,
    gap: Gap::Paragraph,
    case: Case::Lower,
    cue: 0,
    kind: None,
};

impl Tok {
    /// Returns whether it is a digit run.
    pub(crate) fn digits(&self) -> bool {
        self.kind == Some(TokenKind::Digits)
    }

    /// Returns whether it is a letter run.
    pub(crate) fn letters(&self) -> bool {
        self.kind == Some(TokenKind::Letters)
    }

    /// Returns whether it is a letter or digit run.
    pub(crate) fn wordlike(&self) -> bool {
        self.digits() || self.letters()
    }

    /// Returns whether it has one of these classes.
    pub(crate) fn is(&self, class: u64) -> bool {
        self.class & class != 0
    }

    /// Returns whether it directly follows the previous token.
    pub(crate) fn glued(&self) -> bool {
        self.gap == Gap::None && self.kind.is_some()
    }

    /// Returns whether it is a letter or digit run that directly follows the previous token.
    pub(crate) fn glued_word(&self) -> bool {
        self.glued() && self.wordlike()
    }

    /// Returns whether it is this punctuation mark.
    pub(crate) fn mark(&self, mark: u8) -> bool {
        self.mark == mark
    }

    /// Returns whether it is a digit run of `len` digits with a value in `range`.
    pub(crate) fn number(
        &self,
        len: std::ops::RangeInclusive<u8>,
        range: std::ops::RangeInclusive<u32>,
    ) -> bool {
        self.digits() && len.contains(&self.len) && range.contains(&self.value)
    }

    /// Returns whether it begins with a capital.
    pub(crate) fn capital(&self) -> bool {
        self.letters() && matches!(self.case, Case::Title | Case::Upper)
    }

    /// Returns whether it starts a line.
    pub(crate) fn starts_line(&self) -> bool {
        self.gap >= Gap::Line
    }
}

/// A note as the patterns see it.
pub(crate) struct Scan<'a> {
    /// The note itself.
    pub(crate) note: NoteView<'a>,
    toks: &'a [Tok],
    /// Whether case carries no information: nearly all words have capitals, or nearly none.
    pub(crate) caseless: bool,
    /// Whether Spanish formats are recognised.
    pub(crate) spanish: bool,
    /// The table in which cues look up their phrases.
    pub(crate) lexicon: &'a Lexicon,
    /// The words that end an American street's name, and the first of them that was not passed.
    streets: Vec<u32>,
    next_street: Cell<usize>,
    /// The run of tokens that [`ids::chunk`](super::ids::chunk) read last.
    pub(crate) chunk: Cell<Option<Chunk>>,
    /// The number of token accesses, which bounds the work.
    #[cfg(test)]
    pub(crate) steps: Cell<u64>,
}

impl<'a> Scan<'a> {
    /// Looks up every token of `note`, into `toks`.
    pub(crate) fn new(note: NoteView<'a>, lexicon: &'a Lexicon, toks: &'a mut Vec<Tok>) -> Self {
        toks.clear();
        toks.reserve(note.tokens.len() + FIRST);
        toks.resize(FIRST, OUTSIDE);
        let bytes = note.text.as_bytes();
        let (mut lower, mut title, mut upper, mut end) = (0u32, 0u32, 0u32, 0usize);
        let mut digits = 0;
        let mut streets = Vec::new();
        let bounds = note
            .tokens
            .starts
            .iter()
            .zip(note.tokens.ends)
            .zip(note.tokens.kinds);
        for (i, ((&start, &past), &kind)) in bounds.enumerate() {
            let (start, past, kind) = (start as usize, past as usize, TokenKind::from_u8(kind));
            let body = &bytes[start..past];
            let mut tok = Tok {
                len: body.len().min(255) as u8,
                gap: if start == end && i > 0 {
                    Gap::None
                } else {
                    gap(&bytes[end..start], i == 0)
                },
                kind: Some(kind),
                ..OUTSIDE
            };
            end = past;
            match kind {
                TokenKind::Letters => {
                    let (key, case) = fold_at(bytes, start, past);
                    let entry = lexicon.get(key);
                    tok.first = key as u8;
                    tok.class = entry.class;
                    tok.value = u32::from(entry.value);
                    tok.cue = entry.cue;
                    tok.case = case;
                    if tok.is(class::STREET | class::STREET_WEAK) {
                        streets.push((i + FIRST) as u32);
                    }
                    if body.len() > 1 {
                        match case {
                            Case::Lower => lower += 1,
                            Case::Title => title += 1,
                            Case::Upper => upper += 1,
                            Case::Mixed => {}
                        }
                    }
                }
                TokenKind::Digits => {
                    tok.value = value(body);
                    digits += u32::from(tok.len);
                }
                TokenKind::Punctuation => {
                    tok.mark = match body {
                        [byte] => *byte,
                        // U+2010 to U+2015, U+2212; U+2018, U+2019.
                        [0xe2, 0x80, 0x90..=0x95] | [0xe2, 0x88, 0x92] => b'-',
                        [0xe2, 0x80, 0x98 | 0x99] => b'\'',
                        _ => 0,
                    };
                }
            }
            tok.digits_so_far = digits;
            toks.push(tok);
        }
        Self {
            note,
            toks,
            caseless: (title + upper) * 40 < lower || (title + lower) * 12 < upper,
            spanish: false,
            lexicon,
            streets,
            next_street: Cell::new(0),
            chunk: Cell::new(None),
            #[cfg(test)]
            steps: Cell::new(0),
        }
    }

    /// Returns the positions of the note's tokens.
    pub(crate) fn positions(&self) -> std::ops::Range<usize> {
        FIRST..self.toks.len()
    }

    /// Returns the token at position `i`, or an empty one beyond either end.
    pub(crate) fn tok(&self, i: usize) -> &Tok {
        #[cfg(test)]
        self.steps.set(self.steps.get() + 1);
        self.toks.get(i).unwrap_or(&OUTSIDE)
    }

    /// Returns the token `back` before `i`.
    pub(crate) fn before(&self, i: usize, back: usize) -> &Tok {
        self.tok(i - back)
    }

    /// Returns the bytes of digit runs among the `count` tokens from `i`, the position of a token.
    pub(crate) fn digits_ahead(&self, i: usize, count: usize) -> u32 {
        let last = (i + count).min(self.toks.len()) - 1;
        self.tok(last).digits_so_far - self.before(i, 1).digits_so_far
    }

    /// Returns whether token `i` is this word, in any ASCII case.
    #[inline(always)]
    pub(crate) fn word_is(&self, i: usize, word: &str) -> bool {
        let tok = self.tok(i);
        usize::from(tok.len) == word.len() && tok.letters() && self.reads(i, word)
    }

    fn reads(&self, i: usize, word: &str) -> bool {
        self.bytes(i).eq_ignore_ascii_case(word.as_bytes())
    }

    /// Returns whether token `i` is one of these words, in any ASCII case.
    pub(crate) fn word_among(&self, i: usize, words: &[&str]) -> bool {
        self.tok(i).letters() && words.iter().any(|word| self.word_is(i, word))
    }

    /// Returns whether the note has a word that ends an American street's name.
    pub(crate) fn has_streets(&self) -> bool {
        !self.streets.is_empty()
    }

    /// Returns whether a word that ends an American street's name is at one of the tokens `from..to`. `from`
    /// must not decrease from call to call.
    pub(crate) fn has_street(&self, from: usize, to: usize) -> bool {
        let mut next = self.next_street.get();
        while self
            .streets
            .get(next)
            .is_some_and(|&street| (street as usize) < from)
        {
            next += 1;
        }
        self.next_street.set(next);
        self.streets
            .get(next)
            .is_some_and(|&street| (street as usize) < to)
    }

    /// Returns token `i`, folded.
    pub(crate) fn key(&self, i: usize) -> Key {
        fold(self.bytes(i)).0
    }

    /// Returns the characters of token `i`; none beyond the ends.
    #[inline]
    pub(crate) fn bytes(&self, i: usize) -> &'a [u8] {
        if self.positions().contains(&i) {
            let tokens = self.note.tokens;
            let (start, end) = (tokens.starts[i - FIRST] as usize, tokens.ends[i - FIRST] as usize);
            &self.note.text.as_bytes()[start..end]
        } else {
            &[]
        }
    }

    /// Returns the bytes from token `first` to token `last`, gaps included.
    pub(crate) fn text(&self, first: usize, last: usize) -> &'a [u8] {
        let span: Span = self.note.tokens_span(first - FIRST, last - FIRST);
        span.of(self.note.text).as_bytes()
    }

    /// Returns whether token `i` continues a number, a version or a word that began before it: "-45" of
    /// "123-45".
    pub(crate) fn continues(&self, i: usize) -> bool {
        let tok = self.tok(i);
        if !tok.glued() {
            return false;
        }
        let one = self.before(i, 1);
        if one.wordlike() {
            return true;
        }
        matches!(one.mark, b'-' | b'/' | b'.' | b',' | b':' | b'_')
            && one.glued()
            && self.before(i, 2).digits()
    }

    /// Returns whether the number that ends with token `i` continues after it: "123" of "123-45", "1.5",
    /// "3x".
    pub(crate) fn goes_on(&self, i: usize) -> bool {
        let next = self.tok(i + 1);
        if !next.glued() {
            return false;
        }
        if next.wordlike() {
            return true;
        }
        matches!(next.mark, b'-' | b'/' | b'.' | b',' | b':' | b'_')
            && self.tok(i + 2).glued()
            && self.tok(i + 2).digits()
    }

    /// Returns whether a unit of measure follows token `i`.
    pub(crate) fn measured(&self, i: usize) -> bool {
        let next = self.tok(i + 1);
        next.mark(b'%')
            || (next.is(class::UNIT) && next.gap <= Gap::Line)
            || (next.mark(b'-') && next.glued() && self.tok(i + 2).glued() && self.tok(i + 2).is(class::UNIT))
            || (next.mark == 0 && !next.wordlike() && next.glued() && self.bytes(i + 1) == "°".as_bytes())
    }

    /// Returns whether token `i` is the last of its line.
    pub(crate) fn ends_line(&self, i: usize) -> bool {
        self.tok(i + 1).gap >= Gap::Line
    }
}

fn gap(between: &[u8], first: bool) -> Gap {
    match between {
        _ if first => Gap::Paragraph,
        [] => Gap::None,
        [b' ' | b'\t'] => Gap::Blank,
        _ => match between.iter().filter(|&&byte| byte == b'\n').count() {
            0 if between == "\u{a0}".as_bytes() => Gap::Blank,
            0 => Gap::Wide,
            1 => Gap::Line,
            _ => Gap::Paragraph,
        },
    }
}

/// Returns the value of up to nine ASCII digits; for longer and other runs, a larger number.
fn value(body: &[u8]) -> u32 {
    if body.len() > 9 || !body.iter().all(u8::is_ascii_digit) {
        return u32::MAX;
    }
    body.iter()
        .fold(0, |value, byte| value * 10 + u32::from(byte - b'0'))
}
