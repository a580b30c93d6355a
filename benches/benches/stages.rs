//! Benchmarks each stage on the same synthetic notes: tokenise, each member, vote, redact, Parquet.
//!
//! `cargo bench -p lethe-benches`. Throughput is in bytes of note text, on one thread.

use std::sync::{Arc, LazyLock};

use divan::Bencher;
use divan::counter::BytesCount;
use lethe_benches::notes::notes;
use lethe_connectors::sink::{ChainId, Encoding, Fingerprints, LaneWriter};
use lethe_connectors::store::Memory;
use lethe_core::{
    Action, Annotations, Carried, Engine, LabelSet, Merging, NoteBatch, Outcome, Redactor, Tagger, Voting,
    tokenize,
};
use lethe_dictionaries::Dictionary;
use lethe_ensemble::Bundle;
use lethe_taggers::registry::default_rules;

/// Number of notes per batch, as in a lane.
const NOTES: usize = 256;

static TEXTS: LazyLock<Vec<String>> = LazyLock::new(|| notes(NOTES, 7));
static BATCH: LazyLock<NoteBatch> =
    LazyLock::new(|| NoteBatch::from_texts(TEXTS.iter().map(String::as_str)).expect("the notes are small"));
static LABELS: LazyLock<Arc<LabelSet>> = LazyLock::new(|| Arc::new(LabelSet::i2b2_2014()));

fn main() {
    divan::main();
}

fn bytes() -> BytesCount {
    BytesCount::new(TEXTS.iter().map(String::len).sum::<usize>())
}

fn members() -> Vec<Arc<dyn Tagger>> {
    let dictionary = Dictionary::builtin();
    default_rules()
        .iter()
        .map(|config| {
            config
                .build(&LABELS, &dictionary)
                .expect("the shipped members build")
        })
        .collect()
}

fn engine(members: Vec<Arc<dyn Tagger>>) -> Engine {
    let redactor = Redactor::new(&LABELS, Action::Tag, Carried::default());
    Engine::new(
        Arc::clone(&LABELS),
        members,
        Arc::new(Voting::default()),
        Merging::default(),
        redactor,
    )
}

#[divan::bench]
fn tokenise(bencher: Bencher<'_, '_>) {
    bencher.counter(bytes()).bench(|| {
        let mut tokens = 0usize;
        TEXTS.iter().for_each(|text| tokenize(text, |_| tokens += 1));
        tokens
    });
}

#[divan::bench]
fn batch(bencher: Bencher<'_, '_>) {
    bencher
        .counter(bytes())
        .bench(|| NoteBatch::from_texts(TEXTS.iter().map(String::as_str)));
}

#[divan::bench(args = default_rules().iter().map(|config| config.name().to_owned()).collect::<Vec<_>>())]
fn member(bencher: Bencher<'_, '_>, name: &str) {
    tag_with(bencher, &members(), name);
}

/// The trained members of the default bundle.
#[divan::bench(args = trained().iter().map(|member| member.name().to_owned()).collect::<Vec<_>>())]
fn trained_member(bencher: Bencher<'_, '_>, name: &str) {
    tag_with(bencher, &trained(), name);
}

fn tag_with(bencher: Bencher<'_, '_>, members: &[Arc<dyn Tagger>], name: &str) {
    let member = members
        .iter()
        .find(|member| member.name() == name)
        .expect("the name is of the list");
    bencher.counter(bytes()).bench(|| member.tag(&BATCH));
}

fn trained() -> Vec<Arc<dyn Tagger>> {
    let folder = lethe_bundles::folder(lethe_bundles::DEFAULT).expect("the default bundle is built in");
    let bundle = Bundle::open(&folder, &Dictionary::builtin()).expect("the built-in bundle opens");
    let names = bundle.manifest.models();
    let mut members = bundle.members;
    members.retain(|member| names.iter().any(|name| name == member.name()));
    members
}

#[divan::bench]
fn vote(bencher: Bencher<'_, '_>) {
    let predictions: Vec<Vec<Annotations>> = members()
        .iter()
        .map(|member| {
            member
                .tag(&BATCH)
                .into_iter()
                .map(|row| row.expect("the notes are handled"))
                .collect()
        })
        .collect();
    let voting = Voting::default();
    bencher.counter(bytes()).bench(|| {
        BATCH
            .notes()
            .map(|note| {
                let row: Vec<&Annotations> = predictions.iter().map(|rows| &rows[note.row]).collect();
                voting.decide(note.text, &row).len()
            })
            .sum::<usize>()
    });
}

#[divan::bench]
fn redact(bencher: Bencher<'_, '_>) {
    let outcomes: Vec<Outcome> = engine(members()).decide(&BATCH);
    let redactor = Redactor::new(&LABELS, Action::Tag, Carried::default());
    let names = vec!["member".to_owned(); 4];
    bencher
        .counter(bytes())
        .bench(|| redactor.redact(&LABELS, &names, &BATCH, &outcomes));
}

#[divan::bench]
fn all_rules(bencher: Bencher<'_, '_>) {
    let engine = engine(members());
    bencher.counter(bytes()).bench(|| engine.process(&BATCH));
}

/// Encodes redacted rows and their audit as a sealed file, without a store.
#[divan::bench]
fn parquet(bencher: Bencher<'_, '_>) {
    let done = engine(members()).process(&BATCH).expect("the notes are small");
    bencher.counter(bytes()).bench(|| {
        let mut writer = futures::executor::block_on(LaneWriter::open(
            &Memory::default(),
            ChainId::new("", 0),
            0,
            Fingerprints::default(),
            Encoding::default(),
        ))
        .expect("an empty store opens");
        writer
            .push(&done.redacted, &done.audit)
            .expect("the rows are the chain's");
        writer.seal().expect("the rows encode").map(|file| file.memory())
    });
}
