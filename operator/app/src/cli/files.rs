//! The options of the commands on files: `redact`, `profile`, `show`, `explain` and `report`.

use std::path::PathBuf;

use clap::Args;

use super::EngineArgs;
use crate::redact::FileKind;

#[derive(Args)]
pub(crate) struct RedactArgs {
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    /// Files, folders, which are read at any depth, archives (zip, tar, also compressed), the objects of a bucket
    /// (`s3://BUCKET/PREFIX`, `abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PREFIX`, `gs://BUCKET/PREFIX`), or `-` for
    /// standard input
    #[arg(value_name = "PATH", default_value = "-")]
    pub(crate) paths: Vec<PathBuf>,
    /// Same as PATH
    #[arg(long, value_name = "FILE", hide = true, conflicts_with = "paths")]
    pub(crate) input: Option<PathBuf>,
    /// The output file for a single input. Default: standard output
    #[arg(short, long, value_name = "FILE", group = "to")]
    pub(crate) output: Option<PathBuf>,
    /// Write the outputs to this folder, with the tree of the inputs. A later run with the same configuration
    /// continues: it redacts only what is new or changed
    #[arg(long, value_name = "DIR", group = "to")]
    pub(crate) out: Option<PathBuf>,
    /// Write each output next to its input, with this before the extension, such as `.redacted`
    #[arg(long, value_name = "SUFFIX", group = "to", value_parser = suffix)]
    pub(crate) suffix: Option<String>,
    /// Write each output over its input, which is kept with this at the end of its name, such as `.orig`
    #[arg(long, value_name = "SUFFIX", group = "to", value_parser = suffix)]
    pub(crate) in_place: Option<String>,
    /// Redact again what is already redacted, instead of keeping it
    #[arg(long, conflicts_with = "in_place")]
    pub(crate) overwrite: bool,
    /// List the inputs with their formats and outputs, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Read only files of folders and archives that match this pattern, such as `*.txt` or `2024/**`; with `!`
    /// before it, leave them out
    #[arg(short, long, value_name = "GLOB")]
    pub(crate) glob: Vec<String>,
    /// The format of all inputs. By default, the extension and the first bytes of each file determine it
    #[arg(long)]
    pub(crate) format: Option<FileKind>,
    /// In JSON lines and tables, keep this key or column unchanged; all others except texts and the metadata
    /// that the policy keeps are dropped by default. Not allowed under safe-harbor and limited-data-set
    #[arg(long, value_name = "KEY", value_delimiter = ',')]
    pub(crate) keep: Vec<String>,
    #[command(flatten)]
    pub(crate) columns: ColumnArgs,
    /// In files of messages, skip refused ones, count them by code, and exit with 6; by default the first one
    /// ends its file
    #[arg(long)]
    pub(crate) skip_refused: bool,
}

/// The columns of tables. Columns that are not named leave empty.
#[derive(Args)]
#[command(next_help_heading = "Tables (CSV, TSV, Parquet)")]
pub(crate) struct ColumnArgs {
    /// The treatment of all columns, as `lethe profile` proposes it: the keys of `[backfill.columns]`
    #[arg(long, value_name = "FILE")]
    pub(crate) columns: Option<PathBuf>,
    /// Columns of free text, which Lethe redacts. Without any of these options, Lethe guesses the columns of
    /// free text and of identifiers from the first rows, and says what it took them for
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    pub(crate) text_columns: Vec<String>,
    /// A column of identifiers, and their label: its values are replaced, and redacted in the row's texts,
    /// too
    #[arg(long, value_name = "COLUMN=LABEL", value_delimiter = ',', value_parser = column_label)]
    pub(crate) known: Vec<(String, String)>,
    /// The column of the patient's id, within which the policy replaces equal values alike. It leaves only if
    /// it is named in another option
    #[arg(long, value_name = "COLUMN")]
    pub(crate) patient_column: Option<String>,
    /// The column of the note's id. It leaves only if it is named in another option
    #[arg(long, value_name = "COLUMN")]
    pub(crate) id_column: Option<String>,
}

impl ColumnArgs {
    /// Returns everything that determines the treatment of columns.
    pub(crate) fn fingerprint(&self) -> serde_json::Value {
        let plan = self
            .columns
            .as_ref()
            .and_then(|path| std::fs::read_to_string(path).ok());
        serde_json::json!([
            plan,
            self.text_columns,
            self.known,
            self.patient_column,
            self.id_column
        ])
    }
}

/// Parses `COLUMN=LABEL`.
fn column_label(text: &str) -> Result<(String, String), String> {
    match text.rsplit_once('=') {
        Some((column, label)) if !column.is_empty() && !label.is_empty() => {
            Ok((column.to_owned(), label.to_owned()))
        }
        _ => Err("expected COLUMN=LABEL, such as `patient_name=PATIENT`".to_owned()),
    }
}

/// Parses a suffix of a file name.
fn suffix(text: &str) -> Result<String, String> {
    if text.is_empty() || text.contains('/') {
        return Err("expected the end of a file name, such as `.redacted`".to_owned());
    }
    Ok(text.to_owned())
}

#[derive(Args)]
pub(crate) struct ReportArgs {
    /// The folder of a stream, a backfill, or of `lethe redact --out`; or use --config
    #[arg(value_name = "PATH", required_unless_present = "config")]
    pub(crate) path: Option<PathBuf>,
    /// Use the store of this configuration, unless a path is given too
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The bundle that wrote the dataset, if it is neither built in nor that of --config: its `bundle.toml` has
    /// the measured recall. Its name, its folder, or a folder of versions
    #[arg(long, value_name = "BUNDLE")]
    pub(crate) bundle: Option<PathBuf>,
    /// Also report what an evaluation of the same engine found on annotated notes: the output of `lethe evaluate
    /// --json`
    #[arg(long, value_name = "FILE")]
    pub(crate) evaluation: Option<PathBuf>,
    /// Write the report to this file. Default: standard output
    #[arg(short, long, value_name = "FILE", conflicts_with = "html")]
    pub(crate) output: Option<PathBuf>,
    /// Write the report as a page to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Write the report as JSON instead of Markdown
    #[arg(long, conflicts_with = "html")]
    pub(crate) json: bool,
}

/// A note, and how to redact it.
#[derive(Args)]
pub(crate) struct NoteArgs {
    /// The note: text, Markdown, HTML, RTF, PDF, DOCX or an e-mail; `-` for standard input
    #[arg(value_name = "FILE", default_value = "-")]
    pub(crate) path: PathBuf,
    /// The format of the file. By default, the extension and the first bytes determine it
    #[arg(long)]
    pub(crate) format: Option<FileKind>,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    /// Print as JSON; offsets are bytes
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct ShowNoteArgs {
    #[command(flatten)]
    pub(crate) note: NoteArgs,
    /// Print the lines that change, before and after
    #[arg(long, conflicts_with = "json")]
    pub(crate) diff: bool,
    /// Write a page to this file, with the note, its spans and the redacted note, instead of printing
    #[arg(long, value_name = "FILE", conflicts_with_all = ["diff", "json"])]
    pub(crate) html: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct ExplainArgs {
    /// The word, or several in quotes, as the note has them
    #[arg(value_name = "WORD")]
    pub(crate) word: String,
    #[command(flatten)]
    pub(crate) note: NoteArgs,
}

#[derive(Args)]
pub(crate) struct ProfileArgs {
    /// A CSV, TSV or Parquet file, also compressed; `-` for CSV from standard input
    #[arg(
        value_name = "FILE",
        required_unless_present = "source",
        conflicts_with = "source"
    )]
    pub(crate) path: Option<PathBuf>,
    /// Read the rows of a query of this PostgreSQL database instead. The password comes from `PGPASSWORD`,
    /// `PGPASSFILE` or `~/.pgpass`
    #[arg(long, value_name = "URL", requires = "query")]
    pub(crate) source: Option<String>,
    /// The query: one SELECT
    #[arg(long, value_name = "SQL", requires = "source")]
    pub(crate) query: Option<String>,
    /// The format of the file. By default, the extension and the first bytes determine it
    #[arg(long)]
    pub(crate) format: Option<FileKind>,
    /// The number of rows to look at
    #[arg(long, value_name = "ROWS", default_value_t = 10_000)]
    pub(crate) rows: usize,
    /// The label set: `i2b2-2014` or `meddocan`
    #[arg(long, value_name = "LABELS", default_value = "i2b2-2014")]
    pub(crate) labels: String,
    /// Write the proposal to this file, which `lethe redact --columns` and `[backfill.columns]` read; must not
    /// exist
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Print the proposal as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
