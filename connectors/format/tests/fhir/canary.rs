//! A marker in every string of a message: which of them come back.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{SAMPLES, close_with, read, tag};

const MARK: &str = "Zyxwvut";

/// Elements whose strings come back as they are: codes and their names, units, and what these are called by.
const KEPT: [&str; 5] = ["code", "display", "profile", "system", "unit"];

/// Puts the marker into the string at each place in turn, and gives each message with the place's path.
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

/// Every message with one string changed, where it can still be read.
fn closed_with_marks(make: &dyn Fn(&str) -> String) -> Vec<(String, String)> {
    let mut out = Vec::new();
    for sample in SAMPLES {
        let whole: Value = serde_json::from_str(sample).unwrap();
        let mut places = Vec::new();
        marked(&whole, "", make, &mut places);
        for (path, text) in places {
            let mut changed = whole.clone();
            *changed.pointer_mut(&path).unwrap() = text.into();
            // What is no note any more is quarantined, and nothing of it leaves.
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
fn only_codes_and_their_names_survive_as_they_are() {
    let kept: BTreeSet<String> = KEPT.iter().map(|&name| name.to_owned()).collect();
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
        let leaked: Vec<_> = survived.difference(&kept).collect();
        assert!(leaked.is_empty(), "{leaked:?}");
        // The marker is looked for in the right place: codes do come back.
        assert!(make("x") != MARK || survived.contains("display"));
    }
}

#[test]
fn nothing_that_identifies_somebody_in_the_samples_comes_back() {
    for sample in SAMPLES {
        let event = read(sample);
        let message = &event.enclosed.as_ref().unwrap().0;
        let closed = close_with(&event, &vec!["[redacted]"; message.parts().len()], tag).to_string();
        for one in message.identifiers() {
            let value = one.value.expose();
            // Short ids may stand in a word.
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
