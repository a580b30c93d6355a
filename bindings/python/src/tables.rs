//! Arrow tables and columns: redacted, with everything else as it was.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use lethe::{Engine, Known};
use pyo3::prelude::*;
use pyo3_arrow::input::AnyArray;
use pyo3_arrow::{PyChunkedArray, PyTable};

use crate::audit::Audit;
use crate::column;
use crate::errors::{self, Place};
use crate::rows::Rows;
use crate::work;

/// What to redact, and what to do with notes that cannot be.
pub(crate) struct Request {
    /// The columns of text of a table; empty for a column by itself.
    pub(crate) text: Vec<String>,
    /// The column of the notes' ids.
    pub(crate) id: Option<String>,
    /// The column of the patients' ids.
    pub(crate) patient: Option<String>,
    /// Columns of what is known of the patient.
    pub(crate) known: Vec<(Known, String)>,
    /// Whether a note that cannot be redacted becomes null, instead of an exception.
    pub(crate) null_for_errors: bool,
    /// Whether to return what was found.
    pub(crate) audit: bool,
    pub(crate) threads: usize,
    /// Called with the number of rows that were finished.
    pub(crate) progress: Option<Py<PyAny>>,
}

/// Redacts a column, or columns of a table. Chunks are read, redacted and kept one after the other.
///
/// Returns the table or column, and what was found in it if the request asks for that.
pub(crate) fn redact(
    py: Python<'_>,
    engine: &Engine,
    request: &Request,
    data: AnyArray,
) -> PyResult<(Py<PyAny>, Option<PyTable>)> {
    // What a library's Arrow stream raises can hold anything of its data.
    let unreadable = || errors::value("the data cannot be read as Arrow arrays".to_owned());
    let reader = data.into_reader()?;
    let field = reader.field();
    let chunks = reader.map(|chunk| chunk.map_err(|_| unreadable()));
    let mut call = Call {
        py,
        engine,
        request,
        row: 0,
        nulls: Vec::new(),
        audit: request.audit.then(Audit::default),
    };
    let redacted = match field.data_type() {
        DataType::Struct(fields) => {
            let schema = Arc::new(Schema::new_with_metadata(
                fields.clone(),
                field.metadata().clone(),
            ));
            let columns = request.columns(&schema)?;
            call.nulls.resize(schema.fields().len(), false);
            let batches: Vec<RecordBatch> = chunks
                .map(|chunk| call.batch(&chunk?, &schema, &columns))
                .collect::<PyResult<_>>()?;
            let schema = call.nullable(&schema);
            let batches = batches
                .into_iter()
                .map(|batch| batch.with_schema(Arc::clone(&schema)));
            let batches = batches.collect::<Result<_, _>>().map_err(|_| unreadable())?;
            Py::new(py, PyTable::try_new(batches, schema)?)?.into_any()
        }
        _ => {
            request.none_for_a_column()?;
            call.nulls.push(false);
            let chunks: Vec<ArrayRef> = chunks
                .map(|chunk| call.column(&chunk?))
                .collect::<PyResult<_>>()?;
            let field = call.nullable_field(0, &field);
            Py::new(py, PyChunkedArray::try_new(chunks, field)?)?.into_any()
        }
    };
    Ok((redacted, call.audit.map(Audit::finish).transpose()?))
}

/// The places of columns in a schema.
struct Columns {
    text: Vec<usize>,
    id: Option<usize>,
    patient: Option<usize>,
    known: Vec<(Known, usize)>,
}

impl Request {
    fn columns(&self, schema: &Schema) -> PyResult<Columns> {
        if self.text.is_empty() {
            return Err(errors::value(format!(
                "`text` is missing: it names the columns to redact, of {}",
                names(schema)
            )));
        }
        let find = |option: &str, name: &String| {
            let mut found = schema
                .fields()
                .iter()
                .enumerate()
                .filter(|(_, field)| field.name() == name);
            match (found.next(), found.next()) {
                (Some((place, _)), None) => Ok(place),
                (Some(_), Some(_)) => Err(errors::value(format!(
                    "`{option}`: two columns are named `{name}`"
                ))),
                (None, _) => Err(errors::value(format!(
                    "`{option}`: no column is named `{name}`; there are {}",
                    names(schema)
                ))),
            }
        };
        Ok(Columns {
            text: self
                .text
                .iter()
                .map(|name| find("text", name))
                .collect::<PyResult<_>>()?,
            id: self.id.as_ref().map(|name| find("id", name)).transpose()?,
            patient: self
                .patient
                .as_ref()
                .map(|name| find("patient", name))
                .transpose()?,
            known: self
                .known
                .iter()
                .map(|(kind, name)| Ok((*kind, find("known", name)?)))
                .collect::<PyResult<_>>()?,
        })
    }

    fn none_for_a_column(&self) -> PyResult<()> {
        let columns = [
            ("text", self.text.is_empty()),
            ("id", self.id.is_none()),
            ("patient", self.patient.is_none()),
            ("known", self.known.is_empty()),
        ];
        match columns.iter().find(|(_, absent)| !absent) {
            Some((option, _)) => Err(errors::value(format!(
                "`{option}` names a column of a table, and the data is a single column"
            ))),
            None => Ok(()),
        }
    }
}

fn names(schema: &Schema) -> String {
    let names: Vec<&str> = schema
        .fields()
        .iter()
        .map(|field| field.name().as_str())
        .collect();
    names.join(", ")
}

/// A call while it reads chunk after chunk.
struct Call<'a, 'py> {
    py: Python<'py>,
    engine: &'a Engine,
    request: &'a Request,
    /// The rows of earlier chunks.
    row: usize,
    /// The columns that got a null for a note that could not be redacted.
    nulls: Vec<bool>,
    audit: Option<Audit>,
}

impl Call<'_, '_> {
    fn batch(&mut self, chunk: &ArrayRef, schema: &SchemaRef, columns: &Columns) -> PyResult<RecordBatch> {
        let broken = || errors::value("the data is not a valid Arrow table".to_owned());
        let table = chunk
            .as_struct_opt()
            .filter(|table| table.null_count() == 0)
            .ok_or_else(broken)?;
        let mut arrays = table.columns().to_vec();
        let original = arrays.clone();
        let label = |place: usize| format!("column `{}`", schema.field(place).name());
        let read = |place: usize| original.get(place).ok_or_else(broken);
        let identifiers = |place: usize| column::identifiers(read(place)?, &label(place));
        for place in &columns.text {
            let rows = Rows {
                text: column::text(read(*place)?, &label(*place))?,
                id: columns.id.map(identifiers).transpose()?,
                patient: columns.patient.map(identifiers).transpose()?,
                known: columns
                    .known
                    .iter()
                    .map(|(kind, place)| Ok((*kind, identifiers(*place)?)))
                    .collect::<PyResult<_>>()?,
            };
            let texts = self.texts(&rows, *place, Some(schema.field(*place).name()))?;
            let restored = column::restored(texts, read(*place)?.data_type(), &label(*place))?;
            if let Some(array) = arrays.get_mut(*place) {
                *array = restored;
            }
        }
        self.row += table.len();
        let options = RecordBatchOptions::new().with_row_count(Some(table.len()));
        RecordBatch::try_new_with_options(self.nullable(schema), arrays, &options).map_err(|_| broken())
    }

    fn column(&mut self, chunk: &ArrayRef) -> PyResult<ArrayRef> {
        let rows = Rows {
            text: column::text(chunk, "the column")?,
            id: None,
            patient: None,
            known: Vec::new(),
        };
        let texts = self.texts(&rows, 0, None)?;
        self.row += rows.len();
        column::restored(texts, chunk.data_type(), "the column")
    }

    /// Redacts the notes of a column.
    fn texts(&mut self, rows: &Rows, place: usize, name: Option<&String>) -> PyResult<Vec<Option<String>>> {
        let progress = |rows: usize| match &self.request.progress {
            Some(progress) => progress.call1(self.py, (rows,)).map(drop),
            None => Ok(()),
        };
        let keep = self.request.null_for_errors;
        let outcomes = work::redact(self.py, self.engine, rows, self.request.threads, !keep, progress)?;
        let first = self.row;
        let mut failed = false;
        let audit = &mut self.audit;
        let texts = outcomes
            .into_iter()
            .enumerate()
            .map(|(row, outcome)| match outcome.transpose() {
                Ok(redacted) => {
                    if let (Some(audit), Some(redacted)) = (audit.as_mut(), &redacted) {
                        audit.add(first + row, name.map(String::as_str), redacted);
                    }
                    Ok(redacted.map(|redacted| redacted.text))
                }
                Err(lethe::Error::Quarantined { .. }) if keep => {
                    failed = true;
                    Ok(None)
                }
                Err(error) => {
                    let place = Place {
                        row: Some(first + row),
                        column: name.cloned(),
                    };
                    Err(errors::exception(&error, &place))
                }
            });
        let texts = texts.collect();
        if let (true, Some(nulls)) = (failed, self.nulls.get_mut(place)) {
            *nulls = true;
        }
        texts
    }

    /// Returns the schema with nulls where there are some now.
    fn nullable(&self, schema: &SchemaRef) -> SchemaRef {
        let fields = schema.fields().iter().enumerate();
        let fields: Vec<FieldRef> = fields
            .map(|(place, field)| self.nullable_field(place, field))
            .collect();
        Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
    }

    fn nullable_field(&self, place: usize, field: &FieldRef) -> FieldRef {
        if self.nulls.get(place) == Some(&true) && !field.is_nullable() {
            return Arc::new(Field::clone(field).with_nullable(true));
        }
        Arc::clone(field)
    }
}
