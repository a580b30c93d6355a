//! Messages whose values are shifted by one field, as interfaces often send them.

use std::collections::BTreeSet;

use super::check;
use super::engine::through;
use super::hl7v2::TYPES;

/// Invented segments with a value in each field that senders fill.
const SEGMENTS: &str = include_str!("segments.txt");

/// Shifts the fields of a segment by one.
fn moved(segment: &str, right: bool) -> String {
    let (name, fields) = segment.split_once('|').unwrap();
    if right {
        return format!("{name}||{fields}");
    }
    let rest = fields.split_once('|').map_or("", |(_, rest)| rest);
    format!("{name}|{rest}")
}

fn message(kind: &str, segments: &[String]) -> String {
    let head = format!("MSH|^~\\&|ADT1|MERCY|LAB|MERCY|20240502083000||{kind}|MSG-1|P|2.5.1");
    format!("{head}\r{}\r", segments.join("\r"))
}

/// Returns whether a component identifies somebody: a name, an address, a telephone number, an e-mail
/// address, or an id with letters. Dates and short codes depend on the field in which they are kept.
fn identifies(component: &str) -> bool {
    let has = |of: fn(char) -> bool| component.chars().any(of);
    // Short codes, short numbers, and the names of HL7's own tables.
    let is_code = component.len() <= 3
        || component.starts_with("HL7")
        || component
            .chars()
            .all(|c| c.is_ascii_digit() || "-.<>".contains(c));
    !is_code && (has(char::is_alphabetic) && (has(|c| c.is_ascii_digit()) || has(char::is_lowercase)))
        || component.contains(['@', '('])
        || component.len() > 6 && component.bytes().filter(u8::is_ascii_digit).count() > 6
}

#[test]
fn what_is_shifted_is_quarantined_or_fits_the_field_that_it_comes_out_in() {
    let mut found = BTreeSet::new();
    let (mut quarantined, mut closed) = (0, 0);
    for kind in TYPES.iter() {
        for right in [false, true] {
            // With PID; without it; and without OBX too, whose value then does not have its declared type.
            for stays in [&[][..], &["PID"], &["PID", "OBX"]] {
                let segments = SEGMENTS.lines().map(|segment| {
                    match stays.iter().any(|name| segment.starts_with(name)) {
                        true => segment.to_owned(),
                        false => moved(segment, right),
                    }
                });
                let segments: Vec<String> = segments.collect();
                let sent = message(kind, &segments);
                let out = through("hl7v2", sent.as_bytes());
                let Some(back) = out.message else {
                    let (_, error) = out.columns.iter().find(|(name, _)| name == "error").unwrap();
                    let as_expected = match stays.len() {
                        0 => error.starts_with("invalid_payload:PID-") && error.ends_with(":type"),
                        1 => error.contains("OBX"),
                        _ => false,
                    };
                    assert!(as_expected, "{kind}, {stays:?}: {error}");
                    quarantined += 1;
                    continue;
                };
                closed += 1;
                for (name, number, component) in survivors(&sent, &back, stays) {
                    assert!(!identifies(&component), "{kind}, {name}-{number}: {component}");
                    found.insert((component, format!("{name}-{number}")));
                }
            }
        }
    }
    assert!(
        quarantined >= 2 * TYPES.len() && closed >= 2 * TYPES.len(),
        "{quarantined} and {closed}"
    );
    check(&found, include_str!("shifted.tsv"));
}

/// Returns the components of a message that were kept in the same place: segment, field, and component.
fn survivors(sent: &str, back: &str, stays: &[&str]) -> Vec<(String, usize, String)> {
    let mut found = Vec::new();
    // These segments are not shifted.
    let others = |segment: &&str| {
        !segment.is_empty()
            && !segment.starts_with("MSH")
            && !stays.iter().any(|name| segment.starts_with(name))
    };
    for segment in back.split('\r').filter(others) {
        let (name, fields) = segment.split_once('|').unwrap_or((segment, ""));
        let Some(original) = sent.split('\r').find(|line| line.starts_with(name)) else {
            continue;
        };
        let originals = original.split('|').skip(1);
        for (number, (field, original)) in (1..).zip(fields.split('|').zip(originals)) {
            let sent: BTreeSet<&str> = original.split(['^', '~', '&']).collect();
            let same = field
                .split(['^', '~', '&'])
                .filter(|one| !one.is_empty() && sent.contains(one));
            found.extend(same.map(|one| (name.to_owned(), number, one.to_owned())));
        }
    }
    found
}
