//! Rows to Parquet: how the files are laid out, and what must not stand in their metadata.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding as Coding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

/// How files are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Encoding {
    /// Zstandard level, 1 to 22.
    pub zstd_level: i32,
    /// Expected encoded size of a row group in bytes.
    pub row_group_bytes: usize,
    /// Rows of a row group.
    pub row_group_rows: usize,
}

impl Default for Encoding {
    /// Level 3, row groups of 32 MiB or 131,072 rows.
    fn default() -> Self {
        Self {
            zstd_level: 3,
            row_group_bytes: 32 << 20,
            row_group_rows: 128 << 10,
        }
    }
}

impl Encoding {
    /// Statistics would put the least and the greatest value of a column into the file's metadata, where tools show
    /// them and catalogues copy them. So there are none, but for the columns that only number rows.
    ///
    /// Columns of free text and of ids get no dictionary: nearly every value is another.
    fn properties(&self, schema: &SchemaRef) -> WriterProperties {
        let level = ZstdLevel::try_new(self.zstd_level.clamp(1, 22)).unwrap_or_default();
        let mut builder = WriterProperties::builder()
            .set_created_by(concat!("lethe ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_compression(Compression::ZSTD(level))
            .set_statistics_enabled(EnabledStatistics::None)
            .set_max_row_group_row_count(Some(self.row_group_rows.max(1)))
            .set_max_row_group_bytes(Some(self.row_group_bytes.max(1 << 16)))
            // A page is closed only between such slices of rows: notes can be long.
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

/// One Parquet file under construction, in memory. Costs next to nothing before its first row.
pub(crate) struct Sheet {
    schema: SchemaRef,
    encoding: Encoding,
    writer: Option<ArrowWriter<Vec<u8>>>,
    rows: u64,
}

/// What a column writer holds that the library does not count: the compressor's tables, about as large as a page, for
/// the one column whose pages are large.
const COMPRESSOR: usize = 2 << 20;

impl Sheet {
    pub(crate) const fn new(schema: SchemaRef, encoding: Encoding) -> Self {
        Self {
            schema,
            encoding,
            writer: None,
            rows: 0,
        }
    }

    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<(), ParquetError> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        self.writer()?.write(batch)?;
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    /// Rows written.
    pub(crate) const fn rows(&self) -> u64 {
        self.rows
    }

    /// Bytes of memory held.
    pub(crate) fn memory(&self) -> usize {
        self.writer.as_ref().map_or(0, |writer| {
            writer.inner().capacity() + writer.memory_size() + COMPRESSOR
        })
    }

    /// Size that the file would have if it ended here, less its footer.
    pub(crate) fn encoded(&self) -> u64 {
        self.writer.as_ref().map_or(0, |writer| {
            (writer.bytes_written() + writer.in_progress_size()) as u64
        })
    }

    /// Ends the file with these pairs in its footer, and begins anew.
    pub(crate) fn finish(&mut self, pairs: Vec<KeyValue>) -> Result<Bytes, ParquetError> {
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

    fn writer(&mut self) -> Result<&mut ArrowWriter<Vec<u8>>, ParquetError> {
        let opened = match self.writer.take() {
            Some(writer) => writer,
            None => self.open()?,
        };
        Ok(self.writer.insert(opened))
    }

    fn open(&self) -> Result<ArrowWriter<Vec<u8>>, ParquetError> {
        let properties = self.encoding.properties(&self.schema);
        ArrowWriter::try_new(Vec::new(), self.schema.clone(), Some(properties))
    }
}

/// The kind of error alone: the library's text could quote a value.
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
