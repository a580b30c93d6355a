//! Chains with files of earlier versions, which have unsigned numbers of 32 bits and no field ids, and files of this one.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use crate::chain_common;

use arrow_schema::Fields;
use lethe_connectors::inspect::{Place, Report, Scope, inspect_within, summarise, why};
use lethe_connectors::replay::{ReplayName, Selection};
use lethe_connectors::sink::{FieldIds, read_footer, stored_schema};
use lethe_connectors::store::{Memory, Store};
use lethe_core::{AuditBatch, RedactedBatch};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::chain_erase::erase;
use crate::chain_replay::{mended, replay, select};
use chain_common::{chain, digest, rewritten, rows, set, write};

/// Appends a file as versions before signed numbers wrote it.
async fn write_as_before(store: &Memory, offsets: std::ops::Range<i64>) {
    write(store, offsets.clone()).await;
    let notes_name = chain().notes_name(offsets.start);
    let audit_name = audit_of(store, offsets.start).await;
    // Files had the types that rows have in memory.
    let (notes, audit) = rows(offsets);
    let old = |rows: arrow_array::RecordBatch| move |_| rows;
    let bytes = store.read(&audit_name).await.unwrap();
    let audit = rewritten(&bytes, old(audit.record().clone()), |_| ());
    let bytes = store.read(&notes_name).await.unwrap();
    let notes = rewritten(&bytes, old(notes.record().clone()), |pairs| {
        set(pairs, "lethe.audit_digest", digest(&audit));
    });
    for (name, bytes) in [(audit_name, audit), (notes_name, notes)] {
        let version = store.look(&name).await.unwrap().version;
        store.replace(&name, bytes, &version).await.unwrap();
    }
}

/// Returns a chain of two files of an earlier version and one of this one, from offsets 0, 20 and 40.
async fn upgraded() -> Memory {
    let store = Memory::default();
    write_as_before(&store, 0..20).await;
    write_as_before(&store, 20..40).await;
    write(&store, 40..60).await;
    store
}

async fn audit_of(store: &dyn Store, first: i64) -> String {
    let footer = read_footer(store, &chain().notes_name(first)).await.unwrap();
    footer.audit.unwrap()
}

/// Returns the columns of a file, with their field ids.
async fn columns(store: &dyn Store, name: &str) -> Fields {
    let bytes = store.read(name).await.unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes).unwrap();
    reader.schema().fields().clone()
}

/// Returns the columns of the notes and of the audit of a file.
async fn both(store: &dyn Store, first: i64) -> (Fields, Fields) {
    let audit = audit_of(store, first).await;
    (
        columns(store, &chain().notes_name(first)).await,
        columns(store, &audit).await,
    )
}

fn new() -> (Fields, Fields) {
    let notes = stored_schema(&RedactedBatch::schema(), FieldIds::NOTES);
    let audit = stored_schema(&AuditBatch::schema(), FieldIds::AUDIT);
    (notes.fields().clone(), audit.fields().clone())
}

fn old() -> (Fields, Fields) {
    (
        RedactedBatch::schema().fields().clone(),
        AuditBatch::schema().fields().clone(),
    )
}

async fn look(store: &dyn Store) -> Report {
    let scope = Scope {
        audit: true,
        ..Scope::default()
    };
    inspect_within(store, scope, |_| {}).await.unwrap()
}

#[tokio::test]
async fn a_chain_goes_on_after_an_upgrade_and_is_intact() {
    let store = upgraded().await;
    assert_eq!(both(&store, 20).await, old());
    assert_eq!(both(&store, 40).await, new());
    let report = look(&store).await;
    assert!(report.is_intact(), "{report}");
    assert_eq!((report.chains[0].files, report.chains[0].next), (3, 60));
    // Each note has one redaction, whatever the type of its count.
    let summary = summarise(&store, |_| {}).await.unwrap();
    assert_eq!(summary.without_findings, 0);
    assert_eq!(summary.replaced["PATIENT"]["tag"], report.chains[0].notes);
    for offset in [21, 43] {
        let place = Place {
            chain: chain(),
            offset,
            byte: None,
            field: None,
        };
        let why = why(&store, &place).await.unwrap().unwrap();
        assert_eq!(why.spans.len(), 1, "{offset}");
    }
}

#[tokio::test]
async fn an_erasure_keeps_the_types_and_the_field_ids_of_each_file() {
    let store = upgraded().await;
    let record = erase(&store, &[21, 43]).await;
    assert_eq!(record.files.len(), 4);
    assert_eq!(both(&store, 20).await, old());
    assert_eq!(both(&store, 40).await, new());
    let report = look(&store).await;
    assert!(report.is_intact(), "{report}");
    assert_eq!(report.chains[0].erased, 2);
}

#[tokio::test]
async fn a_replay_of_an_earlier_file_has_the_types_and_the_field_ids_of_a_chain() {
    let store = upgraded().await;
    for of in select(&store, &Selection::default()).await {
        let records = of.offsets.iter().map(|&offset| mended(offset));
        replay(&store, &of, "a", records.collect()).await;
    }
    let report = look(&store).await;
    assert!(report.is_intact(), "{report}");
    let (notes, audit) = new();
    for (folder, columns_of) in [
        (ReplayName::NOTES_FOLDER, notes),
        (ReplayName::AUDIT_FOLDER, audit),
    ] {
        let files = store.list(folder).await.unwrap();
        assert_eq!(files.len(), 3, "{folder}");
        for file in files {
            assert_eq!(columns(&store, &file.name).await, columns_of, "{}", file.name);
        }
    }
}
