//! `lethe run`: the operator.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use lethe_connectors::Stop;
use lethe_connectors::format::Format;
use lethe_connectors::kafka::Start;
use lethe_connectors::kafka::source::{self, Command, LogRange, SourceSettings, commands};
use lethe_connectors::registry;
use lethe_connectors::sink::Fingerprints;
use lethe_core::{FINGERPRINT_SCHEME, fingerprint};
use tokio::runtime::{Builder, Runtime};

use crate::background;
use crate::brokers::{credentials, identity, log_in_anew, logs, renewed_within};
use crate::cli::RunArgs;
use crate::config::{Config, Recipe, SinkConfig, SourceConfig, is_away, load};
use crate::exit::{Coded, Failure, usage};
use crate::logging::tell_left_out;
use crate::pipeline::{Budget, Counters, Current, Edition, Pipeline, Pool, Shop, Tallied, Turns, files};
use crate::renewal::{Part, Secrets, other_keys, renew_store};
use crate::signals::{Overrun, stop_on_signal};
use crate::telemetry::{Build, Telemetry};

/// What of the memory budget fetching has, and what lanes have, in eighths. The rest is for the program itself, the
/// batches that workers have in hand, and what allocators keep.
const FETCH_EIGHTHS: usize = 1;
const LANE_EIGHTHS: usize = 3;
/// What a running stream takes up when its secrets change.
const RENEWABLE: &[Part] = &[Part::Source, Part::Store, Part::Format];
/// How often it is looked whether there is another bundle or dictionary.
const REFRESH_EVERY: Duration = Duration::from_secs(2);
/// How often brokers' word is heard of where logs end.
const STATISTICS: Duration = Duration::from_secs(5);
/// How often a line says what went through.
const REPORT_EVERY: Duration = Duration::from_secs(30);

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
                "more than half of the records are quarantined ({}); `lethe inspect` counts them by code, docs/quarantine.md says what to do about each, and `lethe replay` runs them again once that is done",
                summary.mostly_quarantined.join("; ")
            ),
        )
        .into()),
        0 => Ok(()),
        n => Err(Coded(
            Failure::Halted,
            format!("{n} lanes halted; the log says why, and what to do"),
        )
        .into()),
    }
}

/// The runtime that lanes and stores run on. Tagging has threads of its own.
pub(crate) fn runtime() -> anyhow::Result<Runtime> {
    Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("no runtime")
}

/// What a run did.
pub(crate) struct Summary {
    pub(crate) counts: String,
    pub(crate) notes: u64,
    pub(crate) text_bytes: u64,
    pub(crate) halted: u64,
    /// Topics, or the source, of which more than half of the records are quarantined.
    pub(crate) mostly_quarantined: Vec<String>,
    pub(crate) peak_bytes: usize,
    pub(crate) took: Duration,
}

impl std::fmt::Display for Summary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let seconds = self.took.as_secs_f64().max(1e-3);
        write!(
            f,
            "{}; {:.1} s, {:.0} notes/s, {:.1} MiB/s of redacted text; lanes held {:.0} MiB at most",
            self.counts,
            seconds,
            self.notes as f64 / seconds,
            self.text_bytes as f64 / seconds / f64::from(1 << 20),
            self.peak_bytes as f64 / f64::from(1 << 20),
        )
    }
}

/// Runs until the end, a signal, or a failure.
pub(crate) fn operate(config: &Arc<Config>, runtime: &Runtime, until_end: bool) -> anyhow::Result<Summary> {
    let source = config
        .source
        .as_ref()
        .ok_or_else(|| usage("there is no `[source]`: say where note events come from"))?;
    let sink = config
        .sink
        .as_ref()
        .ok_or_else(|| usage("there is no `[sink]`: say where redacted notes go"))?;
    // Before what takes its time: who is told to stop while it reads dictionaries and models says so and leaves in order.
    let (commands, inbox) = commands();
    let stop = Stop::new(config.resources.drain());
    stop_on_signal(runtime, commands.clone(), &stop, Overrun::Exit)?;
    config.check_corrections()?;
    config.telemetry.check(config.resources.drain())?;
    if let Err(error) = config.resources.check_grace() {
        // What is cut off is read again: no reason not to run.
        tracing::warn!("{error:#}");
    }
    let recipe = background::engine(config, &stop)?;
    config.check_names(recipe.mode)?;
    recipe.announce();
    let eighth = config.resources.memory()? / 8;
    let fetch = eighth * FETCH_EIGHTHS;
    let budget = Budget::new(eighth * LANE_EIGHTHS);
    let started = Instant::now();
    let (start, cluster, until) = match source {
        SourceConfig::Kafka(kafka) => {
            let cluster = identity(kafka, &stop, None)?;
            let until = until_end.then(|| logs(kafka, &stop, None)).transpose()?;
            (kafka.start, cluster, until)
        }
        SourceConfig::Files(_) | SourceConfig::Messages(_) => (Start::Earliest, None, None),
    };
    let renewals = commands.clone();
    let telemetry = Telemetry::new(&config.telemetry, runtime.handle())?;
    let edition = |recipe: &Recipe| {
        let engine = Arc::clone(&recipe.engine);
        let board = telemetry.board();
        board.watch_caches({
            let engine = Arc::clone(&engine);
            move || engine.lookups()
        });
        board.built(Build {
            bundle: recipe.bundle.clone().unwrap_or_default(),
            policy: recipe.policy.clone(),
            members: engine.members().to_vec(),
        });
        telemetry.drift().reset();
        Edition {
            engine,
            fingerprints: fingerprints(config, recipe, cluster.clone()),
        }
    };
    let server = telemetry.serve(&config.telemetry)?;
    let shop = shop(config, sink, edition(&recipe), Arc::clone(&telemetry), commands)?;
    telemetry.board().watch_memory({
        let budget = Arc::clone(&budget);
        move || budget.now()
    });
    let handle = runtime.handle().clone();
    let lanes = Arc::new(Pipeline::new(
        shop,
        budget,
        handle,
        start,
        sink.encoding,
        stop.clone(),
    ));
    runtime.block_on(lanes.check_output())?;
    let reporter = runtime.spawn(report(Arc::clone(&lanes)));
    let ((over, ends), (over_too, ends_too)) = (channel(), channel());
    let result = std::thread::scope(|scope| {
        let (stamp, lanes) = (&recipe.stamp, &lanes);
        let take_up = |recipe: &Recipe| lanes.shop().edition.set(Arc::new(edition(recipe)));
        let own = &stop;
        scope.spawn(move || refresh(config, stamp, own, &ends, take_up));
        let renew = |part, config: &Config, stopped: &dyn Fn() -> bool| {
            let stopped = || stopped() || own.is_requested();
            renew(part, config, fetch, lanes, &renewals, &stopped)
        };
        scope.spawn(move || Secrets::of(config, RENEWABLE).watch(&ends_too, renew));
        let result = stream(config, source, until, fetch, lanes, &inbox);
        drop((over, over_too));
        result
    });
    reporter.abort();
    telemetry.board().ready(false);
    telemetry.shut_down();
    drop(server);
    result?;
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

/// Hands the source's records to the lanes, to the end.
fn stream(
    config: &Config,
    source: &SourceConfig,
    until: Option<Vec<LogRange>>,
    fetch: usize,
    lanes: &Arc<Pipeline>,
    inbox: &Receiver<Command>,
) -> anyhow::Result<()> {
    match source {
        SourceConfig::Kafka(kafka) => {
            let settings = SourceSettings {
                credentials: credentials(kafka, fetch)?,
                refused: renewed_within(config, kafka),
                topics: kafka.topics.clone(),
                drain: config.resources.drain(),
                statistics: STATISTICS,
                stop: lanes.stop().clone(),
                until,
            };
            source::run(&settings, Arc::clone(lanes) as _, inbox).map_err(anyhow::Error::from)
        }
        SourceConfig::Files(_) | SourceConfig::Messages(_) => files::run(config, lanes.as_ref(), inbox),
    }
}

/// Looks, until the stream is over, whether the bundle or the dictionary is another, and takes up what can be opened. What
/// cannot is told once, and the stream goes on with what it has.
fn refresh(config: &Arc<Config>, first: &str, stop: &Stop, over: &Receiver<()>, take_up: impl Fn(&Recipe)) {
    let engine = &config.engine;
    let mut last = first.to_owned();
    while over.recv_timeout(REFRESH_EVERY) == Err(RecvTimeoutError::Timeout) {
        let stamp = engine.stamp();
        if stamp == last {
            continue;
        }
        if let Some(keys) = other_keys(config) {
            last = stamp;
            tracing::error!(
                "another bundle or dictionary is not taken up: {keys} has changed too, and keys are taken up by the next start alone"
            );
            continue;
        }
        let own = Arc::clone(config);
        let stopped = || stop.is_requested() || over.try_recv() == Err(TryRecvError::Disconnected);
        // A vault that does not answer must not keep a program that stops.
        match background::unless(stopped, move || own.engine.build()).transpose() {
            None => return,
            Some(Ok(Err(error))) if is_away(&error) => {
                tracing::warn!("another bundle or dictionary is not taken up yet: {error:#}; trying again");
            }
            Some(built) => match built.flatten() {
                Ok(recipe) => {
                    take_up(&recipe);
                    last = recipe.stamp;
                    tracing::info!(
                        bundle = recipe.bundle.as_deref().unwrap_or("none"),
                        dictionary = recipe.dictionary,
                        "taken up: what follows is redacted by it"
                    );
                }
                Err(error) => {
                    last = stamp;
                    tracing::error!("not taken up, the stream goes on with what it has: {error:#}");
                }
            },
        }
    }
}

fn shop(
    config: &Config,
    sink: &SinkConfig,
    edition: Edition,
    telemetry: Arc<Telemetry>,
    commands: Sender<Command>,
) -> anyhow::Result<Shop> {
    let store = sink
        .store
        .build()
        .map_err(|error| anyhow::anyhow!("`[sink.store]`: {error}"))?;
    Ok(Shop {
        edition: Current::new(Arc::new(edition)),
        format: Current::new(format(config)?),
        store,
        pool: Pool::start(config.resources.worker_count()).context("no worker threads")?,
        turns: Turns::new(config.resources.limits()?),
        roll: sink.roll,
        counters: Counters::new(match config.source {
            Some(SourceConfig::Kafka(_)) | None => Tallied::ByTopic,
            Some(_) => Tallied::Together,
        }),
        telemetry,
        commands,
    })
}

/// How payloads are read.
pub(crate) fn format(config: &Config) -> anyhow::Result<Arc<dyn Format>> {
    let format = registry::build(&config.format);
    Ok(format
        .map_err(|error| usage(format!("`[format]`, key {error}")))?
        .into())
}

/// Takes up what secrets are for, now that they are others.
fn renew(
    part: Part,
    config: &Config,
    fetch: usize,
    lanes: &Pipeline,
    commands: &Sender<Command>,
    stopped: &dyn Fn() -> bool,
) -> anyhow::Result<()> {
    match (part, &config.source, &config.sink) {
        (Part::Source, Some(SourceConfig::Kafka(kafka)), _) => log_in_anew(kafka, fetch, commands, stopped),
        (Part::Store, _, Some(sink)) => {
            renew_store(lanes.runtime(), &lanes.shop().store, &sink.store, stopped)
        }
        (Part::Format, ..) => {
            lanes.shop().format.set(format(config)?);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// What the files of this run follow from, besides the notes.
pub(crate) fn fingerprints(config: &Config, recipe: &Recipe, cluster: Option<String>) -> Fingerprints {
    Fingerprints {
        cluster,
        topic_id: None,
        config: fingerprint(&(&config.format, &config.engine)),
        policy: recipe.policy.clone(),
        mode: recipe.mode.map(str::to_owned),
        bundle: recipe.bundle.clone(),
        members: recipe.engine.members().join(","),
        labels: recipe.labels.clone(),
        dictionaries: recipe.dictionary.clone(),
        tokenizer: lethe_core::TOKENIZER_VERSION.to_string(),
        program: env!("CARGO_PKG_VERSION").to_owned(),
        acknowledged: recipe.acknowledged.clone(),
        kept: recipe.kept.clone(),
        derivation: recipe.derivation.map(|version| version.to_string()),
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
