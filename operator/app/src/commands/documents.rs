//! Runs documents through the engine, in order, on all cores; shared by `redact` and `annotate`.

use std::fs::File;
use std::io::{self, BufWriter, Read as _, Write};
use std::path::Path;
use std::sync::mpsc::sync_channel;

use anyhow::Context as _;
use lethe_connectors::files::{Document, Documents};
use lethe_core::{Engine, NoteBatch, Outcome, Record, Review, Unredacted};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::cli::EngineArgs;
use crate::config::{BuiltEngine, Config, load};
use crate::interrupt::{self, interrupted};

/// Documents per chunk of work.
const CHUNK: usize = 32;

/// One document's note and its decisions.
pub(crate) struct Decided<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) batch: &'a NoteBatch,
    /// Its row in the batch.
    pub(crate) row: usize,
    pub(crate) outcome: &'a Outcome,
    pub(crate) review: Review,
}

/// Changes a document's JSON object.
pub(crate) type Change<'a> = dyn Fn(&Decided<'_>, &mut Map<String, Value>) -> anyhow::Result<()> + Sync + 'a;

/// Returns the engine of a configuration file or of a bundle, or the default one.
pub(crate) fn built(args: &EngineArgs) -> anyhow::Result<BuiltEngine> {
    let built = configured(args)?.engine.build()?;
    built.prepare()?;
    Ok(built)
}

/// Returns the configuration of a file, or the default one with the bundles, and with the policy of the command line.
pub(crate) fn configured(args: &EngineArgs) -> anyhow::Result<Config> {
    let config = match &args.config {
        Some(path) => load(path)?,
        None => Config {
            engine: args.bundles.engine()?,
            ..Config::default()
        },
    };
    config.with_policy(args.policy.as_ref())
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

/// Reads documents, processes and changes each, and writes it as a line of JSON, in input order, on `workers`
/// threads.
///
/// # Errors
/// Names the file and line of the first document that cannot be read or processed. Documents before it are
/// written; that document and later ones are not.
pub(crate) fn process(
    engine: &Engine,
    mut documents: Documents,
    output: &mut dyn Write,
    workers: usize,
    progress: &mut dyn FnMut(u64),
    change: &Change<'_>,
) -> anyhow::Result<()> {
    let mut complete = 0;
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
            progress(count);
            complete += count;
            if let Some(error) = failed {
                output.flush()?;
                return Err(error);
            }
        }
        output.flush()?;
        end.unwrap_or(Ok(())).map_err(anyhow::Error::from)
    })?;
    if interrupt::is_requested() {
        return Err(interrupted(format!(
            "{complete} documents are complete in the output; to continue, process those after them"
        )));
    }
    Ok(())
}

/// Returns the number of threads that the machine can run at the same time.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
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
        let outcomes = engine.decide_and_review(&batch);
        for (row, (document, (outcome, review))) in documents.iter().zip(&outcomes).enumerate() {
            let at = document.record.at();
            let place = || format!("{}, line {}", at.topic, at.offset + 1);
            if let Err(code) = outcome {
                anyhow::bail!("{}: {}", place(), explain(Unredacted::Quarantined(*code)));
            }
            let mut object = object(document).with_context(place)?;
            let decided = Decided {
                engine,
                batch: &batch,
                row,
                outcome,
                review: *review,
            };
            change(&decided, &mut object).with_context(place)?;
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
