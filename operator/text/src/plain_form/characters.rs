//! Replaces single characters: invisible ones, other forms of a letter or digit, and letters of another script
//! within Latin text.

use unicode_normalization::char::decompose_compatible;

use super::edit::Editor;
use super::lookalikes::latin;

/// Replaces the characters of a text, and returns whether one of them changes how a word or number reads: an
/// invisible character between words does not.
pub(super) fn replace(text: &str, editor: &mut Editor<'_>) -> bool {
    if text.is_ascii() {
        return false;
    }
    let letters = Letters::of(text);
    let mut differs = false;
    // The end of the last word, and whether its letters of other scripts are replaced.
    let (mut word_end, mut disguised) = (0, false);
    let mut before = None;
    for (start, c) in text.char_indices() {
        let end = start + c.len_utf8();
        if start >= word_end && c.is_alphabetic() {
            let word = word(text.get(start..).unwrap_or_default());
            word_end = start + word.len();
            disguised = letters.are_disguised(word);
        }
        let beside = |is: fn(char) -> bool| {
            let after = || text.get(end..).and_then(|rest| rest.chars().next());
            before.is_some_and(is) && after().is_some_and(is)
        };
        if c.is_ascii() {
            // It is what it looks like.
        } else if is_invisible(c) {
            differs |= beside(char::is_alphanumeric);
            editor.replace(start..end, []);
        } else if has_other_form(c) {
            differs = true;
            let (mut to, mut len) = (['\0'; 18], 0);
            decompose_compatible(c, |c| {
                if let Some(place) = to.get_mut(len) {
                    *place = c;
                    len += 1;
                }
            });
            editor.replace(start..end, to.into_iter().take(len));
        } else if let Some(to) = latin(c) {
            let zero = to.eq_ignore_ascii_case(&'o') && beside(char::is_numeric);
            if zero || disguised {
                differs = true;
                editor.replace(start..end, [if zero { '0' } else { to }]);
            }
        }
        before = Some(c);
    }
    differs
}

/// Returns the letters that a text begins with, and the invisible characters between them.
fn word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphabetic() && !is_invisible(c));
    text.get(..end.unwrap_or(text.len())).unwrap_or_default()
}

/// What scripts the letters of a text belong to.
struct Letters {
    /// Whether all letters of scripts that have lookalikes are lookalikes, and fewer than the Latin letters.
    only_lookalikes: bool,
}

impl Letters {
    fn of(text: &str) -> Self {
        let (mut native, mut foreign, mut all) = (0_usize, 0, true);
        for c in text.chars() {
            if is_foreign(c) {
                foreign += 1;
                all &= latin(c).is_some();
            } else if is_latin(c) {
                native += 1;
            }
        }
        Self {
            only_lookalikes: all && foreign < native,
        }
    }

    /// Returns whether a word's letters of other scripts stand for Latin ones.
    fn are_disguised(&self, word: &str) -> bool {
        let letters = || word.chars().filter(|&c| !is_invisible(c));
        let mut foreign = letters().filter(|&c| is_foreign(c)).peekable();
        if foreign.peek().is_none() || foreign.any(|c| latin(c).is_none()) {
            return false;
        }
        if !letters().any(is_latin) {
            // "Сара" among Russian words is Russian; a single letter is a symbol.
            return self.only_lookalikes && letters().nth(1).is_some();
        }
        // "TNFα" and "κB" are names of substances.
        let symbol = |c: Option<char>| c.is_some_and(|c| ('\u{3b1}'..='\u{3c9}').contains(&c));
        !symbol(letters().next()) && !symbol(letters().next_back())
    }
}

/// Returns whether a character is a letter of Greek, Cyrillic or Armenian, or a phonetic letter that looks like
/// a Latin one.
fn is_foreign(c: char) -> bool {
    ('\u{370}'..='\u{58f}').contains(&c) && c.is_alphabetic() || latin(c).is_some()
}

fn is_latin(c: char) -> bool {
    c < '\u{250}' && c.is_alphabetic() || has_other_form(c)
}

/// Returns whether a character has no width: zero-width spaces and joiners, soft hyphens, marks of direction,
/// variation selectors, and strokes through the character before them.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{335}'..='\u{338}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// Returns whether a character is a Latin letter or a digit in another form: full-width, in a circle or square,
/// of a formula, a Roman numeral or a ligature.
fn has_other_form(c: char) -> bool {
    matches!(c,
        '\u{2160}'..='\u{217f}' | '\u{2460}'..='\u{24ea}' | '\u{fb00}'..='\u{fb06}' | '\u{ff01}'..='\u{ff5e}'
        | '\u{1d400}'..='\u{1d7ff}' | '\u{1f100}'..='\u{1f169}')
}
