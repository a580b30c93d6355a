use lethe_core::Span;

use super::terms::log_likelihood;
use super::*;

fn document(id: &str, patient: Option<&str>, text: &str, marks: &[(u32, u32, &str)]) -> Document {
    Document {
        id: id.to_owned(),
        patient: patient.map(str::to_owned),
        text: text.to_owned(),
        marks: marks
            .iter()
            .map(|&(start, end, label)| Mark::gold(Span::between(start, end), label))
            .collect(),
    }
}

/// Two documents of one patient: 10 tokens in 3 sentences, and 3 tokens in 1.
fn ward() -> (String, Vec<Document>) {
    let first = document(
        "a",
        Some("p"),
        "Dr. Vega saw Eva Vega. Stable.\nLugo",
        &[(4, 8, "DOCTOR"), (13, 21, "PATIENT"), (31, 35, "CITY")],
    );
    let second = document("b", Some("p"), "All stable.", &[]);
    ("ward".to_owned(), vec![first, second])
}

/// One document: 7 tokens in 1 sentence.
fn clinic() -> (String, Vec<Document>) {
    let text = "VEGA and Lugo: stable, calm";
    let marks = [(0, 4, "DOCTOR"), (9, 13, "CITY")];
    ("clinic".to_owned(), vec![document("a", None, text, &marks)])
}

fn options(rename: &Rename) -> StatisticsOptions<'_> {
    StatisticsOptions {
        rename,
        labels: None,
        terms: 10,
        least_documents: 1,
    }
}

fn counted(corpora: &[(String, Vec<Document>)]) -> Statistics {
    statistics(corpora, &options(&Rename::default())).unwrap()
}

fn rename(toml: &str) -> Rename {
    toml::from_str(toml).unwrap()
}

fn words(terms: &[Term]) -> Vec<&str> {
    terms.iter().map(|term| &*term.word).collect()
}

#[test]
fn documents_sentences_tokens_and_spans_are_counted() {
    let report = counted(&[ward()]);
    let corpus = &report.corpora[0];
    assert_eq!((corpus.documents, corpus.patients), (2, Some(1)));
    assert_eq!((corpus.without_spans.count, corpus.without_spans.share), (1, 0.5));
    let of = |amount: Amount| (amount.total, amount.mean, amount.min, amount.median, amount.max);
    assert_eq!(of(corpus.sentences), (4, 2.0, 1, 2.0, 3));
    assert_eq!(of(corpus.tokens), (13, 6.5, 3, 6.5, 10));
    assert_eq!(of(corpus.spans), (3, 1.5, 0, 1.5, 3));
    assert_eq!(of(corpus.span_tokens), (4, 2.0, 0, 2.0, 4));
    assert!(report.comparisons.is_empty());
}

#[test]
fn a_label_has_its_share_and_its_rate() {
    let report = counted(&[ward()]);
    let labels = &report.corpora[0].labels;
    let names: Vec<&str> = labels.groups.iter().map(|group| &*group.name).collect();
    assert_eq!(names, ["CITY", "DOCTOR", "PATIENT"]);
    let patient = &labels.groups[2];
    assert_eq!((patient.spans.count, patient.spans.share), (1, 1.0 / 3.0));
    assert_eq!((patient.tokens.count, patient.tokens.share), (2, 0.5));
    assert_eq!(patient.tokens.per_thousand, 1000.0 * (2.0 / 13.0));
    assert_eq!((labels.all.spans.count, labels.all.tokens.count), (3, 4));
}

#[test]
fn a_token_of_two_labels_counts_for_both_and_once_in_all() {
    let text = "Vega Clinic";
    let marks = [(0, 11, "HOSPITAL"), (0, 4, "DOCTOR"), (0, 4, "DOCTOR")];
    let report = counted(&[("one".to_owned(), vec![document("a", None, text, &marks)])]);
    let labels = &report.corpora[0].labels;
    assert_eq!((labels.all.spans.count, labels.all.tokens.count), (2, 2));
    assert_eq!(
        (labels.groups[0].tokens.count, labels.groups[1].tokens.count),
        (1, 2)
    );
}

#[test]
fn a_label_set_groups_spans_and_equal_spans_of_a_category_are_one() {
    let set = LabelSet::i2b2_2014();
    let marks = [(0, 4, "DOCTOR"), (0, 4, "PATIENT"), (5, 9, "SHOESIZE")];
    let corpora = [("one".to_owned(), vec![document("a", None, "Vega 9999", &marks)])];
    let rename = Rename::default();
    let report = statistics(
        &corpora,
        &StatisticsOptions {
            labels: Some(&set),
            ..options(&rename)
        },
    )
    .unwrap();
    assert_eq!(report.unmapped, ["SHOESIZE"]);
    let counts = |groups: &Option<report::Groups>| -> Vec<(String, u64)> {
        let groups = &groups.as_ref().unwrap().groups;
        groups
            .iter()
            .map(|group| (group.name.clone(), group.spans.count))
            .collect()
    };
    let corpus = &report.corpora[0];
    let of = |name: &str, count| (name.to_owned(), count);
    assert_eq!(counts(&corpus.categories), [of("NAME", 1), of("SHOESIZE", 1)]);
    assert_eq!(counts(&corpus.hipaa), [of("-", 1), of("A", 1)]);
    assert_eq!(counts(&corpus.identifiers), [of("direct", 2)]);
}

#[test]
fn a_surface_form_has_no_case_and_spans_of_a_form_that_occurs_once_are_counted() {
    let text = "Eva\nVega, EVA  VEGA, Lugo";
    let marks = [
        (0, 8, "NAME"),
        (10, 19, "NAME"),
        (21, 25, "NAME"),
        (21, 25, "CITY"),
    ];
    let report = counted(&[("one".to_owned(), vec![document("a", None, text, &marks)])]);
    let labels = &report.corpora[0].labels;
    let name = &labels.groups[1];
    assert_eq!((name.forms, name.once.count, name.once.of), (2, 1, 3));
    // A form under two labels counts for both.
    assert_eq!(
        (labels.all.forms, labels.all.once.count, labels.all.once.of),
        (3, 2, 4)
    );
}

#[test]
fn a_corpus_is_compared_with_the_first() {
    let report = counted(&[ward(), clinic()]);
    let comparison = &report.comparisons[0];
    assert_eq!((&*comparison.first, &*comparison.other), ("ward", "clinic"));
    assert_eq!(comparison.documents, Some(0.5));
    assert_eq!(comparison.tokens.total, Some(7.0 / 13.0));
    assert_eq!(comparison.tokens.mean, Some(7.0 / 6.5));
    assert_eq!(comparison.spans.mean, Some(2.0 / 1.5));
    let [city, doctor, patient] = &*comparison.labels.groups else {
        panic!("{:?}", comparison.labels)
    };
    assert_eq!(
        (city.spans, city.rate),
        (Some(1.0), Some((1.0 / 7.0) / (1.0 / 13.0)))
    );
    assert_eq!((doctor.forms_seen.count, doctor.spans_seen.share), (1, 1.0));
    assert_eq!((patient.spans, patient.forms_seen.of), (Some(0.0), 0));
    let all = &comparison.labels.all;
    assert_eq!((all.spans, all.tokens), (Some(2.0 / 3.0), Some(0.5)));
    assert_eq!((all.forms_seen.count, all.forms_seen.of), (2, 2));
    // The first corpus has no such spans: there is no ratio.
    let reverse = &counted(&[clinic(), ward()]).comparisons[0];
    assert_eq!(reverse.labels.groups[2].spans, None);
}

#[test]
fn the_log_likelihood_ratio_is_that_of_the_two_by_two_table() {
    let close = |score: f64, expected: f64| assert!((score - expected).abs() < 1e-9, "{score} {expected}");
    close(log_likelihood((10, 100), (5, 200)), -7.329_811_674_221_491);
    close(log_likelihood((5, 200), (10, 100)), 7.329_811_674_221_491);
    close(log_likelihood((0, 4), (3, 6)), 3.899_519_874_378_526);
    assert_eq!(log_likelihood((2, 10), (2, 10)), 0.0);
    assert_eq!(log_likelihood((4, 4), (6, 6)), 0.0);
    assert_eq!(log_likelihood((0, 0), (3, 6)), 0.0);
}

#[test]
fn terms_are_words_outside_of_spans_by_their_score() {
    let report = counted(&[ward(), clinic()]);
    let terms = report.comparisons[0].terms.as_ref().unwrap();
    // Ward: dr, saw, stable, all, stable; clinic: and, stable, calm.
    assert_eq!((terms.first_words, terms.other_words), (5, 3));
    assert_eq!(words(&terms.first), ["all", "dr", "saw", "stable"]);
    assert_eq!(words(&terms.other), ["and", "calm"]);
    let stable = &terms.first[3];
    assert_eq!(stable.score, log_likelihood((2, 5), (1, 3)));
    assert_eq!((stable.first.count, stable.first.documents), (2, 2));
    assert_eq!((stable.other.count, stable.other.documents), (1, 1));
}

#[test]
fn a_term_occurs_in_enough_documents_of_its_corpus() {
    let (name, mut documents) = ward();
    documents.push(document("c", None, "calm calm calm calm", &[]));
    let rename = Rename::default();
    let options = StatisticsOptions {
        least_documents: 2,
        terms: 1,
        ..options(&rename)
    };
    let report = statistics(&[(name, documents), clinic()], &options).unwrap();
    let terms = report.comparisons[0].terms.as_ref().unwrap();
    assert!(
        words(&terms.first).is_empty() && words(&terms.other).is_empty(),
        "{terms:?}"
    );
}

#[test]
fn a_word_of_a_span_is_not_listed_in_any_corpus_form_or_place() {
    let marked = "José McAllister-Núñez, von Zorvane2. Smithville";
    let end = marked.len() as u32;
    let marks = [
        (0, 24, "NAME"),
        (26, end - 12, "NAME"),
        (end - 10, end - 5, "NAME"),
    ];
    let third = ("third".to_owned(), vec![document("a", None, marked, &marks)]);
    let missed = "jose JOSE\u{301} mcallister allister Mc nunez Zorvane smith smithville ville, well";
    let (name, mut documents) = clinic();
    documents.push(document("b", None, missed, &[]));
    let report = counted(&[ward(), (name, documents), third]);
    let terms = report.comparisons[0].terms.as_ref().unwrap();
    assert_eq!(words(&terms.other), ["and", "calm", "ville", "well"]);
}

#[test]
fn words_of_spans_that_the_renaming_drops_are_not_listed() {
    let rename = rename("[labels]\nCITY = \"\"\nDOCTOR = \"NAME\"\nPATIENT = \"NAME\"\n");
    let report = statistics(&[ward(), clinic()], &options(&rename)).unwrap();
    let names: Vec<&str> = report.corpora[0]
        .labels
        .groups
        .iter()
        .map(|group| &*group.name)
        .collect();
    assert_eq!(names, ["NAME"]);
    let terms = report.comparisons[0].terms.as_ref().unwrap();
    assert_eq!(words(&terms.other), ["and", "calm"]);
}

#[test]
fn no_terms_are_listed_without_annotations_or_if_none_are_wanted() {
    let plain = (
        "plain".to_owned(),
        vec![document("a", None, "Eva Vega is calm", &[])],
    );
    assert_eq!(counted(&[ward(), plain]).comparisons[0].terms, None);
    let rename = Rename::default();
    let none = StatisticsOptions {
        terms: 0,
        ..options(&rename)
    };
    let report = statistics(&[ward(), clinic()], &none).unwrap();
    assert_eq!(report.comparisons[0].terms, None);
}

#[test]
fn a_refusal_names_the_corpus_and_quotes_no_text() {
    let refused = |corpora: &[(String, Vec<Document>)]| {
        statistics(corpora, &options(&Rename::default()))
            .unwrap_err()
            .to_string()
    };
    let (name, _) = ward();
    assert_eq!(refused(&[(name, Vec::new())]), "corpus `ward` has no documents");
    assert_eq!(refused(&[ward(), ward()]), "two corpora are called `ward`");
    for (marks, why) in [
        ((2, 99, "NAME"), "span 2..99 lies outside a text of 4 bytes"),
        ((2, 2, "NAME"), "is empty (at byte 2)"),
    ] {
        let corpus = ("ward".to_owned(), vec![document("a", None, "Vega", &[marks])]);
        let message = refused(&[corpus]);
        assert!(
            message.contains("corpus `ward`, document `a`, span 0"),
            "{message}"
        );
        assert!(message.ends_with(why) && !message.contains("Vega"), "{message}");
    }
}

#[test]
fn the_json_has_the_documented_format() {
    let report = counted(&[ward(), clinic()]);
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["format"], "lethe-corpus-statistics");
    assert_eq!(json["version"], 1);
    assert_eq!(json["corpora"][0]["span_tokens"]["total"], 4);
    assert_eq!(serde_json::from_value::<Statistics>(json).unwrap(), report);
}
