//! Tables of a backfill with hostile content.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lethe_connectors::tables::{Cell, Tables, TablesConfig};
use lethe_core::{Engine, NoteEvent};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::parsers::{Parser, Reading, parser};
use crate::payloads;

/// A folder with one table, removed together with its reader.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// The folder for the next table.
fn folder() -> Folder {
    static MADE: AtomicUsize = AtomicUsize::new(0);
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    let name = format!("lethe-hostile-{}-table-{number}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).expect("the folder for temporary files is writable");
    Folder(folder)
}

/// Writes a table and opens it.
fn open(ending: &str, table: Vec<u8>, runtime: &Arc<Runtime>) -> Reading {
    let folder = folder();
    let bytes = match ending {
        "csv.gz" => gzip(&table),
        _ => table,
    };
    std::fs::write(folder.0.join(format!("table.{ending}")), bytes).expect("the folder is writable");
    let config = json!({
        "input": {"kind": "folder", "path": folder.0},
        "columns": {"text": ["text"], "note_id": "id", "keep": ["kind"]},
    });
    let config: TablesConfig = serde_json::from_value(config).expect("these settings are valid");
    let tables = Tables::open(&config, runtime.handle().clone()).expect("the folder is there");
    let runtime = Arc::clone(runtime);
    Box::new(move || {
        // The store reads on the runtime, from the folder.
        let _held = (&runtime, &folder);
        read(&tables)
    })
}

/// Returns the notes of all rows, one slab after another; keeps only the last slab's, as a backfill does.
fn read(tables: &Tables) -> Vec<NoteEvent> {
    let mut notes = Vec::new();
    let Ok(found) = tables.units(None) else {
        return notes;
    };
    for unit in &found.units {
        let Ok((shape, slabs)) = tables.read(unit, 0) else {
            continue;
        };
        for slab in slabs {
            let Ok(slab) = slab else { break };
            notes.clear();
            let columns = shape.values(&slab.record);
            let texts = shape.leaves().iter().zip(&columns);
            for (_, values) in texts.filter(|(leaf, _)| matches!(leaf.what, Cell::Text)) {
                for at in 0..values.len() {
                    let event = values.row(at).and_then(|row| shape.event(&slab.record, row).ok());
                    let text = values.text(at).ok().flatten();
                    notes.extend(event.zip(text).map(|(event, text)| NoteEvent {
                        text: text.into(),
                        ..event
                    }));
                }
            }
        }
    }
    notes
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("memory takes every byte");
    encoder.finish().expect("memory takes every byte")
}

/// CSV, CSV in gzip, JSON lines and Parquet. For compressed tables the decompressed bytes count.
pub(crate) fn parsers(engine: &Arc<Engine>) -> anyhow::Result<Vec<Parser>> {
    let runtime = Arc::new(
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?,
    );
    let tables = [
        ("csv", "csv", payloads::csv()),
        ("csv in gzip", "csv.gz", payloads::csv()),
        ("json lines", "jsonl", payloads::jsonl()),
        ("parquet", "parquet", payloads::parquet()),
    ];
    let parsers = tables.into_iter().map(|(name, ending, payloads)| {
        let runtime = Arc::clone(&runtime);
        parser(name, payloads, engine, move |table| open(ending, table, &runtime))
    });
    Ok(parsers.collect())
}
