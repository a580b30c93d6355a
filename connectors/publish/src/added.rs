//! The rows of a table's log that add files: path, size, time and statistics.

use std::sync::Arc;
use std::time::SystemTime;

use arrow_array::builder::{MapBuilder, MapFieldNames, StringBuilder};
use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray, StructArray};
use arrow_schema::{ArrowError, Field};
use parquet::file::statistics::Statistics;

use lethe_connectors::sink::{ChainId, FileHead};

/// A file to add to a table.
#[derive(Clone, Debug)]
pub(crate) struct Added {
    /// Its path in the table's log.
    pub(crate) path: String,
    /// Its size in bytes.
    pub(crate) size: u64,
    /// When it was written.
    pub(crate) modified: SystemTime,
    /// Its topic and partition, which all of its rows have.
    pub(crate) chain: ChainId,
    /// The number of rows.
    pub(crate) rows: u64,
    /// The least and the greatest offset of its rows.
    pub(crate) offsets: (i64, i64),
}

impl Added {
    /// Describes a file whose rows lie in `offsets`, end excluded. Statistics of the file narrow them.
    pub(crate) fn of(base: &str, head: &FileHead, chain: &ChainId, offsets: std::ops::Range<i64>) -> Self {
        let rows = head.metadata.file_metadata().num_rows();
        Self {
            path: format!("{base}{}", crate::place::encode(&head.name)),
            size: head.size,
            modified: head.modified,
            chain: chain.clone(),
            rows: rows.unsigned_abs(),
            offsets: bounds(head).unwrap_or((offsets.start, offsets.end - 1)),
        }
    }
}

/// Returns the least and the greatest value of the column `offset`, by the statistics of the file.
fn bounds(head: &FileHead) -> Option<(i64, i64)> {
    let schema = head.metadata.file_metadata().schema_descr();
    let column = schema
        .columns()
        .iter()
        .position(|column| column.path().string() == "offset")?;
    let mut bounds: Option<(i64, i64)> = None;
    for group in head.metadata.row_groups() {
        let Statistics::Int64(found) = group.column(column).statistics()? else {
            return None;
        };
        let (min, max) = (*found.min_opt()?, *found.max_opt()?);
        bounds = Some(bounds.map_or((min, max), |(least, greatest)| {
            (least.min(min), greatest.max(max))
        }));
    }
    bounds
}

/// Returns the rows as the kernel takes them.
///
/// Statistics are those of `topic`, `partition` and `offset`, which no row lacks. No other column has any, so that no
/// value that comes from a note is in the log.
pub(crate) fn rows(files: &[Added]) -> Result<RecordBatch, ArrowError> {
    let texts = |of: fn(&Added) -> &str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(files.iter().map(of)))
    };
    let numbers =
        |of: fn(&Added) -> i64| -> ArrayRef { Arc::new(Int64Array::from_iter_values(files.iter().map(of))) };
    let topics = || texts(|file| &file.chain.topic);
    let partitions = || -> ArrayRef {
        Arc::new(Int32Array::from_iter_values(
            files.iter().map(|file| file.chain.partition),
        ))
    };
    let values = |offsets: ArrayRef| {
        structs([
            ("topic", topics()),
            ("partition", partitions()),
            ("offset", offsets),
        ])
    };
    let none = || numbers(|_| 0);
    let stats = structs([
        ("numRecords", numbers(|file| file.rows.cast_signed())),
        ("minValues", values(numbers(|file| file.offsets.0))),
        ("maxValues", values(numbers(|file| file.offsets.1))),
        (
            "nullCount",
            structs([("topic", none()), ("partition", none()), ("offset", none())]),
        ),
    ]);
    let names = MapFieldNames {
        entry: "key_value".to_owned(),
        key: "key".to_owned(),
        value: "value".to_owned(),
    };
    let mut partition_values = MapBuilder::new(Some(names), StringBuilder::new(), StringBuilder::new());
    for _ in files {
        partition_values.append(true)?;
    }
    let columns: [(&str, ArrayRef); 5] = [
        ("path", texts(|file| &file.path)),
        ("partitionValues", Arc::new(partition_values.finish())),
        ("size", numbers(|file| file.size.cast_signed())),
        ("modificationTime", numbers(|file| millis(file.modified))),
        ("stats", stats),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, name == "stats")))
}

fn structs<const N: usize>(columns: [(&str, ArrayRef); N]) -> ArrayRef {
    let columns = columns.map(|(name, column)| {
        (
            Arc::new(Field::new(name, column.data_type().clone(), true)),
            column,
        )
    });
    Arc::new(StructArray::from(columns.to_vec()))
}

/// Returns a time in ms since 1970.
fn millis(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
