//! `lethe synthesise` through the command line.

#![allow(clippy::unwrap_used, reason = "test helpers may panic, as tests may")]

use crate::common;

use common::Place;
use common::process::Lethe;
use serde_json::Value;

fn written(place: &Place, name: &str, more: &[&str]) -> Vec<Value> {
    let out = place.at(name);
    let all = ["synthesise", "--notes", "60", "--out", out.to_str().unwrap()];
    Lethe::new(all.iter().chain(more)).end().expect(0);
    let text = std::fs::read_to_string(out).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Validates events against the schema with an independent library; prints the number of invalid ones.
const VALIDATE: &str = "import json, sys, jsonschema\n\
schema = json.load(open(sys.argv[1]))\n\
jsonschema.Draft202012Validator.check_schema(schema)\n\
check = jsonschema.Draft202012Validator(schema)\n\
print(sum(not check.is_valid(json.loads(line)) for line in open(sys.argv[2])))\n";

#[test]
fn events_fit_the_schema_and_a_stream_reads_every_one() {
    let place = Place::new();
    let events = written(&place, "events.jsonl", &["--as", "events"]);
    assert!(events.iter().all(|event| event.get("spans").is_none()));
    assert!(
        events
            .iter()
            .any(|event| !event["known"].as_array().unwrap().is_empty())
    );
    let schema = Lethe::new(["schema", "event"]).end().expect(0).out;
    let schema = place.write("schema.json", schema);
    let misfits = |name: &str| {
        let python = std::env::var("LETHE_TEST_PYTHON").expect(
            "LETHE_TEST_PYTHON is not set: run this test with scripts/test, or under scripts/with-servers",
        );
        let done = std::process::Command::new(python)
            .args(["-c", VALIDATE])
            .args([&schema, &place.at(name)])
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(misfits("events.jsonl"), "0");
    let wrong = [
        r#"{"text":"t"}"#,
        r#"{"note_id":"n"}"#,
        r#"{"note_id":"n","text":"t","authored_at":"2024-03-01"}"#,
        r#"{"note_id":"n","text":"t","authored_at":"2024-03-01T04:59:59"}"#,
        r#"{"note_id":"n","text":"t","event":"resurrect"}"#,
        r#"{"note_id":"n","text":"t","known":{"badge":"B7"}}"#,
        r#"{"note_id":"n","text":"t","known":[{"value":"B7"}]}"#,
        r#"{"note_id":true,"text":"t"}"#,
    ];
    place.write("wrong.jsonl", wrong.join("\n"));
    assert_eq!(misfits("wrong.jsonl"), wrong.len().to_string());
    let right = [
        r#"{"note_id":7,"event":"delete"}"#,
        r#"{"note_id":"n","text":"t","event":"update","authored_at":"2024-03-01T04:59:59+01:00","known":{"dob":"1958-07-14"}}"#,
    ];
    place.write("right.jsonl", right.join("\n"));
    assert_eq!(misfits("right.jsonl"), "0");
    let out = place.at("out");
    let config = format!(
        "[source]\nkind = \"jsonl\"\ninput = {}\n[engine]\nmembers = [{{ kind = \"known\" }}]\n{}",
        common::quoted(place.at("events.jsonl")),
        common::folder_sink(&out)
    );
    let config = place.write("lethe.toml", config);
    Lethe::new(["run", "--until-end", "-c", config.to_str().unwrap()])
        .end()
        .expect(0);
    let found = Lethe::new(["inspect", out.to_str().unwrap()]).end().expect(0);
    assert!(
        found.out.contains("60 notes, 0 tombstones, 0 quarantined"),
        "{}",
        found.out
    );
}

#[test]
fn the_same_seed_writes_the_same_bytes_and_spans_are_what_they_say() {
    let place = Place::new();
    let documents = written(&place, "a.jsonl", &["--seed", "5"]);
    assert_eq!(written(&place, "b.jsonl", &["--seed", "5"]), documents);
    assert_ne!(written(&place, "c.jsonl", &["--seed", "6"]), documents);
    assert_eq!(documents.len(), 60);
    let mut spans = 0;
    for document in &documents {
        let text: Vec<char> = document["text"].as_str().unwrap().chars().collect();
        for span in document["spans"].as_array().unwrap() {
            let at = |key: &str| usize::try_from(span[key].as_u64().unwrap()).unwrap();
            let marked: String = text[at("start")..at("end")].iter().collect();
            assert_eq!(marked.trim(), marked);
            spans += 1;
        }
    }
    assert!(spans > 500, "{spans}");
}

#[test]
fn carriers_lose_their_residues_and_names_come_from_the_file() {
    let place = Place::new();
    let carrier = serde_json::json!({
        "doc_id": "1",
        "text": "Dr. Xyzzyton saw the patient in Quuxville. The abdomen is soft and frobnicated. He was seen by Dr. Xyzzyton again.",
        "spans": [{"start": 32, "end": 41, "label": "CITY"}],
    });
    let carriers = place.write("carriers.jsonl", carrier.to_string() + "\n");
    let names = place.write("names.tsv", "Zephyrine\tQuorn\tF\tinvented\n");
    let options = [
        "--carriers",
        carriers.to_str().unwrap(),
        "--names",
        names.to_str().unwrap(),
        "--noise",
        "none",
    ];
    let documents = written(&place, "a.jsonl", &options);
    let all: String = documents
        .iter()
        .map(|document| document["text"].as_str().unwrap())
        .collect();
    assert!(all.contains("frobnicated") && all.contains("Quorn"));
    assert!(!all.contains("Xyzzyton") && !all.contains("Quuxville"));
}

#[test]
fn a_file_of_names_that_is_none_is_told_by_its_line() {
    let place = Place::new();
    let names = place.write(
        "names.tsv",
        "# given, surname, sex\nZephyrine\tQuorn\tF\nQualia Vexmoor\n",
    );
    let out = place.at("out.jsonl");
    let ended = Lethe::new([
        "synthesise",
        "--out",
        out.to_str().unwrap(),
        "--names",
        names.to_str().unwrap(),
    ])
    .end();
    ended
        .expect(2)
        .says("names.tsv, line 3: expected a given name, tab, a surname");
    assert!(!out.exists());
}
