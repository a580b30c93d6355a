//! Benchmarks policies apart from detection: the same decisions on synthetic notes, redacted by each action.
//!
//! `cargo bench -p lethe-benches --bench policies`. Throughput is in bytes of note text, on one thread. Every
//! fourth note belongs to the same patient, since a feed has notes of few patients at a time.

use std::sync::{Arc, LazyLock};

use divan::Bencher;
use divan::counter::BytesCount;
use lethe_benches::notes::notes;
use lethe_core::{
    Action, Carried, Engine, LabelSet, Merging, NoteBatch, NoteEvent, Outcome, Record, Redactor, Sensitive,
    Voting,
};
use lethe_dictionaries::Dictionary;
use lethe_ensemble::Bundle;
use lethe_policy::{Policy, PolicyFile};
use lethe_taggers::registry::default_rules;

/// Number of notes per batch, as in a lane.
const NOTES: usize = 256;
/// A key for benchmarks only.
const KEYS: &str = "[[keys]]\nid = \"bench\"\nstate = \"current\"\nsecret = \"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\"\n";

static TEXTS: LazyLock<Vec<String>> = LazyLock::new(|| notes(NOTES, 7));
static LABELS: LazyLock<Arc<LabelSet>> = LazyLock::new(|| Arc::new(LabelSet::i2b2_2014()));
static BATCH: LazyLock<NoteBatch> = LazyLock::new(|| {
    let events = TEXTS.iter().enumerate().map(|(i, text)| {
        Record::Note(NoteEvent {
            note_id: format!("n{i}").into(),
            patient_id: Some(Sensitive::from(format!("p{}", i / 4))),
            authored_at: Some(1_710_460_800_000),
            text: text.as_str().into(),
            ..NoteEvent::default()
        })
    });
    NoteBatch::from_records(events).expect("the notes are small")
});
static ENGINE: LazyLock<Engine> = LazyLock::new(|| {
    let dictionary = Dictionary::builtin();
    let redactor = Redactor::new(&LABELS, Action::Tag, Carried::default());
    let members = default_rules()
        .iter()
        .map(|config| {
            config
                .build(&LABELS, &dictionary)
                .expect("the shipped members build")
        })
        .collect();
    let voting = Arc::new(Voting::default());
    Engine::new(Arc::clone(&LABELS), members, voting, Merging::default(), redactor)
});
static FOUND: LazyLock<Vec<Outcome>> = LazyLock::new(|| ENGINE.decide(&BATCH));

#[expect(clippy::print_stdout, reason = "the bench's table goes there too")]
fn main() {
    let spans: usize = FOUND
        .iter()
        .map(|outcome| outcome.as_ref().map_or(0, Vec::len))
        .sum();
    let tokens: usize = BATCH.notes().map(|note| note.tokens.len()).sum();
    println!("{NOTES} notes, {tokens} tokens, {spans} spans");
    divan::main();
}

fn bytes() -> BytesCount {
    BytesCount::new(TEXTS.iter().map(String::len).sum::<usize>())
}

fn policy(lines: &str) -> Policy {
    let folder = tempfile::tempdir().expect("a folder for a key");
    let path = folder.path().join("keys.toml");
    std::fs::write(&path, KEYS).expect("a key");
    let owner = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&path, owner).expect("a key of its owner's");
    let toml = format!(
        "mode = \"limited-data-set\"\n{lines}\n[keys]\nfile = {:?}\n",
        path.display().to_string()
    );
    let file = PolicyFile::parse(&toml, "bench").expect("a policy");
    Policy::build(&file, "bench", &LABELS, &Dictionary::builtin(), &[]).expect("a policy that is allowed")
}

/// All rule members and the vote.
#[divan::bench]
fn decide_by_rules(bencher: Bencher<'_, '_>) {
    bencher.counter(bytes()).bench(|| ENGINE.decide(&BATCH));
}

/// The bundled Spanish bundle: the cost of detection with learned members.
#[divan::bench]
fn decide_by_bundle(bencher: Bencher<'_, '_>) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/es-meddocan");
    let bundle = Bundle::open(folder.as_ref(), &Dictionary::builtin()).expect("the shipped bundle opens");
    let merging = Merging::none(&bundle.labels);
    let redactor = Redactor::new(&bundle.labels, Action::Tag, Carried::default());
    let engine = Engine::new(bundle.labels, bundle.members, bundle.combiner, merging, redactor);
    bencher.counter(bytes()).bench(|| {
        // A separate batch each time, since shared results of members are kept with the batch.
        let batch = BATCH.slice(0, NOTES);
        engine.decide(&batch)
    });
}

#[divan::bench]
fn propagation(bencher: Bencher<'_, '_>) {
    let propagation = policy("")
        .propagation
        .expect("it sweeps unless it says otherwise");
    bencher.counter(bytes()).bench(|| {
        let notes = BATCH.notes().zip(FOUND.iter());
        notes
            .map(|(note, found)| {
                let mut found = found.clone().expect("the notes are handled");
                propagation.apply(note, &mut found);
                found.len()
            })
            .sum::<usize>()
    });
}

fn redact(bencher: Bencher<'_, '_>, redactor: &Redactor) {
    let names = vec!["member".to_owned(); 4];
    bencher
        .counter(bytes())
        .bench(|| redactor.redact(&LABELS, &names, &BATCH, &*FOUND));
}

#[divan::bench(args = ["tag", "mask", "pseudonym", "encrypt", "surrogate"])]
fn redact_by(bencher: Bencher<'_, '_>, action: &str) {
    let policy = policy(&format!("default = {{ action = \"{action}\" }}"));
    redact(bencher, &Redactor::by(policy.replacer, Carried::default()));
}
