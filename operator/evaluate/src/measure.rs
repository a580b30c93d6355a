//! The counts of one document, and the measures that follow from sums of counts.

use lethe_core::Span;
use lethe_corpus::{Counts, covered_tokens};

use crate::input::Item;
use crate::overlap::overlapping;

/// One document's counts, by measure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) strict: Counts,
    pub(crate) span: Counts,
    pub(crate) relaxed: Counts,
    pub(crate) token: Counts,
    pub(crate) character: Counts,
    /// A hit if the document has PHI and none of it leaks, a miss if some does.
    pub(crate) intact: Counts,
}

impl Counted {
    pub(crate) fn new(text: &str, tokens: &[Span], gold: &[Item], predicted: &[Item]) -> Self {
        let leaks = leaking(text, gold, predicted).contains(&true);
        let tokens_of = |items: &[Item]| covered_tokens(tokens, items.iter().map(|item| item.span));
        let has_phi = u64::from(!gold.is_empty());
        Self {
            strict: sets(gold, predicted),
            span: sets(&spans(gold), &spans(predicted)),
            relaxed: relaxed(gold, predicted),
            token: sets(&tokens_of(gold), &tokens_of(predicted)),
            character: characters(text, gold, predicted),
            intact: Counts {
                hits: has_phi - u64::from(leaks),
                spurious: 0,
                missed: u64::from(leaks),
            },
        }
    }
}

/// Counts two sorted sets.
pub(crate) fn sets<T: Ord>(gold: &[T], predicted: &[T]) -> Counts {
    let hits = predicted
        .iter()
        .filter(|item| gold.binary_search(item).is_ok())
        .count() as u64;
    of(hits, gold.len() as u64, predicted.len() as u64)
}

/// Counts overlaps with the same label, paired one to one with as many pairs as possible.
pub(crate) fn relaxed(gold: &[Item], predicted: &[Item]) -> Counts {
    let with = |items: &[Item], label: usize| -> Vec<Span> {
        items
            .iter()
            .filter(|item| item.label == label)
            .map(|item| item.span)
            .collect()
    };
    let mut hits = 0;
    for run in gold.chunk_by(|a, b| a.label == b.label) {
        let label = run[0].label;
        hits += overlapping(&with(run, label), &with(predicted, label)).len() as u64;
    }
    of(hits, gold.len() as u64, predicted.len() as u64)
}

/// Creates counts from the numbers of gold, predicted and common elements.
pub(crate) fn of(hits: u64, gold: u64, predicted: u64) -> Counts {
    Counts {
        hits,
        spurious: predicted - hits,
        missed: gold - hits,
    }
}

/// Returns `(1 + beta²) hits / ((1 + beta²) hits + beta² missed + spurious)`; 0 without hits. For `beta` 1
/// this is F1.
pub(crate) fn f_beta(counts: Counts, beta: f64) -> f64 {
    let square = beta * beta;
    let hits = (1.0 + square) * counts.hits as f64;
    if counts.hits == 0 {
        0.0
    } else {
        hits / (hits + square * counts.missed as f64 + counts.spurious as f64)
    }
}

/// Returns a document's F1 for the paired tests: as usual, but 1 if there are neither gold nor predicted
/// spans.
pub(crate) fn document_f1(counts: Counts) -> f64 {
    if counts == Counts::default() {
        1.0
    } else {
        counts.f1()
    }
}

fn spans(items: &[Item]) -> Vec<Span> {
    let mut spans: Vec<Span> = items.iter().map(|item| item.span).collect();
    spans.sort_unstable();
    spans.dedup();
    spans
}

/// Returns for each gold span whether a letter or digit of it is uncovered.
pub(crate) fn leaking(text: &str, gold: &[Item], predicted: &[Item]) -> Vec<bool> {
    let mut covered = vec![false; text.len()];
    for item in predicted {
        covered[item.span.start()..item.span.end()].fill(true);
    }
    let leaks = |item: &Item| {
        let mut characters = item.span.of(text).char_indices();
        characters.any(|(at, character)| character.is_alphanumeric() && !covered[item.span.start() + at])
    };
    gold.iter().map(leaks).collect()
}

/// Counts code points covered by any span, whatever its label.
fn characters(text: &str, gold: &[Item], predicted: &[Item]) -> Counts {
    const GOLD: u8 = 1;
    const PREDICTED: u8 = 2;
    let mut painted = vec![0u8; text.len()];
    for (items, colour) in [(gold, GOLD), (predicted, PREDICTED)] {
        for item in items {
            for byte in &mut painted[item.span.start()..item.span.end()] {
                *byte |= colour;
            }
        }
    }
    let mut counts = Counts::default();
    for (at, _) in text.char_indices() {
        match painted[at] {
            GOLD => counts.missed += 1,
            PREDICTED => counts.spurious += 1,
            0 => {}
            _ => counts.hits += 1,
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: usize = 0;
    const CITY: usize = 1;

    fn items(text: &str, marked: &[(&str, usize)]) -> Vec<Item> {
        let mut items: Vec<Item> = marked
            .iter()
            .map(|&(part, label)| {
                let start = text.find(part).unwrap();
                Item {
                    label,
                    span: Span::checked(text, start, start + part.len()).unwrap(),
                }
            })
            .collect();
        items.sort_unstable();
        items
    }

    fn counted(text: &str, gold: &[(&str, usize)], predicted: &[(&str, usize)]) -> Counted {
        let mut tokens = Vec::new();
        lethe_core::tokenize(text, |token| tokens.push(token.span));
        Counted::new(text, &tokens, &items(text, gold), &items(text, predicted))
    }

    fn three(counts: Counts) -> (u64, u64, u64) {
        (counts.hits, counts.spurious, counts.missed)
    }

    const TEXT: &str = "Ana Núñez-Gil, Toledo";

    #[test]
    fn a_wrong_label_fails_strict_and_relaxed_but_not_span_token_or_character() {
        let scored = counted(TEXT, &[("Toledo", CITY)], &[("Toledo", NAME)]);
        assert_eq!(three(scored.strict), (0, 1, 1));
        assert_eq!(three(scored.relaxed), (0, 1, 1));
        assert_eq!(three(scored.span), (1, 0, 0));
        assert_eq!(three(scored.token), (1, 0, 0));
        assert_eq!(three(scored.character), (6, 0, 0));
        assert_eq!(three(scored.intact), (1, 0, 0));
    }

    #[test]
    fn half_a_name_is_a_relaxed_hit_and_leaks_the_other_half_in_code_points() {
        let scored = counted(TEXT, &[("Ana Núñez-Gil", NAME)], &[("Ana Núñez", NAME)]);
        assert_eq!(three(scored.strict), (0, 1, 1));
        assert_eq!(three(scored.relaxed), (1, 0, 0));
        // Ana, Núñez, hyphen, Gil.
        assert_eq!(three(scored.token), (2, 0, 2));
        assert_eq!(three(scored.character), (9, 0, 4));
        assert_eq!(three(scored.intact), (0, 0, 1));
    }

    #[test]
    fn a_blank_between_two_hidden_words_is_no_leaking_document() {
        let scored = counted("Ana Gil", &[("Ana Gil", NAME)], &[("Ana", NAME), ("Gil", NAME)]);
        assert_eq!(three(scored.character), (6, 0, 1));
        assert_eq!(three(scored.intact), (1, 0, 0));
        assert_eq!(three(scored.relaxed), (1, 1, 0));
    }

    #[test]
    fn a_document_without_phi_cannot_leak() {
        assert_eq!(counted("No PHI", &[], &[("PHI", NAME)]).intact, Counts::default());
    }

    #[test]
    fn f_beta_of_one_is_f1_and_of_two_leans_to_recall() {
        let counts = of(6, 10, 8);
        assert_eq!(f_beta(counts, 1.0), counts.f1());
        // sklearn: fbeta = 5 P R / (4 P + R) with P = 0.75, R = 0.6.
        assert!((f_beta(counts, 2.0) - 0.625).abs() < 1e-15);
        assert_eq!(f_beta(Counts::default(), 2.0), 0.0);
    }

    #[test]
    fn a_document_with_nothing_to_find_and_nothing_found_is_perfect() {
        assert_eq!(document_f1(Counts::default()), 1.0);
        assert_eq!(document_f1(of(0, 0, 1)), 0.0);
    }
}
