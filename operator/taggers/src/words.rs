//! A note's tokens folded once, with their case: what the rule members read instead of the raw text.

use lethe_core::{NoteView, Span, TokenKind};
use lethe_dictionaries::fold_into;

/// How a token is written.
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
    /// Whether it begins with a capital.
    pub(crate) const fn is_capital(self) -> bool {
        matches!(self, Self::Title | Self::Upper)
    }

    /// Whether it is a word.
    pub(crate) const fn is_word(self) -> bool {
        matches!(self, Self::Lower | Self::Title | Self::Upper)
    }
}

/// The tokens of one note, folded: lower case, without accents.
pub(crate) struct Words<'a> {
    /// The note they are of.
    pub(crate) note: NoteView<'a>,
    /// The whole text with its ASCII letters in lower case: every offset stays where it was.
    lower: String,
    /// The folded forms of the tokens that are not ASCII, one after another.
    special: String,
    /// For each token up to the last that is not ASCII, where its folded form begins and ends.
    places: Vec<(u32, u32)>,
    /// Whether a token's folded form is among `special`, beside how the token is written.
    cases: Vec<(Case, bool)>,
    /// Tokens asked for, which bounds the work done.
    #[cfg(test)]
    pub(crate) steps: std::cell::Cell<u64>,
}

impl<'a> Words<'a> {
    /// Folds every token, once.
    pub(crate) fn new(note: NoteView<'a>) -> Self {
        let (tokens, text) = (note.tokens, note.text.as_bytes());
        let mut words = Self {
            note,
            lower: note.text.to_ascii_lowercase(),
            special: String::new(),
            places: Vec::new(),
            cases: Vec::with_capacity(tokens.len()),
            #[cfg(test)]
            steps: std::cell::Cell::default(),
        };
        let ascii = text.is_ascii();
        for i in 0..tokens.len() {
            let (start, end) = (tokens.starts[i] as usize, tokens.ends[i] as usize);
            let special = !ascii && !text[start..end].is_ascii();
            let case = match tokens.kind(i) {
                // The tokenizer splits at lower-to-upper, so that the last letter tells how the word goes on.
                TokenKind::Letters if !special => match (
                    text[start].is_ascii_uppercase(),
                    text[end - 1].is_ascii_lowercase(),
                ) {
                    (false, _) => Case::Lower,
                    (true, true) => Case::Title,
                    (true, false) => Case::Upper,
                },
                TokenKind::Letters => case_of(note.word(i)),
                TokenKind::Digits => Case::Digits,
                TokenKind::Punctuation => Case::Mark,
            };
            if special {
                let start = words.special.len() as u32;
                fold_into(note.word(i), &mut words.special);
                words.places.resize(i, (0, 0));
                words.places.push((start, words.special.len() as u32));
            }
            words.cases.push((case, special));
        }
        words
    }

    /// How many tokens there are.
    pub(crate) fn len(&self) -> usize {
        self.cases.len()
    }

    /// Token `i`, folded; empty where there is none, so that looking past an end needs no care.
    #[inline]
    pub(crate) fn get(&self, i: usize) -> &str {
        #[cfg(test)]
        self.steps.set(self.steps.get() + 1);
        match self.cases.get(i) {
            None => "",
            Some((_, false)) => self.note.tokens.span(i).of(&self.lower),
            Some((_, true)) => self.folded(i),
        }
    }

    fn folded(&self, i: usize) -> &str {
        let (start, end) = self.places[i];
        Span::between(start, end).of(&self.special)
    }

    /// How many bytes [`Words::get`] would return.
    #[inline]
    pub(crate) fn width(&self, i: usize) -> usize {
        #[cfg(test)]
        self.steps.set(self.steps.get() + 1);
        match self.cases.get(i) {
            None => 0,
            Some((_, false)) => (self.note.tokens.ends[i] - self.note.tokens.starts[i]) as usize,
            Some((_, true)) => self.folded(i).len(),
        }
    }

    /// Token `i`, folded, if it is one byte; `'` for the curly apostrophe; else 0.
    #[inline]
    pub(crate) fn byte(&self, i: usize) -> u8 {
        #[cfg(test)]
        self.steps.set(self.steps.get() + 1);
        match self.cases.get(i) {
            Some((_, false)) => {
                let tokens = self.note.tokens;
                let start = tokens.starts[i];
                if tokens.ends[i] - start == 1 {
                    self.lower.as_bytes()[start as usize]
                } else {
                    0
                }
            }
            Some((_, true)) => match self.folded(i).as_bytes() {
                &[byte] => byte,
                _ if self.folded(i) == "’" => b'\'',
                _ => 0,
            },
            None => 0,
        }
    }

    /// The bytes of token `i`, its ASCII letters in lower case: for comparing with words that have no accents.
    #[inline]
    pub(crate) fn bytes(&self, i: usize) -> &[u8] {
        let span = self.note.tokens.span(i);
        &self.lower.as_bytes()[span.start()..span.end()]
    }

    /// The token `back` places before `i`, folded; empty where there is none.
    pub(crate) fn before(&self, i: usize, back: usize) -> &str {
        i.checked_sub(back).map_or("", |at| self.get(at))
    }

    /// How token `i` is written; [`Case::Mark`] where there is none.
    #[inline]
    pub(crate) fn case(&self, i: usize) -> Case {
        #[cfg(test)]
        self.steps.set(self.steps.get() + 1);
        self.cases.get(i).map_or(Case::Mark, |&(case, _)| case)
    }

    /// Whether nothing lies between token `i` and the next.
    #[inline]
    pub(crate) fn glued(&self, i: usize) -> bool {
        let tokens = self.note.tokens;
        tokens
            .starts
            .get(i + 1)
            .is_some_and(|&start| start == tokens.ends[i])
    }

    /// Number of line breaks between token `i` and the next; a missing next token counts as a break.
    pub(crate) fn breaks_after(&self, i: usize) -> usize {
        if i + 1 >= self.len() {
            return 2;
        }
        let tokens = self.note.tokens;
        let (end, start) = (tokens.ends[i] as usize, tokens.starts[i + 1] as usize);
        let between = &self.note.text.as_bytes()[end..start];
        between.iter().filter(|&&byte| byte == b'\n').count()
    }
}

fn case_of(word: &str) -> Case {
    let mut chars = word.chars();
    let Some(first) = chars.next() else {
        return Case::Mark;
    };
    if !first.is_uppercase() {
        return Case::Lower;
    }
    // The tokenizer splits at lower-to-upper, so that the last letter tells how the word goes on.
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
    }

    #[test]
    fn both_apostrophes_are_one_byte() {
        let batch = NoteBatch::from_texts(["O'Day, é ’ e\u{301} ¿"]).unwrap();
        let words = Words::new(batch.note(0));
        let bytes: Vec<_> = (0..words.len()).map(|i| words.byte(i)).collect();
        assert_eq!(bytes, [b'o', b'\'', 0, b',', b'e', b'\'', b'e', 0]);
    }
}
