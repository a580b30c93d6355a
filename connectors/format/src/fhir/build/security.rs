//! The security label that says what was done to a resource.

use serde_json::json;

use crate::fhir::node::{Field, Node};

/// Labels the resource as pseudonymised (HL7 v3 ObservationValue).
///
/// `ANONYED` claims that nothing can be reversed. Whether that holds depends on the policy, which the format does not
/// know; `PSEUDED` claims less and is true under every policy.
pub(super) fn label(fields: &mut Vec<Field>) {
    let coding = json!({
        "system": "http://terminology.hl7.org/CodeSystem/v3-ObservationValue",
        "code": "PSEUDED",
    });
    if !fields
        .iter()
        .any(|field| field.name == "meta" && field.node.is_some())
    {
        fields.retain(|field| field.name != "meta");
        fields.push(Field::of("meta", Node::Object(Vec::new())));
    }
    let meta = fields.iter_mut().find(|field| field.name == "meta");
    let Some(Node::Object(meta)) = meta.and_then(|field| field.node.as_mut()) else {
        return;
    };
    let security = meta.iter_mut().find(|field| field.name == "security");
    match security.and_then(|field| field.node.as_mut()) {
        Some(Node::List(codings)) => {
            let ours = |node: &Node| matches!(node, Node::Kept(value) if *value == coding);
            if !codings.iter().any(ours) {
                codings.push(Node::Kept(coding));
            }
        }
        _ => {
            meta.retain(|field| field.name != "security");
            meta.push(Field::of("security", Node::List(vec![Node::Kept(coding)])));
        }
    }
}
