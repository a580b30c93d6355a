//! Options of `lethe adapt`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::DictionaryArgs;

#[derive(Subcommand)]
pub(crate) enum AdaptCommand {
    /// Study incremental learning: evaluate a model, naive Bayes and their mixture step by step as labelled
    /// text arrives (Singh 2020)
    Incremental(IncrementalArgs),
    /// Learn corrections of a running stream: each batch becomes a new version of its bundle, unless that
    /// version is worse
    Corrections(CorrectionsArgs),
    /// Fine-tune a trained model on local documents (Yang 2019)
    FineTune(FineTuneArgs),
    /// Fine-tune a trained model on labelled text of the source and unlabelled text of the target, which the
    /// model itself or an ensemble labels (Liao 2021)
    SelfTrain(SelfTrainArgs),
    /// Merge corpora with different labels into one training corpus (Yang 2019)
    Merge(MergeArgs),
}

#[derive(Args)]
pub(crate) struct CorrectionsArgs {
    /// The stream's configuration file, with `[corrections]`
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// Stop once everything that existed at the start is learnt
    #[arg(long)]
    pub(crate) until_end: bool,
}

#[derive(Args)]
pub(crate) struct IncrementalArgs {
    /// The first institute's model, a folder of `lethe train` or BUNDLE/MEMBER; by default a random field is retrained at each
    /// increment on everything that has arrived
    #[arg(long, value_name = "DIR")]
    pub(crate) first: Option<PathBuf>,
    /// The first institute's documents: trains a random field on their units and writes it to --first, unless
    /// it exists
    #[arg(long, value_name = "GOLD", requires = "first")]
    pub(crate) first_train: Vec<PathBuf>,
    /// Let the model learn too: at each increment, fine-tune --first on everything that has arrived
    #[arg(long, requires = "first")]
    pub(crate) first_learns: bool,
    /// Documents with gold spans that arrive in batches: JSON lines, i2b2 XML or brat, a file or a folder
    #[arg(long, value_name = "GOLD", required = true)]
    pub(crate) stream: Vec<PathBuf>,
    /// Held-out documents of the same institute with gold spans
    #[arg(long, value_name = "GOLD", required = true)]
    pub(crate) test: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) dictionary: DictionaryArgs,
    /// Units per batch
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) batch: u32,
    /// The unit that arrives, which a learner reads as one sequence
    #[arg(long, default_value = "sentences")]
    pub(crate) unit: Unit,
    /// The maximum number of increments; by default the whole stream
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) increments: Option<u32>,
    /// The number of repeats, each with another order of the stream
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) repeats: u32,
    /// The number of repeats that run in parallel; by default the number of cores
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    /// The random seed; the same seed gives the same orders and figures
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Rename labels of all documents: a TOML table `labels` that maps old names to new ones; with several
    /// files, later ones apply to the names of earlier ones
    #[arg(long, value_name = "FILE")]
    pub(crate) rename: Vec<PathBuf>,
    /// The title of the study's report
    #[arg(long, default_value = "Learning by increments")]
    pub(crate) title: String,
    /// The folder for study.json, README.md and the plots
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Unit {
    /// Sentences, each a sequence of its own
    Sentences,
    /// Whole documents
    Documents,
}

#[derive(Args)]
pub(crate) struct FineTuneArgs {
    /// The model to fine-tune: a folder of `lethe train` or of this command, or BUNDLE/MEMBER, such as
    /// `en-clinical/ssvm`
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// Local documents with gold spans: JSON lines, i2b2 XML or brat, a file or a folder
    #[arg(long, value_name = "GOLD", required = true)]
    pub(crate) train: Vec<PathBuf>,
    /// Rename gold labels: a TOML table `labels` that maps old names to new ones; an empty name drops the
    /// label
    #[arg(long, value_name = "FILE")]
    pub(crate) rename: Option<PathBuf>,
    /// The share of the documents that is held out for model selection; 0 trains on all of them
    #[arg(long, value_name = "SHARE", default_value_t = 0.1)]
    pub(crate) hold_out: f64,
    /// Documents for model selection, instead of a share of --train
    #[arg(long, value_name = "GOLD")]
    pub(crate) dev: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) continuation: ContinueArgs,
}

#[derive(Args)]
pub(crate) struct SelfTrainArgs {
    /// The model to adapt: a crf or a recurrent network, a folder of `lethe train` or `lethe adapt fine-tune`,
    /// or BUNDLE/MEMBER
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// The source's documents with gold spans, on which the model was trained: JSON lines, i2b2 XML or brat,
    /// a file or a folder
    #[arg(long, value_name = "GOLD", required = true)]
    pub(crate) train: Vec<PathBuf>,
    /// The target's documents; their spans are ignored
    #[arg(long, value_name = "DOCUMENTS", required = true)]
    pub(crate) unlabelled: Vec<PathBuf>,
    /// Documents of the target with gold spans, if any: used like the source's
    #[arg(long, value_name = "GOLD")]
    pub(crate) labelled: Vec<PathBuf>,
    /// Held-out documents of the source with gold spans: for model selection, and to decide whether the model
    /// is kept
    #[arg(long, alias = "kept-back", value_name = "GOLD", required = true)]
    pub(crate) held_out: Vec<PathBuf>,
    /// Rename gold labels, and a teacher's: a TOML table `labels` that maps old names to new ones; an empty
    /// name drops the label
    #[arg(long, value_name = "FILE")]
    pub(crate) rename: Option<PathBuf>,
    /// A bundle whose members label the target's documents instead of the model; each tag's weight is the
    /// share of members that predict it
    #[arg(long, value_name = "BUNDLE")]
    pub(crate) teacher: Option<PathBuf>,
    /// The most points of strict F1 that the model may lose on --held-out; if it loses more, nothing is
    /// written and the exit code is 5
    #[arg(long, value_name = "POINTS", default_value_t = 0.5)]
    pub(crate) bound: f64,
    /// The target's documents with gold spans, for an analysis of corrected and new errors; they do not
    /// affect the model
    #[arg(long, value_name = "GOLD", requires = "analysis")]
    pub(crate) test: Vec<PathBuf>,
    /// The label to analyse; by default all
    #[arg(long, value_name = "LABEL", requires = "analysis")]
    pub(crate) label: Option<String>,
    /// The folder for analysis.json and its plots
    #[arg(long, value_name = "DIR", requires = "test")]
    pub(crate) analysis: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) continuation: ContinueArgs,
}

/// Options of all commands that fine-tune a model.
#[derive(Args)]
pub(crate) struct ContinueArgs {
    #[command(flatten)]
    pub(crate) dictionary: DictionaryArgs,
    /// The training settings, a TOML file
    #[arg(long, value_name = "FILE")]
    pub(crate) settings: Option<PathBuf>,
    /// One setting, such as `--set schedule.rate=0.0005` for a network, or `--set l2=1` for how strongly a
    /// fine-tuned crf stays at its old weights; takes precedence over the file
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// The random seed; the same seed gives the same model, byte for byte
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// The folder for the new model; an interrupted training resumes from it
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Start over instead of resuming an interrupted training
    #[arg(long)]
    pub(crate) restart: bool,
}

#[derive(Args)]
pub(crate) struct MergeArgs {
    /// A corpus, and after a colon a file with new names for its labels, a TOML table `labels` that maps old
    /// names to new ones and must list every label. The documents' ids get NAME as a prefix, by default the
    /// file's name
    #[arg(long, value_name = "[NAME=]GOLD[:RENAME]", required = true)]
    pub(crate) corpus: Vec<String>,
    /// The JSON lines file to write
    #[arg(long, value_name = "GOLD")]
    pub(crate) out: PathBuf,
}
