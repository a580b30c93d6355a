//! Lists the files of one version of a table, for a backfill that reads them.

use tokio::runtime::Handle;

use crate::delta::DeltaTable;
use crate::iceberg::IcebergTable;
use crate::{Place, PublishError, Target};

/// The files of a version of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Listing {
    /// The files, by their names in the input.
    pub files: Vec<ListedFile>,
    /// The names of the table's columns, without those within structs. Earlier files can lack some.
    pub columns: Vec<String>,
}

/// A file of a version of a table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct ListedFile {
    /// Its name in the input.
    pub name: String,
    /// Its size in the table's metadata, in bytes.
    pub size: u64,
}

/// Lists the files of a version of a Delta table, or of a snapshot of an Iceberg table, which lie in `input`. Blocks;
/// call it outside of the runtime.
///
/// A reader of the files alone has to see the rows of the table. So a version is refused in which files have deleted
/// rows, renamed columns, or partitions that are not in their names.
///
/// # Errors
/// [`PublishError::Version`] if the table does not have the version, or if it is refused.
pub fn list(runtime: &Handle, input: &Place, table: &Target, version: i64) -> Result<Listing, PublishError> {
    let mut listing = match table {
        Target::Delta(place) => DeltaTable::to_read(place, input, runtime)?.list(version)?,
        Target::Iceberg(target) => IcebergTable::to_read(target, input, runtime)?.list(version)?,
    };
    listing.files.sort_unstable();
    Ok(listing)
}
