//! Events with many known identifiers, over texts made of them.
//!
//! An event has one identifier for every ten bytes of text. Cost is divided by the bytes of both.

use std::sync::Arc;

use lethe_benches::notes::Dice;
use lethe_core::{
    Action, Carried, Engine, Known, KnownKind, LabelSet, Merging, NoteBatch, NoteEvent, Record, Redactor,
    Sensitive, Voting,
};
use lethe_dictionaries::Dictionary;
use lethe_taggers::known::KnownConfig;

use crate::measure::{Make, Subject, Work, timed};
use crate::texts::{self, word};

/// Identifiers of one kind: its name, the kind, and a random generator.
type Kind = (&'static str, KnownKind, fn(&mut Dice) -> String);

const KINDS: [Kind; 8] = [
    ("birth dates", KnownKind::BirthDate, date),
    ("names", KnownKind::Patient, name),
    ("names of five initials", KnownKind::Clinician, initials),
    ("record numbers", KnownKind::MedicalRecord, |dice| {
        (1_000_000 + dice.below(8_000_000)).to_string()
    }),
    ("telephone numbers", KnownKind::Phone, |dice| {
        format!("+1 404 {:03} {:04}", 200 + dice.below(800), dice.below(10_000))
    }),
    ("addresses", KnownKind::Address, |dice| {
        format!(
            "{} Main Street, Provo, UT {:05}",
            dice.below(10_000),
            dice.below(100_000)
        )
    }),
    ("e-mail addresses", KnownKind::Email, |dice| {
        format!("info{}@example.org", dice.below(1_000_000))
    }),
    ("repetitive phrases", KnownKind::Organization, |dice| {
        "a ".repeat(2 + dice.below(40))
    }),
];

/// Texts in addition to those made of the identifiers themselves.
const UNITS: [&str; 8] = [
    "1 ",
    "1/2/",
    "J. ",
    "JP ",
    "a ",
    "Pierce ",
    "12 Main ",
    "1-2-1992 ",
];

fn date(dice: &mut Dice) -> String {
    let (year, month, day) = (1900 + dice.below(120), 1 + dice.below(12), 1 + dice.below(28));
    format!("{year}-{month:02}-{day:02}")
}

fn name(dice: &mut Dice) -> String {
    let mut name = String::new();
    word(dice, &mut name);
    name.push(' ');
    word(dice, &mut name);
    name
}

fn initials(dice: &mut Dice) -> String {
    let letter = |dice: &mut Dice| char::from(b'A' + dice.below(26) as u8);
    format!(
        "{}. {}. {}. {}",
        letter(dice),
        letter(dice),
        letter(dice),
        letter(dice)
    )
}

/// Returns an event with this text and these identifiers.
fn event(text: &str, known: &[(KnownKind, String)]) -> NoteBatch {
    let known = known.iter().map(|(kind, value)| Known {
        kind: *kind,
        value: value.as_str().into(),
    });
    NoteBatch::from_records([Record::Note(NoteEvent {
        patient_id: Some(Sensitive::from("p1")),
        text: text.into(),
        known: known.collect(),
        ..NoteEvent::default()
    })])
    .expect("the text is small")
}

fn work(text: String, known: Vec<(KnownKind, String)>, run: impl Fn(&NoteBatch) + Clone + 'static) -> Work {
    Work {
        bytes: text.len() + known.iter().map(|(_, value)| value.len()).sum::<usize>(),
        run: Box::new(move || {
            let batch = event(&text, &known);
            timed(|| run(&batch))
        }),
    }
}

fn subject(name: &str, run: impl Fn(&NoteBatch) + Clone + 'static) -> Subject {
    let mut shapes: Vec<(String, Make)> = Vec::new();
    for (kind_name, kind, value) in KINDS {
        let own = move |size: usize| {
            let mut dice = Dice::new(3);
            let mut text = String::with_capacity(size + 64);
            while text.len() < size {
                text.push_str(&value(&mut dice));
                text.push(' ');
            }
            text
        };
        let mut add = |shape: String, text: Box<dyn Fn(usize) -> String>| {
            let run = run.clone();
            let make: Make = Box::new(move |size| {
                let mut dice = Dice::new(5);
                let known = (0..size / 10).map(|_| (kind, value(&mut dice))).collect();
                work(text(size), known, run.clone())
            });
            shapes.push((shape, make));
        };
        add(format!("{kind_name} in their text"), Box::new(own));
        for unit in UNITS {
            let text = move |size: usize| unit.repeat(size / unit.len() + 1);
            add(format!("{kind_name} in {unit:?}"), Box::new(text));
        }
    }
    let patient = vec![
        (KnownKind::Patient, "Elena Q. Whitfield".to_owned()),
        (KnownKind::BirthDate, "1952-03-19".to_owned()),
        (KnownKind::MedicalRecord, "7795458".to_owned()),
        (KnownKind::Phone, "+1 312 847 5530".to_owned()),
        (
            KnownKind::Address,
            "9127 King Boulevard, Provo, Utah 84119".to_owned(),
        ),
    ];
    let plain = move |size: usize| {
        let texts = texts::plain(size);
        let (run, patient) = (run.clone(), patient.clone());
        Work {
            bytes: texts.iter().map(String::len).sum(),
            run: Box::new(move || {
                let batches: Vec<NoteBatch> = texts.iter().map(|text| event(text, &patient)).collect();
                timed(|| batches.iter().for_each(&run))
            }),
        }
    };
    Subject {
        name: name.to_owned(),
        scale: 1,
        plain: Box::new(plain),
        shapes,
    }
}

/// Returns the member `known`, and an engine of it that propagates.
pub(crate) fn subjects(wanted: &dyn Fn(&str) -> bool) -> anyhow::Result<Vec<Subject>> {
    let labels = Arc::new(LabelSet::i2b2_2014());
    let dictionary = Dictionary::builtin();
    let member = Arc::new(KnownConfig::default().build(&labels, &dictionary)?);
    let tagger = Arc::clone(&member);
    let tag = subject("many identifiers, member known", move |batch: &NoteBatch| {
        use lethe_core::Tagger as _;
        for answer in tagger.tag(batch) {
            answer.expect("members fail on no text");
        }
    });
    let redactor = Redactor::new(&labels, Action::Tag, Carried::default());
    let propagation = lethe_core::Propagation::new(&labels, Arc::new(|_| false));
    let voting = Arc::new(Voting::default());
    let engine = Engine::new(labels, vec![member], voting, Merging::default(), redactor)
        .propagating(Some(propagation));
    let engine = Arc::new(engine);
    let process = subject(
        "many identifiers, engine that propagates",
        move |batch: &NoteBatch| {
            engine.process(batch).expect("tags need nothing that is away");
        },
    );
    let mut all = vec![tag, process];
    all.retain(|subject| wanted(&subject.name));
    Ok(all)
}
