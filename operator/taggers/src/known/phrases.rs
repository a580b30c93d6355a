//! Identifiers that are sequences of words: addresses and their parts, e-mail addresses, organisations.

use std::collections::HashMap;

use lethe_core::{Collector, LabelId, tokenize};

use crate::known::Labels;
use crate::words::{Case, Words};
use lethe_text::fold;

/// The most words of one phrase. A longer one is searched for in pieces, so that no phrase causes the text to
/// be read many times.
const MOST_WORDS: usize = 16;

/// The short and the long form of a street's kind are equal.
const STREET_WORDS: [(&str, &str); 28] = [
    ("street", "st"),
    ("avenue", "ave"),
    ("avenida", "avda"),
    ("av", "avda"),
    ("road", "rd"),
    ("drive", "dr"),
    ("boulevard", "blvd"),
    ("lane", "ln"),
    ("court", "ct"),
    ("place", "pl"),
    ("terrace", "ter"),
    ("circle", "cir"),
    ("parkway", "pkwy"),
    ("highway", "hwy"),
    ("square", "sq"),
    ("trail", "trl"),
    ("north", "n"),
    ("south", "s"),
    ("east", "e"),
    ("west", "w"),
    ("apartment", "apt"),
    ("suite", "ste"),
    ("calle", "c"),
    ("plaza", "pza"),
    ("paseo", "pso"),
    ("carretera", "ctra"),
    ("number", "no"),
    ("numero", "no"),
];

/// The phrases that one event carries, as a trie over words.
#[derive(Default)]
pub(super) struct Phrases {
    /// The numbers of the phrases' words, in their short and long forms.
    words: HashMap<String, u32>,
    /// From a node along a word to a node; the root is 0.
    edges: HashMap<(u32, u32), u32>,
    /// The phrase that ends at each node but the root.
    ends: Vec<Option<End>>,
}

/// The label and rule of a phrase.
#[derive(Clone, Copy)]
pub(super) struct End {
    pub(super) label: LabelId,
    pub(super) rule: &'static str,
}

/// A word of the text that is in no phrase.
const NO_WORD: u32 = u32::MAX;

impl Phrases {
    /// Adds a phrase that is found in any case and with any accents and inner punctuation.
    pub(super) fn add(&mut self, value: &str, label: LabelId, rule: &'static str) {
        let mut words = Vec::new();
        tokenize(value, |token| {
            let word = fold(token.span.of(value));
            if word.chars().any(char::is_alphanumeric) {
                words.push(short(&word).to_owned());
            }
        });
        let pieces = words.len().div_ceil(MOST_WORDS).max(1);
        for piece in words.chunks(words.len().div_ceil(pieces).max(1)) {
            if piece.iter().map(String::len).sum::<usize>() >= 3 {
                self.add_piece(piece, End { label, rule });
            }
        }
    }

    pub(super) fn add_piece(&mut self, piece: &[String], end: End) {
        let mut node = 0;
        for word in piece {
            let word = match self.words.get(word) {
                Some(&number) => number,
                None => {
                    let number = self.words.len() as u32;
                    let long = STREET_WORDS.iter().filter(|(_, short)| short == word);
                    for (long, _) in long {
                        self.words.insert((*long).to_owned(), number);
                    }
                    self.words.insert(word.clone(), number);
                    number
                }
            };
            let next = self.ends.len() as u32 + 1;
            node = *self.edges.entry((node, word)).or_insert(next);
            if node == next {
                self.ends.push(None);
            }
        }
        // Of equal phrases the last one counts.
        if let Some(at) = self.ends.get_mut((node as usize).wrapping_sub(1)) {
            *at = Some(end);
        }
    }

    /// Adds an address: whole lines, and its parts between commas.
    pub(super) fn add_address(&mut self, value: &str, labels: &Labels) {
        let street = labels.of(lethe_core::KnownKind::Address);
        for (i, part) in value.split([',', '\n', ';']).map(str::trim).enumerate() {
            let zip: String = part.chars().filter(char::is_ascii_digit).collect();
            let text = part.trim_matches(|c: char| c.is_ascii_digit() || c == '-' || c == ' ');
            if i == 0 {
                self.add(part, street, "known.street");
                // A street without its number, if it has more than one word.
                if text.contains(' ') {
                    self.add(text, street, "known.street");
                }
                continue;
            }
            if zip.len() >= 5 {
                self.add(&zip.chars().take(5).collect::<String>(), labels.zip, "known.zip");
            }
            // Two letters are a state's code, which is found after its city, never alone.
            let label = if text.chars().count() == 2 {
                labels.state
            } else {
                labels.city
            };
            self.add(text, label, "known.place");
        }
    }

    pub(super) fn find(&self, words: &Words<'_>, out: &mut Collector<'_>) {
        if self.edges.is_empty() {
            return;
        }
        let number = |i| self.words.get(words.get(i)).copied().unwrap_or(NO_WORD);
        let numbers: Vec<u32> = (0..words.len()).map(number).collect();
        let mut i = 0;
        while i < words.len() {
            match self.longest(i, words, &numbers) {
                Some((last, end)) => {
                    out.tokens(i, last, end.label, 1.0, end.rule);
                    i = last + 1;
                }
                None => i += 1,
            }
        }
    }

    /// Returns the longest phrase at token `i`, and its last token.
    fn longest(&self, i: usize, words: &Words<'_>, numbers: &[u32]) -> Option<(usize, End)> {
        let (mut found, mut node, mut at) = (None, 0, i);
        for n in 0..MOST_WORDS {
            // Punctuation between the words is optional: "St. Paul", "123, Main".
            let mut marks = 0;
            while n > 0 && words.case(at) == Case::Mark && marks < 2 && at < words.len() {
                at += 1;
                marks += 1;
            }
            let word = numbers.get(at).copied().filter(|&word| word != NO_WORD);
            let Some(&next) = word.and_then(|word| self.edges.get(&(node, word))) else {
                break;
            };
            node = next;
            // A single ordinary word counts only if it is written as in an address.
            if let Some(end) = self.ends[node as usize - 1]
                && (n > 0 || words.case(i) != Case::Lower)
            {
                found = Some((at, end));
            }
            at += 1;
        }
        found
    }
}

pub(super) fn short(word: &str) -> &str {
    STREET_WORDS
        .iter()
        .find(|(long, _)| *long == word)
        .map_or(word, |(_, short)| short)
}
