//! Reads Parquet: one note per row.
//!
//! Columns have the default names (those of the JSON format) or are mapped: `columns = { text = "note_text",
//! known = { patient = "pat_name" } }`. Row groups stream: a batch holds about 8 MiB of text, whatever the
//! file's size. The topic is the file's name relative to the input, the offset the row's number from 0.

mod columns;

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema};
use lethe_core::{Coordinates, EventKind, Known, NoteEvent, Record, Sensitive};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cells::{Cells, integer, milliseconds, string};
use super::inputs::{Input, inputs};
use super::{FileError, Names, OnBad, Records};
use crate::format::{Diagnosis, MAX_NOTE_BYTES, PayloadError, event_kind};
use crate::store::StoreConfig;
use columns::Role;

pub use columns::Columns;

/// Extensions of the files to read.
pub(super) const ENDINGS: &[&str] = &["parquet"];

/// Approximate amount of text per batch.
const BATCH_BYTES: i64 = 8 << 20;

/// Settings of the Parquet source.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParquetConfig {
    /// A file, or a folder of `.parquet` files.
    #[schemars(extend("examples" = ["/feeds/notes"]))]
    pub input: PathBuf,
    /// The columns of the fields.
    #[serde(default)]
    pub columns: Columns,
    /// Notes over this size are quarantined.
    #[serde(default = "max_note_bytes")]
    pub max_note_bytes: usize,
    /// How to treat a bad row.
    #[serde(default)]
    pub on_bad: OnBad,
    /// How chains are named. Default: `paths`.
    #[serde(default)]
    pub names: Option<Names>,
    /// Store of the list of files and codes: a private folder or bucket outside the dataset. Needed with
    /// `names = "codes"`.
    #[serde(default)]
    pub codes: Option<StoreConfig>,
    /// The input's id in that list. Default: its path.
    #[serde(default)]
    pub input_id: Option<String>,
}

const fn max_note_bytes() -> usize {
    MAX_NOTE_BYTES
}

impl ParquetConfig {
    /// Lists the files.
    ///
    /// # Errors
    /// [`FileError`].
    pub fn build(&self) -> Result<Records, FileError> {
        Ok(Box::new(Rows {
            files: inputs(&self.input, ENDINGS)?.into_iter(),
            open: None,
            batch: None,
            config: self.clone(),
        }))
    }
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
    /// The role of each column of a batch.
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
        // The writer's Arrow schema would bring dictionaries and views; Parquet's own types suffice.
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let plain = ArrowReaderMetadata::load(&file, options.clone()).map_err(broken)?;
        let mut roles = self.config.columns.roles(input, plain.schema())?;
        // 64-bit offsets, so that a batch of large notes cannot overflow. Text is read as bytes and checked
        // for UTF-8 row by row.
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
        // A projection keeps the file's order. A column with two roles comes once.
        roles.sort_by_key(|&(_, i)| i);
        if let Some(pair) = roles.windows(2).find(|pair| pair[0].1 == pair[1].1) {
            return Err(FileError::Column {
                path: input.path.clone(),
                field: pair[1].0.field().to_owned(),
                column: plain.schema().field(pair[1].1).name().clone(),
                problem: "is mapped to another field already; map each field to its own column".to_owned(),
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
                    // The reader's message may quote data here, so it is dropped.
                    return Err(FileError::Parquet {
                        path: open.path.clone(),
                        doing: "reading rows",
                        problem: format!(
                            "the data after row {} is damaged, or its text is not UTF-8; rewrite the file",
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

/// Returns the reader's message about a file's structure, but no wrapped errors.
fn words(error: &ParquetError) -> String {
    match error {
        ParquetError::General(text) | ParquetError::NYI(text) | ParquetError::EOF(text) => text.clone(),
        _ => "not a readable Parquet file".to_owned(),
    }
}

/// Returns how many rows hold about [`BATCH_BYTES`] of text, by the row group with the largest notes.
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
        Some(text) if text.len() > max => return Err(Role::Text.bad(PayloadError::TooLarge)),
        Some(text) => event.text = text.into(),
        None if event.kind == EventKind::Delete => {}
        None => return Err(Role::Text.bad(PayloadError::Missing)),
    }
    Ok(event)
}

fn read<'a>(
    event: &mut NoteEvent,
    text: &mut Option<&'a str>,
    role: Role,
    cells: Cells<'a>,
) -> Result<(), PayloadError> {
    let id = || string(cells).map(|text| text.map(Sensitive::from));
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
                event.kind = event_kind(name).ok_or(PayloadError::UnknownEvent)?;
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
