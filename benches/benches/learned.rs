//! Benchmarks learned members on synthetic notes: with their features, with features shared by others, and
//! networks.
//!
//! `cargo bench -p lethe-benches --bench learned`. Throughput is in tokens, on one thread. Members are fitted
//! to predictions of the rules on other synthetic notes: the benchmark measures speed, not quality.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use divan::Bencher;
use divan::counter::ItemsCount;
use lethe_benches::notes::notes;
use lethe_core::{LabelSet, NoteBatch, Tagger};
use lethe_corpus::{Document, Mark};
use lethe_dictionaries::{Dictionary, LazyDictionary};
use lethe_learn::NoObserver;
use lethe_members::registry::default_rules;
use lethe_members::{Job, kinds, open, predict, train};

/// Number of notes per batch, of about 600 tokens each.
const NOTES: usize = 64;

static TEXTS: LazyLock<Vec<String>> = LazyLock::new(|| notes(NOTES, 7));
static MEMBERS: LazyLock<BTreeMap<&'static str, Arc<dyn Tagger>>> = LazyLock::new(members);

fn main() {
    divan::main();
}

fn batch() -> NoteBatch {
    NoteBatch::from_texts(TEXTS.iter().map(String::as_str)).expect("the notes are small")
}

fn tokens() -> ItemsCount {
    ItemsCount::new(batch().notes().map(|note| note.tokens.len()).sum::<usize>())
}

/// Returns one member of each kind, trained with few passes.
fn members() -> BTreeMap<&'static str, Arc<dyn Tagger>> {
    let documents = documents();
    let folder = std::env::temp_dir().join(format!("lethe-bench-{}", std::process::id()));
    let trained = kinds().into_iter().map(|kind| {
        let folder = folder.join(kind);
        let settings = match kind {
            "crf" | "memm" | "svm" => "iterations = 20",
            "naive-bayes" => "",
            kind if kind.starts_with("lstm") => "schedule = { epochs = 1 }\nvectors = { none = true }",
            "cnn" => "schedule = { epochs = 1 }",
            _ => "epochs = 2",
        };
        let job = Job {
            kind,
            train: &documents,
            held_out: &[],
            settings: settings.parse().expect("the settings are TOML"),
            dictionary: &Dictionary::builtin(),
            seed: 1,
            folder: &folder,
            restart: true,
        };
        train(&job, &mut NoObserver).expect("every kind trains");
        (
            kind,
            open(&folder, None, &LazyDictionary::Builtin)
                .expect("what was trained opens")
                .member,
        )
    });
    let members = trained.collect();
    std::fs::remove_dir_all(&folder).expect("the folder is this process' own");
    members
}

/// Returns synthetic notes with predictions of the rules as gold.
fn documents() -> Vec<Document> {
    let labels = LabelSet::i2b2_2014();
    let texts = notes(200, 11);
    let mut documents: Vec<Document> = texts
        .into_iter()
        .enumerate()
        .map(|(i, text)| Document {
            id: i.to_string(),
            patient: None,
            text,
            marks: Vec::new(),
        })
        .collect();
    for config in default_rules() {
        let rule = config
            .build(&labels, &Dictionary::builtin())
            .expect("the shipped members build");
        let found = predict(rule.as_ref(), &labels, &documents).expect("rules fail on no text");
        for (document, found) in documents.iter_mut().zip(found) {
            document.marks.extend(
                found
                    .marks
                    .into_iter()
                    .map(|mark| Mark::gold(mark.span, mark.label)),
            );
            document.sort();
        }
    }
    documents
}

/// Returns whether a member shares no features with others.
fn is_network(kind: &str) -> bool {
    kind.starts_with("lstm") || kind == "cnn"
}

/// Features and one member.
#[divan::bench(args = kinds())]
fn alone(bencher: Bencher<'_, '_>, kind: &str) {
    let member = &MEMBERS[kind];
    bencher
        .counter(tokens())
        .with_inputs(batch)
        .bench_refs(|batch| member.tag(batch));
}

/// A further member, over features that another one has computed.
#[divan::bench(args = kinds().into_iter().filter(|kind| !is_network(kind)).collect::<Vec<_>>())]
fn further(bencher: Bencher<'_, '_>, kind: &str) {
    let (first, member) = (&MEMBERS["mira"], &MEMBERS[kind]);
    bencher
        .counter(tokens())
        .with_inputs(|| {
            let batch = batch();
            first.tag(&batch);
            batch
        })
        .bench_refs(|batch| member.tag(batch));
}
