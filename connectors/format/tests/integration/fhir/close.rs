use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{
    DIAGNOSTIC_REPORT, DOCUMENT, DOCUMENT_REFERENCE, MESSAGE, SAMPLES, TRANSACTION, close, close_with, read,
    same, tag,
};

fn masked() -> Value {
    json!({"extension": [{"url": "http://hl7.org/fhir/StructureDefinition/data-absent-reason", "valueCode": "masked"}]})
}

#[test]
fn a_message_closed_as_it_was_reads_back_as_the_same_note() {
    for sample in SAMPLES {
        let event = read(sample);
        let again = read(&close(&event, same).to_string());
        assert_eq!(again.text.expose(), event.text.expose());
        assert_eq!((again.kind, again.authored_at), (event.kind, event.authored_at));
        assert_eq!(again.patient_id, event.patient_id);
    }
}

#[test]
fn references_lead_where_they_led_before() {
    let closed = close(&read(DOCUMENT), tag);
    let entry = |i: usize| &closed["entry"][i];
    let composition = &entry(0)["resource"];
    assert_eq!(composition["subject"]["reference"], entry(1)["fullUrl"]);
    assert_eq!(
        entry(1)["resource"]["managingOrganization"]["reference"],
        entry(4)["fullUrl"]
    );
    let author = composition["author"][0]["reference"].as_str().unwrap();
    assert_eq!(entry(2)["fullUrl"], format!("https://example.invalid/{author}"));
    assert_eq!(
        author,
        format!("Practitioner/{}", entry(2)["resource"]["id"].as_str().unwrap())
    );
    // The patient has a URN and an id; both get the same replacement everywhere.
    let patient = entry(1)["resource"]["id"].as_str().unwrap();
    assert_eq!(
        entry(6)["resource"]["patient"]["reference"],
        format!("Patient/{patient}")
    );
    assert_eq!(
        entry(7)["resource"]["subject"]["reference"],
        format!("Patient/{patient}")
    );
    assert_eq!(
        entry(8)["resource"]["subject"]["reference"],
        format!("Patient/{patient}")
    );
}

#[test]
fn with_tags_the_message_stays_valid_where_nothing_can_be_written() {
    let closed = close(&read(DOCUMENT), tag);
    let composition = &closed["entry"][0]["resource"];
    assert_eq!(composition.get("date"), None);
    assert_eq!(composition["_date"], masked());
    assert_eq!(
        composition["attester"][0],
        json!({"mode": "legal", "party": {"display": "[DOCTOR]"}})
    );
    assert_eq!(closed.get("timestamp"), None);
    let patient = &closed["entry"][1]["resource"];
    assert_eq!(
        patient["communication"],
        json!([{"language": masked(), "preferred": true}])
    );
    assert_eq!(
        patient["name"][0],
        json!({"text": "[PATIENT]", "family": "[PATIENT]", "use": "official"})
    );
    assert_eq!(
        patient["name"][2],
        json!({"given": ["[PATIENT]"], "use": "nickname"})
    );
    assert_eq!(patient.get("birthDate"), None);
    assert_eq!(patient["gender"], "female");
    let observation = &closed["entry"][7]["resource"];
    assert_eq!(observation["valueQuantity"]["value"], 139.5);
    assert_eq!(
        observation["note"][0],
        json!({"authorString": "[DOCTOR]", "text": "Told A. Okafor on 29 April."})
    );
    let message = close(&read(MESSAGE), tag);
    assert_eq!(
        message["entry"][0]["resource"]["source"],
        json!({"_endpoint": masked()})
    );
}

#[test]
fn with_surrogates_names_go_into_their_parts_and_dates_keep_their_form() {
    let surrogate = |one: &lethe_core::Identifier| match (one.label, one.value.expose()) {
        ("PATIENT", "Adaeze Ngozi Okafor Jr.") => "Mara Lou Quinn Sr.".to_owned(),
        ("DATE", value) => "2019-08-17".chars().take(value.len()).collect(),
        ("MEDICALRECORD", "pat-40017") => "[x]_91".to_owned(),
        _ => tag(one),
    };
    let closed = close(&read(DOCUMENT), surrogate);
    let patient = &closed["entry"][1]["resource"];
    let name = json!({"family": "Quinn", "given": ["Mara", "Lou"], "suffix": ["Sr."], "use": "official"});
    assert_eq!(patient["name"][0], name);
    assert_eq!(patient["id"], "x91");
    assert_eq!(patient["birthDate"], "2019-08-17");
    assert_eq!(patient["address"][0]["period"]["start"], "2019");
    assert_eq!(
        closed["entry"][0]["resource"]["date"],
        "2019-08-17T16:45:00+02:00"
    );
    assert_eq!(
        closed["entry"][7]["resource"]["subject"]["reference"],
        "Patient/x91"
    );
}

#[test]
fn years_are_dates_but_no_instants() {
    let year = |one: &lethe_core::Identifier| match one.label {
        "DATE" => one.value.expose().chars().take(4).collect(),
        _ => tag(one),
    };
    let report = close(&read(DIAGNOSTIC_REPORT), year);
    assert_eq!(report["effectivePeriod"], json!({"start": "2023", "end": "2023"}));
    assert_eq!(report.get("issued"), None);
    let document = close(&read(DOCUMENT_REFERENCE), year);
    assert_eq!(document["contained"][0].get("birthDate"), None, "she is over 89");
}

#[test]
fn narrative_goes_back_into_its_places() {
    let event = read(DOCUMENT_REFERENCE);
    let parts = ["About [A]", "Note & <b>\nof [A]  x", "", "third"];
    let closed = close_with(&event, &parts, tag);
    assert_eq!(closed["description"], "About [A]");
    let attachment = |i: usize| &closed["content"][i]["attachment"];
    let expected = json!({"contentType": "text/plain; charset=utf-8", "language": "es-ES", "data": STANDARD.encode(parts[1])});
    assert_eq!(*attachment(0), expected);
    for gone in [1, 3, 4] {
        assert_eq!(*attachment(gone), masked());
    }
    let event = read(DOCUMENT);
    let count = event.enclosed.as_ref().unwrap().0.parts().len();
    let closed = close_with(&event, &vec!["a & <b>\n  c"; count], tag);
    let div = "<div xmlns=\"http://www.w3.org/1999/xhtml\">a &amp; &lt;b&gt;<br/>&#160;&#160;c</div>";
    assert_eq!(
        closed["entry"][0]["resource"]["text"],
        json!({"status": "additional", "div": div})
    );
}

#[test]
fn searches_in_requests_and_references_are_not_given_back() {
    let closed = close(&read(TRANSACTION), tag);
    assert_eq!(
        closed["entry"][0]["request"],
        json!({"method": "PUT", "url": "Patient"})
    );
    assert_eq!(closed["entry"][2]["resource"].get("subject"), None);
    assert!(!closed.to_string().contains("010203"));
}

#[test]
fn a_great_age_is_not_given_back() {
    let age = |value: f64, unit: &str| {
        let of = json!({"resourceType": "Observation", "id": "o", "status": "final", "code": {"text": "Age"},
                        "valueQuantity": {"value": value, "unit": unit}});
        close(&read(&of.to_string()), tag).get("valueQuantity").is_some()
    };
    assert!(age(89.0, "years") && age(140.0, "mmol/L"));
    assert!(!age(90.0, "Years") && !age(93.0, "a"));
}

#[test]
fn another_number_of_parts_or_identifiers_is_refused() {
    let event = read(MESSAGE);
    let message = &event.enclosed.as_ref().unwrap().0;
    assert!(
        message
            .close(&[], &vec![""; message.identifiers().len()])
            .is_err()
    );
    assert!(message.close(&vec![""; message.parts().len()], &[]).is_err());
    assert!(
        message
            .close(
                &vec![""; message.parts().len()],
                &vec![""; message.identifiers().len()]
            )
            .is_ok()
    );
}
