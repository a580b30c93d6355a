//! Errors of publishing. They name files, columns and tables, never a note's content.

use delta_kernel::KernelError;
use lethe_connectors::sink::ChainError;
use lethe_connectors::store::StoreError;

/// Why a dataset was not published.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PublishError {
    /// The place of a dataset or table cannot be used.
    #[error("{place}: {why}")]
    Place {
        /// The place as it was given.
        place: String,
        /// The problem.
        why: String,
    },
    /// `VACUUM` of the table would delete the dataset.
    #[error(
        "{dataset} lies in the folder of the table {table}, where VACUUM deletes each file that the table does not name, among them \
         files that are not published yet; move the dataset to a folder directly in the table's whose name begins with `_`, such as \
         {table}/_lethe, or out of the table"
    )]
    Vacuum {
        /// The table.
        table: String,
        /// The dataset.
        dataset: String,
    },
    /// The removal of orphan files would delete the dataset.
    #[error(
        "{dataset} lies in the location of the table {table}, where the removal of orphan files deletes each file that the table \
         does not name, among them files that are not published yet; move the dataset out of it"
    )]
    Orphans {
        /// The table.
        table: String,
        /// The dataset.
        dataset: String,
    },
    /// The table lies in the dataset.
    #[error(
        "the table {table} lies in the dataset {dataset}; give it a place of its own, such as the folder that contains the dataset"
    )]
    Inside {
        /// The table.
        table: String,
        /// The dataset.
        dataset: String,
    },
    /// The dataset has no chain.
    #[error(
        "{dataset}: no chains to publish; is this the folder of an output of `lethe run`? Backfills have none"
    )]
    NoChains {
        /// The dataset.
        dataset: String,
    },
    /// An erasure has not ended.
    #[error("{record}: this erasure has not ended; run the same `lethe erase` again, then publish")]
    Unfinished {
        /// The erasure's record.
        record: String,
    },
    /// A record of an erasure is damaged or missing.
    #[error("{file}: {why}; `lethe inspect` says more")]
    Erasure {
        /// The record.
        file: String,
        /// The problem.
        why: String,
    },
    /// A file does not fit the table.
    #[error("{file}: column `{column}` cannot be published: {why}")]
    Column {
        /// The file.
        file: String,
        /// The column's path.
        column: String,
        /// The problem.
        why: String,
    },
    /// The table has a setting with which Lethe does not write to it.
    #[error("the table {table} {why}; publish to another table")]
    Table {
        /// The table.
        table: String,
        /// The setting.
        why: String,
    },
    /// A version of a table cannot be listed.
    #[error("version {version} of the table {table} {why}")]
    Version {
        /// The table.
        table: String,
        /// The number of the version, or the id of the snapshot.
        version: i64,
        /// The problem, and what to do.
        why: String,
    },
    /// The metadata of an Iceberg table cannot be read or written.
    #[error("the table {table}: {file}: {why}")]
    Metadata {
        /// The table.
        table: String,
        /// The file.
        file: String,
        /// The problem.
        why: String,
    },
    /// A catalogue did not answer as expected.
    #[error("the table {table}: {why}")]
    Catalogue {
        /// The table.
        table: String,
        /// The problem.
        why: String,
        /// Whether a retry may help.
        is_temporary: bool,
    },
    /// The settings of a catalogue are wrong.
    #[error("the catalogue {catalogue}: {why}")]
    Settings {
        /// The catalogue.
        catalogue: String,
        /// The problem.
        why: String,
    },
    /// Other writers were always first.
    #[error(
        "the table {table} was changed by other writers in each of {attempts} attempts; publish again when they are done"
    )]
    Contended {
        /// The table.
        table: String,
        /// The number of attempts.
        attempts: u32,
    },
    /// A chain cannot be read.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// The store's error.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An error of the kernel: the table is damaged, or has a feature that Lethe cannot write.
    #[error("the table {table}: {source}")]
    Kernel {
        /// The table.
        table: String,
        /// The kernel's error.
        source: Box<KernelError>,
    },
}

impl PublishError {
    /// Returns whether a retry may help.
    pub(crate) fn is_temporary(&self) -> bool {
        match self {
            Self::Store(error) | Self::Chain(ChainError::Store(error)) => error.is_transient(),
            Self::Kernel { source, .. } => store_error(source).is_some_and(StoreError::is_transient),
            Self::Catalogue { is_temporary, .. } => *is_temporary,
            _ => false,
        }
    }

    /// Returns whether the command line or the place of a table is wrong, so that a retry does not help.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::Place { .. }
                | Self::Vacuum { .. }
                | Self::Orphans { .. }
                | Self::Inside { .. }
                | Self::Settings { .. }
                | Self::NoChains { .. }
                | Self::Table { .. }
                | Self::Version { .. }
        )
    }
}

/// Returns the error of a store that an error of the kernel holds.
fn store_error(error: &KernelError) -> Option<&StoreError> {
    let mut source: Option<&(dyn std::error::Error + 'static)> = match error {
        KernelError::Backtraced { source, .. } => return store_error(source),
        KernelError::ObjectStore(object_store::Error::Generic { source, .. }) => Some(source.as_ref()),
        error => Some(error),
    };
    while let Some(error) = source {
        if let Some(found) = error.downcast_ref::<StoreError>() {
            return Some(found);
        }
        source = error.source();
    }
    None
}
