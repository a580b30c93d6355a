//! Reads the metadata of a document.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock};

use lethe_core::{Known, KnownKind};

use super::times;

/// The metadata of a document.
#[derive(Debug, Default)]
pub(crate) struct Header {
    pub(super) id: Option<String>,
    pub(super) set_id: Option<String>,
    pub(super) version: Option<i64>,
    pub(super) replaces: bool,
    pub(super) code_name: Option<String>,
    pub(super) title: Option<String>,
    pub(super) effective: Option<String>,
    pub(super) patient_id: Option<String>,
    /// The assigner of the patient's id: the root of the id.
    pub(super) patient_authority: Option<Arc<str>>,
    pub(super) encounter_id: Option<String>,
    pub(super) author_id: Option<String>,
    /// Whether there is a body, even without text.
    pub(super) has_body: bool,
    pub(crate) text: String,
    pub(crate) known: Vec<Known>,
    seen: HashSet<(KnownKind, String)>,
}

/// The root of social security numbers.
const SOCIAL_SECURITY: &str = "2.16.840.1.113883.4.1";

/// The local names of the elements from the root on; irrelevant ones are empty.
pub(super) type Path = [&'static str];

/// All relevant elements.
const NAMES: [&str; 35] = [
    "ClinicalDocument",
    "id",
    "setId",
    "versionNumber",
    "code",
    "title",
    "effectiveTime",
    "relatedDocument",
    "patientRole",
    "patient",
    "name",
    "birthTime",
    "guardianPerson",
    "addr",
    "telecom",
    "assignedAuthor",
    "assignedPerson",
    "relatedPerson",
    "associatedPerson",
    "informationRecipient",
    "encompassingEncounter",
    "location",
    "place",
    "structuredBody",
    "nonXMLBody",
    "section",
    "text",
    "given",
    "family",
    "suffix",
    "prefix",
    "streetAddressLine",
    "city",
    "state",
    "postalCode",
];

/// Returns the element's name if it is relevant.
pub(super) fn interned(local: &[u8]) -> &'static str {
    static KNOWN: LazyLock<HashMap<&[u8], &str>> =
        LazyLock::new(|| NAMES.iter().map(|name| (name.as_bytes(), *name)).collect());
    let known = KNOWN.get(local).copied();
    // A dozen elements of organizations have this suffix.
    known.unwrap_or(if local.ends_with(b"Organization") {
        "Organization"
    } else {
        ""
    })
}

impl Header {
    pub(super) fn know(&mut self, kind: KnownKind, value: &str) {
        let value = value.trim();
        if !value.is_empty() && self.seen.insert((kind, value.to_owned())) {
            self.known.push(Known {
                kind,
                value: value.into(),
            });
        }
    }

    /// Handles an empty element with its attributes, which `get` returns.
    pub(super) fn attributes(&mut self, path: &Path, get: impl Fn(&str) -> Option<String>) {
        let Some((&name, above)) = path.split_last() else {
            return;
        };
        let parent = above.last().copied().unwrap_or_default();
        let in_header = || !path.contains(&"structuredBody");
        match name {
            "id" | "setId" => self.identifier(name, parent, path, get("@root"), get("@extension")),
            "versionNumber" if above.len() == 1 => {
                self.version = get("@value").and_then(|value| value.parse().ok())
            }
            "code" if above.len() == 1 => {
                self.code_name = get("@displayName").filter(|name| !name.trim().is_empty())
            }
            "effectiveTime" if above.len() == 1 => self.effective = get("@value"),
            "relatedDocument" => {
                self.replaces |= matches!(get("@typeCode").as_deref(), Some("RPLC" | "APND"));
            }
            "birthTime" if parent == "patient" => {
                if let Some(date) = get("@value").as_deref().and_then(times::iso_date) {
                    self.know(KnownKind::BirthDate, &date);
                }
            }
            "telecom" if in_header() => self.telecom(&get("@value").unwrap_or_default()),
            _ => {}
        }
    }

    fn identifier(
        &mut self,
        name: &str,
        parent: &str,
        path: &Path,
        root: Option<String>,
        extension: Option<String>,
    ) {
        let social = root.as_deref() == Some(SOCIAL_SECURITY);
        let some = |value: &&str| !value.trim().is_empty();
        let (root, extension) = (root.as_deref(), extension.as_deref().filter(some));
        // A root alone is the whole id.
        let value = extension.or(root.filter(some));
        let first = |place: &mut Option<String>| {
            if place.is_none() {
                *place = value.map(str::to_owned);
            }
        };
        match (name, parent) {
            ("setId", "ClinicalDocument") => first(&mut self.set_id),
            ("id", "ClinicalDocument") => first(&mut self.id),
            ("id", "patientRole") if !social && self.patient_id.is_none() => {
                let authority = root.filter(|_| extension.is_some());
                self.patient_authority = authority.map(|root| format!("oid:{}", root.trim()).into());
                first(&mut self.patient_id);
            }
            ("id", "encompassingEncounter") => first(&mut self.encounter_id),
            ("id", "assignedAuthor") => first(&mut self.author_id),
            _ => {}
        }
        let kind = match parent {
            _ if name == "setId" || path.contains(&"structuredBody") => return,
            _ if social => KnownKind::SocialSecurity,
            "patientRole" => KnownKind::MedicalRecord,
            "encompassingEncounter" => KnownKind::Account,
            "Organization" => return,
            _ => KnownKind::Other,
        };
        if let Some(extension) = extension {
            self.know(kind, extension);
        }
    }

    fn telecom(&mut self, value: &str) {
        let (scheme, rest) = value.split_once(':').unwrap_or(("tel", value));
        match scheme {
            "mailto" => self.know(KnownKind::Email, rest),
            "tel" | "fax" => self.know(KnownKind::Phone, rest),
            _ => self.know(KnownKind::Other, value),
        }
    }

    /// Handles a complete `name` element.
    pub(super) fn name(&mut self, path: &Path, name: &str) {
        let parent = path.iter().rev().nth(1).copied().unwrap_or_default();
        let kind = match parent {
            "patient" => KnownKind::Patient,
            "guardianPerson" | "relatedPerson" => KnownKind::Relative,
            // Participants include next of kin and emergency contacts.
            "associatedPerson" => KnownKind::Relative,
            "assignedPerson" | "informationRecipient" => KnownKind::Clinician,
            "Organization" | "location" | "place" => KnownKind::Organization,
            _ => return,
        };
        self.know(kind, name);
    }
}
