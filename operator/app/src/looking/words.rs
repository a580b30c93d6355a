//! Why a word was or was not redacted, member by member.

use std::fmt;

use lethe_connectors::inspect::deciding_rule_in_words;
use lethe_core::{Annotations, Decision, Span};
use serde::Serialize;

use super::Looked;

/// A place of the word in the note. Offsets are bytes.
#[derive(Serialize)]
pub(crate) struct Occurrence {
    /// Counted from 1.
    line: usize,
    start: usize,
    end: usize,
    members: Vec<Vote>,
    /// The decisions that overlap the word: none if it was not redacted.
    decisions: Vec<Decided>,
}

/// What a member predicted at the word.
#[derive(Serialize)]
struct Vote {
    member: String,
    predictions: Vec<Predicted>,
}

#[derive(Serialize)]
struct Predicted {
    label: String,
    start: usize,
    end: usize,
    score: f32,
    /// The member's rule; empty for models.
    rule: &'static str,
    /// Whether a decision counts this prediction.
    decided: bool,
}

#[derive(Serialize)]
struct Decided {
    label: String,
    start: usize,
    end: usize,
    deciding_rule: &'static str,
    because: String,
}

/// Returns every place of `word` in the note, with what was predicted and decided there.
pub(crate) fn explain(looked: &Looked<'_>, word: &str) -> Vec<Occurrence> {
    let places = looked.text.match_indices(word);
    places
        .map(|(start, _)| occurrence(looked, start, start + word.len()))
        .collect()
}

fn occurrence(looked: &Looked<'_>, start: usize, end: usize) -> Occurrence {
    let overlaps = |span: Span| span.start() < end && span.end() > start;
    let decisions: Vec<&Decision> = looked
        .trace
        .decisions
        .iter()
        .filter(|one| overlaps(one.span))
        .collect();
    let vote = |(member, (name, predictions)): (usize, (&String, &Annotations))| Vote {
        member: name.clone(),
        predictions: predictions
            .iter()
            .filter(|one| overlaps(one.span))
            .map(|one| Predicted {
                label: looked.engine.labels().label(one.label).name.clone(),
                start: one.span.start(),
                end: one.span.end(),
                score: one.score,
                rule: one.rule,
                decided: decisions.iter().any(|decision| decision.members.contains(member)),
            })
            .collect(),
    };
    let names = looked.engine.members().iter();
    let members = names.zip(&looked.trace.predictions).enumerate().map(vote);
    let decided = |one: &&Decision| {
        let rule = one.deciding_rule;
        Decided {
            label: looked.label(one).to_owned(),
            start: one.span.start(),
            end: one.span.end(),
            deciding_rule: rule.name(),
            because: deciding_rule_in_words(rule.name(), one.needed, rule.solo_min_score()).into_owned(),
        }
    };
    Occurrence {
        line: super::part(looked.text, 0, start).matches('\n').count() + 1,
        start,
        end,
        members: members.collect(),
        decisions: decisions.iter().map(decided).collect(),
    }
}

impl fmt::Display for Occurrence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, bytes {}-{}: ", self.line, self.start, self.end)?;
        match self.decisions.as_slice() {
            [] => writeln!(f, "not redacted")?,
            decisions => {
                let labels: Vec<&str> = decisions.iter().map(|one| one.label.as_str()).collect();
                writeln!(f, "redacted as {}", labels.join(" and "))?;
            }
        }
        let width = self.members.iter().map(|vote| vote.member.len()).max();
        let width = width.unwrap_or(0);
        for Vote { member, predictions } in &self.members {
            if predictions.is_empty() {
                writeln!(f, "  {member:width$}  nothing")?;
            }
            for one in predictions {
                write!(
                    f,
                    "  {member:width$}  {} at {}-{}, score {:.2}",
                    one.label, one.start, one.end, one.score
                )?;
                if !one.rule.is_empty() {
                    write!(f, ", rule {}", one.rule)?;
                }
                writeln!(f, "{}", if one.decided { "" } else { ", not decided" })?;
            }
        }
        for one in &self.decisions {
            writeln!(
                f,
                "  decision: {} at {}-{}, redacted because {}",
                one.label, one.start, one.end, one.because
            )?;
        }
        Ok(())
    }
}
