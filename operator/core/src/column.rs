//! Columns of output files, each with its meaning, so that the reference cannot differ from the files.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};

/// A column of an output file.
#[derive(Clone, Debug)]
pub struct Column {
    /// The column as Arrow has it.
    pub field: Field,
    /// Its meaning, as one or more sentences of Markdown.
    pub meaning: &'static str,
}

impl Column {
    /// A column without nulls.
    pub fn new(name: &str, data_type: DataType, meaning: &'static str) -> Self {
        Self {
            field: Field::new(name, data_type, false),
            meaning,
        }
    }

    /// Allows nulls.
    #[must_use]
    pub fn nullable(self) -> Self {
        Self {
            field: self.field.with_nullable(true),
            ..self
        }
    }

    /// Returns the schema of these columns.
    pub fn schema(columns: Vec<Self>) -> SchemaRef {
        let fields: Vec<_> = columns.into_iter().map(|column| column.field).collect();
        Arc::new(Schema::new(fields))
    }
}
