//! Members and engines on hostile texts.

use std::path::Path;
use std::sync::Arc;

use lethe_core::{
    Action, Carried, Engine, LabelSet, Merging, NoteBatch, NoteEvent, Record, Redactor, Sensitive, Tagger,
    Voting,
};
use lethe_dictionaries::Dictionary;
use lethe_ensemble::Bundle;
use lethe_policy::{Policy, PolicyFile};
use lethe_taggers::registry::default_rules;

use crate::measure::{Make, Subject, Work, timed};
use crate::texts;

/// Returns a batch of these texts, each as a patient's note.
fn batch(texts: &[String]) -> NoteBatch {
    let events = texts.iter().enumerate().map(|(i, text)| {
        Record::Note(NoteEvent {
            note_id: format!("n{i}").into(),
            patient_id: Some(Sensitive::from(format!("p{i}"))),
            authored_at: Some(1_710_460_800_000),
            text: text.as_str().into(),
            ..NoteEvent::default()
        })
    });
    NoteBatch::from_records(events).expect("the texts are small")
}

/// Returns work on texts by `run`, for each shape and for plain notes.
fn subject(name: String, scale: usize, run: impl Fn(&NoteBatch) + Clone + 'static) -> Subject {
    let work = move |texts: Vec<String>| {
        let run = run.clone();
        Work {
            bytes: texts.iter().map(String::len).sum(),
            run: Box::new(move || {
                // Shared results of members are computed once per batch, so each run has its own batch.
                let batch = batch(&texts);
                timed(|| run(&batch))
            }),
        }
    };
    let shapes = texts::all().into_iter().map(|(name, text)| {
        let work = work.clone();
        let make: Make = Box::new(move |size| work(vec![text(size)]));
        (name.to_owned(), make)
    });
    Subject {
        name,
        scale,
        shapes: shapes.collect(),
        plain: Box::new(move |size| work(texts::plain(size))),
    }
}

fn member(name: String, member: Arc<dyn Tagger>, scale: usize) -> Subject {
    subject(name, scale, move |batch| {
        for answer in member.tag(batch) {
            answer.expect("members fail on no text");
        }
    })
}

fn engine(name: &str, engine: Engine, scale: usize) -> Subject {
    let engine = Arc::new(engine);
    subject(format!("engine {name}"), scale, move |batch| {
        let done = engine
            .process(batch)
            .expect("the policy needs nothing that is away");
        assert!(done.quarantined.is_empty(), "every text is redacted");
    })
}

/// Returns the members, and the engine under the Safe Harbor policy.
pub(crate) fn subjects(wanted: &dyn Fn(&str) -> bool) -> anyhow::Result<Vec<Subject>> {
    let labels = Arc::new(LabelSet::i2b2_2014());
    let dictionary = Dictionary::builtin();
    let mut all = vec![tokens()];
    let rules = default_rules()
        .iter()
        .map(|config| config.build(&labels, &dictionary))
        .collect::<Result<Vec<_>, _>>()?;
    let of_rule = |rule: &Arc<dyn Tagger>| member(format!("member {}", rule.name()), Arc::clone(rule), 1);
    all.extend(rules.iter().map(of_rule));
    let models = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../models"));
    for folder in ["en-clinical", "es-meddocan"] {
        let bundle = Bundle::open(&models.join(folder), &dictionary)?;
        let is_rule = |one: &Arc<dyn Tagger>| rules.iter().any(|rule| rule.name() == one.name());
        let learned = bundle.members.iter().filter(|one| !is_rule(one));
        for one in learned {
            let name = format!("member {} of {folder}", one.name());
            all.push(member(name, Arc::clone(one), 8));
        }
    }
    let tag = Redactor::new(&labels, Action::Tag, Carried::default());
    let voting = Arc::new(Voting::default());
    let by_rules = Engine::new(labels, rules, voting, Merging::default(), tag);
    all.push(engine("of rules", by_rules, 1));
    let safe_harbor = include_str!("../../../../docs/policies/safe-harbor.toml");
    let policies = [
        ("en-clinical", "Safe Harbor", safe_harbor),
        ("en-fast", "Safe Harbor", safe_harbor),
        // Safe Harbor's settings are for i2b2 labels.
        ("es-meddocan", "tags", "mode = \"custom\""),
    ];
    for (folder, name, policy) in policies {
        let bundle = Bundle::open(&models.join(folder), &dictionary)?;
        let policy = PolicyFile::parse(policy, name)?;
        let policy = Policy::build(&policy, name, &bundle.labels, &dictionary, &[])?;
        let redactor = Redactor::by(policy.replacer, Carried::new(Vec::new()));
        let merging = Merging::none(&bundle.labels);
        let whole = Engine::new(bundle.labels, bundle.members, bundle.combiner, merging, redactor)
            .propagating(policy.propagation)
            .with_titles(policy.titles);
        all.push(engine(&format!("{folder}, {name}"), whole, 8));
    }
    all.retain(|subject| wanted(&subject.name));
    Ok(all)
}

/// Builds batches, including tokens and sentences.
fn tokens() -> Subject {
    let work = |texts: Vec<String>| Work {
        bytes: texts.iter().map(String::len).sum(),
        run: Box::new(move || timed(|| batch(&texts))),
    };
    let shapes = texts::all().into_iter().map(|(name, text)| {
        let make: Make = Box::new(move |size| work(vec![text(size)]));
        (name.to_owned(), make)
    });
    Subject {
        name: "tokens".to_owned(),
        scale: 1,
        shapes: shapes.collect(),
        plain: Box::new(move |size| work(texts::plain(size))),
    }
}
