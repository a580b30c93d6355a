use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::prediction_set::tests::document;

const TEXT: &str = "Eva Ñu — x,  Río 12 de\u{a0}mayo; ¿y Ana?";
const LABELS: [&str; 3] = ["A", "B", "C"];

/// A prediction: its first and last character, and its label.
type Mention = (usize, usize, usize);

fn marks(text: &str, told: &[Mention]) -> Vec<(u32, u32, &'static str)> {
    let starts: Vec<usize> = text
        .char_indices()
        .map(|(at, _)| at)
        .chain([text.len()])
        .collect();
    let last = starts.len() - 1;
    told.iter()
        .map(|&(start, many, label)| {
            let start = start % last;
            let end = (start + 1 + many).min(last);
            (starts[start] as u32, starts[end] as u32, LABELS[label])
        })
        .collect()
}

fn predictions(gold: &[Mention], members: &[Vec<Mention>]) -> PredictionSet {
    let documents = |told: &[Mention]| {
        vec![
            document("a", TEXT, &marks(TEXT, told)),
            document("b", TEXT, &marks(TEXT, &told[..told.len() / 2])),
        ]
    };
    let members = members
        .iter()
        .enumerate()
        .map(|(i, told)| (i.to_string(), documents(told)))
        .collect();
    let labels = lethe_core::LabelSet::of_names("test", &LABELS.map(str::to_owned)).unwrap();
    let mut predictions = PredictionSet::new(documents(gold), members, Some(labels.into())).unwrap();
    // Scores that differ between members and spans.
    let scored = |member: usize, told: &Annotations| {
        let one = |a: &Annotation| Annotation {
            score: ((a.span.start() + 3 * a.span.end() + 5 * member) % 11) as f32 / 10.0,
            ..*a
        };
        Annotations::new(TEXT, told.iter().map(one).collect()).unwrap()
    };
    for (member, rows) in predictions.by_member.iter_mut().enumerate() {
        rows.iter_mut().for_each(|row| *row = scored(member, row));
    }
    predictions
}

/// Computes the same with the vote itself, counted directly.
fn slowly(predictions: &PredictionSet, voting: &Voting, members: MemberSet) -> (Tally, Vec<Counts>) {
    let mut tally = Tally::default();
    let mut by_label = vec![Counts::default(); LABELS.len()];
    let none = Annotations::default();
    for (row, document) in predictions.documents.iter().enumerate() {
        let text = document.text.as_str();
        let row_predictions: Vec<&Annotations> = predictions
            .row(row)
            .into_iter()
            .enumerate()
            .map(|(member, told)| if members.contains(member) { told } else { &none })
            .collect();
        let found: BTreeSet<(Span, LabelId)> = voting
            .decide(text, &row_predictions)
            .iter()
            .map(|d| (d.span, d.label))
            .collect();
        let gold: BTreeSet<(Span, LabelId)> =
            predictions.gold[row].iter().map(|a| (a.span, a.label)).collect();
        tally.hits += found.intersection(&gold).count() as u64;
        tally.predicted += found.len() as u64;
        tally.gold += gold.len() as u64;
        for &(_, label) in found.intersection(&gold) {
            by_label[usize::from(label.0)].hits += 1;
        }
        for &(_, label) in found.difference(&gold) {
            by_label[usize::from(label.0)].spurious += 1;
        }
        for &(_, label) in gold.difference(&found) {
            by_label[usize::from(label.0)].missed += 1;
        }
        let mut leaks = false;
        let under = |side: &BTreeSet<(Span, LabelId)>, at: usize| {
            side.iter().any(|(span, _)| span.start() <= at && at < span.end())
        };
        tally.documents += u64::from(!gold.is_empty());
        for (at, c) in text.char_indices() {
            let (gold, found) = (under(&gold, at), under(&found, at));
            leaks |= gold && !found && c.is_alphanumeric();
            tally.characters += u64::from(gold);
            tally.marked += u64::from(found);
            tally.covered += u64::from(gold && found);
        }
        tally.intact += u64::from(!gold.is_empty() && !leaks);
    }
    (tally, by_label)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn a_vote_index_counts_the_same_decisions_as_the_vote(
        gold in proptest::collection::vec((0usize..40, 0usize..8, 0usize..3), 0..10),
        members in proptest::collection::vec(
            proptest::collection::vec((0usize..40, 0usize..8, 0usize..3), 0..10), 1..6),
        in_gold in any::<u8>(),
        subset in any::<u64>(),
        threshold in 0u32..5,
        thresholds in proptest::collection::vec(0u32..5, 0..3),
        solo_min_scores in proptest::collection::vec(0f32..1.2, 0..3),
        always in 0u64..8,
        ranks in proptest::collection::vec(0u32..6, 0..6),
        redact_uncovered in any::<bool>(),
        overlap in any::<bool>(),
        require_corroboration in any::<bool>(),
    ) {
        let mut members = members;
        for (i, told) in members.iter_mut().enumerate() {
            if in_gold >> i & 1 == 1 {
                told.extend(gold.iter().copied());
            }
        }
        let predictions = predictions(&gold, &members);
        let agreement = if overlap { Agreement::Overlap } else { Agreement::Exact };
        let voting = Voting { threshold, thresholds, solo_min_scores, always_redact: MemberSet(always), always_min_score: 0.0, ranks, redact_uncovered, agreement, require_corroboration };
        let members = MemberSet(subset);
        let vote_index = VoteIndex::new(&predictions, true);
        let (tally, by_label) = slowly(&predictions, &voting, members);
        prop_assert_eq!(vote_index.tally(&voting, members), tally);
        prop_assert_eq!(vote_index.by_label(&voting, members), by_label);
    }
}

#[test]
fn lone_spans_are_added_up_by_document_and_members() {
    let gold = [(0, 2, 0), (13, 2, 0), (35, 0, 1)];
    let vote_index = VoteIndex::new(&predictions(&gold, &[gold.to_vec(), gold.to_vec()]), false);
    // There are three spans of two labels in one document, and one span in the other.
    assert_eq!((vote_index.lone.len(), vote_index.clusters.len()), (3, 0));
    let weight = |of: fn(&Weight) -> u64| vote_index.lone.iter().map(|one| of(&one.weight)).sum::<u64>();
    assert_eq!((weight(|w| w.spans), weight(|w| w.hits)), (4, 4));
}
