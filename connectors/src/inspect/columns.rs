//! Reads columns of a Parquet file from a store, one row group at a time, and fetches only the requested
//! columns.

use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Field, FieldRef, Schema, SchemaRef};
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::statistics::Statistics;

use crate::sink::{ChainError, is_readable_as, read_metadata, with_type};
use crate::store::Store;

/// The columns to read.
pub(crate) struct Wanted<'a> {
    /// Their expected types.
    pub(crate) schema: &'a Schema,
    /// Required columns.
    pub(crate) must: &'a [&'a str],
    /// Optional columns, which files of earlier versions lack.
    pub(crate) may: &'a [&'a str],
}

/// Iterates over the rows of some columns of a file, in order. Holds one row group of them.
pub(crate) struct Batches<'a> {
    store: &'a dyn Store,
    name: &'a str,
    size: u64,
    arrow: ArrowReaderMetadata,
    /// The schema's leaves to read.
    leaves: Vec<usize>,
    /// The next row group.
    group: usize,
    /// The only offset to look for, if set.
    only: Option<i64>,
    reader: Option<ParquetRecordBatchReader>,
    /// The expected type of each column.
    types: Vec<FieldRef>,
}

impl<'a> Batches<'a> {
    /// Opens a file. Reads only its metadata.
    ///
    /// # Errors
    /// [`ChainError::Footer`] if it lacks a column or has one of another type, or the store's error.
    pub(crate) async fn open(
        store: &'a dyn Store,
        name: &'a str,
        wanted: &Wanted<'_>,
    ) -> Result<Self, ChainError> {
        let (metadata, size) = read_metadata(store, name).await?;
        let arrow = guarded(|| ArrowReaderMetadata::try_new(Arc::new(metadata), ArrowReaderOptions::new()))
            .ok_or_else(|| damaged(name, "its columns cannot be read"))?;
        let is_of_type = |column: &str| {
            let theirs = arrow.schema().field_with_name(column);
            let ours = wanted.schema.field_with_name(column);
            // A downcast to another type would panic.
            matches!((theirs, ours), (Ok(theirs), Ok(ours)) if is_readable_as(theirs.data_type(), ours.data_type()))
        };
        let mut columns = Vec::new();
        for &column in wanted.must.iter().chain(wanted.may) {
            if is_of_type(column) {
                columns.push(column);
            } else if wanted.must.contains(&column) {
                return Err(damaged(name, "it lacks a column"));
            }
        }
        let descriptor = arrow.metadata().file_metadata().schema_descr();
        let is_wanted = |leaf: &usize| {
            let path = descriptor.column(*leaf);
            let top = path.path().parts().first();
            top.is_some_and(|top| columns.contains(&top.as_str()))
        };
        let leaves = (0..descriptor.num_columns()).filter(is_wanted).collect();
        Ok(Self {
            store,
            name,
            size,
            arrow,
            leaves,
            group: 0,
            only: None,
            reader: None,
            types: wanted.schema.fields().iter().cloned().collect(),
        })
    }

    /// Skips row groups whose statistics exclude this offset.
    #[must_use]
    pub(crate) fn of_offset(self, offset: i64) -> Self {
        Self {
            only: Some(offset),
            ..self
        }
    }

    /// Returns the next rows; `None` after the last.
    ///
    /// # Errors
    /// [`ChainError::Footer`] if they cannot be read, or the store's error.
    pub(crate) async fn next(&mut self) -> Result<Option<RecordBatch>, ChainError> {
        loop {
            if let Some(reader) = &mut self.reader {
                let next = guarded(|| reader.next().transpose().map_err(ParquetError::from));
                let next = next.map(|batch| batch.map(|batch| typed(&batch, &self.types)).transpose());
                match next {
                    Some(Ok(Some(batch))) => return Ok(Some(batch)),
                    Some(Ok(None)) => self.reader = None,
                    None | Some(Err(_)) => return Err(damaged(self.name, "its columns cannot be read")),
                }
            }
            let groups = self.arrow.metadata().num_row_groups();
            while self.group < groups && !self.may_hold(self.group) {
                self.group += 1;
            }
            if self.group >= groups {
                return Ok(None);
            }
            self.reader = Some(self.fetch(self.group).await?);
            self.group += 1;
        }
    }

    fn may_hold(&self, group: usize) -> bool {
        let Some(offset) = self.only else { return true };
        let metadata: &ParquetMetaData = self.arrow.metadata();
        let columns = metadata.row_group(group).columns();
        let column = columns
            .iter()
            .find(|column| column.column_path().string() == "offset");
        match column.and_then(|column| column.statistics()) {
            Some(Statistics::Int64(of)) => {
                of.min_opt().is_none_or(|min| *min <= offset) && of.max_opt().is_none_or(|max| *max >= offset)
            }
            _ => true,
        }
    }

    async fn fetch(&self, group: usize) -> Result<ParquetRecordBatchReader, ChainError> {
        let mut parts = Vec::with_capacity(self.leaves.len());
        for &leaf in &self.leaves {
            let range = guarded(|| Ok(self.arrow.metadata().row_group(group).column(leaf).byte_range()));
            let (start, length) = range.ok_or_else(|| damaged(self.name, "its columns cannot be found"))?;
            let end = start.saturating_add(length).min(self.size);
            if start >= end {
                return Err(damaged(self.name, "a column lies outside it"));
            }
            parts.push((start, self.store.read_range(self.name, start..end).await?));
        }
        let descriptor = self.arrow.metadata().file_metadata().schema_descr();
        let parts = Parts {
            parts,
            size: self.size,
        };
        let reader = guarded(|| {
            ParquetRecordBatchReaderBuilder::new_with_metadata(parts, self.arrow.clone())
                .with_row_groups(vec![group])
                .with_projection(ProjectionMask::leaves(descriptor, self.leaves.iter().copied()))
                .build()
        });
        reader.ok_or_else(|| damaged(self.name, "its columns cannot be read"))
    }
}

/// Returns the rows with the expected types of their columns.
fn typed(batch: &RecordBatch, types: &[FieldRef]) -> Result<RecordBatch, ArrowError> {
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        let expected = types.iter().find(|expected| expected.name() == field.name());
        let expected = expected.map_or(field.data_type(), |expected| expected.data_type());
        fields.push(Field::new(field.name(), expected.clone(), field.is_nullable()));
        columns.push(with_type(column, expected)?);
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
}

/// Returns the columns in a file's schema.
///
/// # Errors
/// [`ChainError::Footer`] if they cannot be read, or the store's error.
pub(crate) async fn schema_of(store: &dyn Store, name: &str) -> Result<SchemaRef, ChainError> {
    let (metadata, _) = read_metadata(store, name).await?;
    let arrow = guarded(|| ArrowReaderMetadata::try_new(Arc::new(metadata), ArrowReaderOptions::new()));
    let arrow = arrow.ok_or_else(|| damaged(name, "its columns cannot be read"))?;
    Ok(Arc::clone(arrow.schema()))
}

/// Runs the library on untrusted bytes: an error or a panic means a damaged file.
fn guarded<T>(read: impl FnOnce() -> ParquetResult<T>) -> Option<T> {
    catch_unwind(AssertUnwindSafe(read)).ok()?.ok()
}

fn damaged(name: &str, why: &str) -> ChainError {
    ChainError::Footer {
        name: name.into(),
        why: why.into(),
    }
}

/// The fetched parts of a file.
struct Parts {
    parts: Vec<(u64, Bytes)>,
    size: u64,
}

impl Parts {
    fn from(&self, start: u64) -> ParquetResult<Bytes> {
        let covers = |(at, bytes): &&(u64, Bytes)| *at <= start && start < at + bytes.len() as u64;
        match self.parts.iter().find(covers) {
            Some((at, bytes)) => Ok(bytes.slice((start - at) as usize..)),
            None => Err(ParquetError::EOF("outside the columns that were fetched".into())),
        }
    }
}

impl Length for Parts {
    fn len(&self) -> u64 {
        self.size
    }
}

impl ChunkReader for Parts {
    type T = PartReader;

    fn get_read(&self, start: u64) -> ParquetResult<PartReader> {
        Ok(PartReader(self.from(start)?))
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        let bytes = self.from(start)?;
        if bytes.len() < length {
            return Err(ParquetError::EOF("past the columns that were fetched".into()));
        }
        Ok(bytes.slice(..length))
    }
}

/// Reads a part from its start.
struct PartReader(Bytes);

impl Read for PartReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = into.len().min(self.0.len());
        into[..length].copy_from_slice(&self.0.split_to(length));
        Ok(length)
    }
}
