//! Opens messages and closes them again, so that a script can look at what comes back.
//!
//! ```text
//! close KIND [REPLACEMENTS] < message > closed message
//! close KIND --lines [REPLACEMENTS] < JSON strings > JSON objects
//! ```
//!
//! `KIND` is a format's name (`hl7v2`); `REPLACEMENTS` a JSON file that maps an identifier's text to what is written in
//! its place, there and in the narrative. An identifier that is not in it becomes its label in brackets. With `--lines`
//! each line of the input is one message as a JSON string, and each line of the output an object: `event`, `text`,
//! `parts`, `identifiers` (pairs of label and value), `known`, `closed`; or `error`.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{Read, Write};

use lethe_core::{Envelope, NoteEvent};
use lethe_format::FormatConfig;
use serde_json::{Value, json};

type Replacements = BTreeMap<String, String>;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let lines = arguments.iter().position(|argument| argument == "--lines");
    if let Some(at) = lines {
        arguments.remove(at);
    }
    let kind = arguments
        .first()
        .ok_or("which format? For instance: close hl7v2")?;
    let config: FormatConfig = serde_json::from_value(json!({"kind": kind, "keep_message": true}))?;
    let format = config.build()?;
    let replacements = match arguments.get(1) {
        Some(file) => serde_json::from_str(&std::fs::read_to_string(file)?)?,
        None => Replacements::new(),
    };
    let mut input = Vec::new();
    std::io::stdin().read_to_end(&mut input)?;
    let mut out = std::io::stdout().lock();
    if lines.is_none() {
        let event = format.read(&input)?;
        out.write_all(&closed(&event, &replacements)?)?;
        return Ok(());
    }
    for line in input.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        let message: String = serde_json::from_slice(line)?;
        let result = match format.read(message.as_bytes()) {
            Ok(event) => described(&event, &replacements)?,
            Err(diagnosis) => json!({"error": diagnosis.to_string()}),
        };
        writeln!(out, "{result}")?;
    }
    Ok(())
}

fn envelope(event: &NoteEvent) -> Result<&dyn Envelope, Box<dyn Error>> {
    let enclosed = event.enclosed.as_ref().ok_or("this format keeps no message")?;
    Ok(&*enclosed.0)
}

fn parts(event: &NoteEvent) -> Result<Vec<&str>, Box<dyn Error>> {
    let parts = envelope(event)?.parts().iter();
    Ok(parts.map(|part| part.of(event.text.expose())).collect())
}

/// The message with its identifiers replaced, and in its narrative those that the file names.
fn closed(event: &NoteEvent, replacements: &Replacements) -> Result<Vec<u8>, Box<dyn Error>> {
    let envelope = envelope(event)?;
    let parts: Vec<String> = parts(event)?
        .into_iter()
        .map(|part| {
            let replace = |text: String, (old, new): (&String, &String)| text.replace(old, new);
            replacements.iter().fold(part.to_owned(), replace)
        })
        .collect();
    let identifiers: Vec<String> = envelope
        .identifiers()
        .iter()
        .map(|one| {
            let known = replacements.get(one.value.expose());
            known.cloned().unwrap_or_else(|| format!("[{}]", one.label))
        })
        .collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let identifiers: Vec<&str> = identifiers.iter().map(String::as_str).collect();
    Ok(envelope.close(&parts, &identifiers)?)
}

fn described(event: &NoteEvent, replacements: &Replacements) -> Result<Value, Box<dyn Error>> {
    let identifiers: Vec<Value> = envelope(event)?
        .identifiers()
        .iter()
        .map(|one| json!([one.label, one.value.expose()]))
        .collect();
    let known: Vec<Value> = event
        .known
        .iter()
        .map(|one| json!([format!("{:?}", one.kind), one.value.expose()]))
        .collect();
    Ok(json!({
        "event": event.kind.name(),
        "note_id": event.note_id.expose(),
        "text": event.text.expose(),
        "parts": parts(event)?,
        "identifiers": identifiers,
        "known": known,
        "closed": String::from_utf8(closed(event, replacements)?)?,
    }))
}
