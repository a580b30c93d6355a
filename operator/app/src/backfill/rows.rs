//! From a slab of a table to redacted rows: every text passes the engine, every identifier the policy, and
//! the table is reassembled.

use std::sync::Arc;

use anyhow::Context as _;
use arrow_array::builder::{Int64Builder, StringBuilder};
use arrow_array::cast::AsArray as _;
use arrow_array::types::UInt32Type;
use arrow_array::{Array as _, ArrayRef, Int64Array, RecordBatch, StringArray, UInt32Array};
use arrow_schema::{DataType, FieldRef, Schema, SchemaRef};
use arrow_select::take::take;
use futures::future::try_join_all;
use lethe_connectors::Backoff;
use lethe_connectors::sink::PartFooter;
use lethe_connectors::tables::{Cell, Shape, Slab, Values};
use lethe_core::{
    BatchError, Column, Coordinates, LabelId, NoteBatch, NoteEvent, Processed, QuarantineCode, Record,
    RowKind,
};

use super::terms::terms_of;
use super::{BackfillContext, audit};
use crate::clinical::TermCounts;
use crate::pipeline::{Terms, redact, told};

/// Texts, and their bytes, per chunk of work.
const CHUNK: usize = 128;
const CHUNK_BYTES: usize = 1 << 20;

/// The columns before the table's own: the object and row, the outcome, and the reason.
const OBJECT: &str = "lethe_object";
const ROW: &str = "lethe_row";
const KIND: &str = "lethe_kind";
const ERROR: &str = "lethe_error";
const REDACTIONS: &str = "lethe_redactions";
const REVIEW: &str = "lethe_review";

/// Returns the schema of a table's redacted rows.
pub(super) fn schema(shape: &Shape) -> anyhow::Result<SchemaRef> {
    let mut fields = own_fields();
    fields.extend(shape.fields()?);
    Ok(Arc::new(Schema::new(fields)))
}

fn own_fields() -> Vec<FieldRef> {
    let fields = own_columns().into_iter().map(|column| Arc::new(column.field));
    fields.collect()
}

/// Returns the columns before those of the table.
pub(crate) fn own_columns() -> Vec<Column> {
    vec![
        Column::new(
            OBJECT,
            DataType::Utf8,
            "The object that the row comes from: its name or its code.",
        ),
        Column::new(
            ROW,
            DataType::Int64,
            "The number of the row in the object, from 0.",
        ),
        Column::new(
            KIND,
            DataType::Utf8,
            "`note`, or `quarantined` for a row that Lethe could not process.",
        ),
        Column::new(
            ERROR,
            DataType::Utf8,
            "The [code](../quarantine.md) of a quarantined row, whose table columns are null. Null for \
             other rows.",
        )
        .nullable(),
        Column::new(REDACTIONS, DataType::Int64, "The number of replacements."),
        Column::new(
            REVIEW,
            DataType::Utf8,
            "The reasons why a person should check the row, comma-separated. Null without a reason.",
        )
        .nullable(),
    ]
}

/// A redacted slab.
pub(super) struct Done {
    pub(super) rows: RecordBatch,
    pub(super) audit: RecordBatch,
    /// The counts to add to its part.
    pub(super) counts: PartFooter,
    /// The clinical terms in its texts.
    pub(super) clinical: TermCounts,
}

/// The outcome of each row of a slab.
struct Fate {
    bad: Vec<Option<QuarantineCode>>,
    redactions: Vec<u32>,
    review: Vec<Vec<String>>,
}

/// One text of a leaf.
struct Text {
    /// Its index among the leaf's values.
    at: usize,
    row: usize,
    /// Its index among the row's values in the leaf.
    element: u32,
}

/// Redacts a slab.
///
/// # Errors
/// If a worker fails, or the rows cannot be reassembled; then none of them is returned.
pub(super) fn redacted(
    context: &Arc<BackfillContext>,
    object: &Arc<str>,
    shape: &Shape,
    slab: &Slab,
) -> anyhow::Result<Done> {
    let rows = slab.record.num_rows();
    let mut fate = Fate {
        bad: vec![None; rows],
        redactions: vec![0; rows],
        review: vec![Vec::new(); rows],
    };
    for &(row, code) in &slab.bad {
        fate.bad[row] = Some(code);
    }
    let mut events = Vec::with_capacity(rows);
    for row in 0..rows {
        events.push(match shape.event(&slab.record, row) {
            Ok(event) => event,
            Err(code) => {
                fate.bad[row].get_or_insert(code);
                NoteEvent::default()
            }
        });
    }
    let mut counts = PartFooter::default();
    let mut trails = Vec::new();
    let mut clinical = TermCounts::default();
    let mut leaves: Vec<ArrayRef> = Vec::new();
    for (leaf, values) in shape.leaves().iter().zip(shape.values(&slab.record)) {
        let label = match &leaf.what {
            Cell::NoteType => {
                leaves.push(note_types(context, &values, &mut fate));
                continue;
            }
            Cell::Text => None,
            Cell::Identifier(label) => Some((context.label(label)?, leaf.path.as_str())),
        };
        let place = Place {
            object,
            first: slab.first,
            events: &events,
        };
        let (texts, records) = place.gather(&values, context, &mut fate);
        match label {
            None => {
                counts.texts += texts.len() as u64;
                counts.text_bytes += records.iter().map(size).sum::<usize>() as u64;
            }
            Some(_) => counts.identifiers += texts.len() as u64,
        }
        let chunks = context.runtime.block_on(through(context, records, label))?;
        let (chunks, terms): (Vec<Processed>, Vec<TermCounts>) = chunks.into_iter().unzip();
        terms.iter().for_each(|terms| clinical.add(terms));
        leaves.push(settle(
            &leaf.path,
            &values,
            &texts,
            &chunks,
            &mut fate,
            &mut trails,
        )?);
    }
    let done = put_together(object, shape, slab, &leaves, &fate, &trails, counts)?;
    Ok(Done { clinical, ..done })
}

fn size(record: &Record) -> usize {
    match record {
        Record::Note(event) => event.text.len(),
        _ => 0,
    }
}

/// Returns the values of a kept column of note types: those on the list of types, and `other` for the rest.
fn note_types(context: &BackfillContext, values: &Values, fate: &mut Fate) -> ArrayRef {
    let carried = context.engine_version.engine.carried();
    let mut leaf = StringBuilder::new();
    for at in 0..values.len() {
        match (values.row(at), values.text(at)) {
            (Some(_), Ok(Some(kind))) => leaf.append_value(carried.note_type(&kind)),
            (Some(row), Err(code)) => {
                fate.bad[row].get_or_insert(code);
                leaf.append_null();
            }
            _ => leaf.append_null(),
        }
    }
    Arc::new(leaf.finish())
}

/// The source of a leaf's values.
struct Place<'a> {
    object: &'a Arc<str>,
    first: i64,
    events: &'a [NoteEvent],
}

impl Place<'_> {
    /// Collects the texts of a leaf, each as a record with its row's context. Rows whose text cannot be read
    /// are marked.
    fn gather(
        &self,
        values: &Values,
        context: &BackfillContext,
        fate: &mut Fate,
    ) -> (Vec<Text>, Vec<Record>) {
        let mut seen = vec![0_u32; fate.bad.len()];
        let (mut texts, mut records) = (Vec::new(), Vec::new());
        for at in 0..values.len() {
            let Some(row) = values.row(at) else { continue };
            let element = seen[row];
            seen[row] += 1;
            let text = match values.text(at) {
                Ok(Some(text)) if text.len() <= context.max_note_bytes => text,
                Ok(None) => continue,
                Ok(Some(_)) => {
                    fate.bad[row].get_or_insert(QuarantineCode::TooLarge);
                    continue;
                }
                Err(code) => {
                    fate.bad[row].get_or_insert(code);
                    continue;
                }
            };
            if fate.bad[row].is_some() {
                continue;
            }
            let at_row = Coordinates {
                topic: Arc::clone(self.object),
                partition: 0,
                offset: self.first + row as i64,
            };
            let record = Record::Note(NoteEvent {
                at: at_row,
                text: text.into(),
                ..self.events[row].clone()
            });
            if !context.limits.allow(&record) {
                fate.bad[row].get_or_insert(QuarantineCode::OverBudget);
                continue;
            }
            records.push(record);
            texts.push(Text { at, row, element });
        }
        (texts, records)
    }
}

/// Passes records through the engine, in parallel chunks.
async fn through(
    context: &Arc<BackfillContext>,
    records: Vec<Record>,
    column: Option<(LabelId, &str)>,
) -> anyhow::Result<Vec<(Processed, TermCounts)>> {
    let mut chunks: Vec<Vec<Record>> = Vec::new();
    let mut bytes = 0;
    for record in records {
        let more = size(&record);
        match chunks.last_mut() {
            Some(chunk) if chunk.len() < CHUNK && bytes + more <= CHUNK_BYTES => {
                bytes += more;
                chunk.push(record);
            }
            _ => {
                bytes = more;
                chunks.push(vec![record]);
            }
        }
    }
    try_join_all(
        chunks
            .into_iter()
            .map(|chunk| through_one(context, Arc::new(chunk), column)),
    )
    .await
}

async fn through_one(
    context: &Arc<BackfillContext>,
    records: Arc<Vec<Record>>,
    column: Option<(LabelId, &str)>,
) -> anyhow::Result<(Processed, TermCounts)> {
    let mut backoff = Backoff::new("backfill");
    loop {
        let (work, records) = (Arc::clone(context), Arc::clone(&records));
        let column = column.map(|(label, path)| (label, path.to_owned()));
        let done = context.pool.run(move || {
            let sizes: Vec<usize> = records.iter().map(size).collect();
            match column {
                None => {
                    let done = redact(&work.engine_version, &records, &Terms::whole(work.limits));
                    let (processed, tokens) = done?;
                    let members = work.engine_version.engine.members().len();
                    told(&work.telemetry, &processed, &sizes, members, tokens);
                    let clinical = match &work.terms {
                        Some(terms) => terms_of(terms, &NoteBatch::from_records(records.iter())?, &processed),
                        None => TermCounts::default(),
                    };
                    Ok((processed, clinical))
                }
                Some((label, path)) => {
                    let batch = NoteBatch::from_records(records.iter())?.of_column(&path);
                    let processed = work.engine_version.engine.replace(&batch, label)?;
                    Ok((processed, TermCounts::default()))
                }
            }
        });
        match done.await? {
            Ok(done) => return Ok(done),
            Err(BatchError::Unavailable(why)) => {
                let wait = backoff.pause().unwrap_or_default();
                tracing::warn!(why, "trying again in {} ms", wait.as_millis());
                context.telemetry.measures().retry("redact");
                context.telemetry.board().polled();
                tokio::time::sleep(wait).await;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Returns a leaf's new values, and records the outcome for their rows.
fn settle(
    path: &str,
    values: &Values,
    texts: &[Text],
    chunks: &[Processed],
    fate: &mut Fate,
    trails: &mut Vec<RecordBatch>,
) -> anyhow::Result<ArrayRef> {
    let mut leaf = StringBuilder::new();
    let mut filled = 0;
    let mut texts = texts.iter();
    for done in chunks {
        let record = done.redacted.record();
        let column = |name: &str| {
            record
                .column_by_name(name)
                .context("a redacted batch has all its columns")
        };
        let strings = |name: &str| column(name).map(|column| column.as_string::<i32>());
        let (text, kind, error, review) = (
            strings("text")?,
            strings("row_kind")?,
            strings("error")?,
            strings("review")?,
        );
        let redactions = column("redactions")?.as_primitive::<UInt32Type>();
        let (mut rows, mut elements) = (Vec::new(), Vec::new());
        for (i, of) in texts.by_ref().take(record.num_rows()).enumerate() {
            for _ in filled..of.at {
                leaf.append_null();
            }
            filled = of.at + 1;
            if kind.value(i) == RowKind::Note.name() && text.is_valid(i) {
                leaf.append_value(text.value(i));
            } else {
                leaf.append_null();
                let code = QuarantineCode::ALL
                    .into_iter()
                    .find(|code| error.is_valid(i) && error.value(i).split(':').next() == Some(code.name()));
                fate.bad[of.row].get_or_insert(code.unwrap_or(QuarantineCode::MemberError));
            }
            fate.redactions[of.row] += redactions.value(i);
            if review.is_valid(i) {
                let reasons = review.value(i).split(',').map(str::to_owned);
                fate.review[of.row].extend(reasons);
            }
            for _ in 0..redactions.value(i) {
                rows.push(of.row as i64);
                elements.push(of.element);
            }
        }
        trails.push(audit::trail(path, done.audit.record(), &rows, elements)?);
    }
    for _ in filled..values.len() {
        leaf.append_null();
    }
    Ok(Arc::new(leaf.finish()))
}

fn put_together(
    object: &Arc<str>,
    shape: &Shape,
    slab: &Slab,
    leaves: &[ArrayRef],
    fate: &Fate,
    trails: &[RecordBatch],
    mut counts: PartFooter,
) -> anyhow::Result<Done> {
    let rows = slab.record.num_rows();
    let (_, mut columns) = shape.with(&slab.record, leaves)?;
    if fate.bad.iter().any(Option::is_some) {
        // Copied rather than masked: a masked value would stay in the column's buffer, and so in the file.
        let kept = UInt32Array::from_iter(
            (0..rows as u32).map(|row| fate.bad[row as usize].is_none().then_some(row)),
        );
        for column in &mut columns {
            *column = take(column, &kept, None)?;
        }
    }
    let is_good = |row: usize| fate.bad[row].is_none();
    let mut redactions = Int64Builder::with_capacity(rows);
    let (mut error, mut review) = (StringBuilder::new(), StringBuilder::new());
    for row in 0..rows {
        error.append_option(fate.bad[row].map(QuarantineCode::name));
        redactions.append_value(if is_good(row) {
            i64::from(fate.redactions[row])
        } else {
            0
        });
        let mut reasons = fate.review[row].clone();
        reasons.sort_unstable();
        reasons.dedup();
        let told = !reasons.is_empty() && is_good(row);
        counts.review += u64::from(told);
        review.append_option(told.then(|| reasons.join(",")));
    }
    let kind = |row: usize| match is_good(row) {
        true => RowKind::Note.name(),
        false => RowKind::Quarantined.name(),
    };
    counts.quarantined = (0..rows).filter(|&row| !is_good(row)).count() as u64;
    counts.redacted = rows as u64 - counts.quarantined;
    let mut all: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from(vec![&**object; rows])),
        Arc::new(Int64Array::from_iter_values(
            (0..rows).map(|row| slab.first + row as i64),
        )),
        Arc::new(StringArray::from_iter_values((0..rows).map(kind))),
        Arc::new(error.finish()),
        Arc::new(redactions.finish()),
        Arc::new(review.finish()),
    ];
    all.append(&mut columns);
    let audit = audit::of(slab.first, trails, is_good)?;
    counts.spans = audit.num_rows() as u64;
    Ok(Done {
        rows: RecordBatch::try_new(schema(shape)?, all)?,
        audit,
        counts,
        clinical: TermCounts::default(),
    })
}
