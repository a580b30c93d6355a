//! Classifies errors as boundary, label, false negative and false positive (Yang 2019), and counts which
//! label was predicted for which (Kim 2020, table 7).

use std::collections::BTreeMap;

use lethe_core::Span;

use crate::input::{Input, Item, Predictions};
use crate::measure::leaking;
use crate::overlap::overlapping;
use crate::report::{Cell, ErrorCase, ErrorClass, ErrorKind, Errors, LabelErrors, Pointed, Shape};

/// A gold and a predicted span that are paired, or one that is unpaired.
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

/// Pairs the spans of both sides, so that each is in exactly one pair; sorted by position.
fn pairs(gold: &[Item], predicted: &[Item]) -> Vec<Pair> {
    let mut pairs = Vec::new();
    let mut left = (gold.to_vec(), predicted.to_vec());
    // Each rule sees the spans that earlier rules left over.
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

/// Moves the spans that `rule` pairs (indices into both sides) from the rest to the pairs.
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

type Kinds = BTreeMap<(ErrorClass, Option<Shape>, Option<usize>), u64>;

/// Returns all errors of one system.
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
        let leaking = leaking(&document.text, gold, predicted);
        for pair in pairs(gold, predicted) {
            let labels = (
                pair.gold.map(|item| item.label),
                pair.predicted.map(|item| item.label),
            );
            *cells.entry(labels).or_default() += 1;
            // Every pair has at least one side.
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
                    .and_then(|item| gold.binary_search(&item).ok())
                    .is_some_and(|at| leaking[at]),
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
    // The sort is stable: kinds with equal counts stay in the order of their class.
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
mod tests;
