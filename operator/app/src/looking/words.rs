//! Why a word was or was not redacted, member by member.

use std::fmt::Write as _;

use lethe_connectors::inspect::deciding_rule_in_words;
use lethe_core::{Decision, Span};

use super::Looked;

/// Returns the explanation for every place of `word` in the note; `None` if it does not occur.
pub(crate) fn explain(looked: &Looked<'_>, word: &str) -> Result<Option<String>, std::fmt::Error> {
    let mut out = String::new();
    for (start, _) in looked.text.match_indices(word) {
        place(looked, start, start + word.len(), &mut out)?;
    }
    Ok((!out.is_empty()).then_some(out))
}

fn place(looked: &Looked<'_>, start: usize, end: usize, out: &mut String) -> std::fmt::Result {
    let overlaps = |span: Span| span.start() < end && span.end() > start;
    let decisions: Vec<&Decision> = looked
        .trace
        .decisions
        .iter()
        .filter(|one| overlaps(one.span))
        .collect();
    if !out.is_empty() {
        out.push('\n');
    }
    let line = super::part(looked.text, 0, start).matches('\n').count() + 1;
    write!(out, "line {line}, bytes {start}-{end}: ")?;
    match decisions.as_slice() {
        [] => writeln!(out, "not redacted")?,
        decisions => {
            let labels: Vec<&str> = decisions.iter().map(|one| looked.label(one)).collect();
            writeln!(out, "redacted as {}", labels.join(" and "))?;
        }
    }
    let names = looked.engine.members();
    let width = names.iter().map(String::len).max().unwrap_or(0);
    for (member, (name, predictions)) in names.iter().zip(&looked.trace.predictions).enumerate() {
        let mut any = false;
        for annotation in predictions.iter().filter(|one| overlaps(one.span)) {
            any = true;
            let label = &looked.engine.labels().label(annotation.label).name;
            write!(
                out,
                "  {name:width$}  {label} at {}-{}, score {:.2}",
                annotation.span.start(),
                annotation.span.end(),
                annotation.score
            )?;
            if !annotation.rule.is_empty() {
                write!(out, ", rule {}", annotation.rule)?;
            }
            let decided = decisions.iter().any(|one| one.members.contains(member));
            writeln!(out, "{}", if decided { "" } else { ", not decided" })?;
        }
        if !any {
            writeln!(out, "  {name:width$}  nothing")?;
        }
    }
    for decision in decisions {
        write!(
            out,
            "  decision: {} at {}-{}",
            looked.label(decision),
            decision.span.start(),
            decision.span.end()
        )?;
        let rule = decision.deciding_rule;
        let reason = deciding_rule_in_words(rule.name(), decision.needed, rule.solo_min_score());
        writeln!(out, ", redacted because {reason}")?;
    }
    Ok(())
}
