//! The memory that the spans of a batch take, from the members' annotations to the rows of the audit, and the
//! plain forms that members read besides the notes.

use std::cmp::Reverse;

use crate::{Annotation, Annotations};

/// Bytes of an annotation: 32, and 8 while the members' annotations are merged.
const ANNOTATION_BYTES: usize = 40;
/// Bytes of a candidate of the vote: itself, twice while overlaps are resolved, with its scores.
const CANDIDATE_BYTES: usize = 240;
/// Bytes of a decision after the vote, with its scores and the spans that it overruled.
const DECIDED_BYTES: usize = 160;
/// Bytes of a decision while it is redacted, when the members' annotations are gone: itself, its replacement, its
/// place, and its row of the audit.
const REDACTED_BYTES: usize = 480;

/// The number of spans in a batch, and the memory of plain forms and of values to propagate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Footprint {
    /// Annotations of all members.
    pub(crate) annotations: usize,
    /// Candidates of the vote on one note.
    candidates: usize,
    decisions: usize,
    /// Bytes of what the members read besides the batch, and of values to propagate.
    read: usize,
}

impl Footprint {
    /// Returns the footprint of something else, of so many bytes.
    pub(crate) fn of_bytes(read: usize) -> Self {
        Self {
            read,
            ..Self::default()
        }
    }

    /// Returns the footprint with the decisions of one more note.
    pub(crate) const fn with(self, decisions: usize) -> Self {
        Self {
            decisions: self.decisions + decisions,
            ..self
        }
    }

    /// Returns the footprint while a note with so many candidates is decided.
    pub(crate) const fn voting(self, candidates: usize) -> Self {
        Self { candidates, ..self }
    }

    /// Returns the footprint with so many more bytes.
    pub(crate) const fn and(self, bytes: usize) -> Self {
        Self {
            read: self.read + bytes,
            ..self
        }
    }

    /// Returns their memory in bytes at its peak, which is before the notes are redacted or after.
    pub(crate) fn bytes(self) -> usize {
        let before = self.annotations * ANNOTATION_BYTES
            + self.candidates * CANDIDATE_BYTES
            + self.decisions * DECIDED_BYTES
            + self.read;
        before.max(self.decisions * REDACTED_BYTES)
    }
}

/// Returns the number of distinct pairs of span and label that the members found in a note, in `O(n *
/// members)`.
pub(crate) fn candidates(predictions: &[&Annotations]) -> usize {
    let key = |one: &&Annotation| (one.span.start(), Reverse(one.span.end()), one.label);
    let mut lists: Vec<_> = predictions
        .iter()
        .map(|annotations| annotations.iter().peekable())
        .collect();
    let mut count = 0;
    while let Some(least) = lists.iter_mut().filter_map(|list| list.peek().map(key)).min() {
        for list in &mut lists {
            // No member has a pair twice.
            list.next_if(|one| key(one) == least);
        }
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::{LabelId, Span};

    #[test]
    fn the_peak_is_before_the_redaction_or_after_it() {
        let tagged = Footprint {
            annotations: 1000,
            ..Footprint::of_bytes(5000)
        };
        assert_eq!(tagged.bytes(), 45_000);
        assert_eq!(tagged.voting(100).bytes(), 69_000);
        assert_eq!(tagged.with(10).bytes(), 46_600);
        assert_eq!(tagged.with(1000).bytes(), 480_000, "the annotations are gone");
        assert_eq!(tagged.with(10).and(700).bytes(), 47_300);
    }

    proptest! {
        #[test]
        fn a_pair_that_several_members_found_is_counted_once(
            members in proptest::collection::vec(proptest::collection::vec((0u32..9, 1u32..4, 0u16..3), 0..9), 0..5),
        ) {
            let annotation = |&(start, length, label): &(u32, u32, u16)| Annotation {
                span: Span::between(start, start + length),
                label: LabelId(label),
                score: 0.5,
                rule: "",
            };
            let of = |member: &Vec<_>| {
                Annotations::new("abcdefghijklmnop", member.iter().map(annotation).collect()).unwrap()
            };
            let predictions: Vec<Annotations> = members.iter().map(of).collect();
            let all: BTreeSet<_> = members.iter().flatten().collect();
            prop_assert_eq!(candidates(&predictions.iter().collect::<Vec<_>>()), all.len());
        }
    }
}
