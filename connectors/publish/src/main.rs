//! The program that `lethe publish` runs. It is a program of its own because Delta's kernel would make the other one
//! larger for everybody.

use std::fmt;
use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{ArgGroup, Parser, ValueEnum};
use lethe_connectors::store::StoreConfig;
use lethe_publish::{
    CatalogueSettings, IcebergTarget, Place, PublishError, Report, TableName, Target, check, list, publish,
};
use tracing_subscriber::EnvFilter;

/// Register the files of a dataset's chains in a Delta or Iceberg table, without a copy; run again to add new ones
#[derive(Parser)]
#[command(name = "lethe-publish", version)]
#[command(group = ArgGroup::new("format").args(["delta", "iceberg"]).required(true))]
struct Args {
    /// The dataset: its folder, or s3://BUCKET/PREFIX
    #[arg(value_name = "DATASET")]
    dataset: String,
    /// The Delta table of the notes: its folder, or s3://BUCKET/PREFIX; created if it does not exist
    #[arg(long, value_name = "TABLE")]
    delta: Option<String>,
    /// The Iceberg table of the notes: NAMESPACE.TABLE with --catalog, else its folder, or s3://BUCKET/PREFIX; created if
    /// it does not exist
    #[arg(long, value_name = "TABLE")]
    iceberg: Option<String>,
    /// The address of the Iceberg REST catalog
    #[arg(long, value_name = "URL", requires = "iceberg")]
    catalog: Option<String>,
    /// The warehouse, for a catalog that has several
    #[arg(long, value_name = "NAME", requires = "catalog")]
    warehouse: Option<String>,
    /// The table of the audit, of the same format; not published by default
    #[arg(long, value_name = "TABLE")]
    audit_table: Option<String>,
    /// Only check that each file of the dataset that the tables name exists and has its size; change nothing
    #[arg(long)]
    check: bool,
    /// Only list the files of this version of the table, or of this snapshot, as JSON; they lie in DATASET
    #[arg(long, value_name = "VERSION", hide = true, conflicts_with_all = ["check", "audit_table"])]
    list: Option<i64>,
    /// Print as JSON
    #[arg(long)]
    json: bool,
    /// Set the log filter, such as `info` or `lethe=debug,warn`
    #[arg(long, default_value = "info", env = "LETHE_LOG", value_name = "FILTER")]
    log: String,
    /// Set the log format
    #[arg(long, default_value = "text", value_name = "FORMAT")]
    log_format: LogFormat,
}

#[derive(Clone, Copy, ValueEnum)]
enum LogFormat {
    Text,
    Json,
}

/// The dataset whose store's settings are on standard input, as JSON. For `lethe run`, which has secrets among them.
const STANDARD_INPUT: &str = "-";
/// A wrong command line or configuration.
const USAGE: u8 = 2;
/// `--check` found a difference.
const FOUND: u8 = 4;

fn main() -> ExitCode {
    let args = Args::parse();
    start_log(&args);
    match run(&args) {
        Ok(code) => code,
        Err(failure) => failure.end(),
    }
}

/// Why the program ends without success.
enum Failure {
    Publish(PublishError),
    Io(io::Error),
}

impl Failure {
    #[expect(
        clippy::print_stderr,
        reason = "the final error must appear even if logs are off"
    )]
    fn end(self) -> ExitCode {
        match self {
            Self::Publish(error) => {
                eprintln!("lethe: {error}");
                match error.is_usage() {
                    true => ExitCode::from(USAGE),
                    false => ExitCode::FAILURE,
                }
            }
            // A closed pipe is not a failure.
            Self::Io(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
            Self::Io(error) => {
                eprintln!("lethe: {error}");
                ExitCode::FAILURE
            }
        }
    }
}

fn run(args: &Args) -> Result<ExitCode, Failure> {
    let place = |text: &str| Place::parse(text).map_err(Failure::Publish);
    let dataset = match args.dataset.as_str() {
        STANDARD_INPUT => store_of(io::stdin().lock())?,
        dataset => place(dataset)?,
    };
    let (notes, audit) = targets(args, &dataset).map_err(Failure::Publish)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Failure::Io)?;
    let (runtime_handle, audit) = (runtime.handle(), audit.as_ref());
    if let Some(version) = args.list {
        let listing = list(runtime.handle(), &dataset, &notes, version).map_err(Failure::Publish)?;
        let text = serde_json::to_string(&listing).map_err(|error| Failure::Io(error.into()))?;
        return write(&text).map(|()| ExitCode::SUCCESS);
    }
    let code = match args.check {
        true => {
            let report = check(runtime_handle, &dataset, &notes, audit).map_err(Failure::Publish)?;
            print(args, &report)?;
            match report.is_sound() {
                true => ExitCode::SUCCESS,
                false => ExitCode::from(FOUND),
            }
        }
        false => {
            let report = match publish(runtime_handle, &dataset, &notes, audit) {
                // A run whose source is empty so far.
                Err(PublishError::NoChains { dataset }) if args.dataset == STANDARD_INPUT => Report {
                    dataset,
                    ..Report::default()
                },
                published => published.map_err(Failure::Publish)?,
            };
            print(args, &report)?;
            ExitCode::SUCCESS
        }
    };
    // Requests that were given up may still run.
    runtime.shutdown_background();
    Ok(code)
}

/// Reads the settings of the dataset's store, with its secrets, as `lethe run` writes them.
fn store_of(input: impl io::Read) -> Result<Place, Failure> {
    let settings: StoreConfig = serde_json::from_reader(input).map_err(|error| {
        // The message of a syntax error has its place only; one of a wrong value could quote a secret.
        Failure::Io(io::Error::other(format!(
            "standard input holds no settings of a store (line {}, column {})",
            error.line(),
            error.column()
        )))
    })?;
    Place::of_store(settings).map_err(Failure::Publish)
}

/// Returns the tables of the notes and of the audit.
fn targets(args: &Args, dataset: &Place) -> Result<(Target, Option<Target>), PublishError> {
    let catalogue = args.catalog.as_deref();
    let catalogue = catalogue.map(|url| CatalogueSettings::from_environment(url, args.warehouse.as_deref()));
    let catalogue = catalogue.transpose()?.map(Arc::new);
    // A table that is listed can lie in the dataset's place.
    let place = |table: &str| match (table, args.list) {
        (STANDARD_INPUT, Some(_)) => Ok(dataset.clone()),
        _ => Place::parse(table),
    };
    let target = |table: &str| match (&args.delta, &catalogue) {
        (Some(_), _) => place(table).map(Target::Delta),
        (None, None) => place(table).map(|place| Target::Iceberg(IcebergTarget::Folder(place))),
        (None, Some(catalogue)) => Ok(Target::Iceberg(IcebergTarget::Catalogue {
            catalogue: Arc::clone(catalogue),
            name: TableName::parse(table)?,
        })),
    };
    let notes = args.delta.as_deref().or(args.iceberg.as_deref());
    let audit = args.audit_table.as_deref().map(target).transpose()?;
    // Clap has made sure of one.
    Ok((target(notes.unwrap_or_default())?, audit))
}

fn print(args: &Args, report: &(impl serde::Serialize + fmt::Display)) -> Result<(), Failure> {
    let text = match args.json {
        true => serde_json::to_string_pretty(report).map_err(|error| Failure::Io(error.into()))? + "\n",
        false => report.to_string(),
    };
    write(&text)
}

fn write(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(Failure::Io)
}

/// Starts logs on standard error. Those of the kernel are off unless the filter names it, since the program reports
/// its errors itself.
fn start_log(args: &Args) {
    let filter = EnvFilter::new(format!(
        "delta_kernel=off,delta_kernel_default_engine=off,{}",
        args.log
    ));
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal());
    match args.log_format {
        LogFormat::Text => log.init(),
        LogFormat::Json => log.json().init(),
    }
}
