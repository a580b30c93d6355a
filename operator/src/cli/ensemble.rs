//! What can be typed of ensembles.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use lethe_ensemble::{Floor, Measure};

#[derive(Subcommand)]
pub(crate) enum EnsembleCommand {
    /// Which members of a vote are worth their cost, and at which threshold: the whole elimination path
    Prune(PruneArgs),
    /// Make a bundle: choose members and threshold on cross-validated predictions, and copy the models that are left
    Fit(FitArgs),
    /// Fit every way of combining on cross-validated predictions, and score all of them, and the members, on other documents
    Compare(CompareArgs),
    /// Write what members said by offsets alone, in one file without a word of the notes, for the other commands to read
    Keep(KeepArgs),
    /// What a bundle is made of, where it comes from, what it was measured to do and to cost
    Show(ShowArgs),
    /// Make a bundle the current version of a folder: a stream whose `engine.bundle` is that folder takes it up at once
    Publish(PublishArgs),
    /// The versions of a folder, in the order of their use
    Versions(VersionsArgs),
    /// Go back to the version before, or to any other
    RollBack(RollBackArgs),
}

/// What members said of documents that they were not fitted to.
#[derive(Args)]
pub(crate) struct SaidArgs {
    /// Documents with gold spans: JSON lines, i2b2 XML or brat, a file or a folder
    #[arg(value_name = "GOLD")]
    pub(crate) gold: PathBuf,
    /// What each member said of the same documents in cross-validation: a folder of `lethe crossval`, a file, or
    /// NAME=PATH; of a file of `lethe ensemble keep` all members, called NAME.MEMBER if it is given a name
    #[arg(value_name = "PRED", required = true)]
    pub(crate) predictions: Vec<String>,
    /// Of all members only these
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Other names for labels, gold's and predicted ones: a TOML table `labels` of new names by old ones
    #[arg(long, value_name = "FILE")]
    pub(crate) rename: Option<PathBuf>,
    /// The label set: one that ships (i2b2-2014, meddocan), or a file; if not given, the shipped set that has all labels
    #[arg(long, value_name = "SET")]
    pub(crate) labels: Option<String>,
    /// A member's model, NAME=DIR, or a folder that holds one by each member's name; what it costs is measured
    #[arg(long = "models", value_name = "DIR")]
    pub(crate) models: Vec<String>,
    /// What members cost, as an earlier report of `prune --json` has it: nothing is measured again
    #[arg(long, value_name = "REPORT")]
    pub(crate) costs: Option<PathBuf>,
}

/// What to prune for.
#[derive(Args)]
pub(crate) struct ObjectiveArgs {
    /// What is to be as high as can be: `f1`, `f2` (recall twice as important), `precision`; `characters:f2`, of
    /// characters whatever their label
    #[arg(long, value_name = "MEASURE", default_value = "f1")]
    pub(crate) measure: Measure,
    /// The least recall: `characters:0.99` of gold's PHI characters, `spans:0.95` of its spans
    #[arg(long, value_name = "FLOOR")]
    pub(crate) floor: Option<Floor>,
    /// The most that the members may cost together, in µs of one core a token; needs --models or --costs. What
    /// is fitted then keeps, of the sets of members under it, the best fold by fold
    #[arg(long, value_name = "MICROSECONDS")]
    pub(crate) ceiling: Option<f64>,
    /// A member that is never dropped
    #[arg(long, value_name = "NAME")]
    pub(crate) keep: Vec<String>,
    /// A member whose single vote is enough, whatever the threshold
    #[arg(long, value_name = "NAME")]
    pub(crate) always: Vec<String>,
    /// Look at every set of members beside those that elimination meets: the best there is under a floor or a ceiling
    #[arg(long)]
    pub(crate) every_set: bool,
    /// Choose a threshold for each category of labels
    #[arg(long)]
    pub(crate) by_category: bool,
    /// Choose also how sure a single member must be to be enough where more votes than one are needed
    #[arg(long, requires = "by_category")]
    pub(crate) sure: bool,
    /// Let that be so only in notes where something is decided by enough votes: where members agree on nothing, there is most often
    /// nothing
    #[arg(long, requires = "sure")]
    pub(crate) company: bool,
    /// Whoever marks something that overlaps agrees, whatever its label and borders; in the papers only the same span with the same
    /// label is a vote for it
    #[arg(long)]
    pub(crate) overlap: bool,
    /// Redact also what a beaten span covers beyond the winner; the papers let it go
    #[arg(long)]
    pub(crate) cover_beaten: bool,
}

#[derive(Args)]
pub(crate) struct PruneArgs {
    #[command(flatten)]
    pub(crate) said: SaidArgs,
    #[command(flatten)]
    pub(crate) objective: ObjectiveArgs,
    /// Other documents with gold spans, which no member was fitted to: each threshold and what is chosen are scored there
    #[arg(long, value_name = "GOLD", requires = "test_predictions")]
    pub(crate) test: Option<PathBuf>,
    /// What each member says of them: as PRED, or a folder that holds NAME.jsonl of each
    #[arg(long = "test-predictions", value_name = "PRED", requires = "test")]
    pub(crate) test_predictions: Vec<String>,
    /// Print the report as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Also write a page: F1 against the threshold, the paths, what each member is worth and costs; no note text
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Also write the page's first plot, of the test if there is one, as a picture
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Method {
    /// All members, the best threshold (Kim 2020)
    Voting,
    /// The members that backward elimination leaves (Kim 2019)
    VotingPruned,
    /// Who says what is right, and who what is wrong (Kim 2020)
    DecisionTemplates,
    /// A support vector machine over spans (Kim 2020)
    StackedSvm,
    /// SEARN over tokens (Kim 2020)
    StackedSearn,
    /// A recurrent network over tokens (Kim 2020)
    StackedLstm,
}

impl Method {
    /// Its name, as it is typed.
    pub(crate) fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

#[derive(Args)]
pub(crate) struct FitArgs {
    /// How members are combined
    #[arg(value_name = "METHOD")]
    pub(crate) method: Method,
    #[command(flatten)]
    pub(crate) said: SaidArgs,
    #[command(flatten)]
    pub(crate) objective: ObjectiveArgs,
    /// A rule member that stands beside those that are left, for instance `known`: whatever it says is redacted
    #[arg(long, value_name = "KIND")]
    pub(crate) beside: Vec<String>,
    /// How sure they must be in notes where nothing else has votes enough, 0 to 1: only with --company
    #[arg(long, value_name = "SCORE", default_value_t = 0.0, requires = "beside")]
    pub(crate) beside_sure: f32,
    /// The same seed gives the same bundle, byte for byte
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// The folder that becomes the bundle; must not be there, or be empty
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
}

#[derive(Args)]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    pub(crate) said: SaidArgs,
    #[command(flatten)]
    pub(crate) objective: ObjectiveArgs,
    /// Other documents with gold spans, which no member was fitted to
    #[arg(long, value_name = "GOLD")]
    pub(crate) test: PathBuf,
    /// What each member says of them: as PRED, or a folder that holds NAME.jsonl of each
    #[arg(long = "test-predictions", value_name = "PRED", required = true)]
    pub(crate) test_predictions: Vec<String>,
    /// Only these ways of combining
    #[arg(long, value_name = "METHOD", value_delimiter = ',')]
    pub(crate) methods: Vec<Method>,
    /// A folder for the documents with what each way of combining says of them
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// The same seed gives the same combiners
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print the report as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct KeepArgs {
    /// Documents with gold spans; which spans they are is not written
    #[arg(value_name = "GOLD")]
    pub(crate) gold: PathBuf,
    /// What each member said of the same documents: a folder of `lethe crossval`, a file, or NAME=PATH
    #[arg(value_name = "PRED", required = true)]
    pub(crate) predictions: Vec<String>,
    /// The file to write
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
}

#[derive(Args)]
pub(crate) struct ShowArgs {
    /// The bundle
    #[arg(value_name = "BUNDLE")]
    pub(crate) bundle: PathBuf,
}

#[derive(Args)]
pub(crate) struct PublishArgs {
    /// The bundle; it is copied
    #[arg(value_name = "BUNDLE")]
    pub(crate) bundle: PathBuf,
    /// The folder of versions; made if it is not there
    #[arg(long, value_name = "DIR")]
    pub(crate) to: PathBuf,
}

#[derive(Args)]
pub(crate) struct VersionsArgs {
    /// The folder of versions
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}

#[derive(Args)]
pub(crate) struct RollBackArgs {
    /// The folder of versions
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// This version rather than the one before
    #[arg(long, value_name = "VERSION")]
    pub(crate) to: Option<String>,
}
