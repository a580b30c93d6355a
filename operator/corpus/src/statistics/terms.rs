//! The words that are more frequent in one of two corpora.
//!
//! Invariant: no word is listed that occurs in a span of any corpus. Words are compared in folded form, so that "JOSÉ" in a
//! span also withholds "jose" outside of spans, where the annotators missed it.

use std::collections::{HashMap, HashSet};

use lethe_core::{Span, TokenKind, tokenize};
use lethe_text::{fold, fold_char};

use super::report::{Occurrences, Term, Terms};
use crate::{Document, covered_tokens};

/// The words of a corpus.
#[derive(Default)]
pub(super) struct Words {
    /// The words outside of spans, in lower case.
    outside: HashMap<String, Occurrences>,
    /// Their number.
    total: u64,
    /// The words of spans, folded.
    protected: HashSet<String>,
}

impl Words {
    /// Adds a document, with the annotations that it has in its file.
    pub(super) fn add(&mut self, document: &Document) {
        let text = &*document.text;
        let runs = runs(text);
        let inside = covered_tokens(&runs, document.marks.iter().map(|mark| mark.span));
        let mut inside = inside.into_iter().peekable();
        let mut met = HashSet::new();
        for (at, run) in runs.iter().enumerate() {
            let word = run.of(text);
            if inside.next_if_eq(&at).is_some() {
                self.protect(word);
            } else if word.chars().all(is_letter) && word.contains(char::is_alphabetic) {
                let word = word.to_lowercase();
                self.total += 1;
                let entry = self.outside.entry(word.clone()).or_default();
                entry.count += 1;
                entry.documents += u64::from(met.insert(word));
            }
        }
        for mark in &document.marks {
            let text = mark.span.of(text);
            self.protect(text);
            // The parts of "McAllister" are words, too.
            tokenize(text, |token| {
                if token.kind == TokenKind::Letters {
                    self.protected.insert(fold(token.span.of(text)));
                }
            });
        }
    }

    /// Withholds the words of a text.
    fn protect(&mut self, text: &str) {
        let words = text.split(|c: char| !is_letter(c)).map(fold);
        self.protected.extend(words.filter(|word| !word.is_empty()));
    }

    /// Returns the words of spans, folded.
    pub(super) fn protected(&self) -> impl Iterator<Item = &str> {
        self.protected.iter().map(String::as_str)
    }
}

/// Returns the runs of letters and digits.
fn runs(text: &str) -> Vec<Span> {
    let (mut runs, mut start) = (Vec::new(), None);
    let ends = [(text.len(), ' ')];
    for (at, c) in text.char_indices().chain(ends) {
        match (start, c.is_alphanumeric() || is_letter(c)) {
            (None, true) => start = Some(at),
            (Some(from), false) => {
                // The tokenizer, which has read this text, accepts no longer offsets.
                runs.push(Span::between(from as u32, at as u32));
                start = None;
            }
            _ => {}
        }
    }
    runs
}

/// Returns whether a character is a letter, or belongs to one: a combining mark, or an invisible character that does not
/// change a word.
fn is_letter(c: char) -> bool {
    if c.is_alphabetic() || c.is_ascii() {
        return c.is_alphabetic();
    }
    let mut visible = false;
    fold_char(c, |_| visible = true);
    !visible
}

/// Returns the words that are over-represented in each of two corpora, except protected ones.
pub(super) fn terms(
    first: &Words,
    other: &Words,
    protected: &HashSet<&str>,
    limit: usize,
    least_documents: u64,
) -> Terms {
    let (mut of_first, mut of_other) = (Vec::new(), Vec::new());
    let words: HashSet<&String> = first.outside.keys().chain(other.outside.keys()).collect();
    for word in words {
        let occurrences = |words: &Words| words.outside.get(word).copied().unwrap_or_default();
        let term = Term {
            word: word.clone(),
            score: log_likelihood(
                (occurrences(first).count, first.total),
                (occurrences(other).count, other.total),
            ),
            first: occurrences(first),
            other: occurrences(other),
        };
        let (list, documents) = match term.score {
            score if score < 0.0 => (&mut of_first, term.first.documents),
            score if score > 0.0 => (&mut of_other, term.other.documents),
            _ => continue,
        };
        if documents >= least_documents && !protected.contains(&*fold(word)) {
            list.push(term);
        }
    }
    for list in [&mut of_first, &mut of_other] {
        list.sort_by(|a, b| {
            let order = b.score.abs().total_cmp(&a.score.abs());
            order.then_with(|| a.word.cmp(&b.word))
        });
        list.truncate(limit);
    }
    Terms {
        first_words: first.total,
        other_words: other.total,
        first: of_first,
        other: of_other,
    }
}

/// Returns G² of the table of a word and all other words in two corpora (Dunning 1993), each given as the word's
/// occurrences and all words. It is negative if the word has the higher share in the first corpus.
pub(super) fn log_likelihood(first: (u64, u64), other: (u64, u64)) -> f64 {
    let count = |number: u64| number as f64;
    let (word, all) = (count(first.0 + other.0), count(first.1 + other.1));
    let mut sum = 0.0;
    for (with, corpus) in [first, other] {
        for (observed, row) in [(count(with), word), (count(corpus - with), all - word)] {
            if observed > 0.0 {
                sum += observed * (observed * all / (row * count(corpus))).ln();
            }
        }
    }
    // A rounding error must not change the sign.
    let score = (2.0 * sum).max(0.0);
    // The shares are compared without a division.
    let (in_first, in_other) = (count(first.0) * count(other.1), count(other.0) * count(first.1));
    match in_first.total_cmp(&in_other) {
        std::cmp::Ordering::Greater => -score,
        std::cmp::Ordering::Equal => 0.0,
        std::cmp::Ordering::Less => score,
    }
}
