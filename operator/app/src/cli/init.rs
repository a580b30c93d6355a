//! Options of `lethe init`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Args)]
#[command(
    after_help = "On a terminal, Lethe asks for what is missing. Without one, --source and --policy are required, with --brokers and --topic for kafka and --path for files and tables.\nExample: lethe init --source files --path notes/ --policy safe-harbor"
)]
pub(crate) struct InitArgs {
    /// Where the notes come from
    #[arg(long, value_name = "KIND")]
    pub(crate) source: Option<InitSource>,
    /// The file or folder of notes or tables
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
    /// The brokers, separated by commas
    #[arg(long, value_name = "HOST:PORT", value_delimiter = ',')]
    pub(crate) brokers: Vec<String>,
    /// The topic of notes
    #[arg(long, value_name = "NAME")]
    pub(crate) topic: Option<String>,
    /// What replaces identifiers
    #[arg(long, value_name = "POLICY")]
    pub(crate) policy: Option<InitPolicy>,
    /// The folder of the redacted output
    #[arg(long, value_name = "DIR", default_value = "redacted")]
    pub(crate) data: PathBuf,
    /// The configuration file to write; policy.toml and keys.toml go into the same folder. No file is
    /// overwritten
    #[arg(long, value_name = "FILE", default_value = "lethe.toml")]
    pub(crate) out: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum InitSource {
    /// A topic of a Kafka cluster, for `lethe run`
    Kafka,
    /// Files of notes: JSON lines, a folder of texts, or Parquet, for `lethe run --until-end`
    Files,
    /// Tables of a warehouse: Parquet, JSON lines or CSV, for `lethe backfill`
    Tables,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum InitPolicy {
    /// HIPAA's Safe Harbor: surrogates for identifiers, only the year of dates; creates a key
    SafeHarbor,
    /// A limited data set: surrogates for identifiers, dates shifted by patient; creates a key
    Research,
    /// The label of each identifier, such as [PATIENT]; needs no key
    Tags,
    /// Pseudonymisation under the GDPR: surrogates, shifted dates, and tags for nationality, ethnicity, religion and
    /// language; creates a key
    Gdpr,
}
