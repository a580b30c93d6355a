//! Assertions on outputs that several tests share.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use super::dataset::Dataset;
use super::notes::{id, planted};
use super::process::{Lethe, Running, TIMEOUT};

/// Asserts that `lethe inspect` finds a folder intact, with this number of notes.
#[track_caller]
pub(crate) fn assert_intact(folder: &Path, notes: usize) {
    let report = Lethe::new(["inspect".as_ref(), folder.as_os_str(), "--json".as_ref()])
        .end()
        .expect(0);
    let report: serde_json::Value = serde_json::from_str(&report.out).unwrap();
    let chains = report["chains"].as_array().unwrap();
    let sum: u64 = chains.iter().map(|chain| chain["notes"].as_u64().unwrap()).sum();
    assert_eq!(sum, notes as u64);
    assert!(
        chains
            .iter()
            .all(|chain| chain["faults"].as_array().unwrap().is_empty())
    );
    assert_eq!(report["orphans"].as_array().unwrap().len(), 0);
}

/// Asserts that every note is there once, without its planted identifiers.
#[track_caller]
pub(crate) fn assert_redacted(data: &Dataset, notes: usize) {
    let rows = data.rows();
    let ids: BTreeSet<String> = rows.iter().map(|row| row.note_id.clone().unwrap()).collect();
    assert_eq!(rows.len(), notes);
    assert_eq!(ids, (0..notes).map(id).collect());
    for row in rows {
        let number: usize = row
            .note_id
            .as_ref()
            .unwrap()
            .trim_start_matches("note-")
            .parse()
            .unwrap();
        let text = row.text.as_ref().unwrap();
        for identifier in planted(number) {
            assert!(
                !text.contains(&identifier),
                "{identifier} stands in the output of {number}"
            );
        }
        assert!(
            text.starts_with("PROGRESS NOTE\n") && row.redactions >= 4,
            "{row:?}"
        );
    }
}

/// Waits until a folder's dataset has this number of rows.
#[track_caller]
pub(crate) fn until_rows(out: &Path, rows: usize, running: &mut Running) {
    let began = Instant::now();
    while Dataset::read(out).rows().len() < rows {
        assert!(running.lives(), "it ended: {}", running.err());
        let in_time = began.elapsed() < TIMEOUT;
        assert!(in_time, "{rows} rows never came; it said:\n{}", running.err());
        std::thread::sleep(Duration::from_millis(100));
    }
}
