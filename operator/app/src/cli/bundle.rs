//! Options of `lethe bundle`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::DictionaryArgs;

#[derive(Subcommand)]
pub(crate) enum BundleCommand {
    /// Show the members of a bundle, its vote, labels, provenance, measured quality and digests
    Show(ShowArgs),
    /// Write a copy of a bundle to a folder, for instance of a built-in one
    Export(ExportArgs),
    /// Make a bundle from another by replacing trained members, for instance by fine-tuned ones
    ///
    /// The other members, the vote and the labels stay as they are. The new manifest holds the digest of the
    /// old bundle. The thresholds of the vote were chosen for the old members: evaluate the new bundle before
    /// you use it.
    Swap(SwapArgs),
    /// Make a bundle from another by rounding the weights of networks to eight bits, which makes them faster
    ///
    /// The new manifest names the digests of what was replaced. A network that is trained with `--set
    /// architecture.precision=int8` needs no such step.
    Quantize(QuantizeArgs),
    /// Make a bundle of trained members that vote, without fitting the vote
    ///
    /// `lethe ensemble fit` chooses members and thresholds by measuring them.
    Create(CreateArgs),
}

#[derive(Args)]
pub(crate) struct ShowArgs {
    /// The bundle: the name of a built-in one, or its folder
    #[arg(value_name = "BUNDLE")]
    pub(crate) bundle: PathBuf,
    /// Print it as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct ExportArgs {
    /// The bundle: the name of a built-in one, or its folder
    #[arg(value_name = "BUNDLE")]
    pub(crate) bundle: PathBuf,
    /// The folder to write; must not exist, or be empty
    #[arg(value_name = "DIR")]
    pub(crate) out: PathBuf,
}

#[derive(Args)]
pub(crate) struct SwapArgs {
    /// The bundle: the name of a built-in one, or its folder; it is not changed
    #[arg(value_name = "BUNDLE")]
    pub(crate) bundle: PathBuf,
    /// A member, and the model to put in its place: the folder of `lethe adapt fine-tune` or `lethe train`
    #[arg(long = "member", value_name = "NAME=MODEL", required = true)]
    pub(crate) members: Vec<String>,
    /// Keep a combiner that was fitted to the scores of the old members
    #[arg(long)]
    pub(crate) keep_combiner: bool,
    /// Documents with gold spans to measure the new bundle on: JSON lines, i2b2 XML or brat, a file or a folder. Its
    /// manifest records the figures; without them it has none
    #[arg(long, value_name = "GOLD")]
    pub(crate) gold: Vec<PathBuf>,
    /// The folder for the new bundle; must not exist, or be empty
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
}

#[derive(Args)]
pub(crate) struct QuantizeArgs {
    /// The bundle: the name of a built-in one, or its folder; it is not changed
    #[arg(value_name = "BUNDLE")]
    pub(crate) bundle: PathBuf,
    /// A network whose weights to round: a `cnn` or a recurrent one
    #[arg(long = "member", value_name = "NAME", required = true)]
    pub(crate) members: Vec<String>,
    /// Some hundred notes like those that the bundle will read: JSON lines, i2b2 XML or brat, a file or a folder. The
    /// ranges of activations are measured on them; their spans are ignored
    #[arg(long, value_name = "DOCUMENTS", required = true)]
    pub(crate) notes: Vec<PathBuf>,
    /// Documents with gold spans to measure the new bundle on: JSON lines, i2b2 XML or brat, a file or a folder. Its
    /// manifest records the figures; without them it keeps those of the old bundle, as such
    #[arg(long, value_name = "GOLD")]
    pub(crate) gold: Vec<PathBuf>,
    /// The folder for the new bundle; must not exist, or be empty
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
}

#[derive(Args)]
pub(crate) struct CreateArgs {
    /// A trained member, best first: between overlapping candidates with equal votes, the member that comes
    /// first wins
    #[arg(long = "member", value_name = "NAME=MODEL", required = true)]
    pub(crate) members: Vec<String>,
    /// A rule member to add, for instance `known`: its spans are redacted whatever the vote
    #[arg(long = "rule", value_name = "KIND")]
    pub(crate) rules: Vec<String>,
    #[command(flatten)]
    pub(crate) dictionary: DictionaryArgs,
    /// The votes that a span needs
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) threshold: u32,
    /// The label set: a built-in one (i2b2-2014, meddocan) or a file. By default the built-in set that has all
    /// labels of the members
    #[arg(long, value_name = "SET")]
    pub(crate) labels: Option<String>,
    /// The folder for the bundle; must not exist, or be empty
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
}
