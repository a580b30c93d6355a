//! A batch of notes as one Arrow record batch.

mod rows;
mod shared;
mod texts;
mod view;

use std::any::Any;
use std::borrow::Borrow;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, TimestampMillisecondType, UInt8Type, UInt32Type};
use arrow_array::{Array, ArrayRef, ListArray, RecordBatch, StringArray};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, SchemaRef, TimeUnit};

use crate::{
    Coordinates, Enclosed, EventKind, NoteEvent, Pace, PatientLink, Record, SpanError, StructuralText,
    TagError,
};
use rows::Rows;
use shared::Shared;

pub use view::{NoteView, Tokens};

/// The kind of an output row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum RowKind {
    /// A note with its text.
    Note = 0,
    /// A note withdrawn at its source, or a record without payload.
    Tombstone = 1,
    /// An event that could not be handled.
    Quarantined = 2,
    /// A message without narrative: its structured fields are the whole of it.
    Structured = 3,
}

impl RowKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Note, Self::Tombstone, Self::Quarantined, Self::Structured];

    /// Returns the name written to output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Tombstone => "tombstone",
            Self::Quarantined => "quarantined",
            Self::Structured => "structured",
        }
    }

    const fn from_u8(value: u8) -> Self {
        match value {
            0 => Self::Note,
            1 => Self::Tombstone,
            3 => Self::Structured,
            _ => Self::Quarantined,
        }
    }
}

/// Why a record batch is not a valid note batch.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BatchError {
    /// The columns are not those of [`NoteBatch::schema`].
    #[error("the record batch does not match the schema of a note batch")]
    Schema,
    /// A token of this row is not a span of its text.
    #[error("row {row}: token {token}: {source}")]
    Token {
        /// Row of the batch.
        row: usize,
        /// Index of the token in its row.
        token: usize,
        /// The error.
        source: SpanError,
    },
    /// A service that the redactor needs is unavailable for now.
    #[error("{0}")]
    Unavailable(&'static str),
    /// Arrow refuses the columns, for instance because together they exceed 2 GiB.
    #[error("arrow: {0}")]
    Arrow(#[from] ArrowError),
}

/// Notes as Arrow columns: one row per consumed record, in the order of their offsets.
///
/// | column | type | |
/// |---|---|---|
/// | `topic`, `partition`, `offset` | utf8, int32, int64 | where the record came from |
/// | `row_kind` | uint8 | [`RowKind`] |
/// | `error` | utf8? | the [`Quarantine`](crate::Quarantine) of a quarantined row |
/// | `note_id`, `version`, `patient_id`, `encounter_id`, `note_type`, `author_id`, `authored_at` | | metadata |
/// | `event_kind` | uint8 | [`EventKind`] |
/// | `text` | utf8? | the original note; null unless `row_kind` is a note |
/// | `tokens` | `list<struct<start: uint32, end: uint32, kind: uint8>>` | bytes of `text` |
/// | `sentence_ends` | `list<uint32>` | exclusive token indices |
/// | `known` | `list<struct<kind: uint8, value: utf8>>` | the patient's own identifiers |
/// | `patient_authority` | utf8? | who assigned `patient_id` |
#[derive(Clone)]
pub struct NoteBatch {
    record: RecordBatch,
    /// The message of each row, or `None` for all rows.
    enclosed: Arc<[Option<Enclosed>]>,
    /// Ids that each row's event merges or links; empty if no row has any.
    links: Arc<[Vec<PatientLink>]>,
    /// Stretches that each row's message explains; empty if no row has any.
    structural_text: Arc<[Vec<StructuralText>]>,
    /// The index of this batch's first row in those lists.
    first: usize,
    /// The column of identifiers to which the texts belong.
    column: Option<Arc<str>>,
    shared: Arc<Shared>,
    pace: Option<Arc<dyn Pace>>,
}

mod column {
    pub(super) const TOPIC: usize = 0;
    pub(super) const PARTITION: usize = 1;
    pub(super) const OFFSET: usize = 2;
    pub(super) const ROW_KIND: usize = 3;
    pub(super) const ERROR: usize = 4;
    pub(super) const NOTE_ID: usize = 5;
    pub(super) const PATIENT_ID: usize = 7;
    pub(super) const AUTHORED_AT: usize = 11;
    pub(super) const EVENT_KIND: usize = 12;
    pub(super) const TEXT: usize = 13;
    pub(super) const TOKENS: usize = 14;
    pub(super) const SENTENCE_ENDS: usize = 15;
    pub(super) const KNOWN: usize = 16;
    pub(super) const PATIENT_AUTHORITY: usize = 17;
}

fn token_fields() -> Fields {
    Fields::from(vec![
        Field::new("start", DataType::UInt32, false),
        Field::new("end", DataType::UInt32, false),
        Field::new("kind", DataType::UInt8, false),
    ])
}

fn known_fields() -> Fields {
    Fields::from(vec![
        Field::new("kind", DataType::UInt8, false),
        Field::new("value", DataType::Utf8, false),
    ])
}

fn list_of(item: DataType) -> DataType {
    DataType::List(Arc::new(Field::new("item", item, false)))
}

impl NoteBatch {
    /// Returns the columns, in order.
    pub fn schema() -> SchemaRef {
        let utf8 = |name: &str| Field::new(name, DataType::Utf8, true);
        Arc::new(Schema::new(vec![
            Field::new("topic", DataType::Utf8, false),
            Field::new("partition", DataType::Int32, false),
            Field::new("offset", DataType::Int64, false),
            Field::new("row_kind", DataType::UInt8, false),
            utf8("error"),
            utf8("note_id"),
            Field::new("version", DataType::Int64, true),
            utf8("patient_id"),
            utf8("encounter_id"),
            utf8("note_type"),
            utf8("author_id"),
            Field::new(
                "authored_at",
                DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())),
                true,
            ),
            Field::new("event_kind", DataType::UInt8, false),
            utf8("text"),
            Field::new("tokens", list_of(DataType::Struct(token_fields())), false),
            Field::new("sentence_ends", list_of(DataType::UInt32), false),
            Field::new("known", list_of(DataType::Struct(known_fields())), false),
            utf8("patient_authority"),
        ]))
    }

    /// Tokenises records into a batch, one row each, in the order given. Takes records or references to them,
    /// so that a caller that needs them again can lend them without cloning text.
    ///
    /// # Errors
    /// [`BatchError::Arrow`] if the texts together pass 2 GiB.
    pub fn from_records<R: Borrow<Record>>(records: impl IntoIterator<Item = R>) -> Result<Self, BatchError> {
        let mut rows = Rows::default();
        for record in records {
            rows.push(record.borrow())?;
        }
        rows.finish()
    }

    /// Creates a batch of bare texts, with their index as offset, for running members on texts without
    /// events.
    ///
    /// # Errors
    /// As [`NoteBatch::from_records`].
    pub fn from_texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Self, BatchError> {
        Self::from_records(texts.into_iter().enumerate().map(|(i, text)| {
            let at = Coordinates {
                offset: i as i64,
                ..Coordinates::default()
            };
            Record::Note(NoteEvent {
                at,
                text: text.into(),
                ..NoteEvent::default()
            })
        }))
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.record.num_rows()
    }

    /// Returns whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn of(record: RecordBatch) -> Self {
        Self {
            record,
            enclosed: Arc::default(),
            links: Arc::default(),
            structural_text: Arc::default(),
            first: 0,
            column: None,
            shared: Arc::default(),
            pace: None,
        }
    }

    /// Returns a value that members share while they tag this batch: the value of type `T` under `key`,
    /// computed on the first request and kept as long as the batch. Clones of the batch share it, slices do
    /// not.
    ///
    /// `key` distinguishes values of one type that depend on different settings; it must depend on nothing
    /// else, so that the order of requests makes no difference.
    pub fn shared<T: Any + Send + Sync>(&self, key: u64, make: impl FnOnce() -> T) -> Arc<T> {
        self.shared.get(key, make)
    }

    /// Returns the Arrow form.
    pub fn record(&self) -> &RecordBatch {
        &self.record
    }

    /// Returns `len` rows from `first`, without a copy.
    ///
    /// # Panics
    /// If they are not rows of this batch.
    #[must_use]
    pub fn slice(&self, first: usize, len: usize) -> Self {
        Self {
            enclosed: Arc::clone(&self.enclosed),
            links: Arc::clone(&self.links),
            structural_text: Arc::clone(&self.structural_text),
            first: self.first + first,
            column: self.column.clone(),
            pace: self.pace.clone(),
            ..Self::of(self.record.slice(first, len))
        }
    }

    /// Lets `pace` observe the work on this batch and on slices of it.
    #[must_use]
    pub fn paced(self, pace: Arc<dyn Pace>) -> Self {
        Self {
            pace: Some(pace),
            ..self
        }
    }

    /// Reports that a window of work is done. Members call it after each window of a long note.
    ///
    /// # Errors
    /// [`TagError::OverBudget`] if the caller ended the work.
    pub fn advance(&self) -> Result<(), TagError> {
        match &self.pace {
            Some(pace) if !pace.advance() => Err(TagError::OverBudget),
            _ => Ok(()),
        }
    }

    /// Checks whether the spans of the batch may take this much memory.
    ///
    /// # Errors
    /// [`TagError::OverBudget`] if they may not.
    pub(crate) fn reserve(&self, bytes: usize) -> Result<(), TagError> {
        match &self.pace {
            Some(pace) if !pace.allow(bytes) => Err(TagError::OverBudget),
            _ => Ok(()),
        }
    }

    /// Declares that each text is a value of this column of identifiers, by its path in the table.
    #[must_use]
    pub fn of_column(self, path: &str) -> Self {
        Self {
            column: Some(format!("column:{path}").into()),
            ..self
        }
    }

    /// Returns the column of identifiers that the texts are values of, as
    /// [`Identifier::authority`](crate::Identifier::authority) names it.
    pub fn column(&self) -> Option<&str> {
        self.column.as_deref()
    }

    /// Returns the kind of row `row`.
    pub fn row_kind(&self, row: usize) -> RowKind {
        RowKind::from_u8(
            self.record
                .column(column::ROW_KIND)
                .as_primitive::<UInt8Type>()
                .value(row),
        )
    }

    /// Returns the topic, partition and offset of row `row`.
    pub fn coordinates(&self, row: usize) -> (&str, i32, i64) {
        (
            self.strings(column::TOPIC).value(row),
            self.record
                .column(column::PARTITION)
                .as_primitive::<Int32Type>()
                .value(row),
            self.record
                .column(column::OFFSET)
                .as_primitive::<Int64Type>()
                .value(row),
        )
    }

    /// Returns the row's [`Quarantine`](crate::Quarantine), if it is quarantined.
    pub fn error(&self, row: usize) -> Option<&str> {
        let errors = self.strings(column::ERROR);
        errors.is_valid(row).then(|| errors.value(row))
    }

    /// Returns the name of what happened to row `row`'s note.
    pub fn event_kind(&self, row: usize) -> &'static str {
        match self
            .record
            .column(column::EVENT_KIND)
            .as_primitive::<UInt8Type>()
            .value(row)
        {
            0 => EventKind::Create.name(),
            1 => EventKind::Amend.name(),
            _ => EventKind::Delete.name(),
        }
    }

    /// Returns one note, borrowed. A row that is not a note has an empty text.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn note(&self, row: usize) -> NoteView<'_> {
        let text = self.strings(column::TEXT);
        let tokens = self.record.column(column::TOKENS).as_list::<i32>();
        let (from, to) = range(tokens, row);
        let fields = tokens.values().as_struct();
        let sentences = self.record.column(column::SENTENCE_ENDS).as_list::<i32>();
        let (s_from, s_to) = range(sentences, row);
        NoteView {
            row,
            text: if text.is_valid(row) { text.value(row) } else { "" },
            tokens: Tokens {
                starts: &fields.column(0).as_primitive::<UInt32Type>().values()[from..to],
                ends: &fields.column(1).as_primitive::<UInt32Type>().values()[from..to],
                kinds: &fields.column(2).as_primitive::<UInt8Type>().values()[from..to],
            },
            sentence_ends: &sentences.values().as_primitive::<UInt32Type>().values()[s_from..s_to],
            known: self.record.column(column::KNOWN).as_list::<i32>(),
        }
    }

    /// Returns all notes, in row order.
    pub fn notes(&self) -> impl Iterator<Item = NoteView<'_>> {
        (0..self.len()).map(|row| self.note(row))
    }

    /// Returns the row's note id.
    pub fn note_id(&self, row: usize) -> Option<&str> {
        let ids = self.strings(column::NOTE_ID);
        ids.is_valid(row).then(|| ids.value(row))
    }

    /// Returns the row's patient, if its event names one.
    pub fn patient_id(&self, row: usize) -> Option<&str> {
        let ids = self.strings(column::PATIENT_ID);
        ids.is_valid(row).then(|| ids.value(row))
    }

    /// Returns the authority that assigned the row's patient id, if its event names one.
    pub fn patient_authority(&self, row: usize) -> Option<&str> {
        let authorities = self.strings(column::PATIENT_AUTHORITY);
        authorities.is_valid(row).then(|| authorities.value(row))
    }

    /// Returns when the row's note was written, in milliseconds since 1970-01-01T00:00:00Z.
    pub fn authored_at(&self, row: usize) -> Option<i64> {
        let times = self
            .record
            .column(column::AUTHORED_AT)
            .as_primitive::<TimestampMillisecondType>();
        times.is_valid(row).then(|| times.value(row))
    }

    /// Returns the ids that the row's event merges or links.
    pub fn links(&self, row: usize) -> &[PatientLink] {
        self.links.get(self.first + row).map_or(&[], Vec::as_slice)
    }

    /// Returns the stretches of the row's text that the structure of its message explains.
    pub fn structural_text(&self, row: usize) -> &[StructuralText] {
        self.structural_text
            .get(self.first + row)
            .map_or(&[], Vec::as_slice)
    }

    /// Returns the message that contained the row's note.
    pub fn enclosed(&self, row: usize) -> Option<&Enclosed> {
        self.enclosed.get(self.first + row)?.as_ref()
    }

    fn strings(&self, index: usize) -> &StringArray {
        self.record.column(index).as_string::<i32>()
    }

    /// Returns the column of this name, for copying metadata to the output.
    pub(crate) fn carried(&self, name: &str) -> Option<&ArrayRef> {
        self.record.column_by_name(name)
    }
}

impl TryFrom<RecordBatch> for NoteBatch {
    type Error = BatchError;

    /// Accepts a record batch from elsewhere after checking its schema and every token.
    fn try_from(record: RecordBatch) -> Result<Self, BatchError> {
        if record.schema().fields() != Self::schema().fields() {
            return Err(BatchError::Schema);
        }
        let batch = Self::of(record);
        for note in batch.notes() {
            for (i, token) in note.tokens.iter().enumerate() {
                token.span.check(note.text).map_err(|source| BatchError::Token {
                    row: note.row,
                    token: i,
                    source,
                })?;
            }
        }
        Ok(batch)
    }
}

impl std::fmt::Debug for NoteBatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "NoteBatch({} rows, {} bytes)",
            self.len(),
            self.strings(column::TEXT).value_data().len()
        )
    }
}

fn range(list: &ListArray, row: usize) -> (usize, usize) {
    let offsets = list.value_offsets();
    (offsets[row] as usize, offsets[row + 1] as usize)
}

/// The type of `authored_at`, for readers that must name it.
pub type AuthoredAt = TimestampMillisecondType;

#[cfg(test)]
mod tests;
