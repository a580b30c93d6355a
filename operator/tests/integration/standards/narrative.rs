//! Narrative generated from structure: the share of false positives, and the missed identifiers.

use lethe_core::{Decision, Engine, NoteBatch};

use super::corpus::{MESSAGES, Message};
use super::engine::{BLIND, ENGINE, batch};

/// The result of an engine on the narratives.
#[derive(Debug, Default)]
struct Counts {
    /// The number of narratives.
    narratives: usize,
    /// The number of redacted spans.
    redacted: usize,
    /// The redacted spans that touch no identifying piece.
    false_positives: usize,
    /// Identifying letters and digits, and those that remain.
    identifying: usize,
    left: usize,
    /// Examples for a failed test. The corpus is invented.
    examples: Vec<String>,
}

impl Counts {
    fn precision_lost(&self) -> f64 {
        self.false_positives as f64 / self.redacted as f64
    }

    fn recall(&self) -> f64 {
        1.0 - self.left as f64 / self.identifying as f64
    }

    fn add(&mut self, text: &str, gold: &[Vec<(String, bool)>], decisions: &[Decision]) {
        let (pieces, read) = placed(text, gold);
        self.narratives += read;
        let spans = || {
            decisions
                .iter()
                .map(|decision| decision.span.start()..decision.span.end())
        };
        for (span, decision) in spans().zip(decisions) {
            self.redacted += 1;
            let touches = pieces
                .iter()
                .any(|piece| piece.start < span.end && span.start < piece.end);
            if !touches {
                self.false_positives += 1;
                self.examples
                    .push(format!("+{} {}", text.get(span).unwrap(), decision.rule));
            }
        }
        for piece in pieces {
            let mut left = 0;
            for (at, c) in text.get(piece.clone()).unwrap().char_indices() {
                let at = piece.start + at;
                if c.is_alphanumeric() {
                    self.identifying += 1;
                    left += usize::from(!spans().any(|span| span.contains(&at)));
                }
            }
            if left > 0 {
                self.left += left;
                self.examples.push(format!("-{}", text.get(piece).unwrap()));
            }
        }
    }
}

/// Returns the positions of the identifying pieces, and the number of narratives in the text: those of
/// patients, practitioners and places are not read, nor those of a withdrawn message.
fn placed(text: &str, narratives: &[Vec<(String, bool)>]) -> (Vec<std::ops::Range<usize>>, usize) {
    let (mut from, mut read, mut all) = (0, 0, Vec::new());
    for narrative in narratives {
        let mut at = from;
        let mut pieces = Vec::new();
        let whole = narrative.iter().all(|(piece, identifies)| {
            let Some(found) = text.get(at..).unwrap().find(piece.as_str()) else {
                return false;
            };
            let start = at + found;
            at = start + piece.len();
            if *identifies {
                pieces.push(start..at);
            }
            true
        });
        if whole {
            (from, read) = (at, read + 1);
            all.append(&mut pieces);
        }
    }
    (all, read)
}

fn counts(engine: &Engine, batch: &NoteBatch, messages: &[&Message]) -> Counts {
    let mut counts = Counts::default();
    for ((row, outcome), message) in engine.decide(batch).into_iter().enumerate().zip(messages) {
        let gold = message.gold.as_ref().unwrap();
        counts.add(batch.note(row).text, gold, &outcome.unwrap());
    }
    counts
}

#[test]
fn at_most_5_percent_of_the_redacted_spans_of_generated_narrative_identify_nobody_and_no_identifier_more_stands()
 {
    let messages: Vec<&Message> = MESSAGES.iter().filter(|message| message.gold.is_some()).collect();
    assert!(messages.len() > 250, "{}", messages.len());
    let batch = batch("fhir", messages.iter().map(|message| message.payload.as_str()));
    let (with, without) = (
        counts(&ENGINE, &batch, &messages),
        counts(&BLIND, &batch, &messages),
    );
    let figures = format!(
        "{} spans, {:.1} % false, recall {:.4}; without structure {} spans, {:.1} % false, recall {:.4}",
        with.redacted,
        100.0 * with.precision_lost(),
        with.recall(),
        without.redacted,
        100.0 * without.precision_lost(),
        without.recall(),
    );
    // Figures for docs/messages.md, with `--nocapture`.
    println!("{figures}");
    assert!(with.narratives > 250 && with.redacted > 3000, "{figures}");
    if std::env::var_os("LETHE_CORPUS_EXAMPLES").is_some() {
        println!("{:?}", with.examples);
    }
    assert!(with.precision_lost() <= 0.05, "{figures}\n{:?}", with.examples);
    assert!(with.recall() >= without.recall(), "{figures}");
    assert!(with.recall() >= 0.98, "{figures}\n{:?}", with.examples);
}
