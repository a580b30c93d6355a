//! Disguises identifiers as web pages, scanners and people who want to pass a filter do. A person still reads them.

use crate::chance::Chance;
use crate::page::Page;

/// A way to disguise an identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disguise {
    /// Characters without width between some letters and digits.
    ZeroWidth,
    /// Cyrillic letters that look like the Latin ones.
    Lookalikes,
    /// Full-width letters and digits.
    FullWidth,
    /// Words with a blank between all letters, and numbers with one between all digits.
    Spaced,
    /// Soft hyphens in words.
    SoftHyphens,
    /// A line end within a number.
    LineBreaks,
    /// Some characters as entities of HTML.
    Entities,
}

/// Cyrillic letters, in pairs with the Latin ones that they look like.
const LOOKALIKES: &[(char, char)] = &[
    ('a', 'а'),
    ('c', 'с'),
    ('e', 'е'),
    ('i', 'і'),
    ('o', 'о'),
    ('p', 'р'),
    ('s', 'ѕ'),
    ('x', 'х'),
    ('y', 'у'),
    ('A', 'А'),
    ('B', 'В'),
    ('C', 'С'),
    ('E', 'Е'),
    ('H', 'Н'),
    ('K', 'К'),
    ('M', 'М'),
    ('O', 'О'),
    ('P', 'Р'),
    ('T', 'Т'),
];

impl Disguise {
    /// Disguises a value; returns it as it is if it has nothing to disguise in this way.
    fn value(self, text: &str, chance: &mut Chance) -> String {
        match self {
            Self::ZeroWidth => between(
                text,
                char::is_alphanumeric,
                &['\u{200b}', '\u{200d}', '\u{2060}', '\u{feff}'],
                chance,
            ),
            Self::SoftHyphens => between(text, char::is_alphabetic, &['\u{ad}'], chance),
            Self::Lookalikes => replaced(text, |c| {
                let pair = LOOKALIKES.iter().find(|(latin, _)| *latin == c)?;
                chance.often(0.5).then(|| pair.1.to_string())
            }),
            Self::FullWidth => replaced(text, |c| {
                let graphic = c.is_ascii_graphic();
                let wide = char::from_u32(u32::from(c) + 0xfee0).filter(|_| graphic)?;
                Some(wide.to_string())
            }),
            Self::Spaced => spaced(text),
            Self::LineBreaks => broken(text, chance),
            Self::Entities => replaced(text, |c| {
                let chosen = c.is_alphanumeric() && chance.often(0.3);
                chosen.then(|| format!("&#{};", u32::from(c)))
            }),
        }
    }
}

/// Disguises every identifier of a page that can be, each in one of these ways.
pub(crate) fn disguise(page: &mut Page, ways: &[Disguise], chance: &mut Chance) {
    for piece in page.pieces.iter_mut().filter(|piece| piece.label.is_some()) {
        if let Some(way) = chance.pick(ways) {
            piece.text = way.value(&piece.text, chance);
        }
    }
}

fn replaced(text: &str, mut by: impl FnMut(char) -> Option<String>) -> String {
    text.chars()
        .map(|c| by(c).unwrap_or_else(|| c.to_string()))
        .collect()
}

/// Inserts one of `marks` between some pairs of such characters, and at least one.
fn between(text: &str, is: fn(char) -> bool, marks: &[char], chance: &mut Chance) -> String {
    let chars: Vec<char> = text.chars().collect();
    let pairs = chars.windows(2).enumerate();
    let places: Vec<usize> = pairs
        .filter(|(_, pair)| pair.iter().all(|&c| is(c)))
        .map(|(place, _)| place)
        .collect();
    let sure = chance.pick(&places).copied();
    let mut out = String::new();
    for (place, c) in chars.into_iter().enumerate() {
        out.push(c);
        if sure == Some(place) || places.contains(&place) && chance.often(0.3) {
            out.extend(chance.pick(marks));
        }
    }
    out
}

/// Inserts blanks into words of four letters or more, and into numbers of six digits or more.
fn spaced(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    if !chars.iter().any(|c| c.is_alphabetic()) {
        let digits = chars.iter().filter(|c| c.is_ascii_digit()).count();
        let plain = chars.iter().all(|c| c.is_ascii_digit() || matches!(c, '-' | '/'));
        return if digits >= 6 && plain {
            apart(&chars)
        } else {
            text.to_owned()
        };
    }
    let words = chars.chunk_by(|a, b| a.is_alphabetic() == b.is_alphabetic());
    let word = |word: &[char]| {
        let letters = word.first().is_some_and(|c| c.is_alphabetic()) && word.len() >= 4;
        if letters {
            apart(word)
        } else {
            word.iter().collect()
        }
    };
    words.map(word).collect()
}

fn apart(chars: &[char]) -> String {
    let mut out = String::new();
    for (place, c) in chars.iter().enumerate() {
        if place > 0 {
            out.push(' ');
        }
        out.push(*c);
    }
    out
}

/// Breaks a number of seven digits or more, as a telephone number is, between two of its digits.
fn broken(text: &str, chance: &mut Chance) -> String {
    let chars: Vec<char> = text.chars().collect();
    let digits = chars.iter().filter(|c| c.is_ascii_digit()).count();
    if digits < 7 || !chars.iter().all(|c| c.is_ascii_digit() || *c == '-') {
        return text.to_owned();
    }
    let pairs = chars.windows(2).enumerate();
    let places: Vec<usize> = pairs
        .filter(|(_, pair)| pair.iter().all(char::is_ascii_digit))
        .map(|(place, _)| place + 1)
        .collect();
    let Some(&at) = chance.pick(&places) else {
        return text.to_owned();
    };
    let (before, after) = chars.split_at(at);
    before.iter().chain(&['\n']).chain(after).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> Page {
        let mut page = Page::default();
        page.text("Seen by Dr. ");
        page.value("DOCTOR", "Amelia Featherstone");
        page.text(", call ");
        page.value("PHONE", "555-0142-77");
        page.text(".");
        page
    }

    fn disguised(way: Disguise, seed: u64) -> String {
        let mut page = page();
        disguise(&mut page, &[way], &mut Chance::new(seed, 0));
        let document = page.finish("1".into(), None);
        assert_eq!(document.marks.len(), 2);
        document.text
    }

    #[test]
    fn only_identifiers_are_disguised() {
        for way in [
            Disguise::ZeroWidth,
            Disguise::Lookalikes,
            Disguise::FullWidth,
            Disguise::Spaced,
            Disguise::Entities,
        ] {
            let text = disguised(way, 3);
            assert!(
                text.starts_with("Seen by Dr. ") && !text.contains("Featherstone"),
                "{text}"
            );
        }
    }

    #[test]
    fn words_and_numbers_are_spaced_and_numbers_broken() {
        assert_eq!(
            disguised(Disguise::Spaced, 1),
            "Seen by Dr. A m e l i a F e a t h e r s t o n e, call 5 5 5 - 0 1 4 2 - 7 7."
        );
        let broken = disguised(Disguise::LineBreaks, 1);
        assert_eq!(
            broken.replace('\n', ""),
            "Seen by Dr. Amelia Featherstone, call 555-0142-77."
        );
        assert!(broken.contains('\n'));
    }
}
