//! `lethe replay`: processes quarantined records again, from their log or files.

use std::io::Write as _;
#[cfg(feature = "kafka")]
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use lethe_connectors::Stop;
use lethe_connectors::files::{Codes, FileError, FilePayload, FileSourceConfig, MessageFilesConfig, Names};
#[cfg(feature = "kafka")]
use lethe_connectors::kafka::{KafkaClientError, KafkaConfig};
use lethe_connectors::replay::Selection;
use lethe_connectors::sink::Fingerprints;
use lethe_connectors::source::{RawRecord, TopicIds};
use lethe_core::{Record, fingerprint};
use tokio::runtime::Handle;

use super::run::{fingerprints, format, runtime};
#[cfg(feature = "kafka")]
use crate::brokers::{cluster, identity, topic_ids};
use crate::cli::ReplayArgs;
use crate::config::{Config, SourceConfig, Written, load};
use crate::exit::{Coded, Failure, usage};
use crate::pipeline::{EngineVersion, Incoming, about_code, probe, rename};
use crate::replay::{Outcome, Replay, Running, Workers};

/// How long to wait for unavailable brokers.
#[cfg(feature = "kafka")]
const TIMEOUT: Duration = Duration::from_secs(60);

/// Replays the selected records.
pub(crate) fn run(args: &ReplayArgs) -> anyhow::Result<()> {
    let config = load(&args.config)?.with_policy(args.policy.as_ref())?;
    let source = config
        .source
        .as_ref()
        .ok_or_else(|| usage("the configuration has no `[source]`; add it with the records' source"))?;
    let sink = config.sink.as_ref().ok_or_else(|| {
        usage("the configuration has no `[sink]`; add it with the dataset whose records to replay")
    })?;
    let runtime = runtime()?;
    let built = config.engine.build()?;
    built.prepare()?;
    config.check_names(built.mode)?;
    built.announce();
    let (cluster_id, topic_ids) = match source {
        #[cfg(feature = "kafka")]
        SourceConfig::Kafka(kafka) => {
            let stop = Stop::new(Duration::ZERO);
            (
                identity(kafka, &stop, Some(TIMEOUT))?,
                topic_ids(kafka, &stop, Some(TIMEOUT))?,
            )
        }
        SourceConfig::Files(_) | SourceConfig::Messages(_) => (None, TopicIds::new()),
    };
    let engine_version = Arc::new(EngineVersion {
        engine: Arc::clone(&built.engine),
        fingerprints: fingerprints(&config, &built, cluster_id),
    });
    let store = sink
        .store
        .build()
        .map_err(|error| anyhow::anyhow!("`[sink.store]`: {error}"))?;
    if !args.dry_run {
        // A signal ends a replay immediately, so nothing requests this stop.
        runtime.block_on(probe(store.as_ref(), None, &Stop::new(Duration::ZERO)))?;
    }
    let workers = config.resources.worker_count();
    let replay = Replay {
        runtime: runtime.handle().clone(),
        store,
        workers: Workers::start(
            workers,
            runtime.handle().clone(),
            format(&config)?,
            Arc::clone(&engine_version),
            config.resources.limits()?,
        )
        .context("no worker threads")?,
        selection: Selection {
            codes: args.codes.clone(),
            topics: args.topics.clone(),
            since: args.since,
            attempt: attempt(&engine_version.fingerprints, source, &config.engine.written),
            again: args.again,
        },
        engine_version,
        topic_ids,
        encoding: sink.encoding,
        roll: sink.roll,
        writes: !args.dry_run,
    };
    let mut outcome = Outcome::new(args.dry_run);
    let plan = replay.plan(&mut outcome)?;
    let running = Running::new(&replay, plan, outcome);
    let outcome = match source {
        #[cfg(feature = "kafka")]
        SourceConfig::Kafka(kafka) => from_log(kafka, running)?,
        SourceConfig::Files(files) => from_files(&config, files, runtime.handle(), running)?,
        SourceConfig::Messages(files) => from_messages(&config, files, runtime.handle(), running)?,
    };
    report(&outcome, args.json)
}

/// Returns a digest of everything that determines a record's outcome: the configuration's fingerprints, and
/// how files are read.
fn attempt(fingerprints: &Fingerprints, source: &SourceConfig, written: &Written) -> String {
    let fingerprint_entries = fingerprints.entries();
    match source {
        // Its format is part of the fingerprints; brokers and logins do not matter.
        #[cfg(feature = "kafka")]
        SourceConfig::Kafka(_) => fingerprint(&fingerprint_entries),
        SourceConfig::Files(files) => fingerprint(&written.form(&(fingerprint_entries, files))),
        SourceConfig::Messages(files) => fingerprint(&written.form(&(fingerprint_entries, files))),
    }
}

/// Reads each selected record by its offset.
#[cfg(feature = "kafka")]
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
                // All of its records are gone, as in a partition whose log begins later.
                (None, Ok(()) | Err(KafkaClientError::TopicMissing { .. })) => {}
                (None, Err(error)) => return Err(error.into()),
            }
        }
    }
    running.finish()
}

/// Reads files of notes from their beginning, and processes the selected records.
fn from_files(
    config: &Config,
    files: &FileSourceConfig,
    runtime: &Handle,
    mut running: Running<'_>,
) -> anyhow::Result<Outcome> {
    if running.is_done() {
        return running.finish();
    }
    let codes = codes(config, runtime)?;
    for record in files.build()? {
        let mut record = record.map_err(|error| about_code(error, files.input(), codes.as_ref()))?;
        if let Some(codes) = &codes {
            // A file without a code has no chain.
            let Some(slot) = codes.slot(&record.at().topic) else {
                continue;
            };
            rename(&mut record, slot);
        }
        running.pass(Incoming::Read(record))?;
        if running.is_done() {
            break;
        }
    }
    running.finish()
}

/// Reads the files of messages whose chains have selected records.
fn from_messages(
    config: &Config,
    files: &MessageFilesConfig,
    runtime: &Handle,
    mut running: Running<'_>,
) -> anyhow::Result<Outcome> {
    if running.is_done() {
        return running.finish();
    }
    let found = files.find(&config.format, runtime)?;
    let files = match codes(config, runtime)? {
        Some(mut codes) => found.coded(&mut codes)?,
        None => found.named(),
    };
    for file in &files {
        if !running.wants(&file.slot().topic) {
            continue;
        }
        for record in file.records() {
            let FilePayload { at, payload } = record?;
            running.pass(match payload {
                Ok(payload) => Incoming::Raw(RawRecord {
                    at,
                    payload: Some(payload),
                    timestamp: None,
                }),
                Err(why) => Incoming::Read(Record::Quarantined(at, why)),
            })?;
        }
    }
    running.finish()
}

/// Opens the list of files and codes; `None` if chains have the files' names.
fn codes(config: &Config, runtime: &Handle) -> anyhow::Result<Option<Codes>> {
    let naming = config.naming().filter(|naming| naming.names == Names::Codes);
    let Some((store, input_id)) = naming.and_then(|naming| Some((naming.codes?, naming.input_id))) else {
        return Ok(None);
    };
    let codes = Codes::open(store, &input_id, runtime.clone()).map_err(FileError::Codes)?;
    if codes.is_new() {
        return Err(usage(
            "key `source.codes`: the list is empty, so the chains cannot be matched with files; restore it from a backup",
        ));
    }
    Ok(Some(codes))
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
            "{gone} records are no longer in the log or in their files; they stay quarantined, unless their source sends them again"
        ),
    }
    if outcome.is_mostly_quarantined() {
        return Err(Coded(
            Failure::Quarantined,
            "more than half of the records are quarantined again; docs/quarantine.md explains each code"
                .to_owned(),
        )
        .into());
    }
    Ok(())
}
