//! Parsers on hostile payloads.

use std::path::Path;
use std::sync::Arc;

use lethe_connectors::format::{Format, FormatConfig, html_to_text, pdf_to_text, rtf_to_text};
use lethe_core::{
    Action, Carried, Engine, LabelSet, Merging, NoteBatch, NoteEvent, Record, Redactor, Voting,
};
use lethe_dictionaries::Dictionary;
use lethe_taggers::registry::default_rules;

use crate::measure::{Make, Subject, Work, timed};
use crate::payloads::{self, Payload};
use crate::tables;

/// Maximum size of a document's text.
const MAX_TEXT: usize = 64 << 20;

/// A payload that is ready to be read; each call reads it once. A refused one returns nothing.
pub(crate) type Reading = Box<dyn Fn() -> Vec<NoteEvent>>;
/// Prepares a payload of about this many bytes: returns its size, and its reader.
type Open = Arc<dyn Fn(usize) -> (usize, Reading)>;

/// The payloads of a format.
pub(crate) struct Parser {
    /// Only the parser.
    pub(crate) alone: Subject,
    /// The whole cost of an ordinary message.
    pub(crate) whole: Make,
    /// Hostile messages with the whole work: the parser, and the engine of the rule members on their notes.
    pub(crate) messages: Subject,
}

/// The engine of the rule members.
fn engine_of_rules() -> anyhow::Result<Arc<Engine>> {
    let labels = Arc::new(LabelSet::i2b2_2014());
    let dictionary = Dictionary::builtin();
    let rules = default_rules()
        .iter()
        .map(|config| config.build(&labels, &dictionary))
        .collect::<Result<Vec<_>, _>>()?;
    let tag = Redactor::new(&labels, Action::Tag, Carried::default());
    let voting = Arc::new(Voting::default());
    Ok(Arc::new(Engine::new(
        labels,
        rules,
        voting,
        Merging::default(),
        tag,
    )))
}

/// Reads a payload.
fn reading(open: &Open) -> Make {
    let open = Arc::clone(open);
    Box::new(move |size| {
        let (bytes, read) = open(size);
        Work {
            bytes,
            run: Box::new(move || timed(|| drop(std::hint::black_box(read())))),
        }
    })
}

/// Reads a payload, and redacts its notes.
fn redacting(open: &Open, engine: &Arc<Engine>) -> Make {
    let (open, engine) = (Arc::clone(open), Arc::clone(engine));
    Box::new(move |size| {
        let (bytes, read) = open(size);
        let engine = Arc::clone(&engine);
        let run = move || {
            timed(|| {
                let notes = read().into_iter().map(Record::Note);
                let batch = NoteBatch::from_records(notes).expect("the notes are small");
                engine.process(&batch).expect("tags need nothing that is away")
            })
        };
        Work {
            bytes,
            run: Box::new(run),
        }
    })
}

/// The payloads of a parser, with the ordinary one first. `open` prepares one outside of the measured time.
pub(crate) fn parser(
    name: &str,
    payloads: Vec<(&'static str, Payload)>,
    engine: &Arc<Engine>,
    open: impl Fn(Vec<u8>) -> Reading + 'static,
) -> Parser {
    let open = Arc::new(open);
    let opens = payloads.into_iter().map(|(shape, payload)| {
        let open = Arc::clone(&open);
        let opened: Open = Arc::new(move |size| {
            let payload = payload(size);
            (payload.len(), open(payload))
        });
        (shape.to_owned(), opened)
    });
    let opens: Vec<(String, Open)> = opens.collect();
    let (_, plain) = opens.first().expect("each parser has an ordinary payload");
    let shapes = |make: &dyn Fn(&Open) -> Make| -> Vec<(String, Make)> {
        let hostile = opens.iter().skip(1);
        hostile.map(|(shape, open)| (shape.clone(), make(open))).collect()
    };
    Parser {
        alone: Subject {
            name: format!("parser {name}"),
            scale: 1,
            plain: reading(plain),
            shapes: shapes(&reading),
        },
        whole: redacting(plain, engine),
        messages: Subject {
            name: format!("message {name}"),
            scale: 4,
            plain: redacting(plain, engine),
            shapes: shapes(&|open| redacting(open, engine)),
        },
    }
}

/// Returns every parser without an engine.
pub(crate) fn subjects(wanted: &dyn Fn(&str) -> bool) -> anyhow::Result<Vec<Parser>> {
    use serde_json::json;
    let engine = engine_of_rules()?;
    let folder = std::env::temp_dir().join(format!("lethe-hostile-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let written = |name: &str, text: &str| -> anyhow::Result<String> {
        let path: &Path = &folder.join(name);
        std::fs::write(path, text)?;
        Ok(path.display().to_string())
    };
    let avro = json!({"kind": "avro", "schema_file": written("note.avsc", payloads::AVRO_SCHEMA)?});
    let protobuf = json!({"kind": "protobuf", "schema_file": written("note.proto", payloads::PROTO_SCHEMA)?, "message": "Note"});
    let kept = |kind: &str| json!({"kind": kind, "keep_message": true});
    let format = |name: &str, config, payloads| -> anyhow::Result<Parser> {
        let format: Arc<dyn Format> = serde_json::from_value::<FormatConfig>(config)?.build()?.into();
        Ok(parser(name, payloads, &engine, move |payload| {
            let format = Arc::clone(&format);
            // A refusal must be as cheap.
            Box::new(move || format.read(&payload).into_iter().collect())
        }))
    };
    let mut all = vec![
        format("json", json!({"kind": "json"}), payloads::json())?,
        format("hl7v2", kept("hl7v2"), payloads::hl7v2())?,
        format("fhir", kept("fhir"), payloads::fhir())?,
        format("cda", kept("cda"), payloads::cda())?,
        format("avro", avro, payloads::avro())?,
        format("protobuf", protobuf, payloads::protobuf())?,
    ];
    std::fs::remove_dir_all(&folder)?;
    let mut document = |name: &str, payloads, read: fn(&[u8]) -> Option<String>| {
        let parser = parser(name, payloads, &engine, move |payload| {
            Box::new(move || {
                let text = read(&payload);
                text.into_iter()
                    .map(|text| NoteEvent {
                        text: text.into(),
                        ..NoteEvent::default()
                    })
                    .collect()
            })
        });
        all.push(parser);
    };
    document("html", payloads::html(), |bytes| {
        let text = std::str::from_utf8(bytes).expect("payloads of HTML are UTF-8");
        Some(html_to_text(text))
    });
    document("rtf", payloads::rtf(), |bytes| rtf_to_text(bytes).ok());
    document("pdf", payloads::pdf(), |bytes| pdf_to_text(bytes, MAX_TEXT).ok());
    all.extend(tables::parsers(&engine)?);
    all.retain(|parser| wanted(&parser.alone.name) || wanted(&parser.messages.name));
    Ok(all)
}
