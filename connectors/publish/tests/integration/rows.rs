//! Each row is in the table once, and the log holds nothing of a note.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use crate::common::{Site, TOPIC};

#[test]
fn new_files_are_added_once_and_a_repetition_changes_nothing() {
    let site = Site::new();
    site.append(0, 0..5);
    site.append(0, 5..9);
    site.append(1, 0..3);
    let report = site.publish().unwrap();
    let [audit, notes] = &report.tables[..] else {
        panic!("{report}")
    };
    assert_eq!(
        (
            notes.chains,
            notes.files,
            notes.rows,
            notes.commits,
            notes.version
        ),
        (2, 3, 12, 1, Some(1))
    );
    assert_eq!((audit.files, audit.rows, audit.commits), (3, 12, 1));
    site.assert_rows(&[(0, 9), (1, 3)]);

    let again = site.publish().unwrap();
    assert!(
        again
            .tables
            .iter()
            .all(|table| table.files == 0 && table.commits == 0),
        "{again}"
    );

    site.append(1, 3..4);
    site.append(2, 0..2);
    let report = site.publish().unwrap();
    assert_eq!(
        (
            report.tables[1].files,
            report.tables[1].rows,
            report.tables[1].version
        ),
        (2, 3, Some(2))
    );
    site.assert_rows(&[(0, 9), (1, 4), (2, 2)]);
}

#[test]
fn the_log_has_paths_in_the_table_and_statistics_of_coordinates_only() {
    let site = Site::new();
    site.append(0, 0..5);
    site.publish().unwrap();
    let log = site.log(&site.table());
    let action = |key: &str| -> serde_json::Value {
        let actions = log[1]
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        actions
            .into_iter()
            .find_map(|action| action.get(key).cloned())
            .unwrap()
    };
    let add = action("add");
    assert_eq!(
        add["path"],
        "_lethe/notes/topic=notes%2520in%252F%25C3%25A9/partition=0/00000000000000000000.parquet"
    );
    let stats: serde_json::Value = serde_json::from_str(add["stats"].as_str().unwrap()).unwrap();
    let bounds = |offset: i64| serde_json::json!({ "topic": TOPIC, "partition": 0, "offset": offset });
    let expected = serde_json::json!({
        "numRecords": 5, "minValues": bounds(0), "maxValues": bounds(4),
        "nullCount": { "topic": 0, "partition": 0, "offset": 0 },
    });
    assert_eq!(stats, expected);
    let txn = action("txn");
    let app_id = txn["appId"].as_str().unwrap();
    assert!(
        app_id.starts_with("lethe:") && app_id.ends_with(&format!(":{TOPIC}/0")),
        "{app_id}"
    );
    assert_eq!(txn["version"], 5);
    for text in log.iter().chain(&site.log(&site.audit_table())) {
        assert!(!text.contains("canary") && !text.contains("Greta"), "{text}");
    }
}

#[test]
fn many_commits_have_checkpoints() {
    let site = Site::new();
    for file in 0..12 {
        site.append(0, file * 2..file * 2 + 2);
        site.publish().unwrap();
    }
    let checkpoint = site
        .table()
        .join("_delta_log/00000000000000000010.checkpoint.parquet");
    assert!(checkpoint.is_file());
    site.assert_rows(&[(0, 24)]);
    // What is published is known from the checkpoint, too.
    for version in 0..10 {
        std::fs::remove_file(site.table().join(format!("_delta_log/{version:020}.json"))).unwrap();
    }
    assert_eq!(site.publish().unwrap().tables[1].files, 0);
    site.append(0, 24..25);
    site.publish().unwrap();
    site.assert_rows(&[(0, 25)]);
}

#[test]
fn a_dataset_without_chains_and_a_chain_with_a_hole_are_refused() {
    let site = Site::new();
    let error = site.publish().unwrap_err().to_string();
    assert!(error.contains("no chains"), "{error}");
    for file in 0..3 {
        site.append(0, file..file + 1);
    }
    let hole = crate::common::chain(0).notes_name(1);
    site.runtime.block_on(site.store.delete(&hole)).unwrap();
    let error = site.publish().unwrap_err().to_string();
    assert!(error.contains("broken"), "{error}");
}
