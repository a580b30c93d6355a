//! The `[sink.table]` table.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::cli::PublishDatasetArgs;
use crate::exit::usage;

/// The table in which `lethe run` registers its files, as `lethe publish` does.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum TableConfig {
    /// A Delta table.
    Delta {
        /// The table of the notes: its folder, or the URL of a bucket's prefix.
        #[schemars(extend("examples" = ["s3://research/notes"]))]
        path: String,
        /// The table of the audit. Not published by default.
        #[schemars(extend("examples" = ["s3://research/audit"]))]
        audit_path: Option<String>,
        /// The time between two attempts. A run that ends by itself publishes at its end, too.
        #[serde(default = "every_seconds")]
        every_seconds: u64,
    },
    /// An Iceberg table of a REST catalogue.
    Iceberg {
        /// The address of the catalogue. The login comes from the environment, as for `lethe publish`.
        #[schemars(extend("examples" = ["https://catalog.example.org/api"]))]
        catalog: String,
        /// The warehouse, if the catalogue has several.
        warehouse: Option<String>,
        /// The table of the notes, with its namespace.
        #[schemars(extend("examples" = ["clinic.notes"]))]
        table: String,
        /// The table of the audit. Not published by default.
        #[schemars(extend("examples" = ["clinic.audit"]))]
        audit_table: Option<String>,
        /// The time between two attempts. A run that ends by itself publishes at its end, too.
        #[serde(default = "every_seconds")]
        every_seconds: u64,
    },
}

const fn every_seconds() -> u64 {
    300
}

impl TableConfig {
    /// Returns the time between two commits.
    ///
    /// # Errors
    /// A usage error if it is 0.
    pub(crate) fn every(&self) -> anyhow::Result<Duration> {
        let (Self::Delta { every_seconds, .. } | Self::Iceberg { every_seconds, .. }) = self;
        match every_seconds {
            0 => Err(usage("key `sink.table.every_seconds`: is 0; set at least 1")),
            seconds => Ok(Duration::from_secs(*seconds)),
        }
    }

    /// Returns the options of the program that publishes `dataset`, with a report in JSON.
    pub(crate) fn options(&self, dataset: &str) -> PublishDatasetArgs {
        let options = PublishDatasetArgs {
            dataset: dataset.into(),
            json: true,
            ..PublishDatasetArgs::default()
        };
        match self {
            Self::Delta { path, audit_path, .. } => PublishDatasetArgs {
                delta: Some(path.into()),
                audit_table: audit_path.as_ref().map(Into::into),
                ..options
            },
            Self::Iceberg {
                catalog,
                warehouse,
                table,
                audit_table,
                ..
            } => PublishDatasetArgs {
                iceberg: Some(table.into()),
                catalog: Some(catalog.into()),
                warehouse: warehouse.as_ref().map(Into::into),
                audit_table: audit_table.as_ref().map(Into::into),
                ..options
            },
        }
    }
}
