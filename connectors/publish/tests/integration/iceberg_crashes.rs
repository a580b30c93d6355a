//! The program is killed between any two steps of publishing to an Iceberg table, and run again: each row is there once.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may fail and print"
)]

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};

use lethe_connectors::store::crash::ICEBERG_POINTS;

use crate::common::Site;
use crate::iceberg::{due, pyiceberg};

const SIGABRT: i32 = 6;

/// Publishes after each of several files, with a crash in one of the runs; returns whether it came.
pub(crate) fn schedule(
    site: &Site,
    table: &dyn Fn(&mut Command),
    point: &str,
    nth: usize,
    faults: &str,
) -> bool {
    let mut crashed = false;
    for file in 0..5 {
        site.append(0, file * 2..file * 2 + 2);
        site.append(1, file..file + 1);
        for run in 0.. {
            let mut program = Command::new(env!("CARGO_BIN_EXE_lethe-publish"));
            program.arg(site.dataset()).env_remove("LETHE_LOG");
            table(&mut program);
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

#[test]
fn a_program_killed_anywhere_adds_each_row_to_an_iceberg_table_once() {
    let own = ICEBERG_POINTS.map(|point| (point, 1..=2));
    // Each file of metadata that is written passes these: a manifest, a list, the table's metadata and the hint to them.
    let stores = ["temporary_written", "linked"].map(|point| (point, 1..=4));
    let mut sites = Vec::new();
    for (point, passages) in own.into_iter().chain(stores) {
        for nth in passages {
            let site = Site::new();
            let folder = site.iceberg_table();
            let crashed = schedule(
                &site,
                &|program| {
                    program.arg("--iceberg").arg(&folder);
                },
                point,
                nth,
                "",
            );
            assert!(crashed || nth > 1, "{point} was never passed");
            sites.push(site);
        }
    }
    assert_rows(&sites);
    println!("schedules run {}, rows lost 0, rows duplicated 0", sites.len());
}

#[test]
fn a_store_that_loses_answers_adds_each_row_to_an_iceberg_table_once() {
    let faults = [
        "create:1=fail-after",
        "create:3=fail-after,list:1=fail-before",
        "create:3=fail-after,replace:1=fail-after,read:9=fail-before",
        // A round makes some twenty requests, and ends with the first that fails.
        "seed=3,rate=0.02",
    ];
    let sites = faults.map(|faults| {
        let site = Site::new();
        let folder = site.iceberg_table();
        schedule(
            &site,
            &|program| {
                program.arg("--iceberg").arg(&folder);
            },
            "committed",
            1,
            faults,
        );
        site
    });
    assert_rows(&sites);
}

/// Asserts that the tables have each row once. One process reads them all, since it takes a second to start.
#[track_caller]
fn assert_rows(sites: &[Site]) {
    let folders: Vec<String> = sites
        .iter()
        .map(|site| site.iceberg_table().to_str().unwrap().to_owned())
        .collect();
    let mut arguments = vec!["rows"];
    arguments.extend(folders.iter().map(String::as_str));
    let found = pyiceberg(&arguments);
    for table in found.as_array().unwrap() {
        assert_eq!(*table, due(&[(0, 10), (1, 5)]));
    }
}
