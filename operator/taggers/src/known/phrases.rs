//! Identifiers that are sequences of words: addresses and their parts, e-mail addresses, organisations.

use std::collections::HashMap;

use lethe_core::{Collector, LabelId, tokenize};

use crate::known::Labels;
use crate::words::{Case, Words};
use lethe_dictionaries::fold;

/// Sequences that begin with one word, at most: what keeps an event with thousands of phrases linear.
const MOST_PER_WORD: usize = 16;

/// Written short or in full, a street is the same.
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

struct Phrase {
    words: Vec<String>,
    label: LabelId,
    rule: &'static str,
}

/// The phrases that one event carries, by their first word.
#[derive(Default)]
pub(super) struct Phrases {
    all: Vec<Phrase>,
    by_first: HashMap<String, Vec<usize>>,
}

impl Phrases {
    /// Adds a phrase to be found as it is, whatever its case, accents and inner punctuation.
    pub(super) fn add(&mut self, value: &str, label: LabelId, rule: &'static str) {
        let mut words = Vec::new();
        tokenize(value, |token| {
            let word = fold(token.span.of(value));
            if word.chars().any(char::is_alphanumeric) {
                words.push(short(&word).to_owned());
            }
        });
        let letters: usize = words.iter().map(String::len).sum();
        if letters < 3 {
            return;
        }
        let at = self.all.len();
        if let Some(first) = words.first() {
            let same = self.by_first.entry(first.clone()).or_default();
            if same.len() < MOST_PER_WORD {
                same.push(at);
                self.all.push(Phrase { words, label, rule });
            }
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
            // Two letters are a state's; they are found after their city, never alone.
            let label = if text.chars().count() == 2 {
                labels.state
            } else {
                labels.city
            };
            self.add(text, label, "known.place");
        }
    }

    pub(super) fn find(&self, words: &Words<'_>, out: &mut Collector<'_>) {
        if self.all.is_empty() {
            return;
        }
        let mut i = 0;
        while i < words.len() {
            let candidates = self.by_first.get(short(words.get(i)));
            let best = candidates
                .into_iter()
                .flatten()
                .filter_map(|&at| self.all[at].end(i, words).map(|last| (last, at)))
                .max();
            match best {
                Some((last, at)) => {
                    out.tokens(i, last, self.all[at].label, 1.0, self.all[at].rule);
                    i = last + 1;
                }
                None => i += 1,
            }
        }
    }
}

impl Phrase {
    /// The last token of this phrase, if it stands at token `i`.
    fn end(&self, i: usize, words: &Words<'_>) -> Option<usize> {
        let mut at = i;
        let mut last = i;
        for (n, word) in self.words.iter().enumerate() {
            // Punctuation may come and go between the words: "St. Paul", "123, Main".
            let mut marks = 0;
            while n > 0 && words.case(at) == Case::Mark && marks < 2 && at < words.len() {
                at += 1;
                marks += 1;
            }
            if short(words.get(at)) != word || at >= words.len() {
                return None;
            }
            last = at;
            at += 1;
        }
        // A lone ordinary word counts only as it would be written in an address.
        (self.words.len() > 1 || words.case(i) != Case::Lower).then_some(last)
    }
}

fn short(word: &str) -> &str {
    STREET_WORDS
        .iter()
        .find(|(long, _)| *long == word)
        .map_or(word, |(_, short)| short)
}
