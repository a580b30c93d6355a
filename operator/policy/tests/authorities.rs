//! Who assigned an id decides whose it is; people of a site are one in all patients' notes.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod common;

use std::collections::BTreeSet;

use common::{OLD, ROTATED, event, key_file, marked, policy, redact, redacted_of, redactor};
use lethe_core::{NoteEvent, Redactor};
use lethe_policy::{PolicyFile, Revealer, Whose};

const MERCY: &str = "[[authority]]\nname = \"mercy\"\nhl7_namespace = [\"MERCY\"]\nfhir_system = [\"https://mercy.example/mrn\"]\noid = [\"1.2.840\"]\ncolumn = [\"patient_id\"]\n";

fn made(lines: &str) -> (tempfile::TempDir, String, Redactor) {
    let folder = tempfile::tempdir().unwrap();
    let toml = format!("mode = \"custom\"\n{lines}\n{}", key_file(folder.path(), OLD));
    let redactor = redactor(&toml);
    (folder, toml, redactor)
}

/// A marked note of a patient's id that this authority assigned.
fn of(redactor: &Redactor, authority: Option<&str>, id: &str, note: &str) -> String {
    let (text, decisions) = marked(note);
    let event = NoteEvent {
        patient_authority: authority.map(Into::into),
        ..event(Some(id), &text)
    };
    redact(redactor, event, &decisions).unwrap().text
}

#[test]
fn equal_ids_of_two_authorities_share_no_surrogate_code_or_shift() {
    let lines = "default = { action = \"surrogate\" }\nlabels.CITY = { action = \"pseudonym\" }\n";
    let (_folder, _, redactor) = made(lines);
    for note in ["{PATIENT|Ada Okafor}", "{CITY|Duluth}", "{MEDICALRECORD|4482091}"] {
        let one = of(&redactor, Some("namespace:MERCY"), "12", note);
        let two = of(&redactor, Some("namespace:GRACE"), "12", note);
        assert_ne!(one, two, "{note}");
    }
    // Days are few, so two patients may share them; twenty pairs do not.
    let days = |authority: &str| -> Vec<String> {
        let ids = (0..20).map(|id| id.to_string());
        ids.map(|id| of(&redactor, Some(authority), &id, "{DATE|2021-03-05}"))
            .collect()
    };
    assert_ne!(days("namespace:MERCY"), days("namespace:GRACE"));
}

#[test]
fn one_patient_has_one_surrogate_in_every_format() {
    let (_folder, _, redactor) = made(&format!("default = {{ action = \"surrogate\" }}\n{MERCY}"));
    let all: BTreeSet<String> = [
        None,
        Some("namespace:MERCY"),
        Some("system:https://mercy.example/mrn"),
        Some("system:urn:oid:1.2.840\noid:1.2.840"),
    ]
    .map(|raw| of(&redactor, raw, "12", "{PATIENT|Ada Okafor} {MEDICALRECORD|12}"))
    .into();
    assert_eq!(all.len(), 1, "{all:?}");
}

#[test]
fn an_encrypted_id_is_one_code_in_every_format_and_comes_back() {
    let lines = format!("[labels.MEDICALRECORD]\naction = \"encrypt-id\"\n{MERCY}");
    let (folder, toml, redactor) = made(&lines);
    let note = "MRN {MEDICALRECORD|AB-1234}";
    let one = of(&redactor, Some("namespace:MERCY"), "ab1234", note);
    for raw in [
        None,
        Some("system:https://mercy.example/mrn"),
        Some("oid:1.2.840"),
    ] {
        assert_eq!(of(&redactor, raw, "ab1234", note), one);
    }
    // In another patient's note nobody says who assigned it.
    assert_ne!(of(&redactor, None, "99", note), one);
    assert_eq!(
        of(&redactor, Some("namespace:GRACE"), "ab1234", note),
        "MRN [MEDICALRECORD]"
    );
    assert_eq!(
        of(&redactor, None, "99", "{MEDICALRECORD|1234567890123}"),
        "[MEDICALRECORD]"
    );
    let back = |toml: &str| {
        let file = PolicyFile::parse(toml, "policy.toml").unwrap();
        let revealer = Revealer::new(&file, "policy.toml").unwrap();
        revealer.reveal(&one, Whose::Patient("ab1234")).unwrap()
    };
    assert_eq!(back(&toml), ("MRN AB1234".to_owned(), 1));
    key_file(folder.path(), ROTATED);
    assert_eq!(back(&toml), ("MRN AB1234".to_owned(), 1));
}

#[test]
fn a_sealed_value_opens_for_the_patient_of_its_authority_alone() {
    let (_folder, toml, redactor) = made(&format!("default = {{ action = \"encrypt\" }}\n{MERCY}"));
    let sealed = of(&redactor, Some("namespace:MERCY"), "12", "{PATIENT|Ada Okafor}");
    let file = PolicyFile::parse(&toml, "policy.toml").unwrap();
    let revealer = Revealer::new(&file, "policy.toml").unwrap();
    for authority in ["mercy", "oid:1.2.840"] {
        let whose = Whose::PatientOf { authority, id: "12" };
        assert_eq!(revealer.reveal(&sealed, whose).unwrap().0, "Ada Okafor");
    }
    let other = Whose::PatientOf {
        authority: "namespace:GRACE",
        id: "12",
    };
    assert!(revealer.reveal(&sealed, other).is_err());
}

#[test]
fn a_doctor_of_the_site_has_one_surrogate_in_all_patients_notes() {
    for action in ["surrogate", "pseudonym"] {
        let of_scope = |scope: &str| {
            let (_folder, _, redactor) = made(&format!("[labels.DOCTOR]\naction = \"{action}\"\n{scope}"));
            let all: BTreeSet<String> = (0..8)
                .map(|id| redacted_of(&redactor, Some(&format!("p{id}")), "Dr. {DOCTOR|Ruth Vance}"))
                .collect();
            let (text, decisions) = marked("{DOCTOR|Ruth Vance} of {CITY|Duluth}");
            let done = redact(&redactor, event(Some("p1"), &text), &decisions).unwrap();
            (all.len(), done.placed[0].scope)
        };
        assert_eq!(of_scope("scope = \"site\""), (1, Some("site")), "{action}");
        assert_eq!(of_scope(""), (8, None), "{action}");
    }
}

#[test]
fn patients_have_no_scope_of_the_site() {
    let (folder, _, _) = made("");
    for (label, action) in [("PATIENT", "surrogate"), ("MEDICALRECORD", "pseudonym")] {
        let keys = key_file(folder.path(), OLD);
        let toml =
            format!("mode = \"custom\"\n[labels.{label}]\naction = \"{action}\"\nscope = \"site\"\n{keys}");
        let error = policy(&toml).unwrap_err().to_string();
        assert!(
            error.contains(label) && error.contains("link patients"),
            "{error}"
        );
    }
}

#[test]
fn section_164_514_c_1_encrypted_ids_are_refused_under_safe_harbor() {
    let toml = "mode = \"safe-harbor\"\n[labels.MEDICALRECORD]\naction = \"encrypt-id\"\n";
    let error = policy(toml).unwrap_err().to_string();
    assert!(
        error.contains("164.514(c)(1)") && error.contains("vault"),
        "{error}"
    );
}
