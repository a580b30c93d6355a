//! Golden cases: the findings of each rule member, label by label, in texts that were written for these
//! tests.
//!
//! A case marks with brackets the spans that its member must report under its label; it must report no others
//! of that label. Known misses are in `KNOWN_FAILURES`, and must still be missed: a case that begins to pass
//! moves up.

// A test's helpers are part of the test.
#![allow(clippy::unwrap_used)]

mod context;
mod gazetteer;
mod origin;

use std::sync::{Arc, LazyLock};

use lethe_core::{LabelSet, NoteBatch, Tagger};
use lethe_dictionaries::Dictionary;
use lethe_taggers::origin::OriginConfig;
use lethe_taggers::registry::{RuleConfig, default_rules};

/// A label, and texts with that label's spans in brackets.
type Group = (&'static str, &'static [&'static str]);

static LABELS: LazyLock<LabelSet> = LazyLock::new(|| LabelSet::i2b2_2014().with_origin());

fn member(name: &str) -> Arc<dyn Tagger> {
    let config = default_rules()
        .into_iter()
        .chain([RuleConfig::Origin(OriginConfig::default())])
        .find(|config| config.name() == name)
        .unwrap();
    config.build(&LABELS, &Dictionary::builtin()).unwrap()
}

/// Returns the text without its brackets, and the bracketed parts.
fn parse(case: &str) -> (String, Vec<String>) {
    let (mut text, mut spans) = (String::new(), Vec::new());
    for (i, piece) in case.split(['[', ']']).enumerate() {
        text.push_str(piece);
        if i % 2 == 1 {
            spans.push(piece.to_owned());
        }
    }
    (text, spans)
}

/// Returns the member's spans under `label`, without spans inside longer ones.
fn found(member: &dyn Tagger, label: &str, text: &str) -> Vec<String> {
    let batch = NoteBatch::from_texts([text]).unwrap();
    let predictions = member.tag(&batch).remove(0).unwrap();
    let wanted = LABELS.by_name(label).unwrap();
    let spans: Vec<_> = predictions
        .iter()
        .filter(|a| a.label == wanted)
        .map(|a| a.span)
        .collect();
    let longest =
        |span: &&lethe_core::Span| !spans.iter().any(|other| other.contains(**span) && other != *span);
    spans
        .iter()
        .filter(longest)
        .map(|span| span.of(text).to_owned())
        .collect()
}

fn check(name: &str, groups: &[Group], known_failures: &[Group]) {
    let member = member(name);
    let mut wrong = Vec::new();
    for (groups, should_pass) in [(groups, true), (known_failures, false)] {
        for (label, cases) in groups {
            for case in *cases {
                let (text, spans) = parse(case);
                let found = found(member.as_ref(), label, &text);
                if (found == spans) != should_pass {
                    wrong.push(format!("{label}: {case:?} gives {found:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n"));
}
