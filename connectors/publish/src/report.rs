//! What publishing did.

use std::fmt;

use crate::Content;

/// What publishing did to the tables of a dataset.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Report {
    /// The dataset.
    pub dataset: String,
    /// The tables, in the order in which they were written.
    pub tables: Vec<TableReport>,
}

/// What publishing did to one table.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct TableReport {
    /// The table.
    pub table: String,
    /// What it holds.
    pub content: Content,
    /// The number of its state now: the version of a Delta table, the sequence number of an Iceberg table. `None` if the
    /// table does not exist, since there is no row to publish.
    pub version: Option<u64>,
    /// The number of chains of the dataset.
    pub chains: u64,
    /// The number of files that were added.
    pub files: u64,
    /// The number of their rows.
    pub rows: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// The number of files that an erasure had replaced, and whose entries were renewed.
    pub renewed: u64,
    /// The number of commits.
    pub commits: u64,
    /// The number of commits that another writer came before, and that were tried again.
    pub conflicts: u64,
    /// Names of the columns that were added to the table after its creation.
    pub columns: Vec<String>,
}

impl TableReport {
    /// Describes a table before anything is done to it.
    pub(crate) fn new(table: &str, content: Content, chains: u64) -> Self {
        Self {
            table: table.to_owned(),
            content,
            version: None,
            chains,
            files: 0,
            rows: 0,
            bytes: 0,
            renewed: 0,
            commits: 0,
            conflicts: 0,
            columns: Vec::new(),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for table in &self.tables {
            writeln!(f, "{table}")?;
        }
        Ok(())
    }
}

impl fmt::Display for TableReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let content = self.content;
        write!(
            f,
            "{content}: {} files with {} rows of {} chains published to {} in {} commits",
            self.files, self.rows, self.chains, self.table, self.commits
        )?;
        if let Some(version) = self.version {
            write!(f, " (version {version})")?;
        }
        if self.renewed > 0 {
            write!(f, "; {} files renewed after an erasure", self.renewed)?;
        }
        if !self.columns.is_empty() {
            write!(f, "; columns added: {}", self.columns.join(", "))?;
        }
        Ok(())
    }
}
