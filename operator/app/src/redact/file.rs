//! Redacts one file: the list of kinds and their treatment.

use std::io::{Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

use lethe_connectors::files::{Documents, DocumentsConfig, Packing, docx_to_text};
use lethe_connectors::format::{DocumentFile, MAX_NOTE_BYTES, PayloadError};
use lethe_connectors::tables::TableFile;
use lethe_core::NoteBatch;

use super::Job;
use super::counts::Counts;
use super::inputs::{Found, Inputs};
use super::item::{Content, Item};
use super::kind::FileKind;
use super::{messages, table};
use crate::commands::documents::{explain, process};
use crate::exit::usage;

/// Redacts an item. The error says why, without the item's name and without text of it.
///
/// # Errors
/// If the item cannot be read or redacted. What was written until then must be discarded.
pub(super) fn redact(
    job: &Job,
    item: &Item,
    output: &mut (dyn Write + Send),
    progress: &mut dyn FnMut(u64),
) -> anyhow::Result<Counts> {
    let content = item
        .open(&job.read)
        .map_err(|error| anyhow::anyhow!("cannot be read: {error}"))?;
    match item.kind {
        FileKind::Text | FileKind::Html | FileKind::Rtf | FileKind::Pdf | FileKind::Docx | FileKind::Eml => {
            text(job, &note_of(item.kind, content)?, output, progress)
        }
        FileKind::Jsonl => json_lines(job, &item.name, content, output, progress),
        FileKind::Csv | FileKind::Tsv | FileKind::Parquet => {
            table::redact(job, &item.name, open_table(item, content)?, output, progress)
        }
        FileKind::Hl7v2 | FileKind::Fhir | FileKind::Ccda => {
            messages::redact(job, item.kind, content, output, progress)
        }
    }
}

/// Reads the whole content.
fn whole(content: Box<dyn Read + Send>) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = content.take(MAX_NOTE_BYTES as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| anyhow::anyhow!("cannot be read: {error}"))?;
    if bytes.len() > MAX_NOTE_BYTES {
        anyhow::bail!("is larger than a note may be ({} MiB)", MAX_NOTE_BYTES >> 20);
    }
    Ok(bytes)
}

fn plain(content: Box<dyn Read + Send>) -> anyhow::Result<String> {
    String::from_utf8(whole(content)?)
        .map_err(|error| anyhow::anyhow!("not UTF-8 from byte {}", error.utf8_error().valid_up_to()))
}

fn refused(why: PayloadError) -> anyhow::Error {
    anyhow::anyhow!("{why}")
}

/// Opens a table. Its errors name it `the table`, since the caller names the file.
///
/// # Errors
/// If it cannot be read, or is no table.
pub(crate) fn open_table(item: &Item, mut content: Box<dyn Read + Send>) -> anyhow::Result<TableFile> {
    let name = "the table";
    match (item.kind, &item.content, item.packing) {
        (FileKind::Csv, ..) => Ok(TableFile::csv(name, content, None, MAX_NOTE_BYTES)?),
        (FileKind::Tsv, ..) => Ok(TableFile::csv(name, content, Some(b'\t'), MAX_NOTE_BYTES)?),
        (FileKind::Parquet, Content::File(path), Packing::None) => {
            let file =
                std::fs::File::open(path).map_err(|error| anyhow::anyhow!("cannot be read: {error}"))?;
            Ok(TableFile::parquet(name, file)?)
        }
        (FileKind::Parquet, Content::Object(object), Packing::None) => {
            Ok(TableFile::parquet(name, object.remote())?)
        }
        // Parquet is read from its end: compressed, or part of an archive, it is held in memory.
        (FileKind::Parquet, ..) => {
            let mut bytes = Vec::new();
            content
                .read_to_end(&mut bytes)
                .map_err(|error| anyhow::anyhow!("cannot be read: {error}"))?;
            Ok(TableFile::parquet(name, bytes::Bytes::from(bytes))?)
        }
        _ => anyhow::bail!("is no table; give a CSV, TSV or Parquet file"),
    }
}

/// Ends the last line.
fn lines(mut text: String) -> String {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// Returns the text of a file that is one note.
fn note_of(kind: FileKind, content: Box<dyn Read + Send>) -> anyhow::Result<String> {
    let document = match kind {
        FileKind::Text => return plain(content),
        FileKind::Docx => {
            return docx_to_text(Arc::from(whole(content)?))
                .map(lines)
                .map_err(refused);
        }
        FileKind::Html => DocumentFile::Html,
        FileKind::Rtf => DocumentFile::Rtf,
        FileKind::Pdf => DocumentFile::Pdf,
        FileKind::Eml => DocumentFile::Email,
        _ => anyhow::bail!("holds several notes; give a file with one"),
    };
    document.text(&whole(content)?).map(lines).map_err(refused)
}

/// Reads a file that is one note, or standard input for `-`.
///
/// # Errors
/// If it cannot be read, or holds several notes.
pub(crate) fn read_note(path: &Path, format: Option<FileKind>) -> anyhow::Result<String> {
    let item = only_item(path, format)?;
    read_item(&item)
}

/// Reads an item that is one note.
///
/// # Errors
/// If it cannot be read, or holds several notes.
pub(crate) fn read_item(item: &Item) -> anyhow::Result<String> {
    let content = item
        .open(&Arc::default())
        .map_err(|error| anyhow::anyhow!("cannot be read: {error}"))?;
    note_of(item.kind, content)
}

/// Returns the only file of a path.
///
/// # Errors
/// If it cannot be read, or is a folder or an archive.
pub(crate) fn only_item(path: &Path, format: Option<FileKind>) -> anyhow::Result<Item> {
    let inputs = Inputs::list(&[path.to_owned()], &[], format, None)?;
    if inputs.may_be_several() {
        return Err(usage(format!(
            "{}: is a folder or an archive; give one file",
            path.display()
        )));
    }
    let mut found = None;
    inputs.each(&mut |one| {
        found = Some(one);
        true
    });
    match found {
        Some(Found::Item(item)) => Ok(item),
        Some(Found::Bad(_, why)) => anyhow::bail!(why),
        None => anyhow::bail!("there is no file"),
    }
}

/// Redacts one note.
fn text(
    job: &Job,
    note: &str,
    output: &mut (dyn Write + Send),
    progress: &mut dyn FnMut(u64),
) -> anyhow::Result<Counts> {
    let engine = &job.built.engine;
    let batch = NoteBatch::from_texts([note])?;
    let mut counts = Counts::default();
    if let Some((outcome, review)) = engine.decide_and_review(&batch).first() {
        let redacted = engine
            .redact(&batch, 0, outcome)
            .map_err(|why| anyhow::anyhow!(explain(why)))?;
        counts.note(
            (engine, job.terms.as_ref()),
            &batch,
            0,
            outcome,
            *review,
            &redacted,
        );
        output.write_all(redacted.text.as_bytes())?;
        output.flush()?;
    }
    progress(1);
    Ok(counts)
}

/// Redacts the `text` of each document.
fn json_lines(
    job: &Job,
    name: &str,
    content: Box<dyn Read + Send>,
    output: &mut (dyn Write + Send),
    progress: &mut dyn FnMut(u64),
) -> anyhow::Result<Counts> {
    let reader = std::io::BufReader::with_capacity(1 << 18, content);
    let documents = Documents::jsonl(reader, name, DocumentsConfig::default())?;
    let counts = Mutex::new(Counts::default());
    process(
        &job.built.engine,
        documents,
        output,
        job.workers,
        progress,
        &|decided, document| {
            let redacted = decided
                .engine
                .redact(decided.batch, decided.row, decided.outcome)
                .map_err(|code| anyhow::anyhow!(explain(code)))?;
            let mut one = Counts::default();
            one.note(
                (decided.engine, job.terms.as_ref()),
                decided.batch,
                decided.row,
                decided.outcome,
                decided.review,
                &redacted,
            );
            if let Ok(mut counts) = counts.lock() {
                counts.add(&one);
            }
            *document = job.gate.pass(document, redacted.text);
            Ok(())
        },
    )?;
    Ok(counts.into_inner().unwrap_or_default())
}
