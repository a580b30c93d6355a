//! The resources of persons and places.

use lethe_core::KnownKind;

use super::resources::LANGUAGE;
use super::types::{
    BOOL, CLINICIAN_REF, CODES, CODING, GENDER, META, NUMBER, PATIENT_REF, PERIOD, PLACE_REF, REF, THING_ID,
    one_of,
};
use super::{Element, Rule, Who, el, must};

const CLINICIAN_ID: Rule = Rule::Identifier("LICENSE", KnownKind::Other);

pub(super) static PATIENT: &[Element] = &[
    el("id", Rule::Id),
    el("meta", META),
    LANGUAGE,
    el("identifier", THING_ID),
    el("active", BOOL),
    el("name", Rule::Name(Who::Patient)),
    el("telecom", Rule::Telecom),
    el("gender", GENDER),
    el("birthDate", Rule::BirthDate(Who::Patient)),
    el("deceasedBoolean", BOOL),
    el("deceasedDateTime", Rule::Date),
    el("address", Rule::Address),
    el("maritalStatus", CODES),
    el(
        "contact",
        Rule::Object(&[
            el("relationship", CODES),
            el("name", Rule::Name(Who::Relative)),
            el("telecom", Rule::Telecom),
            el("address", Rule::Address),
            el("gender", GENDER),
            el("organization", PLACE_REF),
            el("period", PERIOD),
        ]),
    ),
    el(
        "communication",
        Rule::Object(&[must("language", CODES), el("preferred", BOOL)]),
    ),
    el("generalPractitioner", CLINICIAN_REF),
    el("managingOrganization", PLACE_REF),
    el(
        "link",
        Rule::Object(&[
            must("other", PATIENT_REF),
            must("type", one_of("replaced-by replaces refer seealso")),
        ]),
    ),
];

pub(super) static RELATED_PERSON: &[Element] = &[
    el("id", Rule::Id),
    el("meta", META),
    LANGUAGE,
    el("identifier", THING_ID),
    el("active", BOOL),
    must("patient", PATIENT_REF),
    el("relationship", CODES),
    el("name", Rule::Name(Who::Relative)),
    el("telecom", Rule::Telecom),
    el("gender", GENDER),
    el("birthDate", Rule::BirthDate(Who::Relative)),
    el("address", Rule::Address),
    el("period", PERIOD),
];

pub(super) static PRACTITIONER: &[Element] = &[
    el("id", Rule::Id),
    el("meta", META),
    LANGUAGE,
    el("identifier", CLINICIAN_ID),
    el("active", BOOL),
    el("name", Rule::Name(Who::Clinician)),
    el("telecom", Rule::Telecom),
    el("address", Rule::Address),
    el("gender", GENDER),
    el(
        "qualification",
        Rule::Object(&[el("identifier", CLINICIAN_ID), must("code", CODES)]),
    ),
];

pub(super) static PRACTITIONER_ROLE: &[Element] = &[
    el("id", Rule::Id),
    el("meta", META),
    LANGUAGE,
    el("identifier", CLINICIAN_ID),
    el("active", BOOL),
    el("practitioner", CLINICIAN_REF),
    el("organization", PLACE_REF),
    el("code", CODES),
    el("specialty", CODES),
    el("location", PLACE_REF),
    el("telecom", Rule::Telecom),
];

pub(super) static ENCOUNTER: &[Element] = &[
    el("id", Rule::Id),
    el("meta", META),
    LANGUAGE,
    el("identifier", Rule::Identifier("ACCOUNT", KnownKind::Account)),
    must(
        "status",
        one_of("planned arrived triaged in-progress onleave finished cancelled entered-in-error unknown"),
    ),
    must("class", CODING),
    el("type", CODES),
    el("serviceType", CODES),
    el("priority", CODES),
    el("subject", PATIENT_REF),
    el("basedOn", REF),
    el(
        "participant",
        Rule::Object(&[
            el("type", CODES),
            el("period", PERIOD),
            el("individual", CLINICIAN_REF),
        ]),
    ),
    el("period", PERIOD),
    el("length", Rule::Quantity),
    el("reasonCode", CODES),
    el("reasonReference", REF),
    el(
        "diagnosis",
        Rule::Object(&[must("condition", REF), el("use", CODES), el("rank", NUMBER)]),
    ),
    el(
        "hospitalization",
        Rule::Object(&[el("admitSource", CODES), el("dischargeDisposition", CODES)]),
    ),
    el(
        "location",
        Rule::Object(&[
            must("location", PLACE_REF),
            el("status", one_of("planned active reserved completed")),
            el("period", PERIOD),
        ]),
    ),
    el("serviceProvider", PLACE_REF),
    el("partOf", REF),
];

pub(super) static ORGANIZATION: &[Element] = &[
    el("id", Rule::Id),
    el("meta", META),
    LANGUAGE,
    el("identifier", THING_ID),
    el("active", BOOL),
    el("type", CODES),
    el("name", Rule::Label("HOSPITAL", Who::Institution)),
    el("alias", Rule::Label("HOSPITAL", Who::Institution)),
    el("telecom", Rule::Telecom),
    el("address", Rule::Address),
    el("partOf", PLACE_REF),
];

pub(super) static LOCATION: &[Element] = &[
    el("id", Rule::Id),
    el("meta", META),
    LANGUAGE,
    el("identifier", THING_ID),
    el("status", one_of("active suspended inactive")),
    el("name", Rule::Label("HOSPITAL", Who::Institution)),
    el("alias", Rule::Label("HOSPITAL", Who::Institution)),
    el("mode", one_of("instance kind")),
    el("type", CODES),
    el("telecom", Rule::Telecom),
    el("address", Rule::Address),
    el("physicalType", CODES),
    el("managingOrganization", PLACE_REF),
    el("partOf", PLACE_REF),
];
