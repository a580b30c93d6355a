//! Splits a mention of a person into words: name parts, initials, and words that stay.

use lethe_core::Span;
use lethe_dictionaries::{Dictionary, ListId, UnknownList};
use lethe_text::fold;

use lethe_text::Case;

/// The kind of a word in a mention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    /// A title, particle, suffix or degree, which stays.
    Kept,
    /// Letters that each stand for a name.
    Initials,
    /// A given or family name.
    Part,
    /// Digits inside the span.
    Digits,
}

/// A word of a mention.
#[derive(Clone, Debug)]
pub(super) struct Word {
    pub(super) span: Span,
    pub(super) folded: String,
    pub(super) sort: Sort,
}

/// The lists of titles, particles and degrees.
pub(super) struct Cues {
    titles: [ListId; 2],
    credentials: ListId,
}

/// Particles that stay in any case, before a name.
const PARTICLES: &[&str] = &[
    "de", "del", "la", "las", "los", "le", "da", "das", "di", "du", "des", "dos", "della", "delle", "dello",
    "degli", "el", "van", "von", "der", "den", "ter", "ten", "zu", "san", "santa", "st", "saint", "bin",
    "ibn", "al", "y", "e", "i", "do",
];

/// Particles that may also begin a mention when capitalised, since hardly anybody has them as a name.
const LEADING: &[&str] = &[
    "de", "del", "la", "las", "los", "da", "di", "du", "des", "dos", "della", "van", "von", "der", "den",
    "ter", "st", "saint", "san", "santa", "el", "le",
];

const SUFFIXES: &[&str] = &["jr", "sr", "ii", "iii", "iv", "esq"];

/// Degrees written with full stops. Others could be a person's initials.
const DOTTED: &[&str] = &["md", "do", "rn", "mph", "dds", "lpn", "msw", "dvm"];

impl Cues {
    /// # Errors
    /// [`UnknownList`] if the dictionary lacks titles or degrees.
    pub(super) fn new(dictionary: &Dictionary) -> Result<Self, UnknownList> {
        Ok(Self {
            titles: [dictionary.list("titles-en")?, dictionary.list("titles-es")?],
            credentials: dictionary.list("credentials")?,
        })
    }

    /// Returns the words of a mention.
    pub(super) fn words(
        &self,
        dictionary: &Dictionary,
        text: &str,
        listed: impl Fn(&str) -> bool,
    ) -> Vec<Word> {
        let mut words = split(text);
        let mixed = text.chars().any(char::is_lowercase);
        let dotted = self.dotted(text, &words);
        for i in 0..words.len() {
            if words[i].sort == Sort::Digits {
                continue;
            }
            let sort = if dotted.contains(&i) {
                Sort::Kept
            } else {
                self.sort(dictionary, text, &words, i, mixed, &listed)
            };
            words[i].sort = sort;
        }
        // "Dr. Bishop", "de la": if nothing else is a name, the last word is one.
        if !words.iter().any(|word| word.sort != Sort::Kept)
            && let Some(last) = words.last_mut()
        {
            last.sort = Sort::Part;
        }
        words
    }

    fn sort(
        &self,
        dictionary: &Dictionary,
        text: &str,
        words: &[Word],
        i: usize,
        mixed: bool,
        listed: &impl Fn(&str) -> bool,
    ) -> Sort {
        let word = &words[i];
        let folded = word.folded.as_str();
        let written = word.span.get(text).unwrap_or_default();
        let behind = text.get(word.span.end()..).unwrap_or_default().trim_start();
        let comma = behind.starts_with(',');
        let before = words.iter().take(i).any(|word| word.sort != Sort::Kept);
        let after = words.len() > i + 1 && !comma;
        let letters = folded.chars().count();
        let lower = written.starts_with(char::is_lowercase);
        // "Maria Senior" has a family name, "John Smith Senior" a suffix.
        let two = words
            .iter()
            .take(i)
            .filter(|word| word.sort == Sort::Part)
            .count()
            >= 2;
        if two && matches!(folded, "junior" | "senior") {
            return Sort::Kept;
        }
        if SUFFIXES.contains(&folded) && before
            || folded == "v" && before && !after && !behind.starts_with('.')
        {
            return Sort::Kept;
        }
        if after && letters > 1 && !before {
            let lists = dictionary.word(folded).lists();
            if self.titles.iter().any(|&list| lists.contains(list)) {
                return Sort::Kept;
            }
        }
        // "Mª", "D.ª": abbreviations that nearly everybody shares.
        if folded.ends_with('ª') {
            return Sort::Kept;
        }
        let particle = PARTICLES.contains(&folded) && after && (lower || before || LEADING.contains(&folded));
        // A single capital letter is an initial, even if it could be a particle.
        if particle && (letters > 1 || lower && before) {
            return Sort::Kept;
        }
        if letters == 1 {
            return Sort::Initials;
        }
        let degree = dictionary.word(written).lists().contains(self.credentials);
        let set_off = words
            .get(i.wrapping_sub(1))
            .and_then(|last| Span::between(last.span.end() as u32, word.span.start() as u32).get(text))
            .is_some_and(|between| between.contains(','));
        if degree && before && (mixed || set_off) {
            return Sort::Kept;
        }
        // "JAS", "Smith JA": capitals that are not a name.
        let capitals = Case::of(written) == Case::Upper;
        if capitals && (letters <= 3 && !listed(folded) || letters == 2 && mixed) {
            return Sort::Initials;
        }
        // "dka" as a typist's initials.
        if words.len() == 1 && letters <= 3 && lower && !listed(folded) {
            return Sort::Initials;
        }
        Sort::Part
    }

    /// Returns the positions of single letters with full stops that spell a degree: "M.D.".
    fn dotted(&self, text: &str, words: &[Word]) -> Vec<usize> {
        let mut out = vec![];
        let mut i = 1;
        while i < words.len() {
            let mut joined = String::new();
            let mut next = i;
            while let Some(word) = words.get(next) {
                let behind = text.get(word.span.end()..).unwrap_or_default();
                let glued = next == i || words[next - 1].span.end() + 1 == word.span.start();
                if word.folded.chars().count() > 1
                    || !glued
                    || !(behind.starts_with('.') || behind.is_empty())
                {
                    break;
                }
                joined.push_str(&word.folded);
                next += 1;
            }
            if DOTTED.contains(&joined.as_str()) {
                out.extend(i..next);
            } else if words[i].folded == "ph" && words.get(i + 1).is_some_and(|word| word.folded == "d") {
                out.extend([i, i + 1]);
            }
            i = next.max(i + 1);
        }
        out
    }
}

/// Splits a text into runs of letters with inner apostrophes, and runs of digits. A possessive "s" is not a
/// run.
fn split(text: &str) -> Vec<Word> {
    let mut out: Vec<Word> = vec![];
    let mut chars = text.char_indices().peekable();
    while let Some((start, c)) = chars.next() {
        let digit = c.is_numeric() && !c.is_alphabetic();
        if !digit && !c.is_alphabetic() {
            continue;
        }
        let mut end = start + c.len_utf8();
        while let Some(&(at, next)) = chars.peek() {
            let joins = if digit {
                next.is_numeric() && !next.is_alphabetic()
            } else {
                next.is_alphabetic() || is_mark(next) || is_apostrophe(next) && goes_on(text, at, next)
            };
            if !joins {
                break;
            }
            end = at + next.len_utf8();
            chars.next();
        }
        let span = Span::between(start as u32, end as u32);
        let written = span.get(text).unwrap_or_default();
        // "James's": the letter after an apostrophe, with no other after it.
        let last = text.get(..start).and_then(|before| before.chars().next_back());
        if matches!(written, "s" | "S") && last.is_some_and(is_apostrophe) {
            continue;
        }
        let mut folded = fold(written);
        folded.retain(|c| c.is_alphanumeric());
        let sort = if digit { Sort::Digits } else { Sort::Part };
        out.push(Word { span, folded, sort });
    }
    out
}

/// Returns whether two letters or more follow the apostrophe at `at`: "O'Brien", not "Smith's".
fn goes_on(text: &str, at: usize, apostrophe: char) -> bool {
    let behind = text.get(at + apostrophe.len_utf8()..).unwrap_or_default();
    behind.chars().take(2).filter(|c| c.is_alphabetic()).count() == 2
}

fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '\u{2019}' | '\u{2bc}' | '`' | '\u{b4}')
}

fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the mention's words: parts in brackets, initials in braces, digits in angle brackets.
    fn sorted(text: &str) -> String {
        let dictionary = Dictionary::builtin();
        let cues = Cues::new(&dictionary).unwrap();
        let names = dictionary.labelled("PATIENT");
        let words = cues.words(&dictionary, text, |word| {
            dictionary.word(word).lists().intersects(names)
        });
        let mut out = vec![];
        for word in words {
            let text = word.span.of(text);
            out.push(match word.sort {
                Sort::Kept => text.to_owned(),
                Sort::Part => format!("[{text}]"),
                Sort::Initials => format!("{{{text}}}"),
                Sort::Digits => format!("<{text}>"),
            });
        }
        out.join(" ")
    }

    #[test]
    fn words_are_sorted_by_what_they_do_in_a_name() {
        for (text, expected) in [
            ("Smith", "[Smith]"),
            ("Mr. Smith", "Mr [Smith]"),
            ("SMITH, JOHN", "[SMITH] [JOHN]"),
            ("J. Smith", "{J} [Smith]"),
            ("Dr. J. A. Smith-Jones", "Dr {J} {A} [Smith] [Jones]"),
            ("Smith's", "[Smith]"),
            ("Dr. Bishop", "Dr [Bishop]"),
            ("Bishop, Ann", "[Bishop] [Ann]"),
            ("María de la Cruz", "[María] de la [Cruz]"),
            ("De la Cruz, María", "De la [Cruz] [María]"),
            ("Ramón y Cajal", "[Ramón] y [Cajal]"),
            ("Ludwig van Beethoven", "[Ludwig] van [Beethoven]"),
            ("Patrick O'Brien", "[Patrick] [O'Brien]"),
            ("Marcus T. Lindqvist, M.D.", "[Marcus] {T} [Lindqvist] M D"),
            ("Priya Raman, PA-C", "[Priya] [Raman] PA {C}"),
            ("John Smith Jr.", "[John] [Smith] Jr"),
            ("Henry Ford III", "[Henry] [Ford] III"),
            ("John Smith Senior", "[John] [Smith] Senior"),
            ("Maria Senior", "[Maria] [Senior]"),
            ("Smith JA", "[Smith] {JA}"),
            ("HV", "{HV}"),
            ("Ben Smith", "[Ben] [Smith]"),
            ("Van Nguyen", "Van [Nguyen]"),
            ("Mª Carmen", "Mª [Carmen]"),
            ("Sister", "[Sister]"),
            ("de", "[de]"),
            ("Dra. Montserrat Puigdomènech", "Dra [Montserrat] [Puigdomènech]"),
            ("Wrenfield 5527719", "[Wrenfield] <5527719>"),
        ] {
            assert_eq!(sorted(text), expected, "{text}");
        }
    }
}
