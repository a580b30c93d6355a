//! A table in one file, with all of its columns, and a writer that keeps their layout: for redacting a file
//! into one of the same kind.
//!
//! Unlike the tables of a backfill (`tables.rs`), every column is read, and the output has the same columns in
//! the same order; those that do not leave are empty.

mod csv;
mod parquet;
mod restore;

use std::io::{Read, Write};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, new_null_array};
use arrow_schema::{Field, FieldRef, Schema, SchemaRef};

use super::csv::lacks;
use super::{Shape, TableColumns, TableError};

use csv::Dialect;

/// Rows of a table, in order.
type Rows = Box<dyn Iterator<Item = Result<RecordBatch, TableError>> + Send>;

/// A table in one file.
pub struct TableFile {
    /// The file's name in errors.
    name: Arc<str>,
    schema: SchemaRef,
    /// The types that the writer restores: those of the file, where they differ from the types as read.
    original: SchemaRef,
    rows: Rows,
    dialect: Option<Dialect>,
}

impl TableFile {
    /// Opens CSV with a header line; all values are text. The delimiter is by default the most frequent one of
    /// comma, semicolon, tab and bar in the header.
    ///
    /// # Errors
    /// [`TableError`] if the header cannot be read, or names a column twice.
    pub fn csv(
        name: &str,
        reader: Box<dyn Read + Send>,
        delimiter: Option<u8>,
        max_note_bytes: usize,
    ) -> Result<Self, TableError> {
        let (schema, rows, dialect) = csv::open(name, reader, delimiter, max_note_bytes)?;
        Ok(Self {
            name: name.into(),
            original: Arc::clone(&schema),
            schema,
            rows,
            dialect: Some(dialect),
        })
    }

    /// Opens Parquet.
    ///
    /// # Errors
    /// [`TableError`] if it cannot be opened.
    pub fn parquet(name: &str, input: impl ParquetInput + 'static) -> Result<Self, TableError> {
        let (schema, original, rows) = parquet::open(name, input)?;
        Ok(Self {
            name: name.into(),
            schema,
            original,
            rows,
            dialect: None,
        })
    }

    /// Returns whether it is CSV, of which the first line is taken for the header.
    pub const fn is_csv(&self) -> bool {
        self.dialect.is_some()
    }

    /// Returns the columns as they are read.
    pub const fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns the treatment of the columns.
    ///
    /// # Errors
    /// [`TableError::Column`] for a column that does not exist or has an unsuitable type.
    pub fn shape(&self, columns: &TableColumns) -> Result<Shape, TableError> {
        if self.is_csv() {
            let names: Vec<String> = self
                .schema
                .fields()
                .iter()
                .map(|field| field.name().clone())
                .collect();
            let wanted = columns.all();
            if let Some(missing) = wanted.iter().find(|wanted| !names.contains(&wanted.path)) {
                return Err(lacks(&self.name, missing, &names));
            }
        }
        Shape::new(&self.name, &self.schema, columns)
    }

    /// Returns the layout of the output.
    ///
    /// # Errors
    /// [`TableError`] if the table's own schema is inconsistent.
    pub fn layout(&self, shape: &Shape) -> Result<Layout, TableError> {
        let fields = shape.fields().map_err(|error| {
            TableError::broken(&self.name, format!("its columns cannot be written: {error}"))
        })?;
        let mut output: Vec<FieldRef> = Vec::with_capacity(self.schema.fields().len());
        let positions = shape.positions();
        for (at, original) in self.original.fields().iter().enumerate() {
            let leaves = positions.iter().position(|&position| position == at);
            let kind = match leaves {
                // A struct of which only some fields leave.
                Some(place) if fields[place].data_type().is_nested() => fields[place].data_type().clone(),
                _ if restore::is_possible(self.schema.field(at).data_type(), original.data_type()) => {
                    original.data_type().clone()
                }
                _ => self.schema.field(at).data_type().clone(),
            };
            output.push(Arc::new(Field::new(original.name(), kind, true)));
        }
        Ok(Layout {
            name: Arc::clone(&self.name),
            schema: Arc::new(Schema::new(output)),
            positions,
            dialect: self.dialect.clone(),
        })
    }
}

impl Iterator for TableFile {
    type Item = Result<RecordBatch, TableError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.rows.next()
    }
}

/// The bytes of a Parquet file.
pub use ::parquet::file::reader::ChunkReader as ParquetInput;

/// The columns of a redacted file.
pub struct Layout {
    name: Arc<str>,
    schema: SchemaRef,
    /// The column of the table of each column of the shape.
    positions: Vec<usize>,
    dialect: Option<Dialect>,
}

impl Layout {
    /// Returns the names of the columns that are left empty.
    pub fn dropped(&self) -> Vec<&str> {
        let fields = self.schema.fields().iter().enumerate();
        fields
            .filter(|(at, _)| !self.positions.contains(at))
            .map(|(_, field)| field.name().as_str())
            .collect()
    }

    /// Returns rows of the output, with these values at the leaves of the shape. A value that does not fit
    /// the type of its column, such as a tag in a column of dates, becomes null.
    ///
    /// # Errors
    /// [`TableError::Broken`] if the rows cannot be put together.
    pub fn rows(
        &self,
        shape: &Shape,
        record: &RecordBatch,
        leaves: &[ArrayRef],
    ) -> Result<RecordBatch, TableError> {
        let failed = |error: arrow_schema::ArrowError| {
            TableError::broken(&self.name, format!("its rows cannot be put together: {error}"))
        };
        let (_, columns) = shape.with(record, leaves).map_err(failed)?;
        let all = self.schema.fields().iter().enumerate().map(|(at, field)| {
            let place = self.positions.iter().position(|&position| position == at);
            match place.and_then(|place| columns.get(place)) {
                Some(column) => restore::restore(column, field.data_type()),
                None => new_null_array(field.data_type(), record.num_rows()),
            }
        });
        RecordBatch::try_new(Arc::clone(&self.schema), all.collect()).map_err(failed)
    }

    /// Starts to write the output.
    ///
    /// # Errors
    /// [`TableError::Broken`] if the header cannot be written.
    pub fn writer<W: Write + Send>(&self, to: W) -> Result<TableWriter<W>, TableError> {
        Ok(match &self.dialect {
            Some(dialect) => TableWriter::Csv(csv::Writer::new(to, dialect)?),
            None => TableWriter::Parquet(parquet::Writer::new(to, &self.schema)?),
        })
    }
}

/// Writes a table as a file of its kind.
pub enum TableWriter<W: Write + Send> {
    /// CSV in the dialect of the input.
    Csv(csv::Writer<W>),
    /// Parquet.
    Parquet(parquet::Writer<W>),
}

impl<W: Write + Send> TableWriter<W> {
    /// Writes rows.
    ///
    /// # Errors
    /// [`TableError::Broken`] if the output cannot be written.
    pub fn write(&mut self, rows: &RecordBatch) -> Result<(), TableError> {
        match self {
            Self::Csv(writer) => writer.write(rows),
            Self::Parquet(writer) => writer.write(rows),
        }
    }

    /// Ends the output. Without this call it is incomplete.
    ///
    /// # Errors
    /// As [`TableWriter::write`].
    pub fn finish(self) -> Result<(), TableError> {
        match self {
            Self::Csv(writer) => writer.finish(),
            Self::Parquet(writer) => writer.finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::StringArray;

    fn columns(toml: &str) -> TableColumns {
        toml::from_str(toml).unwrap()
    }

    /// Redacts a CSV file by writing `X` at every leaf.
    fn crossed(input: &str, settings: &str) -> String {
        let reader = Box::new(std::io::Cursor::new(input.to_owned()));
        let mut file = TableFile::csv("a.csv", reader, None, 1 << 20).unwrap();
        let shape = file.shape(&columns(settings)).unwrap();
        let layout = file.layout(&shape).unwrap();
        let mut out = Vec::new();
        let mut writer = layout.writer(&mut out).unwrap();
        for rows in &mut file {
            let rows = rows.unwrap();
            let leaves: Vec<ArrayRef> = shape
                .values(&rows)
                .iter()
                .map(|values| {
                    Arc::new(StringArray::from_iter_values(std::iter::repeat_n(
                        "X, \"y\"",
                        values.len(),
                    ))) as ArrayRef
                })
                .collect();
            writer
                .write(&layout.rows(&shape, &rows, &leaves).unwrap())
                .unwrap();
        }
        writer.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_csv_file_keeps_its_columns_their_order_and_its_dialect() {
        let input = "\u{feff}id;\"the note\";ward\r\n1;\"Ada\r\ncame; \"\"well\"\"\";A\r\n2;;B\r\n";
        assert_eq!(
            crossed(input, "text = ['the note']\nkeep = ['ward']"),
            "\u{feff}id;the note;ward\r\n;\"X, \"\"y\"\"\";A\r\n;\"X, \"\"y\"\"\";B\r\n"
        );
    }

    #[test]
    fn a_row_of_another_length_and_a_column_that_is_missing_are_named() {
        let read = |input: &str| {
            let reader = Box::new(std::io::Cursor::new(input.to_owned()));
            let mut file = TableFile::csv("a.csv", reader, None, 1 << 20)?;
            file.shape(&columns("text = ['note']"))?;
            file.try_for_each(|rows| rows.map(drop))
        };
        let error = |input| read(input).unwrap_err().to_string();
        assert!(
            error("id,note\n1,a\n2\n").contains("row 2 has 1 values"),
            "{}",
            error("id,note\n1,a\n2\n")
        );
        assert!(error("id,notes\n1,a\n").contains("`note`"));
        assert!(error("note,note\n1,a\n").contains("twice"));
        assert!(read("id,note\n").is_ok());
    }
}
