//! FHIR messages: what is read and what is returned.

#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as the tests do")]

mod any;
mod canary;
mod close;
mod read;

use lethe_core::{Identifier, NoteEvent};
use lethe_format::{Diagnosis, FhirConfig, Format};
use serde_json::Value;

const DOCUMENT: &str = include_str!("samples/document.json");
const DOCUMENT_REFERENCE: &str = include_str!("samples/document_reference.json");
const DIAGNOSTIC_REPORT: &str = include_str!("samples/diagnostic_report.json");
const TRANSACTION: &str = include_str!("samples/transaction.json");
const MESSAGE: &str = include_str!("samples/message.json");
const SAMPLES: [&str; 5] = [
    DOCUMENT,
    DOCUMENT_REFERENCE,
    DIAGNOSTIC_REPORT,
    TRANSACTION,
    MESSAGE,
];

fn try_read(json: &str) -> Result<NoteEvent, Diagnosis> {
    let config = FhirConfig {
        keep_message: true,
        ..FhirConfig::default()
    };
    config.build().read(json.as_bytes())
}

fn read(json: &str) -> NoteEvent {
    try_read(json).unwrap()
}

/// Returns the message with unchanged narrative, and identifiers from `replace`.
fn close(event: &NoteEvent, replace: impl Fn(&Identifier) -> String) -> Value {
    let message = &event.enclosed.as_ref().unwrap().0;
    let parts: Vec<&str> = message
        .parts()
        .iter()
        .map(|part| part.of(event.text.expose()))
        .collect();
    close_with(event, &parts, replace)
}

/// Does the same with other narrative.
fn close_with(event: &NoteEvent, parts: &[&str], replace: impl Fn(&Identifier) -> String) -> Value {
    let message = &event.enclosed.as_ref().unwrap().0;
    let identifiers: Vec<String> = message.identifiers().iter().map(replace).collect();
    let identifiers: Vec<&str> = identifiers.iter().map(String::as_str).collect();
    serde_json::from_slice(&message.close(parts, &identifiers).unwrap()).unwrap()
}

fn tag(identifier: &Identifier) -> String {
    format!("[{}]", identifier.label)
}

fn same(identifier: &Identifier) -> String {
    identifier.value.expose().to_owned()
}
