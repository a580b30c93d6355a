//! Street addresses: other numbers and another name, with the words that all addresses share in their places.

use std::sync::Arc;

use lethe_core::Span;
use lethe_dictionaries::{Dictionary, ListId, UnknownList};
use lethe_text::fold;

use crate::draw::Draw;
use crate::ids::code;
use crate::layout;
use crate::names::Names;
use crate::{About, Language};
use lethe_text::Case;

/// Surrogates of streets.
pub(crate) struct Streets {
    dictionary: Arc<Dictionary>,
    types: [ListId; 2],
    units: [ListId; 2],
}

const DIRECTIONS: &[&str] = &[
    "n",
    "s",
    "e",
    "w",
    "ne",
    "nw",
    "se",
    "sw",
    "north",
    "south",
    "east",
    "west",
    "northeast",
    "northwest",
    "southeast",
    "southwest",
    "norte",
    "sur",
    "este",
    "oeste",
];

/// Words between the words of a street's name.
const JOINTS: &[&str] = &[
    "de", "del", "la", "las", "los", "el", "of", "the", "y", "and", "nº", "º", "ª", "po",
];

struct Word {
    span: Span,
    folded: String,
    digits: bool,
    /// Whether a comma or the end of the text follows.
    last: bool,
    /// "d" and "l" before an apostrophe.
    elided: bool,
}

impl Streets {
    /// # Errors
    /// [`UnknownList`] if the dictionary has no street types.
    pub(crate) fn new(dictionary: Arc<Dictionary>) -> Result<Self, UnknownList> {
        let types = [
            dictionary.list("street-types-en")?,
            dictionary.list("street-types-es")?,
        ];
        let units = [
            dictionary.list("address-units-en")?,
            dictionary.list("address-units-es")?,
        ];
        Ok(Self {
            dictionary,
            types,
            units,
        })
    }

    /// Returns another address in the same form; `None` if there is neither name nor number.
    pub(crate) fn surrogate(
        &self,
        names: &Names,
        text: &str,
        about: &About<'_>,
        draw: &dyn Draw,
    ) -> Option<String> {
        let words = words(text);
        if words.is_empty() {
            return None;
        }
        let first = words.first().map(|word| self.is_spanish(&word.folded));
        let spanish = about.language == Some(Language::Spanish) || first == Some(true);
        let kept: Vec<bool> = (0..words.len()).map(|i| self.is_kept(&words, i, about)).collect();
        let mut out = String::with_capacity(text.len() + 16);
        let mut at = 0;
        let mut changed = false;
        let mut i = 0;
        while let Some(word) = words.get(i) {
            out.push_str(text.get(at..word.span.start())?);
            let written = word.span.get(text)?;
            at = word.span.end();
            if word.digits {
                match code(written, draw) {
                    Some(other) => out.push_str(&other),
                    None => layout::digits(written, draw, &mut out),
                }
                changed = true;
            } else if kept[i] && is_ordinal(&words, i) {
                let letters = ordinal(&out);
                Case::of(written).write(letters, &mut out);
            } else if kept[i] {
                out.push_str(written);
            } else if word.folded.chars().count() == 1 {
                out.push_str(&code(written, draw)?);
                changed = true;
            } else {
                // The words of a name become one name: "Martin Luther King", "Nuestra Señora".
                let mut end = i;
                while words.get(end + 1).is_some_and(|next| {
                    !next.digits && !kept[end + 1] && !words[end].last && next.folded.chars().count() > 1
                }) {
                    end += 1;
                }
                let run = Span::between(word.span.start() as u32, words[end].span.end() as u32).get(text)?;
                out.push_str(&names.of_street(run, spanish, draw)?);
                at = words[end].span.end();
                i = end;
                changed = true;
            }
            i += 1;
        }
        out.push_str(text.get(at..)?);
        changed.then_some(out)
    }

    /// Returns whether a folded word is a street type only in Spanish.
    fn is_spanish(&self, folded: &str) -> bool {
        let lists = self.dictionary.word(folded).lists();
        !lists.contains(self.types[0]) && lists.contains(self.types[1])
    }

    /// Returns whether addresses share a word, so that it stays.
    fn is_kept(&self, words: &[Word], i: usize, about: &About<'_>) -> bool {
        let word = &words[i];
        let folded = word.folded.as_str();
        let lists = self.dictionary.word(folded).lists();
        let unit = self.units.iter().any(|&list| lists.contains(list));
        let behind_digits = i > 0 && words[i - 1].digits && words[i - 1].span.end() == word.span.start();
        // "5th", "3º".
        if is_ordinal(words, i) || behind_digits && matches!(folded, "º" | "ª") {
            return true;
        }
        let before_digits = words
            .get(i + 1)
            .is_some_and(|next| next.digits || next.folded.chars().count() == 1);
        if unit && (before_digits || word.last || i > 0 && words[i - 1].last) {
            return true;
        }
        let named = words
            .iter()
            .any(|other| !other.digits && other.folded != word.folded);
        if (DIRECTIONS.contains(&folded) || JOINTS.contains(&folded)) && named {
            return true;
        }
        let next = words.get(i + 1).map_or("", |next| next.folded.as_str());
        if (folded, next) == ("p", "o") || (folded, next) == ("o", "box") || word.elided && named {
            return true;
        }
        let [english, spanish] = self.types.map(|list| lists.contains(list));
        let first = i == 0 || words[i - 1].last;
        // A Spanish type precedes the name: "Calle de los Olmos", "C/ Mayor".
        let told = about.language != Some(Language::English) || self.is_spanish(folded);
        if (spanish || folded == "c") && first && !word.last && told {
            return true;
        }
        // An English type follows it: in "Spring Hill Road" only "Road" is one.
        let rest = words.iter().skip(i + 1).take_while(|_| !word.last);
        let mut behind = rest.take(2);
        let closes = word.last
            || behind.all(|next| {
                let lists = self.dictionary.word(&next.folded).lists();
                next.digits
                    || DIRECTIONS.contains(&next.folded.as_str())
                    || self.units.iter().any(|&list| lists.contains(list))
            });
        let name_before = words
            .iter()
            .take(i)
            .any(|before| before.span.end() <= word.span.start());
        english && closes && name_before
    }
}

/// Returns whether the word is the "th" of "5th".
fn is_ordinal(words: &[Word], i: usize) -> bool {
    let glued = i > 0 && words[i - 1].digits && words[i - 1].span.end() == words[i].span.start();
    glued && matches!(words[i].folded.as_str(), "st" | "nd" | "rd" | "th")
}

/// Returns the letters of the English ordinal after a number.
fn ordinal(number: &str) -> &'static str {
    let mut digits = number.bytes().rev();
    let (last, before) = (digits.next(), digits.next());
    match last {
        _ if before == Some(b'1') => "th",
        Some(b'1') => "st",
        Some(b'2') => "nd",
        Some(b'3') => "rd",
        _ => "th",
    }
}

fn words(text: &str) -> Vec<Word> {
    let sort = |c: char| match c {
        c if c.is_alphabetic() || matches!(c, '\u{300}'..='\u{36f}') => 1,
        c if c.is_numeric() => 2,
        _ => 0,
    };
    let mut out: Vec<Word> = vec![];
    let mut start = 0;
    let mut current = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let kind = sort(c);
        if kind != current {
            start = at;
            current = kind;
        }
        let end = at + c.len_utf8();
        if kind != 0 && chars.peek().is_none_or(|&(_, next)| sort(next) != kind) {
            let span = Span::between(start as u32, end as u32);
            let behind = text.get(end..).unwrap_or_default();
            let folded = fold(span.get(text).unwrap_or_default());
            let elided = matches!(folded.as_str(), "d" | "l") && behind.starts_with(['\'', '\u{2019}']);
            let behind = behind.trim_start_matches([' ', '.']);
            out.push(Word {
                span,
                folded,
                elided,
                digits: kind == 2,
                last: behind.is_empty() || behind.starts_with([',', ';', '\n', '(', ')']),
            });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use proptest::prelude::*;

    use super::*;
    use crate::KnownNames;
    use crate::draw::testing::Seeded;

    static NAMES: LazyLock<Names> = LazyLock::new(|| Names::new(Dictionary::builtin()).unwrap());
    static STREETS: LazyLock<Streets> = LazyLock::new(|| Streets::new(Dictionary::builtin()).unwrap());

    fn get(text: &str, language: Option<Language>, seed: u64) -> Option<String> {
        let known = KnownNames::default();
        let about = About {
            language,
            order: None,
            year: None,
            days: None,
            known: &known,
        };
        STREETS.surrogate(&NAMES, text, &about, &Seeded(seed))
    }

    /// Returns the words of `text` that stay.
    fn stays(text: &str, language: Option<Language>) -> String {
        let about = About {
            language,
            order: None,
            year: None,
            days: None,
            known: &KnownNames::default(),
        };
        let words = words(text);
        let kept = (0..words.len()).filter(|&i| !words[i].digits && STREETS.is_kept(&words, i, &about));
        kept.map(|i| words[i].span.of(text)).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn only_the_words_that_addresses_share_stay() {
        let es = Some(Language::Spanish);
        for (text, language, kept) in [
            ("1408 LARKSPUR LANE, APT 6", None, "LANE APT"),
            ("220 Harbor Street, Suite 14", None, "Street Suite"),
            ("12 Spring Hill Road", None, "Road"),
            ("1600 Park Avenue NW", None, "Avenue NW"),
            ("300 5th Ave.", None, "th Ave"),
            ("Broadway", None, ""),
            ("P.O. Box 114", None, "P O Box"),
            ("Carrer d'Aragó 12, 3º D", es, "Carrer d º"),
            ("Calle de los Olmos 27, 3º B", es, "Calle de los º"),
            ("C/ Mayor, 14", es, "C"),
            ("Avda. de la Constitución nº 3", es, "Avda de la nº"),
        ] {
            assert_eq!(stays(text, language), kept, "{text}");
        }
    }

    #[test]
    fn numbers_and_names_change_and_the_form_stays() {
        for seed in 0..30 {
            let out = get("1408 LARKSPUR LANE, APT 6", None, seed).unwrap();
            assert!(
                out.contains(" LANE, APT ") && !out.contains("1408") && !out.contains("LARKSPUR"),
                "{out}"
            );
            assert_eq!(out, out.to_uppercase());
            let out = get("Calle de los Olmos 27, 3º B", Some(Language::Spanish), seed).unwrap();
            assert!(
                out.starts_with("Calle de los ") && !out.contains("Olmos") && !out.contains("27,"),
                "{out}"
            );
            assert!(!out.ends_with('B'), "{out}");
            let out = get("300 5th Avenue", None, seed).unwrap();
            let fits = ["1st ", "2nd ", "3rd ", "th "]
                .iter()
                .any(|ending| out.contains(ending));
            assert!(
                fits && !["1th", "2th", "3th"].iter().any(|wrong| out.contains(wrong)),
                "{out}"
            );
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,40}", seed in 0u64..10) {
            let _ = get(&text, None, seed);
        }
    }
}
