use super::*;
use crate::{Action, LabelId, Pace, TagError, Voting, tag_each};
use arrow_array::Array;
use arrow_array::cast::AsArray;

/// Tags the word "Ana"; panics, fails or returns an invalid span on three other words.
struct Moody;

impl Tagger for Moody {
    fn name(&self) -> &str {
        "moody"
    }

    fn tag(&self, batch: &NoteBatch) -> Vec<Result<Annotations, TagError>> {
        if batch.notes().any(|note| note.text.contains("fail")) && batch.len() == 1 {
            return vec![Err(TagError::Failed("out of sorts"))];
        }
        tag_each(batch, |note, out| {
            for i in 0..note.tokens.len() {
                match note.word(i) {
                    "Ana" => out.tokens(i, i, LabelId(0), 1.0, "moody.ana"),
                    "panic" => panic!("as asked"),
                    "stray" => out.span(crate::Span::between(0, 9999), LabelId(0), 1.0, ""),
                    _ => {}
                }
            }
        })
    }
}

fn engine() -> Engine {
    let labels = Arc::new(LabelSet::i2b2_2014());
    let redactor = Redactor::new(&labels, Action::Tag, Carried::default());
    Engine::new(
        labels,
        vec![Arc::new(Moody)],
        Arc::new(Voting::default()),
        Merging::default(),
        redactor,
    )
}

#[test]
fn a_panic_or_a_stray_span_costs_only_its_own_note() {
    let batch = NoteBatch::from_texts(["Ana fell.", "panic", "stray", "Ana Ana left."]).unwrap();
    let done = engine().process(&batch).unwrap();
    let text = done
        .redacted
        .record()
        .column_by_name("text")
        .unwrap()
        .as_string::<i32>();
    assert_eq!(text.value(0), "[PATIENT] fell.");
    assert!(text.is_null(1) && text.is_null(2));
    assert_eq!(text.value(3), "[PATIENT] left.");
    let errors = done
        .redacted
        .record()
        .column_by_name("error")
        .unwrap()
        .as_string::<i32>();
    assert_eq!(
        (errors.value(1), errors.value(2)),
        ("member_panic", "invalid_span")
    );
    assert_eq!(done.quarantined.len(), 2);
}

/// Allows spans to take this many bytes.
#[derive(Debug)]
struct Room(usize);

impl Pace for Room {
    fn advance(&self) -> bool {
        true
    }

    fn allow(&self, bytes: usize) -> bool {
        bytes <= self.0
    }
}

#[test]
fn a_note_whose_spans_take_too_much_is_quarantined_at_whatever_stage_they_do() {
    let plain = engine();
    let propagating = engine().propagating(Some(Propagation::new(plain.labels(), Arc::new(|_| false))));
    let quarantined = |engine: &Engine, text: &str, room: usize| {
        let batch = NoteBatch::from_texts([text]).unwrap().paced(Arc::new(Room(room)));
        engine.process(&batch).unwrap().quarantined
    };
    let over = vec![QuarantineCode::OverBudget];
    // Three annotations; then three candidates as well.
    assert_eq!(quarantined(&plain, "Ana Ana Ana", 100), over);
    assert_eq!(quarantined(&plain, "Ana Ana Ana", 500), over);
    assert_eq!(quarantined(&plain, "Ana Ana Ana", 10_000), []);
    // One decision, and two that propagation would add.
    assert_eq!(quarantined(&plain, "Ana. ANA. ANA.", 1_000), []);
    assert_eq!(quarantined(&propagating, "Ana. ANA. ANA.", 1_000), over);
    assert_eq!(quarantined(&propagating, "Ana. ANA. ANA.", 10_000), []);
}

#[test]
fn a_note_that_a_member_was_outvoted_on_is_flagged_and_a_quarantined_one_is_not() {
    let both = Voting {
        threshold: 2,
        ..Voting::default()
    };
    let mut engine = engine();
    engine.ensembles[0].combiner = Arc::new(both);
    let texts = ["Ana fell.", "panic", "Nobody fell.", "stray"];
    let done = engine.process(&NoteBatch::from_texts(texts).unwrap()).unwrap();
    let review = done.redacted.record().column_by_name("review").unwrap();
    let told: Vec<_> = review.as_string::<i32>().iter().collect();
    assert_eq!(told, [Some("dropped"), None, None, None]);
    let lax = engine.reviewing(ReviewRule {
        dropped_agreement: 2.0,
        ..ReviewRule::default()
    });
    let done = lax.process(&NoteBatch::from_texts(texts).unwrap()).unwrap();
    let review = done.redacted.record().column_by_name("review").unwrap();
    assert_eq!(review.null_count(), 4);
}

#[test]
fn a_value_that_is_an_identifier_is_replaced_whole_and_the_audit_says_so() {
    let engine = engine();
    let label = engine.labels().by_name("MEDICALRECORD").unwrap();
    let batch = NoteBatch::from_texts(["00-12 ", "", "Ana"]).unwrap();
    let done = engine.replace(&batch, label).unwrap();
    let text = done.redacted.record().column_by_name("text").unwrap();
    let told: Vec<_> = text.as_string::<i32>().iter().flatten().collect();
    assert_eq!(told, ["[MEDICALRECORD]", "", "[MEDICALRECORD]"]);
    let rules = done.audit.record().column_by_name("rule").unwrap();
    assert_eq!(
        rules.as_string::<i32>().iter().flatten().collect::<Vec<_>>(),
        ["column", "column"]
    );
}

#[test]
fn the_audit_names_member_and_rule_and_holds_no_text() {
    let batch = NoteBatch::from_texts(["Seen: Ana."]).unwrap();
    let audit = engine().process(&batch).unwrap().audit;
    let value = |name: &str| {
        audit
            .record()
            .column_by_name(name)
            .unwrap()
            .as_string::<i32>()
            .value(0)
            .to_owned()
    };
    assert_eq!(
        (value("label"), value("members"), value("rule")),
        ("PATIENT".into(), "moody".into(), "moody.ana".into())
    );
    assert_eq!(audit.len(), 1);
}
