//! Joins words and numbers that have the same separator between all their characters: "J o h n",
//! "J.o.h.n", "5 5 5 - 0 1 4 2".

use super::edit::Editor;
use super::scan::SEPARATORS;

/// The least number of letters and of digits that are joined, and the most of either.
const LETTERS: usize = 3;
const DIGITS: usize = 6;
const MOST: usize = 256;

/// Joins the spaced words and numbers of a text.
pub(super) fn join(text: &str, editor: &mut Editor<'_>) {
    let (mut at, mut before) = (0, None);
    while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let mut end = at + c.len_utf8();
        if !before.is_some_and(char::is_alphanumeric) && (c.is_alphabetic() || is_of_number(c)) {
            let run = if c.is_alphabetic() {
                Run::of(text, at, char::is_alphabetic)
            } else {
                Run::of(text, at, is_of_number)
            };
            if run.reads_as_one() {
                run.join(editor);
            }
            end = end.max(run.end);
        }
        before = text.get(at..end).and_then(|passed| passed.chars().next_back());
        at = end;
    }
}

/// Characters that stand alone, with the same separator between them.
struct Run {
    separator: char,
    /// The characters, and the byte at which each begins.
    units: Vec<(usize, char)>,
    /// The end of the last one.
    end: usize,
}

impl Run {
    /// Returns those that begin at byte `at` of the text.
    fn of(text: &str, at: usize, is: fn(char) -> bool) -> Self {
        let mut run = Self {
            separator: '\0',
            units: Vec::new(),
            end: at,
        };
        let mut chars = text.get(at..).unwrap_or_default().char_indices();
        while let Some((place, c)) = chars.next().filter(|&(_, c)| is(c)) {
            let next = chars.next();
            if next.is_some_and(|(_, next)| next.is_alphanumeric()) {
                // It begins a word: "a b cd".
                break;
            }
            // A longer run is no word, and is only passed over.
            if run.units.len() <= MOST {
                run.units.push((at + place, c));
            }
            run.end = at + place + c.len_utf8();
            let Some((_, separator)) = next.filter(|(_, next)| SEPARATORS.contains(next)) else {
                break;
            };
            match run.units.len() {
                1 => run.separator = separator,
                _ if separator != run.separator => break,
                _ => {}
            }
        }
        run
    }

    /// Returns whether they are a word or a number.
    fn reads_as_one(&self) -> bool {
        let chars: Vec<char> = match self.units.len() {
            LETTERS..=MOST => self.units.iter().map(|&(_, c)| c).collect(),
            _ => return false,
        };
        if chars.first().is_some_and(|c| c.is_alphabetic()) {
            reads_as_words(&chars, self.separator)
        } else {
            reads_as_number(&chars, self.separator)
        }
    }

    fn join(&self, editor: &mut Editor<'_>) {
        for pair in self.units.windows(2) {
            let &[(start, first), (end, second)] = pair else {
                continue;
            };
            let gap = start + first.len_utf8()..end;
            if !begins_word(first, second) {
                editor.replace(gap, []);
            } else if self.separator != ' ' {
                editor.replace(gap, [' ']);
            }
        }
    }
}

fn is_of_number(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, '-' | '/' | '(' | ')' | '+')
}

/// Returns whether the second of two letters begins a word.
fn begins_word(first: char, second: char) -> bool {
    first.is_lowercase() && second.is_uppercase()
}

/// Returns whether letters are words, and not steps of a list or an abbreviation such as "q.i.d.".
fn reads_as_words(letters: &[char], separator: char) -> bool {
    let mut words = letters.chunk_by(|&first, &second| !begins_word(first, second));
    let least = if separator == ' ' { LETTERS } else { LETTERS + 1 };
    let name = |word: &[char]| match word {
        [first, rest @ ..] => {
            word.len() >= least && first.is_uppercase() && rest.iter().all(|c| c.is_lowercase())
        }
        [] => false,
    };
    let more = letters.len() > least;
    let capitals = more && letters.iter().all(|c| c.is_uppercase());
    let small = more && separator == ' ' && letters.iter().all(|c| c.is_lowercase());
    words.any(name) || capitals || small
}

/// Returns whether digits are a number, and not counts, scores, or the steps of a scale.
fn reads_as_number(units: &[char], separator: char) -> bool {
    let digits: Vec<u32> = units.iter().filter_map(|c| c.to_digit(10)).collect();
    let mut distinct = digits.clone();
    distinct.sort_unstable();
    distinct.dedup();
    let scale = digits
        .windows(2)
        .all(|pair| matches!(pair, [a, b] if a.abs_diff(*b) == 1));
    separator == ' ' && digits.len() >= DIGITS && distinct.len() > 2 && !scale
}
