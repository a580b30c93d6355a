use proptest::prelude::*;

use super::*;
use crate::{NoteBatch, Voting};

const TEXT: &str = "Ana Ruiz, seen by Dr. Gil on May 4";

fn says(spans: &[(u32, u32, f32)]) -> Annotations {
    let found = spans.iter().map(|&(start, end, score)| Annotation {
        span: Span::between(start, end),
        label: LabelId(0),
        score,
        rule: "",
    });
    Annotations::new(TEXT, found.collect()).unwrap()
}

fn vote(threshold: u32) -> Voting {
    Voting {
        threshold,
        redact_uncovered: false,
        ..Voting::default()
    }
}

/// Returns the names of the reasons for these decisions, if only members before `rules` are trained.
fn flagged(predictions: &[Annotations], rules: usize, decisions: &[Decision]) -> Vec<&'static str> {
    let batch = NoteBatch::from_texts([TEXT]).unwrap();
    let predictions: Vec<_> = predictions.iter().collect();
    let trained = TrainedMembers::from_fn(&LabelSet::i2b2_2014(), predictions.len(), |member, _| {
        member < rules
    });
    let review = ReviewRule::default().review(batch.note(0), &predictions, decisions, &[], &trained);
    assert_eq!(review.is_empty(), review.reasons().count() == 0);
    review.reasons().map(Reason::name).collect()
}

/// Returns the names of the reasons for the decisions of this vote of trained members.
fn reasons(voting: &Voting, predictions: &[Annotations]) -> Vec<&'static str> {
    let decisions = voting.decide(TEXT, &predictions.iter().collect::<Vec<_>>());
    flagged(predictions, predictions.len(), &decisions)
}

#[test]
fn a_span_is_narrow_if_the_mean_score_of_those_who_could_predict_it_is_low() {
    let none = || says(&[]);
    let three = |score| [says(&[(0, 8, score)]), none(), none()];
    assert_eq!(reasons(&vote(1), &three(0.7)), ["low_margin"]);
    assert!(reasons(&vote(1), &three(0.8)).is_empty());
}

#[test]
fn as_many_votes_as_were_needed_are_not_narrow() {
    let name = || says(&[(0, 8, 0.9)]);
    assert!(reasons(&vote(3), &[name(), name(), name()]).is_empty());
    assert!(reasons(&vote(2), &[name(), name(), says(&[])]).is_empty());
}

#[test]
fn members_that_are_not_trained_on_a_label_do_not_abstain() {
    let predictions = [says(&[(0, 8, 0.5)]), says(&[]), says(&[])];
    let decisions = vote(1).decide(TEXT, &predictions.iter().collect::<Vec<_>>());
    assert_eq!(flagged(&predictions, 3, &decisions), ["low_margin"]);
    assert!(flagged(&predictions, 1, &decisions).is_empty());
    // Neither do they where they vote without having been trained.
    assert!(flagged(&predictions, 0, &decisions).is_empty());
}

#[test]
fn an_overlapping_prediction_counts_as_agreement() {
    let predictions = [says(&[(0, 8, 0.6)]), says(&[(4, 8, 0.6)]), says(&[])];
    let decision = Decision {
        scores: vec![0.6],
        ..Decision::new(Span::between(0, 8), LabelId(0), MemberSet::default().with(0), 0.6)
    };
    assert!(flagged(&predictions, 3, std::slice::from_ref(&decision)).is_empty());
    assert_eq!(
        flagged(&[says(&[(0, 8, 0.6)]), says(&[]), says(&[])], 3, &[decision]),
        ["low_margin"]
    );
}

#[test]
fn only_spans_that_members_decided_about_are_narrow() {
    let of = |deciding_rule| {
        let decision = Decision {
            deciding_rule,
            ..Decision::new(Span::between(0, 8), LabelId(0), MemberSet::default(), 1.0)
        };
        !flagged(&[says(&[]), says(&[])], 2, &[decision]).is_empty()
    };
    for rule in [
        DecidingRule::Votes,
        DecidingRule::SoloScore(0.5),
        DecidingRule::Combiner,
    ] {
        assert!(of(rule), "{rule:?}");
    }
    for rule in [
        DecidingRule::AlwaysRedact,
        DecidingRule::UnionRules,
        DecidingRule::Uncovered,
        DecidingRule::Propagation,
        DecidingRule::Column,
    ] {
        assert!(!of(rule), "{rule:?}");
    }
}

#[test]
fn a_span_of_one_member_that_is_not_redacted_is_flagged_as_dropped() {
    let of = |score| {
        let others = || says(&[]);
        reasons(&vote(2), &[says(&[(22, 25, score)]), others(), others()])
    };
    assert_eq!(of(0.5), ["dropped"]);
    assert!(of(0.2).is_empty());
}

#[test]
fn an_uncovered_part_is_flagged_if_members_agree_about_the_part_and_punctuation_is_not() {
    let of = |wide: (u32, u32, f32), votes: usize| {
        let says = |member| says(&[if member < votes { wide } else { (4, 8, 0.9) }]);
        let five: Vec<_> = (0..5).map(says).collect();
        reasons(&vote(3), &five)
    };
    assert_eq!(of((0, 8, 0.9), 2), ["uncovered_part"]);
    assert!(of((0, 8, 0.9), 1).is_empty());
    assert!(of((3, 9, 0.9), 2).is_empty());
}

#[test]
fn a_low_score_of_a_fitted_combiner_is_narrow_if_that_is_turned_on() {
    let batch = NoteBatch::from_texts([TEXT]).unwrap();
    let predictions = [says(&[(0, 8, 1.0)])];
    let rule = ReviewRule {
        min_score: 0.6,
        ..ReviewRule::default()
    };
    let decided = |score| {
        let decision = Decision::new(
            Span::between(0, 8),
            LabelId(0),
            MemberSet::default().with(0),
            score,
        );
        let trained = TrainedMembers::default();
        let review = rule.review(batch.note(0), &[&predictions[0]], &[decision], &[], &trained);
        review.reasons().next()
    };
    assert_eq!(decided(0.59), Some(Reason::LowMargin));
    assert_eq!(decided(0.6), None);
}

#[test]
fn limits_are_read_from_configuration() {
    let rule: ReviewRule = toml::from_str("min_agreement = 0.5\ndropped_agreement = 2.0").unwrap();
    assert_eq!(
        (
            rule.min_agreement,
            rule.dropped_agreement,
            rule.uncovered_agreement
        ),
        (0.5, 2.0, 0.3)
    );
    assert!(toml::from_str::<ReviewRule>("margin = 2").is_err());
}

proptest! {
    #[test]
    fn a_note_is_flagged_for_a_span_exactly_if_a_letter_or_digit_of_it_stands(
        spans in proptest::collection::vec((0u32..30, 1u32..8), 0..5),
        predicted in (0u32..30, 1u32..8),
    ) {
        let clip = |(start, length): (u32, u32)| (start, (start + length).min(TEXT.len() as u32), 1.0);
        let of: Vec<_> = spans.iter().map(|&span| clip(span)).collect();
        let decided = [says(&of)];
        let decided: Vec<_> = decided.iter().collect();
        let mut decisions = Voting::default().decide(TEXT, &decided);
        for decision in &mut decisions {
            decision.deciding_rule = DecidingRule::Propagation;
        }
        let predicted = clip(predicted);
        let flags = flagged(&[says(&[predicted])], 1, &decisions);
        let covered = |at: usize| decisions.iter().any(|d| (d.span.start()..d.span.end()).contains(&at));
        let stands = (predicted.0 as usize..predicted.1 as usize)
            .any(|at| !covered(at) && TEXT.as_bytes()[at].is_ascii_alphanumeric());
        prop_assert_eq!(!flags.is_empty(), stands);
    }
}
