//! `lethe replay`: runs quarantined records again, from the log or the files that they came from.

use std::io::Write as _;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use lethe_connectors::files::FileSourceConfig;
use lethe_connectors::kafka::{KafkaConfig, KafkaProblem};
use lethe_connectors::replay::Selection;
use lethe_connectors::sink::Fingerprints;
use lethe_core::hex;
use sha2::{Digest as _, Sha256};

use super::run::{fingerprints, format, runtime};
use crate::brokers::{cluster, identity};
use crate::cli::ReplayArgs;
use crate::config::{SourceConfig, load};
use crate::exit::{Coded, Failure, usage};
use crate::pipeline::{Edition, Incoming};
use crate::replay::{Outcome, Replay, Running, Workers};

/// How long brokers that are down are waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// Replays what the arguments select.
pub(crate) fn run(args: &ReplayArgs) -> anyhow::Result<()> {
    let config = load(&args.config)?.with_policy(args.policy.as_ref())?;
    let source = config
        .source
        .as_ref()
        .ok_or_else(|| usage("there is no `[source]`: say where the records came from"))?;
    let sink = config.sink.as_ref().ok_or_else(|| {
        usage("there is no `[sink]`: say where the dataset is whose records are to be replayed")
    })?;
    let runtime = runtime()?;
    let recipe = config.engine.build()?;
    recipe.announce();
    let cluster_id = match source {
        SourceConfig::Kafka(kafka) => {
            let started = Instant::now();
            identity(kafka, || started.elapsed() > PATIENCE)?
        }
        SourceConfig::Files(_) => None,
    };
    let edition = Arc::new(Edition {
        engine: Arc::clone(&recipe.engine),
        fingerprints: fingerprints(&config, &recipe, cluster_id),
    });
    let store = sink
        .store
        .build()
        .map_err(|error| anyhow::anyhow!("`[sink.store]`: {error}"))?;
    let workers = config.resources.worker_count();
    let replay = Replay {
        runtime: runtime.handle().clone(),
        store,
        workers: Workers::start(
            workers,
            runtime.handle().clone(),
            format(&config)?,
            Arc::clone(&edition),
        )
        .context("no worker threads")?,
        selection: Selection {
            codes: args.codes.clone(),
            topics: args.topics.clone(),
            since: args.since,
            attempt: attempt(&edition.fingerprints, source),
            again: args.again,
        },
        edition,
        encoding: sink.encoding,
        roll: sink.roll,
        writes: !args.dry_run,
    };
    let mut outcome = Outcome::new(args.dry_run);
    let plan = replay.plan(&mut outcome)?;
    let running = Running::new(&replay, plan, outcome);
    let outcome = match source {
        SourceConfig::Kafka(kafka) => from_log(kafka, running)?,
        SourceConfig::Files(files) => from_files(files, running)?,
    };
    report(&outcome, args.json)
}

/// Digest of all that decides what becomes of a record: the configuration's fingerprints, and how files are read.
fn attempt(fingerprints: &Fingerprints, source: &SourceConfig) -> String {
    let reading = match source {
        // Its format is part of the fingerprints; brokers and logins make no difference.
        SourceConfig::Kafka(_) => String::new(),
        SourceConfig::Files(files) => format!("{files:?}"),
    };
    let all = format!("{:?}|{reading}", fingerprints.entries());
    hex(&Sha256::digest(all.as_bytes()))
}

/// Reads each wanted record by its offset.
fn from_log(kafka: &KafkaConfig, mut running: Running<'_>) -> anyhow::Result<Outcome> {
    let cluster = cluster(kafka)?;
    for chain in running.chains() {
        let partition = (Arc::clone(&chain.topic), chain.partition);
        while let Some(offsets) = running.next_file(&chain)? {
            let mut failed = None;
            let read = cluster.reread(&partition, &offsets, |record| {
                match running.take(Incoming::Raw(record)) {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(error) => {
                        failed = Some(error);
                        ControlFlow::Break(())
                    }
                }
            });
            match (failed, read) {
                (Some(error), _) => return Err(error),
                // All of its records are gone, as of a partition whose log begins later.
                (None, Ok(()) | Err(KafkaProblem::TopicMissing { .. })) => {}
                (None, Err(error)) => return Err(error.into()),
            }
        }
    }
    running.finish()
}

/// Reads the files from their beginning, and takes the wanted records.
fn from_files(files: &FileSourceConfig, mut running: Running<'_>) -> anyhow::Result<Outcome> {
    if !running.is_done() {
        for record in files.build()? {
            running.pass(Incoming::Read(record?))?;
            if running.is_done() {
                break;
            }
        }
    }
    running.finish()
}

fn report(outcome: &Outcome, json: bool) -> anyhow::Result<()> {
    let mut to = std::io::stdout().lock();
    if json {
        serde_json::to_writer_pretty(&mut to, outcome)?;
        writeln!(to)?;
    } else {
        write!(to, "{outcome}")?;
    }
    match outcome.gone_records() {
        0 => {}
        gone => tracing::warn!(
            "{gone} records are no longer in the log or in their files: they stay quarantined, unless their source sends them again"
        ),
    }
    if outcome.is_mostly_quarantined() {
        return Err(Coded(
            Failure::Quarantined,
            "more than half of the records are quarantined again; docs/quarantine.md says what to do about each code".to_owned(),
        )
        .into());
    }
    Ok(())
}
