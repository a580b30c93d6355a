//! A file of a chain, as a table's metadata describes it.

use std::ops::Range;
use std::time::SystemTime;

use parquet::file::statistics::Statistics;

use lethe_connectors::sink::{ChainId, FileHead};

/// A file to add to a table.
#[derive(Clone, Debug)]
pub(crate) struct Added {
    /// Its name in the dataset.
    pub(crate) name: String,
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
    pub(crate) fn of(head: &FileHead, chain: &ChainId, offsets: Range<i64>) -> Self {
        let rows = head.metadata.file_metadata().num_rows();
        Self {
            name: head.name.clone(),
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
