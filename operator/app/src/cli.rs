//! The command-line interface.

mod adapt;
mod bundle;
mod compare;
mod corpus;
mod engine;
mod ensemble;
mod erase;
mod files;
mod init;
mod learn;
mod publish;
mod replay;
mod serve;
mod shell;

use std::path::PathBuf;

use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum};

pub(crate) use adapt::{
    AdaptCommand, CorrectionsArgs, FineTuneArgs, IncrementalArgs, MergeArgs, SelfTrainArgs, Unit,
};
pub(crate) use bundle::{BundleCommand, CreateArgs, ExportArgs, QuantizeArgs, ShowArgs, SwapArgs};
pub(crate) use compare::{CompareToolArgs, MissingNotes};
pub(crate) use corpus::{CorpusCommand, CorpusStatsArgs};
pub(crate) use engine::{BundleArgs, EngineArgs};
pub(crate) use ensemble::{
    CompareArgs, EnsembleCommand, ExportOffsetsArgs, FitArgs, Method, ObjectiveArgs, PredictionArgs,
    PruneArgs, PublishArgs, RollBackArgs, VersionsArgs,
};
pub(crate) use erase::EraseArgs;
pub(crate) use files::{ExplainArgs, NoteArgs, ProfileArgs, RedactArgs, ReportArgs, ShowNoteArgs};
pub(crate) use init::{InitArgs, InitPolicy, InitSource};
pub(crate) use learn::{
    CrossvalArgs, DictionaryArgs, DisguiseKind, EvaluateArgs, FoldUnit, LearningArgs, NoiseKind,
    SynthesiseArgs, SynthesisedForm, TrainArgs, TuneArgs,
};
pub(crate) use publish::PublishDatasetArgs;
pub(crate) use replay::ReplayArgs;
pub(crate) use serve::ServeArgs;
pub(crate) use shell::{CompletionsArgs, Shell, TerminalArgs};

/// Parses the command line; prints help and exits if requested.
pub(crate) fn parse() -> Cli {
    shell::Color::apply();
    Cli::parse()
}

/// Returns the definition of the whole command line.
pub(crate) fn command() -> clap::Command {
    Cli::command()
}

/// De-identifies streams of clinical notes: Kafka in, redacted Parquet out, nothing lost.
#[derive(Parser)]
#[command(
    name = "lethe",
    version,
    styles = shell::STYLES,
    after_help = "Exit codes: 0 success; 1 runtime failure; 2 wrong usage or configuration; 3 a lane halted and an operator must decide; 4 a check found an error or nothing to check, or a backfill found unreadable data; 5 a self-trained model lost too much on the held-out set and was not written; 6 a run to the end wrote everything but quarantined more than half of a topic or source, a replay quarantined more than half of its records, or refused messages were skipped; 7 an inspected backfill has not ended, and its files are intact; 130 an interrupt (Ctrl-C) ended a command before it was done. `run`, `emit`, `serve` and `adapt corrections` drain on an interrupt, and end with 0; `backfill` ends with 1.\nTry `lethe demo` first."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) log: LogArgs,
    #[command(flatten)]
    pub(crate) terminal: TerminalArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Args)]
pub(crate) struct LogArgs {
    /// Set the log filter, such as `info` or `lethe=debug,warn`
    #[arg(
        long,
        global = true,
        default_value = "info",
        env = "LETHE_LOG",
        value_name = "FILTER"
    )]
    pub(crate) log: String,
    /// Set the log format
    #[arg(long, global = true, default_value = "text", value_name = "FORMAT")]
    pub(crate) log_format: LogFormat,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run the whole pipeline on sample notes: an embedded broker, the members, Parquet files
    #[cfg(feature = "kafka")]
    Demo(DemoArgs),
    /// Write a configuration, a policy and a key to start with; asks three questions on a terminal
    Init(InitArgs),
    /// Run the operator until it is stopped
    Run(RunArgs),
    /// Redact tables of a warehouse: Parquet, JSON lines or CSV in, redacted Parquet out; run again to
    /// continue
    Backfill(BackfillArgs),
    /// Redact files, folders and archives: text, documents, JSON lines, tables and messages
    Redact(RedactArgs),
    /// Show a note with its identifiers in colours, with scores and members
    Show(ShowNoteArgs),
    /// Explain why a word of a note was or was not redacted, member by member
    Explain(ExplainArgs),
    /// Compare another tool's spans with Lethe's on the same notes, without gold, and list the differences
    ///
    /// Exit codes: 0 all notes of both sides were compared; 1 some notes could not be read; 4 one side lacks notes
    /// of the other, or there is nothing to compare. The others are compared all the same.
    Compare(CompareToolArgs),
    /// Propose a treatment for each column of a table, by its name and a sample of its values
    Profile(ProfileArgs),
    /// Create a key file for policies
    NewKey(NewKeyArgs),
    /// Reverse encrypted or vault-coded replacements
    Reveal(RevealArgs),
    /// Publish redacted messages from the output, in the format in which they arrived, to a topic or a folder
    Emit(EmitArgs),
    /// Register the files of a dataset's chains in a Delta or Iceberg table, without a copy; run again to add new ones
    Publish(PublishDatasetArgs),
    /// Annotate JSON lines: documents in, the same documents with `spans` out
    ///
    /// The output contains the notes and all other keys unchanged: it is not de-identified. `lethe redact`
    /// removes identifiers.
    Annotate(AnnotateArgs),
    /// Serve an HTTP API that redacts and annotates single documents and batches; also the API of Presidio
    Serve(ServeArgs),
    /// Check a configuration, and with --connect its brokers, topics and store
    Check(CheckArgs),
    /// List all metrics of a running program
    Metrics(MetricsArgs),
    /// Query a health endpoint of a running program; exits with 0 if it reports success
    Probe(ProbeArgs),
    /// Inspect an output: chains, backfills or single files; digests, rows, audit, and on request the source
    /// topic or tables
    ///
    /// Exit codes: 0 all checks passed; 4 something is wrong or missing, or there is nothing to check; 7 a
    /// backfill has not ended, and its files are intact. With --json, `verdict` is the result: `intact`,
    /// `not_intact`, `nothing_to_check`, `unfinished`.
    Inspect(InspectArgs),
    /// Report what was done to a dataset, for people who decide about its release
    Report(ReportArgs),
    /// Print the JSON Schemas of configuration files, policy files and note events
    #[command(subcommand)]
    Schema(SchemaCommand),
    /// Bridge offsets that the log no longer has, so that a halted lane can continue
    Skip(SkipArgs),
    /// Process quarantined records again after their cause is fixed, and write the results next to their
    /// chain
    Replay(ReplayArgs),
    /// Erase patients from a dataset: empty their rows, remove their audit and their codes, and record why
    Erase(EraseArgs),
    /// Write synthetic notes with gold spans, for tests, training and sharing
    Synthesise(SynthesiseArgs),
    /// Train a member on documents with gold spans
    Train(TrainArgs),
    /// Cross-validate a member: every document is predicted by a model that was not trained on it
    Crossval(CrossvalArgs),
    /// Find a member's best settings: cross-validate every combination of a grid
    Tune(TuneArgs),
    /// Score predictions against gold: measures, intervals, significance, errors
    Evaluate(EvaluateArgs),
    /// Describe corpora and compare them: sizes, spans by label, surface forms, words
    #[command(subcommand)]
    Corpus(CorpusCommand),
    /// Show, copy and change bundles: replace a member, or make a bundle of trained members
    #[command(subcommand)]
    Bundle(BundleCommand),
    /// Combine members: choose which of them vote, and create bundles
    #[command(subcommand)]
    Ensemble(EnsembleCommand),
    /// Adapt to a new institute with labelled notes, corrections, or unlabelled text
    #[command(subcommand)]
    Adapt(AdaptCommand),
    /// Build dictionaries
    #[command(subcommand)]
    Dictionary(DictionaryCommand),
    /// Print the script that completes commands and options in a shell
    Completions(CompletionsArgs),
}

#[derive(Subcommand)]
pub(crate) enum SchemaCommand {
    /// Print the JSON Schema of a note event: fields, kinds of known identifiers, events, times
    Event,
    /// Print the JSON Schema of a configuration file, for editors
    Config,
    /// Print the JSON Schema of a policy file, for editors
    Policy,
}

#[derive(Args)]
pub(crate) struct MetricsArgs {
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct ProbeArgs {
    /// The endpoint, such as `http://127.0.0.1:9464/ready`
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// The timeout in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    pub(crate) timeout: u64,
}

#[cfg(feature = "kafka")]
#[derive(Args)]
pub(crate) struct DemoArgs {
    /// Use the members, vote and labels of a bundle: the name of a built-in one, or its folder
    #[arg(long, value_name = "BUNDLE")]
    pub(crate) bundle: Option<PathBuf>,
    /// The folder for the files; must not contain an earlier demo
    #[arg(long, value_name = "DIR", default_value = "lethe-demo")]
    pub(crate) out: PathBuf,
}

#[derive(Args)]
pub(crate) struct RunArgs {
    /// The configuration file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// Use this policy instead of the configuration's
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Stop once everything that existed at the start is written, by this process or another of its group
    #[arg(long)]
    pub(crate) until_end: bool,
}

#[derive(Args)]
pub(crate) struct BackfillArgs {
    /// The configuration file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// Use this policy instead of the configuration's
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Process only this shard of the work, counted from 0: `0/4` to `3/4`
    #[arg(long, value_name = "I/N", default_value = "0/1", value_parser = Shard::parse)]
    pub(crate) shard: Shard,
    /// Process only the objects in this file, one name per line, or as listed by `lethe inspect --fingerprint
    /// --json`: to redo in a new dataset what an older version wrote
    #[arg(long, value_name = "FILE")]
    pub(crate) only: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,
    /// Print the summary at the end as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// A query of a database, instead of the configuration's input.
#[derive(Args)]
pub(crate) struct DatabaseArgs {
    /// Read the rows of a query of this PostgreSQL database instead of `backfill.input`. The password comes
    /// from the configuration, `PGPASSWORD`, `PGPASSFILE` or `~/.pgpass`
    #[arg(long, value_name = "URL")]
    pub(crate) source: Option<String>,
    /// The query: one SELECT
    #[arg(long, value_name = "SQL")]
    pub(crate) query: Option<String>,
    /// The column of the query whose values are unique, in whose order Lethe reads the rows
    #[arg(long, value_name = "COLUMN")]
    pub(crate) key: Option<String>,
}

/// One shard of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shard {
    /// Its number, from 0.
    pub(crate) this: usize,
    /// The number of shards.
    pub(crate) of: usize,
}

impl Shard {
    fn parse(text: &str) -> Result<Self, String> {
        let parts = text
            .split_once('/')
            .and_then(|(this, of)| Some((this.parse().ok()?, of.parse().ok()?)));
        match parts {
            Some((this, of)) if this < of => Ok(Self { this, of }),
            _ => Err("expected I/N with I from 0 to N - 1, such as `0/4`".to_owned()),
        }
    }
}

#[derive(Args)]
pub(crate) struct EmitArgs {
    /// The configuration file: reads the dataset of `[sink]`, and sends messages to `[emit]`
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// Stop once all existing messages are emitted
    #[arg(long)]
    pub(crate) until_end: bool,
}

#[derive(Args)]
pub(crate) struct NewKeyArgs {
    /// The key's id in the output: short, and meaningless to outsiders
    #[arg(long, value_name = "ID")]
    pub(crate) id: String,
    /// The key file to create; must not exist
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
}

#[derive(Args)]
pub(crate) struct RevealArgs {
    /// The policy that redacted the text; its keys and its vault are used
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: PathBuf,
    /// The note's patient, by the id that the event had
    #[arg(
        long,
        value_name = "ID",
        required_unless_present = "note",
        conflicts_with = "note"
    )]
    pub(crate) patient: Option<String>,
    /// The authority that assigned the patient's id, if the source names it: the name of an `[[authority]]`
    /// of the policy, or the source's own name for it, such as `namespace:MERCY`, `oid:1.2.840.114350` or
    /// `system:https://mercy.example/mrn`
    #[arg(long, value_name = "NAME", requires = "patient")]
    pub(crate) authority: Option<String>,
    /// The note's id, if the event had no patient id
    #[arg(long, value_name = "ID")]
    pub(crate) note: Option<String>,
    /// The redacted text file, or `-` for standard input
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(crate) input: PathBuf,
    /// The output file, or `-` for standard output; it will contain protected values
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,
}

#[derive(Args)]
pub(crate) struct AnnotateArgs {
    /// Use the members and policy of this configuration instead of the defaults
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Annotate with only this member and unchanged spans: the folder of a trained model, BUNDLE/MEMBER, a rule such as
    /// `gazetteer`, or a TOML file with the keys of any member
    #[arg(long, value_name = "MEMBER", conflicts_with_all = ["config", "bundle", "operating_point"])]
    pub(crate) member: Option<PathBuf>,
    /// The label set of that member; by default a model's own, else `i2b2-2014`
    #[arg(long, value_name = "SET", requires = "member")]
    pub(crate) labels: Option<String>,
    /// The dictionary of that member, a file of `lethe dictionary build`; by default the built-in one
    #[arg(long, value_name = "FILE", requires = "member")]
    pub(crate) dictionary: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) bundles: BundleArgs,
    /// JSON lines, each with a note under `text`, or a folder of such or of .txt files; `-` for standard
    /// input
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(crate) input: PathBuf,
    /// The output file for the documents with `spans`; `-` for standard output
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,
    /// The unit of the offsets in `spans`
    #[arg(long, default_value = "code-point")]
    pub(crate) offsets: OffsetUnit,
    /// Add to each span its members, their rule, the score, and the rule by which the span is redacted
    #[arg(long)]
    pub(crate) explain: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OffsetUnit {
    /// Unicode code points, as in Python
    CodePoint,
    /// UTF-8 bytes
    Byte,
    /// UTF-16 code units, as in Java and JavaScript
    Utf16,
}

#[derive(Args)]
pub(crate) struct CheckArgs {
    /// The configuration file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// Use this policy instead of the configuration's
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Also connect to the brokers, the topics and the store
    #[arg(long)]
    pub(crate) connect: bool,
    /// Print the configuration that is in effect, as TOML with the origin of each value as a comment; secrets
    /// are withheld
    #[arg(long, conflicts_with = "json")]
    pub(crate) explain: bool,
    /// Print the findings as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct InspectArgs {
    /// The dataset's folder, or one of its files; or use --config
    #[arg(value_name = "PATH", required_unless_present = "config")]
    pub(crate) path: Option<PathBuf>,
    /// Use the store of this configuration, unless a path is given too
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Also compare the dataset with the topics of the configuration: every record has one row, in order, and
    /// the text of each note is its original with every audited span replaced. Reads both completely; joins
    /// no consumer group
    #[arg(long, requires = "config")]
    pub(crate) against_topic: bool,
    /// Also compare a backfill with the tables of the configuration: every table is complete in the dataset,
    /// in its current version
    #[arg(long, requires = "config")]
    pub(crate) sources: bool,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Check only footers, offsets and counts, and not the digests of files
    #[arg(long, conflicts_with_all = ["audit", "heads"])]
    pub(crate) quick: bool,
    /// Also compare every audit row with its note
    #[arg(long)]
    pub(crate) audit: bool,
    /// Check that the dataset still contains what it contained at this earlier head of a chain: a digest, or
    /// a file of digests, one per line
    #[arg(long = "head", value_name = "DIGEST|FILE")]
    pub(crate) heads: Vec<String>,
    /// Explain the redactions of a record: all of them, the span that covers a byte of the redacted text
    /// (:BYTE), or a field of its message (:FIELD, for instance :PID-5); with --audit, after the inspection
    #[arg(long, value_name = "TOPIC/PARTITION@OFFSET[:BYTE|:FIELD]")]
    pub(crate) why: Option<lethe_connectors::inspect::Place>,
    /// Report the votes of each member, and the spans that it alone caught, by label; with --audit, after the
    /// inspection
    #[arg(long)]
    pub(crate) by_member: bool,
    /// Report only this member
    #[arg(long, value_name = "MEMBER")]
    pub(crate) only_by: Option<String>,
    /// List the spans that this member alone caught; with --json, one object per line
    #[arg(long, requires = "only_by")]
    pub(crate) list: bool,
    /// List the files that a bundle, policy or program wrote, by their footers: where any fingerprint is
    /// DIGEST (eight digits are enough), or the named one is; `!=` lists all other files. With --json, one
    /// object per line, as input for `lethe backfill --only`
    #[arg(long, alias = "made-by", value_name = "DIGEST|NAME=VALUE|NAME!=VALUE")]
    pub(crate) fingerprint: Option<lethe_connectors::inspect::FingerprintFilter>,
    /// Remove audit files that no notes file names and that are older than an hour
    #[arg(long)]
    pub(crate) remove_orphans: bool,
}

#[derive(Args)]
pub(crate) struct SkipArgs {
    /// The configuration file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// The halted lane's topic
    #[arg(long)]
    pub(crate) topic: String,
    /// Its partition
    #[arg(long)]
    pub(crate) partition: i32,
    /// The offset at which the lane continues
    #[arg(long)]
    pub(crate) to: i64,
    /// The reason, for later readers of the chain; no PHI
    #[arg(long)]
    pub(crate) reason: String,
}

#[derive(Subcommand)]
pub(crate) enum DictionaryCommand {
    /// Compile folders of lists into one dictionary file
    Build(DictionaryBuildArgs),
}

/// The languages whose lists the built-in dictionary does not have.
fn further_languages() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(lethe_synthesise::languages().skip(1))
}

#[derive(Args)]
pub(crate) struct DictionaryBuildArgs {
    /// Folders of lists; each list is a folder with items.txt, exceptions.txt and SOURCE.toml
    #[arg(long, value_name = "DIR", required_unless_present = "language")]
    pub(crate) lists: Vec<PathBuf>,
    /// Add the built-in lists, as members need them that use more than your own
    #[arg(long)]
    pub(crate) builtin: bool,
    /// Add the built-in lists and those of this language, which the built-in dictionary does not have
    #[arg(long, value_name = "LANGUAGE", value_parser = further_languages())]
    pub(crate) language: Option<String>,
    /// The dictionary file to write
    #[arg(long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Print its size and digest as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
