//! The resources without a hand-written table, by the published element definitions and a rule for each data type.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::resources::LANGUAGE;
use super::types::{ANNOTATION, BOOL, CODES, CODING, META, NUMBER, PERIOD, RANGE, RATIO, REF, THING_ID};
use super::{Element, Form, Need, RESOURCES, Rule, Who};

struct Standard {
    elements: HashMap<&'static str, Vec<Element>>,
    resources: Vec<&'static str>,
}

static STANDARD: LazyLock<Standard> = LazyLock::new(|| {
    let rows: Vec<Vec<&'static str>> = include_str!("../elements.tsv")
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

/// What becomes of an element of that data type.
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
        _ => Rule::Never,
    }
}

/// The elements of a resource or of one of its parts.
pub(in crate::fhir) fn elements(name: &str) -> Option<&'static [Element]> {
    let listed = RESOURCES.iter().find(|(kind, _)| *kind == name);
    listed
        .map(|(_, elements)| *elements)
        .or_else(|| STANDARD.elements.get(name).map(Vec::as_slice))
}

/// The type of resources of that name.
pub(in crate::fhir) fn resource(name: &str) -> Option<&'static str> {
    let listed = RESOURCES.iter().map(|(kind, _)| *kind);
    let standard = STANDARD.resources.iter().copied();
    listed.chain(standard).find(|&kind| kind == name)
}
