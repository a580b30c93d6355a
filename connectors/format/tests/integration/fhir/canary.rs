//! Puts a marker into every string of a message and checks which are returned.

use std::collections::BTreeSet;

use lethe_core::Changed;
use serde_json::{Value, json};

use super::{SAMPLES, close_with, read, tag};

const MARK: &str = "Zyxwvut";

/// Puts the marker into the string at each position in turn, and passes on each message with the path of the
/// position.
fn marked(message: &Value, path: &str, make: &dyn Fn(&str) -> String, out: &mut Vec<(String, String)>) {
    match message {
        Value::Object(object) => {
            for (name, inner) in object {
                marked(inner, &format!("{path}/{name}"), make, out);
            }
        }
        Value::Array(values) => {
            for (i, inner) in values.iter().enumerate() {
                marked(inner, &format!("{path}/{i}"), make, out);
            }
        }
        Value::String(text) => out.push((path.to_owned(), make(text))),
        _ => {}
    }
}

/// Returns every message with one changed string that can still be read.
fn closed_with_marks(make: &dyn Fn(&str) -> String) -> Vec<(String, String)> {
    let mut out = Vec::new();
    for sample in SAMPLES {
        let whole: Value = serde_json::from_str(sample).unwrap();
        let mut places = Vec::new();
        marked(&whole, "", make, &mut places);
        for (path, text) in places {
            let mut changed = whole.clone();
            *changed.pointer_mut(&path).unwrap() = text.into();
            // A message that is no longer a note is quarantined, and nothing of it is returned.
            let Ok(event) = super::try_read(&changed.to_string()) else {
                continue;
            };
            let count = event.enclosed.as_ref().unwrap().0.parts().len();
            let closed = close_with(&event, &vec!["[redacted]"; count], tag);
            out.push((path, closed.to_string()));
        }
    }
    out
}

fn survivors(make: &dyn Fn(&str) -> String) -> BTreeSet<String> {
    let all = closed_with_marks(make);
    assert!(all.len() > 250, "too few places were tried: {}", all.len());
    let found = all
        .into_iter()
        .filter(|(_, closed)| closed.to_lowercase().contains(&MARK.to_lowercase()));
    found
        .map(|(path, _)| {
            let named = path.split('/').rev().find(|part| part.parse::<usize>().is_err());
            named.unwrap().to_owned()
        })
        .collect()
}

#[test]
fn no_word_survives_in_any_string() {
    for make in [
        |_: &str| MARK.to_owned(),
        |text: &str| format!("{text} {MARK}"),
        |text: &str| format!("{text}{MARK}"),
        |_: &str| format!("Patient/{MARK}"),
        |_: &str| format!("urn:uuid:{MARK}"),
        |_: &str| format!("2024-05-01T{MARK}"),
        |_: &str| MARK.to_lowercase(),
    ] {
        let survived = survivors(&make);
        assert!(survived.is_empty(), "{survived:?}");
    }
}

#[test]
fn no_seven_digit_number_survives_outside_of_codes_that_have_its_shape() {
    let found = closed_with_marks(&|_| "7654321".to_owned());
    for (path, closed) in found {
        assert!(!closed.contains("7654321"), "{path}");
    }
}

/// Returns an observation whose coded fields contain free text.
fn with_words() -> Value {
    json!({
        "resourceType": "Observation", "id": "o1", "status": "final",
        "extension": [{"url": "http://hl7.org/fhir/x", "valueString": "Zyxwvut"}],
        "code": {"coding": [
            {"system": "http://loinc.org", "code": "2951-2", "display": "Zyxwvut sodium"},
            {"system": "http://loinc.org", "code": "Zyxwvut"},
            {"system": "http://ward.example/codes", "code": "Zyxwvut"},
        ]},
        "valueQuantity": {"value": 139.5, "unit": "mmol for Zyxwvut", "system": "http://unitsofmeasure.org",
                          "code": "mmol/L"},
        "Zyxwvut": 1,
    })
}

#[test]
fn displays_units_and_extensions_do_not_come_back_and_are_audited() {
    let event = read(&with_words().to_string());
    let closed = close_with(&event, &[], tag);
    assert_eq!(
        closed["code"]["coding"],
        json!([{"system": "http://loinc.org", "code": "2951-2"}])
    );
    assert_eq!(
        closed["valueQuantity"],
        json!({"value": 139.5, "system": "http://unitsofmeasure.org", "code": "mmol/L"})
    );
    assert!(!closed.to_string().contains(MARK));
    let message = &event.enclosed.as_ref().unwrap().0;
    let removed: BTreeSet<(&str, &str)> = message
        .changes()
        .iter()
        .filter(|change| change.what == Changed::Removed)
        .map(|change| (change.path.as_ref(), change.rule))
        .collect();
    let expected = BTreeSet::from([
        ("Observation.*", "not in the table"),
        ("Observation.extension", "not in the table"),
        ("Observation.code.coding.display", "display"),
        ("Observation.code.coding", "not a code of the system"),
        ("Observation.valueQuantity.unit", "not of its shape"),
    ]);
    assert_eq!(removed, expected);
}

#[test]
fn each_replaced_field_is_audited_under_its_own_path() {
    for sample in SAMPLES {
        let event = read(sample);
        let message = &event.enclosed.as_ref().unwrap().0;
        let replaced: BTreeSet<usize> = message
            .changes()
            .iter()
            .filter_map(|change| match change.what {
                Changed::Replaced(at) => Some(at),
                Changed::Removed => None,
            })
            .collect();
        assert_eq!(replaced.len(), message.identifiers().len());
    }
}

#[test]
fn attributes_and_comments_of_a_narrative_do_not_come_back() {
    let div = "<div xmlns=\"http://www.w3.org/1999/xhtml\" id=\"Zyxwvut1\"><!-- Zyxwvut2 --><a name=\"Zyxwvut3\" \
               href=\"http://x.example/Zyxwvut4\" title=\"Zyxwvut5\">stable</a><img src=\"Zyxwvut6\" alt=\"Zyxwvut7\"/></div>";
    let observation = json!({"resourceType": "Observation", "id": "o1", "status": "final",
                             "text": {"status": "generated", "div": div}});
    let event = read(&observation.to_string());
    assert!(event.text.expose().contains("stable"));
    let text = event.text.expose().to_owned();
    let closed = close_with(&event, &[&text], tag).to_string();
    assert!(closed.contains("stable") && !closed.contains(MARK), "{closed}");
}

#[test]
fn the_authority_of_an_identifier_is_its_system() {
    let patient = json!({"resourceType": "Patient", "identifier": [
        {"system": "urn:oid:1.2.3", "value": "771"}, {"system": "https://mercy.example/mrn", "value": "772"}]});
    let note = json!({"resourceType": "Observation", "id": "o1", "status": "final"});
    let bundle = json!({"resourceType": "Bundle", "type": "collection",
                        "entry": [{"resource": note}, {"resource": patient}]});
    let event = read(&bundle.to_string());
    let message = &event.enclosed.as_ref().unwrap().0;
    let of = |value| {
        let one = message
            .identifiers()
            .iter()
            .find(|one| one.value.expose() == value);
        one.unwrap().authority.as_deref()
    };
    assert_eq!(of("771"), Some("oid:1.2.3\nsystem:urn:oid:1.2.3"));
    assert_eq!(of("772"), Some("system:https://mercy.example/mrn"));
}

#[test]
fn nothing_that_identifies_somebody_in_the_samples_comes_back() {
    for sample in SAMPLES {
        let event = read(sample);
        let message = &event.enclosed.as_ref().unwrap().0;
        let closed = close_with(&event, &vec!["[redacted]"; message.parts().len()], tag).to_string();
        for one in message.identifiers() {
            let value = one.value.expose();
            // Short ids may be part of a word.
            assert!(value.len() < 4 || !closed.contains(value), "{value}");
        }
        for name in [
            "Okafor",
            "Adaeze",
            "Nwosu",
            "Roth",
            "Quarry",
            "40-01",
            "reusclinic",
            "Quiroga",
            "Serra",
            "Sant Pau",
            "Bello",
            "Lis",
            "Holm",
            "Olu",
            "Bisi",
            "Reus",
            "Ifeoma",
            "mothers",
        ] {
            assert!(!closed.contains(name), "{name}");
        }
    }
}
