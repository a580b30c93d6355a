//! What can be typed.

mod adapt;
mod ensemble;
mod erase;
mod learn;
mod replay;

use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use adapt::{
    AdaptCommand, CorrectionsArgs, FineTuneArgs, IncrementalArgs, MergeArgs, SelfTrainArgs, Unit,
};
pub(crate) use ensemble::{
    CompareArgs, EnsembleCommand, ExportOffsetsArgs, FitArgs, Method, ObjectiveArgs, PruneArgs, PublishArgs,
    RollBackArgs, SaidArgs, ShowArgs, VersionsArgs,
};
pub(crate) use erase::EraseArgs;
pub(crate) use learn::{
    CrossvalArgs, EvaluateArgs, FoldUnit, LearningArgs, NoiseKind, SynthesiseArgs, SynthesisedForm, TrainArgs,
};
pub(crate) use replay::ReplayArgs;

/// Reads the command line, or prints help and ends.
pub(crate) fn parse() -> Cli {
    Cli::parse()
}

/// De-identifies streams of clinical notes: Kafka in, redacted Parquet out, nothing lost.
#[derive(Parser)]
#[command(
    name = "lethe",
    version,
    after_help = "Exit codes: 0 done; 1 failed at run time; 2 wrong usage or configuration; 3 a lane halted and an operator must decide; 4 a check found something wrong or nothing to check, or a backfill data that it cannot read; 6 a run to the end wrote everything and quarantined more than half of a topic or source, a replay more than half of its records, or refused messages were left out; 7 an inspected backfill has not ended, and what is there is intact.\nTry `lethe demo` first."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) log: LogArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Args)]
pub(crate) struct LogArgs {
    /// What to log, as in `info` or `lethe=debug,warn`
    #[arg(
        long,
        global = true,
        default_value = "info",
        env = "LETHE_LOG",
        value_name = "FILTER"
    )]
    pub(crate) log: String,
    /// How to log
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
    /// Run the whole path on sample notes: an embedded broker, the members, Parquet files
    Demo(DemoArgs),
    /// Run the operator until it is told to stop
    Run(RunArgs),
    /// Redact tables of a warehouse: Parquet, JSON lines or CSV in, redacted Parquet out; run again to go on
    Backfill(BackfillArgs),
    /// Redact text, JSON lines or messages: notes in, redacted notes out
    Redact(RedactArgs),
    /// Make a key file for policies
    NewKey(NewKeyArgs),
    /// Give back what a policy sealed or put into its vault: for those who may know
    Reveal(RevealArgs),
    /// Publish the messages that notes came in, redacted, from the output to a topic or a folder
    Emit(EmitArgs),
    /// Annotate JSON lines: documents in, the same documents with `spans` out
    ///
    /// The output holds the notes and all other keys as they came: it is not de-identified. `lethe redact` removes identifiers.
    Annotate(AnnotateArgs),
    /// Check a configuration, and with --connect what it points at
    Check(CheckArgs),
    /// List every metric that a running program has
    Metrics,
    /// Ask a running program's page whether all is well: done if it answers so, else failed
    Probe(ProbeArgs),
    /// Inspect an output: chains, backfills or single files; digests, rows, audit, and on request the topic or tables that it came from
    ///
    /// Exit codes: 0 everything that was checked agrees; 4 something is wrong or missing, or there is nothing to check; 7 a
    /// backfill has not ended, and what is there agrees. With --json, `verdict` says the same: `intact`, `not_intact`,
    /// `nothing_to_check`, `unfinished`.
    Inspect(InspectArgs),
    /// Print schemas of what the program reads
    #[command(subcommand)]
    Schema(SchemaCommand),
    /// Bridge offsets that the log no longer has, so that a halted lane can go on
    Skip(SkipArgs),
    /// Run quarantined records again once their cause is mended, and write what becomes of them beside their chain
    Replay(ReplayArgs),
    /// Erase patients from a dataset: empty their rows, remove their audit and their codes, and record why
    Erase(EraseArgs),
    /// Write invented notes with gold spans: to test on, to train on, and to give away
    Synthesise(SynthesiseArgs),
    /// Train a member on documents with gold spans
    Train(TrainArgs),
    /// Cross-validate a member: every document predicted by a model that was not fitted to it
    Crossval(CrossvalArgs),
    /// Score predictions against gold: measures, intervals, significance, errors
    Evaluate(EvaluateArgs),
    /// Combine members: choose which of them vote, and make bundles
    #[command(subcommand)]
    Ensemble(EnsembleCommand),
    /// Adapt to a new institute with what it has: a few labelled notes, corrections, or bare text
    #[command(subcommand)]
    Adapt(AdaptCommand),
    /// Work on dictionaries
    #[command(subcommand)]
    Dictionary(DictionaryCommand),
}

#[derive(Subcommand)]
pub(crate) enum SchemaCommand {
    /// Print the JSON Schema of a note event: fields, kinds of known identifiers, events, times
    Event,
}

#[derive(Args)]
pub(crate) struct ProbeArgs {
    /// The page, such as `http://127.0.0.1:9464/ready`
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// How long to wait for an answer, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    pub(crate) timeout: u64,
}

#[derive(Args)]
pub(crate) struct DemoArgs {
    /// Take members, vote and labels from this bundle
    #[arg(long, value_name = "DIR")]
    pub(crate) bundle: Option<PathBuf>,
    /// Where the files go; must not hold an earlier demo's
    #[arg(long, value_name = "DIR", default_value = "lethe-demo")]
    pub(crate) out: PathBuf,
}

#[derive(Args)]
pub(crate) struct RunArgs {
    /// The configuration
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// Redact by this policy rather than the configuration's
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Stop once everything that was there at the start is written, by this process or another of its group
    #[arg(long)]
    pub(crate) until_end: bool,
}

#[derive(Args)]
pub(crate) struct BackfillArgs {
    /// The configuration
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// Redact by this policy rather than the configuration's
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Only this part of the work, counted from 0, of so many: `0/4` to `3/4`
    #[arg(long, value_name = "I/N", default_value = "0/1", value_parser = Shard::parse)]
    pub(crate) shard: Shard,
    /// Only the objects that this file names, one a line, or as `lethe inspect --made-by --json` lists them: to redo in a new
    /// dataset what was made by something older
    #[arg(long, value_name = "FILE")]
    pub(crate) only: Option<PathBuf>,
}

/// A part of work that is parted into as many as there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shard {
    /// Which, from 0.
    pub(crate) this: usize,
    /// Of how many.
    pub(crate) of: usize,
}

impl Shard {
    fn parse(text: &str) -> Result<Self, String> {
        let parts = text
            .split_once('/')
            .and_then(|(this, of)| Some((this.parse().ok()?, of.parse().ok()?)));
        match parts {
            Some((this, of)) if this < of => Ok(Self { this, of }),
            _ => Err("give it as I/N, I from 0 to N - 1, as in `0/4`".to_owned()),
        }
    }
}

#[derive(Args)]
pub(crate) struct RedactArgs {
    /// Take members and policy from here rather than the defaults
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Take members, vote and labels from this bundle
    #[arg(long, value_name = "DIR", conflicts_with = "config")]
    pub(crate) bundle: Option<PathBuf>,
    /// Redact by this policy rather than the configuration's
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// A file, or `-` for standard input; with --format jsonl also a folder of files
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(crate) input: PathBuf,
    /// The same as --input
    #[arg(value_name = "FILE", conflicts_with = "input")]
    pub(crate) file: Option<PathBuf>,
    /// A file, or `-` for standard output
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,
    /// What the input is: one text; documents, one JSON object a line with the note under `text`; or messages, which come out
    /// in the framing in which they came
    #[arg(long, default_value = "text")]
    pub(crate) format: InputFormat,
    /// With --format jsonl, let this key of the documents out as it is; all but the text and the metadata that the policy
    /// carries is dropped otherwise. Refused under safe-harbor and limited-data-set
    #[arg(long, value_name = "KEY")]
    pub(crate) keep: Vec<String>,
    /// With messages, leave out those that are refused, count them by code, and end with exit code 6; without it the first one
    /// ends the program
    #[arg(long)]
    pub(crate) skip_refused: bool,
}

impl RedactArgs {
    /// What to read.
    pub(crate) fn source(&self) -> &Path {
        self.file.as_ref().unwrap_or(&self.input)
    }
}

#[derive(Args)]
pub(crate) struct EmitArgs {
    /// The configuration: `[sink]` is read, `[emit]` says where messages go
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// Stop once everything that is there is emitted
    #[arg(long)]
    pub(crate) until_end: bool,
}

#[derive(Args)]
pub(crate) struct NewKeyArgs {
    /// What the output calls the key: short, and of no meaning to anybody else
    #[arg(long, value_name = "ID")]
    pub(crate) id: String,
    /// The file that becomes the key; must not be there
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
}

#[derive(Args)]
pub(crate) struct RevealArgs {
    /// The policy that the text was redacted by: its keys and its vault are used
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: PathBuf,
    /// The patient whose note it was, by the id that the event carried
    #[arg(
        long,
        value_name = "ID",
        required_unless_present = "note",
        conflicts_with = "note"
    )]
    pub(crate) patient: Option<String>,
    /// Who assigned the patient's id, where the source says so: the name of an `[[authority]]` of the policy, or the
    /// source's own name for it, such as `namespace:MERCY`, `oid:1.2.840.114350` or `system:https://mercy.example/mrn`
    #[arg(long, value_name = "NAME", requires = "patient")]
    pub(crate) authority: Option<String>,
    /// The note, by its id, where the event carried no patient's
    #[arg(long, value_name = "ID")]
    pub(crate) note: Option<String>,
    /// A redacted text, or `-` for standard input
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(crate) input: PathBuf,
    /// A file, or `-` for standard output: it will hold what was protected
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum InputFormat {
    /// One text
    Text,
    /// Documents, one JSON object a line
    Jsonl,
    /// HL7 v2: one message, a batch, a dump of MLLP, or messages one after the other
    Hl7v2,
    /// FHIR in JSON: one resource or Bundle, or one a line
    Fhir,
    /// One C-CDA document
    Ccda,
}

impl InputFormat {
    /// Whether the input is messages that are given back whole.
    pub(crate) const fn is_messages(self) -> bool {
        matches!(self, Self::Hl7v2 | Self::Fhir | Self::Ccda)
    }
}

#[derive(Args)]
pub(crate) struct AnnotateArgs {
    /// Take members and policy from here rather than the defaults
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Annotate with this trained model alone, under its own labels, each span as the model says it
    #[arg(long, value_name = "DIR", conflicts_with = "config")]
    pub(crate) member: Option<PathBuf>,
    /// Take members, vote and labels from this bundle
    #[arg(long, value_name = "DIR", conflicts_with_all = ["config", "member"])]
    pub(crate) bundle: Option<PathBuf>,
    /// JSON lines, each with a note under `text`, or a folder of such or of .txt files; `-` for standard input
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(crate) input: PathBuf,
    /// Where the documents go, `spans` added; `-` for standard output
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,
    /// What the offsets of `spans` count
    #[arg(long, default_value = "code-point")]
    pub(crate) offsets: OffsetUnit,
    /// Add to each span who said so: members, rule and score
    #[arg(long)]
    pub(crate) explain: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
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
    /// The configuration
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// Redact by this policy rather than the configuration's
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Also reach the brokers, the topics and the store
    #[arg(long)]
    pub(crate) connect: bool,
}

#[derive(Args)]
pub(crate) struct InspectArgs {
    /// A folder that holds the dataset, or one of its files; or give --config
    #[arg(value_name = "PATH", required_unless_present = "config")]
    pub(crate) path: Option<PathBuf>,
    /// Take the store from this configuration, unless a path is given too
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Compare the dataset with the topics of the configuration as well: every record has one row, in order, and the text of each
    /// note is its original with every audited span replaced. Reads both whole; joins no consumer group
    #[arg(long, requires = "config")]
    pub(crate) against_topic: bool,
    /// Compare a backfill with the tables of the configuration as well: every table is there in its version, with all of its rows
    #[arg(long, requires = "config")]
    pub(crate) sources: bool,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Look at footers, offsets and counts alone, not at whether files are what they were when they were written
    #[arg(long, conflicts_with_all = ["audit", "heads"])]
    pub(crate) quick: bool,
    /// Hold every audit row against its note too
    #[arg(long)]
    pub(crate) audit: bool,
    /// A digest that an earlier inspection gave as a chain's head, or a file with such heads, one a line: whether the
    /// dataset still holds what it held then
    #[arg(long = "head", value_name = "DIGEST|FILE")]
    pub(crate) heads: Vec<String>,
    /// Explain what was redacted in a record: all of it, the span that covers a byte of the redacted text (:BYTE), or a field
    /// of its message (:FIELD, for instance :PID-5); with --audit, after the inspection
    #[arg(long, value_name = "TOPIC/PARTITION@OFFSET[:BYTE|:FIELD]")]
    pub(crate) why: Option<lethe_connectors::inspect::Place>,
    /// Tell what each member voted for, and what it alone caught, by label; with --audit, after the inspection
    #[arg(long)]
    pub(crate) by_member: bool,
    /// Tell it of this member only
    #[arg(long, value_name = "MEMBER")]
    pub(crate) only_by: Option<String>,
    /// List where the spans are that the member alone caught; with --json, an object a line
    #[arg(long, requires = "only_by")]
    pub(crate) list: bool,
    /// List the files that a bundle, policy or program made, by their footers: any fingerprint that is DIGEST (eight digits of it
    /// are enough), or the one named; `!=` lists what anything else made. With --json, an object a line, which
    /// `lethe backfill --only` takes
    #[arg(long, value_name = "DIGEST|NAME=VALUE|NAME!=VALUE")]
    pub(crate) made_by: Option<lethe_connectors::inspect::Maker>,
    /// Remove audit files that no notes file names and that are older than an hour
    #[arg(long)]
    pub(crate) remove_orphans: bool,
}

#[derive(Args)]
pub(crate) struct SkipArgs {
    /// The configuration
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// The halted lane's topic
    #[arg(long)]
    pub(crate) topic: String,
    /// Its partition
    #[arg(long)]
    pub(crate) partition: i32,
    /// The offset that the lane goes on from
    #[arg(long)]
    pub(crate) to: i64,
    /// Why, for whoever reads the chain later; no PHI
    #[arg(long)]
    pub(crate) reason: String,
}

#[derive(Subcommand)]
pub(crate) enum DictionaryCommand {
    /// Compile list folders into one dictionary file
    Build(DictionaryBuildArgs),
}

#[derive(Args)]
pub(crate) struct DictionaryBuildArgs {
    /// Folders of lists, each list a folder with items.txt, exceptions.txt and SOURCE.toml
    #[arg(long, value_name = "DIR", required = true)]
    pub(crate) lists: Vec<PathBuf>,
    /// The dictionary to write
    #[arg(long, value_name = "FILE")]
    pub(crate) output: PathBuf,
}
