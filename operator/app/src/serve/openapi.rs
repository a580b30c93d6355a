//! The OpenAPI document, with the schemas of the types that requests are read into and responses written from.

use std::collections::BTreeMap;

use lethe_connectors::format::event_schema;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::batch;
use super::presidio::{AnalyzeRequest, AnalyzeResult, AnonymizeRequest, AnonymizeResponse};
use super::refusal::{Error, LineError};

/// An endpoint as the document describes it.
pub(super) struct Endpoint {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    summary: &'static str,
    body: Content,
    response: Content,
    parameters: &'static [Parameter],
}

/// What a body contains.
enum Content {
    Nothing,
    Text,
    /// A JSON object without a schema of its own.
    Object,
    Strings,
    /// JSON by this schema.
    Json(&'static str),
    /// A list of these, or for several texts a list for each.
    Lists(&'static str),
    /// A line of each of these.
    Lines(&'static [&'static str]),
}

/// A parameter of the query: its name, its values, and its meaning.
type Parameter = (&'static str, &'static [&'static str], &'static str);

const ANNOTATION: &[Parameter] = &[
    (
        "offsets",
        &["code-point", "byte", "utf16"],
        "The unit of offsets. Default: code-point",
    ),
    (
        "explain",
        &["true", "false"],
        "Whether each span has its members, its score and its rule",
    ),
];
const LANGUAGE: &[Parameter] = &[("language", &[], "Two letters of ISO 639-1")];

/// Every endpoint.
#[rustfmt::skip]
pub(super) const ENDPOINTS: &[Endpoint] = &[
    of("get", "/health", "Whether the server is up; needs no token", Content::Nothing, Content::Text, &[]),
    of("get", "/openapi.json", "This document", Content::Nothing, Content::Object, &[]),
    of("post", "/v1/redact", "Redact a document by the policy", Content::Json("Document"), Content::Json("RedactedDocument"), &[]),
    of("post", "/v1/redact/batch", "Redact documents, one per line", Content::Lines(&["Document"]), Content::Lines(&["RedactedDocument", "LineError"]), &[]),
    of("post", "/v1/annotate", "Add spans to a document, whose text stays", Content::Json("Document"), Content::Json("AnnotatedDocument"), ANNOTATION),
    of("post", "/v1/annotate/batch", "Add spans to documents, one per line", Content::Lines(&["Document"]), Content::Lines(&["AnnotatedDocument", "LineError"]), ANNOTATION),
    of("post", "/analyze", "Presidio: find identifiers", Content::Json("AnalyzeRequest"), Content::Lists("AnalyzeResult"), &[]),
    of("post", "/anonymize", "Presidio: replace given and found identifiers", Content::Json("AnonymizeRequest"), Content::Json("AnonymizeResponse"), &[]),
    of("get", "/recognizers", "Presidio: the names of the members", Content::Nothing, Content::Strings, LANGUAGE),
    of("get", "/supportedentities", "Presidio: the entities that are found", Content::Nothing, Content::Strings, LANGUAGE),
    of("get", "/anonymizers", "Presidio: the operators", Content::Nothing, Content::Strings, &[]),
    of("post", "/deanonymize", "Presidio: not supported", Content::Object, Content::Object, &[]),
];

const fn of(
    method: &'static str,
    path: &'static str,
    summary: &'static str,
    body: Content,
    response: Content,
    parameters: &'static [Parameter],
) -> Endpoint {
    Endpoint {
        method,
        path,
        summary,
        body,
        response,
        parameters,
    }
}

/// A document with its redacted text, and the metadata that the policy keeps.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used: documents are JSON objects")]
struct RedactedDocument {
    /// The redacted text.
    text: String,
}

/// The document of the request with its spans. It is not de-identified.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used: documents are JSON objects")]
struct AnnotatedDocument {
    /// The text of the request.
    text: String,
    spans: Vec<AnnotatedSpan>,
}

/// A span that would be redacted.
#[derive(JsonSchema)]
#[expect(
    dead_code,
    reason = "only its schema is used: `lethe annotate` writes the same spans"
)]
struct AnnotatedSpan {
    start: usize,
    end: usize,
    label: String,
    /// With `explain`: the members that predicted it.
    members: Option<Vec<String>>,
    /// With `explain`: the rule of the best of them.
    rule: Option<String>,
    /// With `explain`: what decided about it.
    deciding_rule: Option<String>,
    /// With `explain`: the score from which one vote sufficed.
    solo_min_score: Option<f64>,
    /// With `explain`: its score.
    score: Option<f64>,
}

/// Returns the document.
pub(super) fn document() -> Value {
    let mut paths = Map::new();
    for endpoint in ENDPOINTS {
        let path = paths.entry(endpoint.path).or_insert_with(|| json!({}));
        if let Some(path) = path.as_object_mut() {
            path.insert(endpoint.method.to_owned(), endpoint.operation());
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Lethe",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "De-identifies clinical notes. Offsets of the Presidio endpoints count Unicode code points.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas(),
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
        },
        // With or without a token, as the server was started.
        "security": [{ "token": [] }, {}],
    })
}

fn schemas() -> Map<String, Value> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        "/components/schemas".clone_into(settings.definitions_path.to_mut());
        settings.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    fn add<T: JsonSchema>(generator: &mut SchemaGenerator) {
        generator.subschema_for::<T>();
    }
    add::<AnalyzeRequest>(&mut generator);
    add::<AnalyzeResult>(&mut generator);
    add::<AnonymizeRequest>(&mut generator);
    add::<AnonymizeResponse>(&mut generator);
    add::<RedactedDocument>(&mut generator);
    add::<AnnotatedDocument>(&mut generator);
    add::<Error>(&mut generator);
    add::<LineError>(&mut generator);
    let mut schemas = generator.take_definitions(true);
    schemas.insert("Document".to_owned(), note());
    schemas
}

/// Returns the schema of a note event, of which only the text is required here.
fn note() -> Value {
    let mut schema = event_schema();
    if let Some(schema) = schema.as_object_mut() {
        schema.retain(|key, _| !["$schema", "if", "then", "else"].contains(&key.as_str()));
        schema.insert("required".to_owned(), json!(["text"]));
    }
    schema
}

impl Endpoint {
    fn operation(&self) -> Value {
        let parameters: Vec<Value> = self.parameters.iter().map(parameter).collect();
        let mut responses = BTreeMap::from([(
            "200",
            json!({ "description": "Done", "content": self.response.schema() }),
        )]);
        let mut add = |status, why: &str| {
            responses.insert(
                status,
                json!({ "description": why, "content": Content::Json("Error").schema() }),
            );
        };
        add("401", "The token is missing or wrong");
        if self.method == "post" {
            add("400", "The body is not JSON");
            add("408", "The body arrived too slowly");
            add("413", "The body is too large");
            add("415", "The content type is wrong");
            add("422", "Lethe does not do this: the message says what to change");
            add(
                "503",
                "Too many requests, or a service is unavailable; `Retry-After` says when to try again",
            );
        }
        let mut operation = json!({ "summary": self.summary, "responses": responses });
        if let Some(operation) = operation.as_object_mut() {
            if !parameters.is_empty() {
                operation.insert("parameters".to_owned(), parameters.into());
            }
            if !matches!(self.body, Content::Nothing) {
                let body = json!({ "required": true, "content": self.body.schema() });
                operation.insert("requestBody".to_owned(), body);
            }
        }
        operation
    }
}

fn parameter((name, values, meaning): &Parameter) -> Value {
    let schema = match values {
        [] => json!({ "type": "string" }),
        values => json!({ "enum": values }),
    };
    json!({ "name": name, "in": "query", "description": meaning, "schema": schema })
}

impl Content {
    fn schema(&self) -> Value {
        let named = |name: &str| json!({ "$ref": format!("#/components/schemas/{name}") });
        let (kind, schema) = match self {
            Self::Nothing => return json!({}),
            Self::Text => ("text/plain", json!({ "type": "string" })),
            Self::Object => ("application/json", json!({ "type": "object" })),
            Self::Strings => (
                "application/json",
                json!({ "type": "array", "items": { "type": "string" } }),
            ),
            Self::Json(name) => ("application/json", named(name)),
            Self::Lists(name) => {
                let list = json!({ "type": "array", "items": named(name) });
                (
                    "application/json",
                    json!({ "anyOf": [list, { "type": "array", "items": list }] }),
                )
            }
            Self::Lines(names) => {
                let lines: Vec<Value> = names.iter().map(|name| named(name)).collect();
                (
                    batch::KIND,
                    json!({ "anyOf": lines, "description": "One per line" }),
                )
            }
        };
        json!({ kind: { "schema": schema } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
        match value {
            Value::Object(object) => {
                found.extend(object.get("$ref").and_then(Value::as_str));
                object.values().for_each(|value| references(value, found));
            }
            Value::Array(list) => list.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }

    #[test]
    fn every_reference_of_the_document_has_a_schema() {
        let document = document();
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(found.len() > 20, "{found:?}");
        for reference in found {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{reference}");
        }
    }

    #[test]
    fn the_schemas_are_those_of_the_types() {
        let document = document();
        let analyze = &document["components"]["schemas"]["AnalyzeRequest"];
        assert_eq!(analyze["required"], json!(["text", "language"]));
        assert!(
            analyze["properties"]["allow_list_match"].is_object(),
            "{analyze:#}"
        );
        let operators = &document["components"]["schemas"]["Anonymizer"];
        assert!(operators["oneOf"].is_array(), "{operators:#}");
    }
}
