//! The bulk backfill: tables of a warehouse through the same engine, policy and store as the stream.
//!
//! A unit is a part of an object in one version under one configuration. The names of its output files follow
//! from these and are created once. So a repeated run finds everything done, an interrupted run continues
//! with what is missing, and shards need no coordinator.

mod audit;
mod begin;
mod care;
mod manifest;
mod only;
mod plan;
mod progress;
mod rows;
mod sources;
mod summary;
mod terms;
mod unit;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use lethe_connectors::Stop;
use lethe_connectors::files::Codes;
use lethe_connectors::sink::{BEGUN, Encoding, PartName};
use lethe_connectors::source::Command;
use lethe_connectors::store::{Store, StoreError};
use lethe_connectors::tables::{Examined, TableError, Tables, TablesConfig};
use lethe_core::{LabelId, LabelSet};
use tokio::runtime::Handle;

use crate::cli::Shard;
use crate::clinical::{ClinicalTerms, TermCounts};
use crate::config::is_strict;
use crate::exit::{Coded, Failure, usage};
use crate::pipeline::{EngineVersion, Limits, Pool, RetryError, probe};
use crate::telemetry::Telemetry;
#[cfg(test)]
pub(crate) use audit::own_columns as audit_columns;
use begin::{Begun, begin};
use care::Care;
pub(crate) use only::Only;
use plan::{Job, Plan};
use progress::Reached;
#[cfg(test)]
pub(crate) use rows::own_columns as row_columns;
pub(crate) use sources::{SourcesReport, compare_sources};
pub(crate) use summary::Summary;
use summary::{Columns, Redactions};

/// The shared services of a backfill's workers.
struct BackfillContext {
    engine_version: EngineVersion,
    tables: Tables,
    store: Arc<dyn Store>,
    pool: Pool,
    encoding: Encoding,
    telemetry: Arc<Telemetry>,
    runtime: Handle,
    progress: Reached,
    part_bytes: u64,
    max_note_bytes: usize,
    limits: Limits,
    care: Care,
    stopped: AtomicBool,
    /// SHA-256 of the parts that this run wrote, by name.
    digests: Mutex<BTreeMap<String, String>>,
    /// The replacements of the parts that this run wrote.
    redactions: Mutex<Redactions>,
    /// The clinical terms to count; `None` if the dictionary has none.
    terms: Option<ClinicalTerms>,
    /// The clinical terms of the parts that this run wrote.
    clinical: Mutex<TermCounts>,
}

impl BackfillContext {
    fn is_stopped(&self) -> bool {
        self.stopped.load(Relaxed)
    }

    fn label(&self, name: &str) -> anyhow::Result<LabelId> {
        let labels = self.engine_version.engine.labels();
        labels.by_name(name).ok_or_else(|| unknown(labels, name))
    }
}

fn unknown(labels: &LabelSet, name: &str) -> anyhow::Error {
    usage(format!(
        "key `backfill.columns.identifiers`: label set `{}` has no `{name}`{}",
        labels.id(),
        labels.did_you_mean(name)
    ))
}

/// Checks that these tables can be redacted with this label set, as far as is possible before they are read.
///
/// # Errors
/// A usage error that names the key.
pub(crate) fn check(tables: &TablesConfig, labels: &LabelSet) -> anyhow::Result<()> {
    tables.columns.check().map_err(usage)?;
    let mut named = tables.columns.identifiers.values();
    match named.find(|label| labels.by_name(label).is_none()) {
        Some(label) => Err(unknown(labels, label)),
        None => Ok(()),
    }
}

/// The program was asked to stop.
#[derive(Debug, thiserror::Error)]
#[error("stopped before the end; run again to continue")]
struct Stopped;

/// The inputs of a backfill.
pub(crate) struct Backfill<'a> {
    pub(crate) tables: &'a TablesConfig,
    pub(crate) engine_version: EngineVersion,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) encoding: Encoding,
    pub(crate) workers: usize,
    /// Limits on the work on one text.
    pub(crate) limits: Limits,
    /// The clinical terms to count, if the dictionary has any.
    pub(crate) terms: Option<ClinicalTerms>,
    pub(crate) telemetry: Arc<Telemetry>,
    pub(crate) shard: Shard,
    /// The objects to backfill; all by default.
    pub(crate) only: Option<Only>,
    /// Ends the wait for a store that is unavailable at the start.
    pub(crate) stop: Stop,
}

/// Runs a backfill, or this shard of it, to its end. The summary names the objects that can never be read.
///
/// # Errors
/// [`Failure::Halted`] if the dataset was made by another configuration, or of other versions of the objects;
/// any other error may disappear in a later run.
pub(crate) fn run(
    backfill: Backfill<'_>,
    runtime: &Handle,
    inbox: Receiver<Command>,
) -> anyhow::Result<Summary> {
    let tables = match Tables::open(backfill.tables, runtime.clone()) {
        Err(error) if error.is_permanent() => return Err(usage(error)),
        other => other?,
    };
    let store = backfill.store;
    let probed = probe(store.as_ref(), Some(&backfill.telemetry), &backfill.stop);
    match runtime.block_on(probed) {
        Err(RetryError::Stopped) => return Err(Stopped.into()),
        other => other
            .map_err(anyhow::Error::from)
            .context("cannot open the output store")?,
    }
    let mut codes = names(backfill.tables, &backfill.engine_version, &store, runtime)?;
    // A new dataset is begun once the columns are known to exist: another configuration cannot continue it.
    let begin = || runtime.block_on(begin(store.as_ref(), &backfill.engine_version, backfill.tables));
    let begun = match runtime.block_on(store.look(BEGUN)) {
        Err(StoreError::NotFound(_)) => None,
        _ => Some(begin()?),
    };
    let mut found = match tables.units(codes.as_mut()) {
        Err(error) if error.is_permanent() => return Err(usage(error)),
        other => other?,
    };
    if let Some(only) = &backfill.only {
        only.keep(&mut found)?;
    }
    if found.others > 0 {
        tracing::info!(
            "{} objects are ignored, since their names are not those of tables",
            found.others
        );
    }
    let examined = tables.examine(&found.units);
    report_columns(&examined, begun.is_none())?;
    let Begun { digest, part_bytes } = match begun {
        Some(begun) => begun,
        None => begin()?,
    };
    let plan = plan::plan(found.units, &digest, &there(runtime, &store)?, backfill.shard);
    refuse_stale(&plan)?;
    let total = plan.jobs.iter().map(|job| job.unit.bytes).sum();
    let done = plan.jobs.iter().filter(|job| job.is_done()).count();
    tracing::info!(
        "{} units, {done} of them done; objects of {:.1} MB",
        plan.jobs.len(),
        total as f64 / 1e6
    );
    let telemetry = backfill.telemetry;
    let board = Arc::clone(telemetry.board().backfill());
    let measures = telemetry.measures().clone();
    let context = Arc::new(BackfillContext {
        progress: Reached::new(board, measures, total, plan.jobs.len() as u64),
        limits: backfill.limits.of(&backfill.engine_version.engine),
        engine_version: backfill.engine_version,
        tables,
        store: Arc::clone(&store),
        pool: Pool::start(backfill.workers).context("no worker threads")?,
        encoding: backfill.encoding,
        part_bytes: part_bytes.max(1),
        max_note_bytes: backfill.tables.max_note_bytes,
        care: Care::begin(&store, runtime, backfill.shard),
        runtime: runtime.clone(),
        telemetry,
        stopped: AtomicBool::new(false),
        digests: Mutex::default(),
        redactions: Mutex::default(),
        terms: backfill.terms,
        clinical: Mutex::default(),
    });
    listen(Arc::clone(&context), inbox);
    context.telemetry.board().ready(true);
    let worked = work(&context, &plan.jobs, backfill.workers);
    context.care.end();
    let mut broken = worked?;
    context.telemetry.board().ready(false);
    for (object, error) in found.broken {
        // Only one shard reports these: an unreadable object has no units that belong to a shard.
        if backfill.shard.this == 0 {
            tracing::error!("{error}");
            broken.insert(object, error.to_string());
        }
    }
    let columns = Columns::of(&backfill.tables.columns, &examined.columns);
    finish(&context, runtime, plan, backfill.shard, broken, columns)
}

/// Reports columns that the configuration names and the tables lack.
///
/// # Errors
/// A usage error if no examined object of a table can be read, before anything is written to a new dataset.
fn report_columns(examined: &Examined, is_new: bool) -> anyhow::Result<()> {
    for error in &examined.doubtful {
        tracing::warn!("{error}");
    }
    let Some(first) = examined.unusable.first() else {
        return Ok(());
    };
    if is_new {
        let more = match examined.unusable.len() - 1 {
            0 => String::new(),
            more => format!("; so do {more} other tables"),
        };
        return Err(usage(format!("{first}{more}")));
    }
    // Units of other tables may still be missing.
    for error in &examined.unusable {
        tracing::error!("{error}");
    }
    Ok(())
}

/// Writes the manifest of the existing files, and returns what was done.
fn finish(
    context: &BackfillContext,
    runtime: &Handle,
    plan: Plan,
    shard: Shard,
    broken: BTreeMap<String, String>,
    columns: Columns,
) -> anyhow::Result<Summary> {
    let mut names: HashMap<String, Vec<PartName>> = HashMap::new();
    for name in there(runtime, &context.store)? {
        names.entry(name.unit.clone()).or_default().push(name);
    }
    let mut whole = Vec::new();
    for job in plan.jobs {
        let mut parts = names.remove(&job.id).unwrap_or_default();
        parts.sort_unstable_by_key(|name| name.part);
        let job = Job { done: parts, ..job };
        // The rows before the unreadable part of an object are written.
        let is_whole = job.is_done() || broken.contains_key(&*job.unit.shown);
        anyhow::ensure!(is_whole, "{}: not completely written; run again", job.unit.shown);
        whole.push(job);
    }
    let digests = context
        .digests
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    let written = manifest::write(
        &context.store,
        &whole,
        broken.clone(),
        &plan.digest,
        shard,
        &digests,
    );
    let totals = runtime.block_on(written)?;
    let redactions = context
        .redactions
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    let clinical = context
        .clinical
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    Ok(Summary {
        run: context.progress.summary(),
        redactions,
        clinical: context.terms.is_some().then_some(clinical),
        columns,
        dataset: totals,
        gone: plan.gone,
        broken,
    })
}

/// Opens the list of objects and their codes; `None` if the dataset uses the objects' names.
///
/// # Errors
/// A usage error if the dataset is new and the policy's mode does not allow names.
fn names(
    tables: &TablesConfig,
    engine_version: &EngineVersion,
    store: &Arc<dyn Store>,
    runtime: &Handle,
) -> anyhow::Result<Option<Codes>> {
    let codes = tables.open_codes(runtime.clone())?;
    let mode = engine_version.fingerprints.mode.as_deref();
    // The rows of a query have a name that says nothing.
    if codes.is_some() || !is_strict(mode) || tables.database.is_some() {
        return Ok(codes);
    }
    // The name of a file or of its folder, such as `mrn=1234567`, may identify a patient.
    if there(runtime, store)?.is_empty() {
        return Err(usage(format!(
            "key `backfill.names`: the dataset would contain the names of input objects, which mode `{}` does not allow; set `names = \"codes\"`, and `codes = {{ kind = \"folder\", path = ... }}` for a private list of objects and codes",
            mode.unwrap_or_default()
        )));
    }
    tracing::warn!(
        "rows contain the names of their objects, since the existing dataset has them; for a new dataset, set `names = \"codes\"`"
    );
    Ok(None)
}

/// Lists the files of the output.
fn there(runtime: &Handle, store: &Arc<dyn Store>) -> anyhow::Result<Vec<PartName>> {
    let listed = runtime
        .block_on(store.list(PartName::folder()))
        .context("cannot list the output store")?;
    Ok(listed
        .iter()
        .filter_map(|object| PartName::parse(&object.name))
        .collect())
}

fn refuse_stale(plan: &Plan) -> anyhow::Result<()> {
    let Some((object, files)) = plan.stale.first() else {
        return Ok(());
    };
    Err(Coded(
        Failure::Halted,
        format!(
            "{object}: changed since it was backfilled ({files} files), and so did {} more; write to a new dataset, so that rows of both versions do not mix",
            plan.stale.len() - 1
        ),
    )
    .into())
}

/// Stops the backfill on a signal.
fn listen(context: Arc<BackfillContext>, inbox: Receiver<Command>) {
    std::thread::spawn(move || {
        while let Ok(command) = inbox.recv() {
            if matches!(command, Command::Stop) {
                context.stopped.store(true, Relaxed);
            }
        }
    });
}

/// Processes the jobs on the given number of threads. Returns the objects that cannot be read, and why.
///
/// # Errors
/// The first error that may disappear in a later run.
fn work(
    context: &Arc<BackfillContext>,
    jobs: &[Job],
    workers: usize,
) -> anyhow::Result<BTreeMap<String, String>> {
    let queue: Mutex<VecDeque<&Job>> = Mutex::new(jobs.iter().collect());
    let broken: Mutex<BTreeMap<String, String>> = Mutex::default();
    let failed: Mutex<Option<anyhow::Error>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..workers.clamp(1, jobs.len().max(1)) {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                    let Some(job) = next.filter(|_| !context.is_stopped()) else {
                        break;
                    };
                    let Err(error) = unit::work(context, job) else {
                        continue;
                    };
                    let object = &job.unit.shown;
                    if error
                        .downcast_ref::<TableError>()
                        .is_some_and(TableError::is_permanent)
                    {
                        tracing::error!("{error:#}");
                        let mut broken = broken.lock().unwrap_or_else(PoisonError::into_inner);
                        broken.insert(object.to_string(), format!("{error:#}"));
                        continue;
                    }
                    // An error of the store or the policy affects all units.
                    context.stopped.store(true, Relaxed);
                    let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                    failed.get_or_insert(error.context(format!("object {object}")));
                }
            });
        }
    });
    match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None if context.is_stopped() => Err(Stopped.into()),
        None => Ok(broken.into_inner().unwrap_or_else(PoisonError::into_inner)),
    }
}
