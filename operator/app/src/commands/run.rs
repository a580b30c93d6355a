//! `lethe run`: the operator.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use lethe_connectors::Stop;
use lethe_connectors::format::Format;
#[cfg(feature = "kafka")]
use lethe_connectors::kafka::source::{self, SourceSettings};
use lethe_connectors::registry;
use lethe_connectors::sink::Fingerprints;
use lethe_connectors::source::Start;
use lethe_connectors::source::{Command, LogRange, commands};
use lethe_core::{FINGERPRINT_SCHEME, fingerprint};
use tokio::runtime::{Builder, Runtime};

use crate::background;
#[cfg(feature = "kafka")]
use crate::brokers::{Login, identity, logs, reload_within};
use crate::cli::RunArgs;
use crate::config::{BuiltEngine, Config, SinkConfig, SourceConfig, is_away, load};
use crate::credential_reload::{Part, Secrets, other_keys, reload_store};
use crate::exit::{Coded, Failure, usage};
use crate::logging::tell_left_out;
use crate::pipeline::{
    Budget, Counters, Current, EngineVersion, LaneContext, Pipeline, Pool, Tallied, Turns, files,
};
use crate::publish::Publisher;
use crate::signals::{Overrun, stop_on_signal};
use crate::telemetry::{Build, MemberCaches, Telemetry};

/// The shares of the memory budget for fetching and for lanes, in eighths. The rest is for the program
/// itself, the workers' batches, and the allocators' overhead.
const FETCH_EIGHTHS: usize = 1;
const LANE_EIGHTHS: usize = 3;
/// The parts of a running stream that reload their secrets.
const RELOADABLE: &[Part] = &[Part::Source, Part::Store, Part::Format];
/// How often to check for a new bundle or dictionary.
const REFRESH_EVERY: Duration = Duration::from_secs(2);
/// How often the brokers report where logs end.
#[cfg(feature = "kafka")]
const STATISTICS: Duration = Duration::from_secs(5);
/// How often to log the throughput.
const REPORT_EVERY: Duration = Duration::from_secs(30);

/// A build without Kafka has no login to renew.
#[cfg(not(feature = "kafka"))]
enum Login {}

/// Runs the operator of a configuration file.
pub(crate) fn run(args: &RunArgs) -> anyhow::Result<()> {
    let config = Arc::new(load(&args.config)?.with_policy(args.policy.as_ref())?);
    let runtime = runtime()?;
    let summary = operate(&config, &runtime, args.until_end)?;
    tracing::info!("done: {summary}");
    match summary.halted {
        0 if args.until_end && !summary.mostly_quarantined.is_empty() => Err(Coded(
            Failure::Quarantined,
            format!(
                "more than half of the records are quarantined ({}); `lethe inspect` counts them by code, docs/quarantine.md explains each code, and `lethe replay` processes them again afterwards",
                summary.mostly_quarantined.join("; ")
            ),
        )
        .into()),
        0 => Ok(()),
        n => Err(Coded(
            Failure::Halted,
            format!("{n} lanes halted; the log has the reasons and what to do"),
        )
        .into()),
    }
}

/// Creates the runtime of lanes and stores. Tagging has its own threads.
pub(crate) fn runtime() -> anyhow::Result<Runtime> {
    Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("cannot create the runtime")
}

/// The summary of a run.
pub(crate) struct Summary {
    pub(crate) counts: String,
    pub(crate) notes: u64,
    pub(crate) text_bytes: u64,
    pub(crate) halted: u64,
    /// Topics, or the source, with more than half of their records quarantined.
    pub(crate) mostly_quarantined: Vec<String>,
    pub(crate) peak_bytes: usize,
    pub(crate) took: Duration,
}

impl std::fmt::Display for Summary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let seconds = self.took.as_secs_f64().max(1e-3);
        write!(
            f,
            "{}; {:.1} s, {:.0} notes/s, {:.1} MiB/s of redacted text; lanes held at most {:.0} MiB",
            self.counts,
            seconds,
            self.notes as f64 / seconds,
            self.text_bytes as f64 / seconds / f64::from(1 << 20),
            self.peak_bytes as f64 / f64::from(1 << 20),
        )
    }
}

/// What a source says before its first record.
struct Opening {
    start: Start,
    /// The id of the cluster.
    cluster: Option<String>,
    /// The logs as they are now, if the run ends where they end.
    until: Option<Vec<LogRange>>,
    login: Option<Login>,
}

/// Asks the source. Waits for unavailable brokers until the stop is requested.
#[cfg_attr(
    not(feature = "kafka"),
    expect(unused_variables, reason = "only a consumer uses them")
)]
fn open(
    source: &SourceConfig,
    until_end: bool,
    fetch: usize,
    commands: &Sender<Command>,
    stop: &Stop,
) -> anyhow::Result<Opening> {
    Ok(match source {
        #[cfg(feature = "kafka")]
        SourceConfig::Kafka(kafka) => Opening {
            start: kafka.start,
            cluster: identity(kafka, stop, None)?,
            until: until_end.then(|| logs(kafka, stop, None)).transpose()?,
            login: Some(Login::new(kafka, fetch, commands.clone())?),
        },
        SourceConfig::Files(_) | SourceConfig::Messages(_) => Opening {
            start: Start::Earliest,
            cluster: None,
            until: None,
            login: None,
        },
    })
}

/// Runs until the end, a signal, or a failure.
pub(crate) fn operate(config: &Arc<Config>, runtime: &Runtime, until_end: bool) -> anyhow::Result<Summary> {
    let source = config
        .source
        .as_ref()
        .ok_or_else(|| usage("the configuration has no `[source]`; add it with the source of note events"))?;
    let sink = config.sink.as_ref().ok_or_else(|| {
        usage("the configuration has no `[sink]`; add it with the store for redacted notes")
    })?;
    // Before the slow steps, so that a stop while dictionaries and models are loaded ends the program in
    // order.
    let (commands, inbox) = commands();
    let stop = Stop::new(config.resources.drain());
    stop_on_signal(runtime, commands.clone(), &stop, Overrun::Exit)?;
    config.check_corrections()?;
    config.telemetry.check(config.resources.drain())?;
    if let Err(error) = config.resources.check_grace() {
        // Work that is cut off at the end is repeated, so this is not a reason to stop.
        tracing::warn!("{error:#}");
    }
    let built = background::engine(config, &stop)?;
    config.check_names(built.mode)?;
    built.announce();
    let eighth = config.resources.memory()? / 8;
    let fetch = eighth * FETCH_EIGHTHS;
    let budget = Budget::new(eighth * LANE_EIGHTHS);
    let started = Instant::now();
    let Opening {
        start,
        cluster,
        until,
        login,
    } = open(source, until_end, fetch, &commands, &stop)?;
    let telemetry = Telemetry::new(&config.telemetry, runtime.handle())?;
    let engine_version = |built: &BuiltEngine| {
        let engine = Arc::clone(&built.engine);
        let board = telemetry.board();
        board.sample_caches({
            let engine = Arc::clone(&engine);
            move || MemberCaches {
                lookups: engine.lookups(),
                bytes: engine.cache_bytes(),
            }
        });
        board.built(Build {
            bundle: built.bundle.clone().unwrap_or_default(),
            policy: built.policy.clone(),
            members: engine.members().to_vec(),
        });
        telemetry.drift().reset();
        EngineVersion {
            engine,
            fingerprints: fingerprints(config, built, cluster.clone()),
        }
    };
    let publisher = Publisher::of(config, &telemetry)?;
    let server = telemetry.serve(&config.telemetry)?;
    let context = context(
        config,
        sink,
        engine_version(&built),
        Arc::clone(&telemetry),
        &budget,
        commands,
    )?;
    telemetry.board().sample_memory({
        let budget = Arc::clone(&budget);
        move || budget.now()
    });
    let handle = runtime.handle().clone();
    let lanes = Arc::new(Pipeline::new(
        context,
        budget,
        handle,
        start,
        sink.encoding,
        stop.clone(),
    ));
    runtime.block_on(lanes.check_output())?;
    let reporter = runtime.spawn(report(Arc::clone(&lanes)));
    // Each thread ends when its sender is dropped.
    let ((over, ends), (over_too, ends_too), (over_publishing, ends_publishing)) =
        (channel(), channel(), channel());
    let result = std::thread::scope(|scope| {
        let (source_fingerprint, lanes) = (&built.source_fingerprint, &lanes);
        let take_up = |built: &BuiltEngine| {
            lanes
                .context()
                .engine_version
                .set(Arc::new(engine_version(built)))
        };
        let own = &stop;
        scope.spawn(move || refresh(config, source_fingerprint, own, &ends, take_up));
        let reload = |part, config: &Config, stopped: &dyn Fn() -> bool| {
            let stopped = || stopped() || own.is_requested();
            reload(part, config, login.as_ref(), lanes, &stopped)
        };
        scope.spawn(move || Secrets::of(config, RELOADABLE).poll(&ends_too, reload));
        if let Some(publisher) = &publisher {
            scope.spawn(move || publisher.repeat(&ends_publishing, own));
        }
        let result = stream(config, source, until, login.as_ref(), lanes, &inbox);
        drop((over, over_too, over_publishing));
        result
    });
    reporter.abort();
    telemetry.board().ready(false);
    let published = match &publisher {
        // A stream that was stopped goes on later, and publishes then.
        Some(publisher) if result.is_ok() && !stop.is_requested() => publisher.complete(&stop),
        _ => Ok(()),
    };
    telemetry.shut_down();
    drop(server);
    result?;
    published?;
    let counters = lanes.counters();
    Ok(Summary {
        counts: counters.to_string(),
        notes: counters.notes.load(Relaxed),
        text_bytes: counters.text_bytes.load(Relaxed),
        halted: counters.halted.load(Relaxed),
        mostly_quarantined: counters.mostly_quarantined(),
        peak_bytes: lanes.peak(),
        took: started.elapsed(),
    })
}

/// Passes the source's records to the lanes, to the end.
#[cfg_attr(
    not(feature = "kafka"),
    expect(unused_variables, reason = "only a consumer uses them")
)]
fn stream(
    config: &Config,
    source: &SourceConfig,
    until: Option<Vec<LogRange>>,
    login: Option<&Login>,
    lanes: &Arc<Pipeline>,
    inbox: &Receiver<Command>,
) -> anyhow::Result<()> {
    match (source, login) {
        #[cfg(feature = "kafka")]
        (SourceConfig::Kafka(kafka), Some(login)) => {
            let settings = SourceSettings {
                credentials: login.current(),
                refused: reload_within(config, kafka),
                topics: kafka.topics.clone(),
                drain: config.resources.drain(),
                statistics: STATISTICS,
                stop: lanes.stop().clone(),
                until,
            };
            source::run(&settings, Arc::clone(lanes) as _, inbox).map_err(anyhow::Error::from)
        }
        _ => files::run(config, lanes.as_ref(), inbox),
    }
}

/// Checks for a new bundle or dictionary until the stream ends, and loads it if it opens. A failure is logged
/// once, and the stream keeps its current engine.
fn refresh(
    config: &Arc<Config>,
    first: &str,
    stop: &Stop,
    over: &Receiver<()>,
    take_up: impl Fn(&BuiltEngine),
) {
    let engine = &config.engine;
    let mut last = first.to_owned();
    while over.recv_timeout(REFRESH_EVERY) == Err(RecvTimeoutError::Timeout) {
        let source_fingerprint = engine.source_fingerprint();
        if source_fingerprint == last {
            continue;
        }
        if let Some(keys) = other_keys(config) {
            last = source_fingerprint;
            tracing::error!(
                "cannot reload the bundle or dictionary: {keys} has changed too, and keys are only read at the start; restart the operator"
            );
            continue;
        }
        let own = Arc::clone(config);
        let stopped = || stop.is_requested() || over.try_recv() == Err(TryRecvError::Disconnected);
        // An unresponsive vault must not keep a stopping program alive.
        match background::unless(stopped, move || own.engine.build()).transpose() {
            None => return,
            Some(Ok(Err(error))) if is_away(&error) => {
                tracing::warn!("cannot reload the bundle or dictionary yet: {error:#}; trying again");
            }
            Some(built) => match built.flatten() {
                Ok(built) => {
                    take_up(&built);
                    last = built.source_fingerprint;
                    tracing::info!(
                        bundle = built.bundle.as_deref().unwrap_or("none"),
                        dictionary = built.dictionary,
                        "reloaded; the next batches are redacted by this engine"
                    );
                }
                Err(error) => {
                    last = source_fingerprint;
                    tracing::error!(
                        "cannot reload the bundle or dictionary; the stream keeps the current one: {error:#}"
                    );
                }
            },
        }
    }
}

fn context(
    config: &Config,
    sink: &SinkConfig,
    engine_version: EngineVersion,
    telemetry: Arc<Telemetry>,
    budget: &Arc<Budget>,
    commands: Sender<Command>,
) -> anyhow::Result<LaneContext> {
    let store = sink
        .store
        .build()
        .map_err(|error| anyhow::anyhow!("`[sink.store]`: {error}"))?;
    Ok(LaneContext {
        engine_version: Current::new(Arc::new(engine_version)),
        format: Current::new(format(config)?),
        store,
        pool: Pool::start(config.resources.worker_count()).context("cannot start worker threads")?,
        turns: Turns::new(config.resources.stream_limits()?).borrowing(Arc::clone(budget)),
        roll: sink.roll,
        counters: Counters::new(match config.source {
            Some(SourceConfig::Files(_) | SourceConfig::Messages(_)) => Tallied::Together,
            _ => Tallied::ByTopic,
        }),
        telemetry,
        commands,
    })
}

/// Creates the format that reads payloads.
pub(crate) fn format(config: &Config) -> anyhow::Result<Arc<dyn Format>> {
    let format = registry::build(&config.format);
    Ok(format
        .map_err(|error| usage(format!("`[format]`, key {error}")))?
        .into())
}

/// Reloads the part whose secrets have changed.
#[cfg_attr(
    not(feature = "kafka"),
    expect(unused_variables, reason = "only a consumer uses them")
)]
fn reload(
    part: Part,
    config: &Config,
    login: Option<&Login>,
    lanes: &Pipeline,
    stopped: &dyn Fn() -> bool,
) -> anyhow::Result<()> {
    match (part, &config.source, &config.sink) {
        #[cfg(feature = "kafka")]
        (Part::Source, Some(SourceConfig::Kafka(kafka)), _) => {
            login.map_or(Ok(()), |login| login.renew(kafka, stopped))
        }
        (Part::Store, _, Some(sink)) => {
            reload_store(lanes.runtime(), &lanes.context().store, &sink.store, stopped)
        }
        (Part::Format, ..) => {
            lanes.context().format.set(format(config)?);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Returns everything that determines the files of this run, besides the notes.
pub(crate) fn fingerprints(config: &Config, built: &BuiltEngine, cluster: Option<String>) -> Fingerprints {
    Fingerprints {
        cluster,
        topic_id: None,
        config: fingerprint(&config.engine.written.form(&(&config.format, &config.engine))),
        policy: built.policy.clone(),
        mode: built.mode.map(str::to_owned),
        bundle: built.bundle.clone(),
        members: built.engine.members().join(","),
        labels: built.labels.clone(),
        dictionaries: built.dictionary.clone(),
        tokenizer: lethe_core::TOKENIZER_VERSION.to_string(),
        program: env!("CARGO_PKG_VERSION").to_owned(),
        acknowledged: built.acknowledged.clone(),
        kept: built.kept.clone(),
        derivation: built.derivation.map(|version| version.to_string()),
        scheme: Some(FINGERPRINT_SCHEME.to_string()),
    }
}

async fn report(lanes: Arc<Pipeline>) {
    loop {
        tokio::time::sleep(REPORT_EVERY).await;
        tracing::info!("{}", lanes.counters());
        tell_left_out();
    }
}
