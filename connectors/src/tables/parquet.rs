//! Reads Parquet: row groups stream, one slab at a time.

use std::collections::BTreeSet;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::{ArrayRef, LargeStringArray, RecordBatch, new_null_array};
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema};
use arrow_select::concat::concat_batches;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData};

use super::blocks::Remote;
use super::path_error::PathError;
use super::shape::root;
use super::{Constant, SLAB_BYTES, SLAB_ROWS, Shape, Slab, Slabs, TableError, TablesConfig};

/// Bytes after which a slab ends whatever its rows. Texts of very different lengths, and one text that a
/// dictionary repeats in every row, exceed their average.
const MOST_BYTES: usize = 16 * SLAB_BYTES;

/// Reads an object's Parquet metadata.
pub(super) fn metadata(remote: &Remote) -> Result<Arc<ParquetMetaData>, TableError> {
    let read = || ParquetMetaDataReader::new().parse_and_finish(remote);
    // The bytes are untrusted: a panic of the library means a damaged object.
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(Ok(metadata)) => Ok(Arc::new(metadata)),
        Ok(Err(error)) => Err(remote.why(|| broken(remote, "opening it", &error))),
        Err(_) => Err(TableError::broken(
            remote.label(),
            "opening it: its metadata is damaged",
        )),
    }
}

/// Returns the paths of an object's columns, without the lists that they lie in.
pub(super) fn columns(remote: &Remote) -> Result<BTreeSet<String>, TableError> {
    let metadata = metadata(remote)?;
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let plain = ArrowReaderMetadata::try_new(metadata, options)
        .map_err(|error| remote.why(|| broken(remote, "opening it", &error)))?;
    let mut paths = BTreeSet::new();
    for field in plain.schema().fields() {
        collect(field.name(), field.data_type(), &mut paths);
    }
    Ok(paths)
}

/// Returns an object's columns, with the types that their values are read with.
pub(super) fn fields(remote: &Remote) -> Result<Vec<FieldRef>, TableError> {
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let plain = ArrowReaderMetadata::try_new(metadata(remote)?, options)
        .map_err(|error| remote.why(|| broken(remote, "opening it", &error)))?;
    Ok(widened(plain.schema().fields()))
}

fn collect(path: &str, kind: &DataType, paths: &mut BTreeSet<String>) {
    match kind {
        DataType::Struct(fields) => {
            for field in fields {
                collect(&format!("{path}.{}", field.name()), field.data_type(), paths);
            }
        }
        DataType::List(item) | DataType::LargeList(item) => collect(path, item.data_type(), paths),
        _ => {
            paths.insert(path.to_owned());
        }
    }
}

/// Returns an error with the library's message about an object's structure, but no wrapped errors.
fn broken(remote: &Remote, doing: &str, error: &ParquetError) -> TableError {
    let words = match error {
        ParquetError::General(text) | ParquetError::NYI(text) | ParquetError::EOF(text) => text.as_str(),
        _ => "not a readable Parquet file",
    };
    TableError::broken(remote.label(), format!("{doing}: {words}"))
}

/// Splits row groups into ranges of about `bytes` bytes, with their numbers of rows.
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

/// Reads rows. The columns `nulls`, which the object lacks, are null in all of them.
pub(super) fn read(
    remote: &Remote,
    groups: Option<Range<usize>>,
    from: u64,
    config: &TablesConfig,
    partitions: &[Constant],
    nulls: &[FieldRef],
) -> Result<(Shape, Slabs), TableError> {
    let failed = |error: ParquetError| remote.why(|| broken(remote, "opening it", &error));
    let metadata = metadata(remote)?;
    let groups = groups.unwrap_or(0..metadata.num_row_groups());
    // The writer's Arrow schema would bring dictionaries and views; Parquet's own types suffice.
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let plain = ArrowReaderMetadata::try_new(Arc::clone(&metadata), options.clone()).map_err(failed)?;
    // 64-bit offsets, so that a slab of large notes cannot overflow and all strings have one type.
    let wide = Schema::new(widened(plain.schema().fields()));
    let wide = ArrowReaderMetadata::try_new(Arc::clone(&metadata), options.with_schema(Arc::new(wide)))
        .map_err(failed)?;

    // The reader's schema has only the columns that exist, so the error would not list the others.
    let partition = |path: &str| partitions.iter().any(|(name, _)| name == path);
    let nulls_schema = Schema::new(nulls.to_vec());
    let exists = |path: &str| {
        partition(path)
            || [plain.schema().as_ref(), &nulls_schema]
                .iter()
                .any(|schema| root(schema, path).is_some())
    };
    let wanted = config.columns.all();
    if let Some(absent) = wanted.iter().find(|wanted| !exists(&wanted.path)) {
        return Err(TableError::Column {
            object: remote.label().to_owned(),
            key: absent.key.clone(),
            column: absent.path.clone(),
            problem: PathError::missing(&absent.path, plain.schema().fields()).to_string(),
        });
    }
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
    let at_once = rows_at_once(&metadata, groups.clone(), &tops, rows);
    let before: i64 = (0..groups.start)
        .map(|at| metadata.row_group(at).num_rows())
        .sum();
    let all = groups.clone().map(|at| metadata.row_group(at).num_rows()).sum();
    let build = || {
        ParquetRecordBatchReaderBuilder::new_with_metadata(remote.clone(), wide)
            .with_projection(mask)
            .with_row_groups(groups.collect())
            .with_offset(usize::try_from(from).unwrap_or(usize::MAX))
            .with_batch_size(at_once)
            .build()
    };
    let reader = match catch_unwind(AssertUnwindSafe(build)) {
        Ok(built) => built.map_err(failed)?,
        Err(_) => {
            return Err(TableError::broken(
                remote.label(),
                "opening it: its data is damaged",
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
    fields.extend(nulls.iter().cloned());
    let schema = Arc::new(Schema::new(fields));
    let shape = Shape::new(remote.label(), &schema, &config.columns)?;
    let mut rows = Rows {
        remote: remote.clone(),
        reader,
        schema,
        constants,
        nulls: nulls.to_vec(),
        rows,
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
    nulls: Vec<FieldRef>,
    /// Maximum number of rows of a slab.
    rows: usize,
    row: i64,
    /// The unit's first row, and its number of rows.
    begin: i64,
    all: i64,
}

impl Rows {
    fn step(&mut self) -> Result<Option<Slab>, TableError> {
        let damaged = |row: i64| {
            // The reader's message may quote data here, so it is dropped.
            let problem =
                format!("the data after row {row} is damaged, or its text is not UTF-8; export it again");
            TableError::broken(self.remote.label(), problem)
        };
        let mut batches: Vec<RecordBatch> = Vec::new();
        let (mut rows, mut bytes) = (0, 0);
        while rows < self.rows && bytes < MOST_BYTES {
            let row = self.row + rows as i64;
            match catch_unwind(AssertUnwindSafe(|| self.reader.next())) {
                Ok(None) => break,
                Ok(Some(Ok(read))) => {
                    rows += read.num_rows();
                    bytes += read.get_array_memory_size();
                    batches.push(read);
                }
                Ok(Some(Err(_))) => return Err(self.remote.why(|| damaged(row))),
                Err(_) => return Err(damaged(row)),
            }
        }
        let read = match batches.as_slice() {
            [] => return Ok(None),
            [one] => one.clone(),
            [first, ..] => concat_batches(&first.schema(), &batches).map_err(|_| damaged(self.row))?,
        };
        let mut columns: Vec<ArrayRef> = read.columns().to_vec();
        for (_, value) in &self.constants {
            let column = LargeStringArray::from_iter(std::iter::repeat_n(value.as_ref(), rows));
            columns.push(Arc::new(column));
        }
        columns.extend(
            self.nulls
                .iter()
                .map(|field| new_null_array(field.data_type(), rows)),
        );
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

/// Returns how many rows have about [`SLAB_BYTES`] in these columns, by the row group with the largest rows.
pub(super) fn batch_rows(metadata: &ParquetMetaData, groups: Range<usize>, tops: &[usize]) -> usize {
    let average = |group: &RowGroupMetaData| bytes_of(group, tops) / group.num_rows().max(1);
    let most = metadata.row_groups()[groups]
        .iter()
        .map(average)
        .max()
        .unwrap_or(0);
    (SLAB_BYTES / usize::try_from(most).unwrap_or(1).max(1)).clamp(1, SLAB_ROWS)
}

/// Returns how many of a slab's rows to decode at once. All bytes of a group may belong to one value that a
/// dictionary repeats in every row; even then so many rows have at most [`MOST_BYTES`], or one row has more.
/// A divisor of the slab's rows, so that slabs are as long as without a dictionary.
pub(super) fn rows_at_once(
    metadata: &ParquetMetaData,
    groups: Range<usize>,
    tops: &[usize],
    rows: usize,
) -> usize {
    let groups = metadata.row_groups()[groups].iter();
    let most = groups.map(|group| bytes_of(group, tops)).max().unwrap_or(0);
    let fit = MOST_BYTES / usize::try_from(most).unwrap_or(1).max(1);
    let mut divisors = (1..=rows.min(fit).max(1)).rev();
    divisors
        .find(|at_once| rows.is_multiple_of(*at_once))
        .unwrap_or(1)
}

/// Returns the decompressed bytes of these columns in a row group.
fn bytes_of(group: &RowGroupMetaData, tops: &[usize]) -> i64 {
    let descr = group.schema_descr();
    (0..group.num_columns())
        .filter(|&leaf| tops.contains(&descr.get_column_root_idx(leaf)))
        .map(|leaf| group.column(leaf).uncompressed_size())
        .fold(0, i64::saturating_add)
}

pub(super) fn widened(fields: &Fields) -> Vec<FieldRef> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Memory, Store as _};
    use arrow_array::types::Int32Type;
    use arrow_array::{DictionaryArray, Int32Array};
    use parquet::arrow::ArrowWriter;
    use parquet::file::properties::WriterProperties;

    /// Returns rows and bytes of each slab of a table whose rows all have this text, which a dictionary holds
    /// once.
    fn slabs(text: String, rows: usize) -> Vec<(usize, usize)> {
        let keys = Int32Array::from_iter_values(std::iter::repeat_n(0, rows));
        let texts: ArrayRef = Arc::new(LargeStringArray::from_iter_values([text]));
        let column: ArrayRef = Arc::new(DictionaryArray::<Int32Type>::new(keys, texts));
        let record = RecordBatch::try_from_iter([("text", column)]).unwrap();
        let properties = WriterProperties::builder()
            .set_dictionary_page_size_limit(1 << 30)
            .set_statistics_enabled(parquet::file::properties::EnabledStatistics::None)
            .build();
        let mut bytes = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut bytes, record.schema(), Some(properties)).unwrap();
        writer.write(&record).unwrap();
        writer.close().unwrap();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let store = Arc::new(Memory::default());
        runtime.block_on(store.create("a.parquet", bytes.into())).unwrap();
        let object = runtime.block_on(store.look("a.parquet")).unwrap();
        let remote = Remote::new(store, object, runtime.handle().clone());
        let config = "input = { kind = \"folder\", path = \"/\" }\ncolumns = { text = [\"text\"] }\n";
        let config: TablesConfig = toml::from_str(config).unwrap();
        let (_, slabs) = read(&remote, None, 0, &config, &[], &[]).unwrap();
        let mut next = 0;
        let slabs = slabs.map(|slab| {
            let slab = slab.unwrap();
            assert_eq!(slab.first, next);
            next += slab.record.num_rows() as i64;
            (slab.record.num_rows(), slab.record.get_array_memory_size())
        });
        slabs.collect()
    }

    #[test]
    fn a_text_that_a_dictionary_gives_to_every_row_does_not_fill_the_memory() {
        let large = slabs("a ".repeat(1 << 19), 300);
        assert_eq!(large.iter().map(|(rows, _)| rows).sum::<usize>(), 300);
        assert!(
            large.iter().all(|(_, bytes)| *bytes <= 3 * MOST_BYTES),
            "{large:?}"
        );
        assert!(large.len() >= 3, "{large:?}");
        // A slab stays whole if it fits.
        let small = slabs("Seen.".to_owned(), 3000);
        let rows: Vec<usize> = small.iter().map(|(rows, _)| *rows).collect();
        assert_eq!(rows, [1024, 1024, 952]);
    }
}
