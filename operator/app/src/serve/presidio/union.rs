//! The union of the spans of a request and those of the engine, and the text with their replacements.

use lethe_core::Span;

use super::forms::{AnonymizeItem, AnonymizeResponse};
use super::labels::{Acted, Entities};
use super::operators::{Operators, weaker};
use crate::serve::refusal::Refusal;

/// A span to replace.
pub(super) struct Found<'a> {
    /// Bytes of the text.
    pub(super) span: Span,
    pub(super) entity: &'a str,
    pub(super) score: f64,
    /// The label, and the policy's action for it; `None` for a span of the request, which has an entity only.
    pub(super) acted: Option<Acted<'a>>,
}

/// Returns the text in which all spans are replaced. Spans that overlap become one, under the entity of the one
/// with the best score.
pub(super) fn replace(
    text: &str,
    mut found: Vec<Found<'_>>,
    operators: &Operators,
    entities: &Entities,
) -> Result<AnonymizeResponse, Refusal> {
    found.sort_by_key(|found| (found.span.start(), found.span.end()));
    let (mut out, mut points, mut at) = (String::with_capacity(text.len()), 0, 0);
    let mut items = Vec::new();
    let mut rest = found.as_slice();
    while let Some(first) = rest.first() {
        let mut span = first.span;
        let mut count = 1;
        while let Some(next) = rest.get(count).filter(|next| next.span.overlaps(span)) {
            span = span.union(next.span);
            count += 1;
        }
        let (overlapping, after) = rest.split_at(count);
        rest = after;
        let best = best(overlapping).unwrap_or(first);
        let (operator, value) = (operators.of(best.entity), span.of(text));
        if operator.leaves(value)
            && let Some(acted) = overlapping.iter().find_map(|found| found.protected(entities))
        {
            return Err(weaker(best.entity, operator, acted));
        }
        let before = part(text, at, span.start())?;
        out.push_str(before);
        points += before.chars().count();
        let new = operator.apply(best.entity, value);
        let start = points;
        points += new.chars().count();
        out.push_str(&new);
        items.push(AnonymizeItem {
            start,
            end: points,
            entity_type: best.entity.to_owned(),
            text: new,
            operator: operator.name(),
        });
        at = span.end();
    }
    out.push_str(part(text, at, text.len())?);
    items.reverse();
    Ok(AnonymizeResponse { text: out, items })
}

impl<'a> Found<'a> {
    /// Returns a label of it that the policy does not keep.
    fn protected(&self, entities: &'a Entities) -> Option<Acted<'a>> {
        match self.acted {
            Some(acted) => Some(acted).filter(|acted| !acted.is_kept()),
            None => entities.not_kept(self.entity),
        }
    }
}

/// Returns the one with the best score; among equals the longest, then one of the request.
fn best<'a, 'b>(found: &'b [Found<'a>]) -> Option<&'b Found<'a>> {
    found.iter().max_by(|one, other| {
        let rank = |found: &Found<'_>| (found.span.len(), found.acted.is_none());
        one.score
            .total_cmp(&other.score)
            .then_with(|| rank(one).cmp(&rank(other)))
    })
}

fn part(text: &str, start: usize, end: usize) -> Result<&str, Refusal> {
    let span = Span::checked(text, start, end).map_err(|_| Refusal::internal())?;
    Ok(span.of(text))
}
