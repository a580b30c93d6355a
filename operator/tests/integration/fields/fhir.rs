//! FHIR: values in every element of every resource, at every depth, by the published definitions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::check;
use super::engine::through;

/// An element: its name, its type, whether it repeats, and the codes that it is bound to.
struct Element {
    name: &'static str,
    kind: &'static str,
    repeats: bool,
    codes: &'static str,
}

/// The elements of each resource and of each of its parts (FHIR R4B).
static DEFINITIONS: LazyLock<BTreeMap<&str, Vec<Element>>> = LazyLock::new(|| {
    let table = include_str!("../../../../connectors/format/src/fhir/elements.tsv");
    let mut all: BTreeMap<&str, Vec<Element>> = BTreeMap::new();
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let cells: Vec<&str> = line.split('\t').collect();
        let [parent, name, kind, flags, codes] = cells[..] else {
            panic!("{line}")
        };
        let repeats = flags.contains('*');
        let element = Element {
            name,
            kind,
            repeats,
            codes,
        };
        all.entry(parent).or_default().push(element);
    }
    all
});

/// Returns the types of resources.
fn resources() -> Vec<&'static str> {
    let table = include_str!("../../../../connectors/format/src/fhir/elements.tsv");
    let heads = table.lines().filter(|line| line.contains("\tid\tId\tR"));
    heads.map(|line| line.split('\t').next().unwrap()).collect()
}

/// Returns the elements of a general data type (FHIR R4, datatypes.html). A name with `*` repeats.
fn data_type(kind: &str) -> &'static [(&'static str, &'static str)] {
    match kind {
        "Reference" => &[
            ("reference", "String"),
            ("type", "Uri"),
            ("identifier", "Identifier"),
            ("display", "String"),
        ],
        "Identifier" => &[
            ("use", "Code"),
            ("type", "CodeableConcept"),
            ("system", "Uri"),
            ("value", "String"),
            ("period", "Period"),
        ],
        "HumanName" => &[
            ("use", "Code"),
            ("text", "String"),
            ("family", "String"),
            ("given*", "String"),
            ("prefix*", "String"),
            ("suffix*", "String"),
            ("period", "Period"),
        ],
        "ContactPoint" => &[
            ("system", "Code"),
            ("value", "String"),
            ("use", "Code"),
            ("rank", "PositiveInt"),
            ("period", "Period"),
        ],
        "Address" => &[
            ("use", "Code"),
            ("type", "Code"),
            ("text", "String"),
            ("line*", "String"),
            ("city", "String"),
            ("district", "String"),
            ("state", "String"),
            ("postalCode", "String"),
            ("country", "String"),
            ("period", "Period"),
        ],
        "Period" => &[("start", "DateTime"), ("end", "DateTime")],
        "Quantity" | "Age" | "Duration" | "Count" | "Distance" => &[
            ("value", "Decimal"),
            ("comparator", "Code"),
            ("unit", "String"),
            ("system", "Uri"),
            ("code", "Code"),
        ],
        "Money" => &[("value", "Decimal"), ("currency", "Code")],
        "Range" => &[("low", "Quantity"), ("high", "Quantity")],
        "Ratio" => &[("numerator", "Quantity"), ("denominator", "Quantity")],
        "Coding" => &[
            ("system", "Uri"),
            ("version", "String"),
            ("code", "Code"),
            ("display", "String"),
            ("userSelected", "bool"),
        ],
        "CodeableConcept" => &[("coding*", "Coding"), ("text", "String")],
        "Annotation" => &[
            ("authorReference", "Reference"),
            ("authorString", "String"),
            ("time", "DateTime"),
        ],
        "Attachment" => &[
            ("language", "Code"),
            ("url", "Uri"),
            ("size", "UnsignedInt"),
            ("hash", "String"),
            ("title", "String"),
            ("creation", "DateTime"),
        ],
        "Meta" => &[
            ("versionId", "Id"),
            ("lastUpdated", "Instant"),
            ("source", "Uri"),
            ("profile*", "Canonical"),
            ("security*", "Coding"),
            ("tag*", "Coding"),
        ],
        _ => &[],
    }
}

/// Writes one value into every leaf.
struct Writer<'a> {
    value: &'a str,
    /// The paths of elements that are bound to a value set which has the value.
    bound: BTreeSet<String>,
}

impl Writer<'_> {
    /// Returns a value of a type, at a path.
    fn of(&mut self, kind: &'static str, path: &str, within: &[&str]) -> Value {
        if DEFINITIONS.contains_key(kind) {
            return self.part(kind, path, within);
        }
        let elements = data_type(kind);
        if !elements.is_empty() {
            let mut object = Map::new();
            for (name, kind) in elements {
                let value = self.of(kind, &format!("{path}.{}", name.trim_end_matches('*')), within);
                let value = if name.ends_with('*') {
                    json!([value])
                } else {
                    value
                };
                object.insert(name.trim_end_matches('*').to_owned(), value);
            }
            object.insert("id".to_owned(), self.value.into());
            object.insert("extension".to_owned(), self.extension());
            return object.into();
        }
        match kind {
            "Decimal" | "Integer" | "PositiveInt" | "UnsignedInt" => {
                serde_json::from_str(self.value).unwrap_or_else(|_| self.value.into())
            }
            "Narrative" => json!({"status": "generated", "div": format!(
                "<div xmlns=\"http://www.w3.org/1999/xhtml\" id=\"{0}\"><a name=\"{0}\" href=\"{0}\">Seen.</a><img src=\"{0}\" alt=\"{0}\"/></div>",
                self.value
            )}),
            _ => self.value.into(),
        }
    }

    fn extension(&self) -> Value {
        let value = self.value;
        json!([{"url": value, "valueString": value, "extension": [{"url": value, "valueCode": value}]}])
    }

    /// Returns a resource's elements, or those of one of its parts. A part within itself is left out.
    fn part(&mut self, kind: &'static str, path: &str, within: &[&str]) -> Value {
        let mut object = Map::new();
        if within.contains(&kind) || within.len() > 6 {
            return object.into();
        }
        let within = [within, &[kind]].concat();
        for element in &DEFINITIONS[kind] {
            let path = format!("{path}.{}", element.name);
            if element.codes.split(' ').any(|code| code == self.value) {
                self.bound.insert(path.clone());
            }
            let value = match element.kind {
                "Resource" => {
                    json!({"resourceType": "Basic", "id": self.value, "code": {"text": self.value}})
                }
                kind => self.of(kind, &path, &within),
            };
            let value = if element.repeats {
                json!([value.clone(), value])
            } else {
                value
            };
            // The extensions of a primitive (FHIR R4, json.html#primitive).
            if value.is_string() {
                object.insert(
                    format!("_{}", element.name),
                    json!({"id": self.value, "extension": self.extension()}),
                );
            }
            object.insert(element.name.to_owned(), value);
        }
        object.insert(self.value.to_owned(), self.value.into());
        object.insert("extension".to_owned(), self.extension());
        object.insert("modifierExtension".to_owned(), self.extension());
        object.into()
    }
}

/// Returns a resource of each type, with a value in every leaf.
pub(super) fn full_of(value: &str) -> Vec<Value> {
    let full = resources().into_iter().map(|kind| {
        let bound = BTreeSet::new();
        let mut resource = Writer { value, bound }.part(kind, kind, &[]);
        resource["resourceType"] = kind.into();
        resource
    });
    full.collect()
}

/// Collects the paths of strings, numbers and names that contain a text.
fn holding(value: &Value, path: &str, text: &str, out: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (name, inner) in object {
                if name.contains(text) {
                    out.insert(format!("{path}.*"));
                }
                holding(inner, &format!("{path}.{name}"), text, out);
            }
        }
        Value::Array(values) => values.iter().for_each(|inner| holding(inner, path, text, out)),
        leaf if leaf.to_string().contains(text) => {
            out.insert(path.to_owned());
        }
        _ => {}
    }
}

#[test]
fn no_value_in_any_element_of_any_resource_comes_out_unless_a_reason_is_listed() {
    let mut found = BTreeSet::new();
    let mut refused = BTreeSet::new();
    let (mut types, mut accepted) = (0, 0);
    for (what, value) in [
        ("word", "Quillfeather"),
        ("number", "5550142"),
        ("date", "2031-05-17"),
        ("code", "on-hold"),
        ("telephone", "617.555.0142"),
        ("ZIP code", "02139-1234"),
        ("id", "AB7741902"),
    ] {
        for kind in resources() {
            let mut writer = Writer {
                value,
                bound: BTreeSet::new(),
            };
            let mut resource = writer.part(kind, kind, &[]);
            resource["resourceType"] = kind.into();
            let out = through("fhir", resource.to_string().as_bytes());
            types += 1;
            for (column, text) in &out.columns {
                // A title is narrative, in which the word is not an identifier.
                if what == "code" && column == "text" {
                    continue;
                }
                assert!(!text.contains(value), "{kind}: {what} in column {column}: {text}");
            }
            let Some(message) = out.message else {
                let error = out.columns.iter().find(|(name, _)| name == "error");
                refused.insert((kind, what, error.map(|(_, code)| code.clone())));
                continue;
            };
            accepted += 1;
            let message: Value = serde_json::from_str(&message).unwrap();
            let mut back = BTreeSet::new();
            holding(&message, kind, value, &mut back);
            let back = back
                .difference(&writer.bound)
                .map(|path| (what.to_owned(), path.clone()));
            found.extend(back);
        }
    }
    assert!(
        types > 7 * 130 && accepted * 100 > types * 95,
        "{accepted} of {types}, not {refused:?}"
    );
    check(&found, include_str!("fhir.tsv"));
}
