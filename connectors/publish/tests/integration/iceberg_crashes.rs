//! The program is killed between any two steps of publishing to an Iceberg table, and run again: each row is there once.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may fail and print"
)]

use lethe_connectors::store::crash::ICEBERG_POINTS;

use crate::common::Site;
use crate::crashes::schedule;
use crate::iceberg::{due, pyiceberg};

#[test]
fn a_program_killed_anywhere_adds_each_row_to_an_iceberg_table_once() {
    let own = ICEBERG_POINTS.map(|point| (point, 1..=2));
    // Each file of metadata that is written passes these: a manifest, a list, the table's metadata and the hint to them.
    let stores = ["temporary_written", "linked"].map(|point| (point, 1..=4));
    let mut sites = Vec::new();
    for (point, passages) in own.into_iter().chain(stores) {
        for nth in passages {
            let site = Site::new();
            let crashed = schedule(&site, 5, &|| site.iceberg_program(), (point, nth), "");
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
        schedule(&site, 5, &|| site.iceberg_program(), ("committed", 1), faults);
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
