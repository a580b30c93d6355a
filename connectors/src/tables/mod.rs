//! Tables as a warehouse exports them: Parquet, nested or partitioned, JSON lines, CSV, and gzip or zstd of the last two, in
//! a folder or a bucket.
//!
//! An object is read as [`Slab`]s of rows, in order, so that memory does not grow with it; whoever reads it again from a row
//! gets the same slabs from there on. Which columns leave, and how, is a [`Shape`]'s.

mod blocks;
mod columns;
mod csv;
mod decompress;
mod error;
mod jsonl;
mod parquet;
mod partitions;
mod pick;
mod shape;
mod strings;
mod tree;

use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use lethe_core::QuarantineCode;
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;

use crate::files::{Codes, Names};
use crate::format::MAX_NOTE_BYTES;
use crate::store::{Object, Store, StoreConfig};

pub use blocks::Remote;
pub use columns::{TableColumns, Wanted};
pub use csv::CsvConfig;
pub use error::TableError;
pub use shape::{Cell, Leaves, Shape};
pub use tree::Values;

/// Text of a slab, about, in bytes.
const SLAB_BYTES: usize = 4 << 20;
/// Rows of a slab at most.
const SLAB_ROWS: usize = 1024;

/// Which tables to read, and what of them leaves.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TablesConfig {
    /// Where they lie.
    pub input: StoreConfig,
    /// The folder of the store that they lie in; the whole store if empty.
    #[serde(default)]
    pub folder: String,
    /// How they are written; by their endings if not given.
    #[serde(default)]
    pub format: Option<TableFormat>,
    /// How CSV is written.
    #[serde(default)]
    pub csv: CsvConfig,
    /// What objects are called in the output. By default their names; a strict mode asks for codes.
    #[serde(default)]
    pub names: Option<Names>,
    /// Where the list of objects and their codes lies: a private folder or bucket, apart from the dataset.
    #[serde(default)]
    pub codes: Option<StoreConfig>,
    /// What the input is called in that list. Default: its store and folder.
    #[serde(default)]
    pub input_id: Option<String>,
    /// Which columns are what.
    pub columns: TableColumns,
    /// Notes over this many bytes are quarantined.
    #[serde(default = "max_note_bytes")]
    pub max_note_bytes: usize,
    /// Objects over this many bytes that can be read in parts are, each part for itself: Parquet, by row groups.
    #[serde(default = "unit_bytes")]
    pub unit_bytes: u64,
    /// Text of one output file, about, in bytes.
    #[serde(default = "part_bytes")]
    pub part_bytes: u64,
}

impl TablesConfig {
    /// What objects are called in the output.
    pub fn naming(&self) -> Names {
        self.names.unwrap_or(Names::Paths)
    }

    /// Opens the list of objects and their codes; none if objects go by their names. Waits for the store on the calling
    /// thread, which must be none of the runtime's.
    ///
    /// # Errors
    /// [`TableError::Codes`] if the list cannot be read, or is of another input.
    pub fn open_codes(&self, runtime: Handle) -> Result<Option<Codes>, TableError> {
        let Some(codes) = self.codes.as_ref().filter(|_| self.naming() == Names::Codes) else {
            return Ok(None);
        };
        let input = match &self.input_id {
            Some(id) => id.clone(),
            None => format!("{}, folder {}", self.input.build()?.describe(), self.folder),
        };
        Ok(Some(Codes::open(codes, &input, runtime)?))
    }
}

const fn part_bytes() -> u64 {
    32 << 20
}

const fn max_note_bytes() -> usize {
    MAX_NOTE_BYTES
}

const fn unit_bytes() -> u64 {
    64 << 20
}

/// How a table is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TableFormat {
    /// Apache Parquet.
    Parquet,
    /// One JSON object a line.
    Jsonl,
    /// Values between delimiters (RFC 4180).
    Csv,
}

/// How an object's bytes are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compression {
    None,
    /// RFC 1952, one member or several.
    Gzip,
    /// RFC 8878.
    Zstd,
}

/// How an object is read; none if it is no table by its name.
fn kind_of(name: &str, format: Option<TableFormat>) -> Option<(TableFormat, Compression)> {
    let lower = name.to_ascii_lowercase();
    let (stem, compression) = match lower.rsplit_once('.') {
        Some((stem, "gz" | "gzip")) => (stem, Compression::Gzip),
        Some((stem, "zst" | "zstd")) => (stem, Compression::Zstd),
        _ => (lower.as_str(), Compression::None),
    };
    let by_ending = match stem.rsplit_once('.') {
        Some((_, "parquet" | "parq" | "pq")) => Some(TableFormat::Parquet),
        Some((_, "jsonl" | "ndjson" | "json")) => Some(TableFormat::Jsonl),
        Some((_, "csv" | "tsv")) => Some(TableFormat::Csv),
        _ => None,
    };
    // Spark's Parquet is "part-0.gz.parquet": the ending is what counts, and its pages are compressed, not the file.
    Some((format.or(by_ending)?, compression))
}

/// Rows of a table that follow one another.
#[derive(Clone, Debug)]
pub struct Slab {
    /// The number of the first, from 0, among its object's.
    pub first: i64,
    /// Their columns: those of the [`Shape`].
    pub record: RecordBatch,
    /// Rows that cannot be read, by their index here, and why. Their cells are null.
    pub bad: Vec<(usize, QuarantineCode)>,
    /// About how much of the unit is read with them, 0 to 1.
    pub share: f64,
}

/// Slabs, in order.
pub type Slabs = Box<dyn Iterator<Item = Result<Slab, TableError>> + Send>;

/// A part of a table that is read for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The object.
    pub object: Object,
    /// What it is called in the output, in errors and in logs: its name, or a code in the place of it.
    pub shown: Arc<str>,
    /// Which of its row groups; none for all that there is.
    pub groups: Option<Range<usize>>,
    /// Bytes of the object that it stands for.
    pub bytes: u64,
}

/// What there is to read.
#[derive(Debug, Default)]
pub struct Found {
    /// Every part of every table, in the order of their names.
    pub units: Vec<Unit>,
    /// Objects that cannot be parted, as they are shown, and why.
    pub broken: Vec<(String, TableError)>,
    /// How many objects are no tables by their names.
    pub others: usize,
}

/// Tables in a store.
pub struct Tables {
    config: TablesConfig,
    store: Arc<dyn Store>,
    runtime: Handle,
}

impl Tables {
    /// Opens the store. Requests are waited for on the calling thread, which must be none of the runtime's.
    ///
    /// # Errors
    /// [`TableError`] if the configuration is not sound.
    pub fn open(config: &TablesConfig, runtime: Handle) -> Result<Self, TableError> {
        config.columns.check()?;
        Ok(Self {
            store: config.input.build()?,
            config: config.clone(),
            runtime,
        })
    }

    /// Lists what there is to read. With `codes`, objects are called by theirs, and new ones get one.
    ///
    /// # Errors
    /// [`TableError`] if the store cannot be listed, there is no table, or a code cannot be made durable.
    pub fn units(&self, codes: Option<&mut Codes>) -> Result<Found, TableError> {
        let listed = self
            .runtime
            .block_on(self.store.list(self.config.folder.trim_matches('/')))?;
        let mut found = Found::default();
        let mut tables = Vec::new();
        for object in listed {
            // Marks that Spark and Hive leave beside the data, and empty files of theirs, hold no rows.
            let file = object.name.rsplit('/').next().unwrap_or_default();
            let Some((format, _)) =
                kind_of(&object.name, self.config.format).filter(|_| !file.starts_with('_'))
            else {
                found.others += 1;
                continue;
            };
            tables.push((object, format));
        }
        let codes = match codes {
            Some(codes) => {
                codes.assign(tables.iter().map(|(object, _)| object.name.as_str()), false)?;
                Some(&*codes)
            }
            None => None,
        };
        for (object, format) in tables {
            let slot = codes.and_then(|codes| codes.slot(&object.name));
            let shown = slot.map_or_else(|| object.name.as_str().into(), |slot| Arc::clone(&slot.topic));
            match self.split(object, &shown, format) {
                Ok(parts) => found.units.extend(parts),
                Err(error) => found.broken.push((shown.to_string(), error)),
            }
        }
        if found.units.is_empty() && found.broken.is_empty() {
            return Err(TableError::NoTables {
                place: format!("{}, folder `{}`", self.store.describe(), self.config.folder),
            });
        }
        Ok(found)
    }

    fn split(&self, object: Object, shown: &Arc<str>, format: TableFormat) -> Result<Vec<Unit>, TableError> {
        let bytes = object.size;
        if format != TableFormat::Parquet || bytes <= self.config.unit_bytes.max(1) {
            return Ok(vec![Unit {
                object,
                shown: Arc::clone(shown),
                groups: None,
                bytes,
            }]);
        }
        let metadata = parquet::metadata(&self.remote(&object, shown))?;
        let groups = parquet::cut(&metadata, self.config.unit_bytes);
        Ok(groups
            .into_iter()
            .map(|(groups, bytes)| Unit {
                object: object.clone(),
                shown: Arc::clone(shown),
                groups: Some(groups),
                bytes,
            })
            .collect())
    }

    /// An object, to be read in ranges.
    fn remote(&self, object: &Object, shown: &str) -> Remote {
        Remote::new(Arc::clone(&self.store), object.clone(), self.runtime.clone()).called(shown)
    }

    /// What leaves of the unit's object, and its rows from `from` on, counted from the unit's first.
    ///
    /// # Errors
    /// [`TableError`] if it cannot be opened, or has not the columns.
    pub fn read(&self, unit: &Unit, from: u64) -> Result<(Shape, Slabs), TableError> {
        let remote = self.remote(&unit.object, &unit.shown);
        let name = &unit.object.name;
        let Some((format, compression)) = kind_of(name, self.config.format) else {
            return Err(TableError::broken(&unit.shown, "is no table by its name"));
        };
        let partitions = partitions::of(name);
        match format {
            TableFormat::Parquet => {
                let groups = unit.groups.clone();
                parquet::read(&remote, groups, from, &self.config, &partitions)
            }
            TableFormat::Jsonl => jsonl::read(&remote, compression, from, &self.config, &partitions),
            TableFormat::Csv => csv::read(&remote, compression, from, &self.config, &partitions),
        }
    }

    /// Whether the object is still what the unit is of.
    ///
    /// # Errors
    /// [`TableError::Changed`] if it is not; what the store says.
    pub fn check(&self, unit: &Unit) -> Result<(), TableError> {
        let look = self.runtime.block_on(self.store.look(&unit.object.name));
        let now = look.map_err(|error| error.renamed(&unit.shown))?;
        if now.version == unit.object.version {
            return Ok(());
        }
        Err(TableError::Changed {
            object: unit.shown.to_string(),
        })
    }
}

/// A column that holds one value in every row, and that value.
type Constant = (String, String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_known_by_its_ending_and_by_what_compresses_it() {
        let cases = [
            ("a/b.parquet", Some((TableFormat::Parquet, Compression::None))),
            ("b.gz.parquet", Some((TableFormat::Parquet, Compression::None))),
            ("b.jsonl.gz", Some((TableFormat::Jsonl, Compression::Gzip))),
            ("b.CSV.zst", Some((TableFormat::Csv, Compression::Zstd))),
            ("readme.md", None),
            ("part-0.gz", None),
        ];
        for (name, kind) in cases {
            assert_eq!(kind_of(name, None), kind, "{name}");
        }
        assert_eq!(
            kind_of("part-0.gz", Some(TableFormat::Csv)),
            Some((TableFormat::Csv, Compression::Gzip))
        );
    }
}
