//! Every message becomes one row or one coded quarantine, at least 95 % are accepted, and other parsers read
//! the output.

use std::collections::BTreeSet;

use arrow_array::Array as _;
use arrow_array::cast::AsArray as _;
use lethe_core::{Quarantine, QuarantineCode};
use serde_json::{Value, json};

use super::corpus::{MESSAGES, Message, python};
use super::engine::{ENGINE, batch};

/// Messages of one format, as rows.
struct Rows {
    kinds: BTreeSet<&'static str>,
    accepted: usize,
    withdrawn: usize,
    /// Quarantined messages: kind and code.
    refused: Vec<(&'static str, String)>,
    /// Lines for the independent parsers.
    lines: String,
}

fn rows(format: &str) -> Rows {
    let messages: Vec<&'static Message> = MESSAGES
        .iter()
        .filter(|message| message.format == format)
        .collect();
    let mut rows = Rows {
        kinds: messages.iter().map(|message| message.kind.as_str()).collect(),
        accepted: 0,
        withdrawn: 0,
        refused: Vec::new(),
        lines: String::new(),
    };
    let batch = batch(format, messages.iter().map(|message| message.payload.as_str()));
    let done = ENGINE.process(&batch).unwrap();
    let record = done.redacted.record();
    assert_eq!(record.num_rows(), messages.len(), "one row for each message");
    let column = |name: &str| record.column_by_name(name).unwrap();
    let kind = column("row_kind").as_string::<i32>();
    let error = column("error").as_string::<i32>();
    let back = column("message").as_binary::<i32>();
    for (row, message) in messages.iter().enumerate() {
        if error.is_valid(row) {
            let why = error.value(row);
            let code = Quarantine::code_of(why);
            assert!(QuarantineCode::ALL.iter().any(|one| one.name() == code), "{why}");
            rows.refused.push((&message.kind, why.to_owned()));
            continue;
        }
        rows.accepted += 1;
        // A withdrawn document leaves a tombstone, and no message.
        if kind.value(row) == "tombstone" {
            rows.withdrawn += 1;
            continue;
        }
        let back = std::str::from_utf8(back.value(row)).unwrap();
        let line = json!({"format": format, "kind": message.kind, "message": back});
        rows.lines.push_str(&format!("{line}\n"));
    }
    rows
}

#[expect(
    clippy::print_stdout,
    reason = "prints figures for docs/messages.md, with --nocapture"
)]
fn check(format: &str, at_least_kinds: usize) {
    let rows = rows(format);
    let all = rows.accepted + rows.refused.len();
    assert!(rows.kinds.len() >= at_least_kinds, "{} kinds", rows.kinds.len());
    assert!(
        rows.accepted * 100 >= all * 95,
        "{} of {all}, not {:?}",
        rows.accepted,
        rows.refused
    );
    println!(
        "{format}: {} kinds, {} of {all} accepted, of which {} withdrawn; not {:?}",
        rows.kinds.len(),
        rows.accepted,
        rows.withdrawn,
        rows.refused
    );
    let told = python("parse.py", &[], &rows.lines);
    let summary: Value = serde_json::from_str(told.lines().last().unwrap()).unwrap();
    assert_eq!(summary["failed"], 0, "{told}");
    assert_eq!(summary[format], rows.accepted - rows.withdrawn, "{told}");
    assert!(rows.withdrawn * 10 < all, "{} withdrawn", rows.withdrawn);
}

#[test]
fn messages_of_every_trigger_event_are_accepted_and_parse_when_they_come_back() {
    let versions: BTreeSet<&str> = MESSAGES
        .iter()
        .filter(|message| message.format == "hl7v2")
        .map(|message| message.version.as_str())
        .collect();
    assert!(versions.len() > 5, "{versions:?}");
    check("hl7v2", 140);
}

#[test]
fn resources_of_every_type_alone_and_in_bundles_are_accepted_and_parse_when_they_come_back() {
    check("fhir", 140);
}
