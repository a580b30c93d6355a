//! Predicted spans are missing in the output, and everything else is there: votes, merging and redaction of
//! any predictions on any text, against a model that works character by character.
#![no_main]

use std::sync::LazyLock;

use lethe_core::{
    Action, Annotation, Annotations, Carried, LabelId, LabelSet, Merging, NoteBatch, Redactor, Span, Voting,
};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Claim {
    member: u8,
    start: u16,
    len: u8,
    label: u8,
    score: u8,
}

#[derive(Arbitrary, Debug)]
struct Case<'a> {
    text: &'a str,
    claims: Vec<Claim>,
    mask: bool,
}

const MEMBERS: usize = 4;

static LABELS: LazyLock<LabelSet> = LazyLock::new(LabelSet::i2b2_2014);

fuzz_target!(|case: Case<'_>| {
    let labels = &*LABELS;
    let text = case.text;
    let mut by_member = vec![Vec::new(); MEMBERS];
    for claim in &case.claims {
        let start = u32::from(claim.start);
        by_member[usize::from(claim.member) % MEMBERS].push(Annotation {
            span: Span::between(start, start + u32::from(claim.len)),
            label: LabelId(u16::from(claim.label) % labels.labels().len() as u16),
            score: f32::from(claim.score) / 255.0,
            rule: "",
        });
    }
    // A member with one span out of bounds is refused completely, so the others are valid spans of the text.
    let members: Vec<Annotations> = by_member
        .into_iter()
        .filter_map(|claims| Annotations::new(text, claims).ok())
        .collect();
    let predictions: Vec<&Annotations> = members.iter().collect();

    let mut decisions = Voting::default().decide(text, &predictions);
    Merging::default().apply(text, &mut decisions);
    let action = if case.mask { Action::Mask } else { Action::Tag };
    let redactor = Redactor::new(labels, action, Carried::default());
    let batch = NoteBatch::from_texts([text]).expect("a small batch");
    let redacted = redactor
        .redact_note(&batch, 0, &decisions)
        .expect("what the vote and the merging leave are sorted spans of the text without overlaps");
    let out = redacted.text;
    assert_eq!(redacted.placed.len(), decisions.len());

    let decided = |at: usize| {
        decisions
            .iter()
            .find(|d| (d.span.start()..d.span.end()).contains(&at))
    };
    let mut model = String::new();
    for (at, c) in text.char_indices() {
        let claimed = predictions
            .iter()
            .flat_map(|annotations| annotations.iter())
            .any(|a| (a.span.start()..a.span.end()).contains(&at));
        match decided(at) {
            None => {
                assert!(
                    !(claimed && c.is_alphanumeric()),
                    "a claimed letter or digit survives at byte {at}"
                );
                model.push(c);
            }
            Some(_) if case.mask => model.push(if c.is_whitespace() { c } else { '*' }),
            Some(decision) if decision.span.start() == at => {
                model.push('[');
                model.push_str(&labels.labels()[usize::from(decision.label.0)].name);
                model.push(']');
            }
            Some(_) => {}
        }
    }
    assert!(out == model, "the output is not what the decisions say");
});
