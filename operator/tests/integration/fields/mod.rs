//! Every field accounted for: values that could identify somebody are written into each leaf of each format,
//! and none may appear in the output under the built-in Safe Harbor policy. A table next to the test lists
//! exceptions that pass by their shape, each with a reason.

#![expect(
    clippy::unwrap_used,
    clippy::string_slice,
    reason = "a failed step is a failed test"
)]

mod ccda;
use crate::common;
mod engine;
mod fhir;
mod hl7v2;
mod program;
mod shifted;

use std::collections::{BTreeMap, BTreeSet};

/// Parses the rows of a table of reasons: what passes, and where. Every row must have a reason.
fn reasons(table: &str) -> BTreeMap<(String, String), String> {
    let rows = table
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let rows = rows.map(|line| {
        let cells: Vec<&str> = line.split('\t').collect();
        let [what, place, reason] = cells.as_slice() else {
            panic!("three columns: {line}");
        };
        assert!(reason.split(' ').count() > 3, "no reason: {line}");
        (((*what).to_owned(), (*place).to_owned()), (*reason).to_owned())
    });
    let all: Vec<_> = rows.collect();
    let unique: BTreeMap<_, _> = all.iter().cloned().collect();
    assert_eq!(all.len(), unique.len(), "a row stands twice");
    unique
}

/// Compares the findings with a table of reasons.
fn check(found: &BTreeSet<(String, String)>, table: &str) {
    let listed: BTreeSet<(String, String)> = reasons(table).into_keys().collect();
    let leaks: Vec<_> = found.difference(&listed).collect();
    assert!(leaks.is_empty(), "passes without a reason: {leaks:?}");
    let stale: Vec<_> = listed.difference(found).collect();
    assert!(stale.is_empty(), "listed and does not pass: {stale:?}");
}
