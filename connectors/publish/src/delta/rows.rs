//! The rows of a table's log that add files: path, size, time and statistics.

use std::sync::Arc;

use crate::added::Added;
use crate::place::encode;
use crate::time::millis;
use arrow_array::builder::{MapBuilder, MapFieldNames, StringBuilder};
use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray, StructArray};
use arrow_schema::{ArrowError, Field};

/// Returns the rows as the kernel takes them. `base` comes before the name of each file.
///
/// Statistics are those of `topic`, `partition` and `offset`, which no row lacks. No other column has any, so that no
/// value that comes from a note is in the log.
pub(crate) fn rows(base: &str, files: &[Added]) -> Result<RecordBatch, ArrowError> {
    let numbers =
        |of: fn(&Added) -> i64| -> ArrayRef { Arc::new(Int64Array::from_iter_values(files.iter().map(of))) };
    let topics = || -> ArrayRef {
        Arc::new(StringArray::from_iter_values(
            files.iter().map(|file| &file.chain.topic),
        ))
    };
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
    let paths = files.iter().map(|file| format!("{base}{}", encode(&file.name)));
    let columns: [(&str, ArrayRef); 5] = [
        ("path", Arc::new(StringArray::from_iter_values(paths))),
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
