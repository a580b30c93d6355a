//! Replaces single characters: invisible ones, other forms of a letter or digit, and letters of another script
//! within Latin text.

use unicode_normalization::char::decompose_compatible;

use super::edit::Edit;
use super::lookalikes::latin;

/// Returns the edits of a text, in order, and whether one of them changes how a word or number reads: an
/// invisible character between words does not.
pub(super) fn edits(text: &str) -> (Vec<Edit>, bool) {
    if text.is_ascii() {
        return (Vec::new(), false);
    }
    let chars: Vec<(usize, char)> = text.char_indices().collect();
    let letters = Letters::of(&chars);
    let (mut edits, mut differs) = (Vec::new(), false);
    // The end of the last word, and whether its letters of other scripts are replaced.
    let (mut word_end, mut disguised) = (0, false);
    for (at, &(start, c)) in chars.iter().enumerate() {
        if at >= word_end && c.is_alphabetic() {
            let rest = chars.get(at..).unwrap_or_default();
            let len = rest
                .iter()
                .take_while(|(_, c)| c.is_alphabetic() || is_invisible(*c))
                .count();
            word_end = at + len;
            disguised = letters.are_disguised(rest.get(..len).unwrap_or_default());
        }
        let near = |place: Option<usize>| place.and_then(|place| chars.get(place)).map(|&(_, c)| c);
        let (before, after) = (near(at.checked_sub(1)), near(Some(at + 1)));
        let both = |is: fn(char) -> bool| before.is_some_and(is) && after.is_some_and(is);
        let to = if c.is_ascii() {
            continue;
        } else if is_invisible(c) {
            differs |= both(char::is_alphanumeric);
            String::new()
        } else if has_other_form(c) {
            differs = true;
            let mut to = String::new();
            decompose_compatible(c, |c| to.push(c));
            to
        } else {
            let zero = both(char::is_numeric).then_some('0');
            let Some(to) = latin(c).and_then(|to| match to {
                'O' | 'o' if zero.is_some() => zero,
                to => disguised.then_some(to),
            }) else {
                continue;
            };
            differs = true;
            to.to_string()
        };
        edits.push(Edit {
            range: start..start + c.len_utf8(),
            to,
        });
    }
    (edits, differs)
}

/// What scripts the letters of a text belong to.
struct Letters {
    /// Whether all letters of scripts that have lookalikes are lookalikes, and fewer than the Latin letters.
    only_lookalikes: bool,
}

impl Letters {
    fn of(chars: &[(usize, char)]) -> Self {
        let (mut native, mut foreign, mut all) = (0, 0, true);
        for &(_, c) in chars {
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
    fn are_disguised(&self, word: &[(usize, char)]) -> bool {
        let letters = || word.iter().map(|&(_, c)| c).filter(|&c| !is_invisible(c));
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
