//! What can be typed of adapting members to a new institute.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Subcommand)]
pub(crate) enum AdaptCommand {
    /// Learn from labelled text as it arrives, beside a model from elsewhere: how good each is, and both together, step
    /// by step (Singh 2020)
    Incremental(IncrementalArgs),
}

#[derive(Args)]
pub(crate) struct IncrementalArgs {
    /// The first institute's model, which is not trained on; a folder of `lethe train`
    #[arg(long, value_name = "DIR", conflicts_with_all = ["first_train", "first_learns"])]
    pub(crate) first: Option<PathBuf>,
    /// The first institute's documents, which a random field is trained on before the stream begins
    #[arg(long, value_name = "GOLD")]
    pub(crate) first_train: Vec<PathBuf>,
    /// Fit the random field again at each increment, to everything that has arrived (and to --first-train); without a
    /// first institute it always is
    #[arg(long)]
    pub(crate) first_learns: bool,
    /// Documents with gold spans that arrive batch by batch: JSON lines, i2b2 XML or brat, a file or a folder
    #[arg(long, value_name = "GOLD", required = true)]
    pub(crate) stream: Vec<PathBuf>,
    /// Other documents with gold spans of the same institute, which nothing is fitted to
    #[arg(long, value_name = "GOLD", required = true)]
    pub(crate) test: Vec<PathBuf>,
    /// How many units arrive at a time
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) batch: u32,
    /// What arrives, and what a learner sees as one sequence
    #[arg(long, default_value = "sentences")]
    pub(crate) unit: Unit,
    /// Stop after so many increments; the whole stream if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) increments: Option<u32>,
    /// How often the stream arrives, in another order each time
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) repeats: u32,
    /// How many repeats run at a time; as many as there are cores if not given
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    /// The same seed gives the same orders and figures
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Other names for labels, of all documents: a TOML table `labels` of new names by old ones; of several files, the
    /// later rename what the earlier have named
    #[arg(long, value_name = "FILE")]
    pub(crate) rename: Vec<PathBuf>,
    /// The study's title on its page
    #[arg(long, default_value = "Learning by increments")]
    pub(crate) title: String,
    /// The folder for study.json, README.md and the plots
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Unit {
    /// Sentences, each a sequence by itself
    Sentences,
    /// Whole documents
    Documents,
}
