//! Decisions that do not overlap: who is seated keeps its place.

use std::collections::BTreeMap;

use crate::decision::Beaten;
use crate::{Decision, Span};

/// Decisions without overlaps, by their start.
#[derive(Default)]
pub(crate) struct Disjoint(BTreeMap<usize, Decision>);

impl Disjoint {
    /// Decisions that are known not to overlap.
    pub(crate) fn of(decisions: Vec<Decision>) -> Self {
        Self(
            decisions
                .into_iter()
                .map(|decision| (decision.span.start(), decision))
                .collect(),
        )
    }

    /// Seats candidates one after another. Those that find their place taken lose; with `cover`, what they cover beyond
    /// the winners is seated in the end, unless it holds neither letter nor digit.
    pub(crate) fn seat(&mut self, text: &str, candidates: Vec<Decision>, cover: bool) {
        let mut beaten = Vec::new();
        for candidate in candidates {
            if let Err(candidate) = self.insert(candidate) {
                beaten.push(candidate);
            }
        }
        if !cover {
            return;
        }
        for candidate in beaten {
            for rest in self.uncovered(candidate.span) {
                let rest = rest.trimmed(text);
                if rest.of(text).chars().any(char::is_alphanumeric) {
                    // It lies between decisions, so there is nothing to beat it.
                    let rest = Decision {
                        span: rest,
                        ..candidate.clone()
                    };
                    self.0.insert(rest.span.start(), rest);
                }
            }
        }
    }

    /// The decision of exactly this span and label.
    pub(crate) fn same(&mut self, as_this: &Decision) -> Option<&mut Decision> {
        self.0
            .get_mut(&as_this.span.start())
            .filter(|other| (other.span, other.label) == (as_this.span, as_this.label))
    }

    /// The decisions, by their start.
    pub(crate) fn into_decisions(self) -> Vec<Decision> {
        self.0.into_values().collect()
    }

    /// Takes a decision in, or, where one that is there overlaps it, writes down that it lost to that one and gives it back.
    fn insert(&mut self, decision: Decision) -> Result<(), Decision> {
        let before = self.0.range_mut(..decision.span.end()).next_back();
        if let Some((_, other)) = before.filter(|(_, other)| other.span.overlaps(decision.span)) {
            other.beat.push(Beaten::of(&decision));
            return Err(decision);
        }
        self.0.insert(decision.span.start(), decision);
        Ok(())
    }

    /// The parts of `span` that no decision covers.
    fn uncovered(&self, span: Span) -> Vec<Span> {
        let first = self
            .0
            .range(..span.start())
            .next_back()
            .filter(|(_, d)| d.span.end() > span.start());
        let from = first.map_or(span.start(), |(&start, _)| start);
        let (mut parts, mut at) = (Vec::new(), span.start());
        for decision in self.0.range(from..span.end()).map(|(_, d)| d) {
            if decision.span.start() > at {
                parts.push(Span::between(at as u32, decision.span.start() as u32));
            }
            at = at.max(decision.span.end());
        }
        if at < span.end() {
            parts.push(Span::between(at as u32, span.end() as u32));
        }
        parts
    }
}
