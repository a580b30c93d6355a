//! `lethe check`: checks a configuration.

use std::fmt::Display;
use std::io::{self, StdoutLock, Write as _};
#[cfg(feature = "kafka")]
use std::time::Duration;

#[cfg(feature = "kafka")]
use lethe_connectors::kafka::{Cluster, KafkaConfig};
use lethe_connectors::registry;
use lethe_connectors::store::verify;
use lethe_connectors::tables::{Tables, TablesConfig, TablesPlace};

use serde::Serialize;
use serde_json::json;

use super::run::runtime;
use crate::cli::CheckArgs;
use crate::config::{BuiltEngine, Config, CorrectionsConfig, SinkConfig, SourceConfig, load};
use crate::exit::{Coded, Failure, usage};

/// Checks a configuration, and with `--connect` the services that it names.
pub(crate) fn run(args: &CheckArgs) -> anyhow::Result<()> {
    let mut config = load(&args.config)?.with_policy(args.policy.as_ref())?;
    if args.explain {
        let explained = config.explain(&args.config, args.policy.as_deref())?;
        writeln!(std::io::stdout().lock(), "{explained}")?;
    }
    super::backfill::carry(&mut config);
    config.telemetry.check(config.resources.drain())?;
    config.resources.check_grace()?;
    let mut built = config.engine.build()?;
    registry::build(&config.format).map_err(|error| usage(format!("`[format]`, key {error}")))?;
    config.check_names(built.mode)?;
    let mut report = Report {
        to: std::io::stdout().lock(),
        connect: args.connect,
        form: match (args.json, args.explain) {
            (true, _) => Form::Json(Vec::new()),
            (_, true) => Form::Lines("# "),
            _ => Form::Lines(""),
        },
        wrong: Vec::new(),
    };
    report.engine(&built)?;
    report.source(&config)?;
    if let Some(tables) = &config.backfill {
        report.backfill(&config, tables, &mut built)?;
    }
    if let Some(kept) = &built.kept {
        report.line("kept", kept)?;
    }
    if let Some(sink) = &config.sink {
        report.sink(sink)?;
    }
    if let Some(corrections) = &config.corrections {
        report.corrections(&config, corrections)?;
    }
    report.end()
}

/// How the report is printed.
enum Form {
    /// Line by line, each after this prefix.
    Lines(&'static str),
    /// As JSON at the end.
    Json(Vec<Finding>),
}

/// What was found about one part of the configuration.
#[derive(Serialize)]
struct Finding {
    /// The part, for instance `source`.
    part: String,
    /// What it is, and then what the services answered.
    findings: Vec<String>,
}

/// What is printed line by line, and the services that did not pass.
struct Report {
    to: StdoutLock<'static>,
    connect: bool,
    form: Form,
    wrong: Vec<String>,
}

impl Report {
    /// Prints a line with the name of its part, which is empty for a further line of the same part.
    fn line(&mut self, part: &str, what: impl Display) -> io::Result<()> {
        match &mut self.form {
            Form::Lines(prefix) => writeln!(self.to, "{prefix}{part:<11} {what}")?,
            Form::Json(parts) => match parts.last_mut().filter(|_| part.is_empty()) {
                Some(last) => last.findings.push(what.to_string()),
                None => parts.push(Finding {
                    part: part.to_owned(),
                    findings: vec![what.to_string()],
                }),
            },
        }
        Ok(())
    }

    /// Prints the verdict.
    fn end(mut self) -> anyhow::Result<()> {
        let ok = self.wrong.is_empty();
        match &self.form {
            Form::Lines(prefix) if ok => writeln!(self.to, "{prefix}ok")?,
            Form::Lines(_) => {}
            Form::Json(parts) => {
                let report = json!({ "ok": ok, "parts": parts, "errors": self.wrong });
                writeln!(self.to, "{report:#}")?;
            }
        }
        match ok {
            true => Ok(()),
            false => Err(Coded(Failure::Found, self.wrong.join("\n       ")).into()),
        }
    }

    /// Prints the answer of a service under the line of its part, or keeps its error for the end.
    fn answer(&mut self, answer: Result<String, impl Display>) -> io::Result<()> {
        match answer {
            Ok(found) => self.line("", found)?,
            Err(error) => self.wrong.push(error.to_string()),
        }
        Ok(())
    }

    fn engine(&mut self, built: &BuiltEngine) -> io::Result<()> {
        self.line("members", built.engine.members().join(", "))?;
        if self.connect {
            match built.engine.prepare() {
                Ok(lines) => lines.into_iter().try_for_each(|line| self.line("", line))?,
                Err(error) => self.wrong.push(error),
            }
        }
        self.line("labels", &built.labels)?;
        self.line("dictionary", &built.dictionary)?;
        if let Some(mode) = built.mode {
            self.line("policy", format_args!("{mode}, {}", built.policy))?;
        }
        if let Some(acknowledged) = &built.acknowledged {
            self.line("acknowledged", acknowledged)?;
        }
        Ok(())
    }

    fn source(&mut self, config: &Config) -> anyhow::Result<()> {
        match &config.source {
            #[cfg(feature = "kafka")]
            Some(SourceConfig::Kafka(kafka)) => {
                kafka
                    .validate()
                    .map_err(|error| usage(format!("`[source]`, key {error}")))?;
                self.kafka("source", kafka)?;
            }
            Some(SourceConfig::Files(files)) => {
                if self.connect
                    && let Err(error) = files.build()
                {
                    self.wrong.push(error.to_string());
                }
                self.line("source", "files")?;
            }
            Some(SourceConfig::Messages(files)) => {
                self.line("source", "files of messages")?;
                if self.connect {
                    let found = files.find(&config.format, runtime()?.handle());
                    self.answer(found.map(|found| format!("{} files", found.len())))?;
                }
            }
            None if config.backfill.is_some() => {}
            None => self.line(
                "source",
                "none: only `redact` and `annotate` can use this configuration",
            )?,
        }
        Ok(())
    }

    fn backfill(
        &mut self,
        config: &Config,
        tables: &TablesConfig,
        built: &mut BuiltEngine,
    ) -> anyhow::Result<()> {
        crate::backfill::check(tables, built.engine.labels())?;
        super::backfill::keep(&tables.columns, built)?;
        config.check_object_names()?;
        let place = match tables.place().map_err(usage)? {
            TablesPlace::Store(store) => store.build()?.describe(),
            TablesPlace::Database(_) => "a query of a PostgreSQL database".to_owned(),
        };
        self.line("backfill", place)?;
        if !self.connect {
            return Ok(());
        }
        let runtime = runtime()?;
        let mut tables = tables.clone();
        if let Err(error) = crate::publish::fill_in(&mut tables, &|| false) {
            self.wrong.push(format!("{error:#}"));
            return Ok(());
        }
        let opened = Tables::open(&tables, runtime.handle().clone());
        match opened.and_then(|tables| Ok((tables.check_query()?, tables))) {
            Ok((Some(columns), _)) => self.line(
                "",
                format_args!("the query is readable, and has {} columns", columns.len()),
            )?,
            Ok((None, tables)) => self.objects(&tables)?,
            Err(error) => self.wrong.push(error.to_string()),
        }
        Ok(())
    }

    /// Compares the configured columns with the objects of a store.
    fn objects(&mut self, tables: &Tables) -> anyhow::Result<()> {
        let found = match tables.units(None) {
            Ok(found) => found,
            Err(error) => {
                self.wrong.push(error.to_string());
                return Ok(());
            }
        };
        self.line("", format_args!("{} units", found.units.len()))?;
        let examined = tables.examine(&found.units);
        self.line(
            "",
            format_args!("the columns of {} objects were compared", examined.objects),
        )?;
        for doubt in &examined.doubtful {
            self.line("", format_args!("warning: {doubt}"))?;
        }
        self.wrong
            .extend(examined.unusable.iter().map(ToString::to_string));
        self.wrong
            .extend(found.broken.into_iter().map(|(_, error)| error.to_string()));
        Ok(())
    }

    fn sink(&mut self, sink: &SinkConfig) -> anyhow::Result<()> {
        let store = sink.store.build()?;
        self.line("sink", store.describe())?;
        if self.connect {
            let verified = runtime()?.block_on(verify(store.as_ref()));
            self.answer(verified.map(|()| "writable, and creates each name only once".to_owned()))?;
        }
        Ok(())
    }

    fn corrections(&mut self, config: &Config, corrections: &CorrectionsConfig) -> anyhow::Result<()> {
        corrections.check(config)?;
        #[cfg(feature = "kafka")]
        if let Some(kafka) = corrections.kafka(config)? {
            self.kafka("corrections", &kafka)?;
            return Ok(());
        }
        self.line("corrections", "a file")?;
        Ok(())
    }

    /// Prints a group of topics and, if asked, what its brokers have of them.
    #[cfg(feature = "kafka")]
    fn kafka(&mut self, part: &str, kafka: &KafkaConfig) -> io::Result<()> {
        let topics = kafka.topics.join(", ");
        self.line(part, format_args!("kafka, {topics} as group {}", kafka.group))?;
        if self.connect {
            self.answer(examine(kafka))?;
        }
        Ok(())
    }
}

/// Connects to the brokers and finds each topic.
#[cfg(feature = "kafka")]
fn examine(kafka: &KafkaConfig) -> anyhow::Result<String> {
    let cluster = Cluster::connect(kafka, Duration::from_secs(10))?;
    let id = cluster.id()?;
    let mut found = format!("cluster {}", id.as_deref().unwrap_or("without an id"));
    for name in &kafka.topics {
        let topic = cluster.topic(name)?;
        let mut waiting = 0;
        for &partition in &topic.partitions {
            let (low, high) = cluster.watermarks(name, partition)?;
            waiting += high - low;
        }
        found += &format!(
            "; topic {name}: {} partitions, {waiting} records in the log",
            topic.partitions.len()
        );
    }
    Ok(found)
}
