//! Features of the members' agreement on a span: which members predict the same span, which contradict it and
//! how, and the span's label.

use std::collections::BTreeMap;

use lethe_core::{Annotation, Annotations, NoteView, Span};

use crate::candidates::{Candidate, candidates};
use crate::dual::Row;
use crate::tags::touched;

/// The relations between a member and a span: it predicts exactly this; the same place with another label; an
/// overlapping place with the same label; an overlapping place with another label.
const WAYS: usize = 4;

/// Longer spans count as this many tokens.
const LONGEST: usize = 6;

/// The index of each feature: [`WAYS`] per member, the number of members for each way, the votes weighted by
/// rank, each number of votes, the label, the length, and a constant 1.
pub(super) struct Features<'a> {
    ranks: &'a [u32],
    labels: usize,
}

impl<'a> Features<'a> {
    pub(super) const fn new(ranks: &'a [u32], labels: usize) -> Self {
        Self { ranks, labels }
    }

    /// Returns the number of features.
    pub(super) const fn dimension(&self) -> usize {
        self.members() * WAYS + WAYS + 1 + self.members() + self.labels + LONGEST + 1
    }

    const fn members(&self) -> usize {
        self.ranks.len()
    }

    /// Returns a note's candidates and their features.
    pub(super) fn of_note(
        &self,
        note: NoteView<'_>,
        predictions: &[&Annotations],
    ) -> (Vec<Candidate>, Vec<Row>) {
        self.rows(note, predictions).unzip()
    }

    /// Returns a note's candidates, each with its features.
    pub(super) fn rows<'s>(
        &'s self,
        note: NoteView<'s>,
        predictions: &'s [&Annotations],
    ) -> impl Iterator<Item = (Candidate, Row)> + 's {
        let by_length: Vec<ByLength<'_>> = predictions
            .iter()
            .take(self.members())
            .map(|predictions| ByLength::new(predictions))
            .collect();
        let row = move |candidate: Candidate| {
            let row = self.of(note, &candidate, &by_length);
            (candidate, row)
        };
        candidates(predictions).into_iter().map(row)
    }

    fn of(&self, note: NoteView<'_>, candidate: &Candidate, predictions: &[ByLength<'_>]) -> Row {
        let members = self.members();
        let mut row = Row::new();
        let mut counts = [0u32; WAYS];
        for (member, annotations) in predictions.iter().enumerate() {
            let mut ways = [false; WAYS];
            for annotation in annotations.near(candidate.span) {
                let same_span = annotation.span == candidate.span;
                let same_label = annotation.label == candidate.label;
                ways[usize::from(!same_span) * 2 + usize::from(!same_label)] = true;
            }
            for (way, _) in ways.iter().enumerate().filter(|(_, there)| **there) {
                counts[way] += 1;
                row.push(((member * WAYS + way) as u32, 1.0));
            }
        }
        let mut at = members * WAYS;
        for count in counts {
            push(&mut row, at, count as f32 / members as f32);
            at += 1;
        }
        // The best member's vote has the weight of the number of members, the last one's has 1.
        let weight = |member: usize| (members as u32).saturating_sub(self.ranks[member]) as f32;
        let all: f32 = (0..members).map(weight).sum();
        let voted = candidate.members.iter().filter(|&member| member < members);
        push(&mut row, at, voted.map(weight).sum::<f32>() / all.max(1.0));
        at += 1;
        let votes = (candidate.members.len() as usize).clamp(1, members);
        push(&mut row, at + votes - 1, 1.0);
        at += members;
        let label = usize::from(candidate.label.0);
        if label < self.labels {
            push(&mut row, at + label, 1.0);
        }
        at += self.labels;
        let tokens = touched(note, candidate.span.start(), candidate.span.end()).len();
        push(&mut row, at + tokens.clamp(1, LONGEST) - 1, 1.0);
        at += LONGEST;
        push(&mut row, at, 1.0);
        row
    }
}

fn push(row: &mut Row, at: usize, value: f32) {
    if value != 0.0 {
        row.push((at as u32, value));
    }
}

/// A member's annotations, grouped by length: the annotations that overlap a short span can then be found
/// among a few, even if another annotation spans the whole note.
struct ByLength<'a> {
    /// The maximum length of each class in bytes, and the annotations of more than half of it, by their
    /// start.
    classes: Vec<(usize, Vec<&'a Annotation>)>,
}

impl<'a> ByLength<'a> {
    fn new(predictions: &'a Annotations) -> Self {
        let mut classes: BTreeMap<usize, Vec<&Annotation>> = BTreeMap::new();
        for annotation in predictions.iter() {
            let most = annotation.span.len().next_power_of_two();
            classes.entry(most).or_default().push(annotation);
        }
        Self {
            classes: classes.into_iter().collect(),
        }
    }

    /// Returns the annotations that overlap a span.
    fn near(&self, span: Span) -> impl Iterator<Item = &'a Annotation> {
        self.classes.iter().flat_map(move |(most, all)| {
            let from = span.start().saturating_sub(*most);
            let first = all.partition_point(|annotation| annotation.span.start() < from);
            let rest = all.get(first..).unwrap_or_default().iter().copied();
            rest.take_while(move |annotation| annotation.span.start() < span.end())
                .filter(move |annotation| annotation.span.overlaps(span))
        })
    }
}

#[cfg(test)]
mod tests {
    use lethe_core::LabelId;
    use proptest::prelude::*;

    use super::*;
    use crate::PredictionSet;
    use crate::prediction_set::tests::document;

    #[test]
    fn a_span_s_features_are_who_agrees_and_how_the_others_do_not() {
        let gold = document("a", "ab cd ef", &[(0, 5, "A")]);
        let predictions: Vec<_> = [
            [(0, 5, "A")].as_slice(),
            &[(0, 5, "B")],
            &[(0, 2, "A"), (3, 5, "B")],
            &[(0, 5, "A"), (6, 8, "A")],
        ]
        .iter()
        .enumerate()
        .map(|(i, marks)| (format!("m{i}"), vec![document("a", "", marks)]))
        .collect();
        let predictions = PredictionSet::new(vec![gold], predictions, None).unwrap();
        let ranks = [0, 2, 3, 1];
        let features = Features::new(&ranks, 2);
        let (candidates, rows) = features.of_note(predictions.batch.note(0), &predictions.row(0));
        let at = candidates
            .iter()
            .position(|c| c.span.len() == 5 && c.label.0 == 0)
            .unwrap();
        let expected: Row = vec![
            (0, 1.0),  // m0 predicts it
            (5, 1.0),  // m1 predicts B there
            (10, 1.0), // m2 predicts A for a part
            (11, 1.0), // and B for another
            (12, 1.0), // m3 predicts it
            (16, 0.5), // two of four predict it
            (17, 0.25),
            (18, 0.25),
            (19, 0.25),
            (20, 0.7), // 4 and 3 of 10
            (22, 1.0), // two votes
            (25, 1.0), // A
            (28, 1.0), // two tokens
            (33, 1.0),
        ];
        assert_eq!(rows[at], expected);
        assert_eq!(features.dimension(), 34);
    }

    proptest! {
        #[test]
        fn what_overlaps_a_span_is_found_whatever_the_lengths(
            predictions in proptest::collection::vec((0..60u32, prop_oneof![1..4u32, 1..60u32]), 0..30),
            start in 0..60u32,
            length in 1..60u32,
        ) {
            let one = |&(start, length): &(u32, u32)| Annotation {
                span: Span::between(start, start + length),
                label: LabelId(0),
                score: 1.0,
                rule: "",
            };
            let predictions = Annotations::new(&"a".repeat(120), predictions.iter().map(one).collect()).unwrap();
            let span = Span::between(start, start + length);
            let mut found: Vec<Span> = ByLength::new(&predictions).near(span).map(|a| a.span).collect();
            found.sort_by_key(|span| (span.start(), std::cmp::Reverse(span.end())));
            let all = predictions.iter().map(|a| a.span).filter(|other| other.overlaps(span));
            prop_assert_eq!(found, all.collect::<Vec<_>>());
        }
    }
}
