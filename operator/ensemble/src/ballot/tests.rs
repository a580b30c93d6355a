use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::said::tests::document;

const TEXT: &str = "Eva Ñu — x,  Río 12 de\u{a0}mayo; ¿y Ana?";
const LABELS: [&str; 3] = ["A", "B", "C"];

/// A said thing: its first and last character, and its label.
type Told = (usize, usize, usize);

fn marks(text: &str, told: &[Told]) -> Vec<(u32, u32, &'static str)> {
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

fn said(gold: &[Told], members: &[Vec<Told>]) -> Said {
    let documents = |told: &[Told]| {
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
    let mut said = Said::new(documents(gold), members, Some(labels.into())).unwrap();
    // Scores that differ between members and spans.
    let scored = |member: usize, told: &Annotations| {
        let one = |a: &Annotation| Annotation {
            score: ((a.span.start() + 3 * a.span.end() + 5 * member) % 11) as f32 / 10.0,
            ..*a
        };
        Annotations::new(TEXT, told.iter().map(one).collect()).unwrap()
    };
    for (member, rows) in said.by_member.iter_mut().enumerate() {
        rows.iter_mut().for_each(|row| *row = scored(member, row));
    }
    said
}

/// The same by the vote itself, and counted the long way.
fn slowly(said: &Said, voting: &Voting, members: MemberSet) -> (Tally, Vec<Counts>) {
    let mut tally = Tally::default();
    let mut by_label = vec![Counts::default(); LABELS.len()];
    let none = Annotations::default();
    for (row, document) in said.documents.iter().enumerate() {
        let text = document.text.as_str();
        let heard: Vec<&Annotations> = said
            .row(row)
            .into_iter()
            .enumerate()
            .map(|(member, told)| if members.contains(member) { told } else { &none })
            .collect();
        let found: BTreeSet<(Span, LabelId)> = voting
            .decide(text, &heard)
            .iter()
            .map(|d| (d.span, d.label))
            .collect();
        let gold: BTreeSet<(Span, LabelId)> = said.gold[row].iter().map(|a| (a.span, a.label)).collect();
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
        let under = |side: &BTreeSet<(Span, LabelId)>, at: usize| {
            side.iter().any(|(span, _)| span.start() <= at && at < span.end())
        };
        for (at, _) in text.char_indices() {
            let (gold, found) = (under(&gold, at), under(&found, at));
            tally.characters += u64::from(gold);
            tally.marked += u64::from(found);
            tally.covered += u64::from(gold && found);
        }
    }
    (tally, by_label)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn a_ballot_counts_what_the_vote_itself_decides(
        gold in proptest::collection::vec((0usize..40, 0usize..8, 0usize..3), 0..10),
        members in proptest::collection::vec(
            proptest::collection::vec((0usize..40, 0usize..8, 0usize..3), 0..10), 1..6),
        said_by_gold in any::<u8>(),
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
            if said_by_gold >> i & 1 == 1 {
                told.extend(gold.iter().copied());
            }
        }
        let said = said(&gold, &members);
        let agreement = if overlap { Agreement::Overlap } else { Agreement::Exact };
        let voting = Voting { threshold, thresholds, solo_min_scores, always_redact: MemberSet(always), always_min_score: 0.0, ranks, redact_uncovered, agreement, require_corroboration };
        let members = MemberSet(subset);
        let ballot = Ballot::new(&said, true);
        let (tally, by_label) = slowly(&said, &voting, members);
        prop_assert_eq!(ballot.tally(&voting, members), tally);
        prop_assert_eq!(ballot.by_label(&voting, members), by_label);
    }
}

#[test]
fn what_nobody_else_overlaps_is_added_up_by_who_said_it() {
    let gold = [(0, 2, 0), (13, 2, 0), (35, 0, 1)];
    let ballot = Ballot::new(&said(&gold, &[gold.to_vec(), gold.to_vec()]), false);
    // Three spans in one document, one in the other: two labels, so two sorts.
    assert_eq!((ballot.alone.len(), ballot.knots.len()), (2, 0));
    let weight = |of: fn(&Weight) -> u64| ballot.alone.iter().map(|one| of(&one.weight)).sum::<u64>();
    assert_eq!((weight(|w| w.spans), weight(|w| w.hits)), (4, 4));
}
