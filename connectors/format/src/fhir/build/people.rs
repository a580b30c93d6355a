//! Handles elements that identify persons and their contact data.

use std::sync::Arc;

use lethe_core::KnownKind;

use super::{Builder, FieldError};
use crate::fhir::ids::{self, Target};
use crate::fhir::names;
use crate::fhir::node::{Field, Kept, Name, Node};
use crate::fhir::table::{ADDRESS, Form, IDENTIFIER, NAME_USE, Need, TELECOM, THING_ID, Who};
use crate::fhir::value::{Object, Value, object, objects, str_of, strings};

impl Who {
    pub(super) const fn known(self) -> Option<KnownKind> {
        match self {
            Self::Patient => Some(KnownKind::Patient),
            Self::Relative => Some(KnownKind::Relative),
            Self::Clinician => Some(KnownKind::Clinician),
            Self::Institution => Some(KnownKind::Organization),
            Self::Thing => None,
        }
    }

    /// Returns the label of their names; `None` if these are dropped.
    const fn label(self) -> Option<&'static str> {
        match self {
            Self::Patient | Self::Relative => Some("PATIENT"),
            Self::Clinician => Some("DOCTOR"),
            Self::Institution => Some("HOSPITAL"),
            Self::Thing => None,
        }
    }

    fn of(kind: &str) -> Self {
        match kind {
            "Patient" => Self::Patient,
            "RelatedPerson" => Self::Relative,
            "Practitioner" | "PractitionerRole" => Self::Clinician,
            "Organization" | "Location" | "HealthcareService" => Self::Institution,
            _ => Self::Thing,
        }
    }
}

impl Builder<'_> {
    /// Handles a reference, including the identifier and the name that it may have instead of a URL.
    pub(super) fn reference(&mut self, who: Who, reference: &Object<'_>) -> Result<Option<Node>, FieldError> {
        let address = str_of(reference, "reference").unwrap_or_default();
        let kind = match ids::target(address) {
            Some(Target::Typed(kind, _)) => Some(kind),
            Some(Target::Urn(id)) => self.index.kind_of_urn(id),
            _ => None,
        };
        let kind = kind.or_else(|| str_of(reference, "type").and_then(ids::kind));
        let who = kind.map_or(who, Who::of);
        let mut fields = Vec::new();
        let mut push = |name, node: Option<Node>, primitive| {
            if node.is_some() {
                fields.push(Field {
                    name,
                    node,
                    need: Need::Optional,
                    primitive,
                    list: false,
                });
            }
        };
        push("reference", self.target(address), true);
        let named = reference.get("type").filter(|kind| Form::Kind.fits(kind));
        push("type", named.and_then(Kept::of).map(Node::Kept), true);
        let identifier = reference.get("identifier");
        self.path.push("identifier");
        let identifier = identifier.map(|value| self.one(THING_ID, value)).transpose();
        self.path.pop();
        push("identifier", identifier?.flatten(), false);
        if reference.contains_key("display") && who.label().is_none() {
            self.removed_at("display", "display");
        }
        let display = str_of(reference, "display").and_then(|display| {
            self.know(who.known()?, display);
            Some(Node::Label(self.number(who.label()?, display)))
        });
        push("display", display, true);
        fields.shrink_to_fit();
        Ok((!fields.is_empty()).then_some(Node::Object(fields)))
    }

    /// Handles a business identifier by its type or its name space.
    pub(super) fn identifier(
        &mut self,
        label: &'static str,
        kind: KnownKind,
        identifier: &Object<'_>,
    ) -> Result<Option<Node>, FieldError> {
        let Some(value) = str_of(identifier, "value") else {
            return Ok(None);
        };
        let (label, kind) = identifier_kind(identifier).unwrap_or((label, kind));
        self.know(kind, value);
        let authority = str_of(identifier, "system").map(authority);
        let number = self.number_of(label, value, authority);
        self.siblings(IDENTIFIER, identifier, number)
    }

    /// Handles a telephone number, an e-mail address or similar.
    pub(super) fn telecom(&mut self, telecom: &Object<'_>) -> Result<Option<Node>, FieldError> {
        let Some(value) = str_of(telecom, "value") else {
            return Ok(None);
        };
        let (label, kind) = match str_of(telecom, "system") {
            Some("email") => ("EMAIL", KnownKind::Email),
            Some("url") => ("URL", KnownKind::Other),
            Some("fax") => ("FAX", KnownKind::Phone),
            _ if value.contains('@') => ("EMAIL", KnownKind::Email),
            _ => ("PHONE", KnownKind::Phone),
        };
        self.know(kind, value);
        let number = self.number(label, value);
        self.siblings(TELECOM, telecom, number)
    }

    /// Returns the kept elements and the value.
    fn siblings(
        &mut self,
        elements: &'static [crate::fhir::table::Element],
        object: &Object<'_>,
        number: usize,
    ) -> Result<Option<Node>, FieldError> {
        let value = Field {
            name: "value",
            node: Some(Node::Label(number)),
            // An identifier or a number is meaningless without its value.
            need: Need::Pivot,
            primitive: true,
            list: false,
        };
        self.object(elements, object, vec![value])
    }

    pub(super) fn name(&mut self, who: Who, name: &Object<'_>) -> Option<Node> {
        let (natural, shape) = names::read(name)?;
        for written in [Some(natural.as_str()), str_of(name, "text")]
            .into_iter()
            .flatten()
        {
            self.know(who.known()?, written);
        }
        let usage = name.get("use").filter(|usage| NAME_USE.fits(usage));
        Some(Node::Name(Box::new(Name {
            at: self.number(who.label()?, &natural),
            usage: usage.and_then(Kept::of),
            shape,
        })))
    }

    pub(super) fn address(&mut self, address: &Object<'_>) -> Result<Option<Node>, FieldError> {
        let parts = strings(address, "line").into_iter();
        let rest = ["city", "state", "postalCode"];
        let parts: Vec<&str> = parts
            .chain(rest.iter().filter_map(|name| str_of(address, name)))
            .collect();
        self.know(KnownKind::Address, &parts.join(", "));
        for whole in strings(address, "text") {
            self.know(KnownKind::Address, whole);
        }
        self.object(ADDRESS, address, Vec::new())
    }
}

/// Returns the authority of a system; an object identifier also in its bare form.
pub(in crate::fhir) fn authority(system: &str) -> Arc<str> {
    match system.strip_prefix("urn:oid:") {
        Some(oid) => format!("oid:{oid}\nsystem:{system}").into(),
        None => format!("system:{system}").into(),
    }
}

/// Returns the kind of an identifier by its type (HL7 table 0203) or its name space; `None` if neither
/// determines it.
pub(in crate::fhir) fn identifier_kind(identifier: &Object<'_>) -> Option<(&'static str, KnownKind)> {
    let kind = object(identifier, "type");
    let codes = kind.into_iter().flat_map(|kind| objects(kind, "coding"));
    let by_code = codes
        .filter_map(|coding| str_of(coding, "code"))
        .find_map(|code| {
            Some(match code {
                "MR" | "MRT" | "PI" | "PT" => ("MEDICALRECORD", KnownKind::MedicalRecord),
                "SS" | "SSN" | "NI" | "NNUSA" => ("SSN", KnownKind::SocialSecurity),
                "MA" | "MB" | "MC" | "MCN" | "HC" | "NH" | "SN" | "WC" | "PHC" => {
                    ("HEALTHPLAN", KnownKind::HealthPlan)
                }
                "AN" | "VN" => ("ACCOUNT", KnownKind::Account),
                "DL" | "PPN" | "LN" | "MD" | "NPI" | "DEA" | "DN" | "PRN" | "RN" => {
                    ("LICENSE", KnownKind::Other)
                }
                "UDI" | "SNO" => ("DEVICE", KnownKind::Other),
                _ => return None,
            })
        });
    let words = kind.and_then(|kind| str_of(kind, "text")).map(str::to_lowercase);
    let by_words = || {
        let words = words?;
        let is_record = ["mrn", "medical record number", "medical record"].contains(&words.trim());
        is_record.then_some(("MEDICALRECORD", KnownKind::MedicalRecord))
    };
    let by_system = || match identifier.get("system").and_then(Value::as_str)? {
        "http://hl7.org/fhir/sid/us-ssn" | "urn:oid:2.16.840.1.113883.4.1" => {
            Some(("SSN", KnownKind::SocialSecurity))
        }
        "http://hl7.org/fhir/sid/us-medicare" | "http://hl7.org/fhir/sid/us-mbi" => {
            Some(("HEALTHPLAN", KnownKind::HealthPlan))
        }
        "http://hl7.org/fhir/sid/us-npi" => Some(("LICENSE", KnownKind::Other)),
        _ => None,
    };
    by_code.or_else(by_words).or_else(by_system)
}
