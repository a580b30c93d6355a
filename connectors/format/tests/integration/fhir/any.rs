//! Properties of every message.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{SAMPLES, close, same, tag, try_read};

/// JSON with FHIR's names in FHIR's shapes, and in others.
fn value() -> impl Strategy<Value = Value> {
    let name = prop::sample::select(vec![
        "resourceType",
        "id",
        "text",
        "div",
        "status",
        "content",
        "attachment",
        "data",
        "contentType",
        "url",
        "section",
        "title",
        "entry",
        "resource",
        "fullUrl",
        "contained",
        "subject",
        "reference",
        "name",
        "family",
        "given",
        "birthDate",
        "valueString",
        "note",
        "identifier",
        "value",
        "date",
        "type",
        "coding",
        "code",
        "display",
        "author",
        "meta",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<i32>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        "[a-zé<&/#:. ]{0,12}".prop_map(Value::from),
        prop::sample::select(vec![
            "Composition",
            "Patient",
            "Observation",
            "Bundle",
            "DocumentReference",
            "Patient/1",
            "#a",
            "urn:uuid:1",
            "2024-05-01",
            "text/plain",
            "text/html",
            "text/rtf",
            "YWJj",
            "<p>a <br/> b</p>",
            "final",
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((name.clone(), inner), 0..6).prop_map(|all| all
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect()),
        ]
    })
}

/// Checks one message in every way.
fn holds(json: &str) -> Result<(), TestCaseError> {
    let Ok(event) = try_read(json) else {
        return Ok(());
    };
    let text = event.text.expose();
    let message = &event.enclosed.as_ref().unwrap().0;
    let mut at = 0;
    for part in message.parts() {
        prop_assert!(part.start() >= at && part.check(text).is_ok());
        at = part.end();
    }
    close(&event, tag);
    let again = try_read(&close(&event, same).to_string());
    prop_assert_eq!(again.unwrap().text, event.text.clone());
    Ok(())
}

proptest! {
    #[test]
    fn any_bytes_are_a_note_or_a_diagnosis(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(json) = String::from_utf8(bytes) {
            holds(&json)?;
        }
    }

    #[test]
    fn any_resource_closes_and_reads_back(kind in "(Composition|Observation|DiagnosticReport|DocumentReference)", rest in value()) {
        let mut resource = json!({"id": "a", "status": "final"});
        if let Value::Object(rest) = rest {
            resource.as_object_mut().unwrap().extend(rest);
        }
        resource["resourceType"] = kind.into();
        holds(&resource.to_string())?;
        holds(&json!({"resourceType": "Bundle", "type": "batch", "entry": [{"resource": resource}]}).to_string())?;
    }

    #[test]
    fn any_change_to_a_sample_closes_and_reads_back(sample in 0..SAMPLES.len(), at in any::<prop::sample::Index>(), new in value()) {
        let mut whole: Value = serde_json::from_str(SAMPLES[sample]).unwrap();
        let mut places = Vec::new();
        paths(&whole, "", &mut places);
        let path = &places[at.index(places.len())];
        *whole.pointer_mut(path).unwrap() = new;
        holds(&whole.to_string())?;
    }
}

fn paths(value: &Value, path: &str, out: &mut Vec<String>) {
    out.push(path.to_owned());
    match value {
        Value::Object(object) => object
            .iter()
            .for_each(|(name, inner)| paths(inner, &format!("{path}/{name}"), out)),
        Value::Array(all) => all
            .iter()
            .enumerate()
            .for_each(|(i, inner)| paths(inner, &format!("{path}/{i}"), out)),
        _ => {}
    }
}
