//! Adds the security label that records the redaction of a resource.

use crate::fhir::node::{Field, Node};

pub(in crate::fhir) const SYSTEM: &str = "http://terminology.hl7.org/CodeSystem/v3-ObservationValue";
pub(in crate::fhir) const CODE: &str = "PSEUDED";

/// Returns whether the coding is the label, which a previously redacted message has already.
fn is_ours(coding: &Node) -> bool {
    let Node::Object(fields) = coding else {
        return false;
    };
    let has = |name: &str, wanted: &str| {
        fields.iter().any(|field| {
            field.name == name && matches!(&field.node, Some(Node::Kept(kept)) if kept.text() == Some(wanted))
        })
    };
    has("system", SYSTEM) && has("code", CODE)
}

/// Removes labels, since contained resources have none (FHIR R4, invariant dom-5). Returns whether there were
/// any.
pub(super) fn unlabel(fields: &mut [Field]) -> bool {
    let mut removed = false;
    for meta in fields.iter_mut().filter(|field| field.name == "meta") {
        if let Some(Node::Object(within)) = &mut meta.node {
            let before = within.len();
            within.retain(|field| field.name != "security");
            removed |= within.len() < before;
            if within.is_empty() {
                meta.node = None;
            }
        }
    }
    removed
}

/// Labels the resource as pseudonymised (HL7 v3 ObservationValue).
///
/// `ANONYED` claims that nothing is reversible. Whether that holds depends on the policy, which the format
/// does not know; `PSEUDED` claims less and holds under every policy.
pub(super) fn label(fields: &mut Vec<Field>) {
    let labels = || Field::of("security", Node::List(vec![Node::Pseudonymised]));
    if !fields
        .iter()
        .any(|field| field.name == "meta" && field.node.is_some())
    {
        fields.retain(|field| field.name != "meta");
        fields.reserve_exact(1);
        fields.push(Field::of("meta", Node::Object(vec![labels()])));
        return;
    }
    let meta = fields.iter_mut().find(|field| field.name == "meta");
    let Some(Node::Object(meta)) = meta.and_then(|field| field.node.as_mut()) else {
        return;
    };
    let security = meta.iter_mut().find(|field| field.name == "security");
    match security.and_then(|field| field.node.as_mut()) {
        Some(Node::List(codings)) => {
            if !codings.iter().any(is_ours) {
                codings.push(Node::Pseudonymised);
            }
        }
        _ => {
            meta.retain(|field| field.name != "security");
            meta.push(labels());
        }
    }
}
