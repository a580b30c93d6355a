//! The audit, end to end: what `lethe inspect` reports of a manipulated dataset, and how it explains
//! redactions.

#![allow(clippy::unwrap_used, reason = "test helpers may panic, as tests may")]

use crate::common;

use std::path::{Path, PathBuf};

use common::dataset::{self, Dataset, Row};
use common::notes::{events, planted, text};
use common::process::{Ended, Lethe};
use common::{Place, folder_sink, quoted};
use serde_json::Value;

/// Only rule members, whose finds are known.
const RULES: &str = "[engine]\nmembers = [{ kind = \"known\" }, { kind = \"pattern\" }, { kind = \"gazetteer\" }, { kind = \"context\" }]\n";

/// Streams notes with an `[engine]` table; returns the dataset's folder.
fn streamed(place: &Place, notes: usize, engine: &str) -> PathBuf {
    let lines: Vec<String> = events(notes).collect();
    let input = place.write("events.jsonl", lines.join("\n") + "\n");
    let out = place.at("out");
    let config = format!(
        "{engine}\n[source]\nkind = \"jsonl\"\ninput = {}\n\n{}",
        quoted(&input),
        folder_sink(&out)
    );
    let config = place.write("lethe.toml", config);
    Lethe::through(&config).end().expect(0);
    out
}

fn inspect(folder: &Path, arguments: &[&str]) -> Ended {
    let all = ["inspect", folder.to_str().unwrap()];
    Lethe::new(all.iter().chain(arguments)).end()
}

/// Writes the heads that an inspection prints to a file.
fn heads(place: &Place, folder: &Path) -> PathBuf {
    let output = inspect(folder, &["--audit"]).expect(0).out;
    assert!(output.contains("all audit rows match their notes"), "{output}");
    let heads: Vec<&str> = output
        .lines()
        .filter(|line| line.starts_with("  head "))
        .collect();
    assert_eq!(heads.len(), 1, "{output}");
    place.write("heads", heads.join("\n"))
}

/// Returns the position of a row as queries write it.
fn at(row: &Row) -> String {
    format!("{}/{}@{}", row.topic, row.partition, row.offset)
}

#[test]
fn a_dataset_is_held_against_itself_and_against_a_head_that_was_kept() {
    let place = Place::new();
    // One run per file: the source grows, and the chain with it.
    let mut out = PathBuf::new();
    for notes in [10, 25, 30] {
        out = streamed(&place, notes, "");
    }
    let heads = heads(&place, &out);
    let notes = dataset::files(&out.join("notes"));
    assert_eq!(notes.len(), 3, "{notes:?}");
    let with_head = || inspect(&out, &["--head", heads.to_str().unwrap()]);
    with_head().expect(0);

    // Flips one bit of a data page, in the middle of each file in turn.
    let audits = dataset::files(&out.join("audit"));
    for file in notes.iter().chain(&audits) {
        let bytes = std::fs::read(file).unwrap();
        let mut changed = bytes.clone();
        changed[bytes.len() / 2] ^= 1;
        std::fs::write(file, changed).unwrap();
        let found = with_head().expect(4);
        let name = file.file_name().unwrap().to_str().unwrap();
        assert!(found.out.contains(name), "{name}: {}", found.out);
        std::fs::write(file, bytes).unwrap();
    }
    with_head().expect(0);

    // Without its last file the chain is intact, but differs from the earlier head.
    let last = notes.last().unwrap();
    std::fs::remove_file(last).unwrap();
    inspect(&out, &[]).expect(0);
    let found = with_head().expect(4);
    assert!(found.out.contains("stored head"), "{}", found.out);
    inspect(&out, &["--head", "no-such-file"]).expect(2);
}

#[test]
fn each_span_says_why_it_was_redacted_and_gives_back_what_stood_there() {
    let place = Place::new();
    let out = streamed(&place, 40, "");
    let data = Dataset::read(&out);
    for (number, row) in data.rows().into_iter().enumerate() {
        let asked = inspect(&out, &["--why", &at(row), "--json"]).expect(0).out;
        let why: Value = serde_json::from_str(&asked).unwrap();
        let why = &why["why"];
        assert_eq!(
            (&why["row_kind"], &why["audit_intact"]),
            (&"note".into(), &true.into())
        );
        for digest in ["config", "policy", "program"] {
            assert!(!why["fingerprints"][digest].as_str().unwrap().is_empty());
        }
        let (original, redacted) = (text(number), row.text.as_deref().unwrap());
        let (mut rebuilt, mut done) = (Vec::new(), 0);
        let spans = why["spans"].as_array().unwrap();
        assert_eq!(spans.len(), row.redactions as usize);
        for span in spans {
            let end = |name: &str| usize::try_from(span[name].as_u64().unwrap()).unwrap();
            let written = &redacted.as_bytes()[end("out_start")..end("out_end")];
            assert_eq!(
                written,
                format!("[{}]", span["label"].as_str().unwrap()).as_bytes()
            );
            rebuilt.extend_from_slice(&redacted.as_bytes()[done..end("out_start")]);
            rebuilt.extend_from_slice(&original.as_bytes()[end("start")..end("end")]);
            done = end("out_end");
            assert!(!span["voters"].as_array().unwrap().is_empty());
            assert!(span["deciding_rule"].is_string(), "{span}");
        }
        rebuilt.extend_from_slice(&redacted.as_bytes()[done..]);
        assert_eq!(rebuilt, original.as_bytes());
    }
}

#[test]
fn a_question_about_a_byte_is_answered_for_people_without_a_word_of_the_note() {
    let place = Place::new();
    let out = streamed(&place, 3, "");
    let data = Dataset::read(&out);
    let row = data.rows()[2].clone();
    let redacted = row.text.clone().unwrap();
    let phone = redacted.find("[PHONE]").unwrap();
    let output = inspect(&out, &["--why", &format!("{}:{}", at(&row), phone + 3)])
        .expect(0)
        .out;
    for part in [
        "of the redacted text: PHONE",
        "45 CFR 164.514(b)(2)(i)(D)",
        "action tag",
        "vote",
        "redacted because ",
        "policy ",
    ] {
        assert!(output.contains(part), "{part}: {output}");
    }
    assert_eq!(output.matches("of the redacted text: ").count(), 1, "{output}");
    for planted in planted(2) {
        assert!(!output.contains(&planted), "{output}");
    }
    let output = inspect(&out, &["--why", &format!("{}:0", at(&row))])
        .expect(0)
        .out;
    assert!(output.contains("is unchanged from the original"), "{output}");
    inspect(&out, &["--why", "events.jsonl/0@99"])
        .expect(2)
        .says("reaches that offset");
    inspect(&out, &["--why", "nonsense"])
        .expect(2)
        .says("TOPIC/PARTITION@OFFSET");
}

#[test]
fn what_each_member_alone_caught_is_counted_and_listed() {
    let place = Place::new();
    let out = streamed(&place, 30, RULES);
    let output = inspect(&out, &["--by-member", "--json"]).expect(0).out;
    let all: Value = serde_json::from_str(&output).unwrap();
    let members = all["members"]["members"].as_object().unwrap();
    let sum = |counts: &Value| -> u64 {
        counts
            .as_object()
            .unwrap()
            .values()
            .filter_map(Value::as_u64)
            .sum()
    };
    let redactions: u32 = Dataset::read(&out).rows().iter().map(|row| row.redactions).sum();
    assert_eq!(all["members"]["spans"], redactions);
    // The feed knows the patient, the number and the address; only `pattern` finds the phone number.
    let alone = sum(&members["pattern"]["alone"]);
    assert!(alone >= 30, "{output}");
    let listed = inspect(&out, &["--only-by", "pattern", "--list"]).expect(0).out;
    assert_eq!(
        listed.lines().filter(|line| line.contains("@")).count() as u64,
        alone,
        "{listed}"
    );
    assert!(
        listed.contains("pattern") && !listed.contains("gazetteer"),
        "{listed}"
    );
    inspect(&out, &["--only-by", "nobody"])
        .expect(2)
        .says("gazetteer");
    inspect(&out, &["--list"]).expect(2);
}

#[test]
fn a_note_in_which_a_confident_member_was_outvoted_is_flagged_for_review() {
    let place = Place::new();
    let out = streamed(
        &place,
        20,
        "[engine]\nacknowledge = [\"rules-only\"]\nvote = { threshold = 2 }\n",
    );
    let output = inspect(&out, &["--audit"]).expect(0).out;
    assert!(output.contains("to review: "), "{output}");
    let row = Dataset::read(&out).rows()[0].clone();
    let asked = inspect(&out, &["--why", &at(&row), "--json"]).expect(0).out;
    let why: Value = serde_json::from_str(&asked).unwrap();
    assert!(!why["why"]["review"].as_array().unwrap().is_empty(), "{asked}");
    // If one vote suffices, no span loses the vote and none is close.
    let place = Place::new();
    let output = inspect(&streamed(&place, 20, RULES), &[]).expect(0).out;
    assert!(!output.contains("to review"), "{output}");
}
