//! The rule members on texts made of typical pieces of notes: words and forms of `words.dict` in any order,
//! and identifiers of the patient from the same words. As in `members`: no panic, no failure, the same result
//! each time.
#![no_main]

use std::sync::{Arc, LazyLock};

use lethe_core::{
    Action, Carried, Engine, EventKind, Known, KnownKind, LabelSet, Merging, NoteBatch, NoteEvent, Record,
    Redactor, Voting,
};
use lethe_dictionaries::Dictionary;
use lethe_taggers::registry::default_rules;
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

/// The text between words.
const BETWEEN: [&str; 12] = [
    " ", "\n", "", ", ", ". ", "-", "/", ": ", "\t", "@", "'", "\u{a0}",
];

/// Returns the words of the fuzzers' dictionary that are text: quoted strings, one per line.
static WORDS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let lines = include_str!("../words.dict").lines();
    let quoted = lines.filter_map(|line| line.strip_prefix('"')?.strip_suffix('"'));
    quoted
        .filter(|word| !word.contains('\\'))
        .map(str::to_owned)
        .collect()
});

static ENGINE: LazyLock<Engine> = LazyLock::new(|| {
    let labels = LabelSet::i2b2_2014();
    let dictionary = Dictionary::builtin();
    let members = default_rules()
        .iter()
        .map(|member| {
            let built = member.build(&labels, &dictionary);
            built.expect("the shipped label set has every label")
        })
        .collect();
    let redactor = Redactor::new(&labels, Action::Tag, Carried::default());
    let vote = Arc::new(Voting::default());
    Engine::new(Arc::new(labels), members, vote, Merging::default(), redactor)
});

#[derive(Arbitrary, Debug)]
struct Case {
    /// A word, the text after it, and the number of repetitions.
    text: Vec<(u16, u8, u8)>,
    /// A kind, a first word and a second one.
    known: Vec<(u8, u16, Option<u16>)>,
}

fn word(at: u16) -> &'static str {
    &WORDS[usize::from(at) % WORDS.len()]
}

fuzz_target!(init: {
    // The dictionaries are loaded before the first input, whose time is limited.
    LazyLock::force(&ENGINE);
}, |case: Case| {
    let mut text = String::new();
    for &(at, between, times) in case.text.iter().take(256) {
        for _ in 0..=times % 4 {
            text.push_str(word(at));
            text.push_str(BETWEEN[usize::from(between) % BETWEEN.len()]);
        }
    }
    let known = case.known.iter().take(8).map(|&(kind, first, second)| Known {
        kind: KnownKind::ALL[usize::from(kind) % KnownKind::ALL.len()],
        value: match second {
            Some(second) => format!("{} {}", word(first), word(second)).as_str().into(),
            None => word(first).into(),
        },
    });
    let event = NoteEvent {
        kind: EventKind::Create,
        known: known.collect(),
        text: text.as_str().into(),
        ..NoteEvent::default()
    };
    let batch = NoteBatch::from_records([Record::Note(event)]).expect("one short note fits a batch");
    let outcomes = ENGINE.decide(&batch);
    assert!(
        outcomes.iter().all(Result::is_ok),
        "a member failed: {outcomes:?}"
    );
    assert!(
        outcomes == ENGINE.decide(&batch),
        "the same note was decided in two ways"
    );
});
