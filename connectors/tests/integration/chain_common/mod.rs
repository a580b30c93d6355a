//! Helpers of the chain tests: a log of synthetic notes, redacted by the real redactor.
#![allow(unreachable_pub, reason = "modules of tests")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

pub mod fields;
pub mod voted;

use std::sync::{Arc, LazyLock};

use arrow_array::RecordBatch;
use bytes::Bytes;
use lethe_connectors::sink::{ChainId, Encoding, Fingerprints, LaneWriter};
use lethe_connectors::store::Store;
use lethe_core::{
    Action, AuditBatch, Carried, CarriedField, Coordinates, Decision, LabelSet, MemberSet, NoteBatch,
    NoteEvent, Outcome, QuarantineCode, Record, RedactedBatch, Redactor, Span,
};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::KeyValue;
use sha2::{Digest as _, Sha256};

pub const TOPIC: &str = "notes-in";

pub fn chain() -> ChainId {
    ChainId::new(TOPIC, 3)
}

pub fn fingerprints() -> Fingerprints {
    Fingerprints {
        cluster: Some("cluster-1".into()),
        topic_id: Some("topic-1".into()),
        config: "c0ffee".into(),
        mode: Some("safe-harbor".into()),
        policy: "tag".into(),
        bundle: None,
        members: "pattern,known".into(),
        labels: "i2b2-2014 1".into(),
        dictionaries: "d1c7".into(),
        tokenizer: "1".into(),
        program: "0.1.0".into(),
        acknowledged: None,
        kept: None,
        derivation: None,
        scheme: None,
    }
}

/// Returns the record at this offset: usually a note, sometimes a tombstone or a quarantined event.
pub fn record(offset: i64) -> Record {
    let at = Coordinates {
        topic: Arc::from(TOPIC),
        partition: 3,
        offset,
    };
    match offset % 11 {
        5 => Record::Tombstone(at),
        8 => Record::Quarantined(at, QuarantineCode::InvalidPayload.into()),
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
    let carried = Carried::new(vec![
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
    let members = ["known".to_owned()];
    let (redacted, audit, _) = redactor.redact(labels, &members, &batch, &outcomes).unwrap();
    (redacted, audit)
}

/// Returns the redacted records at these offsets.
pub fn rows(offsets: impl IntoIterator<Item = i64>) -> (RedactedBatch, AuditBatch) {
    redact(offsets.into_iter().map(record))
}

/// Returns a writer at the end of a chain.
pub async fn open(store: &dyn Store) -> LaneWriter {
    LaneWriter::open(store, chain(), 0, fingerprints(), Encoding::default())
        .await
        .unwrap()
}

/// Appends rows of these offsets to the chain.
pub async fn write(store: &dyn Store, offsets: std::ops::Range<i64>) {
    let mut writer = open(store).await;
    let (notes, audit) = rows(offsets);
    writer.push(&notes, &audit).unwrap();
    writer.commit(store).await.unwrap();
}

/// Returns the SHA-256, hex.
pub fn digest(bytes: &[u8]) -> String {
    lethe_core::hex(&Sha256::digest(bytes))
}

/// Returns a Parquet file with other rows and another footer, as anybody with a Parquet tool could write it.
pub fn rewritten(
    file: &Bytes,
    rows: impl FnOnce(RecordBatch) -> RecordBatch,
    footer: impl FnOnce(&mut Vec<KeyValue>),
) -> Bytes {
    let builder = ParquetRecordBatchReaderBuilder::try_new(file.clone()).unwrap();
    let schema = Arc::clone(builder.schema());
    let pairs = builder.metadata().file_metadata().key_value_metadata();
    let mut pairs: Vec<KeyValue> = pairs.into_iter().flatten().cloned().collect();
    pairs.retain(|pair| pair.key.starts_with("lethe."));
    footer(&mut pairs);
    let batches: Vec<RecordBatch> = builder.build().unwrap().map(Result::unwrap).collect();
    let whole = arrow_select::concat::concat_batches(&schema, &batches).unwrap();
    let rows = rows(whole);
    let mut writer = ArrowWriter::try_new(Vec::new(), rows.schema(), None).unwrap();
    writer.write(&rows).unwrap();
    pairs
        .into_iter()
        .for_each(|pair| writer.append_key_value_metadata(pair));
    writer.into_inner().unwrap().into()
}

/// Sets a pair of a footer.
pub fn set(pairs: &mut Vec<KeyValue>, key: &str, value: impl Into<String>) {
    pairs.retain(|pair| pair.key != key);
    pairs.push(KeyValue::new(key.to_owned(), value.into()));
}

/// Returns every file of a store by name.
pub async fn files(store: &dyn Store) -> Vec<(String, Bytes)> {
    let mut files = Vec::new();
    for object in store.list("").await.unwrap() {
        files.push((object.name.clone(), store.read(&object.name).await.unwrap()));
    }
    files
}

/// Returns a store with these files.
pub async fn store_of(files: &[(String, Bytes)]) -> lethe_connectors::store::Memory {
    let store = lethe_connectors::store::Memory::default();
    for (name, bytes) in files {
        store.create(name, bytes.clone()).await.unwrap();
    }
    store
}
