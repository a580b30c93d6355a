//! Decides which codes are kept: those of an HL7 table, those with the shape of a published code system, and
//! those that the configuration adds. Any other value in a coded field could be a name or a number, since
//! interfaces shift and reuse fields.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, LazyLock};

use crate::fhir::codes::{LocalSystems, fits};
use crate::fhir::ucum;

static TABLES: LazyLock<HashMap<&'static str, HashSet<&'static str>>> = LazyLock::new(|| {
    let lines = include_str!("tables.tsv").lines();
    lines
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once('\t'))
        .map(|(table, codes)| (table, codes.split(' ').collect()))
        .collect()
});

/// Returns whether HL7's own table has the code.
pub(crate) fn is_in_table(table: &str, code: &str) -> bool {
    TABLES.get(table).is_some_and(|codes| codes.contains(code))
}

/// Names of code systems in CE.3 and CWE.3 (table 0396), with the URIs of their shapes.
const SYSTEMS: [(&str, &str); 22] = [
    ("LN", "http://loinc.org"),
    ("LOINC", "http://loinc.org"),
    ("SCT", "http://snomed.info/sct"),
    ("SNM", "http://snomed.info/sct"),
    ("SNOMED", "http://snomed.info/sct"),
    ("SNOMED-CT", "http://snomed.info/sct"),
    ("I10", "http://hl7.org/fhir/sid/icd-10"),
    ("ICD10", "http://hl7.org/fhir/sid/icd-10"),
    ("ICD-10", "http://hl7.org/fhir/sid/icd-10"),
    ("I10C", "http://hl7.org/fhir/sid/icd-10-cm"),
    ("ICD10CM", "http://hl7.org/fhir/sid/icd-10-cm"),
    ("I9", "http://hl7.org/fhir/sid/icd-9-cm"),
    ("I9C", "http://hl7.org/fhir/sid/icd-9-cm"),
    ("ICD9", "http://hl7.org/fhir/sid/icd-9-cm"),
    ("C4", "http://www.ama-assn.org/go/cpt"),
    ("CPT", "http://www.ama-assn.org/go/cpt"),
    ("CPT4", "http://www.ama-assn.org/go/cpt"),
    ("RXNORM", "http://www.nlm.nih.gov/research/umls/rxnorm"),
    ("CVX", "http://hl7.org/fhir/sid/cvx"),
    ("NDC", "http://hl7.org/fhir/sid/ndc"),
    ("UCUM", "http://unitsofmeasure.org"),
    ("ISO+", "http://unitsofmeasure.org"),
];

/// Codes that the configuration adds, by HL7 table (`0069`) or by code system (`99LOCAL`).
#[derive(Clone, Debug, Default)]
pub(super) struct Codes(Arc<BTreeMap<String, HashSet<String>>>);

impl Codes {
    pub(super) fn new(added: &BTreeMap<String, Vec<String>>) -> Self {
        let of = |(name, codes): (&String, &Vec<String>)| (name.clone(), codes.iter().cloned().collect());
        Self(Arc::new(added.iter().map(of).collect()))
    }

    fn added(&self, name: &str, code: &str) -> bool {
        self.0.get(name).is_some_and(|codes| codes.contains(code))
    }

    /// Returns whether the table has the code.
    pub(super) fn in_table(&self, table: &str, code: &str) -> bool {
        is_in_table(table, code) || self.added(table, code)
    }

    /// Returns whether the code has the shape of its system, or is in its table.
    pub(super) fn in_system(&self, system: &str, code: &str) -> bool {
        let known = SYSTEMS.iter().find(|(name, _)| *name == system);
        known.is_some_and(|(_, uri)| fits(uri, code, &LocalSystems::default()))
            || system
                .strip_prefix("HL7")
                .is_some_and(|table| self.in_table(table, code))
            || self.added(system, code)
    }

    /// Returns whether a code system's name is kept.
    pub(super) fn is_system(&self, system: &str) -> bool {
        SYSTEMS.iter().any(|(name, _)| *name == system)
            || system
                .strip_prefix("HL7")
                .is_some_and(|table| TABLES.contains_key(table))
            || self.0.contains_key(system)
    }
}

/// Returns whether it is a UCUM unit.
pub(super) fn is_unit(text: &str) -> bool {
    ucum::is_unit(text)
}

/// Returns whether it is a reference range: two ascending numbers, or one with a comparator. `3.5-5.0`, `<5`,
/// `>= 10`.
///
/// A single number could be a ZIP code or a record number, and two with a hyphen a telephone number, a month
/// or years; these are refused.
pub(super) fn is_range(text: &str) -> bool {
    let text = text.trim();
    let number = text.trim_start_matches(['<', '>', '=']);
    if number.len() < text.len() {
        return is_amount(number.trim());
    }
    // The first character may be a sign.
    let mut inner = text.char_indices().skip(1);
    let Some((at, _)) = inner.find(|(_, c)| *c == '-') else {
        return false;
    };
    let (Some(low), Some(high)) = (text.get(..at), text.get(at + 1..)) else {
        return false;
    };
    let (low, high) = (low.trim(), high.trim());
    let (Ok(from), Ok(to)) = (low.parse::<f64>(), high.parse::<f64>()) else {
        return false;
    };
    is_amount(low) && is_amount(high) && from < to && !is_other_numbers(low, high)
}

/// Returns whether two numbers with a hyphen may be something else: a telephone number, or a month or year
/// and a year.
fn is_other_numbers(low: &str, high: &str) -> bool {
    let digits = |text: &str| {
        let all = text.bytes().filter(u8::is_ascii_digit);
        all.skip_while(|digit| *digit == b'0').count()
    };
    let is_year = |text: &str| text.len() == 4 && (text.starts_with("19") || text.starts_with("20"));
    let telephone = digits(low) == 3 && digits(high) == 4 && !low.contains('.') && !high.contains('.');
    telephone || is_year(high) || digits(low).max(digits(high)) > 5 || digits(low) + digits(high) > 9
}

/// Returns whether it is a decimal number with at most five digits before and four after the point, and six
/// in all: an amount, too short for a record number. Numbers with leading zeros are codes or dates.
pub(crate) fn is_amount(text: &str) -> bool {
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |part: &str, most: usize| {
        (1..=most).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    let padded = whole.len() > 1 && whole.starts_with('0');
    digits(whole, 5) && digits(fraction, 4) && !padded && (text.len() <= 7 || whole == "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_passes_by_its_table_its_system_or_the_configuration_alone() {
        let codes = Codes::default();
        assert!(codes.in_table("0001", "F") && !codes.in_table("0001", "Voss"));
        assert!(codes.in_system("LN", "11488-4") && !codes.in_system("LN", "5550142"));
        assert!(codes.in_system("HL70063", "SIB") && !codes.in_system("L", "SIB"));
        let added = BTreeMap::from([
            ("0069".to_owned(), vec!["ORTHO".to_owned()]),
            ("99WARD".to_owned(), vec!["W1".to_owned()]),
        ]);
        let codes = Codes::new(&added);
        assert!(codes.in_table("0069", "ORTHO") && codes.in_system("99WARD", "W1"));
        assert!(!codes.in_system("99WARD", "Voss") && codes.is_system("99WARD"));
    }

    #[test]
    fn a_range_is_of_short_numbers() {
        for good in [
            "3.5-5.0",
            "<5",
            ">= 10",
            "0 - 99.9",
            "-2 - 2",
            "-2.0-2.0",
            "135-145",
            "200-1100.5",
            "0.001-0.005",
            "7-20",
            "4000-11000",
        ] {
            assert!(is_range(good), "{good}");
        }
        for bad in [
            "555-0142",
            "555-1042",
            "555 - 1042",
            "617.555-0142",
            "617.555-1042",
            "617-5551042",
            "5550142",
            "02139",
            "90210",
            "<02139",
            "02139-1234",
            "90210-1234",
            "12345-67890",
            "219-09-8734",
            "07-14",
            "14-7",
            "7-1958",
            "1958-1999",
            "Voss",
            "",
            "-",
            "-5",
            "19580714-19590714",
            "a-b",
            "inf-nan",
            "1e2-1e3",
        ] {
            assert!(!is_range(bad), "{bad}");
        }
    }

    #[test]
    fn every_table_has_a_number_and_no_code_twice() {
        for line in include_str!("tables.tsv")
            .lines()
            .filter(|line| !line.starts_with('#'))
        {
            let (table, codes) = line.split_once('\t').unwrap();
            assert!(
                table.len() == 4 && table.bytes().all(|byte| byte.is_ascii_digit()),
                "{table}"
            );
            let all: Vec<&str> = codes.split(' ').collect();
            let unique: HashSet<&str> = all.iter().copied().collect();
            assert_eq!(all.len(), unique.len(), "{table}");
        }
    }
}
