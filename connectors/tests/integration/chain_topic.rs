//! Compares a dataset with its records: lost, duplicated, unordered, half-redacted and foreign rows are found
//! at their offsets.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use crate::chain_common;

use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::{Array as _, Int32Array, RecordBatch, StringArray, UInt32Array};
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;
use lethe_connectors::inspect::{Compared, Findings, Log, Original, PartitionReport, chain_files};
use lethe_connectors::sink::bridge;
use lethe_connectors::store::{Memory, Store as _};
use lethe_core::Record;

use chain_common::{chain, fingerprints, record, rewritten, set, write};

/// Compares a changed chain of three files over offsets 0 to 12 with a log of this many records.
async fn compared(
    log: Log,
    change: impl Fn(&str, RecordBatch) -> RecordBatch,
    missing: &[i64],
) -> PartitionReport {
    let store = Memory::default();
    for offsets in [0..4, 4..9, 9..12] {
        write(&store, offsets).await;
    }
    let changed = Memory::default();
    for object in store.list("").await.unwrap() {
        let bytes = store.read(&object.name).await.unwrap();
        let bytes = match object.name.starts_with("notes/") {
            false => bytes,
            true => rewritten(
                &bytes,
                |rows| change(&object.name, rows),
                count_rows(&bytes, &object.name, &change),
            ),
        };
        changed.create(&object.name, bytes).await.unwrap();
    }
    against(&changed, log, missing).await
}

/// Makes a footer count the changed rows, as an attacker would.
fn count_rows<'a>(
    bytes: &'a bytes::Bytes,
    name: &'a str,
    change: &'a impl Fn(&str, RecordBatch) -> RecordBatch,
) -> impl FnOnce(&mut Vec<parquet::file::metadata::KeyValue>) + 'a {
    move |pairs| {
        let mut rows = None;
        rewritten(
            bytes,
            |batch| {
                let changed = change(name, batch);
                rows = Some(changed.clone());
                changed
            },
            |_| {},
        );
        let rows = rows.unwrap();
        let kinds = rows["row_kind"].as_string::<i32>();
        let count = |kind: &str| kinds.iter().filter(|of| *of == Some(kind)).count().to_string();
        let number = |pairs: &[parquet::file::metadata::KeyValue], key: &str| -> i64 {
            let pair = pairs.iter().find(|pair| pair.key == key).unwrap();
            pair.value.as_deref().unwrap().parse().unwrap()
        };
        let span = number(pairs, "lethe.next_offset") - number(pairs, "lethe.first_offset");
        let length = rows.num_rows() as i64;
        set(pairs, "lethe.rows", length.to_string());
        // The footer makes room for an additional row.
        set(pairs, "lethe.skipped", (span - length).max(0).to_string());
        if length > span {
            let next = number(pairs, "lethe.first_offset") + length;
            set(pairs, "lethe.next_offset", next.to_string());
        }
        set(pairs, "lethe.notes", count("note"));
        set(pairs, "lethe.tombstones", count("tombstone"));
        set(pairs, "lethe.quarantined", count("quarantined"));
    }
}

async fn against(store: &Memory, log: Log, missing: &[i64]) -> PartitionReport {
    let files = chain_files(store)
        .await
        .unwrap()
        .remove(&chain())
        .unwrap_or_default();
    let mut compared = Compared::new(store, chain(), &files, log);
    for offset in (log.low..log.high).filter(|offset| !missing.contains(offset)) {
        let original = match record(offset) {
            Record::Note(event) => Original::Note {
                note_id: event.note_id,
                text: event.text,
                structured: false,
            },
            Record::Tombstone(_) => Original::Tombstone,
            Record::Quarantined(..) => Original::Unread("payload_not_readable"),
        };
        compared.record(offset, &original).await.unwrap();
    }
    let (mut report, suspects) = compared.finish().await.unwrap();
    let ids = (log.low..log.high)
        .map(|offset| format!("note-{offset}"))
        .collect();
    report.resolve(&suspects, &ids);
    report
}

const LOG: Log = Log { low: 0, high: 12 };

fn offsets(found: &Findings) -> Vec<i64> {
    found.at.iter().flat_map(|one| one.from..one.to).collect()
}

fn counts(report: &PartitionReport) -> [u64; 5] {
    [
        &report.lost,
        &report.duplicated,
        &report.reordered,
        &report.half_redacted,
        &report.foreign,
    ]
    .map(|found| found.count)
}

fn is_first(name: &str) -> bool {
    name.ends_with("00000000.parquet")
}

fn taken(rows: &RecordBatch, order: &[u32]) -> RecordBatch {
    take_record_batch(rows, &UInt32Array::from(order.to_vec())).unwrap()
}

fn with(rows: &RecordBatch, column: &str, values: arrow_array::ArrayRef) -> RecordBatch {
    let mut columns = rows.columns().to_vec();
    columns[rows.schema().index_of(column).unwrap()] = values;
    RecordBatch::try_new(rows.schema(), columns).unwrap()
}

/// Returns a column of strings with another value in one row.
fn changed(rows: &RecordBatch, column: &str, at: usize, value: Option<&str>) -> RecordBatch {
    let old = rows[column].as_string::<i32>();
    let values = (0..old.len()).map(|row| match row == at {
        true => value.map(str::to_owned),
        false => old.is_valid(row).then(|| old.value(row).to_owned()),
    });
    with(rows, column, Arc::new(StringArray::from_iter(values)))
}

#[tokio::test]
async fn a_dataset_that_nobody_changed_agrees_with_its_topic() {
    let report = compared(LOG, |_, rows| rows, &[]).await;
    assert!(report.is_intact(), "{report}");
    assert_eq!((report.records, report.rows, report.texts), (12, 12, 10));
}

#[tokio::test]
async fn a_row_that_was_removed_is_lost() {
    let report = compared(
        LOG,
        |name, rows| {
            if is_first(name) {
                taken(&rows, &[0, 1, 3])
            } else {
                rows
            }
        },
        &[],
    )
    .await;
    assert_eq!(
        (counts(&report), offsets(&report.lost)),
        ([1, 0, 0, 0, 0], vec![2]),
        "{report}"
    );
}

#[tokio::test]
async fn an_offset_without_a_record_is_no_loss_and_its_row_is_counted() {
    let report = compared(LOG, |_, rows| rows, &[2, 3]).await;
    assert!(report.is_intact() && report.without_record == 2, "{report}");
    let report = compared(
        LOG,
        |name, rows| {
            if is_first(name) {
                taken(&rows, &[0, 1, 3])
            } else {
                rows
            }
        },
        &[2],
    )
    .await;
    assert!(report.is_intact(), "{report}");
}

#[tokio::test]
async fn a_row_that_is_there_twice_is_duplicated() {
    let twice = |name: &str, rows: RecordBatch| match is_first(name) {
        true => concat_batches(&rows.schema(), [&rows.slice(0, 2), &rows.slice(1, 3)]).unwrap(),
        false => rows,
    };
    let report = compared(LOG, twice, &[]).await;
    assert_eq!(counts(&report), [0, 1, 0, 0, 0], "{report}");
    assert_eq!(offsets(&report.duplicated), [1]);
}

#[tokio::test]
async fn rows_in_another_order_are_reordered_and_none_is_lost() {
    let turned = |name: &str, rows: RecordBatch| match is_first(name) {
        true => taken(&rows, &[0, 2, 1, 3]),
        false => rows,
    };
    let report = compared(LOG, turned, &[]).await;
    assert_eq!(counts(&report), [0, 0, 1, 0, 0], "{report}");
    assert_eq!((offsets(&report.reordered), report.texts), (vec![1], 10));
}

#[tokio::test]
async fn a_value_that_was_put_back_is_half_redacted_whether_or_not_its_length_fits() {
    for (put_back, why) in [
        (
            "Greta Lindqvist was seen again, visit 1. She sleeps well.",
            "original_stands",
        ),
        (
            "[PATIENT] was seen again, visit 7. She sleeps well.",
            "kept_text_differs",
        ),
        ("[PATI", "span_out_of_text"),
    ] {
        let report = compared(
            LOG,
            |name, rows| {
                if is_first(name) {
                    changed(&rows, "text", 1, Some(put_back))
                } else {
                    rows
                }
            },
            &[],
        )
        .await;
        assert_eq!(counts(&report), [0, 0, 0, 1, 0], "{report}");
        assert_eq!(
            (report.half_redacted.at[0].from, report.half_redacted.at[0].why),
            (1, why)
        );
        assert!(!report.to_string().contains("Greta"), "{report}");
    }
    let empty = |name: &str, rows: RecordBatch| match is_first(name) {
        true => changed(&rows, "text", 1, None),
        false => rows,
    };
    let report = compared(LOG, empty, &[]).await;
    assert_eq!(report.half_redacted.at[0].why, "no_text", "{report}");
}

#[tokio::test]
async fn a_note_of_another_offset_is_a_duplicate_and_one_of_another_topic_is_foreign() {
    for (id, expected) in [("note-3", [0, 1, 0, 0, 0]), ("elsewhere-9", [0, 0, 0, 0, 1])] {
        let report = compared(
            LOG,
            |name, rows| {
                if is_first(name) {
                    changed(&rows, "note_id", 1, Some(id))
                } else {
                    rows
                }
            },
            &[],
        )
        .await;
        assert_eq!(counts(&report), expected, "{report}");
    }
    let partition = |name: &str, rows: RecordBatch| match is_first(name) {
        true => with(&rows, "partition", Arc::new(Int32Array::from(vec![3, 3, 8, 3]))),
        false => rows,
    };
    let report = compared(LOG, partition, &[]).await;
    assert_eq!(offsets(&report.foreign), [2], "{report}");
}

#[tokio::test]
async fn records_after_the_chain_are_pending_and_rows_after_the_log_are_foreign() {
    let report = compared(Log { low: 0, high: 20 }, |_, rows| rows, &[]).await;
    assert!(report.is_intact() && report.pending == 8, "{report}");
    let report = compared(Log { low: 0, high: 10 }, |_, rows| rows, &[]).await;
    assert_eq!(offsets(&report.foreign), [10, 11], "{report}");
    let report = compared(Log { low: 5, high: 12 }, |_, rows| rows, &[]).await;
    assert!(report.is_intact() && report.before_log == 5, "{report}");
}

#[tokio::test]
async fn a_file_that_is_gone_is_lost_and_a_gap_that_was_declared_is_not() {
    let store = Memory::default();
    write(&store, 0..4).await;
    bridge(&store, &chain(), 4, 7, "expired", &fingerprints())
        .await
        .unwrap();
    write(&store, 7..9).await;
    write(&store, 9..12).await;
    let report = against(&store, LOG, &[]).await;
    assert!(report.is_intact() && report.bridged == 3, "{report}");
    store.delete(&chain().notes_name(7)).await.unwrap();
    let report = against(&store, LOG, &[]).await;
    assert_eq!(offsets(&report.lost), [7, 8], "{report}");
}

#[tokio::test]
async fn files_that_changed_their_names_are_reordered_and_nothing_is_lost() {
    let store = Memory::default();
    for offsets in [0..4, 4..9, 9..12] {
        write(&store, offsets).await;
    }
    let (one, other) = (chain().notes_name(0), chain().notes_name(4));
    let (first, second) = (store.read(&one).await.unwrap(), store.read(&other).await.unwrap());
    for (name, bytes) in [(one, second), (other, first)] {
        store.delete(&name).await.unwrap();
        store.create(&name, bytes).await.unwrap();
    }
    let report = against(&store, LOG, &[]).await;
    assert_eq!(counts(&report), [0, 0, 4, 0, 0], "{report}");
}
