//! Names of the kinds of identifiers that are known beforehand.

use lethe::Known;
use pyo3::PyResult;

use crate::errors;

/// Each kind, by its name in Python.
pub(crate) const KINDS: &[(&str, Known)] = &[
    ("patient", Known::Patient),
    ("relative", Known::Relative),
    ("clinician", Known::Clinician),
    ("medical_record", Known::MedicalRecord),
    ("birth_date", Known::BirthDate),
    ("phone", Known::Phone),
    ("address", Known::Address),
    ("email", Known::Email),
    ("social_security", Known::SocialSecurity),
    ("health_plan", Known::HealthPlan),
    ("account", Known::Account),
    ("organization", Known::Organization),
    ("other", Known::Other),
];

/// Returns the kind of this name.
///
/// # Errors
/// `ValueError` without the name, which may be a value that was put in the kind's place.
pub(crate) fn kind(name: &str) -> PyResult<Known> {
    let found = KINDS.iter().find(|(known, _)| *known == name);
    found.map(|(_, kind)| *kind).ok_or_else(|| {
        let names: Vec<&str> = KINDS.iter().map(|(name, _)| *name).collect();
        errors::value(format!(
            "a key of `known` is not a kind of identifier; the kinds are {}",
            names.join(", ")
        ))
    })
}
