//! Compares the crate with an independent brute-force scorer on random documents; the results must be equal.

use std::collections::BTreeSet;

use lethe_core::{Span, tokenize};
use lethe_corpus::{Document, Mark};
use lethe_evaluate::{Options, Score, evaluate};
use proptest::prelude::*;

type Triple = (String, usize, usize);

fn triples(document: &Document) -> BTreeSet<Triple> {
    document
        .marks
        .iter()
        .map(|mark| (mark.label.clone(), mark.span.start(), mark.span.end()))
        .collect()
}

fn found<'a>(predicted: &'a [Document], id: &str) -> Option<&'a Document> {
    predicted.iter().find(|document| document.id == id)
}

/// Sums |gold|, |predicted| and |both| over documents, of the sets that `of` returns.
fn brute<T: Ord>(
    gold: &[Document],
    predicted: &[Document],
    of: impl Fn(&str, &BTreeSet<Triple>) -> BTreeSet<T>,
) -> [u64; 3] {
    let mut sums = [0; 3];
    for document in gold {
        let truth = of(&document.text, &triples(document));
        let guess = of(
            &document.text,
            &found(predicted, &document.id).map(triples).unwrap_or_default(),
        );
        sums[0] += truth.len() as u64;
        sums[1] += guess.len() as u64;
        sums[2] += truth.intersection(&guess).count() as u64;
    }
    sums
}

fn same(score: &Score, [gold, predicted, hits]: [u64; 3]) -> Result<(), TestCaseError> {
    prop_assert_eq!((score.gold, score.predicted, score.hits), (gold, predicted, hits));
    let ratio = |a: u64, b: u64| if b == 0 { 0.0 } else { a as f64 / b as f64 };
    let (p, r) = (ratio(hits, predicted), ratio(hits, gold));
    prop_assert_eq!(score.precision.value, p);
    prop_assert_eq!(score.recall.value, r);
    prop_assert_eq!(score.f1.value, ratio(2 * hits, gold + predicted));
    let f2 = if hits == 0 {
        0.0
    } else {
        5.0 * p * r / (4.0 * p + r)
    };
    prop_assert!((score.f_beta.value - f2).abs() < 1e-14);
    Ok(())
}

fn bytes(marks: &BTreeSet<Triple>) -> BTreeSet<usize> {
    marks.iter().flat_map(|(_, start, end)| *start..*end).collect()
}

/// Builds a text of words of one to four characters, some of two bytes, and returns where each begins and
/// ends.
fn note(words: &[u8]) -> (String, Vec<usize>) {
    let (mut text, mut edges) = (String::new(), Vec::new());
    for word in words {
        edges.push(text.len());
        text.push_str(["Ana", "é", "12", "Ñ-4", "x9", "…"][usize::from(word % 6)]);
        edges.push(text.len());
        text.push_str(if word % 2 == 0 { " " } else { "" });
    }
    (text, edges)
}

fn document(id: usize, words: &[u8], marks: &[(usize, usize, u8)]) -> Document {
    let (text, edges) = note(words);
    let mark = |&(a, b, label): &(usize, usize, u8)| {
        let (a, b) = (edges[a % edges.len()], edges[b % edges.len()]);
        let span = Span::between(a.min(b) as u32, a.max(b) as u32);
        (!span.is_empty()).then(|| Mark::gold(span, ["NAME", "CITY", "DATE"][usize::from(label % 3)]))
    };
    Document {
        id: format!("n{id}"),
        patient: None,
        marks: marks.iter().filter_map(mark).collect(),
        text,
    }
}

fn marks() -> impl Strategy<Value = Vec<(usize, usize, u8)>> {
    prop::collection::vec((0usize..40, 0usize..40, any::<u8>()), 0..6)
}

proptest! {
    #[test]
    fn every_count_and_score_is_that_of_a_scorer_of_a_few_lines(
        notes in prop::collection::vec(
            (prop::collection::vec(any::<u8>(), 1..12), marks(), prop::option::of(marks()), any::<bool>()),
            1..8,
        ),
    ) {
        let gold: Vec<Document> =
            notes.iter().enumerate().map(|(i, (words, gold, ..))| document(i, words, gold)).collect();
        // Some predictions copy gold, so that there are hits; some documents are missing.
        let predicted: Vec<Document> = notes
            .iter()
            .enumerate()
            .filter_map(|(i, (words, gold, other, keep))| {
                let mut marks = other.clone()?;
                marks.extend(gold.iter().filter(|_| *keep));
                Some(document(i, words, &marks))
            })
            .collect();
        let systems = [("one".to_owned(), predicted)];
        let options = Options { resamples: 3, ..Options::default() };
        let report = evaluate(&gold, &systems, &options).unwrap();
        let (system, predicted) = (&report.systems[0], &systems[0].1);

        let strict = brute(&gold, predicted, |_, marks| marks.clone());
        same(&system.measures.strict, strict)?;
        same(&system.measures.span, brute(&gold, predicted, |_, marks| {
            marks.iter().map(|(_, start, end)| (*start, *end)).collect()
        }))?;
        same(&system.measures.token, brute(&gold, predicted, |text, marks| {
            let mut tokens = BTreeSet::new();
            tokenize(text, |token| {
                if (token.span.start()..token.span.end()).any(|byte| bytes(marks).contains(&byte)) {
                    tokens.insert(token.span);
                }
            });
            tokens
        }))?;
        let characters = brute(&gold, predicted, |text, marks| {
            text.char_indices().map(|(at, _)| at).filter(|at| bytes(marks).contains(at)).collect()
        });
        same(&system.measures.character, characters)?;
        prop_assert_eq!(system.leak.characters.count, characters[0] - characters[2]);
        prop_assert_eq!(system.leak.characters.of, characters[0]);

        let mut leaking = 0;
        for document in &gold {
            let truth = bytes(&triples(document));
            let guess = found(predicted, &document.id).map(|found| bytes(&triples(found))).unwrap_or_default();
            let open = |(at, c): (usize, char)| c.is_alphanumeric() && truth.contains(&at) && !guess.contains(&at);
            leaking += u64::from(document.text.char_indices().any(open));
        }
        prop_assert_eq!(system.leak.documents.count, leaking);

        let leaks_of = |label: Option<&str>| -> u64 {
            let of_document = |document: &Document| {
                let guess = found(predicted, &document.id).map(|found| bytes(&triples(found))).unwrap_or_default();
                let open = |(_, start, end): &Triple| {
                    let mut characters = document.text.get(*start..*end).unwrap_or_default().char_indices();
                    characters.any(|(at, c)| c.is_alphanumeric() && !guess.contains(&(start + at)))
                };
                let marks = triples(document).into_iter().filter(|mark| label.is_none_or(|label| mark.0 == label));
                marks.filter(open).count() as u64
            };
            gold.iter().map(of_document).sum()
        };
        prop_assert_eq!(system.leak.spans.spans.count, leaks_of(None));
        prop_assert_eq!(system.leak.spans.per_thousand.value, 1000.0 * leaks_of(None) as f64 / gold.len() as f64);
        for group in &system.leak.labels {
            prop_assert_eq!(group.leaks.spans.count, leaks_of(Some(&group.name)));
        }

        for label in ["NAME", "CITY", "DATE"] {
            let counts = brute(&gold, predicted, |_, marks| {
                marks.iter().filter(|mark| mark.0 == label).cloned().collect::<BTreeSet<_>>()
            });
            match system.labels.groups.iter().find(|group| group.name == label) {
                Some(group) => same(&group.strict, counts)?,
                None => prop_assert_eq!(counts, [0; 3]),
            }
        }
        prop_assert_eq!(&system.labels.micro, &system.measures.strict);

        // Error classes partition the non-hits of both sides.
        let errors = &system.errors;
        let paired = errors.boundary + errors.label;
        prop_assert_eq!(strict[2] + paired + errors.false_negative, strict[0]);
        prop_assert_eq!(strict[2] + paired + errors.false_positive, strict[1]);
        prop_assert!(system.measures.relaxed.hits >= strict[2]);
        prop_assert_eq!(errors.confusion.iter().map(|cell| cell.count).sum::<u64>(), strict[2] + errors.cases.len() as u64);
    }
}
