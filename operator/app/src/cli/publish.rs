//! Options of `lethe publish`.

use std::ffi::OsString;

use clap::{ArgGroup, Args};

#[derive(Args, Default)]
#[command(group = ArgGroup::new("format").args(["delta", "iceberg"]).required(true))]
#[command(
    after_help = "Runs the program `lethe-publish`, which lies next to this one or on PATH. The credentials of a bucket come from the environment: for S3 AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION and AWS_ENDPOINT_URL; for Azure AZURE_STORAGE_ACCOUNT_KEY, AZURE_STORAGE_SAS_TOKEN, or AZURE_CLIENT_ID, AZURE_TENANT_ID and AZURE_CLIENT_SECRET; for Google Cloud Storage GOOGLE_APPLICATION_CREDENTIALS. The login to a catalog comes from LETHE_CATALOG_TOKEN, or from LETHE_CATALOG_CREDENTIAL (ID:SECRET).\nExit codes: 0 success, also if there was nothing new; 1 runtime failure, run the same command again to continue; 2 wrong usage, or a table that Lethe does not write to; 4 --check found a difference.\nExamples:\n  lethe publish lake/notes/_lethe --delta lake/notes\n  lethe publish data/notes --iceberg clinic.notes --catalog https://catalog.example.org/api"
)]
pub(crate) struct PublishDatasetArgs {
    /// The dataset: its folder, or a bucket: s3://BUCKET/PREFIX, abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PREFIX or
    /// gs://BUCKET/PREFIX
    #[arg(value_name = "DATASET")]
    pub(crate) dataset: OsString,
    /// The Delta table of the notes: its folder, or a bucket as for DATASET; created if it does not exist
    #[arg(long, value_name = "TABLE")]
    pub(crate) delta: Option<OsString>,
    /// The Iceberg table of the notes: NAMESPACE.TABLE with --catalog, else its folder, or a bucket as for DATASET;
    /// created if it does not exist
    #[arg(long, value_name = "TABLE")]
    pub(crate) iceberg: Option<OsString>,
    /// The address of the Iceberg REST catalog
    #[arg(long, value_name = "URL", requires = "iceberg")]
    pub(crate) catalog: Option<OsString>,
    /// The warehouse, for a catalog that has several
    #[arg(long, value_name = "NAME", requires = "catalog")]
    pub(crate) warehouse: Option<OsString>,
    /// The table of the audit, of the same format; not published by default
    #[arg(long, value_name = "TABLE")]
    pub(crate) audit_table: Option<OsString>,
    /// Only check that each file of the dataset that the tables name exists and has its size; change nothing
    #[arg(long)]
    pub(crate) check: bool,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// The version whose files are listed, for a backfill.
    #[arg(skip)]
    pub(crate) list: Option<i64>,
}
