//! Reads and writes a Parquet file with all of its columns.

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};

use super::{ParquetInput, Rows};
use crate::tables::TableError;
use crate::tables::parquet::{batch_rows, rows_at_once, widened};

/// The maximum number of rows of a row group of the output.
const GROUP_ROWS: usize = 64 << 10;

fn broken(name: &str, doing: &str, error: &ParquetError) -> TableError {
    let words = match error {
        ParquetError::General(text) | ParquetError::NYI(text) | ParquetError::EOF(text) => text.as_str(),
        _ => "not a readable Parquet file",
    };
    TableError::broken(name, format!("{doing}: {words}"))
}

/// Returns the columns as read, those of the file, and the rows.
pub(super) fn open(
    name: &str,
    input: impl ParquetInput + 'static,
) -> Result<(SchemaRef, SchemaRef, Rows), TableError> {
    let failed = |error: ParquetError| broken(name, "opening it", &error);
    // The bytes are untrusted: a panic of the library means a damaged file.
    let damaged = || TableError::broken(name, "opening it: it is damaged");
    let load = || ArrowReaderMetadata::load(&input, ArrowReaderOptions::new());
    let original = catch_unwind(AssertUnwindSafe(load))
        .map_err(|_| damaged())?
        .map_err(failed)?;
    let metadata = Arc::clone(original.metadata());
    // As for a backfill: one type of strings, with 64-bit offsets, and no dictionaries.
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let plain = ArrowReaderMetadata::try_new(Arc::clone(&metadata), options.clone()).map_err(failed)?;
    let wide = Schema::new(widened(plain.schema().fields()));
    let options = options.with_schema(Arc::new(wide));
    let wide = ArrowReaderMetadata::try_new(Arc::clone(&metadata), options).map_err(failed)?;
    let tops: Vec<usize> = (0..plain.schema().fields().len()).collect();
    let groups = 0..metadata.num_row_groups();
    let rows = batch_rows(&metadata, groups.clone(), &tops);
    let at_once = rows_at_once(&metadata, groups, &tops, rows);
    let build = || {
        ParquetRecordBatchReaderBuilder::new_with_metadata(input, wide)
            .with_batch_size(at_once)
            .build()
    };
    let mut reader = catch_unwind(AssertUnwindSafe(build))
        .map_err(|_| damaged())?
        .map_err(failed)?;
    let schema = arrow_array::RecordBatchReader::schema(&reader);
    let (name, mut row, mut ended) = (name.to_owned(), 0_usize, false);
    let rows = std::iter::from_fn(move || {
        if ended {
            return None;
        }
        // The reader's message may quote data here, so it is dropped.
        let damaged = |row: usize| {
            let problem =
                format!("the data after row {row} is damaged, or its text is not UTF-8; export it again");
            Some(Err(TableError::broken(&name, problem)))
        };
        match catch_unwind(AssertUnwindSafe(|| reader.next())) {
            Ok(None) => {
                ended = true;
                None
            }
            Ok(Some(Ok(read))) => {
                row += read.num_rows();
                Some(Ok(read))
            }
            Ok(Some(Err(_))) | Err(_) => {
                ended = true;
                damaged(row)
            }
        }
    });
    Ok((schema, Arc::clone(original.schema()), Box::new(rows)))
}

/// Writes Parquet.
pub struct Writer<W: Write + Send>(ArrowWriter<W>);

fn unwritten(error: &ParquetError) -> TableError {
    TableError::broken("the output", format!("cannot be written: {error}"))
}

impl<W: Write + Send> Writer<W> {
    pub(super) fn new(to: W, schema: &SchemaRef) -> Result<Self, TableError> {
        let properties = WriterProperties::builder()
            .set_created_by(concat!("lethe ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            // They would quote the smallest and the largest values.
            .set_statistics_enabled(EnabledStatistics::None)
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .build();
        ArrowWriter::try_new(to, Arc::clone(schema), Some(properties))
            .map(Self)
            .map_err(|error| unwritten(&error))
    }

    pub(super) fn write(&mut self, rows: &RecordBatch) -> Result<(), TableError> {
        self.0.write(rows).map_err(|error| unwritten(&error))
    }

    pub(super) fn finish(self) -> Result<(), TableError> {
        self.0.close().map(drop).map_err(|error| unwritten(&error))
    }
}
