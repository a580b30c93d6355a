//! Redacted rows: the only rows that a sink can write.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, StringBuilder, UInt32Builder};
use arrow_array::cast::AsArray as _;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, new_null_array};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};

use crate::{BatchError, NoteBatch, NoteTypes, QuarantineCode, Reason, Redacted, Review, RowKind};

/// Metadata that a policy may keep, copying it from the event to the output row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CarriedField {
    /// The source's note id.
    NoteId,
    /// The note's version.
    Version,
    /// The kind of note.
    NoteType,
    /// The patient's id, which identifies a person.
    PatientId,
    /// The encounter's id, which identifies a person.
    EncounterId,
    /// The author's id, which identifies a person.
    AuthorId,
    /// When the note was written, which is a date of service.
    AuthoredAt,
}

impl CarriedField {
    const ALL: [Self; 7] = [
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
    /// Returns the columns: `topic`, `partition`, `offset`; `row_kind` (`note`, `tombstone`, `quarantined`,
    /// `structured`; in files, an erasure also writes `erased`); `error`, the
    /// [`Quarantine`](crate::Quarantine) of a quarantined row; `event_kind`; the metadata, null where the
    /// policy does not keep it; `text`, redacted, null unless the row is a note; `redactions`, the number of
    /// replaced spans; `message`, the redacted message that contained the note, null unless messages are
    /// returned; `review`, why a person should look at the note ([`Reason`]s, separated by commas), null if
    /// there is no reason.
    pub fn schema() -> SchemaRef {
        let mut fields = vec![
            Field::new("topic", DataType::Utf8, false),
            Field::new("partition", DataType::Int32, false),
            Field::new("offset", DataType::Int64, false),
            Field::new("row_kind", DataType::Utf8, false),
            Field::new("error", DataType::Utf8, true),
            Field::new("event_kind", DataType::Utf8, false),
        ];
        fields.extend(CarriedField::ALL.map(|field| Field::new(field.name(), field.data_type(), true)));
        fields.push(Field::new("text", DataType::Utf8, true));
        fields.push(Field::new("redactions", DataType::UInt32, false));
        fields.push(Field::new("message", DataType::Binary, true));
        fields.push(Field::new("review", DataType::Utf8, true));
        Arc::new(Schema::new(fields))
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

/// Output rows under construction.
pub(crate) struct Rows {
    row_kind: Vec<&'static str>,
    error: StringBuilder,
    event_kind: Vec<&'static str>,
    text: StringBuilder,
    redactions: UInt32Builder,
    message: BinaryBuilder,
}

impl Rows {
    /// Reserves `rows` rows with `bytes` of text together, so that a batch holds little more than its text.
    pub(crate) fn new(rows: usize, bytes: usize) -> Self {
        Self {
            row_kind: Vec::with_capacity(rows),
            error: StringBuilder::new(),
            event_kind: Vec::with_capacity(rows),
            text: StringBuilder::with_capacity(rows, bytes),
            redactions: UInt32Builder::with_capacity(rows),
            message: BinaryBuilder::new(),
        }
    }

    /// Adds row `row` of `batch`, with its redacted text and number of redactions, or its quarantine.
    pub(crate) fn push(
        &mut self,
        batch: &NoteBatch,
        row: usize,
        redacted: Result<(&Redacted, usize), QuarantineCode>,
    ) {
        let came_as = batch.row_kind(row);
        let (kind, error, note, redactions) = match (came_as, redacted) {
            (RowKind::Note | RowKind::Structured, Ok((note, redactions))) => {
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
        let text = note.filter(|_| kind == RowKind::Note).map(|note| &note.text);
        self.text.append_option(text);
        self.message
            .append_option(note.and_then(|note| note.message.as_deref()));
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
        columns.push(Arc::new(self.text.finish()));
        columns.push(Arc::new(self.redactions.finish()));
        columns.push(Arc::new(self.message.finish()));
        columns.push(new_null_array(&DataType::Utf8, rows));
        Ok(RedactedBatch(RecordBatch::try_new(
            RedactedBatch::schema(),
            columns,
        )?))
    }
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
