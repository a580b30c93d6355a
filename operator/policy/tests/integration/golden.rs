//! Golden cases for each label: the result of each operator for an invented value, under the key of tests.

use crate::common;

use common::{OLD, key_file, redacted, redactor};

/// A label, a value of it, and its surrogate for patient 1.
const CASES: &[(&str, &str, &str)] = &[
    ("PATIENT", "Ada Okafor", "Carrie Lankford"),
    ("DOCTOR", "Dr. R. Lindqvist", "Dr. P. Texier"),
    ("USERNAME", "aokafor", "clankford"),
    ("PROFESSION", "carpenter", "museum curator"),
    ("ROOM", "B-214", "Y-119"),
    ("DEPARTMENT", "Cardiology", "Intensive Care Unit"),
    ("HOSPITAL", "Saint Odile Hospital", "Shands"),
    ("ORGANIZATION", "Brightwater Mills", "Renault"),
    ("STREET", "12 Mill Lane", "10 Gabbard Lane"),
    ("CITY", "Savannah", "East Hemet"),
    ("STATE", "Georgia", "Iowa"),
    ("COUNTRY", "Portugal", "Montenegro"),
    ("ZIP", "31401", "47502"),
    ("LOCATION-OTHER", "Lake Tahoe", "Farragut"),
    ("AGE", "93", "90 or older"),
    ("DATE", "March 5th, 2021", "November 27th, 2020"),
    ("PHONE", "(912) 233-4187", "(351) 555-0160"),
    ("FAX", "912-233-4188", "351-555-0184"),
    ("EMAIL", "ada.okafor@millmail.net", "carrie.lankford@example.com"),
    (
        "URL",
        "http://www.brightwater-mills.com/ada",
        "http://www.example.com/lse",
    ),
    ("IPADDR", "84.17.202.9", "203.0.113.219"),
    ("SSN", "412-88-1934", "959-22-5281"),
    ("MEDICALRECORD", "AB-1234567", "FH-5494032"),
    ("HEALTHPLAN", "HP 889-201-77", "LI 318-859-93"),
    ("ACCOUNT", "4556-7375-8689-9855", "3507-8748-4490-6768"),
    ("LICENSE", "D7301984", "D3315188"),
    ("VEHICLE", "KLM 4821", "BHR 1894"),
    ("DEVICE", "SN-55871-C", "GI-22829-P"),
    ("BIOID", "FP-77120", "JJ-08598"),
    ("IDNUM", "2021-4471", "5935-9926"),
];

#[test]
fn every_label_of_the_set_has_its_case() {
    let labels = lethe_core::LabelSet::i2b2_2014();
    let names: Vec<&str> = labels.labels().iter().map(|label| label.name.as_str()).collect();
    let cases: Vec<&str> = CASES.iter().map(|(label, ..)| *label).collect();
    assert_eq!(names, cases);
}

#[test]
fn tags_masks_and_removals_are_alike_for_every_label_in_every_mode() {
    for mode in ["safe-harbor", "limited-data-set", "custom"] {
        let policy =
            |action: &str| redactor(&format!("mode = {mode:?}\ndefault = {{ action = {action:?} }}"));
        let (tag, mask, remove) = (policy("tag"), policy("mask"), policy("remove"));
        for (label, value, _) in CASES {
            let note = format!("a {{{label}|{value}}} b");
            assert_eq!(redacted(&tag, &note), format!("a [{label}] b"));
            let stars: String = value
                .chars()
                .map(|c| if c.is_whitespace() { c } else { '*' })
                .collect();
            assert_eq!(redacted(&mask, &note), format!("a {stars} b"));
            assert_eq!(redacted(&remove, &note), "a  b");
        }
    }
}

#[test]
fn keyed_operators_have_one_answer_a_label() {
    let folder = tempfile::tempdir().unwrap();
    let keys = key_file(folder.path(), OLD);
    let policy = |action: &str| {
        redactor(&format!(
            "mode = \"custom\"\ndefault = {{ action = {action:?} }}\n{keys}"
        ))
    };
    let (pseudonym, encrypt) = (policy("pseudonym"), policy("encrypt"));
    let mut seen = std::collections::BTreeSet::new();
    for (label, value, _) in CASES {
        let note = format!("{{{label}|{value}}}");
        for (redactor, begins, length) in [
            (&pseudonym, format!("[{label}-"), 12),
            (&encrypt, format!("[{label}:e1.k1."), 58),
        ] {
            let made = redacted(redactor, &note);
            let body = made.strip_prefix(&begins).unwrap().strip_suffix(']').unwrap();
            assert!(body.len() >= length, "{label}");
            assert_eq!(redacted(redactor, &note), made, "{label}");
            assert!(!made.contains(value), "{label}");
            assert!(seen.insert(body.to_owned()), "{label}: a code of two values");
        }
    }
}

#[test]
fn every_label_has_its_surrogate() {
    let folder = tempfile::tempdir().unwrap();
    let keys = key_file(folder.path(), OLD);
    let redactor = redactor(&format!(
        "mode = \"custom\"\ndefault = {{ action = \"surrogate\" }}\n{keys}"
    ));
    let made: Vec<_> = CASES
        .iter()
        .map(|(label, value, _)| {
            (
                *label,
                *value,
                redacted(&redactor, &format!("{{{label}|{value}}}")),
            )
        })
        .collect();
    let expected: Vec<_> = CASES
        .iter()
        .map(|(label, value, surrogate)| (*label, *value, (*surrogate).to_owned()))
        .collect();
    assert_eq!(made, expected);
}
