//! The inspection of a chain, and the audit files that it removes.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use crate::chain_common;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lethe_connectors::inspect::{DatasetError, inspect, remove_orphans};
use lethe_connectors::sink::{Encoding, Fingerprints, LaneWriter};
use lethe_connectors::store::faulty::{Faulty, Plan};
use lethe_connectors::store::{Memory, Store};

use chain_common::{chain, fingerprints, open, rows, write};

#[tokio::test]
async fn inspection_names_each_kind_of_fault() {
    let store = Memory::default();
    for from in [0, 5, 10, 15] {
        write(&store, from..from + 5).await;
    }
    let whole = inspect(&store, |_| {}).await.unwrap();
    assert!(whole.is_intact(), "{whole}");
    assert_eq!(whole.chains[0].labels["PATIENT"], whole.chains[0].notes);
    assert_eq!(whole.chains[0].codes["invalid_payload"], 2);
    assert!(serde_json::to_string(&whole).unwrap().contains("\"partition\":3"));

    // A file replaced by one with other rows: equally long, consistent with its own footer, but wrong at its
    // position in the chain.
    let audit = store.list("audit").await.unwrap()[0].name.clone();
    store.delete(&audit).await.unwrap();
    store.delete(&chain().notes_name(5)).await.unwrap();
    let torn = store.read(&chain().notes_name(10)).await.unwrap();
    store.delete(&chain().notes_name(10)).await.unwrap();
    store
        .create(&chain().notes_name(10), torn.slice(..torn.len() - 9))
        .await
        .unwrap();
    store
        .create("notes/readme.txt", Bytes::from_static(b"mine"))
        .await
        .unwrap();
    let mut seen = 0;
    let broken = inspect(&store, |progress| seen = progress.files).await.unwrap();
    assert_eq!(seen, 3);
    assert!(!broken.is_intact());
    let faults = &broken.chains[0].faults;
    let has = |wanted: fn(&DatasetError) -> bool| assert!(faults.iter().any(wanted), "{broken}");
    has(|fault| matches!(fault, DatasetError::NoAudit { .. }));
    has(|fault| matches!(fault, DatasetError::Unreadable { .. }));
    has(|fault| matches!(fault, DatasetError::Digest { .. }));
    has(|fault| matches!(fault, DatasetError::Missing { from: 5, to: 15, .. }));
    assert_eq!(broken.strays, ["notes/readme.txt"]);
    assert!(broken.to_string().contains("NOT INTACT: 4 faults"), "{broken}");
}

#[tokio::test]
async fn a_changed_configuration_is_reported_where_it_changed() {
    let store = Memory::default();
    write(&store, 0..3).await;
    let changed = Fingerprints {
        config: "badcafe".into(),
        ..fingerprints()
    };
    let mut writer = LaneWriter::open(&store, chain(), 0, changed, Encoding::default())
        .await
        .unwrap();
    let (notes, audit) = rows(3..6);
    writer.push(&notes, &audit).unwrap();
    writer.commit(&store).await.unwrap();
    let report = inspect(&store, |_| {}).await.unwrap();
    assert!(
        report
            .to_string()
            .contains("from offset 3 on: config badcafe instead of c0ffee"),
        "{report}"
    );
}

#[tokio::test]
async fn an_audit_file_that_may_still_be_named_is_kept_until_it_is_old() {
    // The writer died between its audit and its notes.
    let store = Faulty::new(
        Arc::new(Memory::default()),
        Plan::parse("create:4=fail-before").unwrap(),
    );
    write(&store, 0..3).await;
    let mut writer = open(&store).await;
    let (notes, audit) = rows(3..6);
    writer.push(&notes, &audit).unwrap();
    writer.commit(&store).await.unwrap_err();
    let report = inspect(&store, |_| {}).await.unwrap();
    assert!(report.is_intact());
    assert_eq!(report.orphans.len(), 1);
    let hour = Duration::from_secs(3600);
    assert!(remove_orphans(&store, &report, hour).await.unwrap().is_empty());
    // It was still running: now the file is named, and at no age an orphan.
    writer.commit(&store).await.unwrap();
    assert!(
        remove_orphans(&store, &report, Duration::ZERO)
            .await
            .unwrap()
            .is_empty()
    );
    assert!(inspect(&store, |_| {}).await.unwrap().orphans.is_empty());
}
