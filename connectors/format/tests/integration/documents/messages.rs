use lethe_core::NoteEvent;
use lethe_format::{Diagnosis, FhirConfig, Format, Hl7v2Config, PayloadError};
use serde_json::{Value, json};

use super::{base64, line, page};

fn fhir(resource: &Value) -> Result<NoteEvent, Diagnosis> {
    let config = FhirConfig {
        keep_message: true,
        ..FhirConfig::default()
    };
    config.build().read(resource.to_string().as_bytes())
}

fn hl7(value: &str) -> Result<NoteEvent, Diagnosis> {
    let config = Hl7v2Config {
        keep_message: true,
        ..Hl7v2Config::default()
    };
    let message =
        format!("MSH|^~\\&|a|b|c|d|2024||ORU^R01|C|P|2.5.1\rPID|1||00482913^^^^MR\rOBX|1|ED|N||{value}");
    config.build().unwrap().read(message.as_bytes())
}

/// Returns the message with `with` in place of each part and unchanged ids.
fn closed(event: &NoteEvent, with: &str) -> String {
    let message = &event.enclosed.as_ref().unwrap().0;
    let parts = vec![with; message.parts().len()];
    let identifiers: Vec<&str> = message
        .identifiers()
        .iter()
        .map(|identifier| identifier.value.expose())
        .collect();
    String::from_utf8(message.close(&parts, &identifiers).unwrap()).unwrap()
}

fn attachment(content_type: &str, data: &[u8]) -> Value {
    json!({"attachment": {
        "contentType": content_type, "language": "en", "data": base64(data), "size": data.len(),
        "hash": "cXVpbGxmZWF0aGVy", "title": "Quillfeather.pdf", "url": "https://example.invalid/quillfeather",
        "creation": "2024-05-01",
    }})
}

fn document_reference(content: &[Value]) -> Value {
    json!({"resourceType": "DocumentReference", "id": "d-1", "status": "current",
        "meta": {"security": [{"system": "http://terminology.hl7.org/CodeSystem/v3-Confidentiality", "code": "R"}]},
        "content": content})
}

fn labels(resource: &Value) -> Vec<&str> {
    let labels = resource["meta"]["security"].as_array().unwrap();
    labels.iter().map(|one| one["code"].as_str().unwrap()).collect()
}

#[test]
fn a_pdf_of_fhir_comes_back_as_plain_text_without_what_describes_it() {
    let pdf = line("Seen by Dr. Voss");
    let event = fhir(&document_reference(&[attachment("application/pdf", &pdf)])).unwrap();
    assert_eq!(event.text.expose(), "Seen by Dr. Voss");
    let back: Value = serde_json::from_str(&closed(&event, "Seen by [DOCTOR]")).unwrap();
    assert_eq!(
        back["content"][0]["attachment"],
        json!({"contentType": "text/plain; charset=utf-8", "language": "en", "creation": "2024-05-01",
            "data": base64(b"Seen by [DOCTOR]")})
    );
    assert_eq!(labels(&back), ["R", "PSEUDED"]);
}

#[test]
fn each_attachment_of_a_document_is_a_part_of_the_note() {
    let event = fhir(&document_reference(&[
        attachment("application/pdf", &line("First by Voss")),
        attachment("text/html", b"<p>Second by Voss</p>"),
        attachment("application/rtf", b"{\\rtf1 Third by Voss}"),
        attachment("text/plain", b"Fourth by Voss"),
    ]))
    .unwrap();
    assert_eq!(
        event.text.expose(),
        "First by Voss\n\nSecond by Voss\n\nThird by Voss\n\nFourth by Voss"
    );
    let back: Value = serde_json::from_str(&closed(&event, "[DOCTOR]")).unwrap();
    assert_eq!(back["content"].as_array().unwrap().len(), 4);
    assert!(!back.to_string().contains("uillfeather"));
}

#[test]
fn a_binary_alone_is_one_note() {
    let pdf = line("Seen by Dr. Voss");
    for (content_type, data) in [
        ("application/pdf", pdf.as_slice()),
        ("text/plain", b"Seen by Dr. Voss"),
        ("text/rtf", b"{\\rtf1 Seen by Dr. Voss}"),
    ] {
        let binary = json!({"resourceType": "Binary", "id": "b-1", "contentType": content_type,
            "securityContext": {"reference": "Patient/p-1"}, "data": base64(data)});
        let event = fhir(&binary).unwrap();
        assert_eq!(event.text.expose(), "Seen by Dr. Voss");
        assert_eq!(event.patient_id.as_ref().map(|id| id.expose()), Some("p-1"));
        let back: Value = serde_json::from_str(&closed(&event, "Seen by [DOCTOR]")).unwrap();
        assert_eq!(back["resourceType"], "Binary");
        assert_eq!(back["contentType"], "text/plain; charset=utf-8");
        assert_eq!(back["data"], base64(b"Seen by [DOCTOR]"));
        assert_eq!(labels(&back), ["PSEUDED"]);
        assert!(back.get("securityContext").is_none());
    }
    let empty = json!({"resourceType": "Binary", "id": "b-1", "contentType": "application/pdf"});
    assert_eq!(fhir(&empty).unwrap_err().problem, PayloadError::Missing);
}

#[test]
fn attachments_that_are_no_text_are_quarantined_with_their_own_codes() {
    let picture = page("", "", &[]);
    for (content_type, data, code) in [
        ("application/pdf", picture.as_slice(), "not_text:{data}:scanned"),
        ("application/pdf", b"PK\x03\x04", "damaged:{data}:pdf"),
        (
            "application/pdf",
            b"%PDF-1.7 /Encrypt",
            "unsupported_type:{data}:encrypted",
        ),
        ("image/jpeg", b"\xff\xd8", "unsupported_type:{type}"),
        ("audio/mpeg", b"ID3", "unsupported_type:{type}"),
        (
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            b"PK\x03\x04",
            "unsupported_type:{type}",
        ),
        ("application/octet-stream", b"text", "unsupported_type:{type}"),
    ] {
        let why = fhir(&document_reference(&[attachment(content_type, data)])).unwrap_err();
        let wanted = code
            .replace("{data}", "DocumentReference.content.attachment.data")
            .replace("{type}", "DocumentReference.content.attachment.contentType");
        assert_eq!(why.quarantine().to_string(), wanted, "{content_type}");
    }
}

#[test]
fn a_pdf_of_hl7_comes_back_as_plain_text() {
    let pdf = base64(&line("Seen by Dr. Voss"));
    for head in [
        "^application^pdf^Base64^",
        "RIS^AP^PDF^Base64^",
        "^Application^x-pdf^BASE64^",
        "^application/pdf^^Base64^",
        "^PDF^^Base64^",
    ] {
        let event = hl7(&format!("{head}{pdf}")).unwrap();
        assert_eq!(event.text.expose(), "Seen by Dr. Voss", "{head}");
        let back = closed(&event, "Seen by [DOCTOR]");
        let data = base64(b"Seen by [DOCTOR]");
        assert!(back.contains(&format!("|^TEXT^plain^Base64^{data}")), "{back}");
    }
}

#[test]
fn what_hl7_encloses_that_is_no_text_is_quarantined() {
    let picture = base64(&page("", "", &[]));
    for (value, code) in [
        (
            format!("^application^pdf^Base64^{picture}"),
            "not_text:OBX-5:scanned",
        ),
        ("^application^pdf^Base64^UEsDBA==".to_owned(), "damaged:OBX-5:pdf"),
        ("^image^jpeg^Base64^/9j/".to_owned(), "not_text:OBX-5"),
        ("^AU^basic^Base64^AAAA".to_owned(), "not_text:OBX-5"),
        ("^application^msword^Base64^AAAA".to_owned(), "not_text:OBX-5"),
        (
            "^application^octet-stream^Base64^AAAA".to_owned(),
            "not_text:OBX-5",
        ),
    ] {
        assert_eq!(hl7(&value).unwrap_err().quarantine().to_string(), code, "{value}");
    }
}

#[test]
fn each_resource_of_a_bundle_has_the_label_once_and_contained_ones_none() {
    let composition = json!({"resourceType": "Composition", "id": "c-1", "status": "final", "date": "2024-05-01",
        "title": "Note", "type": {"text": "Note"}, "author": [{"display": "Voss"}],
        "meta": {"security": [
            {"system": "http://terminology.hl7.org/CodeSystem/v3-ObservationValue", "code": "PSEUDED"},
            {"system": "http://example.invalid/labels", "code": "QUILLFEATHER"},
            {"system": "http://terminology.hl7.org/CodeSystem/v3-Confidentiality", "code": "Quillfeather"},
        ]},
        "contained": [{"resourceType": "Practitioner", "id": "p", "name": [{"family": "Voss"}],
            "meta": {"security": [{"system": "http://terminology.hl7.org/CodeSystem/v3-Confidentiality", "code": "R"}]}}],
        "section": [{"title": "History", "text": {"status": "generated", "div": "<div>Outer Voss</div>"},
            "section": [{"title": "Inner", "text": {"status": "generated", "div": "<div>Inner Voss</div>"},
                "entry": [{"reference": "Observation/o-1"}],
                "section": [{"text": {"status": "generated", "div": "<div>Innermost Voss</div>"}}]}]}]});
    let observation = json!({"resourceType": "Observation", "id": "o-1", "status": "final", "code": {"text": "x"},
        "valueString": "Value by Voss"});
    let patient = json!({"resourceType": "Patient", "id": "p-1"});
    let condition =
        json!({"resourceType": "Condition", "id": "k-1", "subject": {"reference": "Patient/p-1"}});
    let entry = |resource: Value| json!({"resource": resource});
    let bundle = json!({"resourceType": "Bundle", "type": "collection",
        "entry": [entry(composition), entry(observation), entry(patient), entry(condition)]});
    let event = fhir(&bundle).unwrap();
    for text in ["Outer Voss", "Inner Voss", "Innermost Voss"] {
        assert!(event.text.expose().contains(text), "{text}");
    }
    let back: Value = serde_json::from_str(&closed(&event, "[NAME]")).unwrap();
    let entries = back["entry"].as_array().unwrap();
    assert_eq!(entries.len(), 4);
    assert_eq!(labels(&back), ["PSEUDED"]);
    for entry in entries {
        assert_eq!(
            labels(&entry["resource"]),
            ["PSEUDED"],
            "{}",
            entry["resource"]["resourceType"]
        );
    }
    let contained = &entries[0]["resource"]["contained"][0];
    assert_eq!(contained["resourceType"], "Practitioner");
    assert!(contained.get("meta").is_none(), "{contained}");
    let innermost = &entries[0]["resource"]["section"][0]["section"][0]["section"][0];
    assert!(innermost["text"]["div"].as_str().unwrap().contains("[NAME]"));
    let sections = &entries[0]["resource"]["section"][0]["section"][0];
    assert!(
        sections["entry"][0]["reference"]
            .as_str()
            .unwrap()
            .starts_with("Observation/")
    );
    assert!(!back.to_string().to_lowercase().contains("quillfeather"));
}
