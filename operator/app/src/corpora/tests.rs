use lethe_core::{LabelSet, Span};
use lethe_corpus::statistics::{StatisticsOptions, statistics};
use lethe_corpus::{Document, Mark, Rename};

use super::*;

/// A text, and the start, end and label of each span.
type Annotated<'a> = (&'a str, &'a [(u32, u32, &'a str)]);

fn corpus(name: &str, texts: &[Annotated<'_>]) -> (String, Vec<Document>) {
    let documents = texts.iter().enumerate().map(|(i, (text, marks))| Document {
        id: i.to_string(),
        patient: None,
        text: (*text).to_owned(),
        marks: marks
            .iter()
            .map(|&(start, end, label)| Mark::gold(Span::between(start, end), label))
            .collect(),
    });
    (name.to_owned(), documents.collect())
}

fn ward() -> (String, Vec<Document>) {
    let first = ("Seen by Orla Vane. Calm.", &[(8, 17, "DOCTOR")][..]);
    corpus("ward", &[first, ("Calm and well.", &[])])
}

fn clinic() -> (String, Vec<Document>) {
    let text = (
        "ORLA VANE and Lugo: unwell",
        &[(0, 9, "DOCTOR"), (14, 18, "CITY")][..],
    );
    corpus("clinic", &[text])
}

fn tables(corpora: &[(String, Vec<Document>)], labels: Option<&LabelSet>, terms: usize) -> String {
    let options = StatisticsOptions {
        rename: &Rename::default(),
        labels,
        terms,
        least_documents: 1,
    };
    table(&statistics(corpora, &options).unwrap())
}

#[track_caller]
fn has(text: &str, lines: &[&str]) {
    let squeezed: Vec<String> = text
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    for line in lines {
        assert!(
            squeezed.iter().any(|one| one == line),
            "{line:?} is not in:\n{text}"
        );
    }
}

#[test]
fn one_corpus_is_compared_with_nothing() {
    let text = tables(&[ward()], None, 20);
    has(
        &text,
        &[
            "corpus documents patients labels without spans %",
            "ward 2 - 1 1 50.00",
            "tokens 11 5.50 4 5.5 7",
            "label spans % per 1,000 tokens",
            "DOCTOR 1 100.00 90.91",
            "label forms once % spans",
        ],
    );
    assert!(!text.contains("ratio") && !text.contains("Words"), "{text}");
}

#[test]
fn two_corpora_are_shown_next_to_each_other_with_ratios() {
    let text = tables(&[ward(), clinic()], None, 20);
    has(
        &text,
        &[
            "Ratios are relative to ward, the first corpus.",
            "tokens ward 11 5.50 4 5.5 7 -",
            "tokens clinic 6 6.00 6 6.0 6 1.09",
            "CITY ward 0 0.00 0.00 - -",
            "CITY clinic 1 50.00 166.67 - -",
            "DOCTOR clinic 1 50.00 166.67 1.00 1.83",
            "all clinic 2 100.00 333.33 2.00 3.67",
            // Forms, those that occur once, and those that the first corpus has.
            "DOCTOR clinic 1 1 100.00 1 100.00 100.00",
            "CITY clinic 1 1 100.00 0 0.00 0.00",
            "word G2 clinic documents ward documents",
        ],
    );
    let lower = text.to_lowercase();
    assert!(!lower.contains("orla") && !lower.contains("lugo"), "{text}");
}

#[test]
fn a_label_set_adds_tables_that_fit_the_terminal() {
    let long = "ward-with-a-name-of-more-than-twenty-letters".to_owned();
    let set = LabelSet::i2b2_2014();
    let text = tables(&[(long, ward().1), clinic()], Some(&set), 20);
    has(
        &text,
        &[
            "Spans by category",
            "Spans by direct identifiers and quasi-identifiers",
        ],
    );
    assert!(text.contains("A names"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
}

#[test]
fn a_corpus_without_spans_lists_no_words() {
    let plain = corpus("plain", &[("Orla Vane is calm", &[])]);
    let text = tables(&[ward(), plain], None, 20);
    assert!(text.contains("one of them has no spans"), "{text}");
    assert!(!text.to_lowercase().contains("orla"), "{text}");
}
