//! Hiding in plain sight: the result of a policy of surrogates for a patient's notes.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use crate::common;

use common::{OLD, event, key_file, known, marked, redact, redacted, redacted_of, redactor};
use lethe_core::{KnownKind, Redactor};

fn surrogates(more: &str) -> (tempfile::TempDir, Redactor) {
    let folder = tempfile::tempdir().unwrap();
    let toml = format!(
        "mode = \"limited-data-set\"\ndefault = {{ action = \"surrogate\" }}\n{more}{}",
        key_file(folder.path(), OLD)
    );
    let redactor = redactor(&toml);
    (folder, redactor)
}

/// Returns the words of a text.
fn words(text: &str) -> Vec<&str> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect()
}

#[test]
fn every_mention_of_a_person_agrees_whatever_its_form_and_note() {
    let (_folder, redactor) = surrogates("");
    let whole = redacted(&redactor, "{PATIENT|John Smith} came.");
    let [given, family, came] = words(&whole).try_into().unwrap();
    assert_eq!(came, "came");
    assert!(given != "John" && family != "Smith", "{whole}");
    let initial = given.chars().next().unwrap();
    for (note, expected) in [
        ("Mr {PATIENT|Smith} slept", format!("Mr {family} slept")),
        (
            "{PATIENT|SMITH, JOHN}",
            format!("{}, {}", family.to_uppercase(), given.to_uppercase()),
        ),
        ("{PATIENT|J. Smith}'s", format!("{initial}. {family}'s")),
        ("{PATIENT|john}", given.to_lowercase()),
        ("{DOCTOR|Dr. Smith}", format!("Dr. {family}")),
    ] {
        assert_eq!(redacted(&redactor, note), expected);
    }
    assert_ne!(
        redacted_of(&redactor, Some("p2"), "{PATIENT|John Smith} came."),
        whole
    );
}

#[test]
fn gender_and_tongue_of_a_name_are_kept() {
    let (_folder, redactor) = surrogates("language = \"es\"\n");
    let made = redacted(&redactor, "{PATIENT|María García de la Torre}");
    assert_eq!(words(&made).len(), 5, "{made}");
    assert!(made.contains(" de la "), "{made}");
    let dictionary = lethe_dictionaries::Dictionary::builtin();
    let women = dictionary
        .set(["es-given-names-female", "us-given-names-female"])
        .unwrap();
    assert!(
        dictionary.word(words(&made)[0]).lists().intersects(women),
        "{made}"
    );
}

#[test]
fn dates_ids_phones_and_addresses_keep_their_form() {
    let (_folder, redactor) = surrogates("");
    let shape = |text: &str| -> String {
        text.chars()
            .map(|c| match c {
                '0'..='9' => '0',
                c if c.is_uppercase() => 'A',
                c if c.is_lowercase() => 'a',
                c => c,
            })
            .collect()
    };
    for (label, value) in [
        ("DATE", "03/05/2021"),
        ("DATE", "2021-03-05"),
        ("MEDICALRECORD", "AB-123456/7"),
        ("SSN", "123-45-6789"),
        ("PHONE", "(617) 555-8123"),
        ("IDNUM", "X1234567L"),
    ] {
        let made = redacted(&redactor, &format!("{{{label}|{value}}}"));
        assert_eq!(shape(&made), shape(value), "{label}");
        assert_ne!(made, value, "{label}");
        assert_eq!(
            redacted(&redactor, &format!("again {{{label}|{value}}}")),
            format!("again {made}")
        );
    }
    let mail = redacted(&redactor, "{EMAIL|john.smith@bigclinic.com}");
    assert!(mail.contains("@example.") && !mail.contains("smith"), "{mail}");
}

#[test]
fn a_clash_with_a_real_name_changes_nothing_and_is_counted() {
    let (_folder, redactor) = surrogates("");
    let alone = redacted(&redactor, "{PATIENT|John Smith}");
    let actions = |note: &str, relative: Option<&str>| {
        let (text, decisions) = marked(note);
        let mut told = event(Some("p1"), &text);
        told.known
            .extend(relative.map(|name| known(KnownKind::Relative, name)));
        let done = redact(&redactor, told, &decisions).unwrap();
        assert!(done.text.starts_with(&alone), "{alone}: {}", done.text);
        done.placed.iter().map(|placed| placed.action).collect::<Vec<_>>()
    };
    assert_eq!(actions("{PATIENT|John Smith}", None), ["surrogate"]);
    assert_eq!(actions("{PATIENT|John Smith}", Some(&alone)), ["surrogate-clash"]);
    let note = format!("{{PATIENT|John Smith}} and {{DOCTOR|{alone}}}");
    assert_eq!(actions(&note, None)[0], "surrogate-clash");
}

/// Redacts 6,000 rows of 60 patients: a column with the name, and a text with it among other names, some of
/// which are its surrogate.
#[test]
fn column_and_text_have_one_surrogate_in_6000_rows_with_clashes() {
    let (_folder, redactor) = surrogates("");
    let given = ["John", "Mary", "Bill", "Kim", "José", "Tom", "Ann", "Adaeze"];
    let family = [
        "Smith",
        "Johnson",
        "Okafor",
        "O'Brien",
        "Lee",
        "Tomlinson",
        "García",
    ];
    let mut clashes = 0;
    for row in 0..6000 {
        let patient = format!("p{}", row % 60);
        let name = format!("{} {}", given[row % given.len()], family[row / 8 % family.len()]);
        // A column is a value without context.
        let whole = redacted_of(&redactor, Some(&patient), &format!("{{PATIENT|{name}}}"));
        assert_ne!(whole, name);
        // Every third note really names a person with the surrogate's name.
        let other = if row % 3 == 0 {
            whole.as_str()
        } else {
            "Dr. Ruth Vance"
        };
        let notes = [
            format!("{{PATIENT|{name}}} saw {{DOCTOR|{other}}}."),
            format!("{{DOCTOR|{other}}} saw {{PATIENT|{name}}}."),
        ];
        let (text, decisions) = marked(&notes[row % 2]);
        let at = row % 2;
        let mut told = event(Some(&patient), &text);
        if row % 5 == 0 {
            told.known.push(known(KnownKind::Patient, &name));
        }
        let done = redact(&redactor, told, &decisions).unwrap();
        let placed = &done.placed[at];
        assert_eq!(placed.out.of(&done.text), whole, "row {row}");
        clashes += usize::from(placed.action == "surrogate-clash");
    }
    assert!(clashes >= 2000, "{clashes}");
}

#[test]
fn the_audit_names_the_key_and_what_has_no_surrogate_is_tagged() {
    let (_folder, redactor) = surrogates("");
    let (text, decisions) = marked("{CITY|Reus} on {DATE|the day of the flood}");
    let done = redact(&redactor, event(Some("p1"), &text), &decisions).unwrap();
    assert_eq!(
        (done.placed[0].action, done.placed[0].key.as_deref()),
        ("surrogate", Some("k1"))
    );
    assert_eq!(
        (done.placed[1].action, done.placed[1].key.as_deref()),
        ("tag", None)
    );
    assert!(done.text.ends_with("on [DATE]"), "{}", done.text);
}
