//! A canary in every field: what survives is what this list says, and nothing else.

use std::collections::BTreeSet;

use super::{close, read};

/// Fields that come back as they are, written down a second time on purpose: a field that gets into the table must get
/// in here too.
const SURVIVE: &[(&str, &[usize])] = &[
    ("MSH", &[9, 11, 12, 15, 16, 17, 19]),
    ("EVN", &[1, 4]),
    ("PID", &[8, 30]),
    ("PD1", &[]),
    ("NK1", &[3, 7]),
    ("PV1", &[2, 4, 10, 14, 18, 36]),
    ("PV2", &[]),
    ("ORC", &[1, 5]),
    ("OBR", &[4, 5, 11, 24, 25, 44]),
    ("OBX", &[2, 3, 4, 6, 7, 8, 10, 11, 17]),
    ("NTE", &[2, 4]),
    ("TXA", &[2, 3, 17, 18, 19, 20]),
    ("GT1", &[10, 11]),
    ("IN1", &[17]),
    ("AL1", &[2, 3, 4]),
    ("DG1", &[2, 3, 6]),
    ("PR1", &[2, 3]),
    ("ZPI", &[]),
    ("IN2", &[]),
    ("SPM", &[]),
];

/// What stands in component `component` of a field, and nowhere else. Upper-case letters and digits, so that it is as
/// good a code as any.
fn canary(segment: usize, field: usize, component: usize) -> String {
    format!("QQ{segment:02}F{field:02}C{component:02}ZZ")
}

/// The canaries in a text, as segment, field and component.
fn found(text: &str) -> BTreeSet<(usize, usize, usize)> {
    let numbers = |at: usize| {
        let digits = |from: usize| text.get(at + from..at + from + 2)?.parse::<usize>().ok();
        Some((digits(2)?, digits(5)?, digits(8)?))
    };
    text.match_indices("QQ")
        .filter_map(|(at, _)| numbers(at))
        .collect()
}

/// A message with canaries in every component of the first sixty fields of every segment. `kind` is OBX-2.
fn full_of_canaries(kind: &str, separators: [char; 4]) -> String {
    let [component, repetition, escape, sub] = separators;
    let mut message = String::new();
    for (at, (segment, _)) in SURVIVE.iter().enumerate() {
        message.push_str(segment);
        for field in 1..=60 {
            if *segment == "MSH" && field == 1 {
                continue;
            }
            message.push('|');
            match (*segment, field) {
                ("MSH", 2) => message.extend([component, repetition, escape, sub]),
                // These must be what they are, or there is no message.
                ("MSH", 14 | 18) => {}
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
fn of_every_field_only_the_codes_of_the_list_come_back() {
    let allowed: BTreeSet<(usize, usize)> = SURVIVE
        .iter()
        .enumerate()
        .flat_map(|(at, (_, fields))| fields.iter().map(move |&field| (at, field)))
        .collect();
    let obx = SURVIVE.iter().position(|(name, _)| *name == "OBX").unwrap();
    for kind in [
        "TX", "FT", "ST", "CE", "CF", "CWE", "NM", "SN", "RP", "DT", "TS", "XPN", "XCN", "XAD", "XTN", "CX",
        "XON", "EI", "HD", "TM", "ZZ",
    ] {
        let event = read(full_of_canaries(kind, ['^', '~', '\\', '&']));
        let closed = close(&event, |_| "narrative".into(), |_, _| "identifier".into());
        let closed = String::from_utf8(closed).unwrap();
        let mut fields: BTreeSet<(usize, usize)> = BTreeSet::new();
        for (segment, field, component) in found(&closed) {
            // The codes of a coded value, of which OBX-5 is one: neither its texts nor what its user typed.
            let is_coded = (segment, field) == (obx, 5) && matches!(kind, "CE" | "CF" | "CWE");
            if is_coded {
                assert!(
                    matches!(component, 1 | 3 | 4 | 6 | 60),
                    "{kind}: component {component} of OBX-5 is back"
                );
                continue;
            }
            let name = SURVIVE[segment].0;
            assert!(
                allowed.contains(&(segment, field)) || component > 1 && is_type(name, field, component, kind),
                "{kind}: component {component} of {name}-{field} is back"
            );
            fields.insert((segment, field));
        }
        // The other way round: what is on the list is not lost.
        let lost = allowed.difference(&fields).filter(|&&one| one != (obx, 2));
        let lost: Vec<_> = lost
            .map(|&(at, field)| format!("{}-{field}", SURVIVE[at].0))
            .collect();
        assert!(lost.is_empty(), "{kind}: {lost:?}");
    }
}

/// Whether a component is the type of a name, a number, an address or a telephone, which stays when these are replaced:
/// XPN-7, CX-5, XCN-13, XAD-7, XTN-2 and 3.
fn is_type(segment: &str, field: usize, component: usize, kind: &str) -> bool {
    let of: &[usize] = match (segment, field) {
        ("PID", 5 | 6 | 9) | ("NK1", 2 | 26 | 30) | ("GT1", 3 | 4 | 16) | ("IN1", 6 | 16) => &[7],
        ("PID", 11)
        | ("NK1", 4 | 32)
        | ("ORC", 22 | 24)
        | ("OBX", 24)
        | ("GT1", 5 | 17)
        | ("IN1", 5 | 19) => &[7],
        ("PID", 13 | 14) | ("NK1", 5 | 6 | 31) | ("ORC", 14 | 23) | ("OBR", 17) => &[2, 3],
        ("GT1", 6 | 7 | 18) | ("IN1", 7) => &[2, 3],
        ("OBX", 5) => match kind {
            "XPN" | "XAD" => &[7],
            "XTN" => &[2, 3],
            "CX" | "EI" => &[5],
            "XCN" => &[13],
            _ => &[],
        },
        ("MSH", 10)
        | ("PID", 2 | 3 | 4 | 18 | 19 | 20 | 21)
        | ("NK1", 12 | 33 | 37)
        | ("PV1", 5 | 19 | 50) => &[5],
        ("ORC", 2..=4) | ("OBR", 2 | 3 | 18 | 19 | 20 | 21) | ("OBX", 18) | ("TXA", 12..=15) => &[5],
        ("GT1", 2 | 12 | 19) | ("IN1", 8 | 10 | 36 | 49) => &[5],
        _ => &[13],
    };
    // A canary of a second sub-component is numbered 30 higher.
    of.contains(&component)
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
            // CX-5, XCN-13 and their like are not in any identifier.
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
    let usual = read(full_of_canaries("CWE", ['^', '~', '\\', '&']));
    let usual = close(&usual, |_| String::new(), |_, _| String::new());
    let [closed, usual] = [closed, usual].map(|bytes| found(&String::from_utf8(bytes).unwrap()));
    assert!(!closed.is_empty());
    // `*` is a letter of codes, and no separator among the usual ones.
    assert!(closed.is_subset(&usual) || closed == usual);
}
