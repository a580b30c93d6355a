//! The shape of a table's output: its columns without unlisted ones, and the positions of text and
//! identifiers in them.

use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::{Array as _, ArrayRef, RecordBatch, StringArray};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema};
use lethe_core::{Known, KnownKind, NoteEvent, QuarantineCode};

use super::path_error::PathError;
use super::strings::{has_text, instant, text};
use super::tree::{Node, Values, gather, grow, merge, rebuild};
use super::{TableColumns, TableError};
use crate::format::{PayloadError, kind_named};

/// The treatment of a value that is not kept unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// Free text.
    Text,
    /// An identifier with this label.
    Identifier(String),
    /// A kind of note, which is kept if it is on the list of kinds.
    NoteType,
}

/// The position of values that are not kept unchanged.
#[derive(Clone, Debug)]
pub struct Leaves {
    /// The column's path.
    pub path: String,
    /// Their treatment.
    pub what: Cell,
}

/// A field of a note event that comes from a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Patient,
    Note,
    Encounter,
    Author,
    NoteType,
    AuthoredAt,
    Known(KnownKind),
}

/// The columns of the output, and the columns that are only read.
#[derive(Clone, Debug)]
pub struct Shape {
    schema: Schema,
    columns: Vec<(usize, Node)>,
    leaves: Vec<Leaves>,
    metadata: Vec<(Role, Vec<usize>)>,
    /// The assigner of the patient's id: the column that holds it.
    patient_column: Option<Arc<str>>,
}

impl Shape {
    /// Returns the shape that `columns` give to a table with this schema. Its strings and bytes must have
    /// 64-bit offsets.
    ///
    /// # Errors
    /// [`TableError::Column`] for a column that does not exist or has an unsuitable type.
    pub(super) fn new(object: &str, schema: &Schema, columns: &TableColumns) -> Result<Self, TableError> {
        let mut shape = Self {
            schema: schema.clone(),
            columns: Vec::new(),
            leaves: Vec::new(),
            metadata: Vec::new(),
            patient_column: columns
                .patient_id
                .as_ref()
                .map(|path| format!("column:{path}").into()),
        };
        for wanted in columns.leaving() {
            let what = match wanted.key.as_str() {
                "text" => Some(Cell::Text),
                "identifiers" => columns
                    .identifiers
                    .get(&wanted.path)
                    .cloned()
                    .map(Cell::Identifier),
                "keep" if columns.note_type.as_ref() == Some(&wanted.path) => Some(Cell::NoteType),
                _ => None,
            };
            let error = |problem: PathError| TableError::Column {
                object: object.to_owned(),
                key: wanted.key.clone(),
                column: wanted.path.clone(),
                problem: problem.to_string(),
            };
            let leaf = what.map(|what| {
                shape.leaves.push(Leaves {
                    path: wanted.path.clone(),
                    what,
                });
                shape.leaves.len() - 1
            });
            let (top, rest) = root(schema, &wanted.path)
                .ok_or_else(|| error(PathError::missing(&wanted.path, schema.fields())))?;
            let grown = grow(schema.field(top).data_type(), &rest, leaf).map_err(error)?;
            match shape.columns.iter_mut().find(|(column, _)| *column == top) {
                Some((_, node)) => merge(node, grown),
                None => shape.columns.push((top, grown)),
            }
        }
        for wanted in columns.metadata() {
            let error = |problem: PathError| TableError::Column {
                object: object.to_owned(),
                key: wanted.key.clone(),
                column: wanted.path.clone(),
                problem: problem.to_string(),
            };
            let (top, rest) = root(schema, &wanted.path)
                .ok_or_else(|| error(PathError::missing(&wanted.path, schema.fields())))?;
            let path = single(schema.field(top).data_type(), &rest).map_err(error)?;
            let role = match wanted.key.as_str() {
                "patient_id" => Role::Patient,
                "note_id" => Role::Note,
                "encounter_id" => Role::Encounter,
                "author_id" => Role::Author,
                "note_type" => Role::NoteType,
                "authored_at" => Role::AuthoredAt,
                key => match key.strip_prefix("known.").and_then(kind_named) {
                    Some(kind) => Role::Known(kind),
                    None => continue,
                },
            };
            shape
                .metadata
                .push((role, std::iter::once(top).chain(path).collect()));
        }
        Ok(shape)
    }

    /// Returns the fields of the output.
    ///
    /// # Errors
    /// An error if the table's own schema is inconsistent.
    pub fn fields(&self) -> Result<Vec<FieldRef>, ArrowError> {
        let none = RecordBatch::new_empty(Arc::new(self.schema.clone()));
        let empty: Vec<ArrayRef> = self
            .leaves
            .iter()
            .map(|_| Arc::new(StringArray::new_null(0)) as ArrayRef)
            .collect();
        Ok(self.with(&none, &empty)?.0)
    }

    /// Returns the column of the table of each column of the output.
    pub(super) fn positions(&self) -> Vec<usize> {
        self.columns.iter().map(|(column, _)| *column).collect()
    }

    /// Returns the positions of values that are not kept unchanged.
    pub fn leaves(&self) -> &[Leaves] {
        &self.leaves
    }

    /// Returns those values, in the order of [`Shape::leaves`].
    pub fn values(&self, record: &RecordBatch) -> Vec<Values> {
        let mut found = vec![None; self.leaves.len()];
        for (column, node) in &self.columns {
            let rows = (0..record.num_rows())
                .map(|row| u32::try_from(row).ok())
                .collect();
            gather(record.column(*column), node, rows, &mut found);
        }
        found.into_iter().flatten().collect()
    }

    /// Returns the columns of the output, with other values at the leaves.
    ///
    /// # Errors
    /// An error if the number of values differs.
    pub fn with(
        &self,
        record: &RecordBatch,
        leaves: &[ArrayRef],
    ) -> Result<(Vec<FieldRef>, Vec<ArrayRef>), ArrowError> {
        let schema = record.schema();
        let mut fields = Vec::new();
        let mut columns = Vec::new();
        for (column, node) in &self.columns {
            let (kind, array) = rebuild(record.column(*column), node, leaves)?;
            // A quarantined row has a null in all of them.
            fields.push(Arc::new(Field::new(schema.field(*column).name(), kind, true)));
            columns.push(array);
        }
        Ok((fields, columns))
    }

    /// Returns a row's fields of the note event, without its text.
    ///
    /// # Errors
    /// Why they cannot be read.
    pub fn event(&self, record: &RecordBatch, row: usize) -> Result<NoteEvent, QuarantineCode> {
        let mut event = NoteEvent::default();
        for (role, path) in &self.metadata {
            let Some(column) = follow(record, path, row) else {
                continue;
            };
            if *role == Role::AuthoredAt {
                event.authored_at = instant(&column, row).map_err(PayloadError::code)?;
                continue;
            }
            let Some(value) = text(&column, row).map_err(PayloadError::code)? else {
                continue;
            };
            match role {
                Role::Patient => {
                    event.patient_id = Some(value.into());
                    event.patient_authority.clone_from(&self.patient_column);
                }
                Role::Note => event.note_id = value.into(),
                Role::Encounter => event.encounter_id = Some(value.into()),
                Role::Author => event.author_id = Some(value.into()),
                Role::NoteType => event.note_type = Some(value),
                Role::Known(kind) if !value.trim().is_empty() => event.known.push(Known {
                    kind: *kind,
                    value: value.into(),
                }),
                Role::Known(_) | Role::AuthoredAt => {}
            }
        }
        Ok(event)
    }
}

/// Returns the column that a path begins in, and the rest of the path. A column name may itself contain dots.
pub(super) fn root<'p>(schema: &Schema, path: &'p str) -> Option<(usize, Vec<&'p str>)> {
    if let Some((top, _)) = schema.column_with_name(path) {
        return Some((top, Vec::new()));
    }
    let mut parts = path.split('.');
    let (top, _) = schema.column_with_name(parts.next()?)?;
    Some((top, parts.collect()))
}

/// Returns the way to a field with one value per row.
fn single(kind: &DataType, path: &[&str]) -> Result<Vec<usize>, PathError> {
    match (kind, path.split_first()) {
        (DataType::Struct(fields), Some((name, rest))) => {
            let (at, field) = fields
                .find(name)
                .ok_or_else(|| PathError::missing(name, fields))?;
            Ok(std::iter::once(at)
                .chain(single(field.data_type(), rest)?)
                .collect())
        }
        (DataType::List(_) | DataType::LargeList(_), _) => Err(PathError::InList),
        (kind, Some((name, _))) => Err(PathError::no_struct(name, kind)),
        (kind, None) if has_text(kind) => Ok(Vec::new()),
        (kind, None) => Err(PathError::NoText { kind: kind.clone() }),
    }
}

/// Returns the column at the end of the way, unless a parent is null in the row.
fn follow(record: &RecordBatch, path: &[usize], row: usize) -> Option<ArrayRef> {
    let (top, rest) = path.split_first()?;
    let mut column = Arc::clone(record.columns().get(*top)?);
    for field in rest {
        let parent = column.as_struct_opt().filter(|parent| parent.is_valid(row))?;
        column = Arc::clone(parent.columns().get(*field)?);
    }
    Some(column)
}
