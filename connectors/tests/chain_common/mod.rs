//! What the tests of chains share: a log of invented notes, redacted by the real redactor.
#![allow(dead_code, unreachable_pub, reason = "each test takes what it needs")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::sync::{Arc, LazyLock};

use lethe_connectors::sink::{ChainId, Encoding, Fingerprints, LaneWriter};
use lethe_connectors::store::Store;
use lethe_core::{
    Action, AuditBatch, Carried, CarriedField, Coordinates, Decision, LabelSet, MemberSet, NoteBatch,
    NoteEvent, Outcome, QuarantineCode, Record, RedactedBatch, Redactor, Span,
};

pub const TOPIC: &str = "notes-in";

pub fn chain() -> ChainId {
    ChainId::new(TOPIC, 3)
}

pub fn fingerprints() -> Fingerprints {
    Fingerprints {
        cluster: Some("cluster-1".into()),
        topic_id: Some("topic-1".into()),
        config: "c0ffee".into(),
        policy: "tag".into(),
        bundle: None,
        members: "pattern,known".into(),
        labels: "i2b2-2014 1".into(),
        dictionaries: "d1c7".into(),
        tokenizer: "1".into(),
        program: "0.1.0".into(),
    }
}

/// The record at this offset: notes, and now and then a tombstone or a quarantined event.
pub fn record(offset: i64) -> Record {
    let at = Coordinates {
        topic: Arc::from(TOPIC),
        partition: 3,
        offset,
    };
    match offset % 11 {
        5 => Record::Tombstone(at),
        8 => Record::Quarantined(at, QuarantineCode::InvalidPayload),
        _ => Record::Note(NoteEvent {
            at,
            note_id: format!("note-{offset}").into(),
            patient_id: Some(format!("patient-{offset}").into()),
            note_type: Some("Progress note".into()),
            authored_at: Some(1_700_000_000_000 + offset),
            text: format!("Greta Lindqvist was seen again, visit {offset}. She sleeps well.").into(),
            ..NoteEvent::default()
        }),
    }
}

/// Redacts records: the first fifteen bytes of each note, which are its name.
pub fn redact(records: impl IntoIterator<Item = Record>) -> (RedactedBatch, AuditBatch) {
    static LABELS: LazyLock<LabelSet> = LazyLock::new(LabelSet::i2b2_2014);
    let labels = &*LABELS;
    let carried = Carried(vec![
        CarriedField::NoteId,
        CarriedField::Version,
        CarriedField::NoteType,
        CarriedField::PatientId,
        CarriedField::AuthoredAt,
    ]);
    let redactor = Redactor::new(labels, Action::Tag, carried);
    let batch = NoteBatch::from_records(records).unwrap();
    let outcomes: Vec<Outcome> = batch
        .notes()
        .map(|note| {
            Ok(if note.text.is_empty() {
                Vec::new()
            } else {
                vec![Decision::new(
                    Span::between(0, 15),
                    labels.by_name("PATIENT").unwrap(),
                    MemberSet::default().with(0),
                    1.0,
                )]
            })
        })
        .collect();
    redactor
        .redact(labels, &["known".to_owned()], &batch, &outcomes)
        .unwrap()
}

/// The redacted records at these offsets.
pub fn rows(offsets: impl IntoIterator<Item = i64>) -> (RedactedBatch, AuditBatch) {
    redact(offsets.into_iter().map(record))
}

/// A writer of the chain as it stands in a store.
pub async fn open(store: &dyn Store) -> LaneWriter {
    LaneWriter::open(store, chain(), 0, fingerprints(), Encoding::default())
        .await
        .unwrap()
}

/// Puts rows of these offsets at the end of the chain.
pub async fn write(store: &dyn Store, offsets: std::ops::Range<i64>) {
    let mut writer = open(store).await;
    let (notes, audit) = rows(offsets);
    writer.push(&notes, &audit).unwrap();
    writer.commit(store).await.unwrap();
}
