//! The program is killed between any two steps, and run again: each row is in the tables once.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may fail and print"
)]

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};

use lethe_connectors::store::crash::DELTA_POINTS;

use crate::common::Site;

const SIGABRT: i32 = 6;

/// Appends files to two chains and publishes after each, with a crash in one of the runs; returns whether it came.
/// `program` makes the command that publishes.
pub(crate) fn schedule(
    site: &Site,
    files: i64,
    program: &dyn Fn() -> Command,
    (point, nth): (&str, usize),
    faults: &str,
) -> bool {
    let mut crashed = false;
    for file in 0..files {
        site.append(0, file * 2..file * 2 + 2);
        site.append(1, file..file + 1);
        // Passages and requests count within one run. Only the first run for a file has faults, so that the next one
        // ends.
        for run in 0.. {
            let mut program = program();
            program.stdout(Stdio::null()).stderr(Stdio::null());
            if run == 0 {
                program.env("LETHE_STORE_FAULTS", faults);
            }
            if !crashed {
                program.env("LETHE_CRASH_AT", format!("{point}:{nth}"));
            }
            let ended = program.status().unwrap();
            match (ended.code(), ended.signal()) {
                (Some(0), _) => break,
                (None, Some(SIGABRT)) => crashed = true,
                (Some(1), _) if run == 0 && !faults.is_empty() => {}
                _ => panic!("{point}:{nth} {faults}: {ended}"),
            }
        }
    }
    crashed
}

/// Publishes twelve files to Delta tables, and returns whether the crash came.
fn delta_schedule(point: &str, nth: usize, faults: &str) -> bool {
    let site = Site::new();
    let crashed = schedule(&site, 12, &|| site.program(), (point, nth), faults);
    site.assert_rows(&[(0, 24), (1, 12)]);
    crashed
}

#[test]
fn a_program_killed_anywhere_adds_each_row_once() {
    let own = DELTA_POINTS.map(|point| (point, 1..=2));
    // Each write to a table's log passes these: a commit, a checkpoint, and the hint to it.
    let stores = ["temporary_written", "linked"].map(|point| (point, 1..=4));
    let mut runs = 0;
    for (point, passages) in own.into_iter().chain(stores) {
        for nth in passages {
            let crashed = delta_schedule(point, nth, "");
            assert!(crashed || nth > 1, "{point} was never passed");
            runs += 1;
        }
    }
    println!("schedules run {runs}, rows lost 0, rows duplicated 0");
}

#[test]
fn a_store_that_loses_answers_adds_each_row_once() {
    for faults in [
        "create:1=fail-after",
        "create:2=fail-after,list:1=fail-before",
        "create:1=fail-after,replace:1=fail-after,read:9=fail-before",
        "seed=3,rate=0.1",
    ] {
        delta_schedule("committed", 1, faults);
    }
}
