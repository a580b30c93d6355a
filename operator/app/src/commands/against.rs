//! `lethe inspect --against-topic`: compares the dataset with its source records.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use lethe_connectors::Stop;
use lethe_connectors::inspect::{Compared, Log, Original, Suspects, TopicReport, chain_files};
use lethe_connectors::kafka::{Cluster, KafkaClientError, KafkaConfig};
use lethe_connectors::replay::ReplayName;
use lethe_connectors::sink::ChainId;
use lethe_connectors::source::{LogRange, RawRecord};
use lethe_connectors::store::Store;
use tokio::runtime::Runtime;

use super::run::format;
use crate::brokers::{cluster, logs};
use crate::config::{Config, SourceConfig};
use crate::exit::usage;
use crate::progress::Progress;

/// How long to wait for unavailable brokers.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Compares every partition of the configured topics with its chain.
///
/// # Errors
/// A usage error if the configuration has no topic; errors of the brokers or the store.
pub(super) fn compare(config: &Config, store: &dyn Store, runtime: &Runtime) -> anyhow::Result<TopicReport> {
    let Some(SourceConfig::Kafka(kafka)) = &config.source else {
        return Err(usage(
            "--against-topic needs `[source]` of kind \"kafka\" in the configuration, to know the dataset's topics",
        ));
    };
    let format = format(config)?;
    let mut chains = runtime.block_on(chain_files(store))?;
    let logs = logs_now(kafka)?;
    let cluster = cluster(kafka)?;
    let total = logs.iter().map(|log| (log.high - log.low).unsigned_abs()).sum();
    let mut progress = Progress::start("comparing with the topic", "offsets", Some(total));
    let mut report = TopicReport::default();
    let mut suspects: BTreeMap<usize, Suspects> = BTreeMap::new();
    let mut before = 0;
    for log in &logs {
        let (topic, partition) = &log.partition;
        let chain = ChainId::new(Arc::clone(topic), *partition);
        let files = chains.remove(&chain).unwrap_or_default();
        let bounds = Log {
            low: log.low,
            high: log.high,
        };
        let mut compared = Compared::new(store, chain, &files, bounds);
        read(&cluster, log, |record| {
            let original = Original::of(format.as_ref(), &record);
            progress.at(before + (record.at.offset - log.low).unsigned_abs());
            Ok(runtime.block_on(compared.record(record.at.offset, &original))?)
        })?;
        before += (log.high - log.low).unsigned_abs();
        let (partition, found) = runtime.block_on(compared.finish())?;
        if found.ids().next().is_some() {
            suspects.insert(report.partitions.len(), found);
        }
        report.partitions.push(partition);
    }
    progress.finish();
    if !suspects.is_empty() {
        let ids = suspects.values().flat_map(Suspects::ids).collect();
        let in_topic = ids_of(&cluster, &logs, &ids, |record| {
            Original::of(format.as_ref(), record)
        })?;
        for (at, found) in &suspects {
            if let Some(partition) = report.partitions.get_mut(*at) {
                partition.resolve(found, &in_topic);
            }
        }
    }
    report.other_chains = chains.keys().map(ToString::to_string).collect();
    let replayed = runtime.block_on(store.list(ReplayName::NOTES_FOLDER))?;
    report.replayed_parts = replayed.len() as u64;
    report.settle();
    Ok(report)
}

fn logs_now(kafka: &KafkaConfig) -> anyhow::Result<Vec<LogRange>> {
    // This command does not handle signals, so nothing requests this stop.
    logs(kafka, &Stop::new(Duration::ZERO), Some(TIMEOUT))
}

/// Reads a partition and passes on each record, up to the first error.
fn read(
    cluster: &Cluster,
    log: &LogRange,
    mut take: impl FnMut(RawRecord) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut failed = None;
    let read: Result<(), KafkaClientError> = cluster.scan(log, |record| match take(record) {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            failed = Some(error);
            ControlFlow::Break(())
        }
    });
    match failed {
        Some(error) => Err(error),
        None => Ok(read?),
    }
}

/// Returns which of these note ids occur in the topics.
fn ids_of(
    cluster: &Cluster,
    logs: &[LogRange],
    wanted: &BTreeSet<&str>,
    original: impl Fn(&RawRecord) -> Original,
) -> anyhow::Result<BTreeSet<String>> {
    let total = logs.iter().map(|log| (log.high - log.low).unsigned_abs()).sum();
    let mut progress = Progress::start("looking for note ids", "offsets", Some(total));
    let mut found = BTreeSet::new();
    for log in logs {
        read(cluster, log, |record| {
            progress.add(1);
            if let Original::Note { note_id, .. } = original(&record)
                && wanted.contains(note_id.expose())
            {
                found.insert(note_id.expose().to_owned());
            }
            Ok(())
        })?;
    }
    progress.finish();
    Ok(found)
}
