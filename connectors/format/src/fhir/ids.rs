//! Replaces logical ids and references to them.
//!
//! An id in a message may be a record number, and a server's URL names a hospital. So each id is replaced
//! consistently, and URLs become ones under a reserved domain (RFC 2606, section 2).

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// The target of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target<'a> {
    /// `Patient/17`, or a URL that ends in this way.
    Typed(&'static str, &'a str),
    /// `#p1`: a contained resource.
    Contained(&'a str),
    /// The part after `urn:uuid:` or `urn:oid:`.
    Urn(&'a str),
}

/// Maximum length of an id (FHIR R4, section 2.24.0.1).
const MAX_ID: usize = 64;
/// The base URL of returned resources.
pub(super) const NOWHERE: &str = "https://example.invalid/";

/// Types of resources that references may lead to. Any other name could be anything.
const KINDS: [&str; 52] = [
    "Account",
    "AllergyIntolerance",
    "Appointment",
    "Binary",
    "Bundle",
    "CarePlan",
    "CareTeam",
    "Claim",
    "ClinicalImpression",
    "Communication",
    "Composition",
    "Condition",
    "Consent",
    "Coverage",
    "Device",
    "DeviceRequest",
    "DiagnosticReport",
    "DocumentReference",
    "Encounter",
    "Endpoint",
    "EpisodeOfCare",
    "FamilyMemberHistory",
    "Flag",
    "Goal",
    "Group",
    "HealthcareService",
    "ImagingStudy",
    "Immunization",
    "ImmunizationRecommendation",
    "List",
    "Location",
    "Media",
    "Medication",
    "MedicationAdministration",
    "MedicationDispense",
    "MedicationRequest",
    "MedicationStatement",
    "MessageHeader",
    "MolecularSequence",
    "NutritionOrder",
    "Observation",
    "Organization",
    "Patient",
    "Practitioner",
    "PractitionerRole",
    "Procedure",
    "Provenance",
    "QuestionnaireResponse",
    "RelatedPerson",
    "RiskAssessment",
    "ServiceRequest",
    "Specimen",
];

/// Returns the type with that name.
pub(super) fn kind(name: &str) -> Option<&'static str> {
    KINDS
        .iter()
        .find(|&&kind| kind == name)
        .copied()
        .or_else(|| super::table::resource(name))
}

/// Returns whether it is one of HL7's own URIs: a profile of a base resource, or a known naming system.
pub(super) fn is_own_uri(uri: &str) -> bool {
    if let Some(name) = uri.strip_prefix("http://hl7.org/fhir/StructureDefinition/") {
        return kind(name).is_some();
    }
    matches!(
        uri.strip_prefix("http://hl7.org/fhir/sid/"),
        Some("us-ssn" | "us-npi" | "us-medicare" | "us-mbi")
    )
}

/// Returns the target of a reference; `None` for a search, and for anything else that is not a reference to
/// one resource.
pub(super) fn target(reference: &str) -> Option<Target<'_>> {
    if let Some(id) = reference.strip_prefix('#') {
        return (!id.is_empty()).then_some(Target::Contained(id));
    }
    for scheme in ["urn:uuid:", "urn:oid:"] {
        if let Some(id) = reference.strip_prefix(scheme) {
            return (!id.is_empty()).then_some(Target::Urn(id));
        }
    }
    if reference.contains(['?', '#']) {
        return None;
    }
    let unversioned = reference.split("/_history/").next()?;
    let mut parts = unversioned.rsplit('/');
    let id = parts.next().filter(|id| !id.is_empty())?;
    Some(Target::Typed(kind(parts.next()?)?, id))
}

/// Returns the target of `kind`, a slash and `id`: the resource with that type and id, unless the id is a URL
/// itself.
pub(super) fn within<'a>(kind: &'static str, id: &'a str) -> Option<Target<'a>> {
    if id.contains(['?', '#']) {
        return None;
    }
    let mut parts = id.split("/_history/").next()?.rsplit('/');
    let last = parts.next().filter(|id| !id.is_empty())?;
    match parts.next() {
        Some(before) => Some(Target::Typed(self::kind(before)?, last)),
        None => Some(Target::Typed(kind, last)),
    }
}

/// Returns the written forms of ids for these replacements: valid as ids and distinct.
pub(super) fn write<'a>(replacements: impl Iterator<Item = &'a str>) -> Vec<Rc<str>> {
    let mut taken: HashSet<Rc<str>> = HashSet::new();
    let mut next: HashMap<String, usize> = HashMap::new();
    let mut written = Vec::new();
    for replacement in replacements {
        let allowed = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
        let mut base: String = replacement.chars().filter(allowed).take(MAX_ID).collect();
        if base.is_empty() {
            base.push_str("id");
        }
        let mut id: Rc<str> = base.as_str().into();
        while !taken.insert(Rc::clone(&id)) {
            let number = next.entry(base.clone()).or_insert(2);
            let suffix = format!("-{number}");
            *number += 1;
            let kept: String = base.chars().take(MAX_ID - suffix.len()).collect();
            id = (kept + &suffix).into();
        }
        written.push(id);
    }
    written
}

/// Returns the id as a URN: itself if it is a UUID, otherwise a UUID for the message's `number`th id.
pub(super) fn urn(id: &str, number: usize) -> String {
    let is_uuid = id.len() == 36
        && id.bytes().enumerate().all(|(i, byte)| match i {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        });
    if is_uuid {
        format!("urn:uuid:{}", id.to_ascii_lowercase())
    } else {
        format!("urn:uuid:00000000-0000-4000-8000-{number:012x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_read_in_all_their_forms() {
        use Target::{Contained, Typed, Urn};
        for (reference, is) in [
            ("Patient/17", Some(Typed("Patient", "17"))),
            (
                "https://ehr.example/fhir/Patient/17/_history/3",
                Some(Typed("Patient", "17")),
            ),
            ("#p1", Some(Contained("p1"))),
            ("urn:uuid:0c0f", Some(Urn("0c0f"))),
            ("urn:oid:1.2.3", Some(Urn("1.2.3"))),
            ("Patient?identifier=sys|17", None),
            ("Okafor/17", None),
            ("Patient/", None),
            ("#", None),
            ("", None),
        ] {
            assert_eq!(target(reference), is, "{reference}");
        }
    }

    #[test]
    fn an_id_is_what_it_is_behind_its_type() {
        for id in [
            "17",
            "17/_history/3",
            "Patient/9",
            "Okafor/9",
            "a/b/",
            "/9",
            "/_history/3",
            "9?a",
            "9#a",
            "#",
            "urn:uuid:1",
            "urn:uuid:1/2",
        ] {
            assert_eq!(within("Device", id), target(&format!("Device/{id}")), "{id}");
        }
    }

    #[test]
    fn replaced_ids_are_valid_and_distinct() {
        let long = "x".repeat(80);
        let ids = write(["[IDNUM]", "[IDNUM]", "IDNUM-2", "a_b/1", "[]", "", &long, &long].into_iter());
        let ids: Vec<&str> = ids.iter().map(|id| &**id).collect();
        assert_eq!(ids[..6], ["IDNUM", "IDNUM-2", "IDNUM-2-2", "ab1", "id", "id-2"]);
        assert!(ids.iter().all(|id| id.len() <= MAX_ID));
        assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len());
    }

    #[test]
    fn a_urn_holds_a_uuid() {
        assert_eq!(
            urn("6C0F1D6E-9a1b-4c3d-8e2f-0a1b2c3d4e5f", 1),
            "urn:uuid:6c0f1d6e-9a1b-4c3d-8e2f-0a1b2c3d4e5f"
        );
        assert_eq!(
            urn("IDNUM-2", 26),
            "urn:uuid:00000000-0000-4000-8000-00000000001a"
        );
    }
}
