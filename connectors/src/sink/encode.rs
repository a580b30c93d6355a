//! Encodes rows as Parquet: the layout of files, and the metadata that they must not contain.

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use bytes::Bytes;
use lethe_core::RedactedBatch;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding as Coding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use super::FieldIds;
use super::stored::{stored_schema, with_types};

/// The Parquet encoding of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Encoding {
    /// The Zstandard level, 1 to 22. 0 writes uncompressed files.
    pub zstd_level: i32,
    /// The maximum size of a row group in memory, before encoding. A lane holds at most this much unencoded.
    pub row_group_bytes: usize,
    /// The maximum number of rows of a row group.
    #[schemars(extend("x-unit" = "rows"))]
    pub row_group_rows: usize,
}

impl Default for Encoding {
    /// Level 3, row groups of 8 MiB or 131,072 rows.
    fn default() -> Self {
        Self {
            zstd_level: 3,
            row_group_bytes: 8 << 20,
            row_group_rows: 128 << 10,
        }
    }
}

impl Encoding {
    /// Returns the writer's properties. Statistics would put the minimum and maximum of a column into the
    /// file's metadata, where tools display and catalogues copy them. So only columns of row numbers have
    /// them.
    ///
    /// Columns of free text and ids have no dictionary, since nearly all values differ.
    fn properties(&self, schema: &SchemaRef) -> WriterProperties {
        let compression = match ZstdLevel::try_new(self.zstd_level.min(22)) {
            Ok(level) if self.zstd_level > 0 => Compression::ZSTD(level),
            _ => Compression::UNCOMPRESSED,
        };
        let mut builder = WriterProperties::builder()
            .set_created_by(concat!("lethe ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_compression(compression)
            .set_statistics_enabled(EnabledStatistics::None)
            .set_max_row_group_row_count(Some(self.row_group_rows.max(1)))
            // The writer closes a page only between such slices of rows, and notes can be long.
            .set_write_batch_size(256);
        for name in ["offset", "partition"] {
            builder = builder.set_column_statistics_enabled(ColumnPath::from(name), EnabledStatistics::Page);
        }
        for name in ["text", "note_id", "patient_id", "encounter_id"] {
            builder = builder.set_column_dictionary_enabled(ColumnPath::from(name), false);
        }
        builder = builder
            .set_column_dictionary_enabled(ColumnPath::from("offset"), false)
            .set_column_encoding(ColumnPath::from("offset"), Coding::DELTA_BINARY_PACKED);
        if let Ok(index) = schema.index_of("offset") {
            builder = builder.set_sorting_columns(Some(vec![SortingColumn {
                column_idx: index as i32,
                descending: false,
                nulls_first: false,
            }]));
        }
        builder.build()
    }
}

/// A Parquet file under construction, in memory. Its types may be others than those of the rows ([`with_types`]).
///
/// Rows are buffered and encoded one row group at a time. An open row group takes megabytes for compressors
/// and pages whether it holds much or little, so none stays open: with many lanes they would take most of the
/// memory.
pub(crate) struct Sheet {
    schema: SchemaRef,
    encoding: Encoding,
    /// Rows of the next row group, and their size in memory.
    pending: Vec<RecordBatch>,
    pending_bytes: usize,
    pending_rows: usize,
    /// The earlier row groups.
    writer: Option<ArrowWriter<Vec<u8>>>,
    rows: u64,
}

/// Assumed compression ratio, to estimate a file's size in advance.
const SHRINKS: usize = 3;

impl Sheet {
    /// Returns an empty file of notes.
    pub(crate) fn of_notes(encoding: Encoding) -> Self {
        Self::new(stored_schema(&RedactedBatch::schema(), FieldIds::NOTES), encoding)
    }

    /// Returns an empty audit file with these columns.
    pub(crate) fn of_audit(columns: &Schema, encoding: Encoding) -> Self {
        Self::new(stored_schema(columns, FieldIds::AUDIT), encoding)
    }

    /// Returns an empty file with this schema.
    pub(crate) const fn new(schema: SchemaRef, encoding: Encoding) -> Self {
        Self {
            schema,
            encoding,
            pending: Vec::new(),
            pending_bytes: 0,
            pending_rows: 0,
            writer: None,
            rows: 0,
        }
    }

    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<(), ParquetError> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        self.pending_bytes += batch.get_array_memory_size();
        self.pending_rows += batch.num_rows();
        self.pending.push(batch.clone());
        self.rows += batch.num_rows() as u64;
        if self.pending_bytes >= self.encoding.row_group_bytes
            || self.pending_rows >= self.encoding.row_group_rows
        {
            self.close_row_group()?;
        }
        Ok(())
    }

    /// Returns the number of rows.
    pub(crate) const fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the memory held, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.pending_bytes
            + self
                .writer
                .as_ref()
                .map_or(0, |writer| writer.inner().capacity() + writer.memory_size())
    }

    /// Returns the approximate size of the file if it ended here, without its footer.
    pub(crate) fn encoded(&self) -> u64 {
        (self.pending_bytes / SHRINKS + self.writer.as_ref().map_or(0, ArrowWriter::bytes_written)) as u64
    }

    /// Finishes the file with these pairs in its footer, and starts the next one.
    pub(crate) fn finish(&mut self, pairs: Vec<KeyValue>) -> Result<Bytes, ParquetError> {
        self.close_row_group()?;
        let mut writer = match self.writer.take() {
            Some(writer) => writer,
            None => self.open()?,
        };
        self.rows = 0;
        for pair in pairs {
            writer.append_key_value_metadata(pair);
        }
        Ok(writer.into_inner()?.into())
    }

    /// Finishes the current row group.
    pub(crate) fn flush(&mut self) -> Result<(), ParquetError> {
        self.close_row_group()
    }

    fn close_row_group(&mut self) -> Result<(), ParquetError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let mut writer = match self.writer.take() {
            Some(writer) => writer,
            None => self.open()?,
        };
        for batch in self.pending.drain(..) {
            writer.write(&with_types(&batch, &self.schema)?)?;
        }
        writer.flush()?;
        (self.pending_bytes, self.pending_rows) = (0, 0);
        self.writer = Some(writer);
        Ok(())
    }

    fn open(&self) -> Result<ArrowWriter<Vec<u8>>, ParquetError> {
        let properties = self.encoding.properties(&self.schema);
        ArrowWriter::try_new(Vec::new(), self.schema.clone(), Some(properties))
    }
}

/// Returns only the kind of error, since the library's message could quote a value.
pub(crate) const fn kind(error: &ParquetError) -> &'static str {
    match error {
        ParquetError::NYI(_) => "not supported",
        ParquetError::EOF(_) => "unexpected end",
        ParquetError::ArrowError(_) => "arrow",
        ParquetError::IndexOutOfBound(..) => "index out of bounds",
        ParquetError::External(_) => "external",
        _ => "general",
    }
}
