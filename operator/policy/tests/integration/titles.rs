//! Titles before names: what a policy with `titles = true` writes, from the decisions to the text.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use crate::common;

use common::{OLD, event, key_file, marked, policy};
use lethe_core::{Carried, NoteBatch, Record, Redactor};
use lethe_policy::{PolicyFile, Revealer, Whose};

/// Returns the redaction of a marked note under a policy, with its propagation and titles, as the engine
/// applies them.
fn redacted(toml: &str, note: &str) -> String {
    let policy = policy(toml).unwrap();
    let (text, mut decisions) = marked(note);
    let batch = NoteBatch::from_records([Record::Note(event(Some("p1"), &text))]).unwrap();
    if let Some(propagation) = policy.propagation {
        propagation.apply(batch.note(0), &mut decisions);
    }
    if let Some(titles) = policy.titles {
        titles.apply(batch.note(0), &mut decisions);
    }
    let redactor = Redactor::by(policy.replacer, Carried::new(Vec::new()));
    redactor.redact_note(&batch, 0, &decisions).unwrap().text
}

/// Returns a policy of one action for everything, with titles.
fn all(action: &str) -> String {
    format!("mode = \"custom\"\ntitles = true\ndefault = {{ {action} }}\n")
}

const NOTE: &str = "Mrs. {PATIENT|Okafor} saw Dr {DOCTOR|Ruiz} at Dr {HOSPITAL|Lee Clinic}; Dr. Ruiz agrees.";

#[test]
fn a_title_goes_with_the_name_under_each_action_that_replaces_it_whole() {
    for (action, expected) in [
        (
            "action = \"tag\"",
            "[PATIENT] saw [DOCTOR] at Dr [HOSPITAL]; [DOCTOR] agrees.",
        ),
        (
            "action = \"mask\"",
            "**** ****** saw ** **** at Dr *** ******; *** **** agrees.",
        ),
        ("action = \"remove\"", " saw  at Dr ;  agrees."),
    ] {
        assert_eq!(redacted(&all(action), NOTE), expected, "{action}");
    }
}

#[test]
fn a_policy_that_does_not_ask_for_titles_leaves_them() {
    assert_eq!(
        redacted("mode = \"safe-harbor\"", NOTE),
        "Mrs. [PATIENT] saw Dr [DOCTOR] at Dr [HOSPITAL]; Dr. [DOCTOR] agrees."
    );
}

#[test]
fn a_surrogate_and_a_kept_name_keep_their_title() {
    let folder = tempfile::tempdir().unwrap();
    let surrogates = all("action = \"surrogate\"") + &key_file(folder.path(), OLD);
    let done = redacted(&surrogates, "Seen by Dr. {DOCTOR|Lopez}.");
    assert!(
        done.starts_with("Seen by Dr. ") && !done.contains("Lopez"),
        "{done}"
    );
    assert_eq!(
        redacted(&all("action = \"keep\""), "by Dr. {DOCTOR|Lopez}"),
        "by Dr. Lopez"
    );
}

#[test]
fn a_name_has_one_number_and_one_code_with_and_without_its_title() {
    let note = "Dr. {DOCTOR|Ruiz}, {DOCTOR|Ruiz}, Prof. {DOCTOR|Lee}";
    assert_eq!(
        redacted(&all("action = \"tag\", numbered = \"note\""), note),
        "[DOCTOR-1], [DOCTOR-1], [DOCTOR-2]"
    );
    let folder = tempfile::tempdir().unwrap();
    let vault = format!(
        "[vault]\nkind = \"sqlite\"\npath = {:?}\ncreate = true\n",
        folder.path().join("codes.db").to_str().unwrap()
    );
    let keys = key_file(folder.path(), OLD) + &vault;
    for action in [
        "action = \"pseudonym\"",
        "action = \"pseudonym\", codes = \"vault\"",
    ] {
        let done = redacted(&(all(action) + &keys), note);
        let codes: Vec<&str> = done.split(", ").collect();
        assert_eq!(codes[0], codes[1], "{done}");
        assert_ne!(codes[0], codes[2], "{done}");
        let plain = all(action).replace("titles = true\n", "") + &keys;
        assert!(
            redacted(&plain, note).contains(codes[1]),
            "the code is that of the name"
        );
    }
}

#[test]
fn an_encrypted_name_is_revealed_with_its_title() {
    let folder = tempfile::tempdir().unwrap();
    let toml = all("action = \"encrypt\"") + &key_file(folder.path(), OLD);
    let done = redacted(&toml, "by Dr. {DOCTOR|Ruiz} today");
    assert!(!done.contains("Dr"), "{done}");
    let file = PolicyFile::parse(&toml, "policy.toml").unwrap();
    let revealer = Revealer::new(&file, "policy.toml").unwrap();
    let revealed = revealer.reveal(&done, Whose::Patient("p1")).unwrap();
    assert_eq!(revealed, ("by Dr. Ruiz today".to_owned(), 1));
}
