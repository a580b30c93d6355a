//! Scores a bundle on held-out notes, to tell whether a new version is worse than the current one.

use std::sync::Arc;

use lethe_core::{Action, BatchError, Carried, Engine, Merging, Redactor, Span};
use lethe_corpus::{Counts, Document, Mark};
use lethe_ensemble::Bundle;

use super::learnt::{batches, leaks};

/// A bundle's score on notes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Score {
    /// The number of notes.
    pub notes: usize,
    /// Strict counts.
    pub strict: Counts,
    /// Letters and digits of gold that are not redacted.
    pub leaked: u64,
    /// Letters and digits of gold.
    pub characters: u64,
}

impl Score {
    /// Returns whether this version has a lower strict F1 or leaks more than the other.
    pub fn is_worse_than(&self, other: &Self) -> bool {
        self.leaked > other.leaked || self.strict.f1() < other.strict.f1() - 1e-12
    }
}

impl std::fmt::Display for Score {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "strict F1 {:.4}, {} of {} characters leak",
            self.strict.f1(),
            self.leaked,
            self.characters
        )
    }
}

/// Scores a bundle against gold.
///
/// # Errors
/// [`BatchError`].
pub(super) fn score(bundle: &Bundle, documents: &[Document]) -> Result<Score, BatchError> {
    let documents: Vec<&Document> = documents.iter().collect();
    let mut score = Score {
        notes: documents.len(),
        ..Score::default()
    };
    for (document, predictions) in documents.iter().zip(decided(bundle, &documents)?) {
        let gold = document.marks.iter();
        let count = |found: &[Span]| {
            gold.clone()
                .map(|mark| leaks(&document.text, mark.span, found))
                .sum::<u64>()
        };
        score.characters += count(&[]);
        // A note that a member fails on is quarantined: no span is found, and nothing leaks.
        let marks = predictions.as_deref().unwrap_or_default();
        score.strict += Counts::strict(&document.marks, marks);
        if predictions.is_some() {
            let found: Vec<Span> = marks.iter().map(|mark| mark.span).collect();
            score.leaked += count(&found);
        }
    }
    Ok(score)
}

/// Returns the bundle's decisions for notes, as in the stream; `None` for a note that would be quarantined.
///
/// # Errors
/// [`BatchError`].
pub(super) fn decided(
    bundle: &Bundle,
    documents: &[&Document],
) -> Result<Vec<Option<Vec<Mark>>>, BatchError> {
    let labels = &bundle.labels;
    let engine = Engine::new(
        Arc::clone(labels),
        bundle.members.clone(),
        Arc::clone(&bundle.combiner),
        Merging::none(labels),
        Redactor::new(labels, Action::Tag, Carried::default()),
    );
    let mut all = Vec::with_capacity(documents.len());
    for batch in batches(documents) {
        for outcome in engine.decide(&batch?) {
            let mark = |decision: &lethe_core::Decision| Mark {
                span: decision.span,
                label: labels.label(decision.label).name.clone(),
                score: Some(decision.score),
            };
            all.push(outcome.ok().map(|decisions| decisions.iter().map(mark).collect()));
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(hits: u64, spurious: u64, leaked: u64) -> Score {
        Score {
            notes: 1,
            strict: Counts {
                hits,
                spurious,
                missed: 10 - hits,
            },
            leaked,
            characters: 50,
        }
    }

    #[test]
    fn a_version_is_worse_if_it_finds_less_or_lets_more_through() {
        let now = score(8, 1, 5);
        assert!(!now.is_worse_than(&now));
        assert!(!score(9, 1, 5).is_worse_than(&now));
        assert!(score(8, 2, 5).is_worse_than(&now), "more false positives");
        assert!(
            score(9, 0, 6).is_worse_than(&now),
            "better by spans, but more leaks"
        );
        assert!(
            !Score::default().is_worse_than(&Score::default()),
            "the held-out set is empty"
        );
    }

    #[test]
    fn letters_and_digits_outside_of_what_is_found_leak() {
        let text = "by Ana-2 Ñu";
        let span = |start, end| Span::between(start, end);
        let of = |found: &[Span]| leaks(text, span(3, text.len() as u32), found);
        assert_eq!(of(&[]), 6);
        assert_eq!(of(&[span(3, 6)]), 3);
        assert_eq!(of(&[span(3, 6), span(7, 8)]), 2);
        assert_eq!(of(&[span(0, text.len() as u32)]), 0);
    }
}
