//! Redacted rows: the only rows that a sink can write.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, StringBuilder, UInt32Builder};
use arrow_array::cast::AsArray as _;
use arrow_array::types::{ByteArrayType, Int64Type};
use arrow_array::{ArrayRef, GenericByteArray, Int64Array, RecordBatch, StringArray, new_null_array};
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, SchemaRef, TimeUnit};

use crate::{BatchError, Column, NoteBatch, NoteTypes, QuarantineCode, Reason, Review, RowKind};

/// Metadata that a policy may keep, copying it from the event to the output row.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum CarriedField {
    /// The source's note id.
    NoteId,
    /// The note's version.
    Version,
    /// The kind of note.
    NoteType,
    /// The patient's id. It identifies.
    PatientId,
    /// The encounter's id. It identifies.
    EncounterId,
    /// The author's id. It identifies.
    AuthorId,
    /// The time of writing, which is a date of service.
    AuthoredAt,
}

impl CarriedField {
    /// Every field, in the order of the output.
    pub const ALL: [Self; 7] = [
        Self::NoteId,
        Self::Version,
        Self::NoteType,
        Self::PatientId,
        Self::EncounterId,
        Self::AuthorId,
        Self::AuthoredAt,
    ];

    /// Returns the column's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoteId => "note_id",
            Self::Version => "version",
            Self::NoteType => "note_type",
            Self::PatientId => "patient_id",
            Self::EncounterId => "encounter_id",
            Self::AuthorId => "author_id",
            Self::AuthoredAt => "authored_at",
        }
    }

    const fn meaning(self) -> &'static str {
        match self {
            Self::NoteId => "The source's note id.",
            Self::Version => "The note's version, from 0 to 9,999. Null for other numbers.",
            Self::NoteType => "The note type if it is in the list of note types, else `OTHER`.",
            Self::PatientId => "The patient's id. It identifies.",
            Self::EncounterId => "The encounter's id. It identifies.",
            Self::AuthorId => "The author's id. It identifies.",
            Self::AuthoredAt => "The time of writing.",
        }
    }

    fn data_type(self) -> DataType {
        match self {
            Self::Version => DataType::Int64,
            Self::AuthoredAt => DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())),
            _ => DataType::Utf8,
        }
    }
}

/// The metadata that is kept. Every other field is null in the output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Carried {
    fields: Vec<CarriedField>,
    note_types: NoteTypes,
}

impl Default for Carried {
    /// Keeps note id, version and note type: nothing that identifies the patient, the encounter, the author
    /// or the day.
    fn default() -> Self {
        Self::new(vec![
            CarriedField::NoteId,
            CarriedField::Version,
            CarriedField::NoteType,
        ])
    }
}

impl Carried {
    /// Keeps these fields.
    pub fn new(fields: Vec<CarriedField>) -> Self {
        Self {
            fields,
            note_types: NoteTypes::default(),
        }
    }

    /// Allows the kinds of notes of another list.
    #[must_use]
    pub fn with_note_types(self, note_types: NoteTypes) -> Self {
        Self { note_types, ..self }
    }

    /// Returns whether this field is kept.
    pub fn has(&self, field: CarriedField) -> bool {
        self.fields.contains(&field)
    }

    /// Returns the version if it is a small count. A larger number may be a date or a record number.
    pub const fn version(&self, version: i64) -> Option<i64> {
        if 0 <= version && version <= Self::LAST_VERSION {
            Some(version)
        } else {
            None
        }
    }

    /// The largest version that is kept.
    pub const LAST_VERSION: i64 = 9_999;

    /// Returns the kind of note that may leave: [`NoteTypes::pass`].
    pub fn note_type<'a>(&self, kind: &'a str) -> &'a str {
        self.note_types.pass(kind)
    }
}

/// Redacted notes as Arrow columns, one row per consumed record.
///
/// Only [`Redactor::redact`](crate::Redactor::redact) constructs one, so that a sink cannot receive raw text.
#[derive(Clone)]
pub struct RedactedBatch(RecordBatch);

impl RedactedBatch {
    /// Returns the columns. Metadata is null where the policy does not keep it.
    pub fn columns() -> Vec<Column> {
        let mut columns = vec![
            Column::new(
                "topic",
                DataType::Utf8,
                "The record's topic; for file sources, the file's code or name.",
            ),
            Column::new(
                "partition",
                DataType::Int32,
                "The record's partition; 0 for file sources.",
            ),
            Column::new(
                "offset",
                DataType::Int64,
                "The record's offset in its partition or file.",
            ),
            Column::new(
                "row_kind",
                DataType::Utf8,
                "`note`; `tombstone` for a deletion; `structured` for a message without narrative; \
                 `quarantined` for a record that Lethe could not process; `erased` for a row that \
                 `lethe erase` emptied.",
            ),
            Column::new(
                "error",
                DataType::Utf8,
                "The [code](../quarantine.md) of a quarantined record. Null for other rows.",
            )
            .nullable(),
            Column::new(
                "event_kind",
                DataType::Utf8,
                "The event: `create`, `amend` or `delete`.",
            ),
        ];
        columns.extend(
            CarriedField::ALL
                .map(|field| Column::new(field.name(), field.data_type(), field.meaning()).nullable()),
        );
        columns.extend([
            Column::new(
                "text",
                DataType::Utf8,
                "The redacted text. Null for other rows than notes.",
            )
            .nullable(),
            Column::new("redactions", DataType::UInt32, "The number of replaced spans."),
            Column::new(
                "message",
                DataType::Binary,
                "The redacted message, if `keep_message` is set. Null for other rows.",
            )
            .nullable(),
            Column::new(
                "review",
                DataType::Utf8,
                "The [reasons](configuration.md#enginereview) why a person should check the note, \
                 comma-separated: `low_margin` (members agree little about a redacted span), `dropped` (a \
                 predicted span is not redacted), `uncovered_part` (a part of one is not redacted). Null \
                 without a reason.",
            )
            .nullable(),
        ]);
        columns
    }

    /// Returns the schema of [`RedactedBatch::columns`].
    pub fn schema() -> SchemaRef {
        Column::schema(Self::columns())
    }

    /// Returns the Arrow form.
    pub const fn record(&self) -> &RecordBatch {
        &self.0
    }

    /// Flags rows for review by a person. Rows that are not notes keep no flag.
    ///
    /// # Errors
    /// [`BatchError::Schema`] unless there is one review per row.
    pub fn reviewed(self, reviews: &[Review]) -> Result<Self, BatchError> {
        let schema = self.0.schema();
        let kinds = self
            .0
            .column_by_name("row_kind")
            .map(|column| column.as_string::<i32>());
        let (Some(kinds), true) = (kinds, reviews.len() == self.len()) else {
            return Err(BatchError::Schema);
        };
        let told = kinds.iter().zip(reviews).map(|(kind, review)| {
            let is_note = kind == Some(RowKind::Note.name());
            (is_note && !review.is_empty()).then(|| {
                let names: Vec<_> = review.reasons().map(Reason::name).collect();
                names.join(",")
            })
        });
        let told: ArrayRef = Arc::new(StringArray::from_iter(told));
        let columns = schema
            .fields()
            .iter()
            .zip(self.0.columns())
            .map(|(field, column)| {
                if field.name() == "review" {
                    Arc::clone(&told)
                } else {
                    Arc::clone(column)
                }
            });
        let columns = columns.collect();
        Ok(Self(RecordBatch::try_new(schema, columns)?))
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.0.num_rows()
    }

    /// Returns whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes that its columns hold in memory.
    pub fn memory_size(&self) -> usize {
        self.0.get_array_memory_size()
    }
}

impl std::fmt::Debug for RedactedBatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RedactedBatch({} rows)", self.len())
    }
}

/// What leaves of a note.
pub(crate) struct Written {
    /// Its redacted text.
    pub(crate) text: String,
    /// The redacted message that contained it, if one did.
    pub(crate) message: Option<Vec<u8>>,
    /// The number of replaced spans.
    pub(crate) redactions: usize,
}

/// Output rows under construction.
pub(crate) struct Rows {
    row_kind: Vec<&'static str>,
    error: StringBuilder,
    event_kind: Vec<&'static str>,
    text: StringBuilder,
    redactions: UInt32Builder,
    message: BinaryBuilder,
    /// The text and the message of the only row, which are not copied: they may be large.
    only: Option<(Option<String>, Option<Vec<u8>>)>,
}

impl Rows {
    /// Reserves `rows` rows with `bytes` of text together, so that a batch holds little more than its text.
    pub(crate) fn new(rows: usize, bytes: usize) -> Self {
        Self {
            row_kind: Vec::with_capacity(rows),
            error: StringBuilder::new(),
            event_kind: Vec::with_capacity(rows),
            text: StringBuilder::with_capacity(rows, if rows == 1 { 0 } else { bytes }),
            redactions: UInt32Builder::with_capacity(rows),
            message: BinaryBuilder::new(),
            only: (rows == 1).then_some((None, None)),
        }
    }

    /// Adds row `row` of `batch`, with its redacted text and number of redactions, or its quarantine.
    pub(crate) fn push(&mut self, batch: &NoteBatch, row: usize, redacted: Result<Written, QuarantineCode>) {
        let came_as = batch.row_kind(row);
        let (kind, error, note, redactions) = match (came_as, redacted) {
            (RowKind::Note | RowKind::Structured, Ok(note)) => {
                let redactions = note.redactions;
                (came_as, None, Some(note), redactions)
            }
            (RowKind::Note | RowKind::Structured, Err(code)) => {
                (RowKind::Quarantined, Some(code.name()), None, 0)
            }
            _ => (came_as, batch.error(row), None, 0),
        };
        self.row_kind.push(kind.name());
        self.error.append_option(error);
        self.event_kind.push(batch.event_kind(row));
        let (text, message) = note.map_or((None, None), |note| (Some(note.text), note.message));
        let text = text.filter(|_| kind == RowKind::Note);
        if let Some(only) = &mut self.only {
            *only = (text, message);
        } else {
            self.text.append_option(text);
            self.message.append_option(message);
        }
        self.redactions
            .append_value(u32::try_from(redactions).unwrap_or(u32::MAX));
    }

    pub(crate) fn finish(
        mut self,
        batch: &NoteBatch,
        carried: &Carried,
    ) -> Result<RedactedBatch, BatchError> {
        let rows = batch.len();
        let whole = |name: &str| batch.carried(name).cloned().ok_or(BatchError::Schema);
        let mut columns: Vec<ArrayRef> = vec![
            whole("topic")?,
            whole("partition")?,
            whole("offset")?,
            Arc::new(StringArray::from(self.row_kind.clone())),
            Arc::new(self.error.finish()),
            Arc::new(StringArray::from(self.event_kind)),
        ];
        for field in CarriedField::ALL {
            columns.push(if carried.has(field) {
                carry(batch, field, carried, &self.row_kind)?
            } else {
                new_null_array(&field.data_type(), rows)
            });
        }
        let (text, message) = match self.only {
            Some((text, message)) => (only(text)?, only(message)?),
            None => (self.text.finish(), self.message.finish()),
        };
        columns.push(Arc::new(text));
        columns.push(Arc::new(self.redactions.finish()));
        columns.push(Arc::new(message));
        columns.push(new_null_array(&DataType::Utf8, rows));
        Ok(RedactedBatch(RecordBatch::try_new(
            RedactedBatch::schema(),
            columns,
        )?))
    }
}

/// Returns a column of one value, without a copy of it.
fn only<T: ByteArrayType<Offset = i32>>(
    value: Option<impl Into<Vec<u8>>>,
) -> Result<GenericByteArray<T>, BatchError> {
    let Some(value) = value else {
        return Ok(GenericByteArray::new_null(1));
    };
    let bytes = value.into();
    let end = i32::try_from(bytes.len()).map_err(|_| ArrowError::OffsetOverflowError(bytes.len()))?;
    let offsets = OffsetBuffer::new(ScalarBuffer::from(vec![0, end]));
    Ok(GenericByteArray::try_new(offsets, Buffer::from_vec(bytes), None)?)
}

/// Returns a kept column, without the values of quarantined rows: such a row holds only coordinates and a
/// code.
///
/// Only the kinds of notes on the list are kept ([`NoteTypes`]).
fn carry(
    batch: &NoteBatch,
    field: CarriedField,
    carried: &Carried,
    row_kind: &[&str],
) -> Result<ArrayRef, BatchError> {
    let column = batch.carried(field.name()).ok_or(BatchError::Schema)?;
    if field == CarriedField::NoteType {
        let kinds = column.as_string::<i32>().iter().zip(row_kind);
        let passed = kinds.map(|(kind, &row)| {
            kind.filter(|_| row != RowKind::Quarantined.name())
                .map(|kind| carried.note_types.pass(kind))
        });
        return Ok(Arc::new(StringArray::from_iter(passed)));
    }
    if field == CarriedField::Version {
        let versions = column.as_primitive::<Int64Type>().iter().zip(row_kind);
        let passed = versions.map(|(version, &row)| {
            version
                .filter(|_| row != RowKind::Quarantined.name())
                .and_then(|version| carried.version(version))
        });
        return Ok(Arc::new(Int64Array::from_iter(passed)));
    }
    if !row_kind.contains(&RowKind::Quarantined.name()) {
        return Ok(Arc::clone(column));
    }
    let kept =
        arrow_buffer::NullBuffer::from_iter(row_kind.iter().map(|&kind| kind != RowKind::Quarantined.name()));
    let nulls = arrow_buffer::NullBuffer::union(column.nulls(), Some(&kept));
    let empty = |row: usize| kept.is_valid(row);
    // Rebuilt rather than masked: a masked value would still be in the column's buffer, and so in the file.
    Ok(match field {
        CarriedField::AuthoredAt => {
            let from = arrow_array::cast::AsArray::as_primitive::<crate::AuthoredAt>(column);
            let values = (0..batch.len()).map(|row| {
                nulls
                    .as_ref()
                    .is_none_or(|n| n.is_valid(row))
                    .then(|| from.value(row))
            });
            Arc::new(arrow_array::TimestampMillisecondArray::from_iter(values).with_timezone("UTC"))
        }
        _ => {
            let from = arrow_array::cast::AsArray::as_string::<i32>(column);
            Arc::new(StringArray::from_iter((0..batch.len()).map(|row| {
                (empty(row) && arrow_array::Array::is_valid(from, row)).then(|| from.value(row))
            })))
        }
    })
}
