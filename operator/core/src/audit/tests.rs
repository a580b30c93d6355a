use arrow_array::StructArray;
use arrow_array::cast::AsArray;
use arrow_array::types::Float32Type;

use super::*;
use crate::{Annotation, Annotations, Carried, LabelId, Redactor, Span, Voting};

#[test]
fn a_row_has_votes_scores_votes_needed_and_overruled_spans() {
    let (labels, text) = (LabelSet::i2b2_2014(), "Ana Ruiz came");
    let (patient, city) = (
        labels.by_name("PATIENT").unwrap(),
        labels.by_name("CITY").unwrap(),
    );
    let says = |end, label: LabelId, score| {
        let annotation = Annotation {
            span: Span::between(0, end),
            label,
            score,
            rule: "",
        };
        Annotations::new(text, vec![annotation]).unwrap()
    };
    let predictions = [says(8, patient, 0.75), says(3, city, 0.5), says(8, patient, 0.25)];
    let voting = Voting {
        redact_uncovered: false,
        ..Voting::default()
    };
    let decisions = voting.decide(text, &predictions.iter().collect::<Vec<_>>());
    let redactor = Redactor::new(&labels, crate::Action::Tag, Carried::default());
    let batch = NoteBatch::from_texts([text]).unwrap();
    let names = ["a", "b", "c"].map(str::to_owned);
    let (_, audit, _) = redactor
        .redact(&labels, &names, &batch, &[Ok(decisions)])
        .unwrap();
    let record = audit.record();
    let column = |name: &str| record.column_by_name(name).unwrap();
    assert_eq!(column("members").as_string::<i32>().value(0), "a,c");
    assert_eq!(
        column("needed")
            .as_primitive::<arrow_array::types::UInt32Type>()
            .value(0),
        1
    );
    assert_eq!(column("deciding_rule").as_string::<i32>().value(0), "votes");
    assert!(column("solo_min_score").is_null(0));
    let scores = column("scores").as_list::<i32>().value(0);
    assert_eq!(scores.as_primitive::<Float32Type>().values(), &[0.75, 0.25]);
    let lost = column("beat").as_list::<i32>().value(0);
    let lost: &StructArray = lost.as_struct();
    assert_eq!(lost.len(), 1);
    let of = |name: &str| {
        lost.column_by_name(name)
            .unwrap()
            .as_string::<i32>()
            .value(0)
            .to_owned()
    };
    assert_eq!((of("label"), of("members")), ("CITY".to_owned(), "b".to_owned()));
}

#[test]
fn a_row_has_the_score_from_which_one_vote_sufficed() {
    let (labels, text) = (LabelSet::i2b2_2014(), "Ana Ruiz came");
    let annotation = Annotation {
        span: Span::between(0, 8),
        label: LabelId(0),
        score: 0.75,
        rule: "",
    };
    let predictions = [
        Annotations::new(text, vec![annotation]).unwrap(),
        Annotations::default(),
    ];
    let voting = Voting {
        threshold: 2,
        solo_min_scores: vec![0.5],
        ..Voting::default()
    };
    let decisions = voting.decide(text, &predictions.iter().collect::<Vec<_>>());
    let redactor = Redactor::new(&labels, crate::Action::Tag, Carried::default());
    let batch = NoteBatch::from_texts([text]).unwrap();
    let names = ["a", "b"].map(str::to_owned);
    let (_, audit, _) = redactor
        .redact(&labels, &names, &batch, &[Ok(decisions)])
        .unwrap();
    let column = |name: &str| audit.record().column_by_name(name).unwrap();
    let rules = column("deciding_rule").as_string::<i32>();
    assert_eq!(rules.iter().collect::<Vec<_>>(), [Some("solo_score")]);
    let scores = column("solo_min_score").as_primitive::<Float32Type>();
    assert_eq!(scores.iter().collect::<Vec<_>>(), [Some(0.5)]);
}

#[test]
fn the_rows_of_a_long_note_are_those_of_its_decisions_whether_they_are_reserved_or_not() {
    let labels = LabelSet::i2b2_2014();
    let text = "Ana ".repeat(MANY + 9);
    let decision = |i: usize| {
        let start = 4 * i as u32;
        Decision {
            scores: vec![0.25, i as f32],
            overruled: vec![crate::OverruledSpan::of(&Decision::new(
                Span::between(start, start + 2),
                LabelId(1),
                MemberSet::default().with(1),
                0.5,
            ))],
            ..Decision::new(
                Span::between(start, start + 3),
                LabelId(0),
                MemberSet::default().with(0).with(1),
                0.75,
            )
        }
    };
    let all: Vec<Decision> = (0..MANY + 9).map(decision).collect();
    let redactor = Redactor::new(&labels, crate::Action::Tag, Carried::default());
    let names = ["a", "b"].map(str::to_owned);
    let audit = |texts: &[&str], outcomes: &[crate::Outcome]| {
        let batch = NoteBatch::from_texts(texts.iter().copied()).unwrap();
        redactor.redact(&labels, &names, &batch, outcomes).unwrap()
    };
    let (rows, alone, _) = audit(&[&text], &[Ok(all.clone())]);
    // Behind another note its rows are not reserved, and its text is copied.
    let (both, after, _) = audit(&["Ana", &text], &[Ok(vec![decision(0)]), Ok(all)]);
    let after = after.record().slice(1, MANY + 9);
    for column in ["start", "out_end", "label", "members", "scores", "beat", "rule"] {
        let of = |record: &RecordBatch| record.column_by_name(column).unwrap().to_data();
        assert_eq!(of(alone.record()), of(&after), "{column}");
    }
    for column in ["text", "redactions", "message", "row_kind"] {
        let of = |record: &RecordBatch| record.column_by_name(column).unwrap().to_data();
        assert_eq!(of(rows.record()), of(&both.record().slice(1, 1)), "{column}");
    }
}
