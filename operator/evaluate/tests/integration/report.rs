//! Tests the report of a small ward against known figures, and that it contains no word of a note.

use lethe_core::{LabelSet, Span};
use lethe_corpus::{Document, Mark};
use lethe_evaluate::{Options, Report, evaluate};

fn document(id: &str, patient: Option<&str>, text: &str, marks: &[(&str, &str)]) -> Document {
    let mark = |&(part, label): &(&str, &str)| {
        let start = text.find(part).expect("the part is one of the text");
        Mark::gold(
            Span::checked(text, start, start + part.len()).expect("parts are whole characters"),
            label,
        )
    };
    Document {
        id: id.to_owned(),
        patient: patient.map(str::to_owned),
        text: text.to_owned(),
        marks: marks.iter().map(mark).collect(),
    }
}

const TEXTS: [&str; 4] = [
    "Marta Soler, seen by Dr Vidal",
    "Soler in Lleida on 4 July",
    "No complaints",
    "Joan Puig, Lleida",
];

fn gold() -> Vec<Document> {
    vec![
        document(
            "n1",
            Some("p1"),
            TEXTS[0],
            &[("Marta Soler", "PATIENT"), ("Vidal", "DOCTOR")],
        ),
        document(
            "n2",
            Some("p1"),
            TEXTS[1],
            &[("Soler", "PATIENT"), ("Lleida", "CITY"), ("4 July", "DATE")],
        ),
        document("n3", Some("p2"), TEXTS[2], &[]),
        document(
            "n4",
            Some("p3"),
            TEXTS[3],
            &[("Joan Puig", "PATIENT"), ("Lleida", "CITY")],
        ),
    ]
}

fn systems() -> Vec<(String, Vec<Document>)> {
    let rules = vec![
        document(
            "n1",
            None,
            TEXTS[0],
            &[("Marta Soler", "PATIENT"), ("Vidal", "PATIENT")],
        ),
        document(
            "n2",
            None,
            TEXTS[1],
            &[("Soler", "PATIENT"), ("Lleida", "CITY"), ("July", "DATE")],
        ),
        document("n3", None, TEXTS[2], &[("complaints", "CITY")]),
    ];
    vec![("rules".to_owned(), rules), ("oracle".to_owned(), gold())]
}

fn report(options: &Options<'_>) -> Report {
    evaluate(&gold(), &systems(), options).expect("the ward is well-formed")
}

#[test]
fn a_document_that_a_system_lacks_is_one_in_which_it_found_nothing() {
    let report = report(&Options::default());
    let rules = &report.systems[0];
    assert_eq!(rules.missing_documents, 1);
    let strict = &rules.measures.strict;
    assert_eq!((strict.gold, strict.predicted, strict.hits), (7, 6, 3));
    assert_eq!(rules.documents[3].f1, 0.0);
}

#[test]
fn a_leak_is_counted_by_character_document_and_patient() {
    let report = report(&Options::default());
    let leak = &report.systems[0].leak;
    // "4 " of the date, and all of the fourth document.
    assert_eq!(
        (leak.characters.count, leak.characters.of),
        (2 + 9 + 6, 11 + 5 + 5 + 6 + 6 + 9 + 6)
    );
    assert_eq!((leak.documents.count, leak.documents.of), (2, 3));
    let patients = leak.patients.as_ref().unwrap();
    assert_eq!((patients.count, patients.of), (2, 2));
    assert_eq!(report.systems[1].leak.documents.count, 0);
}

#[test]
fn leaking_spans_are_counted_by_kind_of_identifier_by_label_and_by_what_training_has() {
    let (set, training) = (LabelSet::i2b2_2014(), [gold().remove(0)]);
    let report = report(&Options {
        labels: Some(&set),
        training: Some(&training),
        ..Options::default()
    });
    let leak = &report.systems[0].leak;
    let count = |leaks: &lethe_evaluate::Leaks| (leaks.spans.count, leaks.spans.of);
    // A date of the second document, and a name and a town of the fourth.
    assert_eq!(count(&leak.spans), (3, 7));
    assert_eq!(leak.spans.per_thousand.value, 750.0);
    let named = |groups: &[lethe_evaluate::LeakGroup]| -> Vec<(String, (u64, u64))> {
        let one = |group: &lethe_evaluate::LeakGroup| (group.name.clone(), count(&group.leaks));
        groups.iter().map(one).collect()
    };
    let kinds = named(leak.identifiers.as_ref().unwrap());
    assert_eq!(
        kinds,
        [("direct".to_owned(), (1, 4)), ("quasi".to_owned(), (2, 3))]
    );
    let labels = named(&leak.labels);
    let of_label = |name: &str| labels.iter().find(|group| group.0 == name).unwrap().1;
    assert_eq!((of_label("DATE"), of_label("CITY")), ((1, 1), (1, 2)));
    let seen = leak.seen.as_ref().unwrap();
    assert_eq!(count(&seen.seen).1 + count(&seen.unseen).1, 7);
    assert_eq!(count(&seen.seen).0 + count(&seen.unseen).0, 3);
    // Of three documents with PHI two leak.
    let exact = leak.documents.exact.unwrap();
    assert!(
        (exact.low - 0.0943).abs() < 5e-4 && (exact.high - 0.9916).abs() < 5e-4,
        "{exact:?}"
    );
    assert_eq!(leak.characters.exact, None);
}

#[test]
fn categories_forgive_a_doctor_taken_for_a_patient() {
    let set = LabelSet::i2b2_2014();
    let report = report(&Options {
        labels: Some(&set),
        ..Options::default()
    });
    let rules = &report.systems[0];
    let name = |groups: &lethe_evaluate::Groups, name: &str| {
        let group = groups.groups.iter().find(|group| group.name == name).unwrap();
        (group.strict.gold, group.strict.predicted, group.strict.hits)
    };
    assert_eq!(name(&rules.labels, "DOCTOR"), (1, 0, 0));
    assert_eq!(name(rules.categories.as_ref().unwrap(), "NAME"), (4, 3, 3));
    assert_eq!(name(rules.hipaa.as_ref().unwrap(), "A"), (4, 3, 3));
    assert_eq!(rules.categories.as_ref().unwrap().micro.hits, 4);
    assert!(report.unmapped.is_empty());
}

#[test]
fn errors_have_the_four_classes_and_the_confusion_table_names_who_was_taken_for_whom() {
    let report = report(&Options::default());
    let errors = &report.systems[0].errors;
    assert_eq!(
        (
            errors.boundary,
            errors.label,
            errors.false_negative,
            errors.false_positive
        ),
        (1, 1, 2, 1)
    );
    // The day of the date, and both spans of the fourth document.
    assert_eq!((errors.boundary_short, errors.leaking), (1, 3));
    let taken = errors
        .confusion
        .iter()
        .find(|cell| cell.gold.as_deref() == Some("DOCTOR"))
        .unwrap();
    assert_eq!((taken.predicted.as_deref(), taken.count), (Some("PATIENT"), 1));
}

#[test]
fn macro_scores_weigh_labels_and_documents_alike() {
    let report = report(&Options::default());
    let averages = report.systems[0].averages;
    // PATIENT: 2 of 3 found with 3 predictions; CITY: 1 of 2 with 2; DATE and DOCTOR: none.
    assert!((averages.labels.f1 - (2.0 / 3.0 + 0.5) / 4.0).abs() < 1e-15);
    assert!((averages.documents.f1 - (0.5 + 2.0 / 3.0) / 4.0).abs() < 1e-15);
    assert_eq!(report.systems[1].averages.documents.f1, 1.0);
}

#[test]
fn recall_is_split_by_what_training_held() {
    let training = [document(
        "t1",
        None,
        "MARTA SOLER of Lleida",
        &[("MARTA SOLER", "PATIENT"), ("Lleida", "CITY")],
    )];
    let report = report(&Options {
        training: Some(&training),
        ..Options::default()
    });
    let seen = report.systems[0].seen.as_ref().unwrap();
    assert_eq!((seen.seen.count, seen.seen.of), (2, 3));
    assert_eq!((seen.unseen.count, seen.unseen.of), (1, 4));
}

#[test]
fn two_systems_are_compared_once_and_with_themselves_never() {
    let report = report(&Options::default());
    assert_eq!(report.comparisons.len(), 1);
    let comparison = &report.comparisons[0];
    assert_eq!(
        (comparison.a.as_str(), comparison.b.as_str()),
        ("rules", "oracle")
    );
    assert_eq!(comparison.difference.value, 6.0 / 13.0 - 1.0);
    assert!(comparison.difference.interval.unwrap().low <= comparison.difference.value);
    // The documents' F1 are 0.5, 2/3, 0, 0 against 1: all four differ, the third and fourth by the same
    // amount.
    assert_eq!(comparison.wilcoxon.statistic, Some(0.0));
    assert_eq!(comparison.wilcoxon.p, Some(0.125));
}

#[test]
fn intervals_over_patients_are_given_where_a_patient_has_several_documents() {
    let f1 = report(&Options::default()).systems[0].measures.strict.f1;
    assert!(f1.by_patient.is_some() && f1.interval.is_some());
    let mut alone = gold();
    alone[1].patient = Some("p4".to_owned());
    let report = evaluate(&alone, &systems(), &Options::default()).unwrap();
    assert_eq!(report.patients, Some(4));
    assert_eq!(report.systems[0].measures.strict.f1.by_patient, None);
}

#[test]
fn without_resamples_there_are_no_intervals_and_all_else_is_the_same() {
    let with = report(&Options::default()).systems[0].measures.strict;
    let without = report(&Options {
        resamples: 0,
        ..Options::default()
    })
    .systems[0]
        .measures
        .strict;
    assert_eq!(without.f1.interval, None);
    assert_eq!((with.f1.value, with.hits), (without.f1.value, without.hits));
}

#[test]
fn neither_json_nor_the_table_holds_a_word_of_a_note() {
    let set = LabelSet::i2b2_2014();
    let training = gold();
    let report = report(&Options {
        labels: Some(&set),
        training: Some(&training),
        ..Options::default()
    });
    let json = serde_json::to_string(&report).unwrap();
    for word in [
        "Marta",
        "Soler",
        "Vidal",
        "Lleida",
        "July",
        "Joan",
        "Puig",
        "complaints",
    ] {
        assert!(!json.contains(word) && !report.table().contains(word), "{word}");
    }
    let read: Report = serde_json::from_str(&json).unwrap();
    assert_eq!(read.systems[0].errors, report.systems[0].errors);
    for field in [
        r#""format":"lethe-evaluation","version":1"#,
        r#""strict":{"gold":7,"predicted":6,"hits":3,"#,
    ] {
        assert!(json.contains(field), "{field}");
    }
}

#[test]
fn the_table_fits_a_hundred_columns_whatever_the_names() {
    let long = "AN_IDENTIFIER_OF_QUITE_SOME_LENGTH_THAT_NO_SET_HAS";
    let mut systems = systems();
    for (i, (name, documents)) in systems.iter_mut().enumerate() {
        *name = format!("{i}-a-system-with-a-name-that-says-all-of-its-settings-at-once");
        let marks = documents.iter_mut().flat_map(|document| &mut document.marks);
        marks
            .filter(|mark| mark.label == "CITY")
            .for_each(|mark| mark.label = long.to_owned());
    }
    let (set, training) = (LabelSet::i2b2_2014(), gold());
    let options = Options {
        labels: Some(&set),
        training: Some(&training),
        ..Options::default()
    };
    let table = evaluate(&gold(), &systems, &options).unwrap().table();
    for line in table.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
    for part in [
        "Strict",
        "Leaks",
        "Errors",
        "Differences",
        "by label",
        "by category",
        "HIPAA",
        "most frequent",
    ] {
        assert!(
            table.contains(part) || (part == "Differences" && table.contains("Difference of")),
            "{part}"
        );
    }
}

#[test]
fn a_beta_of_nothing_is_refused() {
    for beta in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(
            evaluate(
                &gold(),
                &[],
                &Options {
                    beta,
                    ..Options::default()
                }
            )
            .is_err()
        );
    }
}
