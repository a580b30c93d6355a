//! HL7 v2: values in every component and sub-component of every field of every segment, in a message of each
//! type.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::check;
use super::engine::through;

/// A trigger event of each message type of HL7 table 0076. Lethe reads all of them with one allowlist of
/// fields.
pub(super) static TYPES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let tables = include_str!("../../../../connectors/format/src/hl7v2/tables.tsv");
    let codes = tables
        .lines()
        .find_map(|line| line.strip_prefix("0076\t"))
        .unwrap();
    let mut types: Vec<&str> = codes.split_whitespace().collect();
    // The first type gets every value.
    types.sort_by_key(|kind| *kind != "ADT");
    // The event determines what happens to a document.
    let event = |kind: &str| if kind == "MDM" { "T02" } else { "A01" };
    types
        .iter()
        .map(|kind| format!("{kind}^{}", event(kind)))
        .collect()
});

/// Values that could identify somebody, or are codes of uncommon tables, by kind.
const VALUES: [(&str, &str); 19] = [
    ("word", "Quillfeather"),
    ("capitals", "QUILLFEATHER"),
    ("number", "5550142"),
    ("id", "AB7741902"),
    ("date", "20310517"),
    ("written date", "2031-05-17"),
    ("month and day", "07-14"),
    ("year", "1931"),
    ("telephone", "617-555-0142"),
    ("telephone", "617.555.0142"),
    ("telephone", "555/0142"),
    ("social security", "219-09-8734"),
    ("ZIP code", "90210"),
    ("ZIP code", "02139-1234"),
    ("e-mail", "q.voss@example.org"),
    ("address", "1408 Larkspur Lane"),
    ("code of 0487", "BLD"),
    ("code of 0063", "SIB"),
    ("code of 0003", "A04"),
];

/// Fields whose text the ensemble decides about, and those without which there is no message.
const LEFT_OUT: [&str; 11] = [
    "MSH-1", "MSH-2", "MSH-9", "MSH-14", "MSH-18", "PID-3", "PID-5", "PID-7", "NTE-3", "OBX-2", "OBX-5",
];

/// Fields of coded elements, which name the system of their code.
const CODED: [&str; 37] = [
    "AIG-4", "AIG-14", "AIL-12", "AIP-12", "AIS-3", "AIS-10", "AL1-2", "AL1-3", "AL1-4", "DG1-3", "FT1-7",
    "FT1-19", "FT1-25", "GT1-11", "IN1-17", "NK1-3", "NK1-7", "NTE-4", "OBR-4", "OBR-44", "OBX-3", "OBX-17",
    "PR1-3", "ROL-3", "RXA-5", "RXA-17", "RXD-2", "RXE-2", "RXO-1", "RXR-1", "RXR-2", "SCH-6", "SCH-7",
    "SCH-8", "SCH-25", "SPM-4", "TXA-2",
];

/// Returns every segment that is kept in part, and some that are dropped.
fn segments() -> Vec<String> {
    let mut names: Vec<String> = vec!["MSH".to_owned()];
    for (field, ..) in lethe_connectors::format::hl7v2_allowlist() {
        let name = field.split('-').next().unwrap().to_owned();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.extend(["IN2", "OM1", "PDA", "ZPI"].map(str::to_owned));
    names
}

/// Returns a message with `field` in each field of each segment, except for those that are left out. `system`
/// is component 3.
pub(super) fn full_of(kind: &str, field: &str) -> String {
    let mut message = String::new();
    for segment in segments() {
        let first = if segment == "MSH" { 2 } else { 1 };
        message.push_str(&segment);
        for number in first..=60 {
            message.push('|');
            match format!("{segment}-{number}").as_str() {
                "MSH-2" => message.push_str("^~\\&"),
                "MSH-9" => message.push_str(kind),
                "OBX-2" => message.push_str("CWE"),
                name if LEFT_OUT.contains(&name) => {}
                _ => message.push_str(field),
            }
        }
        message.push('\r');
    }
    message
}

/// Returns the fields of a message that contain a text.
pub(super) fn fields_with(message: &str, text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for segment in message.split('\r') {
        let mut fields = segment.split('|');
        let name = fields.next().unwrap_or_default();
        // The first separator of MSH is itself a field.
        let first = if name == "MSH" { 2 } else { 1 };
        for (number, field) in (first..).zip(fields) {
            if field.contains(text) {
                found.insert(format!("{name}-{number}"));
            }
        }
    }
    found
}

#[test]
fn no_value_in_any_leaf_of_any_message_comes_out_unless_a_reason_is_listed() {
    // One value of each kind, for the types after the first, which differ only in their name.
    const SOME: [&str; 4] = ["word", "number", "date", "code of 0487"];
    let mut found = BTreeSet::new();
    for kind in TYPES.iter() {
        let all = *kind == TYPES[0];
        for (what, value) in VALUES.into_iter().filter(|(what, _)| all || SOME.contains(what)) {
            let mut sent = vec![full_of(kind, &[value; 14].join("^"))];
            // Sub-components are read alike in all types.
            if all {
                sent.push(full_of(kind, &vec![[value; 3].join("&"); 14].join("^")));
            }
            for sent in sent {
                let out = through("hl7v2", sent.as_bytes());
                let message = out
                    .message
                    .unwrap_or_else(|| panic!("{kind} is accepted: {:?}", out.columns));
                let fields = fields_with(&message, value);
                found.extend(fields.into_iter().map(|field| (what.to_owned(), field)));
                for (column, text) in out.columns {
                    assert!(!text.contains(value), "{kind}: {what} in column {column}: {text}");
                }
            }
        }
    }
    check(&found, include_str!("hl7v2.tsv"));
}

#[test]
fn a_value_in_a_field_without_which_there_is_no_message_is_refused_or_does_not_come_out() {
    for (what, value) in VALUES {
        for field in LEFT_OUT
            .iter()
            .filter(|field| !["MSH-1", "MSH-2", "NTE-3", "OBX-2", "OBX-5"].contains(field))
        {
            let (segment, number) = field.split_once('-').unwrap();
            let at: usize = number.parse::<usize>().unwrap() - usize::from(segment == "MSH");
            let mut head = vec![
                "MSH", "^~\\&", "A", "B", "C", "D", "20240101", "", "ADT^A01", "1", "P", "2.5.1",
            ];
            head.resize(19, "");
            let mut pid = vec!["PID"];
            pid.resize(9, "");
            let target = if segment == "MSH" { &mut head } else { &mut pid };
            target[at] = value;
            let out = through(
                "hl7v2",
                format!("{}\r{}\rPV1|1|I\r", head.join("|"), pid.join("|")).as_bytes(),
            );
            let message = out.message.unwrap_or_default();
            let generalised = what == "year" && *field == "PID-7";
            assert!(
                generalised || !message.contains(value),
                "{what} in {field}: {message}"
            );
            for (column, text) in out.columns {
                assert!(
                    !text.contains(value),
                    "{what} in {field}, column {column}: {text}"
                );
            }
        }
    }
}

#[test]
fn a_code_of_a_published_system_passes_by_its_shape_alone() {
    let mut found = BTreeSet::new();
    let listed = super::reasons(include_str!("hl7v2.tsv"));
    for system in [
        "LN", "SCT", "I10", "I9", "C4", "RXNORM", "CVX", "NDC", "UCUM", "99LOCAL", "",
    ] {
        for (what, value) in VALUES {
            let out = through(
                "hl7v2",
                full_of("ORU^R01", &format!("{value}^{value}^{system}")).as_bytes(),
            );
            let fields = fields_with(&out.message.unwrap(), value);
            let mut of_system = fields
                .into_iter()
                .filter(|field| !listed.contains_key(&(what.to_owned(), field.clone())));
            if let Some(field) = of_system.next() {
                assert!(
                    CODED.contains(&field.as_str()) && of_system.all(|field| CODED.contains(&field.as_str()))
                );
                found.insert((what.to_owned(), format!("coded fields, as {system}")));
            }
        }
    }
    check(&found, include_str!("hl7v2_systems.tsv"));
}

#[test]
fn an_observations_value_of_numbers_or_times_does_not_come_out() {
    for kind in [
        "NM", "SN", "DT", "TM", "TS", "DTM", "DR", "CP", "MO", "TN", "XTN", "XAD", "XPN", "CX", "ZZ",
    ] {
        for (what, value) in VALUES
            .into_iter()
            .filter(|(what, _)| !matches!(*what, "year" | "ZIP code"))
        {
            let field = [value; 5].join("^");
            let message = format!(
                "MSH|^~\\&|A|B|C|D|20240101||ORU^R01|1|P|2.5.1\rOBR|1\rOBX|1|{kind}|11488-4^Note^LN|1|{field}||||||F\rOBX|2|TX|11488-4^Note^LN|2|Seen.||||||F\r"
            );
            let out = through("hl7v2", message.as_bytes());
            if let Some(message) = &out.message {
                let back = fields_with(message, value);
                assert!(back.is_empty(), "{what} as {kind}: {back:?}");
            }
        }
    }
}
