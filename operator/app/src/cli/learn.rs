//! Options of the commands for training and evaluation.

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use lethe_dictionaries::Dictionary;
use lethe_ensemble::Measure;
use lethe_evaluate::Requirement;

use crate::exit::usage;

#[derive(Args)]
pub(crate) struct TrainArgs {
    /// The member to train
    #[arg(value_name = "MEMBER", value_parser = members())]
    pub(crate) member: String,
    #[command(flatten)]
    pub(crate) learning: LearningArgs,
    /// Documents for model selection, instead of a share of --train
    #[arg(long, value_name = "GOLD")]
    pub(crate) dev: Option<PathBuf>,
    /// The folder for the model; an interrupted training resumes from it
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Start over instead of resuming an interrupted training
    #[arg(long)]
    pub(crate) restart: bool,
}

#[derive(Args, Clone)]
pub(crate) struct CrossvalArgs {
    /// The member to train in each fold (`crf`), or one that is not trained: a rule (`gazetteer`), or a TOML file with the
    /// keys of any member, such as a transformer. That one predicts all documents as it is
    #[arg(value_name = "MEMBER")]
    pub(crate) member: String,
    #[command(flatten)]
    pub(crate) learning: LearningArgs,
    /// Documents with gold spans that every fold also trains on and that are not predicted, such as synthetic notes or those
    /// of another site: where there are few documents to cross-validate
    #[arg(long, value_name = "GOLD")]
    pub(crate) also: Vec<PathBuf>,
    /// The number of folds
    #[arg(long, value_name = "K", default_value_t = 10, value_parser = clap::value_parser!(u16).range(2..))]
    pub(crate) folds: u16,
    /// The number of folds that are trained in parallel; by default the number of cores
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    /// The unit that stays within one fold
    #[arg(long, default_value = "document")]
    pub(crate) by: FoldUnit,
    /// The folder for the folds' models and predictions; finished folds are skipped
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
}

#[derive(Args)]
pub(crate) struct TuneArgs {
    #[command(flatten)]
    pub(crate) folds: CrossvalArgs,
    /// The settings to try: a TOML file in which each key has a list of values, such as `epochs = [4, 6]` or
    /// `"schedule.rate" = [0.001, 0.002]`. Every combination is cross-validated
    #[arg(long, value_name = "FILE")]
    pub(crate) grid: PathBuf,
    /// The measure that the best combination maximises: `f1`, `f2` (recall counts twice), `precision`;
    /// `characters:f2` scores characters regardless of label; `documents` is the share of documents with
    /// identifiers in which none leaks
    #[arg(long, value_name = "MEASURE", default_value = "f1")]
    pub(crate) measure: Measure,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct SynthesiseArgs {
    /// The JSON lines file to write
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// The form of a line: a document with its gold (`doc_id`, `patient_id`, `text`, `spans`), or a note
    /// event as a stream reads it
    #[arg(long = "as", value_name = "FORM", default_value = "documents")]
    pub(crate) form: SynthesisedForm,
    /// The number of documents
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(crate) notes: u64,
    /// Clinical text to insert identifiers into, in any gold format: its spans (`lethe annotate` creates
    /// them) are residual identifiers, which are replaced or left out; by default all documents come from
    /// templates
    #[arg(long, value_name = "FILE")]
    pub(crate) carriers: Vec<PathBuf>,
    /// The language of the notes
    #[arg(long, value_name = "LANGUAGE", default_value = "en", value_parser = languages())]
    pub(crate) language: String,
    /// The institutes to write notes of, in turn; each has its own layouts, conventions, names, towns and
    /// hospitals. By default all of the language that are not held out for tests
    #[arg(long, value_name = "ID", value_delimiter = ',', value_parser = institutes(), conflicts_with = "language")]
    pub(crate) institutes: Vec<String>,
    /// The kinds of text to write, and nothing else. By default all of them, and the institutes' own notes,
    /// letters, forms and other texts
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = kinds())]
    pub(crate) kinds: Vec<String>,
    /// Kinds of text to leave out, with the institutes' own texts that resemble them: to train a model that is
    /// tested on a kind of text which it has not seen
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = kinds(), conflicts_with = "kinds")]
    pub(crate) without_kinds: Vec<String>,
    /// Names to use instead of the institutes' own: lines of given name, tab, surname, tab, `F` or `M`; extra
    /// columns are ignored
    #[arg(long, value_name = "FILE")]
    pub(crate) names: Option<PathBuf>,
    /// The share of documents without identifiers
    #[arg(long, value_name = "SHARE", default_value_t = 0.1, value_parser = share)]
    pub(crate) negatives: f64,
    /// Changes to the documents: some of each (`usual`), none (`none`), or one kind in all of them
    #[arg(long, default_value = "usual")]
    pub(crate) noise: NoiseKind,
    /// Disguise every identifier, in one of these ways: to test whether it is still found. The documents are
    /// otherwise those of the same seed
    #[arg(long, value_name = "WAY", value_delimiter = ',')]
    pub(crate) disguise: Vec<DisguiseKind>,
    /// The random seed; the same seed gives the same documents, byte for byte
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SynthesisedForm {
    /// Documents with gold spans
    Documents,
    /// Note events, as described by `lethe schema event`
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
    /// Characters that a scanner took for others
    Misread,
    /// Without punctuation
    Unpunctuated,
    /// Without punctuation and capitals, as a dictation machine writes
    Dictated,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DisguiseKind {
    /// Characters without width within words and numbers
    ZeroWidth,
    /// Cyrillic letters that look like Latin ones
    Lookalikes,
    /// Full-width letters and digits
    FullWidth,
    /// A blank between all letters or digits
    Spaced,
    /// Soft hyphens within words
    SoftHyphens,
    /// A line end within a number
    LineBreaks,
    /// Entities of HTML
    Entities,
}

fn institutes() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(lethe_synthesise::institutes())
}

fn languages() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(lethe_synthesise::languages())
}

fn kinds() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(lethe_synthesise::kinds())
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.0..=1.0).contains(&share) {
        Ok(share)
    } else {
        Err("not from 0 to 1".to_owned())
    }
}

/// The dictionary that members read.
#[derive(Args, Clone)]
pub(crate) struct DictionaryArgs {
    /// The dictionary of the members, a file of `lethe dictionary build`; by default the built-in one. A model accepts
    /// only the dictionary that it was trained with
    #[arg(long, value_name = "FILE")]
    pub(crate) dictionary: Option<PathBuf>,
}

impl DictionaryArgs {
    /// Loads the dictionary.
    pub(crate) fn load(&self) -> anyhow::Result<Arc<Dictionary>> {
        match &self.dictionary {
            None => Ok(Dictionary::builtin()),
            Some(path) => Dictionary::load(path)
                .map(Arc::new)
                .map_err(|error| usage(format!("--dictionary {}: {error}", path.display()))),
        }
    }
}

/// Options that training and cross-validation share.
#[derive(Args, Clone)]
pub(crate) struct LearningArgs {
    /// Documents with gold spans: JSON lines, i2b2 XML or brat, a file or a folder; for `pos`, lines of word,
    /// tab, tag
    #[arg(long, value_name = "GOLD", required = true)]
    pub(crate) train: Vec<PathBuf>,
    /// Rename gold labels: a TOML table `labels` that maps old names to new ones; an empty name drops the
    /// label
    #[arg(long, value_name = "FILE")]
    pub(crate) rename: Option<PathBuf>,
    /// The share of the training documents that is held out for model selection; 0 trains on all of them
    #[arg(long, value_name = "SHARE", default_value_t = 0.1)]
    pub(crate) hold_out: f64,
    #[command(flatten)]
    pub(crate) dictionary: DictionaryArgs,
    /// The member's settings, a TOML file
    #[arg(long, value_name = "FILE")]
    pub(crate) settings: Option<PathBuf>,
    /// One setting, such as `--set l2=0.1`; takes precedence over the file
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// The random seed; the same seed gives the same model, byte for byte
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FoldUnit {
    /// Each document on its own
    Document,
    /// All documents of a patient together
    Patient,
}

#[derive(Args)]
pub(crate) struct EvaluateArgs {
    /// Documents with gold spans: JSON lines, i2b2 XML or brat, a file or a folder
    #[arg(value_name = "GOLD")]
    pub(crate) gold: PathBuf,
    /// The same documents with predicted spans, by system: a path, or NAME=PATH; a file of `lethe ensemble
    /// export-offsets` has several systems
    #[arg(value_name = "PRED", required = true)]
    pub(crate) predictions: Vec<String>,
    /// Rename labels of gold and predictions: a TOML table `labels` that maps old names to new ones
    #[arg(long, value_name = "FILE")]
    pub(crate) rename: Option<PathBuf>,
    /// The systems' training documents; recall is then also reported for spans seen and not seen there
    #[arg(long, value_name = "GOLD")]
    pub(crate) train: Option<PathBuf>,
    /// The label set that maps labels to categories: a built-in one (i2b2-2014, meddocan) or a file
    #[arg(long, value_name = "SET")]
    pub(crate) labels: Option<String>,
    /// The weight of recall relative to precision in F-beta
    #[arg(long, default_value_t = 2.0)]
    pub(crate) beta: f64,
    /// The number of resamples for the 95 % intervals
    #[arg(long, value_name = "N", default_value_t = 2000)]
    pub(crate) resamples: usize,
    /// The random seed; the same seed draws the same documents
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Require this of every system, or end with exit code 5: `documents:0.95` of the documents without a leak,
    /// `characters:0.99` or `tokens:0.99` covered, or at most `leaks:50` leaking spans in 1,000 documents. The
    /// worse limit of the 95 % interval counts
    #[arg(long, value_name = "REQUIREMENT")]
    pub(crate) require: Vec<Requirement>,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    /// Also write an HTML report with plots and every error in its context; it contains note text
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Leave note text out of the HTML report
    #[arg(long, requires = "html")]
    pub(crate) no_contexts: bool,
}

/// Returns what can be trained: members, and the part-of-speech tagger that linear and recurrent members may use.
fn members() -> Vec<&'static str> {
    let mut kinds = lethe_members::kinds();
    kinds.push(lethe_members::POS);
    kinds
}
