//! Parquet: row groups stream, a slab at a time.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::{ArrayRef, LargeStringArray, RecordBatch};
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};

use super::blocks::Remote;
use super::{Constant, SLAB_BYTES, SLAB_ROWS, Shape, Slab, Slabs, TableError, TablesConfig};

/// What an object says of itself at its end.
pub(super) fn metadata(remote: &Remote) -> Result<Arc<ParquetMetaData>, TableError> {
    let read = || ParquetMetaDataReader::new().parse_and_finish(remote);
    // The bytes may be anybody's: a panic of the library is a damaged object like any other.
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(Ok(metadata)) => Ok(Arc::new(metadata)),
        Ok(Err(error)) => Err(remote.why(|| broken(remote, "opening it", &error))),
        Err(_) => Err(TableError::broken(
            remote.label(),
            "opening it: its metadata are damaged",
        )),
    }
}

/// What the library says of an object's structure. Kinds of error that wrap others are not spelled out.
fn broken(remote: &Remote, doing: &str, error: &ParquetError) -> TableError {
    let words = match error {
        ParquetError::General(text) | ParquetError::NYI(text) | ParquetError::EOF(text) => text.as_str(),
        _ => "not a Parquet file that can be read",
    };
    TableError::broken(remote.label(), format!("{doing}: {words}"))
}

/// Row groups that together have about `bytes` bytes, and how many they have.
pub(super) fn cut(metadata: &ParquetMetaData, bytes: u64) -> Vec<(Range<usize>, u64)> {
    let mut parts = Vec::new();
    let (mut from, mut held) = (0, 0);
    let groups = metadata.row_groups();
    for (at, group) in groups.iter().enumerate() {
        held += u64::try_from(group.compressed_size()).unwrap_or(0);
        if held >= bytes || at + 1 == groups.len() {
            parts.push((from..at + 1, held));
            (from, held) = (at + 1, 0);
        }
    }
    if parts.is_empty() {
        parts.push((0..0, 0));
    }
    parts
}

pub(super) fn read(
    remote: &Remote,
    groups: Option<Range<usize>>,
    from: u64,
    config: &TablesConfig,
    partitions: &[Constant],
) -> Result<(Shape, Slabs), TableError> {
    let failed = |error: ParquetError| remote.why(|| broken(remote, "opening it", &error));
    let metadata = metadata(remote)?;
    let groups = groups.unwrap_or(0..metadata.num_row_groups());
    // The arrow schema that the writer left would bring dictionaries and views; Parquet's own types are enough.
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let plain = ArrowReaderMetadata::try_new(Arc::clone(&metadata), options.clone()).map_err(failed)?;
    // Offsets of 64 bits, so that a slab of large notes cannot overflow, and strings are of one type.
    let wide = Schema::new(widened(plain.schema().fields()));
    let wide = ArrowReaderMetadata::try_new(Arc::clone(&metadata), options.with_schema(Arc::new(wide)))
        .map_err(failed)?;

    let tops: Vec<usize> = config
        .columns
        .all()
        .iter()
        .filter_map(|wanted| {
            let whole = plain.schema().column_with_name(&wanted.path);
            let top = whole.or_else(|| plain.schema().column_with_name(wanted.path.split('.').next()?));
            top.map(|(at, _)| at)
        })
        .collect();
    let mask = ProjectionMask::roots(metadata.file_metadata().schema_descr(), tops.iter().copied());
    let rows = batch_rows(&metadata, groups.clone(), &tops);
    let before: i64 = (0..groups.start)
        .map(|at| metadata.row_group(at).num_rows())
        .sum();
    let all = groups.clone().map(|at| metadata.row_group(at).num_rows()).sum();
    let build = || {
        ParquetRecordBatchReaderBuilder::new_with_metadata(remote.clone(), wide)
            .with_projection(mask)
            .with_row_groups(groups.collect())
            .with_offset(usize::try_from(from).unwrap_or(usize::MAX))
            .with_batch_size(rows)
            .build()
    };
    let reader = match catch_unwind(AssertUnwindSafe(build)) {
        Ok(built) => built.map_err(failed)?,
        Err(_) => {
            return Err(TableError::broken(
                remote.label(),
                "opening it: its data are damaged",
            ));
        }
    };
    let constants: Vec<Constant> = partitions
        .iter()
        .filter(|(name, _)| plain.schema().column_with_name(name).is_none())
        .cloned()
        .collect();
    let mut fields: Vec<FieldRef> = parquet_schema(&reader).fields().iter().cloned().collect();
    fields.extend(
        constants
            .iter()
            .map(|(name, _)| Arc::new(Field::new(name, DataType::LargeUtf8, true))),
    );
    let schema = Arc::new(Schema::new(fields));
    let shape = Shape::new(remote.label(), &schema, &config.columns)?;
    let mut rows = Rows {
        remote: remote.clone(),
        reader,
        schema,
        constants,
        row: before + i64::try_from(from).unwrap_or(i64::MAX),
        begin: before,
        all,
    };
    let mut ended = false;
    Ok((
        shape,
        Box::new(std::iter::from_fn(move || {
            if ended {
                return None;
            }
            let step = rows.step().transpose();
            ended = !matches!(step, Some(Ok(_)));
            step
        })),
    ))
}

fn parquet_schema(reader: &ParquetRecordBatchReader) -> Arc<Schema> {
    arrow_array::RecordBatchReader::schema(reader)
}

struct Rows {
    remote: Remote,
    reader: ParquetRecordBatchReader,
    schema: Arc<Schema>,
    constants: Vec<Constant>,
    row: i64,
    /// The unit's first row, and how many it has.
    begin: i64,
    all: i64,
}

impl Rows {
    fn step(&mut self) -> Result<Option<Slab>, TableError> {
        let damaged = |row: i64| {
            // The reader's words may come from the data here, so they are left out.
            let problem =
                format!("the data after row {row} are damaged, or text that is not UTF-8; export it again");
            TableError::broken(self.remote.label(), problem)
        };
        let read = match catch_unwind(AssertUnwindSafe(|| self.reader.next())) {
            Ok(None) => return Ok(None),
            Ok(Some(Ok(read))) => read,
            Ok(Some(Err(_))) => return Err(self.remote.why(|| damaged(self.row))),
            Err(_) => return Err(damaged(self.row)),
        };
        let rows = read.num_rows();
        let mut columns: Vec<ArrayRef> = read.columns().to_vec();
        for (_, value) in &self.constants {
            let column = LargeStringArray::from_iter_values(std::iter::repeat_n(value, rows));
            columns.push(Arc::new(column));
        }
        let record =
            RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(|_| damaged(self.row))?;
        let first = self.row;
        self.row += rows as i64;
        Ok(Some(Slab {
            first,
            record,
            bad: Vec::new(),
            share: (self.row - self.begin) as f64 / self.all.max(1) as f64,
        }))
    }
}

/// How many rows have about [`SLAB_BYTES`] in these columns, in the row group where they have most.
fn batch_rows(metadata: &ParquetMetaData, groups: Range<usize>, tops: &[usize]) -> usize {
    let descr = metadata.file_metadata().schema_descr();
    let leaves: Vec<usize> = (0..descr.num_columns())
        .filter(|&leaf| tops.contains(&descr.get_column_root_idx(leaf)))
        .collect();
    let average = metadata.row_groups()[groups]
        .iter()
        .map(|group| {
            let bytes: i64 = leaves
                .iter()
                .map(|&leaf| group.column(leaf).uncompressed_size())
                .sum();
            bytes / group.num_rows().max(1)
        })
        .max()
        .unwrap_or(0);
    (SLAB_BYTES / usize::try_from(average).unwrap_or(1).max(1)).clamp(1, SLAB_ROWS)
}

fn widened(fields: &Fields) -> Vec<FieldRef> {
    let wide = |field: &FieldRef| {
        let kind = match field.data_type() {
            DataType::Utf8 => DataType::LargeUtf8,
            DataType::Binary => DataType::LargeBinary,
            DataType::Struct(fields) => DataType::Struct(widened(fields).into()),
            DataType::List(item) => DataType::List(widened(&Fields::from(vec![Arc::clone(item)])).remove(0)),
            other => other.clone(),
        };
        Arc::new(field.as_ref().clone().with_data_type(kind))
    };
    fields.iter().map(wide).collect()
}
