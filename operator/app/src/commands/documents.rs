//! Runs documents through the engine, in order, on all cores; shared by `redact` and `annotate`.

use std::fs::File;
use std::io::{self, BufWriter, Read as _, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;

use anyhow::Context as _;
use lethe_connectors::files::{Document, Documents, DocumentsConfig};
use lethe_core::{Engine, NoteBatch, Outcome, Record, Unredacted};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::config::{BuiltEngine, Config, EngineConfig, load};
use crate::interrupt::{self, interrupted};
use crate::progress::Progress;

/// Documents per chunk of work.
const CHUNK: usize = 32;

/// Changes a document's JSON object: receives the engine, the batch with the note, its row, its outcome, and
/// the object.
pub(crate) type Change<'a> =
    dyn Fn(&Engine, &NoteBatch, usize, &Outcome, &mut Map<String, Value>) -> anyhow::Result<()> + Sync + 'a;

/// Returns the engine of a configuration file or of a bundle, or the default one.
pub(crate) fn built(
    config: Option<&Path>,
    bundle: Option<&Path>,
    policy: Option<&PathBuf>,
) -> anyhow::Result<BuiltEngine> {
    let config = match config {
        Some(path) => load(path)?,
        None => Config {
            engine: EngineConfig {
                bundle: bundle.map(Path::to_owned),
                ..EngineConfig::default()
            },
            ..Config::default()
        },
    };
    config.with_policy(policy)?.engine.build()
}

/// Reads a file as text, or standard input for `-`.
pub(crate) fn read_text(path: &Path) -> anyhow::Result<String> {
    let name = path.display();
    let mut bytes = Vec::new();
    let read = match path == Path::new("-") {
        true => io::stdin().lock().read_to_end(&mut bytes),
        false => File::open(path).and_then(|mut file| file.read_to_end(&mut bytes)),
    };
    read.with_context(|| format!("cannot read {name}"))?;
    String::from_utf8(bytes)
        .map_err(|error| anyhow::anyhow!("{name}: not UTF-8 from byte {}", error.utf8_error().valid_up_to()))
}

/// Creates a file, or uses standard output for `-`.
pub(crate) fn create(path: &Path) -> anyhow::Result<Box<dyn Write>> {
    if path == Path::new("-") {
        return Ok(Box::new(BufWriter::new(io::stdout())));
    }
    let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(Box::new(BufWriter::with_capacity(1 << 18, file)))
}

/// Returns what messages call an output.
pub(crate) fn shown(output: &Path) -> String {
    match output == Path::new("-") {
        true => "standard output".to_owned(),
        false => output.display().to_string(),
    }
}

/// Prints a report to standard output, as JSON or as a table.
pub(crate) fn print(
    json: bool,
    report: &impl Serialize,
    table: impl FnOnce() -> String,
) -> anyhow::Result<()> {
    let mut out = create(Path::new("-"))?;
    if json {
        serde_json::to_writer_pretty(&mut out, report)?;
        writeln!(out)?;
    } else {
        out.write_all(table().as_bytes())?;
    }
    out.flush()?;
    Ok(())
}

/// Reads documents, processes and changes each, and writes it as a line of JSON, in input order.
///
/// # Errors
/// Names the file and line of the first document that cannot be read or processed. Documents before it are
/// written; that document and later ones are not.
pub(crate) fn process(
    engine: &Engine,
    input: &Path,
    output: &Path,
    change: &Change<'_>,
) -> anyhow::Result<u64> {
    let mut documents = Documents::open(input, DocumentsConfig::default())?;
    let place = shown(output);
    let mut output = create(output)?;
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let mut progress = Progress::start("documents", "documents", None);
    std::thread::scope(|scope| {
        let mut lanes = Vec::new();
        for _ in 0..workers {
            let (send, jobs) = sync_channel::<Vec<Document>>(1);
            let (give, results) = sync_channel(1);
            scope.spawn(move || {
                for documents in jobs {
                    if give.send(chunk(engine, &documents, change)).is_err() {
                        break;
                    }
                }
            });
            lanes.push((send, results));
        }
        // Chunks are distributed over the threads and collected in the same order. A reader's error waits for
        // its turn.
        let (mut sent, mut taken, mut end) = (0, 0, None);
        loop {
            while end.is_none() && sent - taken < workers {
                let mut next = Vec::with_capacity(CHUNK);
                while next.len() < CHUNK && end.is_none() {
                    if interrupt::is_requested() {
                        end = Some(Ok(()));
                        break;
                    }
                    match documents.next() {
                        Some(Ok(document)) => next.push(document),
                        Some(Err(error)) => end = Some(Err(error)),
                        None => end = Some(Ok(())),
                    }
                }
                lanes[sent % workers]
                    .0
                    .send(next)
                    .ok()
                    .context("a worker ended early")?;
                sent += 1;
            }
            if sent == taken {
                break;
            }
            let (bytes, count, failed) = lanes[taken % workers].1.recv().context("a worker ended early")?;
            taken += 1;
            output.write_all(&bytes)?;
            progress.add(count);
            if let Some(error) = failed {
                output.flush()?;
                return Err(error);
            }
        }
        output.flush()?;
        end.unwrap_or(Ok(())).map_err(anyhow::Error::from)
    })?;
    let count = progress.finish();
    if interrupt::is_requested() {
        return Err(interrupted(format!(
            "{count} documents are complete in {place}; to continue, process those after them"
        )));
    }
    Ok(count)
}

/// Returns the lines of a chunk's documents, their number, and the error that ended them early.
fn chunk(
    engine: &Engine,
    documents: &[Document],
    change: &Change<'_>,
) -> (Vec<u8>, u64, Option<anyhow::Error>) {
    let mut bytes = Vec::new();
    let mut count = 0;
    let mut each = || {
        let batch = NoteBatch::from_records(documents.iter().map(|document| &document.record))?;
        let outcomes = engine.decide(&batch);
        for (row, (document, outcome)) in documents.iter().zip(&outcomes).enumerate() {
            let at = document.record.at();
            let place = || format!("{}, line {}", at.topic, at.offset + 1);
            if let Err(code) = outcome {
                anyhow::bail!("{}: {}", place(), explain(Unredacted::Quarantined(*code)));
            }
            let mut object = object(document).with_context(place)?;
            change(engine, &batch, row, outcome, &mut object).with_context(place)?;
            serde_json::to_writer(&mut bytes, &object)?;
            bytes.push(b'\n');
            count += 1;
        }
        Ok(())
    };
    let failed = each().err();
    (bytes, count, failed)
}

/// Returns the document as a JSON object: its line, or id and text of a plain text file.
fn object(document: &Document) -> anyhow::Result<Map<String, Value>> {
    if !document.line.is_empty() {
        // The reader has parsed it before; the message of a second failure would hold no more than a
        // position.
        return serde_json::from_str(document.line.expose())
            .map_err(|error| anyhow::anyhow!("no JSON object at column {}", error.column()));
    }
    let Record::Note(event) = &document.record else {
        anyhow::bail!("the document could not be read")
    };
    let mut object = Map::new();
    object.insert("doc_id".to_owned(), event.note_id.expose().into());
    object.insert("text".to_owned(), event.text.expose().into());
    Ok(object)
}

/// Explains a code to the user of a single file.
pub(crate) fn explain(why: Unredacted) -> String {
    let why = match why {
        Unredacted::Quarantined(code) => code.name(),
        Unredacted::Unavailable(why) => why,
    };
    format!("the note could not be redacted ({why}); nothing of it was written")
}
