//! Tests that the built-in views map every label of their label sets.

#![allow(clippy::unwrap_used, reason = "test helpers may panic, as tests may")]

use std::path::Path;

use lethe_core::{LabelSet, Span};
use lethe_corpus::{Document, Mark, Rename};

const SEVEN: [&str; 7] = ["NAME", "PROFESSION", "LOCATION", "AGE", "DATE", "CONTACT", "ID"];

fn view(name: &str) -> Rename {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("views");
    Rename::read(&folder.join(format!("{name}.toml"))).unwrap()
}

/// Returns a label's new name; `None` if the views drop it.
fn renamed(label: &str, views: &[Rename]) -> Option<String> {
    let mut documents = [Document {
        id: "a".to_owned(),
        patient: None,
        text: "x".to_owned(),
        marks: vec![Mark::gold(Span::between(0, 1), label)],
    }];
    views.iter().for_each(|view| view.apply(&mut documents));
    documents[0].marks.first().map(|mark| mark.label.clone())
}

#[test]
fn the_hipaa_view_has_the_seven_categories_and_leaves_out_what_is_in_none() {
    for (set, name) in [
        (LabelSet::meddocan(), "hipaa-meddocan"),
        (LabelSet::i2b2_2014(), "hipaa-i2b2-2014"),
    ] {
        let views = [view(name)];
        for label in set.labels() {
            let expected = SEVEN
                .contains(&label.category.as_str())
                .then(|| label.category.clone());
            assert_eq!(renamed(&label.name, &views), expected, "{}", label.name);
        }
    }
}

#[test]
fn names_contacts_and_ids_are_direct_and_the_other_four_quasi_whether_at_once_or_after_the_hipaa_view() {
    for (set, name) in [
        (LabelSet::meddocan(), "meddocan"),
        (LabelSet::i2b2_2014(), "i2b2-2014"),
    ] {
        let at_once = [view(&format!("direct-quasi-{name}"))];
        let after = [view(&format!("hipaa-{name}")), view("direct-quasi-categories")];
        for label in set.labels() {
            let expected = match label.category.as_str() {
                "NAME" | "CONTACT" | "ID" => Some("DIRECT"),
                "LOCATION" | "DATE" | "AGE" | "PROFESSION" => Some("QUASI"),
                _ => None,
            };
            assert_eq!(
                renamed(&label.name, &at_once).as_deref(),
                expected,
                "{}",
                label.name
            );
            assert_eq!(
                renamed(&label.name, &after).as_deref(),
                expected,
                "{}",
                label.name
            );
        }
    }
}

#[test]
fn of_categories_that_are_there_already_only_the_eighth_is_left_out() {
    for view in [view("hipaa-categories"), view("direct-quasi-categories")] {
        assert_eq!(renamed("OTHER", std::slice::from_ref(&view)), None);
        for category in SEVEN {
            assert!(renamed(category, std::slice::from_ref(&view)).is_some());
        }
    }
}
