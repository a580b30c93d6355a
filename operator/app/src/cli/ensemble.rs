//! Options of `lethe ensemble`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use lethe_ensemble::{Floor, Measure, ObjectiveError, OperatingPoint};

use super::{DictionaryArgs, ShowArgs};

#[derive(Subcommand)]
pub(crate) enum EnsembleCommand {
    /// Find which members and which threshold to keep, and report the whole elimination path
    Prune(PruneArgs),
    /// Make a bundle: choose members and threshold on cross-validated predictions, and copy the chosen models
    Fit(FitArgs),
    /// Fit every combiner on cross-validated predictions, and evaluate the combiners and members on other documents
    Compare(CompareArgs),
    /// Write the predictions of members as offsets, without any text of the notes, to one file that the other commands read
    #[command(alias = "keep")]
    ExportOffsets(ExportOffsetsArgs),
    /// Show the members of a bundle, its provenance, its measured quality and its cost; the same as `lethe bundle show`
    Show(ShowArgs),
    /// Make a bundle the current version of a folder; a stream whose `engine.bundle` is that folder loads it within seconds
    Publish(PublishArgs),
    /// List the versions of a folder, the current one first
    Versions(VersionsArgs),
    /// Return to the previous version, or to any other
    RollBack(RollBackArgs),
}

/// Predictions of members for documents that they were not fitted to.
#[derive(Args)]
pub(crate) struct PredictionArgs {
    /// Documents with gold spans: JSON lines, i2b2 XML or brat, a file or a folder
    #[arg(value_name = "GOLD")]
    pub(crate) gold: PathBuf,
    /// Cross-validated predictions of each member for the same documents: a folder of `lethe crossval`, a file, or
    /// NAME=PATH. A file of `lethe ensemble export-offsets` holds several members, called NAME.MEMBER if NAME is given
    #[arg(value_name = "PRED", required = true)]
    pub(crate) predictions: Vec<String>,
    /// Use only these members
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Rename labels of gold and predictions: a TOML table `labels` of new names by old ones
    #[arg(long, value_name = "FILE")]
    pub(crate) rename: Option<PathBuf>,
    /// The label set: a built-in one (i2b2-2014, meddocan) or a file. By default the built-in set that has all labels
    #[arg(long, value_name = "SET")]
    pub(crate) labels: Option<String>,
    /// A member, NAME=MEMBER, or a folder with one model per member, by name. MEMBER is the folder of a model, a rule
    /// (`gazetteer=gazetteer`), or a TOML file with the keys of any member. Its cost is measured
    #[arg(long = "models", value_name = "DIR")]
    pub(crate) models: Vec<String>,
    #[command(flatten)]
    pub(crate) dictionary: DictionaryArgs,
    /// Costs of members, from an earlier report of `prune --json`; nothing is measured again
    #[arg(long, value_name = "REPORT")]
    pub(crate) costs: Option<PathBuf>,
}

/// The objective of pruning.
#[derive(Args)]
pub(crate) struct ObjectiveArgs {
    /// The measure to maximise: `f1`, `f2` (recall counts twice), `precision`; `characters:f2` scores characters
    /// regardless of label; `documents` is the share of documents with identifiers in which none leaks
    #[arg(long, value_name = "MEASURE", default_value = "f1")]
    pub(crate) measure: Measure,
    /// The minimum recall: `characters:0.99` of the gold PHI characters, `spans:0.95` of the gold spans,
    /// `documents:0.9` of the documents without a leak
    #[arg(long, value_name = "FLOOR")]
    pub(crate) floor: Option<Floor>,
    /// The maximum cost of all members together, in µs per token on one core; needs --models or --costs. A fitted
    /// combiner then uses the best set of members below it, fold by fold
    #[arg(long, value_name = "MICROSECONDS")]
    pub(crate) ceiling: Option<f64>,
    /// A member that is never pruned
    #[arg(long, value_name = "NAME")]
    pub(crate) keep: Vec<String>,
    /// A member whose spans are redacted whatever the vote
    #[arg(long, value_name = "NAME", alias = "always")]
    pub(crate) always_redact: Vec<String>,
    /// Evaluate every set of members, not only those that elimination meets: finds the best set under a floor or a ceiling
    #[arg(long)]
    pub(crate) every_set: bool,
    /// Choose a threshold for each category of labels
    #[arg(long)]
    pub(crate) by_category: bool,
    /// Choose for each category also the score from which one member's vote suffices
    #[arg(long, alias = "sure", requires = "by_category")]
    pub(crate) solo_min_scores: bool,
    /// Let a single vote suffice only in notes that have another span with enough votes: a lone span is most often a false positive
    #[arg(long, alias = "company", requires = "solo_min_scores")]
    pub(crate) require_corroboration: bool,
    /// Count overlapping spans as agreement, whatever their labels and boundaries; in the papers only identical spans agree
    #[arg(long)]
    pub(crate) overlap: bool,
    /// Redact also the parts of overruled spans that no winner covers; in the papers they are not redacted
    #[arg(long, alias = "cover-beaten")]
    pub(crate) redact_uncovered: bool,
}

#[derive(Args)]
pub(crate) struct PruneArgs {
    #[command(flatten)]
    pub(crate) input: PredictionArgs,
    #[command(flatten)]
    pub(crate) objective: ObjectiveArgs,
    /// Held-out documents with gold spans: every threshold and the chosen set are evaluated on them
    #[arg(long, value_name = "GOLD", requires = "test_predictions")]
    pub(crate) test: Option<PathBuf>,
    /// Predictions of each member for them: as PRED, or a folder with NAME.jsonl for each
    #[arg(long = "test-predictions", value_name = "PRED", requires = "test")]
    pub(crate) test_predictions: Vec<String>,
    /// Print the report as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Also write an HTML report: F1 by threshold, elimination paths, value and cost of each member; no note text
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Also write the first plot of the report as SVG, for the held-out documents if given
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Method {
    /// All members, the best threshold (Kim 2020)
    Voting,
    /// The members that backward elimination leaves (Kim 2019)
    VotingPruned,
    /// Decision templates over the members' votes (Kim 2020)
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
    /// The combiner
    #[arg(value_name = "METHOD")]
    pub(crate) method: Method,
    #[command(flatten)]
    pub(crate) input: PredictionArgs,
    #[command(flatten)]
    pub(crate) objective: ObjectiveArgs,
    /// A rule member to add to the bundle, for instance `known`: its spans are redacted whatever the vote
    #[arg(long = "union-rule", value_name = "KIND", alias = "beside")]
    pub(crate) union_rules: Vec<String>,
    /// Another operating point of the bundle, `balanced` or `precision`, and the measure that its votes maximise, such as
    /// `balanced=characters:f1`: the same members vote, with thresholds of their own. --measure is that of `recall`
    #[arg(long = "point", value_name = "POINT=MEASURE", value_parser = point)]
    pub(crate) points: Vec<(OperatingPoint, Measure)>,
    /// The minimum score of their spans in notes without another span that has enough votes, 0 to 1; counts only with
    /// --require-corroboration
    #[arg(
        long,
        value_name = "SCORE",
        default_value_t = 0.0,
        alias = "beside-sure",
        requires = "union_rules"
    )]
    pub(crate) always_min_score: f32,
    /// The same seed gives the same bundle, byte for byte
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// The folder to write the bundle to; must not exist, or be empty
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
}

/// Reads `POINT=MEASURE`.
fn point(written: &str) -> Result<(OperatingPoint, Measure), String> {
    let (point, measure) = written
        .split_once('=')
        .ok_or_else(|| "expected POINT=MEASURE, such as balanced=characters:f1".to_owned())?;
    let point: OperatingPoint = point.parse()?;
    if point.is_default() {
        return Err(format!("the measure of `{point}` is that of --measure"));
    }
    Ok((
        point,
        measure
            .parse()
            .map_err(|error: ObjectiveError| error.to_string())?,
    ))
}

#[derive(Args)]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    pub(crate) input: PredictionArgs,
    #[command(flatten)]
    pub(crate) objective: ObjectiveArgs,
    /// Held-out documents with gold spans
    #[arg(long, value_name = "GOLD")]
    pub(crate) test: PathBuf,
    /// Predictions of each member for them: as PRED, or a folder with NAME.jsonl for each
    #[arg(long = "test-predictions", value_name = "PRED", required = true)]
    pub(crate) test_predictions: Vec<String>,
    /// Fit only these combiners
    #[arg(long, value_name = "METHOD", value_delimiter = ',')]
    pub(crate) methods: Vec<Method>,
    /// A folder to write each combiner's predictions to
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
pub(crate) struct ExportOffsetsArgs {
    /// Documents with gold spans; the gold spans are not written
    #[arg(value_name = "GOLD")]
    pub(crate) gold: PathBuf,
    /// Predictions of each member for the same documents: a folder of `lethe crossval`, a file, or NAME=PATH
    #[arg(value_name = "PRED", required = true)]
    pub(crate) predictions: Vec<String>,
    /// The file to write
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
}

#[derive(Args)]
pub(crate) struct PublishArgs {
    /// The bundle, by the name of a built-in one or its folder; it is copied
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
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
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
