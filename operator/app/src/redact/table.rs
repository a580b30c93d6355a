//! Redacts a table: its columns of free text pass the engine, and those of identifiers the policy.

use std::sync::Arc;

use anyhow::Context as _;
use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray as _;
use arrow_array::{Array as _, ArrayRef, RecordBatch, StringArray};
use std::io::Write;

use lethe_connectors::tables::{Cell, Layout, Shape, TableColumns, TableError, TableFile, Values};
use lethe_core::{LabelId, LabelSet, NoteBatch, NoteEvent, QuarantineCode, Record};

use super::Job;
use super::counts::Counts;
use crate::commands::documents::explain;
use crate::profile;

/// Texts, and their bytes, that one thread redacts at a time.
const CHUNK: (usize, usize) = (64, 1 << 20);

/// Redacts a table into one with the same columns, in the same order, with as many rows.
///
/// # Errors
/// If it cannot be read, lacks a column, or one of its rows cannot be redacted.
pub(super) fn redact(
    job: &Job,
    name: &str,
    mut table: TableFile,
    output: &mut (dyn Write + Send),
    progress: &mut dyn FnMut(u64),
) -> anyhow::Result<Counts> {
    let mut first = None;
    let columns = match &job.columns {
        Some(columns) => columns.clone(),
        None => {
            first = table.next().transpose()?;
            guess(job, name, &table, first.as_slice())?
        }
    };
    let shape = table.shape(&columns).map_err(in_options)?;
    let layout = table.layout(&shape)?;
    job.dropped(&layout.dropped());
    let mut writer = layout.writer(output)?;
    let mut counts = Counts::default();
    let mut row = 0;
    loop {
        let rows = match first.take() {
            Some(rows) => rows,
            None => match table.next().transpose()? {
                Some(rows) => rows,
                None => break,
            },
        };
        let redacted = slab(job, &shape, &layout, &rows, row, &mut counts)?;
        writer.write(&redacted)?;
        row += rows.num_rows() as u64;
        progress(rows.num_rows() as u64);
    }
    writer.finish()?;
    Ok(counts)
}

/// Returns the error of a column in the words of the command line.
fn in_options(error: TableError) -> anyhow::Error {
    let TableError::Column {
        key, column, problem, ..
    } = error
    else {
        return error.into();
    };
    let option = match key.as_str() {
        "text" => "--text-columns",
        "identifiers" => "--known",
        "keep" => "--keep",
        "patient_id" => "--patient-column",
        "note_id" => "--id-column",
        _ => return anyhow::anyhow!("--columns, key `{key}`: column `{column}` {problem}"),
    };
    anyhow::anyhow!("{option} (key `{key}`): column `{column}` {problem}")
}

/// Returns the columns of free text and of identifiers that the first rows show. No column is kept.
fn guess(job: &Job, name: &str, table: &TableFile, first: &[RecordBatch]) -> anyhow::Result<TableColumns> {
    let labels = job.built.engine.labels();
    let plan = profile::propose(table.schema(), first, labels);
    // Its names would be written and logged, and without a header they are a patient's values.
    if table.is_csv() && !plan.has_header() {
        anyhow::bail!(
            "its first line may be a row and not a header; add a header, or name the columns with --text-columns and --known"
        );
    }
    let columns = plan.without_kept();
    columns.check().map_err(|_| {
        anyhow::anyhow!("no column of free text or of identifiers was recognised; name them with --text-columns and --known")
    })?;
    // The tables of a folder are often alike.
    let guessed = plan.in_words();
    if job.is_first(&guessed) {
        tracing::warn!(
            "{name}: columns were guessed from the first rows: {guessed}; see `lethe profile`, and fix them with --columns"
        );
    }
    Ok(columns)
}

/// Redacts consecutive rows, of which `before` precede.
fn slab(
    job: &Job,
    shape: &Shape,
    layout: &Layout,
    rows: &RecordBatch,
    before: u64,
    counts: &mut Counts,
) -> anyhow::Result<RecordBatch> {
    let place = |row: usize, code: QuarantineCode| {
        anyhow::anyhow!("row {}: {}", before + row as u64 + 1, code.name())
    };
    let events = (0..rows.num_rows())
        .map(|row| shape.event(rows, row).map_err(|code| place(row, code)))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let mut leaves: Vec<ArrayRef> = Vec::new();
    for (leaf, values) in shape.leaves().iter().zip(shape.values(rows)) {
        let texts = (0..values.len())
            .map(|at| {
                let row = values.row(at).unwrap_or_default();
                values.text(at).map_err(|code| place(row, code))
            })
            .collect::<anyhow::Result<Vec<_>>>()?;
        let column = match &leaf.what {
            Cell::NoteType => {
                let carried = job.built.engine.carried();
                let kinds = texts
                    .iter()
                    .map(|text| text.as_deref().map(|kind| carried.note_type(kind).to_owned()));
                Arc::new(StringArray::from_iter(kinds)) as ArrayRef
            }
            Cell::Text => column(job, &events, &values, &texts, None, before, counts)?,
            Cell::Identifier(label) => {
                let label = label_of(job.built.engine.labels(), label)?;
                column(
                    job,
                    &events,
                    &values,
                    &texts,
                    Some((label, &leaf.path)),
                    before,
                    counts,
                )?
            }
        };
        leaves.push(column);
    }
    Ok(layout.rows(shape, rows, &leaves)?)
}

/// Returns the id of a label.
///
/// # Errors
/// If the label set does not have it.
pub(crate) fn label_of(labels: &LabelSet, name: &str) -> anyhow::Result<LabelId> {
    labels
        .by_name(name)
        .with_context(|| format!("the label set {} has no label `{name}`", labels.id()))
}

/// Redacts the values of a column, on all threads of the job, in order.
fn column(
    job: &Job,
    events: &[NoteEvent],
    values: &Values,
    texts: &[Option<String>],
    identifier: Option<(LabelId, &str)>,
    before: u64,
    counts: &mut Counts,
) -> anyhow::Result<ArrayRef> {
    let mut records: Vec<(usize, Record)> = Vec::new();
    for (at, text) in texts.iter().enumerate() {
        let (Some(text), Some(row)) = (text, values.row(at)) else {
            continue;
        };
        // An empty value stays, and costs nothing.
        if !text.is_empty() {
            let event = NoteEvent {
                text: text.as_str().into(),
                ..events[row].clone()
            };
            records.push((at, Record::Note(event)));
        }
    }
    let chunks = chunks(&records);
    let share = chunks.len().div_ceil(job.workers).max(1);
    let done = std::thread::scope(|scope| {
        let threads: Vec<_> = chunks
            .chunks(share)
            .map(|chunks| {
                scope.spawn(move || {
                    let each = chunks
                        .iter()
                        .map(|chunk| redacted(job, chunk, values, identifier, before));
                    each.collect::<anyhow::Result<Vec<_>>>()
                })
            })
            .collect();
        let each = threads
            .into_iter()
            .map(|thread| thread.join().ok().context("a worker panicked")?);
        each.collect::<anyhow::Result<Vec<_>>>()
    })?;
    let mut texts: Vec<Option<String>> = texts
        .iter()
        .map(|text| text.as_ref().filter(|text| text.is_empty()).cloned())
        .collect();
    for (new, more) in done.into_iter().flatten() {
        counts.add(&more);
        for (at, text) in new {
            texts[at] = Some(text);
        }
    }
    let mut column = StringBuilder::new();
    texts
        .iter()
        .for_each(|text| column.append_option(text.as_deref()));
    Ok(Arc::new(column.finish()))
}

/// Divides records into pieces of work.
fn chunks(records: &[(usize, Record)]) -> Vec<&[(usize, Record)]> {
    let size = |record: &Record| match record {
        Record::Note(event) => event.text.len(),
        _ => 0,
    };
    let (mut chunks, mut from, mut bytes) = (Vec::new(), 0, 0);
    for (at, (_, record)) in records.iter().enumerate() {
        bytes += size(record);
        if at + 1 - from == CHUNK.0 || bytes >= CHUNK.1 || at + 1 == records.len() {
            chunks.push(&records[from..=at]);
            (from, bytes) = (at + 1, 0);
        }
    }
    chunks
}

/// Values by their position in the column.
type Texts = Vec<(usize, String)>;

fn redacted(
    job: &Job,
    chunk: &[(usize, Record)],
    values: &Values,
    identifier: Option<(LabelId, &str)>,
    before: u64,
) -> anyhow::Result<(Texts, Counts)> {
    let engine = &job.built.engine;
    let batch = NoteBatch::from_records(chunk.iter().map(|(_, record)| record))?;
    let row = |at: usize| before + values.row(at).unwrap_or_default() as u64 + 1;
    let mut counts = Counts::default();
    let mut texts = Vec::with_capacity(chunk.len());
    let Some((label, path)) = identifier else {
        for (place, (outcome, review)) in engine.decide_and_review(&batch).iter().enumerate() {
            let at = chunk[place].0;
            let redacted = engine
                .redact(&batch, place, outcome)
                .map_err(|why| anyhow::anyhow!("row {}: {}", row(at), explain(why)))?;
            let terms = job.terms.as_ref();
            counts.note((engine, terms), &batch, place, outcome, *review, &redacted);
            texts.push((at, redacted.text));
        }
        return Ok((texts, counts));
    };
    let batch = batch.of_column(path);
    let done = engine.replace(&batch, label)?;
    let strings = |record: &RecordBatch, name: &str| {
        let column = record
            .column_by_name(name)
            .context("a redacted batch has all its columns")?;
        Ok::<_, anyhow::Error>(column.as_string::<i32>().clone())
    };
    let text = strings(done.redacted.record(), "text")?;
    for (place, (at, _)) in chunk.iter().enumerate() {
        if text.is_null(place) {
            anyhow::bail!("row {}: the value has no replacement under the policy", row(*at));
        }
        texts.push((*at, text.value(place).to_owned()));
    }
    let name = &engine.labels().label(label).name;
    for action in strings(done.audit.record(), "action")?.iter().flatten() {
        counts.replacement(name, action, 1);
    }
    Ok((texts, counts))
}
