//! The configuration of the tables, and where they are.

use schemars::JsonSchema;
use serde::Deserialize;
use tokio::runtime::Handle;

use super::{CsvConfig, DatabaseConfig, TableColumns, TableError, TableFormat, TableVersion, VersionFiles};
use crate::files::{Codes, Names};
use crate::format::MAX_NOTE_BYTES;
use crate::store::StoreConfig;

/// The tables that `lethe backfill` reads, and the columns that leave.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TablesConfig {
    /// The folder or bucket that holds the tables. Not with `database`.
    #[serde(default)]
    pub input: Option<StoreConfig>,
    /// The query of a database whose rows are the table, instead of `input`.
    #[serde(default)]
    pub database: Option<DatabaseConfig>,
    /// The folder within `input` to read; empty means all of it.
    #[serde(default)]
    #[schemars(extend("examples" = ["exports/2026"]))]
    pub folder: String,
    /// The version of a Delta or Iceberg table to read, instead of all files.
    #[serde(default)]
    pub table: Option<TableVersion>,
    /// The files of that version, which the program lists.
    #[serde(skip)]
    pub version_files: Option<VersionFiles>,
    /// The format of the tables. By default each object's extension determines it.
    #[serde(default)]
    pub format: Option<TableFormat>,
    /// The dialect of CSV.
    #[serde(default)]
    pub csv: CsvConfig,
    /// How objects are named in the output. Default: `paths`. `safe-harbor` and `limited-data-set` need
    /// `codes`.
    #[serde(default)]
    pub names: Option<Names>,
    /// Store of the list of objects and codes: a private folder or bucket outside the dataset. Needed with
    /// `names = "codes"`.
    #[serde(default)]
    pub codes: Option<StoreConfig>,
    /// The input's id in that list. Default: its store and folder.
    #[serde(default)]
    pub input_id: Option<String>,
    /// The columns that leave, and how.
    pub columns: TableColumns,
    /// Notes over this size are quarantined.
    #[serde(default = "max_note_bytes")]
    pub max_note_bytes: usize,
    /// Parquet objects over this size are split into units of row groups, and the rows of a query into units
    /// of about this size, which are processed independently. Other formats are not split.
    #[serde(default = "unit_bytes")]
    pub unit_bytes: u64,
    /// The approximate amount of text per output file, which is what a worker can lose when it is killed.
    /// Default: 4 MiB, or what an existing dataset was begun with.
    #[serde(default)]
    #[schemars(extend("examples" = [33554432]))]
    pub part_bytes: Option<u64>,
}

/// The default of [`TablesConfig::part_bytes`]: about 15 s of processor time with the default bundle.
pub const PART_BYTES: u64 = 4 << 20;
/// The default of earlier versions, which datasets that were begun with it keep.
pub const EARLIER_PART_BYTES: u64 = 32 << 20;

impl TablesConfig {
    /// Returns how objects are named in the output.
    pub fn naming(&self) -> Names {
        self.names.unwrap_or(Names::Paths)
    }

    /// Checks that the tables come from one place, and returns it.
    ///
    /// # Errors
    /// [`TableError::Setting`] with the key.
    pub fn place(&self) -> Result<TablesPlace<'_>, TableError> {
        let wrong = |key: &str, problem: &str| {
            Err(TableError::Setting {
                key: key.to_owned(),
                problem: problem.to_owned(),
            })
        };
        if self.table.is_some() && self.database.is_some() {
            return wrong(
                "table",
                "is set in addition to `backfill.database`; remove one of them",
            );
        }
        match (&self.input, &self.database) {
            (Some(input), None) => Ok(TablesPlace::Store(input)),
            (None, Some(database)) => {
                database.check()?;
                Ok(TablesPlace::Database(database))
            }
            (None, None) => wrong(
                "input",
                "is missing; name the folder or bucket of the tables, or a query in `backfill.database`",
            ),
            (Some(_), Some(_)) => wrong(
                "database",
                "is set in addition to `backfill.input`; remove one of them",
            ),
        }
    }

    /// Opens the list of objects and codes; `None` if objects keep their names, and for the rows of a query,
    /// whose name says nothing. Blocks the calling thread on
    /// the store, so the thread must not belong to the runtime.
    ///
    /// # Errors
    /// [`TableError::Codes`] if the list cannot be read or belongs to another input.
    pub fn open_codes(&self, runtime: Handle) -> Result<Option<Codes>, TableError> {
        let Some(codes) = self.codes.as_ref().filter(|_| self.naming() == Names::Codes) else {
            return Ok(None);
        };
        let TablesPlace::Store(input) = self.place()? else {
            return Ok(None);
        };
        let input = match &self.input_id {
            Some(id) => id.clone(),
            None => format!("{}, folder {}", input.build()?.describe(), self.folder),
        };
        Ok(Some(Codes::open(codes, &input, runtime)?))
    }
}

/// The place of the tables.
#[derive(Clone, Copy, Debug)]
pub enum TablesPlace<'a> {
    /// Objects of a folder or bucket.
    Store(&'a StoreConfig),
    /// The rows of a query.
    Database(&'a DatabaseConfig),
}

const fn max_note_bytes() -> usize {
    MAX_NOTE_BYTES
}

const fn unit_bytes() -> u64 {
    64 << 20
}
