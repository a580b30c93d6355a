//! The resources without a hand-written table, by the published element definitions and a rule for each data
//! type.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::resources::LANGUAGE;
use super::types::{
    ADDRESS, ANNOTATION, BOOL, CODES, CODING, IDENTIFIER, META, NUMBER, PERIOD, QUANTITY, RANGE, RATIO, REF,
    TELECOM, THING_ID, one_of,
};
use super::{Element, Form, Need, RESOURCES, Rule, Who, must};

struct Standard {
    elements: HashMap<&'static str, Vec<Element>>,
    resources: Vec<&'static str>,
}

// `ELEMENTS`, the text of `elements.tsv`.
include!(concat!(env!("OUT_DIR"), "/elements.rs"));

static STANDARD: LazyLock<Standard> = LazyLock::new(|| {
    let rows: Vec<Vec<&'static str>> = ELEMENTS
        .text()
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split('\t').collect())
        .collect();
    let parents: HashMap<&str, &'static str> = rows
        .iter()
        .filter_map(|row| row.first().map(|&parent| (parent, parent)))
        .collect();
    let mut standard = Standard {
        elements: HashMap::new(),
        resources: Vec::new(),
    };
    for row in &rows {
        let &[parent, name, kind, flags, codes] = row.as_slice() else {
            continue;
        };
        if flags.contains('R') {
            standard.resources.push(parent);
        }
        if name == "id" && !flags.contains('R') {
            continue;
        }
        let rule = match (name, parents.get(kind)) {
            ("language", _) if kind == "Code" => LANGUAGE.rule,
            (_, Some(within)) => Rule::Standard(within),
            _ => rule(kind, codes),
        };
        let need = if flags.contains('r') {
            Need::Required
        } else {
            Need::Optional
        };
        let elements = standard.elements.entry(parent).or_default();
        elements.push(Element { name, rule, need });
    }
    standard
});

/// Primitive types (FHIR R4, section 2.24.0.1) without a separate rule; `Optional` is a list of primitives
/// whose members may be null.
const PRIMITIVES: [&str; 11] = [
    "String",
    "Code",
    "Uri",
    "Url",
    "Canonical",
    "Markdown",
    "Base64Binary",
    "Oid",
    "Uuid",
    "Time",
    "Optional",
];

/// Returns the rule for an element of that data type.
fn rule(kind: &str, codes: &'static str) -> Rule {
    match kind {
        "Id" => Rule::Id,
        "Meta" => META,
        "Narrative" => Rule::Narrative,
        "Resource" => Rule::Contained,
        "Reference" => REF,
        "Identifier" => THING_ID,
        "HumanName" => Rule::Name(Who::Relative),
        "ContactPoint" => Rule::Telecom,
        "Address" => Rule::Address,
        "Date" | "DateTime" => Rule::Date,
        "Instant" => Rule::Instant,
        "Period" => PERIOD,
        "Quantity" | "Age" | "Duration" | "Count" | "Distance" => Rule::Quantity,
        "Range" => RANGE,
        "Ratio" => RATIO,
        "Coding" => CODING,
        "CodeableConcept" => CODES,
        "Annotation" => ANNOTATION,
        "bool" | "Boolean" => BOOL,
        "Integer" | "Decimal" | "PositiveInt" | "UnsignedInt" => NUMBER,
        "Code" if !codes.is_empty() => Rule::Keep(Form::OneOf(codes)),
        "Expression" => Rule::Object(EXPRESSION),
        "TriggerDefinition" => Rule::Object(TRIGGER),
        "ElementDefinition" => Rule::Object(ELEMENT),
        "Signature" => Rule::Object(SIGNATURE),
        "DataRequirement" => Rule::Object(DATA_REQUIREMENT),
        "ParameterDefinition" => Rule::Object(PARAMETER),
        "RelatedArtifact" => Rule::Object(ARTIFACT),
        "Contributor" => Rule::Object(CONTRIBUTOR),
        "UsageContext" => Rule::Object(USAGE),
        "SampledData" => Rule::Object(SAMPLED),
        _ if PRIMITIVES.contains(&kind) => Rule::Never,
        _ => Rule::NeverObject,
    }
}

/// Returns the names of resources, of their parts and elements, and the codes of required bindings.
pub(in crate::fhir) fn published() -> impl Iterator<Item = &'static str> {
    let parts = STANDARD.elements.iter().flat_map(|(parent, elements)| {
        let inner = elements.iter().flat_map(|element| {
            let codes = match element.rule {
                Rule::Keep(Form::OneOf(codes)) => codes,
                _ => "",
            };
            [element.name].into_iter().chain(codes.split(' '))
        });
        [*parent].into_iter().chain(inner)
    });
    let types = [IDENTIFIER, ADDRESS, TELECOM, QUANTITY].into_iter().flatten();
    parts
        .chain(types.map(|element| element.name))
        .chain(DATA_TYPES.iter().copied())
}

/// Elements of data types (FHIR R4, section 2.24) that no other table has.
const DATA_TYPES: [&str; 30] = [
    "given",
    "family",
    "prefix",
    "suffix",
    "start",
    "end",
    "low",
    "high",
    "numerator",
    "denominator",
    "coding",
    "text",
    "display",
    "version",
    "userSelected",
    "reference",
    "type",
    "identifier",
    "period",
    "authorReference",
    "authorString",
    "time",
    "contentType",
    "data",
    "title",
    "creation",
    "currency",
    "use",
    "repeat",
    "timing",
];

// Only the required elements of these data types (FHIR R4, sections 2.24 and 2.25), without which a value is
// invalid.
static EXPRESSION: &[Element] = &[must(
    "language",
    one_of("text/cql text/fhirpath application/x-fhir-query text/cql-identifier text/cql-expression"),
)];
static TRIGGER: &[Element] = &[must(
    "type",
    one_of(
        "named-event periodic data-changed data-added data-modified data-removed data-accessed data-access-ended",
    ),
)];
static ELEMENT: &[Element] = &[must("path", Rule::Never)];
static SIGNATURE: &[Element] = &[
    must("type", CODING),
    must("when", Rule::Instant),
    must("who", REF),
];
static DATA_REQUIREMENT: &[Element] = &[must("type", Rule::Keep(Form::Kind))];
static PARAMETER: &[Element] = &[
    must("use", one_of("in out")),
    must("type", Rule::Keep(Form::Kind)),
];
static ARTIFACT: &[Element] = &[must(
    "type",
    one_of("documentation justification citation predecessor successor derived-from depends-on composed-of"),
)];
static CONTRIBUTOR: &[Element] = &[
    must("type", one_of("author editor reviewer endorser")),
    must("name", Rule::Never),
];
static USAGE: &[Element] = &[
    must("code", CODING),
    must("valueCodeableConcept", CODES),
    must("valueQuantity", Rule::Quantity),
    must("valueRange", RANGE),
    must("valueReference", REF),
];
static SAMPLED: &[Element] = &[
    must("origin", Rule::Quantity),
    must("period", NUMBER),
    must("dimensions", NUMBER),
];

/// Returns the elements of a resource or of one of its parts.
pub(in crate::fhir) fn elements(name: &str) -> Option<&'static [Element]> {
    let listed = RESOURCES.iter().find(|(kind, _)| *kind == name);
    listed
        .map(|(_, elements)| *elements)
        .or_else(|| STANDARD.elements.get(name).map(Vec::as_slice))
}

/// Returns the resource type with that name.
pub(in crate::fhir) fn resource(name: &str) -> Option<&'static str> {
    let listed = RESOURCES.iter().map(|(kind, _)| *kind);
    let standard = STANDARD.resources.iter().copied();
    listed.chain(standard).find(|&kind| kind == name)
}
