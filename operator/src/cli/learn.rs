//! What can be typed of training and measuring.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Args)]
pub(crate) struct TrainArgs {
    #[command(flatten)]
    pub(crate) learning: LearningArgs,
    /// Documents to choose the best state by, in place of a share of --train
    #[arg(long, value_name = "GOLD")]
    pub(crate) dev: Option<PathBuf>,
    /// The folder that becomes the model; a training that was stopped goes on from what lies there
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Begin again rather than go on with a training that was stopped
    #[arg(long)]
    pub(crate) restart: bool,
}

#[derive(Args)]
pub(crate) struct CrossvalArgs {
    #[command(flatten)]
    pub(crate) learning: LearningArgs,
    /// How many folds
    #[arg(long, value_name = "K", default_value_t = 10, value_parser = clap::value_parser!(u16).range(2..))]
    pub(crate) folds: u16,
    /// How many folds are trained at a time; as many as there are cores if not given
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    /// What a fold must not cut through
    #[arg(long, default_value = "document")]
    pub(crate) by: FoldUnit,
    /// The folder for the folds' models and predictions; folds that are done are not done again
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
}

#[derive(Args)]
pub(crate) struct SynthesiseArgs {
    /// The file of JSON lines to write
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// What a line is: a document with its gold (`doc_id`, `patient_id`, `text`, `spans`), or a note event as a stream reads it
    #[arg(long = "as", value_name = "FORM", default_value = "documents")]
    pub(crate) form: SynthesisedForm,
    /// How many documents
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(crate) notes: u64,
    /// Clinical text to write identifiers into, read as gold is: its spans (`lethe annotate` makes them) are residues of
    /// identifiers, which are written over or left out; without any, every document is written from templates alone
    #[arg(long, value_name = "FILE")]
    pub(crate) carriers: Vec<PathBuf>,
    /// Which institutes write, in turn; each has its own layouts, conventions, names, towns and hospitals. Those that are not held
    /// out to test on if not given
    #[arg(long, value_name = "ID", value_delimiter = ',', value_parser = institutes())]
    pub(crate) institutes: Vec<String>,
    /// Names to write in place of the institutes' own: lines of given name, tab, surname, tab, `F` or `M`; more columns are let be
    #[arg(long, value_name = "FILE")]
    pub(crate) names: Option<PathBuf>,
    /// The share of documents without any identifier
    #[arg(long, value_name = "SHARE", default_value_t = 0.1, value_parser = share)]
    pub(crate) negatives: f64,
    /// What is done to documents: some of each (`usual`), nothing (`none`), or one thing to all of them
    #[arg(long, default_value = "usual")]
    pub(crate) noise: NoiseKind,
    /// The same seed gives the same documents, byte for byte
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SynthesisedForm {
    /// Documents with gold spans
    Documents,
    /// Note events: `lethe schema event` describes them
    Events,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum NoiseKind {
    Usual,
    None,
    /// All in capitals
    Capitals,
    /// Without capitals
    Lower,
    /// Typing errors
    Typing,
}

fn institutes() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(lethe_synthesise::institutes())
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.0..=1.0).contains(&share) {
        Ok(share)
    } else {
        Err("not from 0 to 1".to_owned())
    }
}

/// What training and cross-validation share.
#[derive(Args)]
pub(crate) struct LearningArgs {
    /// What to train
    #[arg(value_name = "MEMBER", value_parser = members())]
    pub(crate) member: String,
    /// Documents with gold spans: JSON lines, i2b2 XML or brat, a file or a folder; for `pos`, lines of word, tab, tag
    #[arg(long, value_name = "GOLD", required = true)]
    pub(crate) train: Vec<PathBuf>,
    /// Other names for gold's labels: a TOML table `labels` of new names by old ones, an empty one leaves a label out
    #[arg(long, value_name = "FILE")]
    pub(crate) rename: Option<PathBuf>,
    /// The share of the training documents that is held out to choose the best state by; 0 fits to all of them
    #[arg(long, value_name = "SHARE", default_value_t = 0.1)]
    pub(crate) hold_out: f64,
    /// The member's own settings, a TOML file
    #[arg(long, value_name = "FILE")]
    pub(crate) settings: Option<PathBuf>,
    /// One setting, as in `--set l2=0.1`; goes before the file's
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// The same seed gives the same model, byte for byte
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FoldUnit {
    /// Each document by itself
    Document,
    /// All documents of a patient together
    Patient,
}

#[derive(Args)]
pub(crate) struct EvaluateArgs {
    /// Documents with gold spans: JSON lines, i2b2 XML or brat, a file or a folder
    #[arg(value_name = "GOLD")]
    pub(crate) gold: PathBuf,
    /// The same documents with predicted spans, by system: a path, or NAME=PATH; a file of `lethe ensemble export-offsets` has many
    #[arg(value_name = "PRED", required = true)]
    pub(crate) predictions: Vec<String>,
    /// Other names for labels, gold's and predicted ones: a TOML table `labels` of new names by old ones
    #[arg(long, value_name = "FILE")]
    pub(crate) rename: Option<PathBuf>,
    /// What the systems were trained on: recall is then told apart for spans seen and unseen there
    #[arg(long, value_name = "GOLD")]
    pub(crate) train: Option<PathBuf>,
    /// The label set that says each label's category: one that ships (i2b2-2014, meddocan), or a file
    #[arg(long, value_name = "SET")]
    pub(crate) labels: Option<String>,
    /// How much recall counts beside precision in F-beta
    #[arg(long, default_value_t = 2.0)]
    pub(crate) beta: f64,
    /// How often documents are drawn for the 95 % intervals
    #[arg(long, value_name = "N", default_value_t = 2000)]
    pub(crate) resamples: usize,
    /// The same seed draws the same documents
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print JSON rather than a table
    #[arg(long)]
    pub(crate) json: bool,
    /// Also write a page with plots and every error in its context; it holds text of the notes
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Leave the notes' text out of the page
    #[arg(long, requires = "html")]
    pub(crate) no_contexts: bool,
}

/// What can be trained: members, and the part-of-speech tagger that linear members may read.
fn members() -> Vec<&'static str> {
    let mut kinds = lethe_members::kinds();
    kinds.push(lethe_members::POS);
    kinds
}
