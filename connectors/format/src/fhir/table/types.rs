//! The data types (FHIR R4, sections 2.24 and 2.1.28).

use lethe_core::KnownKind;

use super::{Element, Form, Rule, Who, el, must};

pub(super) const BOOL: Rule = Rule::Keep(Form::Bool);
pub(super) const NUMBER: Rule = Rule::Keep(Form::Number);
/// Codes of `HumanName.use`.
pub(in crate::fhir) const NAME_USE: Form = Form::OneOf("usual official temp nickname anonymous old maiden");
/// Codes of `Narrative.status`.
pub(in crate::fhir) const NARRATIVE_STATUS: Form = Form::OneOf("generated extensions additional empty");
pub(super) const GENDER: Rule = one_of("male female other unknown");
pub(super) const PATIENT_REF: Rule = Rule::Reference(Who::Patient);
pub(super) const CLINICIAN_REF: Rule = Rule::Reference(Who::Clinician);
pub(super) const PLACE_REF: Rule = Rule::Reference(Who::Institution);
pub(super) const REF: Rule = Rule::Reference(Who::Thing);
pub(in crate::fhir) const THING_ID: Rule = Rule::Identifier("IDNUM", KnownKind::Other);
pub(super) const PERIOD: Rule = Rule::Object(&[el("start", Rule::Date), el("end", Rule::Date)]);
pub(super) const CODING: Rule = Rule::Coding;
/// A coded value without its free text.
pub(super) const CODES: Rule = Rule::Object(&[el("coding", CODING)]);
/// A coded value that may have only free text, which is narrative.
pub(super) const CONCEPT: Rule = Rule::Object(&[el("coding", CODING), el("text", Rule::Text)]);
pub(super) const RANGE: Rule = Rule::Object(&[el("low", Rule::Quantity), el("high", Rule::Quantity)]);
pub(super) const RATIO: Rule =
    Rule::Object(&[el("numerator", Rule::Quantity), el("denominator", Rule::Quantity)]);
pub(super) const ANNOTATION: Rule = Rule::Object(&[
    el("authorReference", CLINICIAN_REF),
    el("authorString", Rule::Label("DOCTOR", Who::Clinician)),
    el("time", Rule::Date),
    must("text", Rule::Body),
]);
pub(super) const META: Rule = Rule::Object(&[
    el("versionId", Rule::Keep(Form::Version)),
    el("lastUpdated", Rule::Instant),
    el("profile", Rule::Keep(Form::OwnUri)),
    el("security", CODING),
    el("tag", CODING),
]);

/// A quantity's elements.
pub(in crate::fhir) static QUANTITY: &[Element] = &[
    el("value", NUMBER),
    el("comparator", Rule::Keep(Form::Comparator)),
    el("unit", Rule::Keep(Form::Unit)),
    el("system", Rule::Keep(Form::UnitSystem)),
    el("code", Rule::Keep(Form::Unit)),
];

/// The elements of a postal address that can be returned.
pub(in crate::fhir) static ADDRESS: &[Element] = &[
    el("use", one_of("home work temp old billing")),
    el("type", one_of("postal physical both")),
    el("line", Rule::Label("STREET", Who::Thing)),
    el("city", Rule::Label("CITY", Who::Thing)),
    el("district", Rule::Label("LOCATION-OTHER", Who::Thing)),
    el("state", Rule::Label("STATE", Who::Thing)),
    el("postalCode", Rule::Label("ZIP", Who::Thing)),
    el("country", Rule::Label("COUNTRY", Who::Thing)),
    el("period", PERIOD),
];

/// The elements of an identifier in addition to its value.
pub(in crate::fhir) static IDENTIFIER: &[Element] = &[
    el("use", one_of("usual official temp secondary old")),
    el("type", CODES),
    el("system", Rule::Keep(Form::OwnUri)),
];

/// The elements of a telephone number in addition to the number.
pub(in crate::fhir) static TELECOM: &[Element] = &[
    el("system", one_of("phone fax email pager url sms other")),
    el("use", one_of("home work temp old mobile")),
    el("rank", NUMBER),
];

/// One of the codes of a required binding, separated by spaces.
pub(super) const fn one_of(codes: &'static str) -> Rule {
    Rule::Keep(Form::OneOf(codes))
}
