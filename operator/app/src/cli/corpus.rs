//! Options of `lethe corpus`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Subcommand)]
pub(crate) enum CorpusCommand {
    /// Count documents, sentences, tokens and spans by label, and compare corpora with the first one
    ///
    /// Of two or more corpora, it also lists the words that are over-represented in each, by the signed
    /// log-likelihood ratio (Dunning 1993). No word that occurs in a span of any of the corpora is ever listed,
    /// and none if a corpus has no spans. But where annotators missed every mention of a name, it counts as any
    /// other word: treat the list as you treat the corpora, or leave it out with `--terms 0`.
    Stats(CorpusStatsArgs),
}

#[derive(Args)]
pub(crate) struct CorpusStatsArgs {
    /// Documents with gold spans: JSON lines, i2b2 XML or brat, a file or a folder; a path, or NAME=PATH
    #[arg(value_name = "CORPUS", required = true)]
    pub(crate) corpora: Vec<String>,
    /// Rename labels: a TOML table `labels` that maps old names to new ones; an empty name drops the label
    #[arg(long, value_name = "FILE")]
    pub(crate) rename: Option<PathBuf>,
    /// The label set that maps labels to categories: a built-in one (i2b2-2014, meddocan) or a file
    #[arg(long, value_name = "SET")]
    pub(crate) labels: Option<String>,
    /// The number of over-represented words to list for each of two corpora; 0 for none
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) terms: usize,
    /// List only words that occur in at least this number of documents of the corpus that they are
    /// over-represented in
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) least_documents: u64,
    /// Print JSON instead of tables
    #[arg(long)]
    pub(crate) json: bool,
}
