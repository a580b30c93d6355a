//! Notes with votes of three members, and their audit.

use lethe_connectors::store::Memory;
use lethe_core::{
    Action, Annotation, Annotations, AuditBatch, Carried, Coordinates, LabelSet, NoteBatch, NoteEvent,
    Record, RedactedBatch, Redactor, Span, Voting,
};

use super::{chain, open};

pub const MEMBERS: [&str; 3] = ["known", "pattern", "gazetteer"];

/// Notes of these texts and the predictions of each member: start, end, label, score.
pub type NotePredictions = (&'static str, [Vec<(u32, u32, &'static str, f32)>; 3]);

/// Redacts notes from offset 0 on, as the vote decides.
pub fn voted(notes: &[NotePredictions]) -> (RedactedBatch, AuditBatch) {
    let labels = LabelSet::i2b2_2014();
    let events = notes.iter().enumerate().map(|(offset, (text, _))| {
        Record::Note(NoteEvent {
            at: Coordinates {
                topic: chain().topic,
                partition: chain().partition,
                offset: offset as i64,
            },
            text: (*text).into(),
            ..NoteEvent::default()
        })
    });
    let batch = NoteBatch::from_records(events).unwrap();
    let decide = |(text, predictions): &NotePredictions| {
        let predictions = predictions.each_ref().map(|spans| {
            let annotation = |&(start, end, label, score): &(u32, u32, &str, f32)| Annotation {
                span: Span::between(start, end),
                label: labels.by_name(label).unwrap(),
                score,
                rule: if score == 1.0 { "exact" } else { "" },
            };
            Annotations::new(text, spans.iter().map(annotation).collect()).unwrap()
        });
        Ok(Voting::default().decide(text, &predictions.each_ref()))
    };
    let outcomes: Vec<_> = notes.iter().map(decide).collect();
    let redactor = Redactor::new(&labels, Action::Tag, Carried::default());
    let members = MEMBERS.map(str::to_owned);
    let (redacted, audit, _) = redactor.redact(&labels, &members, &batch, &outcomes).unwrap();
    (redacted, audit)
}

pub fn notes() -> Vec<NotePredictions> {
    vec![
        (
            "Seen: Ana Ruiz of Reus.",
            [
                vec![(6, 14, "PATIENT", 1.0)],
                vec![(6, 14, "PATIENT", 0.75)],
                vec![(6, 9, "CITY", 0.5), (18, 22, "CITY", 0.5)],
            ],
        ),
        ("Sleeps well.", [vec![], vec![], vec![]]),
        (
            "Call 555-0142 now.",
            [vec![], vec![(5, 13, "PHONE", 1.0)], vec![]],
        ),
    ]
}

pub async fn store() -> Memory {
    let store = Memory::default();
    let mut writer = open(&store).await;
    let (notes, audit) = voted(&notes());
    writer.push(&notes, &audit).unwrap();
    writer.commit(&store).await.unwrap();
    store
}
