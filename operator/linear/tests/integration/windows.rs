//! A note that is read in windows has the spans and scores of the note read as a whole.

#![allow(clippy::unwrap_used, reason = "a step that fails fails the test")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use lethe_core::{Annotation, LabelSet, NoteBatch, Pace, Span, TagError, Tagger as _};
use lethe_corpus::{Document, Mark};
use lethe_dictionaries::Dictionary;
use lethe_learn::{NoObserver, Scheme};
use lethe_linear::{FeatureConfig, Learner, LinearMember, Task, train};
use proptest::prelude::*;

/// Tokens per window.
const SIZES: [usize; 4] = [50, 173, 1000, 5000];

const FIRST: [&str; 5] = ["TESSA", "Owen", "Lucía", "Ada", "Igor"];
const LAST: [&str; 5] = ["HARGROVE", "Pellworth", "Quillfeather", "Voss", "Lindqvist"];

/// Adds the part of a note with this number, and its marks.
fn part(text: &mut String, marks: &mut Vec<Mark>, number: usize) {
    let mut add = |words: &str, label: Option<&str>| {
        let start = text.len() as u32;
        text.push_str(words);
        if let Some(label) = label {
            marks.push(Mark::gold(Span::between(start, text.len() as u32), label));
        }
    };
    let (first, last) = (FIRST[number / 8 % 5], LAST[number / 40 % 5]);
    match number % 8 {
        0 => {
            add("PATIENT: ", None);
            add(&format!("{last}, {first}"), Some("PATIENT"));
            add("\n", None);
        }
        1 => {
            add("DOB: ", None);
            add(
                &format!("{}/{}/19{}", 1 + number % 12, 1 + number % 28, 50 + number % 49),
                Some("DATE"),
            );
            add("\n", None);
        }
        2 => {
            add("Discussed with Dr. ", None);
            add(last, Some("DOCTOR"));
            add(" on ", None);
            add(&format!("March {}, 2022", 1 + number % 28), Some("DATE"));
            add(".\n", None);
        }
        3 => add("She has had a cough for two weeks, and no fever. ", None),
        4 => {
            add(first, Some("PATIENT"));
            add(" sleeps well; ", None);
        }
        5 => {
            // These names have nothing between them.
            add(&format!("{first} {last}"), Some("PATIENT"));
            add(" ", None);
        }
        6 => add("10:30 ana.voss@example.org [12,34,56] ...", None),
        _ => add("\n\nPlan\nrest and fluids\n", None),
    }
}

fn note(numbers: &[usize]) -> (String, Vec<Mark>) {
    let (mut text, mut marks) = (String::new(), Vec::new());
    numbers
        .iter()
        .for_each(|&number| part(&mut text, &mut marks, number));
    (text, marks)
}

/// A member of each kind and scheme, which reads notes as a whole, and in windows of each size.
struct Case {
    kind: String,
    whole: LinearMember,
    windows: Vec<LinearMember>,
}

static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
    let documents: Vec<Document> = (0..40)
        .map(|i| {
            let numbers: Vec<usize> = (0..12).map(|j| i * 7919 + j * 104_729 + i * j).collect();
            let (text, marks) = note(&numbers);
            Document {
                id: i.to_string(),
                patient: None,
                text,
                marks,
            }
        })
        .collect();
    let (dictionary, labels) = (Dictionary::builtin(), LabelSet::i2b2_2014());
    let features = FeatureConfig::default();
    let mut cases = Vec::new();
    for kind in Learner::KINDS {
        for scheme in [Scheme::Bio, Scheme::Bilou] {
            let settings = match kind {
                "crf" | "memm" => "least_gain = 0.0\niterations = 20",
                "svm" => "least_gain = 0.0\niterations = 20\ncut_off = 1",
                "naive-bayes" => "",
                _ => "epochs = 4\ncut_off = 1",
            };
            let scheme = if scheme == Scheme::Bio { "bio" } else { "bilou" };
            let toml = format!("kind = \"{kind}\"\nscheme = \"{scheme}\"\n{settings}");
            let learner: Learner = toml::from_str(&toml).unwrap();
            let task = Task {
                learner: &learner,
                documents: &documents,
                held_out: None,
                features: &features,
                dictionary: &dictionary,
                seed: 11,
                state: None,
            };
            let trained = train(&task, &mut NoObserver).unwrap();
            let member = |window| {
                let member = LinearMember::new(trained.clone(), &labels, &dictionary);
                member.unwrap().with_window(window)
            };
            cases.push(Case {
                kind: format!("{kind} {scheme}"),
                whole: member(usize::MAX),
                windows: SIZES.map(member).into(),
            });
        }
    }
    cases
});

fn found(member: &LinearMember, batch: &NoteBatch) -> Vec<Vec<Annotation>> {
    let tagged = member.tag(batch).into_iter();
    tagged
        .map(|note| note.unwrap().iter().copied().collect())
        .collect()
}

/// Checks all members on a batch, and returns the number of spans.
fn check(texts: &[&str]) -> usize {
    let mut spans = 0;
    for case in CASES.iter() {
        let batch = NoteBatch::from_texts(texts.iter().copied()).unwrap();
        let whole = found(&case.whole, &batch);
        for (size, member) in SIZES.iter().zip(&case.windows) {
            let parts = found(member, &batch);
            for (parts, whole) in parts.iter().zip(&whole) {
                let places = |found: &[Annotation]| -> Vec<_> {
                    found.iter().map(|one| (one.span, one.label)).collect()
                };
                assert_eq!(places(parts), places(whole), "{}, windows of {size}", case.kind);
                for (part, whole) in parts.iter().zip(whole) {
                    let away = (part.score - whole.score).abs();
                    assert!(
                        away < 1e-5,
                        "{}, windows of {size}: {part:?} {whole:?}",
                        case.kind
                    );
                }
                spans += whole.len();
            }
        }
    }
    spans
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn notes_have_the_spans_of_the_whole_in_windows(
        numbers in proptest::collection::vec(0_usize..100_000, 1..260),
        short in proptest::collection::vec(0_usize..100_000, 0..6),
        noise in "\\PC{0,300}",
    ) {
        let (long, short) = (note(&numbers).0 + &noise, note(&short).0);
        check(&[&short, &long, "", &short]);
    }
}

#[test]
fn a_note_of_several_windows_of_five_thousand_tokens_has_the_spans_of_the_whole() {
    let numbers: Vec<usize> = (0..2600).map(|i| i * 7919 % 99_991).collect();
    let text = note(&numbers).0;
    let batch = NoteBatch::from_texts([text.as_str()]).unwrap();
    assert!(batch.note(0).tokens.len() > 15_000);
    assert!(check(&[&text]) > 10_000);
}

#[test]
fn spans_that_follow_each_other_without_end_are_found_in_windows() {
    // Nothing lies between them, so that no part of the note can be scored separately.
    let text = "Owen Voss ".repeat(2000);
    check(&[&text]);
    check(&[&"1950/".repeat(3000)]);
}

/// Allows a number of windows.
#[derive(Debug)]
struct Budget(AtomicUsize);

impl Pace for Budget {
    fn advance(&self) -> bool {
        let left = self.0.load(Ordering::Relaxed);
        self.0.store(left.saturating_sub(1), Ordering::Relaxed);
        left > 0
    }
}

#[test]
fn a_long_note_over_its_budget_ends_between_windows() {
    let text = "Discussed with Dr. Voss. ".repeat(400);
    let case = &CASES[0];
    for windows in [0, 3, 30] {
        let batch = NoteBatch::from_texts([text.as_str()]).unwrap();
        let batch = batch.paced(Arc::new(Budget(AtomicUsize::new(windows))));
        let tagged = case.windows[0].tag(&batch);
        assert_eq!(tagged[0], Err(TagError::OverBudget), "{windows} windows");
    }
    let batch = NoteBatch::from_texts([text.as_str()]).unwrap();
    let batch = batch.paced(Arc::new(Budget(AtomicUsize::new(1000))));
    assert!(case.windows[0].tag(&batch)[0].is_ok());
}

#[test]
fn one_token_a_line_and_one_endless_token_have_the_spans_of_the_whole() {
    let numbers: Vec<usize> = (0..400).map(|i| i * 7919).collect();
    let (text, _) = note(&numbers);
    let lines = text.split_whitespace().collect::<Vec<_>>().join("\n");
    let endless: String = text.chars().filter(|c| c.is_alphanumeric()).collect();
    let spans = check(&[&lines, &endless]);
    assert!(spans > 0);
}
