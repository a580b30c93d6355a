//! Puts a canary into every component of every field: a word that is not a code of any table is not returned.

use std::collections::BTreeSet;

use super::{close, read};

/// Segments on the list, and others.
const SEGMENTS: [&str; 27] = [
    "MSH", "EVN", "PID", "PD1", "NK1", "PV1", "PV2", "ORC", "OBR", "OBX", "NTE", "TXA", "GT1", "IN1", "AL1",
    "DG1", "PR1", "MRG", "SCH", "AIS", "AIL", "RXA", "RXE", "FT1", "SPM", "ZPI", "IN2",
];

/// Returns the unique content of component `component` of a field. It has upper-case letters and digits, so
/// that it looks like a code.
fn canary(segment: usize, field: usize, component: usize) -> String {
    format!("QQ{segment:02}F{field:02}C{component:02}ZZ")
}

/// Returns the canaries in a text as segment, field and component.
fn found(text: &str) -> BTreeSet<(usize, usize, usize)> {
    let numbers = |at: usize| {
        let digits = |from: usize| text.get(at + from..at + from + 2)?.parse::<usize>().ok();
        Some((digits(2)?, digits(5)?, digits(8)?))
    };
    text.match_indices("QQ")
        .filter_map(|(at, _)| numbers(at))
        .collect()
}

/// Returns a message with canaries in every component of the first sixty fields of every segment. `kind` is
/// OBX-2.
fn full_of_canaries(kind: &str, separators: [char; 4]) -> String {
    let [component, repetition, escape, sub] = separators;
    let mut message = String::new();
    for (at, segment) in SEGMENTS.iter().enumerate() {
        message.push_str(segment);
        for field in 1..=60 {
            if *segment == "MSH" && field == 1 {
                continue;
            }
            message.push('|');
            match (*segment, field) {
                ("MSH", 2) => message.extend([component, repetition, escape, sub]),
                // These must be valid, or the payload is not a message.
                ("MSH", 9 | 14 | 18) | ("PID", 5 | 7) => {}
                ("OBX", 2) => message.push_str(kind),
                _ => {
                    for n in 1..=14 {
                        if n > 1 {
                            message.push(component);
                        }
                        message.push_str(&canary(at, field, n));
                        message.push(sub);
                        message.push_str(&canary(at, field, n + 30));
                    }
                    message.push(repetition);
                    message.push_str(&canary(at, field, 60));
                }
            }
        }
        message.push('\r');
    }
    message
}

#[test]
fn no_word_in_any_component_of_any_field_comes_back() {
    for kind in [
        "TX", "FT", "ST", "CE", "CF", "CWE", "NM", "SN", "RP", "DT", "TS", "XPN", "XCN", "XAD", "XTN", "CX",
        "XON", "EI", "HD", "TM", "ZZ",
    ] {
        let event = read(full_of_canaries(kind, ['^', '~', '\\', '&']));
        let closed = close(&event, |_| "narrative".into(), |_, _| "identifier".into());
        let closed = String::from_utf8(closed).unwrap();
        assert_eq!(found(&closed), BTreeSet::new(), "{kind}");
    }
}

#[test]
fn nothing_that_is_replaced_is_found_anywhere_in_the_closed_message() {
    let message = full_of_canaries("TX", ['^', '~', '\\', '&']);
    let event = read(&message);
    let closed = close(&event, |_| String::new(), |_, _| String::new());
    let closed = String::from_utf8(closed).unwrap();
    let mut checked = 0;
    for (label, value) in super::identifiers(&event) {
        for word in value.split_whitespace().filter(|word| word.starts_with("QQ")) {
            // CX-5, XCN-13 and similar components are not part of an identifier.
            assert!(!closed.contains(word), "{label}: {word} is back");
            checked += 1;
        }
    }
    assert!(checked > 300, "{checked}");
}

#[test]
fn other_separators_hide_nothing() {
    let event = read(full_of_canaries("CWE", ['$', '%', '?', '*']));
    let closed = close(&event, |_| String::new(), |_, _| String::new());
    assert_eq!(found(&String::from_utf8(closed).unwrap()), BTreeSet::new());
}

/// Returns a message with this value in every component of the first sixty fields of every segment.
fn full_of(value: &str, subs: usize) -> String {
    let field = vec![vec![value; subs].join("&"); 9].join("^");
    let mut message = String::new();
    for segment in SEGMENTS {
        let fields = (1..=60).map(|number| match (segment, number) {
            ("MSH", 1) => None,
            ("MSH", 2) => Some("^~\\&"),
            ("MSH", 9) => Some("ADT^A01^ADT_A01"),
            ("MSH", 14 | 18) | ("PID", 3 | 5 | 7) => Some(""),
            ("OBX", 2) => Some("CWE"),
            _ => Some(field.as_str()),
        });
        let fields: Vec<&str> = fields.flatten().collect();
        message += &format!("{segment}|{}\r", fields.join("|"));
    }
    message
}

#[test]
fn no_number_no_date_and_no_code_of_another_table_comes_back() {
    for (value, passes) in [
        ("5550142", vec![]),
        ("20310517", vec![]),
        ("555-0142", vec![]),
        ("2031-05-17", vec![]),
        ("Quillfeather", vec![]),
        ("q.voss@example.org", vec![]),
        ("AB7741902", vec![]),
        // Each is a code of these fields' own tables, and of no other field's.
        ("BLD", vec!["SPM-4"]),
        ("SIB", vec!["NK1-3", "GT1-11", "IN1-17"]),
    ] {
        let subs = if passes.is_empty() { 3 } else { 1 };
        let event = read(full_of(value, subs));
        let closed = close(&event, |_| String::new(), |_, _| String::new());
        let closed = String::from_utf8(closed).unwrap();
        let mut back: Vec<String> = Vec::new();
        for segment in closed.split('\r') {
            let fields = segment.split('|').enumerate().skip(1);
            let name = segment.get(..3).unwrap_or_default();
            back.extend(
                fields
                    .filter(|(_, field)| field.contains(value))
                    .map(|(n, _)| format!("{name}-{n}")),
            );
        }
        assert_eq!(back, passes, "{value}");
    }
}

#[test]
fn every_field_that_does_not_come_back_as_it_came_is_audited() {
    let event = read(full_of("Quillfeather", 3));
    let envelope = super::envelope(&event);
    let paths: BTreeSet<&str> = envelope
        .changes()
        .iter()
        .map(|change| change.path.as_ref())
        .collect();
    for segment in SEGMENTS
        .iter()
        .filter(|segment| !matches!(**segment, "ZPI" | "IN2"))
    {
        for field in 1..=60 {
            let path = format!("{segment}-{field}");
            // The parts of the narrative have separate audit rows, and MSH counts its separators.
            let other = matches!(
                path.as_str(),
                "MSH-1"
                    | "MSH-2"
                    | "MSH-9"
                    | "MSH-14"
                    | "MSH-18"
                    | "PID-3"
                    | "PID-5"
                    | "PID-7"
                    | "OBX-2"
                    | "NTE-3"
            );
            assert!(other || paths.contains(path.as_str()), "{path}");
        }
    }
    assert!(paths.contains("Z segment") && paths.contains("IN2"));
}

#[test]
fn a_component_that_its_rule_does_not_name_is_audited() {
    for (segment, path) in [
        ("PID|1||7^^^^^^CANTON", "PID-3"),
        ("PID|1||7||^^^^^MD", "PID-5"),
        ("PV1|1|I|^^^^STATUS", "PV1-3"),
        ("PD1|||^L", "PD1-3"),
        ("ORC|NW^X", "ORC-1"),
        ("NK1|1|||||||20240501^Y", "NK1-8"),
    ] {
        let event = read(super::message("ADT^A01", &[segment]));
        let changes = super::envelope(&event).changes();
        let removed = |change: &&lethe_core::Change| change.what == lethe_core::Changed::Removed;
        let found: Vec<&str> = changes
            .iter()
            .filter(removed)
            .map(|change| change.path.as_ref())
            .collect();
        assert_eq!(found, ["MSH-3", "MSH-5", path], "{segment}");
    }
}

#[test]
fn no_word_of_a_sender_is_in_the_path_of_a_change() {
    let event = read(super::message("ADT^A01", &["ADA|x|y", "ZOE|x", "QQQ|x"]));
    let paths: Vec<&str> = super::envelope(&event)
        .changes()
        .iter()
        .map(|change| change.path.as_ref())
        .collect();
    assert!(
        paths.contains(&"Z segment") && paths.contains(&"unknown segment"),
        "{paths:?}"
    );
    assert!(
        !paths
            .iter()
            .any(|path| path.contains("ADA") || path.contains("ZOE"))
    );
}

#[test]
fn a_message_of_many_removed_fields_has_a_change_for_each_field_of_its_format() {
    let pv2 = format!("PV2{}", "|x".repeat(500));
    let event = read(super::message("ADT^A01", &vec![pv2.as_str(); 300]));
    assert!(super::envelope(&event).changes().len() < 300 * 4 + 520);
}

#[test]
fn a_patient_segment_that_is_shifted_is_refused() {
    let fields = [
        "1",
        "",
        "4412^^^NORTHGATE^MR",
        "",
        "Okafor^Ada",
        "Voss^Eva",
        "19580714",
        "F",
        "",
        "",
        "12 Elm^^Dayton^OH^45402",
    ];
    let pid = |fields: &[&str]| super::message("ADT^A01", &[&format!("PID|{}", fields.join("|"))]);
    assert!(read(pid(&fields)).structured);
    let right: Vec<&str> = std::iter::once("").chain(fields).collect();
    assert_eq!(
        super::refused(pid(&right)),
        (Some("PID-7"), lethe_format::PayloadError::NotItsType)
    );
    assert_eq!(
        super::refused(pid(&fields[1..])),
        (Some("PID-7"), lethe_format::PayloadError::NotItsType)
    );
    let mut number = fields;
    number[4] = "4412907";
    assert_eq!(
        super::refused(pid(&number)),
        (Some("PID-5"), lethe_format::PayloadError::NotItsType)
    );
    number[4] = "Okafor";
    number[2] = "Okafor^Ada";
    assert_eq!(
        super::refused(pid(&number)),
        (Some("PID-3"), lethe_format::PayloadError::NotItsType)
    );
}
