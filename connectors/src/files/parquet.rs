//! Parquet: one note a row.
//!
//! Columns are found by their default names (those of the JSON format) or mapped: `columns = { text = "note_text", known =
//! { patient = "pat_name" } }`. Row groups stream: a batch holds about 8 MiB of text, whatever the file's size. The topic
//! is the file's name relative to the input, the offset the row's number from 0.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema};
use lethe_core::{Coordinates, EventKind, Known, KnownKind, NoteEvent, Record, Sensitive};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use serde::Deserialize;

use super::cells::{Cells, integer, milliseconds, string};
use super::inputs::{Input, inputs};
use super::{FileError, OnBad, Records};
use crate::format::{Diagnosis, MAX_NOTE_BYTES, Problem, event_kind, kind_named};

/// About how much text a batch may hold.
const BATCH_BYTES: i64 = 8 << 20;

/// Settings of the Parquet source.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParquetConfig {
    /// A file, or a folder of `.parquet` files.
    pub input: PathBuf,
    /// Which column is which field.
    #[serde(default)]
    pub columns: Columns,
    /// Notes over this many bytes are quarantined.
    #[serde(default = "max_note_bytes")]
    pub max_note_bytes: usize,
    /// What to do with a bad row.
    #[serde(default)]
    pub on_bad: OnBad,
}

const fn max_note_bytes() -> usize {
    MAX_NOTE_BYTES
}

/// Columns of the fields. One that is named must be there; one that is not is read from the column of the field's own
/// name, if the file has it. `text` must be there in any case.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "they are the fields of a note event")]
pub struct Columns {
    pub note_id: Option<String>,
    pub version: Option<String>,
    pub patient_id: Option<String>,
    pub encounter_id: Option<String>,
    pub note_type: Option<String>,
    pub author_id: Option<String>,
    pub authored_at: Option<String>,
    pub event: Option<String>,
    pub text: Option<String>,
    /// Kind of identifier to the column of strings that holds it.
    pub known: BTreeMap<String, String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Text,
    NoteId,
    Patient,
    Encounter,
    NoteType,
    Author,
    Version,
    AuthoredAt,
    Event,
    Known(KnownKind),
}

impl Role {
    const fn field(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::NoteId => "note_id",
            Self::Patient => "patient_id",
            Self::Encounter => "encounter_id",
            Self::NoteType => "note_type",
            Self::Author => "author_id",
            Self::Version => "version",
            Self::AuthoredAt => "authored_at",
            Self::Event => "event",
            Self::Known(_) => "known",
        }
    }

    const fn bad(self, problem: Problem) -> Diagnosis {
        Diagnosis {
            field: Some(self.field()),
            byte: 0,
            problem,
        }
    }
}

impl ParquetConfig {
    /// Finds the files.
    ///
    /// # Errors
    /// [`FileError`].
    pub fn build(&self) -> Result<Records, FileError> {
        Ok(Box::new(Rows {
            files: inputs(&self.input, &["parquet"])?.into_iter(),
            open: None,
            batch: None,
            config: self.clone(),
        }))
    }

    /// The columns to read: what each is for, its index among the file's columns, and its field's name.
    fn roles(&self, input: &Input, schema: &Schema) -> Result<Vec<(Role, usize)>, FileError> {
        let c = &self.columns;
        let singles = [
            (Role::Text, &c.text),
            (Role::NoteId, &c.note_id),
            (Role::Patient, &c.patient_id),
            (Role::Encounter, &c.encounter_id),
            (Role::NoteType, &c.note_type),
            (Role::Author, &c.author_id),
            (Role::Version, &c.version),
            (Role::AuthoredAt, &c.authored_at),
            (Role::Event, &c.event),
        ];
        let mut roles = Vec::new();
        for (role, mapped) in singles {
            let field = role.field();
            let column = mapped.as_deref().unwrap_or(field);
            let needed = mapped.is_some() || role == Role::Text;
            if let Some(i) = find(input, schema, role, field, column, needed)? {
                roles.push((role, i));
            }
        }
        for (kind, column) in &c.known {
            let field = format!("known.{kind}");
            let known = kind_named(kind).ok_or_else(|| FileError::Column {
                path: input.path.clone(),
                field: field.clone(),
                column: column.clone(),
                problem: "is mapped to a kind that does not exist; kinds are patient, relative, clinician, medical_record, birth_date, phone, address, email, social_security, health_plan, account, organization, other".to_owned(),
            })?;
            if let Some(i) = find(input, schema, Role::Known(known), &field, column, true)? {
                roles.push((Role::Known(known), i));
            }
        }
        Ok(roles)
    }
}

fn find(
    input: &Input,
    schema: &Schema,
    role: Role,
    field: &str,
    column: &str,
    needed: bool,
) -> Result<Option<usize>, FileError> {
    let error = |problem| FileError::Column {
        path: input.path.clone(),
        field: field.to_owned(),
        column: column.to_owned(),
        problem,
    };
    let Some((i, found)) = schema.column_with_name(column) else {
        if !needed {
            return Ok(None);
        }
        let names: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
        return Err(error(format!("is not there; the file has {}", names.join(", "))));
    };
    let kind = found.data_type();
    let (fits, wanted) = match role {
        Role::Version => (kind.is_integer(), "an integer"),
        Role::AuthoredAt => (
            matches!(
                kind,
                DataType::Timestamp(..) | DataType::Date32 | DataType::Int64 | DataType::Utf8
            ),
            "a timestamp, a date, milliseconds since 1970 or RFC 3339 text",
        ),
        Role::Text | Role::NoteType | Role::Event => (is_text(kind), "text"),
        _ => (is_text(kind) || kind.is_integer(), "text or an integer"),
    };
    if !fits {
        return Err(error(format!("holds {kind}, not {wanted}")));
    }
    Ok(Some(i))
}

const fn is_text(kind: &DataType) -> bool {
    matches!(kind, DataType::Utf8 | DataType::Binary)
}

struct Rows {
    files: std::vec::IntoIter<Input>,
    open: Option<Open>,
    batch: Option<(RecordBatch, usize)>,
    config: ParquetConfig,
}

struct Open {
    topic: Arc<str>,
    path: PathBuf,
    reader: ParquetRecordBatchReader,
    /// What each column of a batch is for.
    roles: Vec<Role>,
    row: i64,
}

impl Rows {
    fn open(&self, input: &Input) -> Result<Open, FileError> {
        let broken = |error: ParquetError| FileError::Parquet {
            path: input.path.clone(),
            doing: "opening it",
            problem: words(&error),
        };
        let file = File::open(&input.path).map_err(FileError::io(&input.path, "open it"))?;
        // The arrow schema that the writer left would bring dictionaries and views; Parquet's own types are enough.
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let plain = ArrowReaderMetadata::load(&file, options.clone()).map_err(broken)?;
        let mut roles = self.config.roles(input, plain.schema())?;
        // Offsets of 64 bits, so that a batch of large notes cannot overflow. Bytes stay bytes: each row's are checked here.
        let wide: Vec<Field> = plain
            .schema()
            .fields()
            .iter()
            .enumerate()
            .map(|(i, field)| {
                let kind = match field.data_type() {
                    DataType::Utf8 if roles.iter().any(|&(_, role)| role == i) => DataType::LargeUtf8,
                    DataType::Binary if roles.iter().any(|&(_, role)| role == i) => DataType::LargeBinary,
                    other => other.clone(),
                };
                field.as_ref().clone().with_data_type(kind)
            })
            .collect();
        let metadata = Arc::clone(plain.metadata());
        let text = roles
            .iter()
            .find(|(role, _)| *role == Role::Text)
            .map_or(0, |&(_, i)| i);
        let rows = batch_rows(&metadata, text);
        let options = options.with_schema(Arc::new(Schema::new(wide)));
        let wide = ArrowReaderMetadata::try_new(Arc::clone(&metadata), options).map_err(broken)?;
        let mask = ProjectionMask::roots(
            metadata.file_metadata().schema_descr(),
            roles.iter().map(|&(_, i)| i),
        );
        let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(file, wide)
            .with_projection(mask)
            .with_batch_size(rows)
            .build()
            .map_err(broken)?;
        // A projection keeps the file's order. A column that serves twice comes once.
        roles.sort_by_key(|&(_, i)| i);
        if let Some(pair) = roles.windows(2).find(|pair| pair[0].1 == pair[1].1) {
            return Err(FileError::Column {
                path: input.path.clone(),
                field: pair[1].0.field().to_owned(),
                column: plain.schema().field(pair[1].1).name().clone(),
                problem: "serves another field already; give each field its own".to_owned(),
            });
        }
        Ok(Open {
            topic: input.name.as_str().into(),
            path: input.path.clone(),
            reader,
            roles: roles.into_iter().map(|(role, _)| role).collect(),
            row: 0,
        })
    }

    fn step(&mut self) -> Result<Option<Record>, FileError> {
        loop {
            let Some(open) = &mut self.open else {
                let Some(input) = self.files.next() else {
                    return Ok(None);
                };
                self.open = Some(self.open(&input)?);
                continue;
            };
            if let Some((batch, row)) = &mut self.batch
                && *row < batch.num_rows()
            {
                let at = Coordinates {
                    topic: Arc::clone(&open.topic),
                    partition: 0,
                    offset: open.row,
                };
                let read = event(batch, &open.roles, *row, self.config.max_note_bytes);
                *row += 1;
                open.row += 1;
                return self
                    .config
                    .on_bad
                    .settle(at, "row", open.row as u64, read)
                    .map(Some);
            }
            match open.reader.next() {
                Some(Ok(batch)) => self.batch = Some((batch, 0)),
                Some(Err(_)) => {
                    // The reader's words may come from the data here, so they are left out.
                    return Err(FileError::Parquet {
                        path: open.path.clone(),
                        doing: "reading rows",
                        problem: format!(
                            "the data after row {} is damaged, or text that is not UTF-8; rewrite the file",
                            open.row
                        ),
                    });
                }
                None => {
                    self.open = None;
                    self.batch = None;
                }
            }
        }
    }
}

impl Iterator for Rows {
    type Item = Result<Record, FileError>;

    fn next(&mut self) -> Option<Self::Item> {
        let step = self.step().transpose();
        if matches!(step, Some(Err(_))) {
            self.open = None;
            self.batch = None;
            self.files = Vec::new().into_iter();
        }
        step
    }
}

/// What a reader says of a file's structure. Kinds of error that wrap others are not spelled out.
fn words(error: &ParquetError) -> String {
    match error {
        ParquetError::General(text) | ParquetError::NYI(text) | ParquetError::EOF(text) => text.clone(),
        _ => "not a Parquet file that can be read".to_owned(),
    }
}

/// How many rows hold about [`BATCH_BYTES`] of text, in the row group with the largest notes.
fn batch_rows(metadata: &ParquetMetaData, text: usize) -> usize {
    let descr = metadata.file_metadata().schema_descr();
    let leaf = (0..descr.num_columns()).find(|&leaf| descr.get_column_root_idx(leaf) == text);
    let average = metadata
        .row_groups()
        .iter()
        .filter_map(|group| Some(group.column(leaf?).uncompressed_size() / group.num_rows().max(1)))
        .max()
        .unwrap_or(0);
    (BATCH_BYTES / average.max(1)).clamp(1, 1024) as usize
}

fn event(batch: &RecordBatch, roles: &[Role], row: usize, max: usize) -> Result<NoteEvent, Diagnosis> {
    let mut event = NoteEvent::default();
    let mut text = None;
    for (role, column) in roles.iter().zip(batch.columns()) {
        read(&mut event, &mut text, *role, Cells { column, row }).map_err(|problem| role.bad(problem))?;
    }
    match text {
        Some(text) if text.len() > max => return Err(Role::Text.bad(Problem::TooLarge)),
        Some(text) => event.text = text.into(),
        None if event.kind == EventKind::Delete => {}
        None => return Err(Role::Text.bad(Problem::Missing)),
    }
    Ok(event)
}

fn read<'a>(
    event: &mut NoteEvent,
    text: &mut Option<&'a str>,
    role: Role,
    cells: Cells<'a>,
) -> Result<(), Problem> {
    let id = || Ok(string(cells)?.map(Sensitive::from));
    match role {
        Role::Text => *text = cells.large_text()?,
        Role::NoteId => event.note_id = id()?.unwrap_or_default(),
        Role::Patient => event.patient_id = id()?,
        Role::Encounter => event.encounter_id = id()?,
        Role::Author => event.author_id = id()?,
        Role::NoteType => event.note_type = string(cells)?,
        Role::Version => event.version = integer(cells),
        Role::AuthoredAt => event.authored_at = milliseconds(cells)?,
        Role::Event => {
            if let Some(name) = cells.large_text()? {
                event.kind = event_kind(name).ok_or(Problem::UnknownEvent)?;
            }
        }
        Role::Known(kind) => {
            event.known.extend(
                string(cells)?
                    .filter(|value| !value.trim().is_empty())
                    .map(|value| Known {
                        kind,
                        value: value.into(),
                    }),
            )
        }
    }
    Ok(())
}
