//! What can be typed of adapting members to a new institute.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Subcommand)]
pub(crate) enum AdaptCommand {
    /// Learn from labelled text as it arrives, beside a model from elsewhere: how good each is, and both together, step
    /// by step (Singh 2020)
    Incremental(IncrementalArgs),
    /// Learn corrections beside a running stream: each batch becomes a new version of its bundle, unless that is worse
    Corrections(CorrectionsArgs),
    /// Go on from a trained model's weights with local documents (Yang 2019)
    FineTune(FineTuneArgs),
    /// Go on from a trained model's weights with labelled text of the source and unlabelled text of the target, which the model
    /// itself or an ensemble labels (Liao 2021)
    SelfTrain(SelfTrainArgs),
    /// Join corpora with different labels into one, which members can be trained on (Yang 2019)
    Merge(MergeArgs),
}

#[derive(Args)]
pub(crate) struct CorrectionsArgs {
    /// The stream's configuration, with `[corrections]`
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// Stop once everything that was there at the start is learnt
    #[arg(long)]
    pub(crate) until_end: bool,
}

#[derive(Args)]
pub(crate) struct IncrementalArgs {
    /// The first institute's model, a folder of `lethe train`; without one, a random field is fitted again at each increment
    /// to all that has arrived
    #[arg(long, value_name = "DIR")]
    pub(crate) first: Option<PathBuf>,
    /// The first institute's documents: a random field is trained on their units into --first, unless it is there already
    #[arg(long, value_name = "GOLD", requires = "first")]
    pub(crate) first_train: Vec<PathBuf>,
    /// Let the model learn too: at each increment it goes on from --first's weights with all that has arrived
    #[arg(long, requires = "first")]
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

#[derive(Args)]
pub(crate) struct FineTuneArgs {
    /// The model to go on from, a folder of `lethe train` or of this command
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// Local documents with gold spans: JSON lines, i2b2 XML or brat, a file or a folder
    #[arg(long, value_name = "GOLD", required = true)]
    pub(crate) train: Vec<PathBuf>,
    /// Other names for gold's labels: a TOML table `labels` of new names by old ones, an empty one leaves a label out
    #[arg(long, value_name = "FILE")]
    pub(crate) rename: Option<PathBuf>,
    /// The share of the documents that is held out to choose the best state by; 0 fits to all of them
    #[arg(long, value_name = "SHARE", default_value_t = 0.1)]
    pub(crate) hold_out: f64,
    /// Documents to choose the best state by, in place of a share of --train
    #[arg(long, value_name = "GOLD")]
    pub(crate) dev: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) going: GoingArgs,
}

#[derive(Args)]
pub(crate) struct SelfTrainArgs {
    /// The model to go on from: a crf or a recurrent network, a folder of `lethe train` or `lethe adapt fine-tune`
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// The source's documents with gold spans, as the model was trained on them: JSON lines, i2b2 XML or brat, a file or a folder
    #[arg(long, value_name = "GOLD", required = true)]
    pub(crate) train: Vec<PathBuf>,
    /// The target's documents; spans that they have are not looked at
    #[arg(long, value_name = "DOCUMENTS", required = true)]
    pub(crate) unlabelled: Vec<PathBuf>,
    /// Documents of the target that do have gold spans, if there are some: they are trained on as the source's are
    #[arg(long, value_name = "GOLD")]
    pub(crate) labelled: Vec<PathBuf>,
    /// Other documents of the source with gold spans: they choose when the model was best and whether it is kept
    #[arg(long, value_name = "GOLD", required = true)]
    pub(crate) kept_back: Vec<PathBuf>,
    /// Other names for gold's labels, and a teacher's: a TOML table `labels` of new names by old ones, an empty one leaves a label
    /// out
    #[arg(long, value_name = "FILE")]
    pub(crate) rename: Option<PathBuf>,
    /// A bundle whose members label the target's documents in the model's place, each tag by the share of them that say it
    #[arg(long, value_name = "BUNDLE")]
    pub(crate) teacher: Option<PathBuf>,
    /// How many points of strict F1 the model may lose on --kept-back; if it loses more, nothing is written and the exit code is 5
    #[arg(long, value_name = "POINTS", default_value_t = 0.5)]
    pub(crate) bound: f64,
    /// The target's documents with gold spans, to tell what became of what was wrong; nothing is chosen by them
    #[arg(long, value_name = "GOLD", requires = "analysis")]
    pub(crate) test: Vec<PathBuf>,
    /// The label that is told of; every one if not given
    #[arg(long, value_name = "LABEL", requires = "analysis")]
    pub(crate) label: Option<String>,
    /// The folder for analysis.json and its plots
    #[arg(long, value_name = "DIR", requires = "test")]
    pub(crate) analysis: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) going: GoingArgs,
}

/// What every way of going on from a model shares.
#[derive(Args)]
pub(crate) struct GoingArgs {
    /// How the member goes on, a TOML file
    #[arg(long, value_name = "FILE")]
    pub(crate) settings: Option<PathBuf>,
    /// One setting, as in `--set schedule.rate=0.0005` for a network, or `--set l2=1` for how firmly a fine-tuned crf holds to its
    /// old weights; goes before the file's
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// The same seed gives the same model, byte for byte
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// The folder that becomes the new model; a training that was stopped goes on from what lies there
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Begin again rather than go on with a training that was stopped
    #[arg(long)]
    pub(crate) restart: bool,
}

#[derive(Args)]
pub(crate) struct MergeArgs {
    /// A corpus, and after a colon other names for its labels, a TOML table `labels` of new names by old ones; then every
    /// label must stand there. Its documents' ids begin with NAME, the file's own if none is given
    #[arg(long, value_name = "[NAME=]GOLD[:RENAME]", required = true)]
    pub(crate) corpus: Vec<String>,
    /// The file of JSON lines to write
    #[arg(long, value_name = "GOLD")]
    pub(crate) out: PathBuf,
}
