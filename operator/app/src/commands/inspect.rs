//! `lethe inspect`: verifies an output dataset and explains its redactions.

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use lethe_connectors::inspect::{
    self, Caught, FingerprintFilter, FingerprintMatch, FingerprintReport, Head, MemberReport, Report, Scope,
    Verdict, Why,
};
use lethe_connectors::store::{FolderConfig, Store, StoreConfig};
use serde_json::{Map, Value};
use tokio::runtime::Runtime;

#[cfg(feature = "kafka")]
use super::against;
use super::run::runtime;
use crate::backfill::{SourcesReport, compare_sources};
use crate::cli::InspectArgs;
use crate::config::{Config, load};
use crate::exit::{Coded, Failure, usage};
use crate::progress::Progress;

/// A younger audit file may belong to a notes file that is still being written.
const ORPHAN_AGE: Duration = Duration::from_secs(3600);

/// Inspects a dataset, or answers queries about it.
pub(crate) fn run(args: &InspectArgs) -> anyhow::Result<()> {
    #[cfg(not(feature = "kafka"))]
    if args.against_topic {
        return Err(usage(
            "--against-topic: this build of Lethe cannot use Kafka; use one that was built with the feature `kafka`",
        ));
    }
    let config = args.config.as_ref().map(|config| load(config)).transpose()?;
    let (store, file) = place(args, config.as_ref())?;
    let heads = heads(&args.heads)?;
    let runtime = runtime()?;
    let store = store.build()?;
    let store = store.as_ref();
    let asked = args.why.is_some() || args.by_member || args.only_by.is_some() || args.fingerprint.is_some();
    let mut answers = Answers {
        json: args.json,
        alone: !asked && !args.remove_orphans && !args.against_topic && !args.sources,
        after_lines: args.list || args.fingerprint.is_some(),
        values: Map::new(),
    };
    let mut intact = true;
    let mut verdict = Verdict::Intact;
    if !asked || args.audit || args.remove_orphans || !heads.is_empty() {
        let scope = Scope {
            digests: !args.quick,
            audit: args.audit,
            heads,
        };
        let report = match &file {
            Some(file) => runtime.block_on(inspect::inspect_file(store, file, &scope))?,
            None => look(&runtime, store, scope)?,
        };
        verdict = report.verdict;
        intact = report.is_intact();
        answers.give("report", &report)?;
        if args.remove_orphans {
            answers.give("removed", &remove(&runtime, store, &report)?)?;
        }
    }
    #[cfg(feature = "kafka")]
    if let (true, Some(config)) = (args.against_topic, &config) {
        let topic = against::compare(config, store, &runtime)?;
        intact &= topic.verdict == Verdict::Intact;
        answers.give("topic", &topic)?;
    }
    if let (true, Some(config)) = (args.sources, &config) {
        let sources = sources(config, store, &runtime)?;
        intact &= sources.is_intact();
        answers.give("sources", &sources)?;
    }
    if let Some(place) = &args.why {
        let why = runtime.block_on(inspect::why(store, place))?;
        let why = why.ok_or_else(|| usage("no chain of the dataset reaches that offset"))?;
        intact &= why.audit_intact != Some(false);
        answers.give("why", &Asked(&why, place.byte))?;
    }
    if args.by_member || args.only_by.is_some() {
        let only = args.only_by.as_deref();
        let report = members(&runtime, store, only, args.list.then_some(args.json))?;
        answers.give("members", &report)?;
    }
    if let Some(filter) = &args.fingerprint {
        let made = made(&runtime, store, filter, args.json)?;
        // Standard output is then only the list, which `lethe backfill --only` reads.
        match args.json {
            true => tracing::info!("{}", made.to_string().trim_end()),
            false => answers.give("made_by", &made)?,
        }
    }
    answers.end()?;
    let coded = |failure, message: &str| Err(Coded(failure, message.to_owned()).into());
    match verdict {
        Verdict::NothingToCheck => coded(
            Failure::Found,
            "nothing to check: no chains, no backfill and no Parquet files; is this the folder or the store of the output?",
        ),
        _ if !intact => coded(Failure::Found, "the dataset is not intact; see above"),
        Verdict::Unfinished => coded(
            Failure::Unfinished,
            "the backfill has not ended; run the same `lethe backfill` again. Its files are intact",
        ),
        Verdict::Intact | Verdict::NotIntact => Ok(()),
    }
}

/// Returns the store to inspect, and the file in it, if one was given.
fn place(args: &InspectArgs, config: Option<&Config>) -> anyhow::Result<(StoreConfig, Option<String>)> {
    let folder = |path: &Path| {
        StoreConfig::Folder(FolderConfig {
            path: path.to_owned(),
        })
    };
    match (&args.path, config) {
        (Some(path), _) if path.is_dir() => Ok((folder(path), None)),
        (Some(path), _) if path.is_file() => {
            let path = std::path::absolute(path).with_context(|| path.display().to_string())?;
            let (root, name) = inspect::locate(&path);
            Ok((folder(&root), Some(name)))
        }
        (Some(path), _) => Err(usage(format!("{}: no such folder or file", path.display()))),
        (None, Some(config)) => match &config.sink {
            Some(sink) => Ok((sink.store.clone(), None)),
            None => Err(usage("the configuration has no `[sink]`")),
        },
        (None, None) => Err(usage("give a folder, a file or --config")),
    }
}

/// Compares a backfill with its tables.
fn sources(config: &Config, store: &dyn Store, runtime: &Runtime) -> anyhow::Result<SourcesReport> {
    let tables = config
        .backfill
        .as_ref()
        .ok_or_else(|| usage("--sources needs `[backfill]` in the configuration, to find the tables"))?;
    let mut tables = tables.clone();
    crate::publish::fill_in(&mut tables, &|| false)?;
    compare_sources(&tables, store, runtime.handle())
}

/// Inspects the dataset.
fn look(runtime: &Runtime, store: &dyn Store, scope: Scope) -> anyhow::Result<Report> {
    let mut progress = Progress::start("inspecting", "files", None);
    let report = runtime.block_on(inspect::inspect_within(store, scope, |now| {
        progress.reach(now.files, now.of);
    }))?;
    progress.finish();
    Ok(report)
}

/// Reads heads: digests, or files of them.
fn heads(given: &[String]) -> anyhow::Result<Vec<Head>> {
    let mut heads = Vec::new();
    for one in given {
        if let Some(head) = Head::parse(one) {
            heads.push(head);
            continue;
        }
        let path = Path::new(one);
        if !path.is_file() {
            return Err(usage(format!("--head: {one} is neither a SHA-256 nor a file")));
        }
        let text = std::fs::read_to_string(path).with_context(|| one.clone())?;
        let read = Head::parse_all(&text);
        heads.extend(read.map_err(|line| usage(format!("{one}: line {line} is not a head")))?);
    }
    Ok(heads)
}

/// Counts what members caught, or one of them, and lists what that one alone caught if requested.
fn members(
    runtime: &Runtime,
    store: &dyn Store,
    only: Option<&str>,
    list_as_json: Option<bool>,
) -> anyhow::Result<MemberReport> {
    let mut progress = Progress::start("reading the audit", "files", None);
    let mut written = Ok(());
    let list = |caught: &Caught<'_>| {
        let Some(json) = list_as_json.filter(|_| Some(caught.member) == only && written.is_ok()) else {
            return;
        };
        written = line(caught, json);
    };
    let report = inspect::by_member(store, list, |now| progress.reach(now.files, now.of));
    let mut report = runtime.block_on(report)?;
    progress.finish();
    written?;
    if let Some(only) = only {
        let names: Vec<_> = report.members.keys().cloned().collect();
        if !report.members.contains_key(only) {
            let names = names.join(", ");
            return Err(usage(format!(
                "no member `{only}` voted in this dataset; its members are {names}"
            )));
        }
        report.members.retain(|name, _| name == only);
    }
    Ok(report)
}

/// Lists the files that match the fingerprint.
fn made(
    runtime: &Runtime,
    store: &dyn Store,
    filter: &FingerprintFilter,
    json: bool,
) -> anyhow::Result<FingerprintReport> {
    let mut progress = Progress::start("reading footers", "files", None);
    let mut written = Ok(());
    let list = |made: &FingerprintMatch| {
        if written.is_ok() {
            written = line(made, json);
        }
    };
    let report = inspect::by_fingerprint(store, filter, list, |now| progress.reach(now.files, now.of));
    let report = runtime.block_on(report)?;
    progress.finish();
    written?;
    Ok(report)
}

/// Prints one entry of a list, as JSON or as text.
fn line(what: &(impl serde::Serialize + std::fmt::Display), json: bool) -> io::Result<()> {
    let mut to = io::stdout().lock();
    match json {
        true => serde_json::to_writer(&mut to, what)
            .map_err(io::Error::from)
            .and_then(|()| writeln!(to)),
        false => writeln!(to, "{what}"),
    }
}

/// Removes orphaned audit files, and returns their names.
fn remove(runtime: &Runtime, store: &dyn Store, report: &Report) -> anyhow::Result<Removed> {
    let removed = runtime.block_on(inspect::remove_orphans(store, report, ORPHAN_AGE))?;
    Ok(Removed(removed))
}

/// The audit files that were removed.
#[derive(serde::Serialize)]
struct Removed(Vec<String>);

impl std::fmt::Display for Removed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for name in &self.0 {
            writeln!(f, "removed {name}")?;
        }
        writeln!(f, "{} orphans removed", self.0.len())
    }
}

/// An answer, and the byte that the query named.
struct Asked<'a>(&'a Why, Option<u32>);

impl serde::Serialize for Asked<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl std::fmt::Display for Asked<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)?;
        match self.1 {
            Some(byte) if self.0.spans.is_empty() && self.0.audit_intact != Some(false) => {
                writeln!(
                    f,
                    "  byte {byte} of the redacted text is unchanged from the original"
                )
            }
            _ => Ok(()),
        }
    }
}

/// The output: printed immediately, or as one JSON object at the end.
struct Answers {
    json: bool,
    /// Whether only the report is printed; its JSON is then not wrapped.
    alone: bool,
    /// Whether lines of JSON come before it.
    after_lines: bool,
    values: Map<String, Value>,
}

impl Answers {
    fn give(
        &mut self,
        name: &str,
        value: &(impl serde::Serialize + std::fmt::Display),
    ) -> anyhow::Result<()> {
        if self.json {
            self.values.insert(name.to_owned(), serde_json::to_value(value)?);
        } else {
            write!(io::stdout().lock(), "{value}")?;
        }
        Ok(())
    }

    fn end(self) -> anyhow::Result<()> {
        if !self.json || self.values.is_empty() {
            return Ok(());
        }
        let mut to = io::stdout().lock();
        match self.values.get("report").filter(|_| self.alone) {
            Some(report) => serde_json::to_writer_pretty(&mut to, report)?,
            None if self.after_lines => serde_json::to_writer(&mut to, &self.values)?,
            None => serde_json::to_writer_pretty(&mut to, &self.values)?,
        }
        writeln!(to)?;
        Ok(())
    }
}
