//! `lethe corpus stats`: what corpora contain, without a word of an identifier.

#![allow(clippy::unwrap_used, reason = "test helpers may panic, as tests may")]

use crate::common;

use common::Place;
use common::process::Lethe;
use serde_json::{Value, json};

/// Two notes of one patient: 11 tokens in 2 sentences, and 4 tokens in 1.
fn ward() -> String {
    let lines = [
        json!({"doc_id": "1", "patient_id": "p", "text": "Zorvane saw Orla Penhallow. Calm, well, calm.",
            "spans": [{"start": 0, "end": 7, "label": "DOCTOR"}, {"start": 12, "end": 26, "label": "PATIENT"}]}),
        json!({"doc_id": "2", "patient_id": "p", "text": "Calm and well.", "spans": []}),
    ];
    lines.map(|line| line.to_string() + "\n").concat()
}

/// One note, in brat's form: 6 tokens in 1 sentence. It mentions a patient once without a span.
const CLINIC: &str = "ZORVANE and penhallow: calm today";
const CLINIC_SPANS: &str = "T1\tDOCTOR 0 7\tZORVANE\n";

struct Setting {
    place: Place,
    ward: String,
    clinic: String,
}

impl Setting {
    fn new() -> Self {
        let place = Place::new();
        let ward = place.write("ward.jsonl", ward()).to_str().unwrap().to_owned();
        place.write("clinic/1.txt", CLINIC);
        place.write("clinic/1.ann", CLINIC_SPANS);
        let clinic = place.at("clinic").to_str().unwrap().to_owned();
        Self { place, ward, clinic }
    }
}

fn stats(arguments: &[&str]) -> Lethe {
    Lethe::new([&["corpus", "stats"][..], arguments].concat())
}

fn close(value: &Value, expected: f64) {
    let value = value.as_f64().unwrap();
    assert!((value - expected).abs() < 1e-9, "{value} {expected}");
}

#[test]
fn corpora_are_counted_and_compared() {
    let Setting { place, ward, clinic } = Setting::new();
    let arguments = [&*ward, &*clinic, "--least-documents", "1", "--json"];
    let out = stats(&arguments).end().expect(0).out;
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (&report["format"], &report["version"]),
        (&json!("lethe-corpus-statistics"), &json!(1))
    );
    let [first, other] = [&report["corpora"][0], &report["corpora"][1]];
    assert_eq!(
        (&first["name"], &other["name"]),
        (&json!("ward"), &json!("clinic"))
    );
    assert_eq!((&first["documents"], &first["patients"]), (&json!(2), &json!(1)));
    assert_eq!(
        (&other["documents"], &other["patients"]),
        (&json!(1), &Value::Null)
    );
    assert_eq!(first["without_spans"], json!({"count": 1, "of": 2, "share": 0.5}));
    assert_eq!(first["sentences"]["total"], 3);
    assert_eq!(
        first["tokens"],
        json!({"total": 15, "mean": 7.5, "min": 4, "median": 7.5, "max": 11})
    );
    assert_eq!(
        (&first["spans"]["total"], &first["span_tokens"]["total"]),
        (&json!(2), &json!(3))
    );
    let patients = &first["labels"]["groups"][1];
    assert_eq!(patients["name"], "PATIENT");
    assert_eq!(
        (&patients["spans"]["count"], &patients["tokens"]["count"]),
        (&json!(1), &json!(2))
    );
    close(&patients["tokens"]["share"], 2.0 / 3.0);
    let comparison = &report["comparisons"][0];
    close(&comparison["tokens"]["mean"], 6.0 / 7.5);
    let doctors = &comparison["labels"]["groups"][0];
    close(&doctors["spans"], 1.0);
    close(&doctors["rate"], 15.0 / 6.0);
    assert_eq!(doctors["forms_seen"], json!({"count": 1, "of": 1, "share": 1.0}));
    assert_eq!(comparison["labels"]["groups"][1]["spans"], 0.0);
    // Outside of spans there are saw, calm, well, calm, calm, and, well; and, penhallow, calm, today.
    let terms = &comparison["terms"];
    assert_eq!(
        (&terms["first_words"], &terms["other_words"]),
        (&json!(7), &json!(4))
    );
    let words = |side: &str| -> Vec<Value> {
        terms[side]
            .as_array()
            .unwrap()
            .iter()
            .map(|term| term["word"].clone())
            .collect()
    };
    assert_eq!(words("first"), ["well", "saw", "calm"]);
    assert_eq!(words("other"), ["today", "and"]);
    close(&terms["first"][0]["score"], -2.055_290_647_078_821);
    close(&terms["other"][0]["score"], 2.203_312_984_732_772);
    // A label that is dropped does not show its words.
    let rename = place.write("names.toml", "[labels]\nDOCTOR = \"\"\nPATIENT = \"\"\n");
    let more = ["--rename", rename.to_str().unwrap()];
    let out = stats(&[&arguments[..], &more[..]].concat()).end().expect(0).out;
    let dropped: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(dropped["corpora"][0]["spans"]["total"], 0);
    assert_eq!(
        dropped["comparisons"][0]["terms"],
        report["comparisons"][0]["terms"]
    );
}

#[test]
fn tables_show_no_word_of_a_span() {
    let Setting {
        place: _place,
        ward,
        clinic,
    } = Setting::new();
    let named = format!("other={clinic}");
    let arguments = [&*ward, &*named, "--least-documents", "1", "--labels", "i2b2-2014"];
    let ended = stats(&arguments).end().expect(0);
    for words in [
        "Ratios are relative to ward",
        "other",
        "Spans by category",
        "today",
    ] {
        assert!(ended.out.contains(words), "{words}: {}", ended.out);
    }
    let shown = (ended.out + &ended.err).to_lowercase();
    for word in ["zorvane", "orla", "penhallow"] {
        assert!(!shown.contains(word), "{word}: {shown}");
    }
    let few = stats(&[&ward, &clinic]).end().expect(0).out;
    assert!(
        few.contains("none that is over-represented occurs in 5 documents"),
        "{few}"
    );
    let none = stats(&[&ward, &clinic, "--terms", "0"]).end().expect(0).out;
    assert!(!none.contains("words"), "{none}");
}

#[test]
fn corpora_that_cannot_be_counted_are_refused() {
    let Setting { place, ward, clinic } = Setting::new();
    let empty = place.write("empty.jsonl", "").to_str().unwrap().to_owned();
    stats(&[&ward, &empty])
        .end()
        .expect(2)
        .says("empty.jsonl: no documents; give a file of JSON lines");
    let twin = format!("ward={clinic}");
    stats(&[&ward, &twin])
        .end()
        .expect(2)
        .says("are both called `ward`; give each corpus a name of its own, as in `NAME=PATH`");
    let absent = place.at("absent.jsonl").to_str().unwrap().to_owned();
    stats(&[&absent]).end().expect(2).says("absent.jsonl");
}
