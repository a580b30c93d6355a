//! The memory that the spans of a batch take, from the members' annotations to the rows of the audit, and the
//! plain forms that members read besides the notes.

use std::cmp::Reverse;

use crate::{Annotation, Annotations};

/// Bytes of an annotation: 32, in a list that grows by doubling.
const ANNOTATION_BYTES: usize = 64;
/// Bytes of a decision at the peak: itself, twice while overlaps are resolved; the values to propagate; its
/// replacement, its place, and its row of the audit. Measured by `benches/examples/note_memory.rs` with a
/// table of numbers.
const DECISION_BYTES: usize = 704;

/// The number of spans in a batch, and the memory of plain forms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Footprint {
    /// Annotations of all members.
    pub(crate) annotations: usize,
    decisions: usize,
    /// Bytes of what the members read besides the batch.
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

    /// Returns their memory in bytes.
    pub(crate) const fn bytes(self) -> usize {
        self.annotations * ANNOTATION_BYTES + self.decisions * DECISION_BYTES + self.read
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
