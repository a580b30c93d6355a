//! HL7 v2 messages: what is read and what is returned.

#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as the tests do")]

mod any;
mod canary;
mod closing;
mod facts;
mod reading;

use lethe_core::{Envelope, NoteEvent};
use lethe_format::{Diagnosis, Format, FormatConfig, PayloadError};

/// Returns a decoder that keeps messages, with further settings.
fn format(settings: &str) -> Box<dyn Format> {
    let config = format!("kind = \"hl7v2\"\nkeep_message = true\n{settings}");
    let config: FormatConfig = toml::from_str(&config).unwrap();
    config.build().unwrap()
}

fn read(message: impl AsRef<[u8]>) -> NoteEvent {
    format("").read(message.as_ref()).unwrap()
}

fn refused(message: impl AsRef<[u8]>) -> (Option<&'static str>, PayloadError) {
    let Diagnosis { field, problem, .. } = format("").read(message.as_ref()).unwrap_err();
    (field, problem)
}

/// Returns a message of type `kind` with these segments.
fn message(kind: &str, segments: &[&str]) -> String {
    let head = format!("MSH|^~\\&|SCRIBE|NORTHGATE|STORE|NORTHGATE|20240501083000||{kind}|C-1|P|2.5.1");
    let mut all = vec![head.as_str()];
    all.extend(segments);
    all.join("\r") + "\r"
}

/// Returns a segment with these fields by number.
fn with(name: &str, fields: &[(usize, &str)]) -> String {
    let last = fields.iter().map(|(field, _)| *field).max().unwrap();
    let mut all = vec![name.to_owned()];
    all.extend((1..=last).map(|n| {
        let found = fields.iter().find(|(field, _)| *field == n);
        found.map_or_else(String::new, |(_, value)| (*value).to_owned())
    }));
    all.join("|")
}

/// Returns an ORU with one OBX with this OBX-2 and OBX-5.
fn observation(kind: &str, value: &str) -> String {
    message(
        "ORU^R01",
        &[&format!("OBX|1|{kind}|11506-3^Note^LN|1|{value}||||||F")],
    )
}

/// Returns its text.
fn text(message: impl AsRef<[u8]>) -> String {
    read(message).text.expose().to_owned()
}

fn envelope(event: &NoteEvent) -> &dyn Envelope {
    &*event.enclosed.as_ref().unwrap().0
}

fn identifiers(event: &NoteEvent) -> Vec<(&'static str, &str)> {
    let all = envelope(event).identifiers().iter();
    all.map(|one| (one.label, one.value.expose())).collect()
}

fn parts(event: &NoteEvent) -> Vec<&str> {
    let all = envelope(event).parts().iter();
    all.map(|part| part.of(event.text.expose())).collect()
}

/// Returns the message with identifiers from `replace` and parts from `part`.
fn close(
    event: &NoteEvent,
    part: impl Fn(&str) -> String,
    replace: impl Fn(&str, &str) -> String,
) -> Vec<u8> {
    let parts: Vec<String> = parts(event).into_iter().map(part).collect();
    let all: Vec<String> = identifiers(event)
        .into_iter()
        .map(|(label, value)| replace(label, value))
        .collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    envelope(event).close(&parts, &all).unwrap()
}

/// Returns the message with its original content.
fn unchanged(event: &NoteEvent) -> Vec<u8> {
    close(event, str::to_owned, |_, value| value.to_owned())
}

/// Returns the message with its labels, as text.
fn tagged(event: &NoteEvent) -> String {
    let bytes = close(event, |part| part.to_owned(), |label, _| format!("[{label}]"));
    String::from_utf8(bytes).unwrap()
}

/// Returns the segment with that name.
fn segment<'a>(message: &'a str, name: &str) -> &'a str {
    message.split('\r').find(|line| line.starts_with(name)).unwrap()
}
