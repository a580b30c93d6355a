//! Converts the text of a list entry to its key in the automaton.
//!
//! A key is the entry's folded words, separated by blanks. So that "St Paul" and "St. Paul", "Coca-Cola" and
//! "Coca Cola", "O'Brien" and "OBrien" match, full stops and hyphens separate like blanks, an apostrophe
//! inside a word is dropped, and a possessive "'s" is a separate word. Any other mark ("&", "/") is a word of
//! the key.
//! [`joint`](crate::joint) follows the same rules over a note's tokens.

use lethe_text::fold_char;

/// Separates the words of a key. No folded word contains it.
pub(crate) const SEPARATOR: u8 = b' ';

/// Returns whether it is a hyphen or dash that binds words.
pub(crate) const fn is_hyphen(c: char) -> bool {
    matches!(c, '-' | '\u{2010}' | '\u{2011}' | '\u{2013}')
}

/// Returns whether it is used as an apostrophe.
pub(crate) const fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '\u{2019}' | '\u{2bc}' | '`' | '\u{b4}')
}

/// An entry prepared for the automaton.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    /// Folded words with separators.
    pub(crate) folded: String,
    /// The same letters in their written case, without separators, which exact lists compare.
    pub(crate) exact: String,
}

impl Key {
    /// Returns the key of an entry; empty if the entry has no letter or digit.
    pub(crate) fn of(text: &str) -> Self {
        let (mut folded, mut exact) = (String::new(), String::new());
        let mut pending = false;
        let mut inside_word = false;
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            if c.is_alphanumeric() || is_mark(c) {
                if std::mem::take(&mut pending) && !folded.is_empty() {
                    folded.push(char::from(SEPARATOR));
                }
                fold_char(c, |part| folded.push(part));
                exact.push(c);
                inside_word = true;
                continue;
            }
            if is_apostrophe(c) {
                let mut ahead = chars.clone();
                let next = ahead.next();
                let possessive = matches!(next, Some('s' | 'S'))
                    && ahead.next().is_none_or(|after| !after.is_alphanumeric());
                pending |= !(inside_word && next.is_some_and(char::is_alphanumeric)) || possessive;
            } else if c.is_whitespace() || c == '.' || is_hyphen(c) {
                pending = true;
            } else {
                if !folded.is_empty() {
                    folded.push(char::from(SEPARATOR));
                    folded.push(c);
                    exact.push(c);
                }
                pending = true;
            }
            inside_word = false;
        }
        Self { folded, exact }
    }

    /// Returns the number of letters and digits.
    pub(crate) fn letters(&self) -> usize {
        self.folded.chars().filter(|c| c.is_alphanumeric()).count()
    }

    /// Returns spelling variants of the same name: "St Marys" for "St Mary's", "Saint" for "St", "Mount" for
    /// "Mt", "Fort" for "Ft", "and" for "&", and the reverse.
    pub(crate) fn variants(&self) -> Vec<String> {
        let words: Vec<&str> = self.folded.split(char::from(SEPARATOR)).collect();
        let mut out = vec![];
        if let Some(at) = words.iter().position(|w| *w == "s").filter(|&at| at > 0) {
            let mut joined: Vec<String> = words.iter().map(|w| (*w).to_owned()).collect();
            joined.remove(at);
            joined[at - 1].push('s');
            out.push(joined.join(" "));
        }
        const PAIRS: [(&str, &str); 4] = [("st", "saint"), ("mt", "mount"), ("ft", "fort"), ("&", "and")];
        let base: Vec<String> = std::iter::once(self.folded.clone())
            .chain(out.iter().cloned())
            .collect();
        for text in base {
            let words: Vec<&str> = text.split(char::from(SEPARATOR)).collect();
            for (short, long) in PAIRS {
                let swapped: Vec<&str> = words
                    .iter()
                    .enumerate()
                    .map(|(i, &w)| match w {
                        // "Main St" ends with a street, not with a saint.
                        w if w == short && i + 1 < words.len() => long,
                        w if w == long && words.len() > 1 => short,
                        w => w,
                    })
                    .collect();
                if swapped != words {
                    out.push(swapped.join(" "));
                }
            }
        }
        out
    }
}

/// Returns whether it is a combining mark, which belongs to the preceding letter.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn punctuation_that_writers_vary_does_not_tell_keys_apart() {
        for (text, folded) in [
            ("St. Paul", "st paul"),
            ("St Paul", "st paul"),
            ("Coca-Cola", "coca cola"),
            ("O'Brien", "obrien"),
            ("O’Brien", "obrien"),
            ("Vall d'Hebron", "vall dhebron"),
            ("St. Mary's Hospital", "st mary s hospital"),
            ("St Thomas' Hospital", "st thomas hospital"),
            ("U.S.A.", "u s a"),
            ("AT&T", "at & t"),
            ("c/", "c /"),
            ("  'A'ala ", "aala"),
            ("...", ""),
        ] {
            assert_eq!(Key::of(text).folded, folded, "{text}");
        }
    }

    #[test]
    fn the_exact_form_keeps_case_and_drops_what_the_key_drops() {
        assert_eq!(Key::of("U.S.").exact, "US");
        assert_eq!(Key::of("O'Brien").exact, "OBrien");
    }

    #[test]
    fn saints_mounts_and_possessives_have_their_other_spelling() {
        assert_eq!(
            Key::of("St. Mary's Hospital").variants(),
            [
                "st marys hospital",
                "saint mary s hospital",
                "saint marys hospital"
            ]
        );
        assert_eq!(Key::of("Mount Auburn").variants(), ["mt auburn"]);
        assert_eq!(Key::of("Main St").variants(), Vec::<String>::new());
    }
}
