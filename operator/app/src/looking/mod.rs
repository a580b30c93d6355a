//! Shows a note with what was found in it, and explains why: `lethe show` and `lethe explain`.
//!
//! The output contains the note itself. It is for people who may read it, and never part of a log.

mod html;
mod terminal;
mod words;

use lethe_core::{Decision, Engine, NoteBatch, Span, Trace};
use serde_json::{Value, json};

pub(crate) use html::page;
pub(crate) use terminal::{difference, note};
pub(crate) use words::{Occurrence, explain};

/// A note and its decisions.
pub(crate) struct Looked<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) text: &'a str,
    pub(crate) trace: &'a Trace,
    /// The redacted text.
    pub(crate) redacted: &'a str,
}

/// Traces and redacts one note.
///
/// # Errors
/// If it would be quarantined.
pub(crate) fn look(engine: &Engine, text: &str) -> anyhow::Result<(Trace, String)> {
    let batch = NoteBatch::from_texts([text])?;
    let trace = engine.trace(&batch).into_iter().next();
    let trace = match trace {
        Some(Ok(trace)) => trace,
        Some(Err(code)) => anyhow::bail!("the note cannot be redacted ({})", code.name()),
        None => anyhow::bail!("there is no note"),
    };
    let redacted = engine
        .redact(&batch, 0, &Ok(trace.decisions.clone()))
        .map_err(|why| anyhow::anyhow!(crate::commands::documents::explain(why)))?;
    Ok((trace, redacted.text))
}

/// A piece of a note.
enum Piece<'a> {
    Plain(&'a str),
    Found(&'a str, &'a Decision),
}

impl Looked<'_> {
    /// Returns the note in pieces, in order.
    fn pieces(&self) -> Vec<Piece<'_>> {
        let mut pieces = Vec::new();
        let mut at = 0;
        for decision in &self.trace.decisions {
            pieces.push(Piece::Plain(part(self.text, at, decision.span.start())));
            pieces.push(Piece::Found(decision.span.of(self.text), decision));
            at = decision.span.end();
        }
        pieces.push(Piece::Plain(part(self.text, at, self.text.len())));
        pieces
    }

    /// Returns the spans and the redacted note for programs. Offsets are bytes of the note.
    pub(crate) fn json(&self) -> Value {
        let span = |decision: &Decision| {
            let members = decision.members.iter();
            json!({
                "start": decision.span.start(),
                "end": decision.span.end(),
                "label": self.label(decision),
                "score": decision.score,
                "members": members.filter_map(|member| self.engine.members().get(member)).collect::<Vec<_>>(),
                "deciding_rule": decision.deciding_rule.name(),
            })
        };
        json!({
            "spans": self.trace.decisions.iter().map(span).collect::<Vec<_>>(),
            "review": self.trace.review.reasons().map(lethe_core::Reason::name).collect::<Vec<_>>(),
            "redacted": self.redacted,
        })
    }

    fn label(&self, decision: &Decision) -> &str {
        &self.engine.labels().label(decision.label).name
    }

    /// Returns the names of the members that predicted a decision.
    fn members(&self, decision: &Decision) -> String {
        let names = decision
            .members
            .iter()
            .filter_map(|member| self.engine.members().get(member));
        let names: Vec<&str> = names.map(String::as_str).collect();
        match names.is_empty() {
            // Found again by its text alone.
            true => "another occurrence".to_owned(),
            false => names.join(", "),
        }
    }

    /// Returns why a person should check the note; empty without a reason.
    fn review(&self) -> String {
        let reasons: Vec<&str> = self
            .trace
            .review
            .reasons()
            .map(lethe_core::Reason::name)
            .collect();
        reasons.join(", ")
    }
}

/// Returns the text between two positions, which are ends of decisions or of the note.
fn part(text: &str, start: usize, end: usize) -> &str {
    let at = |place: usize| u32::try_from(place).unwrap_or(u32::MAX);
    Span::between(at(start), at(end)).of(text)
}
