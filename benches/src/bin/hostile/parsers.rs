//! Parsers over hostile payloads.

use std::path::Path;
use std::sync::Arc;

use lethe_connectors::format::{Format, FormatConfig, html_to_text, pdf_to_text, rtf_to_text};

use crate::measure::{Make, Subject, Work, timed};
use crate::payloads::{self, Payload};

/// The largest text that a document may become.
const MAX_TEXT: usize = 64 << 20;

/// A parser's payloads, the ordinary one first.
fn subject(
    name: &str,
    payloads: Vec<(&'static str, Payload)>,
    read: impl Fn(&[u8]) + Clone + 'static,
) -> Subject {
    let mut made = payloads.into_iter().map(|(shape, payload)| {
        let read = read.clone();
        let make: Make = Box::new(move |size| {
            let bytes = payload(size);
            let read = read.clone();
            Work {
                bytes: bytes.len(),
                run: Box::new(move || timed(|| read(&bytes))),
            }
        });
        (shape.to_owned(), make)
    });
    let (_, plain) = made.next().expect("each parser has an ordinary payload");
    Subject {
        name: format!("parser {name}"),
        scale: 1,
        plain,
        shapes: made.collect(),
    }
}

fn format(
    name: &str,
    config: serde_json::Value,
    payloads: Vec<(&'static str, Payload)>,
) -> anyhow::Result<Subject> {
    let format: Arc<dyn Format> = serde_json::from_value::<FormatConfig>(config)?.build()?.into();
    // What is refused must be refused as cheaply.
    Ok(subject(name, payloads, move |bytes| {
        drop(std::hint::black_box(format.read(bytes)))
    }))
}

/// Every parser that stands alone.
pub(crate) fn subjects(wanted: &dyn Fn(&str) -> bool) -> anyhow::Result<Vec<Subject>> {
    use serde_json::json;
    let folder = std::env::temp_dir().join(format!("lethe-hostile-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let written = |name: &str, text: &str| -> anyhow::Result<String> {
        let path: &Path = &folder.join(name);
        std::fs::write(path, text)?;
        Ok(path.display().to_string())
    };
    let avro = json!({"kind": "avro", "schema_file": written("note.avsc", payloads::AVRO_SCHEMA)?});
    let protobuf = json!({"kind": "protobuf", "schema_file": written("note.proto", payloads::PROTO_SCHEMA)?, "message": "Note"});
    let mut all = vec![
        format("json", json!({"kind": "json"}), payloads::json())?,
        format(
            "hl7v2",
            json!({"kind": "hl7v2", "keep_message": true}),
            payloads::hl7v2(),
        )?,
        format(
            "fhir",
            json!({"kind": "fhir", "keep_message": true}),
            payloads::fhir(),
        )?,
        format(
            "cda",
            json!({"kind": "cda", "keep_message": true}),
            payloads::cda(),
        )?,
        format("avro", avro, payloads::avro())?,
        format("protobuf", protobuf, payloads::protobuf())?,
    ];
    std::fs::remove_dir_all(&folder)?;
    all.push(subject("html", payloads::html(), |bytes| {
        let text = std::str::from_utf8(bytes).expect("payloads of HTML are UTF-8");
        drop(std::hint::black_box(html_to_text(text)));
    }));
    all.push(subject("rtf", payloads::rtf(), |bytes| {
        drop(std::hint::black_box(rtf_to_text(bytes)))
    }));
    all.push(subject("pdf", payloads::pdf(), |bytes| {
        drop(std::hint::black_box(pdf_to_text(bytes, MAX_TEXT)));
    }));
    all.retain(|subject| wanted(&subject.name));
    Ok(all)
}
