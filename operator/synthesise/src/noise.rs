//! Noise from hurry, keyboards, scanners and old systems: missing or extra capitals, typing errors, misread characters, missing
//! punctuation, lost blanks, wrapped lines.

use crate::chance::Chance;
use crate::page::{Page, Piece};

/// The shares of documents with each kind of noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// All in capitals.
    pub capitals: f64,
    /// Without capitals.
    pub lower: f64,
    /// A run of lines in capitals.
    pub some_capitals: f64,
    /// Some identifiers without capitals, or in capitals, with unchanged text around them.
    pub some_values: f64,
    /// Typing errors in words.
    pub typing: f64,
    /// Blanks lost before and after identifiers.
    pub blanks: f64,
    /// Lines wrapped at a fixed width, names and dates too.
    pub wrapped: f64,
    /// Characters that a scanner took for others that look like them.
    pub misread: f64,
    /// Without punctuation at the ends of words.
    pub unpunctuated: f64,
}

impl Noise {
    /// No noise.
    pub const NONE: Self = Self {
        capitals: 0.0,
        lower: 0.0,
        some_capitals: 0.0,
        some_values: 0.0,
        typing: 0.0,
        blanks: 0.0,
        wrapped: 0.0,
        misread: 0.0,
        unpunctuated: 0.0,
    };

    /// A realistic amount of noise.
    pub const USUAL: Self = Self {
        capitals: 0.1,
        lower: 0.1,
        some_capitals: 0.06,
        some_values: 0.12,
        typing: 0.12,
        blanks: 0.08,
        wrapped: 0.12,
        misread: 0.0,
        unpunctuated: 0.0,
    };

    pub(crate) fn lie_on(&self, page: &mut Page, chance: &mut Chance) {
        if chance.often(self.typing) {
            let rate = 0.005 + 0.03 * chance.unit();
            for piece in &mut page.pieces {
                piece.text = mistyped(&piece.text, rate, chance);
            }
        }
        if chance.often(self.blanks) {
            lose_blanks(page, chance);
        }
        if chance.often(self.wrapped) {
            let width = usize::try_from(chance.within(58, 84)).unwrap_or(72);
            wrap(page, width);
        }
        if chance.often(self.some_values) {
            let (rate, capitals) = (0.1 + 0.6 * chance.unit(), chance.often(0.3));
            for piece in page.pieces.iter_mut().filter(|piece| piece.label.is_some()) {
                if chance.often(rate) {
                    let text = &piece.text;
                    piece.text = if capitals {
                        text.to_uppercase()
                    } else {
                        text.to_lowercase()
                    };
                }
            }
        }
        let drawn = chance.unit();
        if drawn < self.capitals {
            each(page, |text| text.to_uppercase());
        } else if drawn < self.capitals + self.lower {
            each(page, |text| text.to_lowercase());
        } else if drawn < self.capitals + self.lower + self.some_capitals {
            capitals_for_a_while(page, chance);
        }
        // Nothing is drawn for a kind that is off: the documents of older seeds stay as they are.
        if self.unpunctuated > 0.0 && chance.often(self.unpunctuated) {
            each(page, unpunctuated);
        }
        if self.misread > 0.0 && chance.often(self.misread) {
            let rate = 0.01 + 0.03 * chance.unit();
            for piece in &mut page.pieces {
                piece.text = misread(&piece.text, rate, chance);
            }
        }
    }
}

fn each(page: &mut Page, change: impl Fn(&str) -> String) {
    for piece in &mut page.pieces {
        piece.text = change(&piece.text);
    }
}

/// Converts the text between two positions of the document to capitals.
fn capitals_for_a_while(page: &mut Page, chance: &mut Chance) {
    let length = page.pieces.len();
    let from = chance.below(length.max(1));
    let to = from + chance.below(length.max(1)) / 2 + 1;
    for piece in page.pieces.iter_mut().take(to).skip(from) {
        piece.text = piece.text.to_uppercase();
    }
}

/// Adds one typing error to words of four letters or more, at this rate per word.
fn mistyped(text: &str, rate: f64, chance: &mut Chance) -> String {
    let mut out = String::with_capacity(text.len());
    let mut word: Vec<char> = Vec::new();
    for char in text.chars().map(Some).chain([None]) {
        if let Some(letter) = char.filter(|char| char.is_alphabetic()) {
            word.push(letter);
            continue;
        }
        if word.len() >= 4 && chance.often(rate) {
            slip(&mut word, chance);
        }
        out.extend(word.drain(..));
        out.extend(char);
    }
    out
}

fn slip(word: &mut Vec<char>, chance: &mut Chance) {
    const NEAR: &[(char, &str)] = &[
        ('a', "sq"),
        ('b', "vn"),
        ('c', "xv"),
        ('d', "sf"),
        ('e', "wr"),
        ('f', "dg"),
        ('g', "fh"),
        ('h', "gj"),
        ('i', "uo"),
        ('j', "hk"),
        ('k', "jl"),
        ('l', "k"),
        ('m', "n"),
        ('n', "bm"),
        ('o', "ip"),
        ('p', "o"),
        ('q', "w"),
        ('r', "et"),
        ('s', "ad"),
        ('t', "ry"),
        ('u', "yi"),
        ('v', "cb"),
        ('w', "qe"),
        ('x', "zc"),
        ('y', "tu"),
        ('z', "x"),
    ];
    let at = 1 + chance.below(word.len() - 2);
    match chance.below(4) {
        0 => word.swap(at, at + 1),
        1 => {
            word.remove(at);
        }
        2 => word.insert(at, word[at]),
        _ => {
            let lower = word[at].to_ascii_lowercase();
            let near: Vec<char> = NEAR
                .iter()
                .filter(|(key, _)| *key == lower)
                .flat_map(|(_, near)| near.chars())
                .collect();
            if let Some(&other) = chance.pick(&near) {
                word[at] = if word[at].is_uppercase() {
                    other.to_ascii_uppercase()
                } else {
                    other
                };
            }
        }
    }
}

/// Removes the punctuation that a speaker does not say: what ends a word, and brackets and quotes before one. Marks within words
/// and numbers stay.
fn unpunctuated(text: &str) -> String {
    const AFTER: &[char] = &['.', ',', ';', ':', '!', '?', ')', '"'];
    const BEFORE: &[char] = &['(', '"'];
    let mut out = String::with_capacity(text.len());
    let mut before = None;
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        let rest = chars.as_str().trim_start_matches(AFTER);
        let ends = AFTER.contains(&char) && rest.chars().next().is_none_or(char::is_whitespace);
        let begins = BEFORE.contains(&char) && before.is_none_or(char::is_whitespace);
        if !ends && !begins {
            out.push(char);
        }
        before = Some(char);
    }
    // An identifier must not vanish.
    if out.trim().is_empty() {
        text.to_owned()
    } else {
        out
    }
}

/// Replaces characters by others that a scanner confuses them with, at this rate for each that has such a twin.
fn misread(text: &str, rate: f64, chance: &mut Chance) -> String {
    const TWINS: &[(char, &str)] = &[
        ('0', "O"),
        ('1', "l"),
        ('2', "Z"),
        ('5', "S"),
        ('6', "b"),
        ('8', "B"),
        ('B', "8"),
        ('G', "6"),
        ('I', "l"),
        ('O', "0"),
        ('S', "5"),
        ('Z', "2"),
        ('a', "o"),
        ('c', "e"),
        ('e', "c"),
        ('h', "b"),
        ('i', "l"),
        ('l', "1"),
        ('m', "rn"),
        ('n', "ri"),
        ('o', "0"),
        ('s', "5"),
        ('u', "ii"),
        ('w', "vv"),
    ];
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match TWINS.iter().find(|(from, _)| *from == char) {
            Some((_, twin)) if chance.often(rate) => out.push_str(twin),
            _ => out.push(char),
        }
    }
    out
}

/// Removes blanks next to identifiers, where the text still has a token boundary: "Dr.Lopez", "MRN:123",
/// "Lopez ,MD".
fn lose_blanks(page: &mut Page, chance: &mut Chance) {
    let rate = 0.05 + 0.3 * chance.unit();
    let labelled: Vec<bool> = page.pieces.iter().map(|piece| piece.label.is_some()).collect();
    for (place, Piece { text, label }) in page.pieces.iter_mut().enumerate() {
        if label.is_some() {
            continue;
        }
        let before_value = labelled.get(place + 1) == Some(&true);
        let marked = text
            .strip_suffix(' ')
            .is_some_and(|rest| rest.ends_with(['.', ':', ',', '#', ')', '-']));
        if before_value && marked && chance.often(rate) {
            text.pop();
        }
    }
}

/// Replaces blanks by line breaks so that no line is longer than `width`, if the words allow it.
fn wrap(page: &mut Page, width: usize) {
    // A blank and a line break have the same length, so that the last blank of a line can still be replaced
    // later.
    let mut column = 0;
    let mut last: Option<(usize, usize)> = None;
    let mut since = 0;
    for place in 0..page.pieces.len() {
        let bytes: Vec<u8> = page.pieces[place].text.bytes().collect();
        for (at, byte) in bytes.into_iter().enumerate() {
            column += 1;
            since += 1;
            match byte {
                b'\n' => (column, last) = (0, None),
                b' ' => (last, since) = (Some((place, at)), 0),
                _ => {}
            }
            if column > width
                && let Some((piece, blank)) = last.take()
            {
                let text = &mut page.pieces[piece].text;
                text.replace_range(blank..=blank, "\n");
                column = since;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> Page {
        let mut page = Page::default();
        page.text("Seen by Dr. ");
        page.value("DOCTOR", "Amelia Featherstone");
        page.text(" in the morning with complaints of pain, and again in the evening. ");
        page.value("DATE", "March 5, 2021");
        page
    }

    #[test]
    fn wrapping_keeps_every_other_character() {
        let mut wrapped = page();
        wrap(&mut wrapped, 24);
        let text = |page: &Page| page.clone().finish("1".into(), None).text;
        assert_eq!(text(&wrapped).replace('\n', " "), text(&page()));
        assert!(
            text(&wrapped).lines().all(|line| line.len() <= 24),
            "{}",
            text(&wrapped)
        );
        assert!(text(&wrapped).lines().count() > 4);
    }

    #[test]
    fn marks_stay_on_their_values_whatever_is_done() {
        let all = Noise {
            capitals: 0.0,
            lower: 0.0,
            some_capitals: 1.0,
            some_values: 1.0,
            typing: 1.0,
            blanks: 1.0,
            wrapped: 1.0,
            misread: 1.0,
            unpunctuated: 1.0,
        };
        for seed in 0..200 {
            let mut noisy = page();
            all.lie_on(&mut noisy, &mut Chance::new(seed, 0));
            let labels: Vec<_> = noisy.pieces.iter().filter_map(|piece| piece.label).collect();
            assert_eq!(labels, ["DOCTOR", "DATE"]);
            let document = noisy.finish("1".into(), None);
            let values: Vec<_> = document
                .marks
                .iter()
                .map(|mark| mark.span.of(&document.text))
                .collect();
            assert_eq!(values.len(), 2, "{values:?}");
            assert!(values[0].split_whitespace().count() == 2, "{values:?}");
            assert!(values[1].split_whitespace().count() == 3, "{values:?}");
        }
    }

    #[test]
    fn punctuation_goes_from_the_ends_of_words_alone() {
        assert_eq!(
            unpunctuated("Seen (briefly) by Dr. Lopez, J., at 10:30. BP 120/80; Hb 9.5."),
            "Seen briefly by Dr Lopez J at 10:30 BP 120/80 Hb 9.5"
        );
        assert_eq!(unpunctuated("?"), "?");
        assert_eq!(
            unpunctuated("a.lopez@example.org, (312) 847-5530"),
            "a.lopez@example.org 312 847-5530"
        );
    }

    #[test]
    fn misread_characters_look_like_what_was_written() {
        let mut chance = Chance::new(1, 0);
        assert_eq!(
            misread("Room 105, Main wing", 1.0, &mut chance),
            "R00rn lOS, Molri vvlrig"
        );
        assert_eq!(misread("Room 105", 0.0, &mut chance), "Room 105");
    }
}
