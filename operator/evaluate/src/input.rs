//! Gold and predictions, checked and aligned document by document, as sets.

use std::collections::{BTreeSet, HashMap, HashSet};

use lethe_core::{Span, tokenize};
use lethe_corpus::{Document, Mark};

use crate::EvaluateError;

/// A label (its index in [`Input::labels`]) and a span.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Item {
    pub(crate) label: usize,
    pub(crate) span: Span,
}

/// The documents to score. Everything is in gold's order; annotations are sorted sets.
pub(crate) struct Input<'a> {
    pub(crate) documents: &'a [Document],
    /// Every label that gold or a system uses, sorted.
    pub(crate) labels: Vec<String>,
    /// Gold by document.
    pub(crate) gold: Vec<Vec<Item>>,
    /// Tokens by document.
    pub(crate) tokens: Vec<Vec<Span>>,
    pub(crate) systems: Vec<Predictions<'a>>,
}

/// One system's predictions.
pub(crate) struct Predictions<'a> {
    pub(crate) name: &'a str,
    /// The number of gold's documents that it has, empty ones included.
    pub(crate) given: usize,
    pub(crate) marks: Vec<Vec<Item>>,
}

impl<'a> Input<'a> {
    /// Checks and aligns documents. A document that a system lacks counts as one without predictions.
    pub(crate) fn new(
        gold: &'a [Document],
        systems: &'a [(String, Vec<Document>)],
    ) -> Result<Self, EvaluateError> {
        if gold.is_empty() {
            return Err(EvaluateError::NoGold);
        }
        let mut names = HashSet::new();
        if let Some((name, _)) = systems.iter().find(|(name, _)| !names.insert(name)) {
            return Err(EvaluateError::SameName { name: name.clone() });
        }
        let mut places = HashMap::with_capacity(gold.len());
        for (i, document) in gold.iter().enumerate() {
            if places.insert(document.id.as_str(), i).is_some() {
                return Err(EvaluateError::Duplicate {
                    side: "gold".to_owned(),
                    id: document.id.clone(),
                });
            }
            check("gold", &document.id, &document.marks, &document.text)?;
        }
        let all = systems.iter().flat_map(|(_, documents)| documents).chain(gold);
        let labels: BTreeSet<&str> = all
            .flat_map(|document| &document.marks)
            .map(|mark| mark.label.as_str())
            .collect();
        let index: HashMap<&str, usize> = labels.iter().enumerate().map(|(i, label)| (*label, i)).collect();
        Ok(Self {
            documents: gold,
            labels: labels.iter().map(|&label| label.to_owned()).collect(),
            gold: gold.iter().map(|document| set(&document.marks, &index)).collect(),
            tokens: gold.iter().map(|document| tokens(&document.text)).collect(),
            systems: systems
                .iter()
                .map(|(name, documents)| Predictions::new(name, documents, gold, &places, &index))
                .collect::<Result<_, _>>()?,
        })
    }
}

impl<'a> Predictions<'a> {
    fn new(
        name: &'a str,
        documents: &[Document],
        gold: &[Document],
        places: &HashMap<&str, usize>,
        labels: &HashMap<&str, usize>,
    ) -> Result<Self, EvaluateError> {
        let (mut given, mut marks) = (vec![false; gold.len()], vec![Vec::new(); gold.len()]);
        for document in documents {
            let id = || document.id.clone();
            let Some(&at) = places.get(document.id.as_str()) else {
                return Err(EvaluateError::Unknown {
                    system: name.to_owned(),
                    id: id(),
                });
            };
            if std::mem::replace(&mut given[at], true) {
                return Err(EvaluateError::Duplicate {
                    side: name.to_owned(),
                    id: id(),
                });
            }
            let text = &gold[at].text;
            // Stand-off predictions may come without a text.
            if !document.text.is_empty() && document.text != *text {
                return Err(EvaluateError::OtherText {
                    system: name.to_owned(),
                    id: id(),
                    found: document.text.len(),
                    expected: text.len(),
                });
            }
            check(name, &document.id, &document.marks, text)?;
            marks[at] = set(&document.marks, labels);
        }
        Ok(Self {
            name,
            given: given.iter().filter(|given| **given).count(),
            marks,
        })
    }
}

/// Checks that all annotations are spans of `text` and not empty.
pub(crate) fn check(side: &str, id: &str, marks: &[Mark], text: &str) -> Result<(), EvaluateError> {
    for (index, mark) in marks.iter().enumerate() {
        let (side, id) = (|| side.to_owned(), || id.to_owned());
        mark.span.check(text).map_err(|source| EvaluateError::Span {
            side: side(),
            id: id(),
            index,
            source,
        })?;
        if mark.span.is_empty() {
            return Err(EvaluateError::Empty {
                side: side(),
                id: id(),
                index,
                at: mark.span.start(),
            });
        }
    }
    Ok(())
}

fn set(marks: &[Mark], labels: &HashMap<&str, usize>) -> Vec<Item> {
    let items: BTreeSet<Item> = marks
        .iter()
        .map(|mark| Item {
            label: labels[mark.label.as_str()],
            span: mark.span,
        })
        .collect();
    items.into_iter().collect()
}

fn tokens(text: &str) -> Vec<Span> {
    let mut spans = Vec::new();
    tokenize(text, |token| spans.push(token.span));
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(id: &str, text: &str, marks: &[(u32, u32, &str)]) -> Document {
        Document {
            id: id.to_owned(),
            patient: None,
            text: text.to_owned(),
            marks: marks
                .iter()
                .map(|&(a, b, label)| Mark::gold(Span::between(a, b), label))
                .collect(),
        }
    }

    fn refusal(gold: Vec<Document>, predicted: Vec<Document>) -> String {
        match Input::new(&gold, &[("rules".to_owned(), predicted)]) {
            Ok(_) => "accepted".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_refusal_names_the_side_and_the_document_and_quotes_no_text() {
        let gold = || vec![document("n1", "Señora Vega", &[(8, 12, "NAME")])];
        let long = [(8, 99, "NAME")];
        for (predicted, expected) in [
            (
                vec![document("n2", "", &[])],
                "rules has predictions for document `n2`, which is not in gold",
            ),
            (
                vec![document("n1", "", &[]), document("n1", "", &[])],
                "rules has two documents with the id `n1`",
            ),
            (
                vec![document("n1", "Vega", &[])],
                "rules, document `n1`: its text (4 bytes) differs from gold's (12 bytes)",
            ),
            (
                vec![document("n1", "", &long)],
                "rules, document `n1`, span 0: span 8..99 lies outside",
            ),
            (
                vec![document("n1", "", &[(3, 5, "NAME")])],
                "span 3..5 cuts a character",
            ),
            (
                vec![document("n1", "", &[(3, 3, "NAME")])],
                "span 3..3 cuts a character",
            ),
            (
                vec![document("n1", "", &[(2, 2, "NAME")])],
                "rules, document `n1`, span 0 is empty (at byte 2)",
            ),
        ] {
            let message = refusal(gold(), predicted);
            assert!(message.contains(expected), "{message}");
            assert!(!message.contains("Vega"), "{message}");
        }
        assert_eq!(refusal(Vec::new(), Vec::new()), "gold has no documents");
        assert_eq!(
            refusal(vec![document("n1", "", &[]), document("n1", "", &[])], Vec::new()),
            "gold has two documents with the id `n1`"
        );
    }

    #[test]
    fn two_systems_of_one_name_are_refused() {
        let systems = [("a".to_owned(), Vec::new()), ("a".to_owned(), Vec::new())];
        let gold = [document("n1", "", &[])];
        let error = Input::new(&gold, &systems).err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), Some("two systems are called `a`"));
    }
}
