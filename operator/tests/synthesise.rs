//! `lethe synthesise`, as a user types it.

#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests, as tests themselves, say where they fail"
)]

mod common;

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
        .says("names.tsv, line 3: not a given name, tab, a surname");
    assert!(!out.exists());
}
