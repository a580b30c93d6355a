//! The entity names of Presidio for labels: what `lethe serve` and the recogniser of the Python package return.

use crate::{Hipaa, Label};

/// Labels of i2b2-2014, and their entities. `docs/serve.md` shows the same table.
pub const PRESIDIO_ENTITIES: &[(&str, &str)] = &[
    ("PATIENT", "PERSON"),
    ("DOCTOR", "PERSON"),
    ("PROFESSION", "PROFESSION"),
    ("HOSPITAL", "ORGANIZATION"),
    ("DEPARTMENT", "ORGANIZATION"),
    ("ORGANIZATION", "ORGANIZATION"),
    ("ROOM", "LOCATION"),
    ("STREET", "LOCATION"),
    ("CITY", "LOCATION"),
    ("STATE", "LOCATION"),
    ("COUNTRY", "LOCATION"),
    ("ZIP", "LOCATION"),
    ("LOCATION-OTHER", "LOCATION"),
    ("AGE", "AGE"),
    ("DATE", "DATE_TIME"),
    ("PHONE", "PHONE_NUMBER"),
    ("FAX", "PHONE_NUMBER"),
    ("EMAIL", "EMAIL_ADDRESS"),
    ("URL", "URL"),
    ("IPADDR", "IP_ADDRESS"),
    ("SSN", "US_SSN"),
    ("LICENSE", "MEDICAL_LICENSE"),
    ("USERNAME", "ID"),
    ("MEDICALRECORD", "ID"),
    ("HEALTHPLAN", "ID"),
    ("ACCOUNT", "ID"),
    ("VEHICLE", "ID"),
    ("DEVICE", "ID"),
    ("BIOID", "ID"),
    ("IDNUM", "ID"),
];

/// Returns the entity of a label: by its name, by the label of i2b2-2014 that it stands for, or by its HIPAA
/// identifier.
///
/// ```
/// use lethe_core::{LabelSet, presidio_entity};
///
/// let labels = LabelSet::meddocan();
/// let label = labels.by_name("CORREO_ELECTRONICO").map(|id| labels.label(id));
/// assert_eq!(label.map(presidio_entity), Some("EMAIL_ADDRESS"));
/// ```
pub fn presidio_entity(label: &Label) -> &'static str {
    let names = label.equivalent.iter().chain([&label.name]);
    let mut found = names.filter_map(|name| PRESIDIO_ENTITIES.iter().find(|(own, _)| own == name));
    found
        .next()
        .map_or_else(|| by_identifier(label.hipaa), |(_, entity)| entity)
}

const fn by_identifier(identifier: Hipaa) -> &'static str {
    match identifier {
        Hipaa::Names => "PERSON",
        Hipaa::Geographic => "LOCATION",
        Hipaa::Dates => "DATE_TIME",
        Hipaa::Telephone | Hipaa::Fax => "PHONE_NUMBER",
        Hipaa::Email => "EMAIL_ADDRESS",
        Hipaa::SocialSecurity => "US_SSN",
        Hipaa::License => "MEDICAL_LICENSE",
        Hipaa::Url => "URL",
        Hipaa::IpAddress => "IP_ADDRESS",
        // Presidio's nationality, religious or political group.
        Hipaa::Unlisted => "NRP",
        _ => "ID",
    }
}
