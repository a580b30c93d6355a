//! A writer is killed at each named point, on a store with each kind of failure, and restarted: nothing is
//! lost, nothing is duplicated, and nothing half-written is visible.
//!
//! The writer is this test itself, run as a separate process and selected by its environment.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may fail and print"
)]

use crate::chain_common;

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus};

use lethe_connectors::inspect::inspect;
use lethe_connectors::sink::{CommitError, Encoding, LaneWriter};
use lethe_connectors::store::{Folder, FolderConfig, StoreConfig, crash};

use chain_common::{chain, fingerprints, rows};

const CHILD: &str = "LETHE_TEST_CRASH_CHILD";
const LOG: i64 = 30;
const FILE: i64 = 6;

/// Runs the writer from the chain's end to the log's end.
#[tokio::main(flavor = "current_thread")]
async fn write(folder: &Path) {
    let config = StoreConfig::Folder(FolderConfig {
        path: folder.to_owned(),
    });
    let store = config.build().unwrap();
    let mut writer = loop {
        match LaneWriter::open(&*store, chain(), 0, fingerprints(), Encoding::default()).await {
            Ok(writer) => break writer,
            Err(error) => println!("open: {error}"),
        }
    };
    while writer.next() < LOG {
        let (notes, audit) = rows(writer.next()..(writer.next() + FILE).min(LOG));
        writer.push(&notes, &audit).unwrap();
        while let Err(error) = writer.commit(&*store).await {
            assert!(matches!(error, CommitError::Transient(_)), "{error}");
        }
    }
}

fn run(folder: &Path, crash_at: Option<String>, faults: &str) -> ExitStatus {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([
            "--exact",
            "chain_crash::a_writer_killed_anywhere_loses_and_doubles_nothing",
            "--nocapture",
        ])
        .env(CHILD, folder)
        .env_remove("LETHE_CRASH_AT")
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null());
    if let Some(at) = crash_at {
        command.env("LETHE_CRASH_AT", at);
    }
    command.env("LETHE_STORE_FAULTS", faults).status().unwrap()
}

#[test]
fn a_writer_killed_anywhere_loses_and_doubles_nothing() {
    if let Ok(folder) = std::env::var(CHILD) {
        write(Path::new(&folder));
        return;
    }
    let (mut runs, mut lost, mut doubled) = (0, 0, 0);
    for point in crash::POINTS {
        for nth in [1, 2, 4] {
            for faults in [
                "",
                "create:3=fail-after",
                "create:2=fail-before,read:1=fail-before",
                "seed=5,rate=0.2",
            ] {
                let folder = tempfile::tempdir().unwrap();
                let killed = run(folder.path(), Some(format!("{point}:{nth}")), faults);
                const SIGABRT: i32 = 6;
                assert_eq!(killed.signal(), Some(SIGABRT), "{point}:{nth} was never passed");
                // Everything visible at the moment of the crash is complete.
                assert_intact(folder.path(), None);
                let finished = run(folder.path(), None, faults);
                assert!(finished.success(), "{point}:{nth} {faults}");
                let rows = assert_intact(folder.path(), Some(LOG));
                lost += LOG.saturating_sub(rows).max(0);
                doubled += rows.saturating_sub(LOG).max(0);
                let aside = std::fs::read_dir(folder.path().join(".lethe")).unwrap();
                assert_eq!(aside.count(), 0, "{point}:{nth}: a temporary file stayed");
                runs += 1;
            }
        }
    }
    println!("schedules run {runs}, notes lost {lost}, notes duplicated {doubled}");
    assert_eq!((lost, doubled), (0, 0));
}

/// Inspects the folder and returns its rows.
#[tokio::main(flavor = "current_thread")]
async fn assert_intact(folder: &Path, next: Option<i64>) -> i64 {
    let store = Folder::open(&FolderConfig {
        path: folder.to_owned(),
    });
    let report = inspect(&store.unwrap(), |_| {}).await.unwrap();
    assert!(report.is_intact(), "{report}");
    if let Some(next) = next {
        assert_eq!(report.chains[0].next, next, "{report}");
    }
    report.chains.first().map_or(0, |chain| chain.rows() as i64)
}
