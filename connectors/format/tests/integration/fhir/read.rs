use lethe_core::{EventKind, KnownKind, NoteEvent};
use lethe_format::{FhirConfig, Format, FormatConfig, PatientIdFrom, PayloadError};
use serde_json::json;

use super::{DIAGNOSTIC_REPORT, DOCUMENT, DOCUMENT_REFERENCE, MESSAGE, TRANSACTION, read, try_read};

fn known(event: &NoteEvent, kind: KnownKind) -> Vec<&str> {
    let of_kind = event.known.iter().filter(|known| known.kind == kind);
    of_kind.map(|known| known.value.expose()).collect()
}

fn refused(json: &serde_json::Value) -> (Option<&'static str>, PayloadError) {
    let diagnosis = try_read(&json.to_string()).unwrap_err();
    (diagnosis.field, diagnosis.problem)
}

#[test]
fn a_document_is_one_note_of_its_narratives() {
    let event = read(DOCUMENT);
    assert_eq!(
        event.text.expose(),
        "Discharge summary for Adaeze N. Okafor\n\n\
         Patient  OKAFOR, Adaeze\nBorn  28.02.1961\n\n\
         Hospital course\n\n\
         Mrs Okafor (MRN 400177) was admitted on April 28th; Na < 140 & stable.\n\n\
         Daughter-in-law of Jérôme\nSeen by Dr Roth\n\n\
         Follow-up\n\nCall (555) 010-7788\nor Emeka.\n\nEmpty\n\n\
         Sodium, Reus method\n\nTold A. Okafor on 29 April.\n\n135-145\n\nremark\n\n\
         Haemolysed; see Addie's earlier sample"
    );
    assert_eq!(event.note_id.expose(), "comp-1");
    assert_eq!((event.kind, event.version), (EventKind::Amend, Some(2)));
    assert_eq!(event.patient_id.as_ref().unwrap().expose(), "pat-40017");
    assert_eq!(event.encounter_id.as_ref().unwrap().expose(), "enc-5");
    assert_eq!(event.author_id.as_ref().unwrap().expose(), "prac-9");
    assert_eq!(event.note_type.as_deref(), Some("Discharge summary"));
    assert_eq!(event.authored_at, Some(1_714_574_700_000));
}

#[test]
fn everybody_in_the_message_is_known() {
    let event = read(DOCUMENT);
    let patient = known(&event, KnownKind::Patient);
    for name in [
        "Adaeze Ngozi Okafor Jr.",
        "Adaeze van der Berg",
        "Addie",
        "OKAFOR^ADAEZE",
    ] {
        assert!(patient.contains(&name), "{name}");
    }
    assert_eq!(
        known(&event, KnownKind::Relative),
        ["Emeka Okafor", "Chiamaka Nwosu"]
    );
    assert_eq!(
        known(&event, KnownKind::Clinician),
        ["Dr. Lena Roth", "Dr. Tom Vidal", "Lena Roth", "L. Roth"]
    );
    assert_eq!(known(&event, KnownKind::BirthDate), ["1961-02-28"]);
    assert_eq!(known(&event, KnownKind::SocialSecurity), ["078-05-1120"]);
    assert!(known(&event, KnownKind::MedicalRecord).contains(&"40-01-77"));
    assert!(known(&event, KnownKind::Email).contains(&"addie.okafor@mail.example"));
    assert!(known(&event, KnownKind::Phone).contains(&"555-010-2211"));
    assert!(known(&event, KnownKind::Address).contains(&"12 Quarry Lane, Flat 3, Reus, CT, 43201"));
    assert_eq!(known(&event, KnownKind::Account), ["V-2024-0815"]);
    assert!(known(&event, KnownKind::Organization).contains(&"Clínica de Reus"));
}

#[test]
fn attachments_in_rtf_html_and_latin_1_are_read() {
    let event = read(DOCUMENT_REFERENCE);
    assert_eq!(
        event.text.expose(),
        "Letter about A. Quiroga\n\n\
         Señora Ada Quiroga, DOB 03/04/1950\nSeen with Анна – stable\tBP 120/80\n\n\
         Clinic letter\n\nName:\n\nQuíroga,  Ada\n\nJosé & Ada came on 3/4/24.\n\n\
         Señora Quiroga, 93 años"
    );
    // The patient is contained in the note, where an id is meaningless.
    assert_eq!(event.patient_id.as_ref().unwrap().expose(), "MRN0099");
    assert_eq!(event.encounter_id.as_ref().unwrap().expose(), "e-3");
    assert_eq!(event.author_id.as_ref().unwrap().expose(), "C-17");
    assert_eq!(known(&event, KnownKind::BirthDate), ["1930-04-03"]);
}

#[test]
fn reports_messages_and_transactions_are_read() {
    let report = read(DIAGNOSTIC_REPORT);
    assert!(
        report
            .text
            .expose()
            .contains("last film.\r\nE. Lis\n\nCHEST 2 VIEWS\nIdris Bello, MRN 77310")
    );
    assert_eq!(report.patient_id.as_ref().unwrap().expose(), "77310");
    assert_eq!(report.note_type.as_deref(), Some("Chest X-ray of 3 May"));
    let message = read(MESSAGE);
    assert_eq!(
        message.text.expose(),
        "Smoking\n\nStopped when Olu was born\n\nPer wife Bisi."
    );
    assert_eq!(
        (message.kind, message.patient_id.unwrap().expose()),
        (EventKind::Amend, "44-19")
    );
    let transaction = read(TRANSACTION);
    assert_eq!(
        transaction.text.expose(),
        "First note. Lars Holm.\n\nSecond note. L. Holm."
    );
    assert_eq!(
        transaction.note_id.expose(),
        "aaaaaaaa-0000-4000-8000-000000000002"
    );
    assert_eq!(transaction.patient_id, None);
}

#[test]
fn the_medical_record_number_is_the_patient_if_that_is_asked_for() {
    let config = FhirConfig {
        patient_id: PatientIdFrom::MedicalRecord,
        ..FhirConfig::default()
    };
    let event = config.build().read(DOCUMENT.as_bytes()).unwrap();
    assert_eq!(event.patient_id.unwrap().expose(), "40-01-77");
    assert!(event.enclosed.is_none());
}

#[test]
fn a_withdrawn_note_has_no_text() {
    let mut report: serde_json::Value = serde_json::from_str(DIAGNOSTIC_REPORT).unwrap();
    report["status"] = "entered-in-error".into();
    let event = read(&report.to_string());
    assert_eq!((event.kind, event.text.len()), (EventKind::Delete, 0));
    assert!(event.enclosed.unwrap().0.parts().is_empty());
}

#[test]
fn a_document_that_cannot_be_read_is_told_by_its_element() {
    let of = |attachment: serde_json::Value| {
        json!({"resourceType": "DocumentReference", "id": "d", "status": "current", "description": "About Ada",
               "text": {"status": "generated", "div": "<div>About Ada</div>"}, "content": [{"attachment": attachment}]})
    };
    let data = Some("DocumentReference.content.attachment.data");
    let content_type = Some("DocumentReference.content.attachment.contentType");
    for (attachment, field, problem) in [
        (
            json!({"url": "Binary/1", "contentType": "text/plain"}),
            data,
            PayloadError::Missing,
        ),
        (json!({}), data, PayloadError::Missing),
        (
            json!({"data": "JVBERg==", "contentType": "application/pdf"}),
            data,
            PayloadError::NotPdf,
        ),
        (
            json!({"data": "SUkq", "contentType": "image/tiff"}),
            content_type,
            PayloadError::Unsupported,
        ),
        (json!({"data": "JVBERg=="}), content_type, PayloadError::Missing),
        (
            json!({"data": "6Q==", "contentType": "text/plain"}),
            data,
            PayloadError::NotUtf8,
        ),
        (
            json!({"data": "!", "contentType": "text/plain"}),
            data,
            PayloadError::NotBase64,
        ),
        (
            json!({"data": "RGVhcg==", "contentType": "text/rtf"}),
            data,
            PayloadError::WrongType,
        ),
    ] {
        assert_eq!(refused(&of(attachment)), (field, problem));
    }
}

#[test]
fn a_document_that_the_message_brings_along_is_read_and_written_into_its_place() {
    let bundle = |url: &str| {
        json!({"resourceType": "Bundle", "type": "collection", "entry": [
            {"resource": {"resourceType": "DocumentReference", "id": "d", "status": "current",
                          "content": [{"attachment": {"url": url, "contentType": "text/plain"}}]}},
            {"fullUrl": "urn:uuid:b1", "resource": {"resourceType": "Binary", "id": "b", "contentType": "text/html",
                                                    "data": "PHA+QWRhIFJvdGg8L3A+"}}]})
    };
    for url in ["Binary/b", "https://ehr.example/fhir/Binary/b", "urn:uuid:b1"] {
        let event = read(&bundle(url).to_string());
        assert_eq!(event.text.expose(), "Ada Roth", "{url}");
        let closed = super::close(&event, super::tag);
        assert_eq!(closed["entry"].as_array().unwrap().len(), 1);
        let attachment = &closed["entry"][0]["resource"]["content"][0]["attachment"];
        assert_eq!(
            *attachment,
            json!({"contentType": "text/plain; charset=utf-8", "data": "QWRhIFJvdGg="})
        );
    }
    let data = Some("DocumentReference.content.attachment.data");
    assert_eq!(refused(&bundle("Binary/c")), (data, PayloadError::Missing));
}

#[test]
fn what_is_no_note_is_refused() {
    assert_eq!(
        refused(&json!({"id": "x"})),
        (Some("resourceType"), PayloadError::Missing)
    );
    assert_eq!(
        refused(&json!({"resourceType": "Okafor", "id": "x"})),
        (Some("resourceType"), PayloadError::Unsupported)
    );
    let bundle = json!({"resourceType": "Bundle", "type": "batch", "entry": [{"resource": {"resourceType": "Okafor"}}]});
    assert_eq!(
        refused(&bundle),
        (Some("Bundle.entry.resource"), PayloadError::Missing)
    );
    let nameless = json!({"resourceType": "Observation", "status": "final", "valueString": "x"});
    assert_eq!(refused(&nameless), (Some("id"), PayloadError::Missing));
    let twice = r#"{"resourceType":"Observation","id":"a","id":"b","valueString":"x"}"#;
    assert_eq!(try_read(twice).unwrap_err().problem, PayloadError::Duplicate);
}

#[test]
fn a_resource_without_narrative_is_a_structured_record() {
    for (kind, patient) in [
        ("Condition", "subject"),
        ("AllergyIntolerance", "patient"),
        ("Coverage", "beneficiary"),
    ] {
        let mut resource = json!({"resourceType": kind, "id": "x1"});
        resource[patient] = json!({"reference": "Patient/p7"});
        let event = try_read(&resource.to_string()).unwrap();
        assert!(event.structured && event.text.expose().is_empty(), "{kind}");
        assert_eq!(event.note_id.expose(), "x1");
        assert_eq!(event.patient_id.unwrap().expose(), "p7");
    }
}

#[test]
fn no_word_number_or_date_survives_in_any_element_of_any_resource() {
    let rows = include_str!("../../../src/fhir/elements.tsv").lines();
    let rows: Vec<Vec<&str>> = rows
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split('\t').collect())
        .collect();
    let of_resources = rows.iter().filter(|row| row[3].contains('R'));
    let resources: std::collections::BTreeSet<&str> = of_resources.map(|row| row[0]).collect();
    assert!(resources.len() > 130, "{}", resources.len());
    let concept =
        json!({"coding": [{"system": "http://loinc.org", "code": "Zyxwvut", "display": "Zyxwvut"}]});
    let reference =
        json!({"reference": "Zyxwvut", "display": "Zyxwvut", "value": "Zyxwvut", "system": "Zyxwvut"});
    let marks = [
        ("Zyxwvut", json!("Zyxwvut")),
        ("7654321", json!("7654321")),
        ("7654321", json!(7_654_321)),
        ("1999-03-07", json!("1999-03-07")),
        ("Zyxwvut", concept),
        ("Zyxwvut", reference),
    ];
    let mut read = 0;
    for row in rows
        .iter()
        .filter(|row| resources.contains(row[0]) && row[1] != "contained")
    {
        for (mark, value) in &marks {
            let mut resource = json!({"resourceType": row[0], "id": "x1"});
            resource[row[1]] = value.clone();
            let Ok(event) = try_read(&resource.to_string()) else {
                continue;
            };
            read += 1;
            let count = event.enclosed.as_ref().unwrap().0.parts().len();
            let closed = super::close_with(&event, &vec!["[redacted]"; count], super::tag);
            assert!(!closed.to_string().contains(mark), "{}.{}", row[0], row[1]);
        }
    }
    assert!(read > 10_000, "{read}");
}

#[test]
fn a_note_over_the_limit_is_refused_before_it_is_decoded() {
    let config: FormatConfig = toml::from_str("kind = \"fhir\"\nmax_note_bytes = 40").unwrap();
    let read = |text: &str| {
        let observation =
            json!({"resourceType": "Observation", "id": "o", "status": "final", "valueString": text});
        config.build().unwrap().read(observation.to_string().as_bytes())
    };
    assert!(read(&"x".repeat(40)).is_ok());
    assert_eq!(read(&"x".repeat(41)).unwrap_err().problem, PayloadError::TooLarge);
    assert_eq!(
        read(&"x".repeat(4000)).unwrap_err().problem,
        PayloadError::TooLarge
    );
}

#[test]
fn hostile_nesting_is_refused() {
    let deep = format!(
        r#"{{"resourceType":"Composition","id":"c","section":{}"#,
        r#"{"section":"#.repeat(100_000)
    );
    assert_eq!(try_read(&deep).unwrap_err().problem, PayloadError::TooComplex);
    let wide = format!(
        r#"{{"resourceType":"Observation","id":"o","valueString":"x","note":[{}{{}}]}}"#,
        "{},".repeat(1_000_000)
    );
    assert_eq!(try_read(&wide).unwrap_err().problem, PayloadError::TooComplex);
}
