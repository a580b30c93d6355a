//! `lethe run`: the operator.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use lethe_connectors::kafka::source::{self, Command, LogRange, SourceSettings, commands};
use lethe_connectors::kafka::{Cluster, FetchBudget, KafkaConfig, KafkaProblem, Start};
use lethe_connectors::registry;
use lethe_connectors::sink::Fingerprints;
use lethe_core::hex;
use sha2::{Digest as _, Sha256};
use tokio::runtime::{Builder, Runtime};

use crate::cli::RunArgs;
use crate::config::{Config, EngineConfig, Recipe, SinkConfig, SourceConfig, load};
use crate::exit::{Coded, Failure, usage};
use crate::logging::tell_left_out;
use crate::pipeline::{Budget, Counters, Current, Edition, Pipeline, Pool, Shop, files};
use crate::telemetry::{Build, Telemetry};

/// What of the memory budget fetching has, and what lanes have, in eighths. The rest is for the program itself, the
/// batches that workers have in hand, and what allocators keep.
const FETCH_EIGHTHS: usize = 1;
const LANE_EIGHTHS: usize = 3;
/// How long one question to the brokers may take.
const ASK: Duration = Duration::from_secs(10);
/// How long what renews tokens and secrets may be late: a mounted Secret takes up to two minutes to reach its pods.
const RENEWED: Duration = Duration::from_secs(300);
/// How often it is looked whether there is another bundle or dictionary.
const REFRESH_EVERY: Duration = Duration::from_secs(2);
/// How often brokers' word is heard of where logs end.
const STATISTICS: Duration = Duration::from_secs(5);
/// How often a line says what went through.
const REPORT_EVERY: Duration = Duration::from_secs(30);

/// Runs the operator of a configuration file.
pub(crate) fn run(args: &RunArgs) -> anyhow::Result<()> {
    let config = load(&args.config)?.with_policy(args.policy.as_ref())?;
    let runtime = runtime()?;
    let summary = operate(&config, &runtime, args.until_end)?;
    tracing::info!("done: {summary}");
    match summary.halted {
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
pub(crate) fn operate(config: &Config, runtime: &Runtime, until_end: bool) -> anyhow::Result<Summary> {
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
    stop_on_signal(runtime, commands.clone())?;
    config.check_corrections()?;
    config.telemetry.check(config.resources.drain())?;
    let recipe = config.engine.build()?;
    let eighth = config.resources.memory()? / 8;
    let fetch = eighth * FETCH_EIGHTHS;
    let budget = Budget::new(eighth * LANE_EIGHTHS);
    let started = Instant::now();
    let (start, cluster, until) = match source {
        SourceConfig::Kafka(kafka) => {
            let stopped = || matches!(inbox.try_recv(), Ok(Command::Stop));
            let cluster = identity(kafka, stopped)?;
            let until = until_end.then(|| logs(kafka, stopped)).transpose()?;
            (kafka.start, cluster, until)
        }
        SourceConfig::Files(_) => (Start::Earliest, None, None),
    };
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
    let server = telemetry.serve(&config.telemetry, runtime.handle())?;
    let shop = shop(config, sink, edition(&recipe), Arc::clone(&telemetry), commands)?;
    telemetry.board().watch_memory({
        let budget = Arc::clone(&budget);
        move || budget.now()
    });
    let handle = runtime.handle().clone();
    let lanes = Arc::new(Pipeline::new(shop, budget, handle, start, sink.encoding));
    let reporter = runtime.spawn(report(Arc::clone(&lanes)));
    let (over, ends) = channel();
    let result = std::thread::scope(|scope| {
        let (engine, stamp, lanes) = (&config.engine, &recipe.stamp, &lanes);
        let take_up = |recipe: &Recipe| lanes.edition().set(edition(recipe));
        scope.spawn(move || refresh(engine, stamp, &ends, take_up));
        let result = stream(config, source, until, fetch, lanes, &inbox);
        drop(over);
        result
    });
    reporter.abort();
    telemetry.board().ready(false);
    telemetry.shut_down();
    if let Some(server) = server {
        server.abort();
    }
    result?;
    let counters = lanes.counters();
    Ok(Summary {
        counts: counters.to_string(),
        notes: counters.notes.load(Relaxed),
        text_bytes: counters.text_bytes.load(Relaxed),
        halted: counters.halted.load(Relaxed),
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
            let client = kafka
                .client_config(FetchBudget {
                    bytes: fetch,
                    queues: 1,
                })
                .map_err(|error| usage(format!("`[source]`, key {error}")))?;
            let settings = SourceSettings {
                client,
                login: kafka.login(),
                refused: renewed_within(kafka),
                topics: kafka.topics.clone(),
                drain: config.resources.drain(),
                statistics: STATISTICS,
                until,
            };
            source::run(&settings, Arc::clone(lanes) as _, inbox).map_err(anyhow::Error::from)
        }
        SourceConfig::Files(files) => files::run(files, config.resources.drain(), lanes.as_ref(), inbox),
    }
}

/// Looks, until the stream is over, whether the bundle or the dictionary is another, and takes up what can be opened. What
/// cannot is told once, and the stream goes on with what it has.
fn refresh(engine: &EngineConfig, first: &str, over: &Receiver<()>, take_up: impl Fn(&Recipe)) {
    let mut last = first.to_owned();
    while over.recv_timeout(REFRESH_EVERY) == Err(RecvTimeoutError::Timeout) {
        let stamp = engine.stamp();
        if stamp == last {
            continue;
        }
        match engine.build() {
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
        edition: Current::new(edition),
        format: registry::build(&config.format)
            .map_err(|error| usage(format!("`[format]`, key {error}")))?
            .into(),
        store,
        pool: Pool::start(config.resources.worker_count()).context("no worker threads")?,
        roll: sink.roll,
        counters: Counters::default(),
        telemetry,
        commands,
    })
}

/// For how long a login may be refused: not at all, unless it is one that something else renews.
pub(crate) fn renewed_within(kafka: &KafkaConfig) -> Duration {
    if kafka.login().has_tokens() {
        RENEWED
    } else {
        Duration::ZERO
    }
}

/// The id of the cluster, so that a chain is never continued from another's log. `None` if the brokers have none.
pub(crate) fn identity(kafka: &KafkaConfig, give_up: impl FnMut() -> bool) -> anyhow::Result<Option<String>> {
    ask(kafka, give_up, |cluster| {
        let id = cluster.id()?;
        for topic in &kafka.topics {
            cluster.topic(topic)?;
        }
        Ok(id)
    })
}

/// Every partition's log as it is now.
pub(crate) fn logs(kafka: &KafkaConfig, give_up: impl FnMut() -> bool) -> anyhow::Result<Vec<LogRange>> {
    ask(kafka, give_up, |cluster| {
        let mut logs = Vec::new();
        for topic in &kafka.topics {
            let name: Arc<str> = topic.as_str().into();
            for partition in cluster.topic(topic)?.partitions {
                let (low, high) = cluster.watermarks(topic, partition)?;
                let partition = (Arc::clone(&name), partition);
                logs.push(LogRange { partition, low, high });
            }
        }
        Ok(logs)
    })
}

/// Asks the brokers. Those that are down are waited for, since the operator often starts before they do, until `give_up`
/// says so.
fn ask<T>(
    kafka: &KafkaConfig,
    mut give_up: impl FnMut() -> bool,
    question: impl Fn(&Cluster) -> Result<T, KafkaProblem>,
) -> anyhow::Result<T> {
    let cluster = Cluster::connect(kafka, ASK).map_err(|error| usage(format!("`[source]`: {error}")))?;
    let mut pause = Duration::from_secs(1);
    loop {
        match question(&cluster) {
            Ok(answer) => return Ok(answer),
            Err(error) if error.is_temporary() => {
                tracing::warn!("{error}; trying again in {} s", pause.as_secs());
                let until = Instant::now() + pause;
                while Instant::now() < until {
                    if give_up() {
                        return Err(error.into());
                    }
                    std::thread::sleep(Duration::from_millis(100));
                }
                pause = (pause * 2).min(Duration::from_secs(30));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// What the files of this run follow from, besides the notes.
pub(crate) fn fingerprints(config: &Config, recipe: &Recipe, cluster: Option<String>) -> Fingerprints {
    // Debug output names every setting that shapes the content, and hides secrets.
    let settings = format!("{:?}|{:?}", config.format, config.engine);
    Fingerprints {
        cluster,
        topic_id: None,
        config: hex(&Sha256::digest(settings.as_bytes())),
        policy: recipe.policy.clone(),
        mode: recipe.mode.map(str::to_owned),
        bundle: recipe.bundle.clone(),
        members: recipe.engine.members().join(","),
        labels: recipe.labels.clone(),
        dictionaries: recipe.dictionary.clone(),
        tokenizer: lethe_core::TOKENIZER_VERSION.to_string(),
        program: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

async fn report(lanes: Arc<Pipeline>) {
    loop {
        tokio::time::sleep(REPORT_EVERY).await;
        tracing::info!("{}", lanes.counters());
        tell_left_out();
    }
}

/// SIGTERM and SIGINT drain and leave; a second one ends the program at once.
pub(crate) fn stop_on_signal(
    runtime: &Runtime,
    commands: std::sync::mpsc::Sender<Command>,
) -> anyhow::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let _inside = runtime.enter();
    let mut terminate = signal(SignalKind::terminate()).context("no signal handler")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("no signal handler")?;
    runtime.spawn(async move {
        let mut asked = false;
        loop {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            if asked {
                // Safe at any moment: what is not durable was never released.
                std::process::exit(Failure::Runtime as i32);
            }
            asked = true;
            tracing::info!("stopping: draining lanes; a second signal stops at once");
            drop(commands.send(Command::Stop));
        }
    });
    Ok(())
}
