//! Resolves overlaps between decisions: a decision that has its place keeps it.

use std::collections::BTreeMap;

use crate::{DecidingRule, Decision, Span};

/// Resolves the overlaps within a run of candidates in order of precedence, as [`OverlapResolver::resolve`] does, and
/// appends the decisions to `to`. No candidate may overlap a decision there.
pub(crate) fn resolve_run(
    text: &str,
    mut candidates: impl Iterator<Item = Decision>,
    cover: bool,
    to: &mut Vec<Decision>,
) {
    let Some(mut winner) = candidates.next() else {
        return;
    };
    // Mostly, all others lie within the first, and nothing of them is left.
    let outside = candidates.find(|other| {
        let inside = winner.span.contains(other.span);
        if inside {
            winner.overrule(other);
        }
        !inside
    });
    let Some(outside) = outside else {
        to.push(winner);
        return;
    };
    let mut resolver = OverlapResolver::of(vec![winner]);
    resolver.resolve(text, std::iter::once(outside).chain(candidates).collect(), cover);
    to.append(&mut resolver.into_decisions());
}

/// Decisions without overlaps.
#[derive(Default)]
pub(crate) struct OverlapResolver {
    decisions: Vec<Decision>,
    /// The index of each by its start. Decisions are large, and a tree of them would move them with every
    /// insertion.
    places: BTreeMap<u32, u32>,
}

impl OverlapResolver {
    /// Creates a resolver from decisions that are known not to overlap.
    pub(crate) fn of(decisions: Vec<Decision>) -> Self {
        let starts = decisions.iter().map(|decision| decision.span.start() as u32);
        Self {
            places: starts.zip(0..).collect(),
            decisions,
        }
    }

    /// Inserts candidates in order. A candidate that overlaps an earlier decision is overruled; with `cover`,
    /// the parts of it that no winner covers become decisions at the end, unless they have neither letter nor
    /// digit.
    pub(crate) fn resolve(&mut self, text: &str, candidates: Vec<Decision>, cover: bool) {
        self.decisions.reserve(candidates.len());
        let mut overruled = Vec::new();
        for candidate in candidates {
            let left = self.insert(candidate);
            overruled.extend(left.filter(|_| cover));
        }
        for candidate in overruled {
            for rest in self.uncovered(candidate.span) {
                let rest = rest.trimmed(text);
                if rest.of(text).chars().any(char::is_alphanumeric) {
                    // It lies between decisions, so nothing overrules it.
                    let rest = Decision {
                        span: rest,
                        deciding_rule: DecidingRule::Uncovered,
                        ..candidate.clone()
                    };
                    self.add(rest);
                }
            }
        }
    }

    /// Returns the decision of exactly this span and label.
    pub(crate) fn same(&mut self, as_this: &Decision) -> Option<&mut Decision> {
        let place = *self.places.get(&(as_this.span.start() as u32))?;
        self.decisions
            .get_mut(place as usize)
            .filter(|other| (other.span, other.label) == (as_this.span, as_this.label))
    }

    /// Returns the decisions, by their start.
    pub(crate) fn into_decisions(self) -> Vec<Decision> {
        let mut decisions: Vec<_> = self.decisions.into_iter().map(Some).collect();
        let places = self.places.into_values();
        places
            .filter_map(|place| decisions.get_mut(place as usize)?.take())
            .collect()
    }

    /// Inserts a decision, or, if an existing one overlaps it, records it there as overruled. Returns an
    /// overruled decision if the winner does not cover all of it.
    fn insert(&mut self, decision: Decision) -> Option<Decision> {
        let before = self.places.range(..decision.span.end() as u32).next_back();
        let before = before.and_then(|(_, &place)| self.decisions.get_mut(place as usize));
        if let Some(other) = before.filter(|other| other.span.overlaps(decision.span)) {
            other.overrule(&decision);
            return (!other.span.contains(decision.span)).then_some(decision);
        }
        self.add(decision);
        None
    }

    /// Adds a decision that overlaps no other.
    fn add(&mut self, decision: Decision) {
        // There are fewer than the bytes of a note, which has at most 4 GiB.
        self.places
            .insert(decision.span.start() as u32, self.decisions.len() as u32);
        self.decisions.push(decision);
    }

    /// Returns the parts of `span` that no decision covers.
    fn uncovered(&self, span: Span) -> Vec<Span> {
        let (start, end) = (span.start() as u32, span.end() as u32);
        let of = |(_, &place): (&u32, &u32)| self.decisions[place as usize].span;
        let first = self.places.range(..start).next_back().map(of);
        let first = first.filter(|before| before.end() > span.start());
        let (mut parts, mut at) = (Vec::new(), start);
        for taken in first.into_iter().chain(self.places.range(start..end).map(of)) {
            let (from, to) = (taken.start() as u32, taken.end() as u32);
            if from > at {
                parts.push(Span::between(at, from));
            }
            at = at.max(to);
        }
        if at < end {
            parts.push(Span::between(at, end));
        }
        parts
    }
}
