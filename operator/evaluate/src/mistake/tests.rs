//! Tests of error classes on small documents.

use lethe_corpus::{Document, Mark};
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
        // No unpaired gold span overlaps an unpaired prediction.
        for one in pairs.iter().filter(alone) {
            for other in pairs.iter().filter(alone) {
                if let (Some(gold), Some(predicted)) = (one.gold, other.predicted) {
                    prop_assert!(!gold.span.overlaps(predicted.span));
                }
            }
        }
    }
}
