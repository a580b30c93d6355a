//! Decides which codes of which code systems are kept. Display names are the sender's wording and are always
//! dropped.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::table::is_language;
use crate::fhir::codes::{LocalSystems, fits};
use crate::fhir::ucum;
use crate::hl7v2;

/// The code systems: their names, and the rule for their codes.
static SYSTEMS: LazyLock<HashMap<&'static str, (&'static str, &'static str)>> = LazyLock::new(|| {
    let lines = include_str!("systems.tsv").lines();
    lines
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| {
            let (oid, rest) = line.split_once('\t')?;
            Some((oid, rest.split_once('\t')?))
        })
        .collect()
});

/// The OID prefix of HL7 v2 tables.
const V2: &str = "2.16.840.1.113883.12.";

/// Returns the code system's name if the code belongs to it; empty if only the configuration knows the
/// system.
pub(super) fn system_of(oid: &str, code: &str, local: &LocalSystems) -> Option<&'static str> {
    if let Some((name, how)) = SYSTEMS.get(oid) {
        return is_of(how, code).then_some(*name);
    }
    if let Some(table) = oid.strip_prefix(V2) {
        // Without leading zeros, which an object identifier does not have.
        let is_arc = is_digits(table) && !table.starts_with('0') && table.len() <= 4;
        return (is_arc && hl7v2::codes::is_in_table(&format!("{table:0>4}"), code)).then_some("");
    }
    fits(oid, code, local).then_some("")
}

fn is_of(how: &str, code: &str) -> bool {
    let (word, argument) = how.split_once(' ').unwrap_or((how, ""));
    match (word, argument) {
        ("uri", uri) => fits(uri, code, &LocalSystems::default()),
        ("list", codes) => !code.is_empty() && codes.split(' ').any(|one| one == code),
        ("range", bounds) => bounds.split_once(' ').is_some_and(|(low, high)| {
            code.len() == low.len() && is_digits(code) && low <= code && code <= high
        }),
        ("shape", "procedure") => is_procedure(code),
        // CDC codes have a check digit like LOINC's.
        ("shape", "cdc") => code.len() == 6 && fits("http://loinc.org", code, &LocalSystems::default()),
        ("shape", "payer") => (1..=3).contains(&code.len()) && is_digits(code),
        ("shape", "language") => is_language(code),
        ("shape", shape) => matches(code, shape),
        _ => false,
    }
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

fn matches(code: &str, shape: &str) -> bool {
    code.len() == shape.len()
        && code.bytes().zip(shape.bytes()).all(|(byte, of)| match of {
            b'#' => byte.is_ascii_digit(),
            b'A' => byte.is_ascii_uppercase(),
            b'*' => byte.is_ascii_digit() || byte.is_ascii_uppercase(),
            _ => byte == of,
        })
}

/// Returns whether it is a code of ICD-10-PCS: seven digits and capitals without I and O. One with only
/// digits could be a telephone number.
fn is_procedure(code: &str) -> bool {
    let mut bytes = code.bytes();
    matches(code, "*******")
        && bytes.clone().all(|byte| !matches!(byte, b'I' | b'O'))
        && bytes.any(|byte| byte.is_ascii_uppercase())
        && code.bytes().filter(u8::is_ascii_digit).count() >= 2
        && matches!(
            code.as_bytes().first(),
            Some(b'0'..=b'9' | b'B' | b'C' | b'D' | b'F' | b'G' | b'H' | b'X')
        )
}

/// Returns whether a unit is kept: a UCUM unit, or a dispensing unit.
pub(super) fn is_unit(unit: &str) -> bool {
    const COUNTED: [&str; 14] = [
        "{tbl}",
        "{tablet}",
        "{capsule}",
        "{puff}",
        "{spray}",
        "{drop}",
        "{dose}",
        "{patch}",
        "{score}",
        "{beats}",
        "{beats}/min",
        "{breaths}/min",
        "{count}",
        "{INR}",
    ];
    COUNTED.contains(&unit) || ucum::is_unit(unit)
}

/// Returns whether it is the object identifier of a template that HL7, IHE or HITSP published.
pub(super) fn is_template(root: &str) -> bool {
    const PUBLISHERS: [&str; 3] = [
        "2.16.840.1.113883.10.20.",
        "1.3.6.1.4.1.19376.1.5.3.1.",
        "2.16.840.1.113883.3.88.11.",
    ];
    let rest = PUBLISHERS
        .iter()
        .find_map(|publisher| root.strip_prefix(publisher));
    let is_arc = |arc: &str| {
        (1..=3).contains(&arc.len()) && is_digits(arc) && !(arc.len() > 1 && arc.starts_with('0'))
    };
    rest.is_some_and(|rest| rest.len() <= 24 && rest.split('.').all(is_arc))
}

/// The versions of C-CDA's templates and of its companion guides.
pub(super) const RELEASES: [&str; 17] = [
    "2014-06-09",
    "2015-08-01",
    "2016-03-01",
    "2016-11-01",
    "2017-06-09",
    "2017-08-01",
    "2018-06-12",
    "2018-09-01",
    "2019-04-01",
    "2019-06-20",
    "2019-06-21",
    "2019-12-01",
    "2020-09-01",
    "2022-06-01",
    "2023-05-01",
    "2024-05-01",
    "2025-05-01",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(oid: &str, code: &str) -> bool {
        system_of(oid, code, &LocalSystems::default()).is_some()
    }

    #[test]
    fn a_code_passes_by_its_own_system_alone() {
        for (oid, good, bad) in [
            ("2.16.840.1.113883.6.1", "11488-4", "11488-5"),
            ("2.16.840.1.113883.6.96", "168537006", "168537007"),
            ("2.16.840.1.113883.6.238", "2106-3", "2106-4"),
            ("2.16.840.1.113883.6.259", "1160-1", "1160-2"),
            ("2.16.840.1.113883.6.4", "0DTJ4ZZ", "5550142"),
            ("2.16.840.1.113883.6.101", "207R00000X", "AB77419020"),
            ("2.16.840.1.113883.5.1", "F", "SIB"),
            ("2.16.840.1.113883.5.1076", "1013", "1958"),
            ("2.16.840.1.113883.12.112", "01", "5550142"),
            ("2.16.840.1.113883.6.104", "47.01", "4701"),
        ] {
            assert!(passes(oid, good), "{oid} {good}");
            assert!(!passes(oid, bad), "{oid} {bad}");
        }
        assert!(!passes("1.2.3", "F") && !passes("", "F"));
        let local = LocalSystems(std::sync::Arc::from(["1.2.3".to_owned()]));
        assert_eq!(system_of("1.2.3", "W1", &local), Some(""));
    }

    #[test]
    fn a_template_is_of_a_publisher() {
        assert!(is_template("2.16.840.1.113883.10.20.22.4.79"));
        for bad in [
            "2.16.840.1.113883.10.20.5550142",
            "2.16.840.1.113883.19.5",
            "2.16.840.1.113883.10.20.",
            "Voss",
        ] {
            assert!(!is_template(bad), "{bad}");
        }
    }

    #[test]
    fn every_system_has_a_check() {
        for (oid, (name, how)) in SYSTEMS.iter() {
            assert!(!name.is_empty(), "{oid}");
            assert!(
                ["uri", "list", "range", "shape"].contains(&how.split(' ').next().unwrap()),
                "{oid}"
            );
        }
    }
}
