//! Decides which codes are kept: the code must have the shape of its system, or be in a compiled-in list.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use super::ucum;

/// Maximum length of a code of any known system.
const MAX_CODE: usize = 64;
/// Maximum length of a code of a system that only the configuration knows.
const MAX_LOCAL: usize = 32;

static TERMINOLOGY: LazyLock<HashMap<&'static str, Vec<&'static str>>> = LazyLock::new(|| {
    let lines = include_str!("terminology.tsv").lines();
    lines
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once('\t'))
        .map(|(system, codes)| (system, codes.split(' ').collect()))
        .collect()
});

/// The code systems that the configuration adds.
#[derive(Clone, Debug, Default)]
pub(crate) struct LocalSystems(pub(crate) Arc<[String]>);

/// Returns whether the code fits its system. A code of an unknown system could be anything and does not.
pub(crate) fn fits(system: &str, code: &str, local: &LocalSystems) -> bool {
    if code.is_empty() || code.len() > MAX_CODE {
        return false;
    }
    match system {
        "http://loinc.org" => is_loinc(code),
        "http://snomed.info/sct" => is_snomed(code),
        "http://hl7.org/fhir/sid/icd-10" | "http://hl7.org/fhir/sid/icd-10-cm" => is_icd10(code),
        "http://hl7.org/fhir/sid/icd-9-cm" => is_icd9(code),
        "http://www.ama-assn.org/go/cpt" => matches(code, "####*"),
        "http://www.nlm.nih.gov/research/umls/rxnorm" => is_rxnorm(code),
        "http://hl7.org/fhir/sid/cvx" => code.len() <= 3 && is_digits(code),
        // Eleven digits without hyphens could be a telephone number.
        "http://hl7.org/fhir/sid/ndc" => ["####-####-##", "#####-###-##", "#####-####-#", "#####-####-##"]
            .iter()
            .any(|shape| matches(code, shape)),
        "http://unitsofmeasure.org" => ucum::is_unit(code),
        _ => match TERMINOLOGY.get(system) {
            Some(codes) => codes.contains(&code),
            None => {
                local.0.iter().any(|known| known == system)
                    && code.len() <= MAX_LOCAL
                    && code.bytes().all(|byte| byte.is_ascii_graphic())
            }
        },
    }
}

/// Returns whether it is an RxNorm identifier. These have no check digit, so only numbers in the used range
/// are accepted.
fn is_rxnorm(code: &str) -> bool {
    const LARGEST: u32 = 3_000_000;
    is_digits(code) && !code.starts_with('0') && code.parse().is_ok_and(|number: u32| number <= LARGEST)
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns whether the code has that shape: `#` is a digit, `*` a digit or a capital, anything else itself.
fn matches(code: &str, shape: &str) -> bool {
    code.len() == shape.len()
        && code.bytes().zip(shape.bytes()).all(|(byte, of)| match of {
            b'#' => byte.is_ascii_digit(),
            b'*' => byte.is_ascii_digit() || byte.is_ascii_uppercase(),
            _ => byte == of,
        })
}

/// Returns whether it is a LOINC number or an answer or part code, with its check digit (modulus 10; LOINC
/// Users' Guide, appendix C).
fn is_loinc(code: &str) -> bool {
    let number = code
        .strip_prefix("LA")
        .or_else(|| code.strip_prefix("LP"))
        .unwrap_or(code);
    let Some((number, check)) = number.split_once('-') else {
        return false;
    };
    if number.is_empty() || number.len() > 7 || check.len() != 1 || !is_digits(number) || !is_digits(check) {
        return false;
    }
    let sum: u32 = number
        .bytes()
        .rev()
        .enumerate()
        .map(|(i, byte)| {
            let digit = u32::from(byte - b'0');
            match (i % 2, digit) {
                (0, 5..) => digit * 2 - 9,
                (0, _) => digit * 2,
                _ => digit,
            }
        })
        .sum();
    check.parse() == Ok((10 - sum % 10) % 10)
}

/// Returns whether it is an identifier of a SNOMED CT concept: a partition of concepts and a Verhoeff check
/// digit.
fn is_snomed(code: &str) -> bool {
    const PRODUCT: [[u8; 10]; 10] = [
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
        [1, 2, 3, 4, 0, 6, 7, 8, 9, 5],
        [2, 3, 4, 0, 1, 7, 8, 9, 5, 6],
        [3, 4, 0, 1, 2, 8, 9, 5, 6, 7],
        [4, 0, 1, 2, 3, 9, 5, 6, 7, 8],
        [5, 9, 8, 7, 6, 0, 4, 3, 2, 1],
        [6, 5, 9, 8, 7, 1, 0, 4, 3, 2],
        [7, 6, 5, 9, 8, 2, 1, 0, 4, 3],
        [8, 7, 6, 5, 9, 3, 2, 1, 0, 4],
        [9, 8, 7, 6, 5, 4, 3, 2, 1, 0],
    ];
    const STEP: [u8; 10] = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4];
    if !(6..=18).contains(&code.len()) || !is_digits(code) || code.starts_with('0') {
        return false;
    }
    let partition = code.get(code.len() - 3..code.len() - 1);
    if !matches!(partition, Some("00" | "10")) {
        return false;
    }
    let check = code.bytes().rev().enumerate().fold(0u8, |check, (i, byte)| {
        let digit = (0..i % 8).fold(byte - b'0', |digit, _| STEP[usize::from(digit)]);
        PRODUCT[usize::from(check)][usize::from(digit)]
    });
    check == 0
}

fn is_icd10(code: &str) -> bool {
    let (category, rest) = code.split_once('.').unwrap_or((code, "0"));
    let letter = category.as_bytes().first().is_some_and(u8::is_ascii_uppercase);
    letter
        && category.get(1..).is_some_and(|rest| matches(rest, "#*"))
        && (1..=4).contains(&rest.len())
        && rest
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
        && rest.bytes().any(|byte| byte.is_ascii_digit())
}

fn is_icd9(code: &str) -> bool {
    let (category, rest) = code.split_once('.').unwrap_or((code, "0"));
    ["###", "V##", "E###"]
        .iter()
        .any(|shape| matches(category, shape))
        && (1..=2).contains(&rest.len())
        && is_digits(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(system: &str, code: &str) -> bool {
        fits(system, code, &LocalSystems::default())
    }

    #[test]
    fn a_code_passes_by_the_shape_of_its_system() {
        for (system, good, bad) in [
            ("http://loinc.org", "11488-4", "11488-5"),
            ("http://snomed.info/sct", "168537006", "168537007"),
            ("http://hl7.org/fhir/sid/icd-10-cm", "E11.9", "Okafor"),
            ("http://hl7.org/fhir/sid/icd-9-cm", "250.01", "2500100"),
            ("http://www.ama-assn.org/go/cpt", "99213", "9921300"),
            ("http://hl7.org/fhir/sid/ndc", "12345-678-90", "12345678901"),
            ("http://unitsofmeasure.org", "mmol/L", "Okafor"),
            ("http://terminology.hl7.org/CodeSystem/v2-0203", "MR", "Okafor"),
        ] {
            assert!(passes(system, good), "{good}");
            assert!(!passes(system, bad), "{bad}");
        }
    }

    #[test]
    fn a_local_system_passes_only_where_the_configuration_names_it() {
        let local = LocalSystems(Arc::from(["http://ward.example/codes".to_owned()]));
        assert!(!passes("http://ward.example/codes", "A1"));
        assert!(fits("http://ward.example/codes", "A1", &local));
        assert!(!fits("http://ward.example/codes", "Ngozi Okafor", &local));
    }
}
