//! Rows of a patient, and of no other, are recognised by the traces that the policy left.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use crate::common;

use common::{OLD, ROTATED, event, key_file, marked, redact, redactor};
use lethe_core::{NoteEvent, PatientKey, PatientLink, Redactor};
use lethe_policy::{Certainty, Patients, PolicyFile, Traces, remove_codes};

const MERCY: &str = "[[authority]]\nname = \"mercy\"\nhl7_namespace = [\"MERCY\"]\n[[authority]]\nname = \"grace\"\nhl7_namespace = [\"GRACE\"]\n";

struct Site {
    folder: tempfile::TempDir,
    lines: String,
}

impl Site {
    fn new(lines: &str) -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            lines: lines.to_owned(),
        }
    }

    fn toml(&self, keys: &str) -> String {
        let vault = self.folder.path().join("vault");
        format!(
            "mode = \"custom\"\n{}\n{}[vault]\nkind = \"sqlite\"\npath = {:?}\ncreate = true\n",
            self.lines,
            key_file(self.folder.path(), keys),
            vault.to_str().unwrap()
        )
    }

    fn redactor(&self) -> Redactor {
        redactor(&self.toml(OLD))
    }

    fn file(&self) -> PolicyFile {
        PolicyFile::parse(&self.toml(ROTATED), "policy.toml").unwrap()
    }

    fn traces(&self, authority: Option<&str>, id: &str) -> Traces {
        let ids = [id.to_owned()];
        let patients = Patients { authority, ids: &ids };
        Traces::new(&self.file(), "policy.toml", patients).unwrap()
    }
}

fn of(redactor: &Redactor, authority: Option<&str>, id: &str, note: &str) -> String {
    let (text, decisions) = marked(note);
    let event = NoteEvent {
        patient_authority: authority.map(Into::into),
        ..event(Some(id), &text)
    };
    redact(redactor, event, &decisions).unwrap().text
}

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

#[test]
fn a_patients_rows_are_recognised_by_code_or_seal_also_after_the_key_was_rotated() {
    use Certainty::{Certain, Possible};
    for (action, how) in [
        ("action = \"pseudonym\"\ncodes = \"vault\"", Certain),
        ("action = \"pseudonym\"", Certain),
        ("action = \"tag\"\nnumbered = \"patient\"", Certain),
        ("action = \"encrypt\"", Certain),
        ("action = \"encrypt-id\"", Possible),
    ] {
        let site = Site::new(&format!("[labels.MEDICALRECORD]\n{action}"));
        let redactor = site.redactor();
        let note = |id: &str| {
            of(
                &redactor,
                None,
                id,
                &format!("MRN {{MEDICALRECORD|{id}}}, {{CITY|Duluth}}"),
            )
        };
        let (own, other) = (note("QV-4482"), note("QV-4483"));
        let traces = site.traces(None, "QV-4482");
        assert!(!traces.is_blind());
        assert_eq!(traces.find(None, Some(&own), None), Some(how), "{action}: {own}");
        assert_eq!(
            traces.find(None, None, Some(own.as_bytes())),
            Some(how),
            "{action}"
        );
        assert_eq!(
            traces.find(None, Some(&other), Some(other.as_bytes())),
            None,
            "{action}"
        );
        assert_eq!(
            traces.find(None, Some("[MEDICALRECORD] [CITY] [] ]["), None),
            None
        );
    }
}

#[test]
fn a_kept_id_is_certain_unless_authorities_share_it() {
    let site = Site::new("");
    let traces = site.traces(None, "12");
    assert!(traces.is_blind());
    assert_eq!(traces.find(Some("12"), None, None), Some(Certainty::Certain));
    assert_eq!(traces.find(Some("123"), Some("12"), None), None);
    let site = Site::new(MERCY);
    let traces = site.traces(Some("mercy"), "12");
    assert_eq!(traces.find(Some("12"), None, None), Some(Certainty::Possible));
}

#[test]
fn equal_ids_of_two_authorities_are_two_patients() {
    for action in [
        "action = \"pseudonym\"\ncodes = \"vault\"",
        "action = \"pseudonym\"",
        "action = \"encrypt-id\"",
    ] {
        let site = Site::new(&format!("[labels.MEDICALRECORD]\n{action}\n{MERCY}"));
        let redactor = site.redactor();
        let note = |authority| of(&redactor, Some(authority), "QV4482", "MRN {MEDICALRECORD|QV4482}");
        let (mercy, grace) = (note("namespace:MERCY"), note("namespace:GRACE"));
        for name in ["mercy", "namespace:MERCY"] {
            let traces = site.traces(Some(name), "QV4482");
            assert!(
                traces.find(None, Some(&mercy), None).is_some(),
                "{action}, {name}"
            );
            assert_eq!(traces.find(None, Some(&grace), None), None, "{action}, {name}");
        }
    }
}

#[test]
fn linked_ids_are_one_patient_whichever_of_them_is_given() {
    let site = Site::new(
        "[patient]\nlinks = \"vault\"\n[labels.MEDICALRECORD]\naction = \"pseudonym\"\ncodes = \"vault\"",
    );
    let redactor = site.redactor();
    let note = |id: &str| of(&redactor, None, id, &format!("MRN {{MEDICALRECORD|{id}}}"));
    let texts = ["4482091", "7719360", "6660024"].map(note);
    redact(&redactor, merging("4482091", "7719360"), &[]).unwrap();
    let after = note("7719360");
    for id in ["4482091", "7719360"] {
        let traces = site.traces(None, id);
        for text in [&texts[0], &texts[1], &after] {
            assert_eq!(
                traces.find(None, Some(text), None),
                Some(Certainty::Certain),
                "{id}"
            );
        }
        assert_eq!(traces.find(None, Some(&texts[2]), None), None);
        // There are two codes, and the link.
        assert_eq!(traces.code_digests().len(), 3, "{id}");
    }
    let digests = site.traces(None, "7719360").code_digests();
    assert_eq!(remove_codes(&site.file(), "policy.toml", &digests).unwrap(), 3);
    assert_eq!(remove_codes(&site.file(), "policy.toml", &digests).unwrap(), 0);
    assert!(site.traces(None, "4482091").code_digests().is_empty());
    assert_eq!(site.traces(None, "6660024").code_digests().len(), 1);
    assert_eq!(note("6660024"), texts[2]);
}

#[test]
fn a_vault_that_is_not_there_is_not_made() {
    let site = Site::new("[labels.MEDICALRECORD]\naction = \"pseudonym\"\ncodes = \"vault\"");
    let ids = ["1".to_owned()];
    let patients = Patients {
        authority: None,
        ids: &ids,
    };
    let error = Traces::new(&site.file(), "policy.toml", patients).unwrap_err();
    assert!(error.to_string().contains("there is no vault"), "{error}");
    assert!(!site.folder.path().join("vault").exists());
}
