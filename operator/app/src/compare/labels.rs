//! Which label or category of Lethe's another tool's label stands for.

use std::collections::BTreeMap;

use lethe_core::LabelSet;
use serde::Serialize;

use crate::exit::usage;

/// Labels of other tools, in capitals, by the i2b2-2014 label that stands for them. A tool that does not tell
/// patients from doctors, or cities from streets, is compared by category, so that one label of a category suffices.
const KNOWN: [(&str, &[&str]); 21] = [
    (
        "PATIENT",
        &[
            "NAME",
            "PERSON",
            "PER",
            "PATIENT_NAME",
            "FIRST_NAME",
            "LAST_NAME",
            "STAFF",
            "NOMBRE",
        ],
    ),
    ("DOCTOR", &["PROVIDER_NAME", "HCW"]),
    ("USERNAME", &["USER_NAME"]),
    ("PROFESSION", &["OCCUPATION"]),
    ("HOSPITAL", &["HOSP", "VENDOR"]),
    ("ORGANIZATION", &["ORG", "ORGANISATION"]),
    ("STREET", &["ADDRESS", "STREET_ADDRESS"]),
    ("LOCATION-OTHER", &["LOC", "GPE", "LOCATION_OTHER"]),
    ("ZIP", &["ZIP_CODE", "ZIPCODE", "POSTAL_CODE"]),
    ("DATE", &["DATE_TIME", "TIME", "DOB", "DATE_OF_BIRTH"]),
    ("PHONE", &["PHONE_NUMBER", "PHONE_OR_FAX", "TELEPHONE", "CONTACT"]),
    ("FAX", &["FAX_NUMBER"]),
    ("EMAIL", &["EMAIL_ADDRESS"]),
    ("IPADDR", &["IP_ADDRESS", "IP", "MAC_ADDRESS"]),
    ("URL", &["DOMAIN_NAME", "WEBSITE"]),
    ("SSN", &["US_SSN", "US_ITIN", "UK_NINO"]),
    (
        "MEDICALRECORD",
        &["MRN", "MEDICAL_RECORD_NUMBER", "MEDICAL_RECORD", "UK_NHS"],
    ),
    (
        "ACCOUNT",
        &[
            "CREDIT_CARD",
            "IBAN_CODE",
            "US_BANK_NUMBER",
            "BANK_ACCOUNT_NUMBER",
            "CREDIT_DEBIT_NUMBER",
            "ACCOUNT_NUMBER",
        ],
    ),
    ("LICENSE", &["US_DRIVER_LICENSE", "MEDICAL_LICENSE", "DRIVER_ID"]),
    ("VEHICLE", &["LICENSE_PLATE", "VEHICLE_IDENTIFICATION_NUMBER"]),
    (
        "IDNUM",
        &["ID", "ID_NUMBER", "US_PASSPORT", "PASSPORT_NUMBER", "IDENTIFIER"],
    ),
];

/// How a label was mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum By {
    /// With --map.
    Option,
    /// Lethe has a label or a category of this name.
    Name,
    /// By the table of this program.
    Table,
    /// It stands for nothing of Lethe's, and is a category of its own.
    Nothing,
    /// With --map to nothing: its spans are left out.
    Dropped,
}

/// A label of the other tool.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Mapped {
    pub(super) label: String,
    /// The category of Lethe's under which it is compared.
    pub(super) category: String,
    pub(super) by: By,
    pub(super) spans: u64,
}

/// Maps the other tool's labels to categories of the engine's label set.
pub(crate) struct Labels<'a> {
    set: &'a LabelSet,
    chosen: BTreeMap<&'a str, Option<String>>,
    seen: BTreeMap<String, Mapped>,
}

impl<'a> Labels<'a> {
    /// # Errors
    /// A usage error if a label is mapped to what Lethe does not have.
    pub(crate) fn new(set: &'a LabelSet, map: &'a [(String, String)]) -> anyhow::Result<Self> {
        let mut chosen = BTreeMap::new();
        for (theirs, ours) in map {
            let category = match ours.as_str() {
                "" => None,
                ours => Some(category_of(set, ours).ok_or_else(|| {
                    usage(format!(
                        "--map {theirs}={ours}: label set `{}` has no label or category `{ours}`{}",
                        set.id(),
                        set.did_you_mean(ours)
                    ))
                })?),
            };
            chosen.insert(theirs.as_str(), category);
        }
        Ok(Self {
            set,
            chosen,
            seen: BTreeMap::new(),
        })
    }

    /// Returns the category of a span with this label, and counts it; `None` to leave it out.
    pub(super) fn category(&mut self, label: &str) -> Option<String> {
        if !self.seen.contains_key(label) {
            let (category, by) = self.map(label);
            let mapped = Mapped {
                label: label.to_owned(),
                category,
                by,
                spans: 0,
            };
            self.seen.insert(label.to_owned(), mapped);
        }
        let mapped = self.seen.get_mut(label)?;
        mapped.spans += 1;
        (mapped.by != By::Dropped).then(|| mapped.category.clone())
    }

    fn map(&self, label: &str) -> (String, By) {
        match self.chosen.get(label) {
            Some(Some(category)) => return (category.clone(), By::Option),
            Some(None) => return (String::new(), By::Dropped),
            None => {}
        }
        if let Some(category) = category_of(self.set, label) {
            return (category, By::Name);
        }
        let name = label.to_uppercase().replace([' ', '-'], "_");
        let known = KNOWN.iter().find(|(_, names)| names.contains(&name.as_str()));
        let ours = known.and_then(|(i2b2, _)| self.set.resolve(i2b2).ok());
        match ours {
            Some(id) => (self.set.label(id).category.clone(), By::Table),
            None => (label.to_owned(), By::Nothing),
        }
    }

    /// Returns the labels that were met.
    pub(super) fn into_seen(self) -> Vec<Mapped> {
        self.seen.into_values().collect()
    }
}

/// Returns the category of a label of the set or of an i2b2-2014 label that one stands for, or the category of this
/// name, whatever their case.
fn category_of(set: &LabelSet, name: &str) -> Option<String> {
    let same = |other: &str| other.eq_ignore_ascii_case(name);
    let labels = set.labels();
    let by_label = labels
        .iter()
        .find(|label| same(&label.name) || label.equivalent.iter().any(|other| same(other)));
    by_label
        .or_else(|| labels.iter().find(|label| same(&label.category)))
        .map(|label| label.category.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_mapped_by_option_then_by_name_then_by_the_table() {
        let set = LabelSet::i2b2_2014();
        let map = [
            ("ORGANIZATION".to_owned(), "NAME".to_owned()),
            ("NRP".to_owned(), String::new()),
        ];
        let mut labels = Labels::new(&set, &map).unwrap();
        for (theirs, category, by) in [
            ("ORGANIZATION", "NAME", By::Option),
            ("NRP", "", By::Dropped),
            ("Date", "DATE", By::Name),
            ("CONTACT", "CONTACT", By::Name),
            ("PERSON", "NAME", By::Table),
            ("Phone-or-fax", "CONTACT", By::Table),
            ("CRYPTO", "CRYPTO", By::Nothing),
        ] {
            let found = labels.category(theirs);
            assert_eq!(found.as_deref().unwrap_or_default(), category);
            assert_eq!(labels.seen[theirs].by, by, "{theirs}");
        }
    }

    #[test]
    fn every_label_of_the_table_has_a_place_in_each_label_set() {
        for set in LabelSet::built_in() {
            for (ours, _) in KNOWN {
                assert!(set.resolve(ours).is_ok(), "{ours}");
            }
        }
    }

    #[test]
    fn a_label_that_lethe_has_not_is_refused() {
        let map = [("PERSON".to_owned(), "PATEINT".to_owned())];
        let error = Labels::new(&LabelSet::i2b2_2014(), &map)
            .err()
            .unwrap()
            .to_string();
        assert_eq!(
            error,
            "--map PERSON=PATEINT: label set `i2b2-2014` has no label or category `PATEINT`; did you mean `PATIENT`?"
        );
    }
}
