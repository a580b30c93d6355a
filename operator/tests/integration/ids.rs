//! One authority under all its names: an id has the same code in every format.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use lethe_connectors::format::FormatConfig;
use lethe_core::{Carried, Decision, LabelSet, MemberSet, NoteBatch, NoteEvent, Record, Redactor, Span};
use lethe_dictionaries::Dictionary;
use lethe_policy::{Policy, PolicyFile};
use proptest::prelude::*;

const POLICY: &str = r#"
mode = "custom"
[labels.MEDICALRECORD]
action = "encrypt-id"
[[authority]]
name = "mercy"
hl7_namespace = ["MERCY"]
universal_id = ["2.25.4711"]
fhir_system = ["https://mercy.example/mrn"]
oid = ["2.25.4711"]
column = ["mrn"]
[[authority]]
name = "grace"
hl7_namespace = ["GRACE"]
"#;

fn redactor() -> Redactor {
    let folder = tempfile::tempdir().unwrap();
    let keys = folder.path().join("keys.toml");
    let secret = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
    std::fs::write(
        &keys,
        format!("[[keys]]\nid = \"k1\"\nstate = \"current\"\nsecret = \"{secret}\"\n"),
    )
    .unwrap();
    std::fs::set_permissions(&keys, std::fs::Permissions::from_mode(0o600)).unwrap();
    let toml = format!("{POLICY}[keys]\nfile = {:?}\n", keys.to_str().unwrap());
    let file = PolicyFile::parse(&toml, "policy.toml").unwrap();
    let labels = Arc::new(LabelSet::i2b2_2014());
    let policy = Policy::build(&file, "policy.toml", &labels, &Dictionary::builtin(), &[]).unwrap();
    Redactor::by(policy.replacer, Carried::new(Vec::new()))
}

/// Returns what a format reads from a payload.
fn read(format: &str, payload: &str) -> NoteEvent {
    let config: FormatConfig = toml::from_str(format).unwrap();
    config.build().unwrap().read(payload.as_bytes()).unwrap()
}

fn hl7v2(authority: &str, id: &str) -> NoteEvent {
    read(
        "kind = \"hl7v2\"",
        &format!(
            "MSH|^~\\&|A|B|C|D|20240102||ADT^A01|1|P|2.5.1\rPID|1||{id}^^^{authority}^MR||Quillfeather^Ada||19500203\rPV1|1|I\r"
        ),
    )
}

fn fhir(system: &str, id: &str) -> NoteEvent {
    read(
        "kind = \"fhir\"\npatient_id = \"medical-record\"",
        &format!(
            "{{\"resourceType\": \"Patient\", \"id\": \"p1\", \"identifier\": [{{\"type\": {{\"coding\": [{{\"system\": \"http://terminology.hl7.org/CodeSystem/v2-0203\", \"code\": \"MR\"}}]}}, \"system\": \"{system}\", \"value\": \"{id}\"}}]}}"
        ),
    )
}

fn ccda(root: &str, id: &str) -> NoteEvent {
    read(
        "kind = \"cda\"",
        &format!(
            "<ClinicalDocument xmlns=\"urn:hl7-org:v3\"><id root=\"2.25.1\"/><recordTarget><patientRole><id root=\"{root}\" extension=\"{id}\"/></patientRole></recordTarget><component><structuredBody><component><section><text>Seen.</text></section></component></structuredBody></component></ClinicalDocument>"
        ),
    )
}

/// Returns the code of an id in a note of this event.
fn code(redactor: &Redactor, event: &NoteEvent, id: &str, column: Option<&str>) -> String {
    let event = NoteEvent {
        text: id.into(),
        structured: false,
        enclosed: None,
        ..event.clone()
    };
    let mut batch = NoteBatch::from_records([Record::Note(event)]).unwrap();
    if let Some(column) = column {
        batch = batch.of_column(column);
    }
    let label = LabelSet::i2b2_2014().by_name("MEDICALRECORD").unwrap();
    let span = Span::new(0, id.len()).unwrap();
    let decision = Decision::new(span, label, MemberSet::default().with(0), 1.0);
    redactor.redact_note(&batch, 0, &[decision]).unwrap().text
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    // PID-3 without a digit counts as a shifted field, and its message is quarantined.
    fn equal_ids_have_equal_codes_in_hl7v2_fhir_ccda_and_columns(id in "[0-9A-Z]{0,6}[0-9][0-9A-Z]{0,5}") {
        let redactor = redactor();
        let events = [
            hl7v2("MERCY", &id),
            hl7v2("&2.25.4711&ISO", &id),
            fhir("https://mercy.example/mrn", &id),
            fhir("urn:oid:2.25.4711", &id),
            ccda("2.25.4711", &id),
        ];
        let mut codes: BTreeSet<String> = events.iter().map(|event| code(&redactor, event, &id, None)).collect();
        codes.insert(code(&redactor, &NoteEvent::default(), &id, Some("mrn")));
        let each: Vec<String> = events.iter().map(|event| code(&redactor, event, &id, None)).collect();
        prop_assert_eq!(codes.len(), 1, "{:?}", each);
        // [MEDICALRECORD-...]: fifteen letters and digits in groups of three.
        prop_assert_eq!(codes.first().map(String::len), Some("[MEDICALRECORD-]".len() + 19));
        let other = code(&redactor, &hl7v2("GRACE", &id), &id, None);
        prop_assert!(!codes.contains(&other) && other.len() > "[MEDICALRECORD]".len());
    }
}
