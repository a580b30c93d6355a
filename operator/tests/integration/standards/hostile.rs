//! Names in the position of a heading, a display or a unit are redacted.

use arrow_array::cast::AsArray as _;
use lethe_dictionaries::{Dictionary, exemption};
use serde_json::{Value, json};

use super::engine::{BLIND, ENGINE, batch};

/// Invented names for the structure: people, and words that are also names.
const NAMES: [&str; 8] = [
    "Quillfeather",
    "Ngozi Okafor",
    "Mrs Voss",
    "Grace Hope",
    "Will Grant",
    "Nurse Abernathy",
    "Leopold Stone",
    "Dr Rose Field",
];

/// Returns the redacted text and message of a resource.
fn out(engine: &lethe_core::Engine, resource: &Value) -> String {
    let done = engine
        .process(&batch("fhir", [resource.to_string().as_str()]))
        .unwrap();
    let record = done.redacted.record();
    let text = record
        .column_by_name("text")
        .unwrap()
        .as_string::<i32>()
        .value(0)
        .to_owned();
    let message = record
        .column_by_name("message")
        .unwrap()
        .as_binary::<i32>()
        .value(0)
        .to_vec();
    format!("{text}\n{}", String::from_utf8(message).unwrap())
}

fn resource(div: &str, name: &str, status: &str) -> Value {
    json!({
        "resourceType": "Observation",
        "id": "o1",
        "status": "final",
        "text": {"status": status, "div": format!("<div xmlns=\"http://www.w3.org/1999/xhtml\">{div}</div>")},
        "code": {"coding": [{"system": "http://ward.example", "code": "w1", "display": name}], "text": name},
        "interpretation": [{"coding": [{"system": "http://ward.example", "code": "w2", "display": format!("Letter to {name}")}]}],
        "valueQuantity": {"value": 7, "unit": name, "system": "http://ward.example", "code": "u"}
    })
}

#[test]
fn a_name_in_a_display_a_heading_or_a_unit_is_redacted_no_less_than_without_structure() {
    for name in NAMES {
        for div in [
            format!("<table><tr><th>{name}</th><td>Seen by {name}</td></tr></table>"),
            format!("<p><b>Code</b>: {name}</p><p><b>Interpretation</b>: Letter to {name}</p>"),
            format!("<dl><dt>Code</dt><dd>{name}</dd><dt>Value</dt><dd>7 {name}</dd></dl>"),
            format!("<p>Status: final ({name})</p>"),
        ] {
            let resource = resource(&div, name, "generated");
            let batch = batch("fhir", [resource.to_string().as_str()]);
            let note = batch.note(0);
            let explained = exemption(&Dictionary::builtin()).explained(note, batch.structural_text(0));
            for word in name.split(' ') {
                let stands = explained.iter().any(|span| span.of(note.text).contains(word));
                assert!(!stands, "{word} of {name} is explained in {}", note.text);
            }
            let (with, without) = (out(&ENGINE, &resource), out(&BLIND, &resource));
            for word in name.split(' ') {
                let count = |text: &str| text.matches(word).count();
                assert!(
                    count(&with) <= count(&without),
                    "{word} in {with}, not in {without}"
                );
            }
        }
    }
}

#[test]
fn what_the_structure_knows_of_the_patient_is_redacted_where_it_looks_like_a_heading() {
    // Surnames that are also names of elements and codes.
    for name in ["Page", "Case", "Kind", "Reason", "Weight"] {
        let person = json!({
            "resourceType": "Person",
            "id": "p1",
            "text": {"status": "generated", "div": format!(
                "<div xmlns=\"http://www.w3.org/1999/xhtml\"><table><tr><th>Name</th><td>{name}</td></tr><tr><th>Contact</th><td>Ann {name}</td></tr></table></div>"
            )},
            "name": [{"family": name, "given": ["Ann"]}]
        });
        let out = out(&ENGINE, &person);
        assert!(!out.contains(name), "{out}");
        assert!(out.contains("Contact"), "{out}");
    }
}

#[test]
fn narrative_that_is_not_generated_is_read_without_its_structure() {
    let div = "<p><b>Code</b>: Heart rate</p>";
    let batch = |status| batch("fhir", [resource(div, "Heart rate", status).to_string().as_str()]);
    assert!(batch("additional").structural_text(0).is_empty());
    assert_eq!(batch("generated").structural_text(0).len(), 2);
}
