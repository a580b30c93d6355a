//! Note events in Avro and Protobuf, and their schemas.
//!
//! Other encoders wrote the payloads in `golden/`, by `golden/make.py`.

#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as the tests do")]

mod any;
mod avro;
mod hostile;
mod protobuf;
mod schemas;
mod settings;

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use lethe_core::{KnownKind, NoteEvent};
use lethe_format::registry::{Language, Reference, Schema, SchemaError, Schemas, Unavailable};
use lethe_format::{Format, FormatConfig};

/// A registry in memory, which counts requests and can be unavailable.
#[derive(Default)]
struct Shelf {
    schemas: Mutex<HashMap<u32, Schema>>,
    asked: AtomicUsize,
    away: Mutex<Option<Unavailable>>,
}

impl Shelf {
    fn put(&self, id: u32, language: Language, text: &str, references: &[(&str, &str)]) {
        let references = references.iter().map(|&(name, text)| Reference {
            name: name.to_owned(),
            text: text.to_owned(),
        });
        let schema = Schema {
            language,
            text: text.to_owned(),
            references: references.collect(),
        };
        self.schemas.lock().unwrap().insert(id, schema);
    }

    fn leave(&self, why: Option<&str>) {
        *self.away.lock().unwrap() = why.map(Unavailable::new);
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }

    /// Returns the format of that configuration, with this registry.
    fn format(self: &Arc<Self>, kind: &str, config: &str) -> Box<dyn Format> {
        let config =
            format!("kind = \"{kind}\"\nregistry = {{ url = \"https://registry.example\" }}\n{config}");
        let config: FormatConfig = toml::from_str(&config).unwrap();
        let shelf = Arc::clone(self);
        config
            .build_with(&move |_| Ok(Arc::clone(&shelf) as Arc<dyn Schemas>))
            .unwrap()
    }
}

impl Schemas for Shelf {
    fn schema(&self, id: u32) -> Result<Arc<Schema>, SchemaError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        if let Some(why) = self.away.lock().unwrap().clone() {
            return Err(why.into());
        }
        let schemas = self.schemas.lock().unwrap();
        schemas
            .get(&id)
            .map(|schema| Arc::new(schema.clone()))
            .ok_or(SchemaError::NotFound)
    }
}

const NOTE_AVSC: &str = include_str!("golden/note.avsc");
const KNOWN_AVSC: &str = include_str!("golden/known.avsc");
const NOTE_PROTO: &str = include_str!("golden/note.proto");
const PEOPLE_PROTO: &str = include_str!("golden/people.proto");

/// The paths of the fields in `golden/note.avsc`.
const NOTE_FIELDS: &str = "fields = { note_id = \"meta.id\", version = \"meta.version\", authored_at = \"meta.written\", \
     event = \"meta.event\", patient_id = \"patient.number\", known = \"patient.identifiers\", text = \"body\" }";

/// The text of the notes in `golden/`.
const TEXT: &str = "Zoë Brandt seen on ward 4.\nMRN 551-20, calm. 😀\n";

fn known(event: &NoteEvent) -> Vec<(KnownKind, &str)> {
    event.known.iter().map(|k| (k.kind, k.value.expose())).collect()
}

/// Creates a file for this test, removed with the returned value.
fn file(name: &str, bytes: &[u8]) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (folder, path)
}
