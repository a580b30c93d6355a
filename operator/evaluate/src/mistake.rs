//! Which errors were made: boundary, label, false negative and false positive (Yang 2019), and which label was taken for
//! which (Kim 2020, table 7).

use std::collections::BTreeMap;

use lethe_core::Span;
use lethe_corpus::Document;

use crate::input::{Input, Item, Predictions};
use crate::overlap::overlapping;
use crate::report::{Cell, ErrorCase, ErrorClass, ErrorKind, Errors, LabelErrors, Pointed, Shape};

/// A gold and a predicted mark that belong together, or one without the other.
#[derive(Clone, Copy, PartialEq)]
struct Pair {
    gold: Option<Item>,
    predicted: Option<Item>,
}

impl Pair {
    fn class(self) -> Option<ErrorClass> {
        match (self.gold, self.predicted) {
            (Some(gold), Some(predicted)) if gold == predicted => None,
            (Some(gold), Some(predicted)) if gold.label == predicted.label => Some(ErrorClass::Boundary),
            (Some(_), Some(_)) => Some(ErrorClass::Label),
            (Some(_), None) => Some(ErrorClass::FalseNegative),
            (None, _) => Some(ErrorClass::FalsePositive),
        }
    }

    fn shape(self) -> Option<Shape> {
        let (gold, predicted) = (self.gold?.span, self.predicted?.span);
        Some(if gold == predicted {
            Shape::Same
        } else if gold.contains(predicted) {
            Shape::Short
        } else if predicted.contains(gold) {
            Shape::Long
        } else {
            Shape::Across
        })
    }

    fn place(self) -> Option<(Span, usize)> {
        self.gold.or(self.predicted).map(|item| (item.span, item.label))
    }
}

/// Every mark of both sides in exactly one pair, by place.
fn pairs(gold: &[Item], predicted: &[Item]) -> Vec<Pair> {
    let mut pairs = Vec::new();
    let mut left = (gold.to_vec(), predicted.to_vec());
    // Each rule sees what those before it left.
    take(&mut left, &mut pairs, |gold, predicted| {
        let find = |item| {
            Some((
                gold.iter().position(|g| g == item)?,
                predicted.iter().position(|p| p == item)?,
            ))
        };
        gold.iter().filter_map(find).collect()
    });
    take(&mut left, &mut pairs, |gold, predicted| {
        let mut taken = vec![false; predicted.len()];
        let mut same = Vec::new();
        for (g, item) in gold.iter().enumerate() {
            if let Some(p) = (0..predicted.len()).find(|&p| !taken[p] && predicted[p].span == item.span) {
                taken[p] = true;
                same.push((g, p));
            }
        }
        same
    });
    take(&mut left, &mut pairs, |gold, predicted| {
        let mut labels: Vec<usize> = gold.iter().map(|item| item.label).collect();
        labels.dedup();
        labels
            .iter()
            .flat_map(|&label| overlaps(gold, predicted, |item| item.label == label))
            .collect()
    });
    take(&mut left, &mut pairs, |gold, predicted| {
        overlaps(gold, predicted, |_| true)
    });
    pairs.extend(left.0.into_iter().map(|item| Pair {
        gold: Some(item),
        predicted: None,
    }));
    pairs.extend(left.1.into_iter().map(|item| Pair {
        gold: None,
        predicted: Some(item),
    }));
    pairs.sort_by_key(|pair| (pair.place(), pair.predicted));
    pairs
}

/// Moves what `rule` pairs (indices into both sides) from what is left to the pairs.
fn take(
    left: &mut (Vec<Item>, Vec<Item>),
    pairs: &mut Vec<Pair>,
    rule: impl Fn(&[Item], &[Item]) -> Vec<(usize, usize)>,
) {
    let found = rule(&left.0, &left.1);
    let (mut gold_taken, mut predicted_taken) = (vec![false; left.0.len()], vec![false; left.1.len()]);
    for (g, p) in found {
        pairs.push(Pair {
            gold: Some(left.0[g]),
            predicted: Some(left.1[p]),
        });
        (gold_taken[g], predicted_taken[p]) = (true, true);
    }
    let keep = |items: &mut Vec<Item>, taken: Vec<bool>| {
        let mut taken = taken.into_iter();
        items.retain(|_| taken.next() == Some(false));
    };
    keep(&mut left.0, gold_taken);
    keep(&mut left.1, predicted_taken);
}

fn overlaps(gold: &[Item], predicted: &[Item], of: impl Fn(&Item) -> bool) -> Vec<(usize, usize)> {
    let chosen = |items: &[Item]| -> (Vec<usize>, Vec<Span>) {
        items
            .iter()
            .enumerate()
            .filter(|(_, item)| of(item))
            .map(|(i, item)| (i, item.span))
            .unzip()
    };
    let ((g_index, g_spans), (p_index, p_spans)) = (chosen(gold), chosen(predicted));
    overlapping(&g_spans, &p_spans)
        .into_iter()
        .map(|(g, p)| (g_index[g], p_index[p]))
        .collect()
}

/// Whether a letter or digit of `span` is under none of the predictions.
fn leaks(document: &Document, span: Span, predicted: &[Item]) -> bool {
    let open = |at: usize| {
        !predicted
            .iter()
            .any(|item| item.span.start() <= at && at < item.span.end())
    };
    let characters = span.of(&document.text).char_indices();
    characters
        .into_iter()
        .any(|(at, character)| character.is_alphanumeric() && open(span.start() + at))
}

type Kinds = BTreeMap<(ErrorClass, Option<Shape>, Option<usize>), u64>;

/// All of one system's errors.
pub(crate) fn errors(input: &Input<'_>, system: &Predictions<'_>) -> Errors {
    let name = |label: usize| input.labels[label].clone();
    let point = |item: Item| Pointed {
        label: name(item.label),
        start: item.span.start() as u64,
        end: item.span.end() as u64,
    };
    let mut cases = Vec::new();
    let mut cells: BTreeMap<(Option<usize>, Option<usize>), u64> = BTreeMap::new();
    let mut hits = vec![0; input.labels.len()];
    let mut kinds: Vec<Kinds> = vec![Kinds::new(); input.labels.len()];
    for (at, (gold, predicted)) in input.gold.iter().zip(&system.marks).enumerate() {
        let document = &input.documents[at];
        for pair in pairs(gold, predicted) {
            let labels = (
                pair.gold.map(|item| item.label),
                pair.predicted.map(|item| item.label),
            );
            *cells.entry(labels).or_default() += 1;
            // Every pair has one side at least.
            let Some(row) = labels.0.or(labels.1) else {
                continue;
            };
            let Some(class) = pair.class() else {
                hits[row] += 1;
                continue;
            };
            let shape = pair.shape().filter(|_| class == ErrorClass::Boundary);
            let other = labels.1.filter(|_| class == ErrorClass::Label);
            *kinds[row].entry((class, shape, other)).or_default() += 1;
            cases.push(ErrorCase {
                document: at as u64,
                id: document.id.clone(),
                class,
                gold: pair.gold.map(point),
                predicted: pair.predicted.map(point),
                shape: pair.shape(),
                leaks: pair
                    .gold
                    .is_some_and(|item| leaks(document, item.span, predicted)),
            });
        }
    }
    let count = |class: ErrorClass, of: &dyn Fn(&ErrorCase) -> bool| {
        cases
            .iter()
            .filter(|case| case.class == class && of(case))
            .count() as u64
    };
    let shaped = |shape| count(ErrorClass::Boundary, &|case| case.shape == Some(shape));
    Errors {
        boundary: count(ErrorClass::Boundary, &|_| true),
        boundary_short: shaped(Shape::Short),
        boundary_long: shaped(Shape::Long),
        boundary_across: shaped(Shape::Across),
        label: count(ErrorClass::Label, &|_| true),
        label_other_span: count(ErrorClass::Label, &|case| case.shape != Some(Shape::Same)),
        false_negative: count(ErrorClass::FalseNegative, &|_| true),
        false_positive: count(ErrorClass::FalsePositive, &|_| true),
        leaking: cases.iter().filter(|case| case.leaks).count() as u64,
        labels: (kinds.into_iter().zip(hits).enumerate())
            .map(|(label, (kinds, hits))| label_errors(&input.labels, label, kinds, hits))
            .filter(|row| row.gold + row.false_positive > 0)
            .collect(),
        confusion: cells
            .into_iter()
            .map(|((gold, predicted), count)| Cell {
                gold: gold.map(name),
                predicted: predicted.map(name),
                count,
            })
            .collect(),
        cases,
    }
}

fn label_errors(labels: &[String], label: usize, kinds: Kinds, hits: u64) -> LabelErrors {
    let sum = |class| {
        kinds
            .iter()
            .filter(|(kind, _)| kind.0 == class)
            .map(|(_, count)| count)
            .sum::<u64>()
    };
    let (boundary, mislabelled) = (sum(ErrorClass::Boundary), sum(ErrorClass::Label));
    let (false_negative, false_positive) = (sum(ErrorClass::FalseNegative), sum(ErrorClass::FalsePositive));
    let mut kinds: Vec<ErrorKind> = kinds
        .into_iter()
        .map(|((class, shape, predicted), count)| ErrorKind {
            class,
            shape,
            predicted: predicted.map(|label| labels[label].clone()),
            count,
        })
        .collect();
    // Stable: kinds of equal count stay in the order of their class.
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.count));
    LabelErrors {
        label: labels[label].clone(),
        gold: hits + boundary + mislabelled + false_negative,
        hits,
        boundary,
        mislabelled,
        false_negative,
        false_positive,
        kinds,
    }
}

#[cfg(test)]
mod tests {
    use lethe_corpus::Mark;
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = "Eva Ríos saw Dr Paz in Lugo on 3 May";

    fn document(marks: &[(&str, &str)]) -> Document {
        let mark = |&(part, label): &(&str, &str)| {
            let start = TEXT.find(part).unwrap();
            Mark::gold(Span::checked(TEXT, start, start + part.len()).unwrap(), label)
        };
        Document {
            id: "n1".to_owned(),
            patient: None,
            text: TEXT.to_owned(),
            marks: marks.iter().map(mark).collect(),
        }
    }

    fn found(gold: &[(&str, &str)], predicted: &[(&str, &str)]) -> Errors {
        let (gold, systems) = (
            [document(gold)],
            [("rules".to_owned(), vec![document(predicted)])],
        );
        let input = Input::new(&gold, &systems).unwrap();
        errors(&input, &input.systems[0])
    }

    fn classes(errors: &Errors) -> Vec<(ErrorClass, Option<Shape>, bool)> {
        errors
            .cases
            .iter()
            .map(|case| (case.class, case.shape, case.leaks))
            .collect()
    }

    #[test]
    fn half_a_name_is_a_boundary_error_that_leaks_and_a_name_with_its_title_one_that_does_not() {
        let errors = found(
            &[("Eva Ríos", "PATIENT"), ("Paz", "DOCTOR")],
            &[("Eva", "PATIENT"), ("Dr Paz", "DOCTOR")],
        );
        assert_eq!(
            classes(&errors),
            [
                (ErrorClass::Boundary, Some(Shape::Short), true),
                (ErrorClass::Boundary, Some(Shape::Long), false),
            ]
        );
        assert_eq!(
            (
                errors.boundary,
                errors.boundary_short,
                errors.boundary_long,
                errors.leaking
            ),
            (2, 1, 1, 1)
        );
    }

    #[test]
    fn a_span_over_the_end_of_gold_lies_across_it() {
        let errors = found(&[("Eva Ríos", "PATIENT")], &[("Ríos saw", "PATIENT")]);
        assert_eq!(
            classes(&errors),
            [(ErrorClass::Boundary, Some(Shape::Across), true)]
        );
    }

    #[test]
    fn a_town_called_hospital_is_a_label_error_wherever_it_ends_and_does_not_leak() {
        let errors = found(
            &[("Lugo", "CITY"), ("Paz", "DOCTOR")],
            &[("Lugo", "HOSPITAL"), ("Dr Paz", "PATIENT")],
        );
        assert_eq!(
            classes(&errors),
            [
                (ErrorClass::Label, Some(Shape::Long), false),
                (ErrorClass::Label, Some(Shape::Same), false)
            ]
        );
        assert_eq!((errors.label, errors.label_other_span), (2, 1));
        let city = &errors.labels.iter().find(|row| row.label == "CITY").unwrap();
        assert_eq!(city.kinds[0].predicted.as_deref(), Some("HOSPITAL"));
        assert!(errors.confusion.contains(&Cell {
            gold: Some("CITY".to_owned()),
            predicted: Some("HOSPITAL".to_owned()),
            count: 1
        }));
    }

    #[test]
    fn what_nothing_overlaps_is_missed_or_made_up() {
        let errors = found(&[("3 May", "DATE")], &[("saw", "PATIENT")]);
        assert_eq!(
            classes(&errors),
            [
                (ErrorClass::FalsePositive, None, false),
                (ErrorClass::FalseNegative, None, true)
            ]
        );
    }

    #[test]
    fn of_two_pieces_of_one_name_one_is_a_boundary_error_and_the_other_made_up() {
        let errors = found(
            &[("Eva Ríos", "PATIENT")],
            &[("Eva", "PATIENT"), ("Ríos", "PATIENT")],
        );
        assert_eq!(
            classes(&errors),
            [
                (ErrorClass::Boundary, Some(Shape::Short), false),
                (ErrorClass::FalsePositive, None, false)
            ]
        );
    }

    #[test]
    fn the_same_span_with_another_label_goes_before_an_overlap_with_the_same() {
        let errors = found(&[("Paz", "DOCTOR")], &[("Paz", "PATIENT"), ("Dr Paz", "DOCTOR")]);
        assert_eq!((errors.label, errors.boundary, errors.false_positive), (1, 0, 1));
    }

    proptest! {
        #[test]
        fn every_mark_is_in_one_pair(
            gold in prop::collection::btree_set((0usize..3, 0u32..10, 1u32..5), 0..7),
            predicted in prop::collection::btree_set((0usize..3, 0u32..10, 1u32..5), 0..7),
        ) {
            let items = |set: &std::collections::BTreeSet<(usize, u32, u32)>| -> Vec<Item> {
                let mut items: Vec<Item> = set
                    .iter()
                    .map(|&(label, start, len)| Item { label, span: Span::between(start, start + len) })
                    .collect();
                items.sort_unstable();
                items
            };
            let (gold, predicted) = (items(&gold), items(&predicted));
            let pairs = pairs(&gold, &predicted);
            let mut sides = (Vec::new(), Vec::new());
            for pair in &pairs {
                sides.0.extend(pair.gold);
                sides.1.extend(pair.predicted);
                if let (Some(gold), Some(predicted)) = (pair.gold, pair.predicted) {
                    prop_assert!(gold.span.overlaps(predicted.span));
                }
            }
            sides.0.sort_unstable();
            sides.1.sort_unstable();
            prop_assert_eq!(sides.0 == gold, true);
            prop_assert_eq!(sides.1 == predicted, true);
            let alone = |pair: &&Pair| pair.gold.is_none() || pair.predicted.is_none();
            let hits = pairs.iter().filter(|pair| pair.class().is_none()).count() as u64;
            prop_assert_eq!(hits, crate::measure::sets(&gold, &predicted).hits);
            // What is left alone on one side overlaps nothing that is left alone on the other.
            for one in pairs.iter().filter(alone) {
                for other in pairs.iter().filter(alone) {
                    if let (Some(gold), Some(predicted)) = (one.gold, other.predicted) {
                        prop_assert!(!gold.span.overlaps(predicted.span));
                    }
                }
            }
        }
    }
}
