//! The rules by which a column is recognised, from its name and from what its values look like.
//!
//! A rule for identifiers comes before every rule that keeps a column, and a column that no rule recognises is
//! dropped: a mistake costs data, not privacy. Labels are those of i2b2-2014.

use super::column::Look;

/// What a column seems to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Free text.
    Text,
    /// Identifiers of this label.
    Identifier(&'static str),
    /// Values that identify nobody.
    Keep,
    /// Anything else.
    Drop,
}

/// Words of a column's name that mean free text.
const TEXT: &[&str] = &[
    "note",
    "notes",
    "text",
    "comment",
    "comments",
    "report",
    "narrative",
    "impression",
    "findings",
    "message",
    "body",
    "history",
    "remark",
    "remarks",
    "instructions",
    "subject",
    "indication",
    "conclusion",
    "plan",
    "summary",
];

/// Words of a column's name, and the label that they mean; the first match counts. All words of a row must
/// occur.
const NAMES: &[(&[&str], &str)] = &[
    (&["email"], "EMAIL"),
    (&["mail"], "EMAIL"),
    (&["fax"], "FAX"),
    (&["phone"], "PHONE"),
    (&["telephone"], "PHONE"),
    (&["tel"], "PHONE"),
    (&["mobile"], "PHONE"),
    (&["cell"], "PHONE"),
    (&["pager"], "PHONE"),
    (&["ssn"], "SSN"),
    (&["social", "security"], "SSN"),
    (&["nhs"], "SSN"),
    (&["dob"], "DATE"),
    (&["birth"], "DATE"),
    (&["birthdate"], "DATE"),
    (&["mrn"], "MEDICALRECORD"),
    (&["medical", "record"], "MEDICALRECORD"),
    (&["chart"], "MEDICALRECORD"),
    (&["empi"], "MEDICALRECORD"),
    (&["patient", "id"], "MEDICALRECORD"),
    (&["patient", "number"], "MEDICALRECORD"),
    (&["pat", "id"], "MEDICALRECORD"),
    (&["person", "id"], "MEDICALRECORD"),
    (&["subject", "id"], "MEDICALRECORD"),
    (&["npi"], "LICENSE"),
    (&["dea"], "LICENSE"),
    (&["license"], "LICENSE"),
    (&["insurance"], "HEALTHPLAN"),
    (&["subscriber"], "HEALTHPLAN"),
    (&["member"], "HEALTHPLAN"),
    (&["policy"], "HEALTHPLAN"),
    (&["account"], "ACCOUNT"),
    (&["acct"], "ACCOUNT"),
    (&["encounter"], "ACCOUNT"),
    (&["visit", "id"], "ACCOUNT"),
    (&["visit", "number"], "ACCOUNT"),
    (&["csn"], "ACCOUNT"),
    (&["user"], "USERNAME"),
    (&["username"], "USERNAME"),
    (&["login"], "USERNAME"),
    (&["by"], "USERNAME"),
    (&["address"], "STREET"),
    (&["street"], "STREET"),
    (&["addr"], "STREET"),
    (&["city"], "CITY"),
    (&["town"], "CITY"),
    (&["county"], "LOCATION-OTHER"),
    (&["state", "code"], "STATE"),
    (&["province"], "STATE"),
    (&["zip"], "ZIP"),
    (&["zipcode"], "ZIP"),
    (&["postal"], "ZIP"),
    (&["postcode"], "ZIP"),
    (&["age"], "AGE"),
    (&["occupation"], "PROFESSION"),
    (&["profession"], "PROFESSION"),
    (&["job"], "PROFESSION"),
    (&["employer"], "ORGANIZATION"),
    (&["school"], "ORGANIZATION"),
    (&["hospital"], "HOSPITAL"),
    (&["facility"], "HOSPITAL"),
    (&["clinic"], "HOSPITAL"),
    (&["institution"], "HOSPITAL"),
    (&["practice"], "HOSPITAL"),
    (&["site"], "HOSPITAL"),
    (&["location"], "HOSPITAL"),
    (&["department"], "DEPARTMENT"),
    (&["ward"], "DEPARTMENT"),
    (&["room"], "ROOM"),
    (&["bed"], "ROOM"),
    (&["serial"], "DEVICE"),
    (&["device", "id"], "DEVICE"),
    (&["url"], "URL"),
    (&["ip"], "IPADDR"),
    (&["accession"], "IDNUM"),
    (&["uuid"], "IDNUM"),
    (&["guid"], "IDNUM"),
    (&["date"], "DATE"),
    (&["datetime"], "DATE"),
    (&["timestamp"], "DATE"),
    (&["time"], "DATE"),
];

/// Words of a column's name that mean a clinician, where the column holds names or ids.
const CLINICIANS: &[&str] = &[
    "provider",
    "doctor",
    "physician",
    "attending",
    "author",
    "clinician",
    "nurse",
    "surgeon",
    "radiologist",
    "referring",
    "ordering",
    "interpreting",
    "signed",
    "pcp",
    "resident",
    "pathologist",
    "sender",
    "recipient",
    "performer",
    "practitioner",
    "dictated",
    "transcriptionist",
    "from",
    "to",
];

/// Words of a column's name that mean a person's name.
const PERSONS: &[&str] = &[
    "patient",
    "name",
    "surname",
    "lastname",
    "firstname",
    "forename",
    "given",
    "family",
    "middle",
    "maiden",
    "alias",
    "nickname",
    "fullname",
    "mother",
    "father",
    "guardian",
    "contact",
    "spouse",
    "relative",
    "kin",
    "pt",
    "person",
];

/// Words of a column's name whose values identify nobody, if they are few and repeated.
const HARMLESS: &[&str] = &[
    "sex",
    "gender",
    "type",
    "class",
    "category",
    "status",
    "modality",
    "priority",
    "code",
    "icd",
    "icd10",
    "cpt",
    "loinc",
    "snomed",
    "unit",
    "units",
    "flag",
    "abnormal",
    "result",
    "value",
    "language",
    "version",
    "severity",
    "specialty",
    "service",
    "channel",
    "direction",
    "read",
    "urgent",
    "laterality",
    "contrast",
    "procedure",
    "exam",
    "test",
    "analyte",
    "medication",
    "dose",
    "route",
    "score",
    "length",
    "count",
    "system",
];

/// The share of values from which a shape counts as that of the column.
const MOST: f64 = 0.6;
/// The share of values from which a shape keeps a column from leaving.
const SOME: f64 = 0.02;
/// Rows below which no column is kept by what its values look like.
const ENOUGH: usize = 20;

/// Returns the words of a column's name, in lower case: `patientName`, `PATIENT_NAME` and `patient name` have
/// the same.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before: Option<char> = None;
    for c in name.chars() {
        let starts = !c.is_alphanumeric() || c.is_uppercase() && before.is_some_and(char::is_lowercase);
        if starts || words.is_empty() {
            words.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
        before = Some(c);
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Returns whether the name of a column looks like a value, as in a table without a header.
pub(super) fn is_value(name: &str) -> bool {
    let look = Look::of(std::iter::once(name));
    let shapes = [
        look.dates(),
        look.numbers(),
        look.phones(),
        look.emails(),
        look.urls(),
        look.addresses(),
        look.ids(),
    ];
    look.long || name.len() > 60 || look.words > 6.0 || shapes.iter().any(|share| *share > 0.0)
}

/// Returns whether the rules know a word of a column's name.
pub(super) fn is_known(name: &str) -> bool {
    let named = NAMES.iter().flat_map(|(words, _)| words.iter());
    let all = [TEXT, CLINICIANS, PERSONS, HARMLESS];
    let known: Vec<&str> = all.into_iter().flatten().chain(named).copied().collect();
    words(name)
        .iter()
        .any(|word| word.len() > 1 && known.contains(&word.as_str()))
}

/// Returns the class of a column, and the reason in words.
pub(super) fn classify(name: &str, look: &Look) -> (Class, &'static str) {
    let words = words(name);
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    if look.count == 0 {
        return (Class::Drop, "no value in the sample");
    }
    if look.long || look.words >= 8.0 || look.words >= 3.0 && has(TEXT) {
        return (Class::Text, "long values, or the name of a text");
    }
    for (share, label, why) in [
        (look.emails(), "EMAIL", "values look like e-mail addresses"),
        (look.urls(), "URL", "values look like addresses of pages"),
        (look.addresses(), "IPADDR", "values look like IP addresses"),
        (look.social(), "SSN", "values look like social security numbers"),
        (look.phones(), "PHONE", "values look like telephone numbers"),
        (look.dates(), "DATE", "values look like dates"),
    ] {
        if share >= MOST {
            let fax = label == "PHONE" && has(&["fax"]);
            return (Class::Identifier(if fax { "FAX" } else { label }), why);
        }
    }
    let named = NAMES
        .iter()
        .find(|(all, _)| all.iter().all(|one| words.iter().any(|word| word == one)));
    if let Some((_, label)) = named {
        return (Class::Identifier(label), "the column's name");
    }
    let id = has(&["id", "identifier", "number", "no", "num", "nr", "key", "code"]) && look.ids() >= MOST
        || has(&["id", "identifier", "key"]);
    if has(CLINICIANS) {
        return match id || look.ids() >= MOST {
            true => (Class::Identifier("IDNUM"), "the column's name"),
            false => (Class::Identifier("DOCTOR"), "the column's name"),
        };
    }
    let thing = has(&[
        "test",
        "exam",
        "procedure",
        "study",
        "drug",
        "medication",
        "analyte",
        "order",
        "file",
    ]);
    if has(PERSONS) && !thing && !has(&["sex", "gender"]) {
        return match id {
            true => (Class::Identifier("IDNUM"), "the column's name"),
            false => (Class::Identifier("PATIENT"), "the column's name"),
        };
    }
    if id && !(has(HARMLESS) && look.repeats() >= 3.0) {
        return (Class::Identifier("IDNUM"), "the column's name");
    }
    if look.ids() >= MOST && look.numbers() < MOST
        || look.ids() >= MOST && look.decimals == 0 && look.repeats() < 1.5
    {
        return (
            Class::Identifier("IDNUM"),
            "values look like codes of single records",
        );
    }
    let identifying = [
        look.emails(),
        look.urls(),
        look.addresses(),
        look.social(),
        look.phones(),
        look.dates(),
    ];
    if identifying.iter().any(|share| *share >= SOME) {
        return (Class::Drop, "some values look like identifiers");
    }
    if look.names() >= MOST && look.repeats() < 3.0 && !has(HARMLESS) {
        return (Class::Identifier("PATIENT"), "values look like names");
    }
    if look.count < ENOUGH {
        return (Class::Drop, "too few rows to tell");
    }
    let few = look.distinct <= 50 && look.repeats() >= 3.0 && look.words <= 4.0;
    if has(HARMLESS) && (few || look.numbers() >= 0.95 && look.words <= 1.0) {
        return (
            Class::Keep,
            "few values that repeat, or measurements, by its name",
        );
    }
    if look.numbers() >= 0.95 && look.decimals > 0 {
        return (Class::Keep, "measurements");
    }
    if few && look.distinct <= 12 && look.names() < SOME && look.ids() < SOME {
        return (Class::Keep, "few values that repeat");
    }
    (Class::Drop, "neither an identifier nor harmless by any rule")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(name: &str, values: &[&str]) -> Class {
        let many = values.iter().copied().cycle().take(values.len() * 30);
        classify(name, &Look::of(many)).0
    }

    #[test]
    fn a_name_is_split_into_words_however_it_is_written() {
        for name in ["patientName", "PATIENT_NAME", "patient name", "Patient-Name"] {
            assert_eq!(words(name), ["patient", "name"], "{name}");
        }
    }

    #[test]
    fn identifiers_are_recognised_by_name_or_by_values() {
        for (name, values, label) in [
            ("pt_last_name", &["Roth"][..], "PATIENT"),
            ("attendingPhysician", &["Okafor"], "DOCTOR"),
            ("MRN", &["100234"], "MEDICALRECORD"),
            ("x1", &["a@b.example"], "EMAIL"),
            ("x2", &["2024-03-01"], "DATE"),
            ("x3", &["(555) 010-2233"], "PHONE"),
            ("zip", &["02139"], "ZIP"),
            ("created_by", &["jroth"], "USERNAME"),
            ("note_id", &["1"], "IDNUM"),
            ("home_city", &["Springfield"], "CITY"),
        ] {
            assert_eq!(class(name, values), Class::Identifier(label), "{name}");
        }
    }

    #[test]
    fn a_row_of_values_is_no_header() {
        for value in [
            "4471902",
            "2019-03-05",
            "(555) 010-2233",
            "a@b.example",
            "Seen today, well, no further visit is planned",
        ] {
            assert!(is_value(value), "{value}");
        }
        for name in ["", "note_text", "Patient Name", "ICD10", "Date of birth"] {
            assert!(!is_value(name), "{name}");
        }
        assert!(is_known("PAT_NAME") && is_known("reportText"));
        assert!(!is_known("Okafor") && !is_known("F"));
    }

    #[test]
    fn texts_are_long_or_named_as_such() {
        assert_eq!(
            class("x", &["Seen today for follow up of her chronic back pain"]),
            Class::Text
        );
        assert_eq!(class("comments", &["no known allergies"]), Class::Text);
    }

    #[test]
    fn only_harmless_columns_are_kept() {
        assert_eq!(class("sex", &["F", "M"]), Class::Keep);
        assert_eq!(class("modality", &["CT", "MR", "XR"]), Class::Keep);
        assert_eq!(class("sodium", &["140.1", "138.0"]), Class::Keep);
        assert_eq!(
            class("status", &["final", "2024-03-01", "final", "draft"]),
            Class::Drop
        );
        assert_eq!(class("x", &[""]), Class::Drop);
        assert_eq!(classify("sex", &Look::of(["F", "M"].into_iter())).0, Class::Drop);
        assert_eq!(class("village", &["Oakham", "Elm", "Ash"]), Class::Drop);
    }
}
