//! The resources that can be a note, and the messages that contain them.

use super::people::{
    ENCOUNTER, LOCATION, ORGANIZATION, PATIENT, PRACTITIONER, PRACTITIONER_ROLE, RELATED_PERSON,
};
use super::types::{
    ANNOTATION, BOOL, CLINICIAN_REF, CODES, CODING, CONCEPT, META, NUMBER, PATIENT_REF, PERIOD, PLACE_REF,
    RANGE, RATIO, REF, THING_ID, one_of,
};
use super::{Element, Form, Paths, Rule, el, must, pivot};

/// By name. The first four can be a note.
pub(in crate::fhir) static RESOURCES: [(&str, &[Element]); 13] = [
    ("Composition", COMPOSITION),
    ("DocumentReference", DOCUMENT_REFERENCE),
    ("DiagnosticReport", DIAGNOSTIC_REPORT),
    ("Observation", OBSERVATION),
    ("Patient", PATIENT),
    ("RelatedPerson", RELATED_PERSON),
    ("Practitioner", PRACTITIONER),
    ("PractitionerRole", PRACTITIONER_ROLE),
    ("Encounter", ENCOUNTER),
    ("Organization", ORGANIZATION),
    ("Location", LOCATION),
    ("MessageHeader", MESSAGE_HEADER),
    ("Bundle", BUNDLE),
];

/// A bundle, which no other resource contains.
pub(in crate::fhir) static BUNDLE: &[Element] = &[
    el("id", Rule::Id),
    el("meta", META),
    LANGUAGE,
    el("identifier", THING_ID),
    must(
        "type",
        one_of(
            "document message transaction transaction-response batch batch-response history searchset collection",
        ),
    ),
    el("timestamp", Rule::Instant),
    el("total", NUMBER),
    el(
        "entry",
        Rule::Object(&[
            el("fullUrl", Rule::FullUrl),
            pivot("resource", Rule::Resource),
            el(
                "search",
                Rule::Object(&[el("mode", one_of("match include outcome")), el("score", NUMBER)]),
            ),
            el(
                "request",
                Rule::Object(&[
                    must("method", Rule::Keep(Form::Method)),
                    must("url", Rule::RequestUrl),
                ]),
            ),
            el(
                "response",
                Rule::Object(&[must("status", Rule::Keep(Form::Status))]),
            ),
        ]),
    ),
];

/// A document without a surrounding resource. Its content has the rule of an attachment.
pub(in crate::fhir) static BINARY: &[Element] = &[el("id", Rule::Id), el("meta", META), LANGUAGE];
pub(in crate::fhir) static BINARY_PATHS: Paths = Paths {
    data: "Binary.data",
    content_type: "Binary.contentType",
};

pub(super) const LANGUAGE: Element = el("language", Rule::Keep(Form::Language));
const CONTAINED: Element = el("contained", Rule::Contained);
const TEXT: Element = el("text", Rule::Narrative);

static DOCUMENT_REFERENCE: &[Element] = &[
    el("id", Rule::Id),
    el("meta", META),
    LANGUAGE,
    CONTAINED,
    el("masterIdentifier", THING_ID),
    el("identifier", THING_ID),
    must("status", one_of("current superseded entered-in-error")),
    el("docStatus", one_of("preliminary final amended entered-in-error")),
    el("type", CONCEPT),
    el("category", CODES),
    el("subject", PATIENT_REF),
    el("date", Rule::Instant),
    el("author", CLINICIAN_REF),
    el("authenticator", CLINICIAN_REF),
    el("custodian", PLACE_REF),
    el(
        "relatesTo",
        Rule::Object(&[
            must("code", one_of("replaces transforms signs appends")),
            must("target", REF),
        ]),
    ),
    el("description", Rule::Text),
    el("securityLabel", CODES),
    TEXT,
    must(
        "content",
        Rule::Object(&[
            must(
                "attachment",
                Rule::Attachment(&Paths {
                    data: "DocumentReference.content.attachment.data",
                    content_type: "DocumentReference.content.attachment.contentType",
                }),
            ),
            el("format", CODING),
        ]),
    ),
    el(
        "context",
        Rule::Object(&[
            el("encounter", REF),
            el("event", CODES),
            el("period", PERIOD),
            el("facilityType", CODES),
            el("practiceSetting", CODES),
            el("sourcePatientInfo", PATIENT_REF),
            el("related", REF),
        ]),
    ),
];

static DIAGNOSTIC_REPORT: &[Element] = &[
    el("id", Rule::Id),
    el("meta", META),
    LANGUAGE,
    CONTAINED,
    el("identifier", THING_ID),
    el("basedOn", REF),
    must(
        "status",
        one_of(
            "registered partial preliminary final amended corrected appended cancelled entered-in-error unknown",
        ),
    ),
    el("category", CODES),
    must("code", CONCEPT),
    el("subject", PATIENT_REF),
    el("encounter", REF),
    el("effectiveDateTime", Rule::Date),
    el("effectivePeriod", PERIOD),
    el("issued", Rule::Instant),
    el("performer", CLINICIAN_REF),
    el("resultsInterpreter", CLINICIAN_REF),
    el("specimen", REF),
    el("result", REF),
    el("imagingStudy", REF),
    TEXT,
    el("conclusion", Rule::Body),
    el("conclusionCode", CONCEPT),
    el(
        "presentedForm",
        Rule::Attachment(&Paths {
            data: "DiagnosticReport.presentedForm.data",
            content_type: "DiagnosticReport.presentedForm.contentType",
        }),
    ),
];

const REFERENCE_RANGE: Rule = Rule::Object(&[
    el("low", Rule::Quantity),
    el("high", Rule::Quantity),
    el("type", CODES),
    el("appliesTo", CODES),
    el("age", RANGE),
    el("text", Rule::Text),
]);

static OBSERVATION: &[Element] = &[
    el("id", Rule::Id),
    el("meta", META),
    LANGUAGE,
    CONTAINED,
    el("identifier", THING_ID),
    el("basedOn", REF),
    el("partOf", REF),
    must(
        "status",
        one_of("registered preliminary final amended corrected cancelled entered-in-error unknown"),
    ),
    el("category", CODES),
    must("code", CONCEPT),
    el("subject", PATIENT_REF),
    el("focus", REF),
    el("encounter", REF),
    el("effectiveDateTime", Rule::Date),
    el("effectivePeriod", PERIOD),
    el("effectiveInstant", Rule::Instant),
    el("issued", Rule::Instant),
    el("performer", CLINICIAN_REF),
    TEXT,
    el("valueQuantity", Rule::Quantity),
    el("valueCodeableConcept", CONCEPT),
    el("valueString", Rule::Body),
    el("valueBoolean", BOOL),
    el("valueInteger", NUMBER),
    el("valueRange", RANGE),
    el("valueRatio", RATIO),
    el("valueDateTime", Rule::Date),
    el("valuePeriod", PERIOD),
    el("dataAbsentReason", CODES),
    el("interpretation", CODES),
    el("note", ANNOTATION),
    el("bodySite", CODES),
    el("method", CODES),
    el("specimen", REF),
    el("device", REF),
    el("referenceRange", REFERENCE_RANGE),
    el("hasMember", REF),
    el("derivedFrom", REF),
    el(
        "component",
        Rule::Object(&[
            must("code", CONCEPT),
            el("valueQuantity", Rule::Quantity),
            el("valueCodeableConcept", CONCEPT),
            el("valueString", Rule::Body),
            el("valueBoolean", BOOL),
            el("valueInteger", NUMBER),
            el("valueRange", RANGE),
            el("valueRatio", RATIO),
            el("valueDateTime", Rule::Date),
            el("valuePeriod", PERIOD),
            el("dataAbsentReason", CODES),
            el("interpretation", CODES),
            el("referenceRange", REFERENCE_RANGE),
        ]),
    ),
];

static COMPOSITION: &[Element] = &[
    el("id", Rule::Id),
    el("meta", META),
    LANGUAGE,
    CONTAINED,
    el("identifier", THING_ID),
    must("status", one_of("preliminary final amended entered-in-error")),
    must("type", CONCEPT),
    el("category", CODES),
    el("subject", PATIENT_REF),
    el("encounter", REF),
    must("date", Rule::Date),
    must("author", CLINICIAN_REF),
    must("title", Rule::Text),
    el("confidentiality", Rule::Keep(Form::Confidentiality)),
    el(
        "attester",
        Rule::Object(&[
            must("mode", one_of("personal professional legal official")),
            el("time", Rule::Date),
            el("party", CLINICIAN_REF),
        ]),
    ),
    el("custodian", PLACE_REF),
    el(
        "relatesTo",
        Rule::Object(&[
            must("code", one_of("replaces transforms signs appends")),
            el("targetIdentifier", THING_ID),
            el("targetReference", REF),
        ]),
    ),
    el(
        "event",
        Rule::Object(&[el("code", CODES), el("period", PERIOD), el("detail", REF)]),
    ),
    TEXT,
    el("section", Rule::Object(&SECTION)),
];

static SECTION: [Element; 10] = [
    el("title", Rule::Text),
    el("code", CODES),
    el("author", CLINICIAN_REF),
    el("focus", REF),
    TEXT,
    el("mode", one_of("working snapshot changes")),
    el("orderedBy", CODES),
    el("entry", REF),
    el("emptyReason", CODES),
    el("section", Rule::Object(&SECTION)),
];

static MESSAGE_HEADER: &[Element] = &[
    el("id", Rule::Id),
    el("meta", META),
    LANGUAGE,
    must("eventCoding", CODING),
    must("eventUri", Rule::Keep(Form::OwnUri)),
    el("sender", PLACE_REF),
    el("author", CLINICIAN_REF),
    must("source", Rule::Object(&[must("endpoint", Rule::Never)])),
    el("responsible", CLINICIAN_REF),
    el("reason", CODES),
    el("focus", REF),
];
