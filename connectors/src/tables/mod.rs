//! Reads exported tables of a warehouse: Parquet, nested or partitioned, JSON lines and CSV, also compressed
//! with gzip or zstd, in a folder or a bucket; or the result of a query of a database.
//!
//! An object is read as [`Slab`]s of rows, in order, so that memory does not grow with it. Reading again from
//! a row returns the same slabs from there on. A [`Shape`] determines the columns of the output and their
//! treatment.

mod blocks;
mod columns;
mod config;
mod csv;
mod database;
mod decompress;
mod error;
mod examine;
mod file;
mod jsonl;
mod parquet;
mod partitions;
mod path_error;
mod pick;
mod shape;
mod strings;
mod tree;
mod version;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, FieldRef};
use lethe_core::QuarantineCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;

use crate::files::Codes;
use crate::store::{Object, Store};

pub use blocks::Remote;
pub use columns::{TableColumns, Wanted};
pub use config::{EARLIER_PART_BYTES, PART_BYTES, TablesConfig, TablesPlace};
pub use csv::CsvConfig;
pub use database::{DatabaseConfig, Keys, Sample, has_password, sample_query};
pub use error::TableError;
pub use examine::Examined;
pub use file::{Layout, ParquetInput, TableFile, TableWriter};
pub use shape::{Cell, Leaves, Shape};
pub use strings::cell_text;
pub use tree::Values;
pub use version::{TableVersion, VersionFile, VersionFiles};

/// Approximate text of a slab in bytes.
const SLAB_BYTES: usize = 4 << 20;
/// Maximum number of rows of a slab.
const SLAB_ROWS: usize = 1024;

/// The format of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TableFormat {
    /// Apache Parquet.
    Parquet,
    /// One JSON object per line.
    Jsonl,
    /// Delimited values with a header line (RFC 4180).
    Csv,
}

/// The compression of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compression {
    None,
    /// RFC 1952, with one or several members.
    Gzip,
    /// RFC 8878.
    Zstd,
}

/// Returns how to read an object; `None` if its name is not that of a table.
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
    // Spark names Parquet "part-0.gz.parquet": the last extension counts, and the pages are compressed, not
    // the file.
    Some((format.or(by_ending)?, compression))
}

/// Consecutive rows of a table.
#[derive(Clone, Debug)]
pub struct Slab {
    /// The object's row number of the first one, from 0.
    pub first: i64,
    /// Their columns, according to the [`Shape`].
    pub record: RecordBatch,
    /// Unreadable rows, by their index in the slab, with the reason. Their cells are null.
    pub bad: Vec<(usize, QuarantineCode)>,
    /// Approximate share of the unit that they complete, 0 to 1.
    pub share: f64,
}

/// Slabs in order.
pub type Slabs = Box<dyn Iterator<Item = Result<Slab, TableError>> + Send>;

/// A part of a table that is read independently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The object.
    pub object: Object,
    /// Its name in the output, in errors and in logs: the object's name or its code.
    pub shown: Arc<str>,
    /// The row groups to read, or the rows of a query; `None` for all.
    pub groups: Option<Range<usize>>,
    /// The keys of the rows of a query.
    pub keys: Option<Arc<Keys>>,
    /// Bytes of the object that it covers.
    pub bytes: u64,
}

/// The units of an input.
#[derive(Debug, Default)]
pub struct Found {
    /// Every part of every table, in the order of names.
    pub units: Vec<Unit>,
    /// Objects that cannot be split, by their shown names, with the reason.
    pub broken: Vec<(String, TableError)>,
    /// Number of objects whose names are not those of tables.
    pub others: usize,
}

/// Tables in a store, or the result of a query.
pub struct Tables {
    config: TablesConfig,
    input: Input,
    runtime: Handle,
    /// Columns of a version of a table that some of its files lack.
    later: Mutex<BTreeMap<String, FieldRef>>,
}

enum Input {
    Store(Arc<dyn Store>),
    Database(database::Database),
}

impl Tables {
    /// Opens the store or the query, without connecting to a database. Requests block the calling thread,
    /// which must not belong to the runtime.
    ///
    /// # Errors
    /// [`TableError`] if the configuration is invalid.
    pub fn open(config: &TablesConfig, runtime: Handle) -> Result<Self, TableError> {
        config.columns.check()?;
        let input = match config.place()? {
            TablesPlace::Store(store) => Input::Store(store.build()?),
            TablesPlace::Database(database) => {
                Input::Database(database::Database::open(config, database, runtime.clone())?)
            }
        };
        Ok(Self {
            input,
            config: config.clone(),
            runtime,
            later: Mutex::default(),
        })
    }

    /// For the rows of a query: connects once, checks the query and its columns, and returns the names of its
    /// columns. `None` for objects of a store.
    ///
    /// # Errors
    /// [`TableError`] of the query, the configuration or the server.
    pub fn check_query(&self) -> Result<Option<BTreeSet<String>>, TableError> {
        match &self.input {
            Input::Store(_) => Ok(None),
            Input::Database(database) => database.check().map(Some),
        }
    }

    /// Lists the units. With `codes`, objects are named by their codes, and new objects are assigned one. Of a
    /// query, this reads the keys of all rows.
    ///
    /// # Errors
    /// [`TableError`] if the store cannot be listed, has no table, or a code cannot be made durable; or if the
    /// query or its key cannot be used.
    pub fn units(&self, codes: Option<&mut Codes>) -> Result<Found, TableError> {
        let store = match &self.input {
            Input::Store(store) => store,
            Input::Database(database) => {
                return Ok(Found {
                    units: database.units()?,
                    ..Found::default()
                });
            }
        };
        let folder = self.config.folder.trim_matches('/');
        let mut found = Found::default();
        let mut tables = Vec::new();
        let mut unusable = Vec::new();
        if let Some(version) = &self.config.version_files {
            let files = self
                .runtime
                .block_on(version::find(store.as_ref(), &version.files))?;
            for (name, found) in files {
                match found {
                    Ok(object) => tables.push((object, TableFormat::Parquet)),
                    Err(problem) => unusable.push((name, problem)),
                }
            }
        }
        let listed = match self.config.version_files {
            Some(_) => Vec::new(),
            None => self.runtime.block_on(store.list(folder))?,
        };
        for object in listed {
            // Marker files that Spark and Hive write next to the data, and empty files, hold no rows.
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
                let names = tables.iter().map(|(object, _)| object.name.as_str());
                codes.assign(names.chain(unusable.iter().map(|(name, _)| *name)), false)?;
                Some(&*codes)
            }
            None => None,
        };
        let shown = |name: &str| -> Arc<str> {
            let slot = codes.and_then(|codes| codes.slot(name));
            slot.map_or_else(|| name.into(), |slot| Arc::clone(&slot.topic))
        };
        for (name, problem) in unusable {
            let shown = shown(name);
            found
                .broken
                .push((shown.to_string(), TableError::broken(&shown, problem)));
        }
        for (object, format) in tables {
            let shown = shown(&object.name);
            match self.split(store, object, &shown, format) {
                Ok(parts) => found.units.extend(parts),
                Err(error) => found.broken.push((shown.to_string(), error)),
            }
        }
        if found.units.is_empty() && found.broken.is_empty() {
            return Err(TableError::NoTables {
                place: format!("{}, folder `{}`", store.describe(), self.config.folder),
            });
        }
        Ok(found)
    }

    fn split(
        &self,
        store: &Arc<dyn Store>,
        object: Object,
        shown: &Arc<str>,
        format: TableFormat,
    ) -> Result<Vec<Unit>, TableError> {
        let bytes = object.size;
        if format != TableFormat::Parquet || bytes <= self.config.unit_bytes.max(1) {
            return Ok(vec![Unit {
                object,
                shown: Arc::clone(shown),
                groups: None,
                keys: None,
                bytes,
            }]);
        }
        let metadata = parquet::metadata(&self.remote(store, &object, shown))?;
        let groups = parquet::cut(&metadata, self.config.unit_bytes);
        Ok(groups
            .into_iter()
            .map(|(groups, bytes)| Unit {
                object: object.clone(),
                shown: Arc::clone(shown),
                groups: Some(groups),
                keys: None,
                bytes,
            })
            .collect())
    }

    /// Returns an object to be read in ranges.
    fn remote(&self, store: &Arc<dyn Store>, object: &Object, shown: &str) -> Remote {
        Remote::new(Arc::clone(store), object.clone(), self.runtime.clone()).called(shown)
    }

    /// Returns the shape of the unit's object, and its rows from `from`, counted from the unit's first.
    ///
    /// # Errors
    /// [`TableError`] if it cannot be opened or lacks a column.
    pub fn read(&self, unit: &Unit, from: u64) -> Result<(Shape, Slabs), TableError> {
        let store = match &self.input {
            Input::Store(store) => store,
            Input::Database(database) => return database.read(unit, from),
        };
        let remote = self.remote(store, &unit.object, &unit.shown);
        let name = &unit.object.name;
        let Some((format, compression)) = kind_of(name, self.config.format) else {
            return Err(TableError::broken(
                &unit.shown,
                "does not have the name of a table",
            ));
        };
        let partitions = partitions::of(name);
        match format {
            TableFormat::Parquet => {
                let groups = unit.groups.clone();
                let later = self.later_columns(store, &remote, &partitions)?;
                parquet::read(&remote, groups, from, &self.config, &partitions, &later)
            }
            TableFormat::Jsonl => jsonl::read(&remote, compression, from, &self.config, &partitions),
            TableFormat::Csv => csv::read(&remote, compression, from, &self.config, &partitions),
        }
    }

    /// Returns the configured columns of a version of a table that a file lacks, because they were added later.
    fn later_columns(
        &self,
        store: &Arc<dyn Store>,
        remote: &Remote,
        partitions: &[Constant],
    ) -> Result<Vec<FieldRef>, TableError> {
        let Some(version) = &self.config.version_files else {
            return Ok(Vec::new());
        };
        let there = parquet::fields(remote)?;
        let mut later: Vec<FieldRef> = Vec::new();
        for wanted in self.config.columns.all() {
            let Some(column) = version.column_of(&wanted.path) else {
                continue;
            };
            let known = there.iter().chain(&later).any(|field| field.name() == column)
                || partitions.iter().any(|(name, _)| name == column);
            if !known {
                later.push(self.later_column(store, version, column));
            }
        }
        Ok(later)
    }

    /// Returns a column as one of the version's files has it, or as text if none does.
    fn later_column(&self, store: &Arc<dyn Store>, version: &VersionFiles, column: &str) -> FieldRef {
        let mut later = self.later.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(field) = later.get(column) {
            return Arc::clone(field);
        }
        let mut files: Vec<&str> = version.files.iter().map(|file| file.name.as_str()).collect();
        files.sort_unstable();
        // The last is the newest if names grow with time, as in a chain.
        let found = files.iter().rev().find_map(|name| {
            let object = self.runtime.block_on(store.look(name)).ok()?;
            let fields = parquet::fields(&self.remote(store, &object, "another file of the table")).ok()?;
            fields.into_iter().find(|field| field.name() == column)
        });
        let field = match found {
            Some(field) => field.as_ref().clone().with_nullable(true),
            None => Field::new(column, DataType::LargeUtf8, true),
        };
        let field = Arc::new(field);
        later.insert(column.to_owned(), Arc::clone(&field));
        field
    }

    /// Checks that the object still has the unit's version. Rows of a query were compared with their digest
    /// when they were read.
    ///
    /// # Errors
    /// [`TableError::Changed`] if it has not, or the store's error.
    pub fn check(&self, unit: &Unit) -> Result<(), TableError> {
        let store = match &self.input {
            Input::Store(store) => store,
            Input::Database(_) => return Ok(()),
        };
        let look = self.runtime.block_on(store.look(&unit.object.name));
        let now = look.map_err(|error| error.renamed(&unit.shown))?;
        if now.version == unit.object.version {
            return Ok(());
        }
        Err(TableError::Changed {
            object: unit.shown.to_string(),
        })
    }
}

/// A column with the same value in every row, and that value; `None` if it is null.
type Constant = (String, Option<String>);

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
