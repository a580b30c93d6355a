//! The fields of a message's note event.

use lethe_core::{EventKind, KnownKind};
use lethe_format::{FormatConfig, PayloadError};

use super::{format, identifiers, message, read, refused, with};

fn mdm(trigger: &str) -> String {
    message(
        &format!("MDM^{trigger}^MDM_T02"),
        &[
            "EVN|T02|202405010830",
            "PID|1|EX-1|99^^^REG^PI~4412^7^M10^NORTH^MR~078-05-1120^^^USA^SS||Okafor^Ada^Ngozi^Jr^Dr||19310507|F",
            "PV1|1|I|4W^412^B^NORTH||||1234^Weber^Karl^^^Dr||||||||||||V-77",
            "TXA|1|DS^Discharge summary|TX|202405010815+0200|1234^Weber^Karl|20240501||||||DOC-9^EHR",
            "OBX|1|TX|N||Seen.",
        ],
    )
}

#[test]
fn a_document_says_which_it_is_and_whose() {
    let event = read(mdm("T02"));
    assert_eq!(event.note_id.expose(), "DOC-9");
    assert_eq!(event.patient_id.unwrap().expose(), "4412");
    assert_eq!(event.encounter_id.unwrap().expose(), "V-77");
    assert_eq!(event.note_type.as_deref(), Some("Discharge summary"));
    assert_eq!(event.authored_at, Some(1_714_544_100_000));
    assert_eq!(event.version, None);
    assert_eq!(event.kind, EventKind::Create);
}

#[test]
fn the_patients_id_is_of_the_configured_type() {
    let id = |settings: &str, message: &str| {
        let event = format(settings).read(message.as_bytes()).unwrap();
        event.patient_id.map(lethe_core::Sensitive::into_exposed)
    };
    assert_eq!(id("patient_id_type = \"PI\"", &mdm("T02")).as_deref(), Some("99"));
    assert_eq!(id("patient_id_type = \"AN\"", &mdm("T02")), None);
    let untyped = message("ORU^R01", &["PID|1||A-1^^^N^AN~5 ~6", "OBX|1|TX|N||Seen."]);
    assert_eq!(id("", &untyped).as_deref(), Some("5"));
    let nobody = message("ORU^R01", &["OBX|1|TX|N||Seen."]);
    assert_eq!(id("", &nobody), None);
    let null = message("ORU^R01", &["PID|1||\"\"", "OBX|1|TX|N||Seen."]);
    assert_eq!(id("", &null), None);
}

#[test]
fn an_id_names_the_authority_that_assigned_it() {
    let event = read(message(
        "ORU^R01",
        &[
            "PID|1||7^^^NORTH&1.2.3&ISO^MR~8^^^NORTH~9^^^&north.example&DNS~10^4^M10~11^^^&55&M||Okafor",
            &with(
                "OBR",
                &[
                    (2, "21^LAB^1.2.4^ISO"),
                    (3, "22^LAB"),
                    (16, "23^Weber^Karl^^^^^^SOUTH"),
                    (18, "24^LAB"),
                ],
            ),
            "OBX|1|TX|N||Seen.",
        ],
    ));
    assert_eq!(
        event.patient_authority.as_deref(),
        Some("oid:1.2.3\nnamespace:NORTH")
    );
    let authority = |value: &str| {
        let mut all = super::envelope(&event).identifiers().iter();
        let found = all.find(|one| one.value.expose() == value).unwrap();
        found.authority.as_deref()
    };
    assert_eq!(authority("7"), Some("oid:1.2.3\nnamespace:NORTH"));
    assert_eq!(authority("8"), Some("namespace:NORTH"));
    assert_eq!(authority("9"), Some("uri:north.example"));
    assert_eq!(authority("10"), None);
    assert_eq!(authority("11"), None);
    assert_eq!(authority("21"), Some("oid:1.2.4\nnamespace:LAB"));
    assert_eq!(authority("22"), Some("namespace:LAB"));
    assert_eq!(authority("23"), Some("namespace:SOUTH"));
    assert_eq!(authority("24"), None);
    assert_eq!(authority("Okafor"), None);
}

#[test]
fn a_result_is_named_after_its_order() {
    let event = read(message(
        "ORU^R01",
        &[
            &with(
                "OBR",
                &[
                    (2, "PL-1"),
                    (3, "FI-2^LAB"),
                    (4, "71020^Chest film^C4"),
                    (7, "20240501"),
                    (32, "881&Weber&Karl^2024"),
                ],
            ),
            "OBX|1|TX|N||Clear.",
        ],
    ));
    assert_eq!(event.note_id.expose(), "FI-2");
    assert_eq!(event.note_type.as_deref(), Some("Chest film"));
    assert_eq!(event.author_id.unwrap().expose(), "881");
    // There is no offset from UTC.
    assert_eq!(event.authored_at, None);
}

#[test]
fn the_control_id_is_the_last_resort() {
    assert_eq!(
        read(message("ORU^R01", &["OBX|1|TX|N||Seen."])).note_id.expose(),
        "C-1"
    );
    let none = message("ORU^R01", &["OBX|1|TX|N||Seen."]).replace("C-1", "");
    assert_eq!(refused(none), (Some("MSH-10"), PayloadError::Missing));
}

#[test]
fn a_time_without_an_offset_needs_a_configured_one() {
    let note = message("ORU^R01", &["OBR|1||||||197001010100", "OBX|1|TX|N||Seen."]);
    let at = |settings: &str| format(settings).read(note.as_bytes()).unwrap().authored_at;
    assert_eq!(at(""), None);
    assert_eq!(at("utc_offset = \"+01:00\""), Some(0));
    assert_eq!(at("utc_offset = \"-00:30\""), Some(5_400_000));
    let config: FormatConfig = toml::from_str("kind = \"hl7v2\"\nutc_offset = \"CET\"").unwrap();
    let Err(error) = config.build() else {
        panic!("CET is no offset from UTC");
    };
    assert!(error.to_string().contains("utc_offset"), "{error}");
}

#[test]
fn the_trigger_says_what_happened_to_a_document() {
    for (trigger, kind) in [
        ("T02", EventKind::Create),
        ("T06", EventKind::Create),
        ("T04", EventKind::Amend),
        ("T08", EventKind::Amend),
        ("T10", EventKind::Amend),
        ("T11", EventKind::Delete),
    ] {
        assert_eq!(read(mdm(trigger)).kind, kind, "{trigger}");
    }
    assert!(read(mdm("T11")).text.is_empty());
    assert_eq!(refused(mdm("T99")), (Some("MSH-9"), PayloadError::UnknownEvent));
    // Without a trigger in MSH-9, EVN-1 has it.
    assert_eq!(
        read(
            mdm("T02")
                .replace("MDM^T02^MDM_T02", "MDM")
                .replace("EVN|T02", "EVN|T08")
        )
        .kind,
        EventKind::Amend
    );
    // A notification without a document.
    let notice = read(message("MDM^T01", &["TXA|1|DS|TX|||||||||DOC-9"]));
    assert!(notice.structured && notice.text.is_empty());
}

#[test]
fn the_status_says_what_happened_to_a_result() {
    let kind = |order: &str, observations: [&str; 2]| {
        let order = format!("OBR|1||A|N{}{order}", "|".repeat(21));
        let observations = observations.map(|status| format!("OBX|1|TX|N||Seen.||||||{status}"));
        read(message("ORU^R01", &[&order, &observations[0], &observations[1]])).kind
    };
    assert_eq!(kind("F", ["F", "F"]), EventKind::Create);
    assert_eq!(kind("F", ["F", "C"]), EventKind::Amend);
    assert_eq!(kind("C", ["F", "F"]), EventKind::Amend);
    assert_eq!(kind("F", ["D", "F"]), EventKind::Create);
    assert_eq!(kind("F", ["D", "X"]), EventKind::Delete);
    assert_eq!(kind("X", ["F", "F"]), EventKind::Delete);
}

#[test]
fn the_patients_own_identifiers_are_known() {
    let event = read(message(
        "ORU^R01",
        &[
            &with(
                "PID",
                &[
                    (3, "4412^^^N^MR"),
                    (5, "de la Cruz&de la&Cruz&&Prado^Inés^María^III~Cruz^Nena^^^^^A"),
                    (7, "19310507"),
                    (9, "Prado^Ines"),
                    (11, "12 Elm St&Elm St&12^Apt 4^Dayton^OH^45402^USA^H^^Montgomery"),
                    (13, "(937)555-0142^PRN^PH~^NET^Internet^ines@example.org"),
                    (14, "^WPN^PH^^1^937^5550143^22"),
                    (18, "A-17"),
                    (19, "078-05-1120"),
                    (23, "Puerto Cruz"),
                ],
            ),
            "NK1|1|Cruz^Tomás|SPO^Spouse",
            &with("PV1", &[(7, "77^Weber^Karl~Lang, Eva"), (19, "V-1")]),
            &with(
                "IN1",
                &[(4, "Sun Mutual"), (8, "G-5"), (16, "Cruz^Tomás"), (36, "POL-8")],
            ),
            &with("OBX", &[(2, "TX"), (5, "Seen."), (16, "77^Weber^Karl")]),
        ],
    ));
    let known: Vec<_> = event.known.iter().map(|k| (k.kind, k.value.expose())).collect();
    assert_eq!(
        known,
        [
            (KnownKind::Organization, "NORTHGATE"),
            (KnownKind::MedicalRecord, "4412"),
            (KnownKind::Patient, "Inés María de la Cruz"),
            (KnownKind::Patient, "Cruz"),
            (KnownKind::Patient, "Prado"),
            (KnownKind::Patient, "Nena Cruz"),
            (KnownKind::BirthDate, "1931-05-07"),
            (KnownKind::Patient, "Ines Prado"),
            (KnownKind::Address, "12 Elm St, Apt 4, Dayton, OH 45402"),
            (KnownKind::Phone, "(937)555-0142"),
            (KnownKind::Email, "ines@example.org"),
            (KnownKind::Phone, "+1 (937) 5550143 x22"),
            (KnownKind::Account, "A-17"),
            (KnownKind::SocialSecurity, "078-05-1120"),
            (KnownKind::Address, "Puerto Cruz"),
            (KnownKind::Relative, "Tomás Cruz"),
            (KnownKind::Clinician, "Karl Weber"),
            (KnownKind::Clinician, "Lang, Eva"),
            (KnownKind::Account, "V-1"),
            (KnownKind::HealthPlan, "G-5"),
            (KnownKind::HealthPlan, "POL-8"),
        ]
    );
}

#[test]
fn an_identifier_is_what_a_reader_takes_for_one_thing() {
    let event = read(message(
        "ORU^R01",
        &[
            &with(
                "PID",
                &[
                    (3, "4412^7^M10^N&1.2&ISO^MR"),
                    (5, "Okafor^Ada Mary^N.^Jr^Dr^PhD^L"),
                    (7, "19310507"),
                    (10, "2106-3^White"),
                    (11, "9 Oak Rd^^Dayton^OH^45402"),
                ],
            ),
            "PV1|1|I|4W^412^B^NORTH",
            "OBX|1|DT|D||20240501",
            "NTE|1||Seen.",
        ],
    ));
    assert_eq!(
        identifiers(&event),
        [
            ("HOSPITAL", "NORTHGATE"),
            ("HOSPITAL", "NORTHGATE"),
            ("DATE", "2024-05-01"),
            ("IDNUM", "C-1"),
            ("MEDICALRECORD", "4412"),
            ("PATIENT", "Ada Mary N. Okafor Jr"),
            ("DATE", "1931-05-07"),
            ("STREET", "9 Oak Rd"),
            ("CITY", "Dayton"),
            ("STATE", "OH"),
            ("ZIP", "45402"),
            ("DEPARTMENT", "4W"),
            ("ROOM", "412"),
            ("ROOM", "B"),
            ("HOSPITAL", "NORTH"),
            ("DATE", "2024-05-01"),
        ]
    );
}

#[test]
fn a_message_is_kept_only_if_it_is_asked_for() {
    let config: FormatConfig = toml::from_str("kind = \"hl7v2\"").unwrap();
    let event = config.build().unwrap().read(mdm("T02").as_bytes()).unwrap();
    assert!(event.enclosed.is_none());
    assert!(!event.known.is_empty());
    assert!(toml::from_str::<FormatConfig>("kind = \"hl7v2\"\nkeep = true").is_err());
}

/// Returns the ids that an ADT message of this trigger event merges, each with its target.
fn linked(trigger: &str, rest: &[&str]) -> Vec<(String, Option<String>)> {
    let mut segments = vec!["PID|1||7^^^NORTH^MR||Okonjo-Vane^Ada"];
    segments.extend(rest);
    let event = read(message(&format!("ADT^{trigger}"), &segments));
    let links = event.links.into_iter();
    links
        .map(|link| {
            assert_eq!(link.from.authority.as_deref(), Some("namespace:NORTH"));
            let into = link.into.map(|key| key.id.expose().to_owned());
            (link.from.id.expose().to_owned(), into)
        })
        .collect()
}

#[test]
fn merges_and_links_name_the_ids_that_become_one() {
    let merged = "MRG|8^^^NORTH^MR~80^^^NORTH^AN";
    for trigger in ["A18", "A30", "A34", "A36", "A39", "A40", "A46", "A47", "A48"] {
        assert_eq!(linked(trigger, &[merged]), [("8".to_owned(), None)], "{trigger}");
    }
    // An account that moves to another patient merges no ids.
    for trigger in ["A01", "A43", "A44", "A45"] {
        assert_eq!(linked(trigger, &[merged]), [], "{trigger}");
    }
    let second = "PID|2||9^^^NORTH^MR||Okonjo-Vane^A";
    assert_eq!(linked("A24", &[second]), [("9".to_owned(), None)]);
    let groups = [merged, second, "MRG|10^^^NORTH^MR"];
    assert_eq!(
        linked("A40", &groups),
        [("8".to_owned(), None), ("10".to_owned(), Some("9".to_owned()))]
    );
}
