//! A note's tokens folded once, with their case: what the rule members read instead of the raw text.

use lethe_core::{NoteView, TokenKind};

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
    folded: String,
    ends: Vec<u32>,
    cases: Vec<Case>,
}

impl<'a> Words<'a> {
    /// Folds every token, once.
    pub(crate) fn new(note: NoteView<'a>) -> Self {
        let tokens = note.tokens.len();
        let mut words = Self {
            note,
            folded: String::with_capacity(note.text.len()),
            ends: Vec::with_capacity(tokens),
            cases: Vec::with_capacity(tokens),
        };
        for i in 0..tokens {
            let text = note.word(i);
            let case = match note.tokens.kind(i) {
                TokenKind::Letters => case_of(text),
                TokenKind::Digits => Case::Digits,
                TokenKind::Punctuation => Case::Mark,
            };
            fold_into(text, &mut words.folded);
            words.cases.push(case);
            words.ends.push(words.folded.len() as u32);
        }
        words
    }

    /// How many tokens there are.
    pub(crate) fn len(&self) -> usize {
        self.cases.len()
    }

    /// Token `i`, folded; empty where there is none, so that looking past an end needs no care.
    pub(crate) fn get(&self, i: usize) -> &str {
        let Some(&end) = self.ends.get(i) else { return "" };
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        lethe_core::Span::between(start, end).of(&self.folded)
    }

    /// The token `back` places before `i`, folded; empty where there is none.
    pub(crate) fn before(&self, i: usize, back: usize) -> &str {
        i.checked_sub(back).map_or("", |at| self.get(at))
    }

    /// How token `i` is written; [`Case::Mark`] where there is none.
    pub(crate) fn case(&self, i: usize) -> Case {
        self.cases.get(i).copied().unwrap_or(Case::Mark)
    }

    /// Whether nothing lies between token `i` and the next.
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
        if self.glued(i) {
            return 0;
        }
        self.note
            .gap_after(i)
            .bytes()
            .filter(|&byte| byte == b'\n')
            .count()
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

/// Appends `text` in lower case and without accents. Letters of other scripts are only lower-cased.
pub(crate) fn fold_into(text: &str, out: &mut String) {
    if text.is_ascii() {
        let from = out.len();
        out.push_str(text);
        if let Some(added) = out.get_mut(from..) {
            added.make_ascii_lowercase();
        }
        return;
    }
    for c in text.chars().flat_map(char::to_lowercase) {
        match base(c) {
            "" if is_mark(c) => {}
            "" => out.push(c),
            plain => out.push_str(plain),
        }
    }
}

/// `text` folded, for tables that are built once.
pub(crate) fn fold(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    fold_into(text, &mut out);
    out
}

const fn is_mark(c: char) -> bool {
    matches!(c, '\u{0300}'..='\u{036f}' | '\u{00ad}' | '\u{200c}' | '\u{200d}')
}

/// The letters that a lower-case Latin letter with a diacritic stands on; empty for any other character.
const fn base(c: char) -> &'static str {
    match c {
        'à'..='å' | 'ā' | 'ă' | 'ą' => "a",
        'æ' => "ae",
        'ç' | 'ć' | 'č' | 'ĉ' | 'ċ' => "c",
        'ď' | 'đ' | 'ð' => "d",
        'è'..='ë' | 'ē' | 'ĕ' | 'ė' | 'ę' | 'ě' => "e",
        'ğ' | 'ĝ' | 'ġ' | 'ģ' => "g",
        'ĥ' | 'ħ' => "h",
        'ì'..='ï' | 'ī' | 'ĩ' | 'į' | 'ı' => "i",
        'ķ' => "k",
        'ł' | 'ĺ' | 'ļ' | 'ľ' => "l",
        'ñ' | 'ń' | 'ņ' | 'ň' => "n",
        'ò'..='ö' | 'ø' | 'ō' | 'ŏ' | 'ő' => "o",
        'œ' => "oe",
        'ŕ' | 'ř' => "r",
        'ś' | 'š' | 'ş' | 'ș' | 'ŝ' => "s",
        'ß' => "ss",
        'ţ' | 'ť' | 'ț' => "t",
        'ù'..='ü' | 'ū' | 'ů' | 'ű' | 'ũ' | 'ų' => "u",
        'ý' | 'ÿ' => "y",
        'ź' | 'ż' | 'ž' => "z",
        'ª' => "a",
        'º' => "o",
        '’' | 'ʼ' => "'",
        _ => "",
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
    }

    #[test]
    fn combining_marks_fold_like_composed_letters() {
        assert_eq!(fold("Iba\u{301}n\u{303}ez"), fold("Ibáñez"));
        assert_eq!(fold("Łódź Øst"), "lodz ost");
    }
}
