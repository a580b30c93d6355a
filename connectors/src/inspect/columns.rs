//! Reads a few columns of a Parquet file out of a store, a row group at a time: the text of the notes, which is nearly
//! all of a file, is never fetched.

use std::io::{self, Read};
use std::sync::Arc;

use arrow_array::RecordBatch;
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{ChunkReader, Length};

use crate::sink::ChainError;
use crate::store::Store;

/// Calls `each` with the rows of the named columns, in the file's order. Holds one row group's share of them.
///
/// # Errors
/// [`ChainError::Footer`] if the columns cannot be read, or the store's error.
pub(super) async fn for_each_batch(
    store: &dyn Store,
    name: &str,
    metadata: Arc<ParquetMetaData>,
    size: u64,
    columns: &[&str],
    mut each: impl FnMut(&RecordBatch),
) -> Result<(), ChainError> {
    let damaged = |_: ParquetError| ChainError::Footer {
        name: name.into(),
        why: "its columns cannot be read".into(),
    };
    let arrow =
        ArrowReaderMetadata::try_new(Arc::clone(&metadata), ArrowReaderOptions::new()).map_err(damaged)?;
    let descriptor = metadata.file_metadata().schema_descr();
    let wanted: Vec<usize> = (0..descriptor.num_columns())
        .filter(|&index| columns.contains(&descriptor.column(index).path().string().as_str()))
        .collect();
    if wanted.len() != columns.len() {
        return Err(ChainError::Footer {
            name: name.into(),
            why: "it lacks a column".into(),
        });
    }
    for (index, group) in metadata.row_groups().iter().enumerate() {
        let mut parts = Vec::with_capacity(wanted.len());
        for &column in &wanted {
            let (start, length) = group.column(column).byte_range();
            let end = start.saturating_add(length).min(size);
            parts.push((start, store.read_range(name, start..end).await?));
        }
        let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(Parts { parts, size }, arrow.clone())
            .with_row_groups(vec![index])
            .with_projection(ProjectionMask::leaves(descriptor, wanted.iter().copied()))
            .build()
            .map_err(damaged)?;
        for batch in reader {
            each(&batch.map_err(|error| damaged(error.into()))?);
        }
    }
    Ok(())
}

/// The parts of a file that were fetched.
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

/// Reads a part from its front.
struct PartReader(Bytes);

impl Read for PartReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = into.len().min(self.0.len());
        into[..length].copy_from_slice(&self.0.split_to(length));
        Ok(length)
    }
}
