use super::*;
use crate::LabelId;
use crate::overlap_resolver::OverlapResolver;
use proptest::prelude::*;

const TEXT: &str = "abcdefghijklmnopqrstuvwxyz";

fn says(spans: &[(u32, u32, u16)]) -> Annotations {
    let found = spans.iter().map(|&(start, end, label)| Annotation {
        span: Span::between(start, end),
        label: LabelId(label),
        score: 0.5,
        rule: "",
    });
    Annotations::new(TEXT, found.collect()).unwrap()
}

fn decided(voting: &Voting, members: &[Annotations]) -> Vec<(usize, usize, u16, u32)> {
    let members: Vec<_> = members.iter().collect();
    voting
        .decide(TEXT, &members)
        .iter()
        .map(|d| (d.span.start(), d.span.end(), d.label.0, d.members.len()))
        .collect()
}

fn paper(threshold: u32) -> Voting {
    Voting {
        threshold,
        redact_uncovered: false,
        ..Voting::default()
    }
}

#[test]
fn only_identical_triples_share_votes() {
    let members = [
        says(&[(0, 4, 0)]),
        says(&[(0, 4, 0), (6, 9, 1)]),
        says(&[(0, 5, 0), (6, 9, 2)]),
    ];
    assert_eq!(decided(&paper(2), &members), [(0, 4, 0, 2)]);
}

#[test]
fn more_votes_beat_a_better_rank() {
    let members = [says(&[(0, 8, 0)]), says(&[(2, 5, 1)]), says(&[(2, 5, 1)])];
    assert_eq!(decided(&paper(1), &members), [(2, 5, 1, 2)]);
}

#[test]
fn on_equal_votes_the_better_ranked_member_wins() {
    let members = [says(&[(0, 8, 0)]), says(&[(2, 5, 1)])];
    assert_eq!(
        decided(
            &Voting {
                ranks: vec![1, 0],
                ..paper(1)
            },
            &members
        ),
        [(2, 5, 1, 1)]
    );
    assert_eq!(
        decided(
            &Voting {
                ranks: vec![0, 1],
                ..paper(1)
            },
            &members
        ),
        [(0, 8, 0, 1)]
    );
}

#[test]
fn the_uncovered_part_of_an_overruled_span_is_still_redacted() {
    let members = [says(&[(0, 8, 0)]), says(&[(2, 5, 1)])];
    let voting = Voting {
        ranks: vec![1, 0],
        ..Voting::default()
    };
    assert_eq!(
        decided(&voting, &members),
        [(0, 2, 0, 1), (2, 5, 1, 1), (5, 8, 0, 1)]
    );
}

#[test]
fn what_lost_in_an_overlap_is_told_by_what_it_lost_to() {
    let members = [says(&[(0, 8, 0)]), says(&[(2, 5, 1)]), says(&[(2, 5, 1)])];
    let members: Vec<_> = members.iter().collect();
    let decisions = paper(1).decide(TEXT, &members);
    assert_eq!(
        (decisions.len(), decisions[0].scores.as_slice()),
        (1, [0.5, 0.5].as_slice())
    );
    let [lost] = decisions[0].overruled.as_slice() else {
        panic!("one span lost");
    };
    assert_eq!(
        (lost.span, lost.label, lost.members.len()),
        (Span::between(0, 8), LabelId(0), 1)
    );
}

#[test]
fn a_label_may_need_its_own_votes_and_labels_beyond_the_list_need_the_threshold() {
    let members = [says(&[(0, 3, 0), (5, 8, 1), (10, 12, 2)]), says(&[(5, 8, 1)])];
    let voting = Voting {
        thresholds: vec![1, 3],
        ..paper(2)
    };
    assert_eq!(decided(&voting, &members), [(0, 3, 0, 1)]);
    let all = Voting {
        thresholds: vec![1, 2],
        ..paper(1)
    };
    assert_eq!(
        decided(&all, &members),
        [(0, 3, 0, 1), (5, 8, 1, 2), (10, 12, 2, 1)]
    );
}

#[test]
fn a_member_that_always_counts_needs_no_second_vote() {
    let members = [says(&[(0, 3, 0)]), says(&[(5, 8, 0)])];
    let voting = Voting {
        always_redact: MemberSet::default().with(1),
        ..paper(2)
    };
    assert_eq!(decided(&voting, &members), [(5, 8, 0, 1)]);
}

#[test]
fn a_score_that_suffices_needs_no_second_vote() {
    let predictions = |score| Annotation {
        span: Span::between(0, 3),
        label: LabelId(0),
        score,
        rule: "",
    };
    let of = |score| Annotations::new(TEXT, vec![predictions(score)]).unwrap();
    let voting = Voting {
        solo_min_scores: vec![0.9],
        ..paper(2)
    };
    let none = says(&[]);
    assert_eq!(decided(&voting, &[of(0.9), none.clone()]), [(0, 3, 0, 1)]);
    assert_eq!(decided(&voting, &[of(0.89), none]), []);
    // For another label no score suffices.
    assert_eq!(decided(&voting, &[says(&[(0, 3, 1)]), says(&[])]), []);
}

#[test]
fn a_single_vote_that_needs_corroboration_counts_only_in_a_note_with_a_span_with_enough_votes() {
    let predictions = |spans: &[(u32, u32)]| {
        let one = |&(start, end): &(u32, u32)| Annotation {
            span: Span::between(start, end),
            label: LabelId(0),
            score: 0.95,
            rule: "",
        };
        Annotations::new(TEXT, spans.iter().map(one).collect()).unwrap()
    };
    let voting = Voting {
        solo_min_scores: vec![0.9],
        require_corroboration: true,
        ..paper(2)
    };
    let (one, other) = (predictions(&[(0, 3), (6, 9)]), predictions(&[(6, 9)]));
    assert_eq!(
        decided(&voting, &[one, other.clone()]),
        [(0, 3, 0, 1), (6, 9, 0, 2)]
    );
    assert_eq!(decided(&voting, &[predictions(&[(0, 3)]), other]), []);
    let known = Voting {
        always_redact: MemberSet::default().with(1),
        ..voting
    };
    let uncorroborated = [predictions(&[(0, 3)]), predictions(&[(6, 9)])];
    assert_eq!(decided(&known, &uncorroborated), [(0, 3, 0, 1), (6, 9, 0, 1)]);
    // Below its minimum score such a member needs corroboration, too.
    let doubting = Voting {
        always_min_score: 0.96,
        ..known
    };
    assert_eq!(decided(&doubting, &uncorroborated), []);
    let agreed = [predictions(&[(0, 3)]), predictions(&[(0, 3), (6, 9)])];
    assert_eq!(decided(&doubting, &agreed), [(0, 3, 0, 2), (6, 9, 0, 1)]);
}

#[test]
fn by_overlap_a_member_agrees_whatever_the_label_and_the_borders() {
    let members = [
        says(&[(0, 4, 0), (10, 12, 0)]),
        says(&[(0, 8, 1), (20, 22, 0)]),
        says(&[(0, 8, 1), (14, 16, 2)]),
    ];
    let overlap = |threshold| Voting {
        threshold,
        agreement: Agreement::Overlap,
        ..Voting::default()
    };
    assert_eq!(decided(&overlap(2), &members), [(0, 8, 1, 3)]);
    assert_eq!(decided(&overlap(3), &members), [(0, 8, 1, 3)]);
    assert_eq!(decided(&paper(3), &members), []);
    let two: Vec<_> = members.iter().take(2).collect();
    let decision = &overlap(2).decide(TEXT, &two)[0];
    assert_eq!((decision.members.len(), decision.scores.len()), (2, 2));
}

proptest! {
    #[test]
    fn by_overlap_a_byte_is_decided_where_a_span_with_enough_members_over_it_lies(
        spans in proptest::collection::vec((0u32..20, 1u32..6, 0u16..3, 0usize..3), 0..20), threshold in 1u32..4
    ) {
        let mut by_member = vec![Vec::new(); 3];
        for &(start, len, label, member) in &spans {
            by_member[member].push((start, start + len, label));
        }
        let members: Vec<_> = by_member.iter().map(|s| says(s)).collect();
        let voting = Voting { threshold, agreement: Agreement::Overlap, ..Voting::default() };
        let found = decided(&voting, &members);
        let over = |a: (u32, u32), b: (u32, u32)| a.0 < b.1 && b.0 < a.1;
        let enough = |&&(start, len, _, _): &&(u32, u32, u16, usize)| {
            let who: std::collections::BTreeSet<usize> = spans
                .iter()
                .filter(|&&(s, l, _, _)| over((s, s + l), (start, start + len)))
                .map(|&(_, _, _, member)| member)
                .collect();
            who.len() >= threshold as usize
        };
        let kept: Vec<_> = spans.iter().filter(enough).collect();
        for byte in 0..TEXT.len() {
            let claimed = kept.iter().any(|&&(s, l, _, _)| (s as usize..(s + l) as usize).contains(&byte));
            let covered = found.iter().filter(|d| (d.0..d.1).contains(&byte)).count();
            prop_assert_eq!(covered, usize::from(claimed));
        }
    }

    #[test]
    fn deciding_each_run_of_overlapping_spans_by_itself_equals_deciding_all_at_once(
        spans in proptest::collection::vec((0u32..20, 1u32..6, 0u16..3, 0usize..3), 0..20),
        redact_uncovered: bool,
    ) {
        let mut by_member = vec![Vec::new(); 3];
        for &(start, len, label, member) in &spans {
            by_member[member].push((start, start + len, label));
        }
        let members: Vec<_> = by_member.iter().map(|s| says(s)).collect();
        let members: Vec<_> = members.iter().collect();
        let voting = Voting { redact_uncovered, ..Voting::default() };
        let mut candidates = voting.count(&members);
        voting.order(&mut candidates);
        let mut all = OverlapResolver::default();
        all.resolve(TEXT, candidates, redact_uncovered);
        prop_assert_eq!(voting.decide(TEXT, &members), all.into_decisions());
    }

    #[test]
    fn every_byte_that_reaches_the_threshold_is_decided_once(
        spans in proptest::collection::vec((0u32..20, 1u32..6, 0u16..3, 0usize..3), 0..20)
    ) {
        let mut by_member = vec![Vec::new(); 3];
        for &(start, len, label, member) in &spans {
            by_member[member].push((start, start + len, label));
        }
        let members: Vec<_> = by_member.iter().map(|s| says(s)).collect();
        let found = decided(&Voting::default(), &members);
        for byte in 0..TEXT.len() {
            let claimed = spans.iter().any(|&(s, l, _, _)| (s as usize..(s + l) as usize).contains(&byte));
            let covered = found.iter().filter(|d| (d.0..d.1).contains(&byte)).count();
            prop_assert_eq!(covered, usize::from(claimed));
        }
    }
}

#[test]
fn a_decision_names_the_rule_that_made_it() {
    let says = |spans: &[(u32, u32, f32)]| {
        let one = |&(start, end, score): &(u32, u32, f32)| Annotation {
            span: Span::between(start, end),
            label: LabelId(0),
            score,
            rule: "",
        };
        Annotations::new(TEXT, spans.iter().map(one).collect()).unwrap()
    };
    let voting = Voting {
        solo_min_scores: vec![0.9],
        require_corroboration: true,
        always_redact: MemberSet::default().with(2),
        always_min_score: 0.75,
        redact_uncovered: true,
        ..paper(2)
    };
    let members = [
        says(&[(0, 3, 0.5), (4, 6, 0.95), (14, 20, 0.95)]),
        says(&[(0, 3, 0.5), (14, 17, 0.5)]),
        says(&[(7, 9, 0.8), (10, 12, 0.5), (14, 17, 0.5)]),
    ];
    let decided: Vec<_> = voting
        .decide(TEXT, &members.iter().collect::<Vec<_>>())
        .iter()
        .map(|decision| (decision.span.start(), decision.deciding_rule))
        .collect();
    assert_eq!(
        decided,
        [
            (0, DecidingRule::Votes),
            (4, DecidingRule::SoloScore(0.9)),
            (7, DecidingRule::AlwaysRedact),
            (10, DecidingRule::AlwaysRedact),
            (14, DecidingRule::Votes),
            (17, DecidingRule::Uncovered),
        ]
    );
}
