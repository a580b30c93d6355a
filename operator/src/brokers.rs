//! The brokers that notes come from: what they are asked before a run, and how a consumer logs in to them, and again.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use lethe_connectors::kafka::source::{Command, LogRange};
use lethe_connectors::kafka::{Cluster, Credentials, FetchBudget, KafkaConfig, KafkaProblem, TopicIds};
use lethe_connectors::{Backoff, Stop};

use crate::background;
use crate::config::{Config, SecretFile};
use crate::exit::{Stopped, usage};

/// How long one question to the brokers may take.
const ASK: Duration = Duration::from_secs(10);
/// How long a record may be waited for that is to be read again.
const READ: Duration = Duration::from_secs(60);
/// How long what renews tokens and secrets may be late: a mounted Secret takes up to two minutes to reach its pods.
const RENEWED: Duration = Duration::from_secs(300);

/// What the consumer is made of.
pub(crate) fn credentials(kafka: &KafkaConfig, fetch: usize) -> anyhow::Result<Credentials> {
    let budget = FetchBudget {
        bytes: fetch,
        queues: 1,
    };
    kafka
        .credentials(budget)
        .map_err(|error| usage(format!("`[source]`, key {error}")))
}

/// Has the consumer log in again with other credentials, once the brokers accept them: those that it has may be good for
/// longer. Gives up as soon as `stopped` holds.
pub(crate) fn log_in_anew(
    kafka: &KafkaConfig,
    fetch: usize,
    commands: &Sender<Command>,
    stopped: impl Fn() -> bool,
) -> anyhow::Result<()> {
    let asked = kafka.clone();
    // Brokers that do not answer must not keep a program that stops.
    match background::unless(stopped, move || Cluster::connect(&asked, ASK)?.id())? {
        Some(answer) => drop(answer?),
        None => anyhow::bail!("the program stops before the brokers answered"),
    }
    let credentials = credentials(kafka, fetch)?;
    // A consumer that has ended needs none.
    drop(commands.send(Command::Renew(Box::new(credentials))));
    Ok(())
}

/// For how long a login may be refused: not at all, unless it is one that something else renews.
pub(crate) fn renewed_within(config: &Config, kafka: &KafkaConfig) -> Duration {
    let by_file = |file: &SecretFile| file.key.starts_with("source.security.");
    if kafka.login().has_tokens() || config.secret_files().iter().any(by_file) {
        RENEWED
    } else {
        Duration::ZERO
    }
}

/// The id of the cluster, so that a chain is never continued from another's log. `None` if the brokers have none. Brokers
/// that are down are waited for, for `patience` if that is given.
pub(crate) fn identity(
    kafka: &KafkaConfig,
    stop: &Stop,
    patience: Option<Duration>,
) -> anyhow::Result<Option<String>> {
    ask(kafka, stop, patience, |cluster| {
        let id = cluster.id()?;
        for topic in &kafka.topics {
            cluster.topic(topic)?;
        }
        Ok(id)
    })
}

/// The ids of the topics, as far as they have any. Brokers that are down are waited for, for `patience` if that is given.
pub(crate) fn topic_ids(
    kafka: &KafkaConfig,
    stop: &Stop,
    patience: Option<Duration>,
) -> anyhow::Result<TopicIds> {
    let topics: Vec<&str> = kafka.topics.iter().map(String::as_str).collect();
    ask(kafka, stop, patience, |cluster| cluster.topic_ids(&topics))
}

/// Every partition's log as it is now. Brokers that are down are waited for, for `patience` if that is given.
pub(crate) fn logs(
    kafka: &KafkaConfig,
    stop: &Stop,
    patience: Option<Duration>,
) -> anyhow::Result<Vec<LogRange>> {
    ask(kafka, stop, patience, |cluster| {
        let mut logs = Vec::new();
        for topic in &kafka.topics {
            let name: Arc<str> = topic.as_str().into();
            let id = cluster.topic_ids(&[topic])?.get(&name).map(Arc::clone);
            for partition in cluster.topic(topic)?.partitions {
                let (low, high) = cluster.watermarks(topic, partition)?;
                let partition = (Arc::clone(&name), partition);
                let topic_id = id.clone();
                logs.push(LogRange {
                    partition,
                    low,
                    high,
                    topic_id,
                });
            }
        }
        Ok(logs)
    })
}

/// A connection to the brokers, to read single records by.
pub(crate) fn cluster(kafka: &KafkaConfig) -> anyhow::Result<Cluster> {
    Cluster::connect(kafka, READ).map_err(|error| usage(format!("`[source]`: {error}")))
}

/// Asks the brokers. Those that are down are waited for, since the operator often starts before they do, until the stop is
/// requested or `patience` is over.
fn ask<T>(
    kafka: &KafkaConfig,
    stop: &Stop,
    patience: Option<Duration>,
    question: impl Fn(&Cluster) -> Result<T, KafkaProblem>,
) -> anyhow::Result<T> {
    let cluster = Cluster::connect(kafka, ASK)
        .map_err(|error| usage(format!("`[source]`: {error}")))?
        .hearing(stop);
    let begun = Instant::now();
    let mut backoff = Backoff::new("brokers").between(Duration::from_secs(1), Duration::from_secs(30));
    loop {
        match question(&cluster) {
            Ok(answer) => return Ok(answer),
            Err(_) if stop.is_requested() => return Err(Stopped.into()),
            Err(error) if error.is_temporary() && patience.is_none_or(|most| begun.elapsed() < most) => {
                let pause = backoff.pause().unwrap_or_default();
                tracing::warn!("{error}; trying again in {} ms", pause.as_millis());
                if stop.sleep(pause) {
                    return Err(Stopped.into());
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
}
