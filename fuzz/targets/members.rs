//! Every rule member on any text and any identifiers of a patient: no panic, no span out of bounds, the same
//! result each time.
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

#[derive(Arbitrary, Debug)]
struct Case<'a> {
    known: Vec<(u8, &'a str)>,
    text: &'a str,
}

static ENGINE: LazyLock<Engine> = LazyLock::new(|| {
    let labels = LabelSet::i2b2_2014();
    let dictionary = Dictionary::builtin();
    let members = default_rules()
        .iter()
        .map(|member| {
            member
                .build(&labels, &dictionary)
                .expect("the shipped label set has every label")
        })
        .collect();
    let redactor = Redactor::new(&labels, Action::Tag, Carried::default());
    Engine::new(
        Arc::new(labels),
        members,
        Arc::new(Voting::default()),
        Merging::default(),
        redactor,
    )
});

fuzz_target!(init: {
    // The dictionaries are loaded before the first input, whose time is limited.
    LazyLock::force(&ENGINE);
}, |case: Case<'_>| {
    let event = NoteEvent {
        kind: EventKind::Create,
        text: case.text.into(),
        known: case
            .known
            .iter()
            .take(8)
            .map(|(kind, value)| Known {
                kind: KnownKind::ALL[usize::from(*kind) % KnownKind::ALL.len()],
                value: (*value).into(),
            })
            .collect(),
        ..NoteEvent::default()
    };
    let batch = NoteBatch::from_records([Record::Note(event)]).expect("one short note fits a batch");
    let outcomes = ENGINE.decide(&batch);
    assert!(
        outcomes.iter().all(Result::is_ok),
        "a member failed: {:?}",
        outcomes
    );
    let again = ENGINE.decide(&batch);
    assert!(outcomes == again, "the same note was decided in two ways");
});
