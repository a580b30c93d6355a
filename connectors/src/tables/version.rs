//! A pinned version of a Delta or Iceberg table.

use futures::{StreamExt as _, stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::store::{Object, Store, StoreError};

/// The number of files that are looked for at the same time.
const AT_ONCE: usize = 16;

/// The version of a table whose files are read. `lethe-publish` lists them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum TableVersion {
    /// A version of the Delta table in `folder`.
    Delta {
        /// The number of the version, as `DESCRIBE HISTORY` shows it.
        #[schemars(extend("examples" = [42]))]
        version: i64,
    },
    /// A snapshot of an Iceberg table whose files lie in the input.
    Iceberg {
        /// The id of the snapshot, as the metadata table `snapshots` shows it.
        #[schemars(extend("examples" = [8_343_205_733_901_232_771_i64]))]
        snapshot: i64,
        /// The address of the REST catalogue. Without it, the table is one that engines call a Hadoop table, which
        /// keeps its state next to its rows.
        #[serde(default)]
        #[schemars(extend("examples" = ["https://catalog.example.org/api"]))]
        catalog: Option<String>,
        /// The warehouse, if the catalogue has several.
        #[serde(default)]
        warehouse: Option<String>,
        /// The table, with its namespace. Needed with `catalog`.
        #[serde(default)]
        #[schemars(extend("examples" = ["clinic.notes"]))]
        table: Option<String>,
    },
}

/// The files of a version of a table, and its columns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct VersionFiles {
    /// The files.
    pub files: Vec<VersionFile>,
    /// The names of the table's columns, without those within structs. A file that is older than a column lacks
    /// it, and the column is null in its rows.
    pub columns: Vec<String>,
}

/// A file of a version of a table.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct VersionFile {
    /// Its name in the input.
    pub name: String,
    /// Its size in the table's metadata, in bytes.
    pub size: u64,
}

impl VersionFiles {
    /// Returns the column that a path begins in. A column name may itself contain dots.
    pub(super) fn column_of<'p>(&self, path: &'p str) -> Option<&'p str> {
        let first = path.split('.').next().unwrap_or(path);
        [path, first]
            .into_iter()
            .find(|name| self.columns.iter().any(|column| column == name))
    }
}

impl TableVersion {
    /// Returns the version's number or the snapshot's id.
    pub const fn number(&self) -> i64 {
        match self {
            Self::Delta { version } => *version,
            Self::Iceberg { snapshot, .. } => *snapshot,
        }
    }
}

/// A file's name, and its object or the problem with it.
pub(super) type FoundFile<'a> = (&'a str, Result<Object, &'static str>);

/// Looks for the files of a version, and returns them in the order of names.
///
/// # Errors
/// The store's error.
pub(super) async fn find<'a>(
    store: &dyn Store,
    files: &'a [VersionFile],
) -> Result<Vec<FoundFile<'a>>, StoreError> {
    let mut files: Vec<&VersionFile> = files.iter().collect();
    files.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    let looks = stream::iter(files)
        .map(|file| async move { (file, store.look(&file.name).await) })
        .buffered(AT_ONCE);
    let looks: Vec<_> = looks.collect().await;
    let found = looks.into_iter().map(|(file, look)| {
        let object = match look {
            Ok(object) if object.size == file.size => Ok(object),
            Ok(_) => Err("has another size than in this version of the table"),
            Err(StoreError::NotFound(_)) => Err(
                "is missing, but this version of the table has it; a clean-up of the table, such as VACUUM, deletes files of earlier versions",
            ),
            Err(error) => return Err(error),
        };
        Ok((file.name.as_str(), object))
    });
    found.collect()
}
