//! One test per clause of 45 CFR 164.514, named after it.

use super::*;

/// Returns the result for a policy in this mode, over the labels of i2b2-2014, with these further lines.
fn told(mode: &str, lines: &str) -> String {
    told_of(&LabelSet::i2b2_2014(), mode, lines, None)
}

fn told_of(labels: &LabelSet, mode: &str, lines: &str, carried: Option<CarriedField>) -> String {
    let policy = PolicyFile::parse(&format!("mode = \"{mode}\"\n{lines}"), "policy.toml").unwrap();
    let carried = carried.map_or_else(|| carried_by_default(&policy), |field| vec![field]);
    match check(&policy, "policy.toml", labels, &carried) {
        Ok(()) => "allowed".to_owned(),
        Err(error) => error.to_string(),
    }
}

fn label(name: &str, action: &str) -> String {
    format!("[labels.{name}]\naction = \"{action}\"")
}

/// Asserts that the policy is refused with this clause.
fn refused(mode: &str, lines: &str, clause: &str, key: &str) {
    let told = told(mode, lines);
    let expected = format!("policy.toml: key `{key}`: 45 CFR {clause}: ");
    assert!(told.starts_with(&expected), "{lines}\n{told}");
}

fn allowed(mode: &str, lines: &str) {
    assert_eq!(told(mode, lines), "allowed", "{mode}: {lines}");
}

/// Asserts that every label under the letter is refused when it is kept, and allowed when it is tagged.
fn keeping_is_refused(letter: char, names: &[&str]) {
    for name in names {
        let clause = format!("164.514(b)(2)(i)({letter})");
        refused(
            "safe-harbor",
            &label(name, "keep"),
            &clause,
            &format!("labels.{name}"),
        );
        for action in ["tag", "mask", "remove"] {
            allowed("safe-harbor", &label(name, action));
        }
    }
}

#[test]
fn section_164_514_b_2_i_a_names_are_not_kept() {
    keeping_is_refused('A', &["PATIENT", "DOCTOR"]);
}

#[test]
fn section_164_514_b_2_i_b_places_smaller_than_a_state_are_not_kept_but_states_and_countries_may_be() {
    keeping_is_refused(
        'B',
        &[
            "CITY",
            "STREET",
            "ZIP",
            "HOSPITAL",
            "ROOM",
            "DEPARTMENT",
            "ORGANIZATION",
            "LOCATION-OTHER",
        ],
    );
    allowed("safe-harbor", &label("ZIP", "generalise"));
    allowed("safe-harbor", &label("STATE", "keep"));
    allowed("safe-harbor", &label("COUNTRY", "keep"));
}

#[test]
fn section_164_514_b_2_i_c_dates_and_ages_are_not_kept_shifted_or_replaced_by_other_dates() {
    keeping_is_refused('C', &["DATE", "AGE"]);
    for action in ["shift", "surrogate"] {
        refused(
            "safe-harbor",
            &label("DATE", action),
            "164.514(b)(2)(i)(C)",
            "labels.DATE",
        );
    }
    allowed("safe-harbor", &label("DATE", "generalise"));
    allowed("safe-harbor", &label("AGE", "generalise"));
}

#[test]
fn section_164_514_b_2_i_d_to_q_numbers_addresses_and_marks_are_not_kept() {
    for (letter, name) in [
        ('D', "PHONE"),
        ('E', "FAX"),
        ('F', "EMAIL"),
        ('G', "SSN"),
        ('H', "MEDICALRECORD"),
        ('I', "HEALTHPLAN"),
        ('J', "ACCOUNT"),
        ('K', "LICENSE"),
        ('L', "VEHICLE"),
        ('M', "DEVICE"),
        ('N', "URL"),
        ('O', "IPADDR"),
        ('P', "BIOID"),
    ] {
        keeping_is_refused(letter, &[name]);
    }
}

#[test]
fn section_164_514_b_2_i_r_whatever_else_singles_out_is_not_kept() {
    keeping_is_refused('R', &["IDNUM", "USERNAME", "PROFESSION"]);
}

#[test]
fn section_164_514_b_2_i_holds_for_labels_that_are_kept_by_default_too() {
    let told = told("safe-harbor", "default = { action = \"keep\" }");
    assert!(
        told.contains("key `default`: 45 CFR 164.514(b)(2)(i)(A): for label PATIENT: "),
        "{told}"
    );
}

#[test]
fn section_164_514_c_1_codes_are_not_derived_from_the_person() {
    for (name, action) in [
        ("MEDICALRECORD", "pseudonym"),
        ("PATIENT", "pseudonym"),
        ("PATIENT", "encrypt"),
        ("IDNUM", "surrogate"),
        ("SSN", "surrogate"),
    ] {
        refused(
            "safe-harbor",
            &label(name, action),
            "164.514(c)(1)",
            &format!("labels.{name}"),
        );
    }
    let vault = "[vault]\nkind = \"sqlite\"\npath = \"codes.db\"\n";
    let random = format!("{vault}[labels.MEDICALRECORD]\naction = \"pseudonym\"\ncodes = \"vault\"");
    allowed("safe-harbor", &random);
    let numbered = "[labels.DOCTOR]\naction = \"tag\"\nnumbered = \"patient\"";
    refused("safe-harbor", numbered, "164.514(c)(1)", "labels.DOCTOR");
    allowed("safe-harbor", &format!("{vault}{numbered}"));
    allowed(
        "safe-harbor",
        "[labels.DOCTOR]\naction = \"tag\"\nnumbered = \"note\"",
    );
    for name in ["PATIENT", "CITY", "PROFESSION", "PHONE"] {
        allowed("safe-harbor", &label(name, "surrogate"));
    }
}

#[test]
fn section_164_514_e_2_i_to_xvi_direct_identifiers_are_not_kept() {
    for (clause, names) in [
        ("i", &["PATIENT", "DOCTOR", "ORGANIZATION"][..]),
        ("ii", &["STREET", "ROOM", "LOCATION-OTHER"]),
        ("iii", &["PHONE"]),
        ("iv", &["FAX"]),
        ("v", &["EMAIL"]),
        ("vi", &["SSN"]),
        ("vii", &["MEDICALRECORD"]),
        ("viii", &["HEALTHPLAN"]),
        ("ix", &["ACCOUNT"]),
        ("x", &["LICENSE"]),
        ("xi", &["VEHICLE"]),
        ("xii", &["DEVICE"]),
        ("xiii", &["URL"]),
        ("xiv", &["IPADDR"]),
        ("xv", &["BIOID"]),
    ] {
        for name in names {
            let clause = format!("164.514(e)(2)({clause})");
            refused(
                "limited-data-set",
                &label(name, "keep"),
                &clause,
                &format!("labels.{name}"),
            );
            allowed("limited-data-set", &label(name, "tag"));
        }
    }
}

#[test]
fn section_164_514_e_2_dates_ages_towns_states_and_zip_codes_may_stay_or_be_shifted() {
    for name in ["DATE", "AGE", "CITY", "STATE", "COUNTRY", "ZIP"] {
        allowed("limited-data-set", &label(name, "keep"));
    }
    allowed("limited-data-set", &label("DATE", "shift"));
    for action in ["pseudonym", "encrypt", "surrogate"] {
        allowed("limited-data-set", &label("MEDICALRECORD", action));
    }
}

#[test]
fn section_164_514_e_2_ii_a_label_that_may_be_a_street_is_no_town() {
    let set = LabelSet::meddocan();
    let told = told_of(&set, "limited-data-set", &label("TERRITORIO", "keep"), None);
    assert!(told.contains("164.514(e)(2)(ii)"), "{told}");
}

#[test]
fn section_164_514_b_1_ii_a_determination_is_documented() {
    refused("expert-determination", "", "164.514(b)(1)(ii)", "determination");
    refused(
        "expert-determination",
        "determination = \" \"",
        "164.514(b)(1)(ii)",
        "determination",
    );
    let lines = "determination = \"A. Statistician, 2026-03-01, report 12\"\ndefault = { action = \"keep\" }";
    allowed("expert-determination", lines);
}

#[test]
fn section_164_514_b_2_i_metadata_that_identify_are_not_carried() {
    let set = LabelSet::i2b2_2014();
    for (field, clause) in [
        (CarriedField::PatientId, "(H)"),
        (CarriedField::AuthoredAt, "(C)"),
        (CarriedField::NoteId, "(R)"),
        (CarriedField::EncounterId, "(R)"),
        (CarriedField::AuthorId, "(R)"),
    ] {
        let told = told_of(&set, "safe-harbor", "", Some(field));
        assert!(
            told.contains(&format!("164.514(b)(2)(i){clause}")) && told.contains(field.name()),
            "{told}"
        );
    }
    assert_eq!(
        carried_by_default(&PolicyFile::parse("mode = \"safe-harbor\"", "policy.toml").unwrap()),
        [CarriedField::Version, CarriedField::NoteType]
    );
}

#[test]
fn an_id_of_the_senders_is_kept_only_with_a_reason() {
    let set = LabelSet::i2b2_2014();
    for mode in ["safe-harbor", "limited-data-set"] {
        let told = |lines| told_of(&set, mode, lines, Some(CarriedField::NoteId));
        assert!(
            told("").contains("the configuration: key `engine.redaction.keep`"),
            "{}",
            told("")
        );
        assert_eq!(told("[keep]\nnote_id = \"a counter of the archive\""), "allowed");
        assert!(told("[keep]\nnote_id = \" \"").contains("key `keep.note_id`"));
    }
    let kept = "[keep]\npatient_id = \"for the registry\"";
    assert!(told_of(&set, "safe-harbor", kept, Some(CarriedField::PatientId)).contains("(H)"));
}

#[test]
fn all_errors_are_reported_at_once() {
    let lines = ["PATIENT", "DOCTOR", "CITY"]
        .map(|name| label(name, "keep"))
        .join("\n");
    let told = told_of(
        &LabelSet::i2b2_2014(),
        "safe-harbor",
        &lines,
        Some(CarriedField::PatientId),
    );
    assert_eq!(told.lines().count(), 4, "{told}");
}

#[test]
fn section_164_514_e_2_vii_and_ix_patient_and_encounter_numbers_are_not_carried() {
    let set = LabelSet::i2b2_2014();
    let told = |field| told_of(&set, "limited-data-set", "", Some(field));
    assert!(told(CarriedField::PatientId).contains("164.514(e)(2)(vii)"));
    assert!(told(CarriedField::EncounterId).contains("164.514(e)(2)(ix)"));
    assert_eq!(told(CarriedField::AuthoredAt), "allowed");
}

#[test]
fn a_custom_policy_is_held_against_no_rule() {
    allowed("custom", "default = { action = \"keep\" }");
}

#[test]
fn what_a_label_cannot_be_made_into_and_labels_that_are_not_there_are_named() {
    for (lines, expected) in [
        (
            label("PATIENT", "generalise"),
            "key `labels.PATIENT`: `generalise` is for dates",
        ),
        (label("AGE", "shift"), "key `labels.AGE`: `shift` is for dates"),
        (
            label("DATUM", "tag"),
            "key `labels.DATUM`: label set `i2b2-2014` does not have this label",
        ),
        ("[shift]\ndays = 0".to_owned(), "key `shift.days`"),
        ("[shift]\ndays = 6\nweekday = true".to_owned(), "key `shift.days`"),
    ] {
        let told = told("custom", &lines);
        assert!(told.contains(expected), "{told}");
    }
}
