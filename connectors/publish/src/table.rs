//! What publishing needs of a table, whatever its format.

use arrow_schema::Schema;

use crate::PublishError;
use crate::added::Added;

/// A place of a table, which need not exist.
pub(crate) trait Table {
    /// The state of the table when it was read.
    type State;
    /// Columns to add to the table.
    type Columns: Default;

    /// Returns the table's place or name.
    fn name(&self) -> &str;

    /// Reads the table; `None` if it does not exist.
    ///
    /// # Errors
    /// [`PublishError::Table`] if it has a setting with which Lethe does not write; else the error of the store, the
    /// catalogue or the format's library.
    fn load(&self) -> Result<Option<Self::State>, PublishError>;

    /// Returns the number of the state: a table's first has the lowest.
    fn version(state: &Self::State) -> u64;

    /// Returns the published end of a chain, by the chain's name in tables.
    ///
    /// # Errors
    /// If the table is damaged.
    fn published(&self, state: &Self::State, chain: &str) -> Result<Option<i64>, PublishError>;

    /// Returns the files of the dataset that are in the table.
    ///
    /// # Errors
    /// As [`Table::load`].
    fn files(&self, state: &Self::State) -> Result<Vec<TableFile>, PublishError>;

    /// Compares a file's columns with those of the table (`None`: of a new one) and with the ones to add, and adds the
    /// new ones to these.
    ///
    /// # Errors
    /// [`PublishError::Column`] for any other difference.
    fn fit(
        &self,
        state: Option<&Self::State>,
        new: &mut Self::Columns,
        file: &str,
        schema: &Schema,
    ) -> Result<(), PublishError>;

    /// Returns the names of columns.
    fn names(columns: &Self::Columns) -> Vec<String>;

    /// Creates the table with these columns and no rows. Nothing happens if another writer created it.
    ///
    /// # Errors
    /// As [`Table::load`].
    fn create(&self, columns: Self::Columns) -> Result<(), PublishError>;

    /// Makes one commit on top of the state, or none if the table has another state by now.
    ///
    /// # Errors
    /// As [`Table::load`]. The commit may exist nevertheless.
    fn commit(&self, state: &Self::State, commit: Commit<Self::Columns>) -> Result<Ended, PublishError>;
}

/// A file that is in a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TableFile {
    /// Its name in the dataset.
    pub(crate) file: String,
    /// Its size in the table, in bytes.
    pub(crate) size: u64,
}

/// What one commit adds to a table.
#[derive(Debug, Default)]
pub(crate) struct Commit<C> {
    /// New columns.
    pub(crate) columns: C,
    /// New files.
    pub(crate) files: Vec<Added>,
    /// The published ends of chains: the chain's name in tables, and the next offset.
    pub(crate) ends: Vec<(String, i64)>,
    /// Whether the rows are new. Otherwise the files are in the table already, and have other sizes now.
    pub(crate) data_change: bool,
}

/// How a commit ended.
pub(crate) enum Ended {
    /// It is in the table, whose state has this number now.
    Committed(u64),
    /// Another commit took its place. The table has to be read again.
    Conflict,
    /// It may be in the table or not.
    Unknown(PublishError),
}
