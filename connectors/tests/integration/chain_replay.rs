//! Replays of quarantined rows: the selection, the written parts, and their inspection.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use crate::chain_common;

use std::sync::Arc;

use bytes::Bytes;
use lethe_connectors::inspect::{
    DatasetError, FingerprintFilter, Report, Scope, by_fingerprint, by_member, inspect_within, remove_orphans,
};
use lethe_connectors::replay::{
    Candidates, NotesFile, ReplayError, ReplayName, ReplayWriter, SealedReplay, Selection, candidates,
    notes_files, read_replay,
};
use lethe_connectors::sink::Encoding;
use lethe_connectors::store::{Memory, Store};
use lethe_core::{Coordinates, NoteEvent, Quarantine, QuarantineCode, Record};

use chain_common::{TOPIC, chain, fingerprints, redact, rewritten, set, write};

fn at(offset: i64) -> Coordinates {
    Coordinates {
        topic: Arc::from(TOPIC),
        partition: 3,
        offset,
    }
}

/// Returns the record at this offset once its cause is fixed.
pub(crate) fn mended(offset: i64) -> Record {
    Record::Note(NoteEvent {
        at: at(offset),
        text: format!("Greta Lindqvist was seen again, visit {offset}.").into(),
        ..NoteEvent::default()
    })
}

fn again(offset: i64) -> Record {
    let why = Quarantine::new(QuarantineCode::TooLarge, Some("text"), None);
    Record::Quarantined(at(offset), why)
}

fn under(attempt: &str) -> Selection {
    Selection {
        attempt: attempt.to_owned(),
        ..Selection::default()
    }
}

/// Returns a chain of two files, with quarantined rows at 8, 19, 30 (first file) and 41 (second).
async fn dataset() -> Memory {
    let store = Memory::default();
    write(&store, 0..35).await;
    write(&store, 35..50).await;
    store
}

pub(crate) async fn select(store: &dyn Store, selection: &Selection) -> Vec<Candidates> {
    let mut found = Vec::new();
    for file in notes_files(store, selection).await.unwrap() {
        found.push(candidates(store, &file, selection).await.unwrap());
    }
    found
}

async fn sealed(
    store: &dyn Store,
    of: &Candidates,
    attempt: &str,
    records: Vec<Record>,
) -> Result<SealedReplay, ReplayError> {
    let mut writer = ReplayWriter::open(store, of, attempt, fingerprints(), Encoding::default()).await?;
    let (notes, audit) = redact(records);
    writer.push(&notes, &audit)?;
    Ok(writer.seal()?.unwrap())
}

pub(crate) async fn replay(store: &dyn Store, of: &Candidates, attempt: &str, records: Vec<Record>) {
    let part = sealed(store, of, attempt, records).await.unwrap();
    part.create(store).await.unwrap();
}

async fn look(store: &dyn Store) -> Report {
    let scope = Scope {
        audit: true,
        ..Scope::default()
    };
    inspect_within(store, scope, |_| {}).await.unwrap()
}

#[tokio::test]
async fn replayed_rows_are_counted_and_selected_no_more() {
    let store = dataset().await;
    let found = select(&store, &under("a")).await;
    let offsets: Vec<_> = found.iter().map(|found| found.offsets.clone()).collect();
    assert_eq!(offsets, [vec![8, 19, 30], vec![41]]);
    assert_eq!(found[0].codes["invalid_payload"], 3);
    replay(&store, &found[0], "a", vec![mended(8), again(19)]).await;

    let report = look(&store).await;
    assert!(report.is_intact(), "{report}");
    let replayed = report.chains[0].replayed.as_ref().unwrap();
    assert_eq!((replayed.rows(), replayed.notes, replayed.files), (1, 1, 1));
    assert_eq!(replayed.quarantined["too_large:text"], 1);
    assert_eq!(report.chains[0].still_quarantined(), 3);
    assert!(
        report
            .to_string()
            .contains("4 rows quarantined, 1 of them replayed since"),
        "{report}"
    );

    // Under the same configuration, rows that were quarantined again are skipped unless requested.
    let found = select(&store, &under("a")).await;
    assert_eq!((found[0].offsets.clone(), found[0].tried), (vec![30], 1));
    let all = Selection {
        again: true,
        ..under("a")
    };
    assert_eq!(select(&store, &all).await[0].offsets, [19, 30]);
    // Under another one they are retried, by the code of the last attempt.
    let coded = Selection {
        codes: vec!["too_large".parse().unwrap()],
        ..under("b")
    };
    let found = select(&store, &coded).await;
    assert_eq!(found[0].offsets, [19]);
    replay(&store, &found[0], "b", vec![mended(19)]).await;
    let report = look(&store).await;
    assert!(report.is_intact(), "{report}");
    assert_eq!(report.chains[0].still_quarantined(), 2);
    assert!(report.chains[0].replayed.as_ref().unwrap().quarantined.is_empty());
}

#[tokio::test]
async fn files_are_selected_by_topic_and_by_age() {
    let store = dataset().await;
    let other = Selection {
        topics: vec!["letters".to_owned()],
        ..under("a")
    };
    assert!(notes_files(&store, &other).await.unwrap().is_empty());
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(3600);
    let later = Selection {
        since: Some(later),
        ..under("a")
    };
    assert!(notes_files(&store, &later).await.unwrap().is_empty());
    assert_eq!(notes_files(&store, &under("a")).await.unwrap().len(), 2);
}

#[tokio::test]
async fn of_two_replays_at_the_same_time_one_is_refused() {
    let store = dataset().await;
    let found = select(&store, &under("a")).await;
    let one = sealed(&store, &found[0], "a", vec![mended(8)]).await.unwrap();
    let other = sealed(&store, &found[0], "a", vec![mended(8)]).await.unwrap();
    one.create(&store).await.unwrap();
    // The response may have been lost.
    one.create(&store).await.unwrap();
    let error = other.create(&store).await.unwrap_err();
    assert!(matches!(error, ReplayError::Lost { .. }), "{error}");
    // The file that the other wrote before is an orphan and is removed.
    let report = look(&store).await;
    assert!(report.is_intact() && report.orphans.len() == 1, "{report}");
    let removed = remove_orphans(&store, &report, std::time::Duration::ZERO)
        .await
        .unwrap();
    assert_eq!(removed, [report.orphans[0].name.clone()]);
    assert!(look(&store).await.orphans.is_empty());
}

#[tokio::test]
async fn rows_of_another_file_are_refused() {
    let store = dataset().await;
    let found = select(&store, &under("a")).await;
    for records in [vec![mended(41)], vec![mended(19), mended(8)]] {
        let error = sealed(&store, &found[0], "a", records).await.unwrap_err();
        assert!(matches!(error, ReplayError::OutOfPlace { .. }), "{error}");
    }
}

/// Returns a dataset with two parts of the first file and one of the second.
async fn replayed() -> Memory {
    let store = dataset().await;
    for (attempt, records) in [
        ("a", vec![mended(8), again(19)]),
        ("b", vec![mended(19), mended(30)]),
    ] {
        let found = select(&store, &under(attempt)).await;
        replay(&store, &found[0], attempt, records).await;
    }
    store
}

fn part(number: u32) -> String {
    let file = NotesFile {
        chain: chain(),
        first: 0,
        parts: Vec::new(),
    };
    file.part(number).path()
}

async fn faults(store: &Memory, wanted: fn(&DatasetError) -> bool) {
    let report = look(store).await;
    let faults: Vec<_> = report.chains.iter().flat_map(|chain| &chain.faults).collect();
    assert!(faults.into_iter().any(wanted), "{report}");
}

async fn change(store: &Memory, name: &str, bytes: Bytes) {
    store.delete(name).await.unwrap();
    store.create(name, bytes).await.unwrap();
}

#[tokio::test]
async fn a_part_that_was_changed_dropped_or_written_twice_is_a_fault() {
    let store = replayed().await;
    assert!(look(&store).await.is_intact());
    let first = store.read(&part(0)).await.unwrap();
    let second = store.read(&part(1)).await.unwrap();

    // Changed: the second part holds the digest of the first.
    let other = rewritten(&first, |rows| rows, |_| {});
    change(&store, &part(0), other).await;
    faults(
        &store,
        |fault| matches!(fault, DatasetError::Digest { file, .. } if *file == part(0)),
    )
    .await;

    // Dropped.
    store.delete(&part(0)).await.unwrap();
    faults(
        &store,
        |fault| matches!(fault, DatasetError::Unreadable { file, .. } if *file == part(1)),
    )
    .await;

    // A row of an offset that was replayed before, or never quarantined.
    change(&store, &part(0), first.clone()).await;
    let twice = rewritten(
        &second,
        |rows| rows,
        |pairs| {
            set(pairs, "lethe.replay_number", "2");
            set(pairs, "lethe.previous", chain_common::digest(&second));
        },
    );
    store.create(&part(2), twice).await.unwrap();
    faults(
        &store,
        |fault| matches!(fault, DatasetError::Offset { file, offset: 19 } if *file == part(2)),
    )
    .await;
    store.delete(&part(2)).await.unwrap();
    assert!(look(&store).await.is_intact());

    // A changed and a missing audit file.
    let (audit, _) = read_replay(&store, &part(1)).await.unwrap().audit.unwrap();
    let bytes = store.read(&audit).await.unwrap();
    change(&store, &audit, rewritten(&bytes, |rows| rows, |_| {})).await;
    faults(&store, |fault| matches!(fault, DatasetError::Digest { .. })).await;
    store.delete(&audit).await.unwrap();
    faults(&store, |fault| matches!(fault, DatasetError::NoAudit { .. })).await;
}

#[tokio::test]
async fn a_notes_file_that_was_changed_after_its_replay_is_a_fault() {
    let store = dataset().await;
    let found = select(&store, &under("a")).await;
    replay(&store, &found[1], "a", vec![mended(41)]).await;
    // The last file of a chain, whose digest no other file of the chain holds.
    let name = chain().notes_name(35);
    let bytes = store.read(&name).await.unwrap();
    change(&store, &name, rewritten(&bytes, |rows| rows, |_| {})).await;
    faults(
        &store,
        |fault| matches!(fault, DatasetError::Digest { file, .. } if *file == chain().notes_name(35)),
    )
    .await;
}

#[tokio::test]
async fn members_and_makers_of_replayed_parts_are_told() {
    let store = replayed().await;
    let members = by_member(&store, |_| {}, |_| {}).await.unwrap();
    let chained = look(&dataset().await).await.chains[0].labels["PATIENT"];
    assert_eq!(members.spans, chained + 3);
    let mut made = Vec::new();
    let maker: FingerprintFilter = "program=0.1.0".parse().unwrap();
    let report = by_fingerprint(
        &store,
        &maker,
        |file| made.push((file.file.clone(), file.first, file.next)),
        |_| {},
    );
    let report = report.await.unwrap();
    assert_eq!((report.made, report.of, report.rows), (4, 4, 50 + 4));
    assert_eq!(made[2..], [(part(0), 8, 20), (part(1), 19, 31)]);
}

#[tokio::test]
async fn a_file_among_the_parts_that_is_none_is_reported() {
    let store = replayed().await;
    let stray = format!("{}/readme.txt", ReplayName::folder(&chain()));
    store.create(&stray, Bytes::from_static(b"mine")).await.unwrap();
    assert_eq!(look(&store).await.strays, [stray]);
}
