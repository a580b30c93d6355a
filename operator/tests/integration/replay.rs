//! Quarantined records that are processed again after their cause is fixed: from files, and from a real
//! Kafka.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use crate::common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use arrow_array::Array as _;
use arrow_array::cast::AsArray as _;
use arrow_array::types::Int64Type;
use common::Place;
use common::dataset::{files, read_parquet};
use common::kafka::Topic;
use common::process::{Ended, Lethe};
use common::search::Search;
use serde_json::{Value, json};

/// Only rule members, which start quickly.
const ENGINE: &str = "[engine]\nmembers = [{ kind = \"pattern\" }, { kind = \"known\" }]\n";

/// Returns an event whose id has a name that the default mapping does not know.
fn event(number: usize) -> String {
    let text = format!(
        "Marietta Quillfeather called (612) 555-{:04} about visit {number}.",
        number % 10_000
    );
    json!({"key": format!("note-{number}"), "text": text,
        "known": [{"kind": "patient", "value": "Marietta Quillfeather"}]})
    .to_string()
}

fn config(place: &Place, name: &str, source: &str, more: &str) -> PathBuf {
    let sink = common::folder_sink(&place.at("out"));
    place.write(name, format!("{source}\n{ENGINE}{more}\n{sink}"))
}

fn lethe(arguments: &[&str], config: &Path) -> Ended {
    let mut all: Vec<&std::ffi::OsStr> = arguments.iter().map(AsRef::as_ref).collect();
    all.extend(["-c".as_ref(), config.as_os_str()]);
    Lethe::new(all).end()
}

/// Returns the sum of this key over the counts of all chains.
fn counted(ended: &Ended, key: &str) -> u64 {
    let outcome: Value = serde_json::from_str(&ended.out).unwrap();
    let chains = outcome["chains"].as_object().unwrap().values();
    let count = |chain: &Value| match &chain[key] {
        Value::Object(codes) => codes.values().filter_map(Value::as_u64).sum(),
        count => count.as_u64().unwrap(),
    };
    chains.map(count).sum()
}

/// Rows by topic and offset.
type Rows = BTreeMap<(String, i64), Vec<Row>>;

/// Kind and text of a row.
type Row = (String, Option<String>);

/// Returns every row that was replayed.
fn replayed(place: &Place) -> Rows {
    let mut rows = Rows::new();
    for path in files(&place.at("out/replayed/notes")) {
        let (_, batches) = read_parquet(&path).unwrap();
        for batch in batches {
            let text = |name: &str, row: usize| {
                let column = batch.column_by_name(name).unwrap().as_string::<i32>().clone();
                column.is_valid(row).then(|| column.value(row).to_owned())
            };
            for row in 0..batch.num_rows() {
                let offset = batch
                    .column_by_name("offset")
                    .unwrap()
                    .as_primitive::<Int64Type>()
                    .value(row);
                let of = (text("topic", row).unwrap(), offset);
                rows.entry(of)
                    .or_default()
                    .push((text("row_kind", row).unwrap(), text("text", row)));
            }
        }
    }
    rows
}

#[track_caller]
fn inspect(place: &Place) -> Value {
    let out = place.at("out");
    let arguments: [&std::ffi::OsStr; 4] = [
        "inspect".as_ref(),
        "--audit".as_ref(),
        "--json".as_ref(),
        out.as_ref(),
    ];
    let found = Lethe::new(arguments).end().expect(0);
    serde_json::from_str(&found.out).unwrap()
}

fn bytes_of(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let read = |path: PathBuf| (path.clone(), std::fs::read(path).unwrap());
    files(folder).into_iter().map(read).collect()
}

#[test]
fn a_thousand_quarantined_records_become_rows_once_their_setting_is_mended() {
    let place = Place::new();
    // Two files, with valid events between the invalid ones.
    for file in 0..2 {
        let whole = json!({"note_id": "whole", "text": "No complaints."}).to_string();
        let lines = (0..500).flat_map(|number| {
            let number = file * 500 + number;
            (number % 50 == 0)
                .then(|| whole.clone())
                .into_iter()
                .chain([event(number)])
        });
        place.write(&format!("in/{file}.jsonl"), lines.collect::<Vec<_>>().join("\n"));
    }
    let source = |format: &str| {
        let input = common::quoted(place.at("in"));
        format!("[source]\nkind = \"jsonl\"\ninput = {input}\n{format}")
    };
    let broken = config(&place, "broken.toml", &source(""), "");
    // More than half of the source is quarantined.
    lethe(&["run", "--until-end"], &broken)
        .expect(6)
        .says("the source: 1000 of 1020");
    let chain = bytes_of(&place.at("out/notes"));

    // A replay under the same configuration fails again, and is not repeated.
    let same = lethe(&["replay", "--json"], &broken).expect(6);
    assert_eq!(
        (counted(&same, "notes"), counted(&same, "quarantined")),
        (0, 1000)
    );
    let same = lethe(&["replay"], &broken).expect(0);
    assert!(same.out.contains("1000 more were skipped"), "{}", same.out);
    assert_eq!(inspect(&place)["chains"][0]["replayed"]["files"], 1);

    let mended = config(
        &place,
        "mended.toml",
        &source("format.fields = { note_id = \"key\" }"),
        "",
    );
    let dry = lethe(&["replay", "--dry-run", "--json"], &mended).expect(0);
    assert_eq!(counted(&dry, "notes"), 1000);
    assert_eq!(files(&place.at("out/replayed/notes")).len(), 2);
    // A code that no record has, and one that all have.
    let none = lethe(&["replay", "--code", "too_large"], &mended).expect(0);
    assert!(none.out.contains("nothing written"), "{}", none.out);
    let done = lethe(
        &["replay", "--json", "--code", "invalid_payload:note_id"],
        &mended,
    )
    .expect(0);
    assert_eq!(counted(&done, "notes"), 1000, "{}", done.out);

    let rows = replayed(&place);
    assert_eq!(rows.len(), 1000);
    for attempts in rows.values() {
        let (kind, text) = attempts.last().unwrap();
        assert_eq!((attempts.len(), kind.as_str()), (2, "note"));
        let text = text.as_deref().unwrap();
        assert!(!text.contains("Quillfeather") && !text.contains("555-"), "{text}");
    }
    let report = inspect(&place);
    // The chain's row is quarantined, and the answer is that of its replay.
    let out = place.at("out");
    let why = Lethe::new([
        "inspect".as_ref(),
        out.as_os_str(),
        "--why".as_ref(),
        "0.jsonl/0@1".as_ref(),
    ]);
    let why = why.end().expect(0).out;
    for expected in [
        "note, 2 spans redacted",
        "invalid_payload:note_id:required",
        "replayed/notes/",
        "PATIENT",
    ] {
        assert!(why.contains(expected), "{expected:?} is not in:\n{why}");
    }
    for chain in report["chains"].as_array().unwrap() {
        assert_eq!(chain["replayed"]["notes"], 500);
        assert_eq!(chain["quarantined"], 500);
        assert_eq!(chain["replayed"]["quarantined"], json!({}));
    }
    assert_eq!(
        bytes_of(&place.at("out/notes")),
        chain,
        "the chains are what they were"
    );

    let before = bytes_of(&place.at("out"));
    let again = lethe(&["replay", "--again"], &mended).expect(0);
    assert!(again.out.contains("nothing written"), "{}", again.out);
    assert_eq!(bytes_of(&place.at("out")), before);
    let mut search = Search::new(["Quillfeather", "(612) 555"]);
    assert!(search.folder(&place.at("out")) > 4);
    search.words("replay", &done);
    search.assert_clean();
}

#[test]
fn records_that_are_gone_are_counted_and_stay_quarantined() {
    let place = Place::new();
    for file in ["a", "b"] {
        let lines: Vec<String> = (0..3).map(event).collect();
        place.write(&format!("in/{file}.jsonl"), lines.join("\n"));
    }
    let source = format!(
        "[source]\nkind = \"jsonl\"\ninput = {}\n",
        common::quoted(place.at("in"))
    );
    let broken = config(&place, "broken.toml", &source, "");
    lethe(&["run", "--until-end"], &broken).expect(6);
    let mended = source + "format.fields = { note_id = \"key\" }";
    let mended = config(&place, "mended.toml", &mended, "");
    std::fs::remove_file(place.at("in/a.jsonl")).unwrap();
    place.write("in/b.jsonl", [event(0), event(1)].join("\n"));
    let done = lethe(&["replay", "--json"], &mended)
        .expect(0)
        .says("4 records are no longer in the log or in their files");
    assert_eq!((counted(&done, "notes"), counted(&done, "gone")), (2, 4));
    let report = inspect(&place);
    assert_eq!(report["chains"][0]["replayed"], Value::Null);
    assert_eq!(report["chains"][1]["replayed"]["notes"], 2);
}

#[test]
fn files_of_messages_are_replayed_by_their_codes() {
    let place = Place::new();
    for file in ["quillfeather-1", "quillfeather-2"] {
        let lines: Vec<String> = (0..3).map(event).collect();
        place.write(&format!("in/{file}.jsonl"), lines.join("\n"));
    }
    let source = format!(
        "[source]\nkind = \"files\"\ninput = {}\nframing = \"lines\"\ncodes = {{ kind = \"folder\", path = {} }}\n",
        common::quoted(place.at("in")),
        common::quoted(place.at("codes")),
    );
    lethe(
        &["run", "--until-end"],
        &config(&place, "broken.toml", &source, ""),
    )
    .expect(6);
    let format = "[format]\nkind = \"json\"\nfields = { note_id = \"key\" }\n";
    let mended = config(&place, "mended.toml", &source, format);
    let done = lethe(&["replay", "--json"], &mended).expect(0);
    assert_eq!(
        (counted(&done, "notes"), counted(&done, "gone")),
        (6, 0),
        "{}",
        done.out
    );
    inspect(&place);
    let mut search = Search::new(["quillfeather"]);
    search.folder(&place.at("out"));
    search.words("replay", &done);
    search.assert_clean();
    lethe(&["replay"], &mended).expect(0).says("notes are redacted");
    assert_eq!(replayed(&place).len(), 6);
}

#[test]
fn a_killed_replay_is_finished_by_the_next() {
    let place = Place::new();
    for file in ["a", "b"] {
        let lines: Vec<String> = (0..30).map(event).collect();
        place.write(&format!("in/{file}.jsonl"), lines.join("\n"));
    }
    let source = format!(
        "[source]\nkind = \"jsonl\"\ninput = {}\n",
        common::quoted(place.at("in"))
    );
    lethe(
        &["run", "--until-end"],
        &config(&place, "broken.toml", &source, ""),
    )
    .expect(6);
    let mended = source + "format.fields = { note_id = \"key\" }";
    let mended = config(&place, "mended.toml", &mended, "");
    for (crash, parts) in [("audit_written", 0), ("notes_written", 1), ("audit_written", 1)] {
        let arguments = ["replay".as_ref(), "-c".as_ref(), mended.as_os_str()];
        let killed = Lethe::new(arguments).env("LETHE_CRASH_AT", crash).end();
        assert_eq!(killed.code, None, "{}", killed.err);
        inspect(&place);
        assert_eq!(files(&place.at("out/replayed/notes")).len(), parts, "{crash}");
    }
    let done = lethe(&["replay", "--json"], &mended).expect(0);
    assert_eq!(counted(&done, "notes"), 30);
    let rows = replayed(&place);
    assert_eq!(rows.len(), 60);
    assert!(rows.values().all(|attempts| attempts.len() == 1));
    inspect(&place);
}

#[test]
fn a_replay_under_a_policy_that_protects_less_is_refused() {
    let place = Place::new();
    place.write("in/a.jsonl", event(0));
    let source = format!(
        "[source]\nkind = \"jsonl\"\ninput = {}\n",
        common::quoted(place.at("in"))
    );
    let policy = "[policy]\nmode = \"expert-determination\"\ndetermination = \"invented for this test\"\ndefault = { action = \"tag\" }\n";
    lethe(
        &["run", "--until-end"],
        &config(&place, "strict.toml", &source, policy),
    )
    .expect(6);
    let mended = source + "format.fields = { note_id = \"key\" }";
    lethe(&["replay"], &config(&place, "none.toml", &mended, ""))
        .expect(3)
        .says("weaker-mode");
    assert!(files(&place.at("out/replayed")).is_empty());
    lethe(&["replay"], &config(&place, "mended.toml", &mended, policy)).expect(0);
    assert_eq!(replayed(&place).len(), 1);
}

#[test]
fn a_code_that_does_not_exist_is_refused_with_those_that_do() {
    let place = Place::new();
    let config = config(&place, "lethe.toml", "", "");
    lethe(&["replay", "--code", "invalid_paylod"], &config)
        .expect(2)
        .says("invalid_payload");
}

#[test]
fn records_are_read_again_from_the_log_and_those_before_its_beginning_are_gone() {
    let place = Place::new();
    let (topic, healthy) = (Topic::new("replayed", 2), Topic::new("healthy", 1));
    topic.fill((0..200).map(event));
    healthy.fill((0..400).map(|number| json!({"note_id": number, "text": "No complaints."}).to_string()));
    let source = topic.source().replace(
        &format!("topics = [{:?}]", topic.name),
        &format!("topics = [{:?}, {:?}]", topic.name, healthy.name),
    );
    let broken = config(&place, "broken.toml", &source, "");
    // Most records are valid, but one topic is completely quarantined.
    lethe(&["run", "--until-end"], &broken)
        .expect(6)
        .says(&format!("{}: 200 of 200", topic.name));
    topic.trim(1, 40);

    let mended = config(
        &place,
        "mended.toml",
        &source,
        "[format]\nkind = \"json\"\nfields = { note_id = \"key\" }\n",
    );
    let done = lethe(&["replay", "--json", "--topic", &topic.name], &mended).expect(0);
    assert_eq!(
        (counted(&done, "notes"), counted(&done, "gone")),
        (160, 40),
        "{}",
        done.out
    );
    let rows = replayed(&place);
    // Both partitions have 100 offsets, and one of them only the last 60.
    assert_eq!(
        (rows.len(), rows.values().map(Vec::len).sum::<usize>()),
        (100, 160)
    );
    let report = inspect(&place);
    let chains = report["chains"].as_array().unwrap();
    let notes = |chain: &Value| chain["replayed"]["notes"].as_u64();
    assert_eq!(chains.iter().filter_map(notes).collect::<Vec<_>>(), [100, 60]);
    inspect(&place);
    let again = lethe(&["replay", "--json"], &mended).expect(0);
    assert_eq!(
        (counted(&again, "notes"), counted(&again, "gone")),
        (0, 40),
        "{}",
        again.out
    );
    // The stream continues afterwards.
    topic.fill([event(1000), event(1001)]);
    lethe(&["run", "--until-end"], &mended).expect(0);
    inspect(&place);
}
