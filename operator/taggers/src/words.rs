//! A note's tokens folded once, with their case: the form in which rule members read the text.

mod encoded;

use lethe_core::{NoteView, Span, TokenKind};
use lethe_text::fold_into;

/// The case of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Case {
    /// Lower-case letters only, or letters of a script without case.
    Lower,
    /// A capital and then lower case, as names are in running text. A lone capital is [`Case::Upper`].
    Title,
    /// Capitals only.
    Upper,
    /// Digits.
    Digits,
    /// Punctuation.
    Mark,
}

impl Case {
    /// Returns whether it begins with a capital.
    pub(crate) const fn is_capital(self) -> bool {
        matches!(self, Self::Title | Self::Upper)
    }

    /// Returns whether it is a word.
    pub(crate) const fn is_word(self) -> bool {
        matches!(self, Self::Lower | Self::Title | Self::Upper)
    }
}

/// The properties of a token that rules use most, in one number: its case, [`Shape::SPECIAL`],
/// [`Shape::GLUED`], and from bit 16 the result of [`Words::byte`].
#[derive(Clone, Copy)]
struct Shape(u32);

impl Shape {
    /// Its folded form is in [`Words::special`].
    const SPECIAL: u32 = 1 << 8;
    /// The next token follows directly.
    const GLUED: u32 = 1 << 9;
    /// The shape of a missing token.
    const NONE: Self = Self(Case::Mark as u32);

    #[inline]
    const fn case(self) -> Case {
        match self.0 & 7 {
            0 => Case::Lower,
            1 => Case::Title,
            2 => Case::Upper,
            3 => Case::Digits,
            _ => Case::Mark,
        }
    }

    #[inline]
    const fn is(self, flag: u32) -> bool {
        self.0 & flag != 0
    }

    #[inline]
    const fn byte(self) -> u8 {
        (self.0 >> 16) as u8
    }

    const fn with(self, case: Case) -> Self {
        Self(self.0 & !7 | case as u32)
    }
}

/// The tokens of one note, folded: lower case, without accents.
pub(crate) struct Words<'a> {
    /// The note of the tokens.
    pub(crate) note: NoteView<'a>,
    /// The whole text with its ASCII letters in lower case, with unchanged offsets.
    lower: String,
    /// The concatenated folded forms of the tokens that are not ASCII.
    special: String,
    /// For each token up to the last that is not ASCII, the range of its folded form.
    places: Vec<(u32, u32)>,
    shapes: Vec<Shape>,
    /// The number of token accesses, which bounds the work.
    #[cfg(test)]
    pub(crate) steps: std::cell::Cell<u64>,
}

impl<'a> Words<'a> {
    /// Folds every token, once.
    pub(crate) fn new(note: NoteView<'a>) -> Self {
        let (tokens, text) = (note.tokens, note.text.as_bytes());
        let lower = note.text.to_ascii_lowercase();
        let (mut folded, mut places) = (String::new(), Vec::new());
        let ascii = text.is_ascii();
        let mut shapes = vec![Shape::NONE; tokens.len()];
        let bounds = tokens.starts.iter().zip(tokens.ends).zip(tokens.kinds);
        for (i, (shape, ((&start, &end), &kind))) in shapes.iter_mut().zip(bounds).enumerate() {
            let (start, end) = (start as usize, end as usize);
            let special = !ascii && !text[start..end].is_ascii();
            let case = if special && kind == TokenKind::Letters as u8 {
                case_of(note.word(i))
            } else {
                // Read from a table, because a branch would be unpredictable in a text without words.
                let (first, last) = (
                    text[start].is_ascii_uppercase(),
                    text[end - 1].is_ascii_lowercase(),
                );
                CASES[usize::from(kind.min(2)) << 2 | usize::from(first) << 1 | usize::from(last)]
            };
            let byte = if special {
                let start = folded.len();
                fold_into(note.word(i), &mut folded);
                places.resize(i, (0, 0));
                places.push((start as u32, folded.len() as u32));
                match folded.as_bytes().get(start..) {
                    Some(&[byte]) => byte,
                    Some(mark) if mark == "’".as_bytes() => b'\'',
                    _ => 0,
                }
            } else {
                lower.as_bytes()[start] * u8::from(end - start == 1)
            };
            let glued = tokens.starts.get(i + 1).is_some_and(|&next| next as usize == end);
            let flags = (u32::from(special) * Shape::SPECIAL) | (u32::from(glued) * Shape::GLUED);
            *shape = Shape(case as u32 | flags | u32::from(byte) << 16);
        }
        Self {
            note,
            lower,
            special: folded,
            places,
            shapes,
            #[cfg(test)]
            steps: std::cell::Cell::default(),
        }
    }

    /// Returns the number of tokens.
    pub(crate) fn len(&self) -> usize {
        self.shapes.len()
    }

    #[inline]
    fn shape(&self, i: usize) -> Shape {
        #[cfg(test)]
        self.steps.set(self.steps.get() + 1);
        self.shapes.get(i).copied().unwrap_or(Shape::NONE)
    }

    /// Returns token `i`, folded; empty past the end, so that callers need no bounds check.
    #[inline]
    pub(crate) fn get(&self, i: usize) -> &str {
        #[cfg(test)]
        self.steps.set(self.steps.get() + 1);
        match self.shapes.get(i) {
            None => "",
            Some(shape) if shape.is(Shape::SPECIAL) => self.folded(i),
            Some(_) => self.note.tokens.span(i).of(&self.lower),
        }
    }

    #[inline]
    fn folded(&self, i: usize) -> &str {
        let (start, end) = self.places[i];
        Span::between(start, end).of(&self.special)
    }

    /// Returns the number of bytes that [`Words::get`] would return.
    #[inline]
    pub(crate) fn width(&self, i: usize) -> usize {
        #[cfg(test)]
        self.steps.set(self.steps.get() + 1);
        match self.shapes.get(i) {
            None => 0,
            Some(shape) => {
                let (start, end) = if shape.is(Shape::SPECIAL) {
                    self.places[i]
                } else {
                    (self.note.tokens.starts[i], self.note.tokens.ends[i])
                };
                (end - start) as usize
            }
        }
    }

    /// Returns token `i`, folded, if it is one byte; `'` for the curly apostrophe; else 0.
    #[inline]
    pub(crate) fn byte(&self, i: usize) -> u8 {
        self.shape(i).byte()
    }

    /// Returns the bytes of token `i` with its ASCII letters in lower case, for comparison with words without
    /// accents.
    #[inline]
    pub(crate) fn bytes(&self, i: usize) -> &[u8] {
        let span = self.note.tokens.span(i);
        &self.lower.as_bytes()[span.start()..span.end()]
    }

    /// Returns the token `back` places before `i`, folded; empty before the start.
    pub(crate) fn before(&self, i: usize, back: usize) -> &str {
        i.checked_sub(back).map_or("", |at| self.get(at))
    }

    /// Returns the case of token `i`; [`Case::Mark`] past the end.
    #[inline]
    pub(crate) fn case(&self, i: usize) -> Case {
        self.shape(i).case()
    }

    /// Returns whether the next token directly follows token `i`.
    #[inline]
    pub(crate) fn glued(&self, i: usize) -> bool {
        self.shape(i).is(Shape::GLUED)
    }

    /// Returns the number of line breaks between token `i` and the next; a missing next token counts as a
    /// break.
    pub(crate) fn breaks_after(&self, i: usize) -> usize {
        if i + 1 >= self.len() {
            return 2;
        }
        let tokens = self.note.tokens;
        let (end, start) = (tokens.ends[i] as usize, tokens.starts[i + 1] as usize);
        if start == end {
            return 0;
        }
        let between = &self.note.text.as_bytes()[end..start];
        between.iter().filter(|&&byte| byte == b'\n').count()
    }
}

/// The case of an ASCII token, by its kind, whether it begins with a capital, and whether it ends in lower
/// case. The tokenizer splits before a capital after lower case, so that the last letter shows how the word
/// continues.
const CASES: [Case; 12] = {
    use Case::{Digits, Lower, Mark, Title, Upper};
    [
        Lower, Lower, Upper, Title, Digits, Digits, Digits, Digits, Mark, Mark, Mark, Mark,
    ]
};

/// Characters without case: Hebrew, Arabic and the scripts of South Asia.
const UNCASED: std::ops::RangeInclusive<char> = '\u{590}'..='\u{109f}';

fn case_of(word: &str) -> Case {
    let mut chars = word.chars();
    let Some(first) = chars.next() else {
        return Case::Mark;
    };
    if UNCASED.contains(&first) || !first.is_uppercase() {
        return Case::Lower;
    }
    // The tokenizer splits before a capital after lower case, so that the last letter shows how the word
    // continues.
    match chars.next_back() {
        Some(last) if last.is_lowercase() => Case::Title,
        _ => Case::Upper,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lethe_core::NoteBatch;

    #[test]
    fn tokens_are_folded_in_place_and_keep_their_case() {
        let batch = NoteBatch::from_texts(["Ibáñez fue 3 x OÍDO\nJ"]).unwrap();
        let words = Words::new(batch.note(0));
        let folded: Vec<_> = (0..words.len()).map(|i| words.get(i)).collect();
        assert_eq!(folded, ["ibanez", "fue", "3", "x", "oido", "j"]);
        let cases: Vec<_> = (0..words.len()).map(|i| words.case(i)).collect();
        use Case::{Digits, Lower, Title, Upper};
        assert_eq!(cases, [Title, Lower, Digits, Lower, Upper, Upper]);
        assert_eq!((words.breaks_after(3), words.breaks_after(4)), (0, 1));
        let bytes: Vec<_> = (0..=words.len()).map(|i| words.byte(i)).collect();
        assert_eq!(bytes, [0, 0, b'3', b'x', 0, b'j', 0]);
        assert!((0..=words.len()).all(|i| words.width(i) == words.get(i).len()));
        let glued: Vec<_> = (0..=words.len()).filter(|&i| words.glued(i)).collect();
        assert!(glued.is_empty());
    }

    #[test]
    fn no_character_that_is_read_as_uncased_is_upper_case() {
        assert!(UNCASED.into_iter().all(|c| !c.is_uppercase()));
    }

    #[test]
    fn both_apostrophes_are_one_byte() {
        let batch = NoteBatch::from_texts(["O'Day, é ’ e\u{301} ¿"]).unwrap();
        let words = Words::new(batch.note(0));
        let bytes: Vec<_> = (0..words.len()).map(|i| words.byte(i)).collect();
        assert_eq!(bytes, [b'o', b'\'', 0, b',', b'e', b'\'', b'e', 0]);
        let glued: Vec<_> = (0..=words.len()).filter(|&i| words.glued(i)).collect();
        assert_eq!(glued, [0, 1, 2]);
    }
}
