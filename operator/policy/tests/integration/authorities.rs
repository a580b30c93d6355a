//! The authority that assigned an id determines its patient; people of a site are the same in all patients'
//! notes.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use crate::common;

use std::collections::BTreeSet;

use common::{OLD, ROTATED, event, key_file, marked, policy, redact, redacted_of, redactor};
use lethe_core::{NoteEvent, PatientKey, PatientLink, Redactor};
use lethe_policy::{PolicyFile, Revealer, Whose};

const MERCY: &str = "[[authority]]\nname = \"mercy\"\nhl7_namespace = [\"MERCY\"]\nfhir_system = [\"https://mercy.example/mrn\"]\noid = [\"1.2.840\"]\ncolumn = [\"patient_id\"]\n";

fn made(lines: &str) -> (tempfile::TempDir, String, Redactor) {
    let folder = tempfile::tempdir().unwrap();
    let toml = format!("mode = \"custom\"\n{lines}\n{}", key_file(folder.path(), OLD));
    let redactor = redactor(&toml);
    (folder, toml, redactor)
}

/// Returns a redacted note with a patient's id that this authority assigned.
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
    // There are few possible shifts, so two patients may share one; twenty pairs do not.
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
    // In another patient's note, no source names the authority.
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

/// Returns an event that declares `other` to be `id`'s patient too.
fn merging(id: &str, other: &str) -> NoteEvent {
    NoteEvent {
        links: vec![PatientLink {
            from: PatientKey {
                id: other.into(),
                authority: None,
            },
            into: None,
        }],
        ..event(Some(id), "")
    }
}

fn with_vault(lines: &str) -> (tempfile::TempDir, Redactor) {
    let folder = tempfile::tempdir().unwrap();
    let toml = format!(
        "mode = \"custom\"\n{lines}\n{}[vault]\nkind = \"sqlite\"\npath = {:?}\ncreate = true\n",
        key_file(folder.path(), OLD),
        folder.path().join("vault").to_str().unwrap()
    );
    (folder, redactor(&toml))
}

#[test]
fn a_merged_patient_is_the_surviving_one_from_then_on() {
    for action in [
        "action = \"pseudonym\"\ncodes = \"vault\"",
        "action = \"pseudonym\"",
        "action = \"surrogate\"",
        "action = \"tag\"\nnumbered = \"patient\"",
    ] {
        let (_folder, redactor) = with_vault(&format!(
            "default = {{ action = \"surrogate\" }}\n[patient]\nlinks = \"vault\"\n[labels.MEDICALRECORD]\n{action}"
        ));
        let note = |id: &str| {
            let text =
                format!("{{PATIENT|Ada Okonjo-Vane}}, {{DATE|2021-03-05}}, MRN {{MEDICALRECORD|{id}}}");
            redacted_of(&redactor, Some(id), &text)
        };
        let (survivor, before) = (note("4482091"), note("7719360"));
        assert_ne!(survivor, before, "{action}");
        redact(&redactor, merging("4482091", "7719360"), &[]).unwrap();
        assert_eq!(note("7719360"), survivor, "{action}");
        assert_eq!(note("4482091"), survivor, "{action}");
        // A later merge takes both along, and repeating it changes nothing.
        let last = note("5550017");
        redact(&redactor, merging("5550017", "4482091"), &[]).unwrap();
        redact(&redactor, merging("4482091", "7719360"), &[]).unwrap();
        for id in ["4482091", "7719360", "5550017"] {
            assert_eq!(note(id), last, "{action}");
        }
        assert_ne!(note("6660024"), last);
    }
}

#[test]
fn merges_in_both_directions_end_with_one_patient() {
    let (_folder, redactor) =
        with_vault("default = { action = \"surrogate\" }\n[patient]\nlinks = \"vault\"");
    for (id, other) in [("1", "2"), ("2", "1"), ("2", "3"), ("3", "1")] {
        redact(&redactor, merging(id, other), &[]).unwrap();
    }
    let all: BTreeSet<String> = ["1", "2", "3"]
        .map(|id| redacted_of(&redactor, Some(id), "{PATIENT|Ada Okonjo-Vane}"))
        .into();
    assert_eq!(all.len(), 1, "{all:?}");
}

#[test]
fn a_link_is_not_followed_unless_the_policy_says_so() {
    let (_folder, redactor) = with_vault("default = { action = \"surrogate\" }");
    redact(&redactor, merging("1", "2"), &[]).unwrap();
    let of = |id| redacted_of(&redactor, Some(id), "{PATIENT|Ada Okonjo-Vane}");
    assert_ne!(of("1"), of("2"));
}

#[test]
fn following_links_needs_a_vault() {
    let error = policy("mode = \"custom\"\n[patient]\nlinks = \"vault\"").unwrap_err();
    assert!(error.to_string().contains("patient.links"), "{error}");
}
