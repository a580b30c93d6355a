//! Options of `lethe publish`.

use std::ffi::OsString;

use clap::Args;

#[derive(Args)]
#[command(
    after_help = "Runs the program `lethe-publish`, which lies next to this one or on PATH. The keys, the region and the endpoint of a bucket come from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION and AWS_ENDPOINT_URL.\nExit codes: 0 success, also if there was nothing new; 1 runtime failure, run the same command again to continue; 2 wrong usage, or a table that Lethe does not write to.\nExample: lethe publish lake/notes/_lethe --delta lake/notes"
)]
pub(crate) struct PublishDatasetArgs {
    /// The dataset: its folder, or s3://BUCKET/PREFIX
    #[arg(value_name = "DATASET")]
    pub(crate) dataset: OsString,
    /// The Delta table of the notes: its folder, or s3://BUCKET/PREFIX; created if it does not exist
    #[arg(long, value_name = "TABLE")]
    pub(crate) delta: OsString,
    /// The Delta table of the audit; not published by default
    #[arg(long, value_name = "TABLE")]
    pub(crate) audit_table: Option<OsString>,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
