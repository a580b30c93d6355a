//! Reads and refuses CDA documents.

#![expect(
    clippy::unwrap_used,
    clippy::string_slice,
    reason = "the helpers of tests fail as the tests do"
)]

mod any;
mod canary;
mod close;
mod leaves;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lethe_core::{EventKind, KnownKind, NoteEvent};
use lethe_format::{CdaConfig, Diagnosis, FhirConfig, Format, FormatConfig, PayloadError};

const SUMMARY: &str = include_str!("summary.xml");
/// A synthetic document with every participant and every kind of entry.
const CONTINUITY: &str = include_str!("continuity.xml");

fn try_read(xml: &[u8]) -> Result<NoteEvent, Diagnosis> {
    CdaConfig::default().build().read(xml)
}

/// Reads a document and keeps it.
fn keeping(xml: &str) -> Result<NoteEvent, Diagnosis> {
    let config = CdaConfig {
        keep_message: true,
        ..CdaConfig::default()
    };
    config.build().read(xml.as_bytes())
}

/// Returns the document of an event with other parts and identifiers.
fn close(event: &NoteEvent, part: impl Fn(&str) -> String, identifier: impl Fn(&str) -> String) -> String {
    let enclosed = &event.enclosed.as_ref().unwrap().0;
    let text = event.text.expose();
    let parts: Vec<String> = enclosed.parts().iter().map(|one| part(one.of(text))).collect();
    let identifiers = enclosed.identifiers().iter();
    let identifiers: Vec<String> = identifiers.map(|one| identifier(one.value.expose())).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let identifiers: Vec<&str> = identifiers.iter().map(String::as_str).collect();
    String::from_utf8(enclosed.close(&parts, &identifiers).unwrap()).unwrap()
}

fn refused(xml: &str) -> (Option<&'static str>, PayloadError) {
    let diagnosis = try_read(xml.as_bytes()).unwrap_err();
    (diagnosis.field, diagnosis.problem)
}

/// Returns a document with one body.
fn document(body: &str) -> String {
    format!(
        "<ClinicalDocument xmlns=\"urn:hl7-org:v3\"><id root=\"1.2\"/><component>{body}</component></ClinicalDocument>"
    )
}

fn section(text: &str) -> String {
    document(&format!(
        "<structuredBody><component><section><text>{text}</text></section></component></structuredBody>"
    ))
}

const TEXT: &str = "Discharge summary for Adaeze & family\n\n\
    Hospital course\n\n\
    Mrs Okafor was admitted April 28th; Na < 140 & stable.\n\n\
    Daughter of Jérôme\nPlan\nHome\n\n\
    Test  Value\nNa  139\n(low)\n\n\
    <b>kept & raw</b>\n\n\
    not narrative\n\n\
    Follow-up\n\nCall Emeka.Soon\n\nEmpty";

#[test]
fn a_document_is_one_note_of_its_sections() {
    let event = try_read(SUMMARY.as_bytes()).unwrap();
    assert_eq!(event.text.expose(), TEXT);
    assert_eq!(event.note_id.expose(), "SET-12");
    assert_eq!(event.patient_id.unwrap().expose(), "40-01-77");
    assert_eq!(event.encounter_id.unwrap().expose(), "V-2024-0815");
    assert_eq!(event.author_id.unwrap().expose(), "1234567893");
    assert_eq!(event.note_type.as_deref(), Some("Discharge summary"));
    assert_eq!(event.authored_at, Some(1_714_574_700_000));
    assert_eq!((event.kind, event.version), (EventKind::Amend, Some(1)));
}

#[test]
fn everybody_in_the_header_is_known_and_nobody_in_the_entries() {
    let event = try_read(SUMMARY.as_bytes()).unwrap();
    let known: Vec<_> = event
        .known
        .iter()
        .map(|known| (known.kind, known.value.expose()))
        .collect();
    use KnownKind::{
        Account, Address, BirthDate, Clinician, Email, MedicalRecord, Organization, Other, Patient, Phone,
        Relative, SocialSecurity,
    };
    let expected = [
        (SocialSecurity, "078-05-1120"),
        (MedicalRecord, "40-01-77"),
        (Address, "12 Quarry Lane, Reus, CT, 43201"),
        (Phone, "+1(555)010-7788"),
        (Email, "addie.okafor@mail.example"),
        (Patient, "Adaeze N. Okafor Jr."),
        (Patient, "Addie Okafor"),
        (BirthDate, "1961-02-28"),
        (Phone, "555-010-2211"),
        (Relative, "Emeka Okafor"),
        (Organization, "Reus Clinic"),
        (Other, "1234567893"),
        (Clinician, "Lena Roth"),
        (Organization, "Sant Pau"),
        (Relative, "Chiamaka Nwosu"),
        (Account, "V-2024-0815"),
        (Organization, "Ward 3 East"),
    ];
    for one in expected {
        assert!(known.contains(&one), "{one:?}");
    }
    assert!(
        !known
            .iter()
            .any(|(_, value)| value.contains("Nobody") || *value == "X-1" || *value == "P-2")
    );
}

#[test]
fn a_body_that_is_no_xml_is_read_by_its_media_type() {
    let body = |attributes: &str, text: &str| {
        document(&format!(
            "<nonXMLBody><text {attributes}>{text}</text></nonXMLBody>"
        ))
    };
    let rtf = STANDARD.encode(b"{\\rtf1 Jos\\'e9 Roth\\par}");
    for (attributes, text, read) in [
        ("", "Jos&#233;  Roth\nnext", "José  Roth\nnext"),
        (
            "mediaType=\"text/rtf\" representation=\"B64\"",
            rtf.as_str(),
            "José Roth",
        ),
        (
            "mediaType=\"text/html\" representation=\"B64\"",
            "PHA+YTxici8+YjwvcD4=",
            "a\nb",
        ),
    ] {
        assert_eq!(
            try_read(body(attributes, text).as_bytes()).unwrap().text.expose(),
            read
        );
    }
    let pdf = body("mediaType=\"application/pdf\" representation=\"B64\"", "JVBERg==");
    assert_eq!(refused(&pdf), (Some("nonXMLBody.text"), PayloadError::NotPdf));
    let image = body("mediaType=\"image/tiff\" representation=\"B64\"", "SUkq");
    assert_eq!(
        refused(&image),
        (Some("nonXMLBody.text.mediaType"), PayloadError::Unsupported)
    );
    assert_eq!(
        refused(&body("representation=\"B64\"", "!")),
        (Some("nonXMLBody.text"), PayloadError::NotBase64)
    );
}

#[test]
fn other_encodings_are_read_as_declared() {
    let xml = section("José").replace(
        "<ClinicalDocument",
        "<?xml version='1.0' encoding='ISO-8859-1'?><ClinicalDocument",
    );
    let latin: Vec<u8> = xml.chars().map(|c| c as u8).collect();
    assert_eq!(try_read(&latin).unwrap().text.expose(), "José");
    let utf16: Vec<u8> = "\u{feff}"
        .chars()
        .chain(section("José").chars())
        .flat_map(|c| (c as u16).to_le_bytes())
        .collect();
    assert_eq!(try_read(&utf16).unwrap().text.expose(), "José");
    assert_eq!(
        try_read(b"<ClinicalDocument>\xe9").unwrap_err().problem,
        PayloadError::NotUtf8
    );
}

#[test]
fn entities_of_its_own_and_what_is_no_document_are_refused() {
    let bomb = format!(
        "<!DOCTYPE ClinicalDocument [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;&a;\">]>{}",
        section("&b;")
    );
    assert_eq!(refused(&bomb), (None, PayloadError::Unsupported));
    assert_eq!(refused(&section("&nbsp;")), (None, PayloadError::NotXml));
    assert_eq!(refused("<html/>"), (None, PayloadError::Unsupported));
    assert_eq!(
        refused("<ClinicalDocument><id root=\"1\"/>"),
        (None, PayloadError::Truncated)
    );
    assert_eq!(
        refused("<ClinicalDocument></id></ClinicalDocument>"),
        (None, PayloadError::NotXml)
    );
    assert_eq!(
        refused("<ClinicalDocument/><ClinicalDocument/>"),
        (None, PayloadError::NotXml)
    );
    assert_eq!(refused(""), (None, PayloadError::Truncated));
    assert_eq!(
        refused("<ClinicalDocument><id root=\"1\"/></ClinicalDocument>"),
        (Some("component"), PayloadError::Missing)
    );
    assert_eq!(
        refused(&section("x").replace("<id root=\"1.2\"/>", "")),
        (Some("id"), PayloadError::Missing)
    );
}

#[test]
fn hostile_documents_are_bounded() {
    let deep = format!("<ClinicalDocument>{}", "<section>".repeat(100_000));
    assert_eq!(refused(&deep), (None, PayloadError::TooComplex));
    let wide = section(&format!(
        "<td {}>x</td>",
        (0..50_000).map(|i| format!("a{i}=\"\" ")).collect::<String>()
    ));
    assert_eq!(try_read(wide.as_bytes()).unwrap().text.expose(), "x");
    let config = CdaConfig {
        max_note_bytes: 100,
        ..CdaConfig::default()
    };
    let format = config.build();
    let long = section(&"x".repeat(101));
    assert_eq!(
        format.read(long.as_bytes()).unwrap_err().problem,
        PayloadError::TooLarge
    );
    assert_eq!(
        format.read(&vec![b' '; 20_000]).unwrap_err().problem,
        PayloadError::TooLarge
    );
}

#[test]
fn a_document_is_given_back_only_if_the_settings_say_so() {
    let read = |settings: &str| {
        let config: FormatConfig = toml::from_str(settings).unwrap();
        config.build().unwrap().read(SUMMARY.as_bytes()).unwrap()
    };
    assert!(read("kind = \"cda\"").enclosed.is_none());
    assert!(read("kind = \"cda\"\nkeep_message = true").enclosed.is_some());
}

#[test]
fn an_attachment_of_a_fhir_document_may_be_one() {
    let reference = serde_json::json!({
        "resourceType": "DocumentReference", "id": "d", "status": "current",
        "content": [{"attachment": {"contentType": "text/xml", "data": STANDARD.encode(SUMMARY)}}],
    });
    let event = FhirConfig::default()
        .build()
        .read(reference.to_string().as_bytes())
        .unwrap();
    assert_eq!(event.text.expose(), TEXT);
    assert!(
        event
            .known
            .iter()
            .any(|known| known.value.expose() == "Adaeze N. Okafor Jr.")
    );
}
