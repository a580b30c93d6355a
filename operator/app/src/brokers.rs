//! The brokers that notes come from: checks before a run, and the consumer's login and its renewal.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use lethe_connectors::kafka::{
    Cluster, Credentials, CurrentCredentials, FetchBudget, KafkaClientError, KafkaConfig,
};
use lethe_connectors::source::{Command, LogRange, TopicIds};
use lethe_connectors::{Backoff, Stop};

use crate::background;
use crate::config::{Config, SecretFile};
use crate::exit::{Stopped, usage};

/// The time limit of one request to the brokers.
const ASK: Duration = Duration::from_secs(10);
/// The time limit of reading a single record again.
const READ: Duration = Duration::from_secs(60);
/// How late a renewal of tokens and secrets may be: a mounted Secret takes up to two minutes to reach its
/// pods.
const RELOADED: Duration = Duration::from_secs(300);

/// Returns the settings that the consumer is created from.
fn credentials(kafka: &KafkaConfig, fetch: usize) -> anyhow::Result<Credentials> {
    let budget = FetchBudget {
        bytes: fetch,
        queues: 1,
    };
    kafka
        .credentials(budget)
        .map_err(|error| usage(format!("`[source]`, key {error}")))
}

/// The consumer's login, which is renewed during a run.
pub(crate) struct Login {
    current: CurrentCredentials,
    fetch: usize,
    commands: Sender<Command>,
}

impl Login {
    /// Creates the login with the credentials of the configuration.
    pub(crate) fn new(kafka: &KafkaConfig, fetch: usize, commands: Sender<Command>) -> anyhow::Result<Self> {
        let current = CurrentCredentials::new(credentials(kafka, fetch)?);
        Ok(Self {
            current,
            fetch,
            commands,
        })
    }

    /// Returns the credentials that the consumer shares with this login.
    pub(crate) fn current(&self) -> CurrentCredentials {
        self.current.clone()
    }

    /// Makes the consumer log in with new credentials once the brokers have accepted them; until then it
    /// keeps the old ones, which may still be valid. Gives up as soon as `stopped` returns true.
    pub(crate) fn renew(&self, kafka: &KafkaConfig, stopped: impl Fn() -> bool) -> anyhow::Result<()> {
        let asked = kafka.clone();
        // Unresponsive brokers must not keep a stopping program alive.
        match background::unless(stopped, move || Cluster::connect(&asked, ASK)?.id())? {
            Some(answer) => drop(answer?),
            None => anyhow::bail!("the program stopped before the brokers responded"),
        }
        self.current.replace(credentials(kafka, self.fetch)?);
        // A consumer that has ended does not connect again.
        drop(self.commands.send(Command::Reconnect));
        Ok(())
    }
}

/// Returns how long a refused login is tolerated: not at all, unless its token, ticket or secrets are renewed
/// from outside.
pub(crate) fn reload_within(config: &Config, kafka: &KafkaConfig) -> Duration {
    let by_file = |file: &SecretFile| file.key.starts_with("source.security.");
    if kafka.security.expires() || config.secret_files().iter().any(by_file) {
        RELOADED
    } else {
        Duration::ZERO
    }
}

/// Returns the id of the cluster, so that a chain is never continued from another cluster's log. `None` if
/// the brokers have none. Waits for unavailable brokers, up to `timeout` if it is given.
pub(crate) fn identity(
    kafka: &KafkaConfig,
    stop: &Stop,
    timeout: Option<Duration>,
) -> anyhow::Result<Option<String>> {
    ask(kafka, stop, timeout, |cluster| {
        let id = cluster.id()?;
        for topic in &kafka.topics {
            cluster.topic(topic)?;
        }
        Ok(id)
    })
}

/// Returns the ids of the topics that have one. Waits for unavailable brokers, up to `timeout` if it is
/// given.
pub(crate) fn topic_ids(
    kafka: &KafkaConfig,
    stop: &Stop,
    timeout: Option<Duration>,
) -> anyhow::Result<TopicIds> {
    let topics: Vec<&str> = kafka.topics.iter().map(String::as_str).collect();
    ask(kafka, stop, timeout, |cluster| cluster.topic_ids(&topics))
}

/// Returns the current log of every partition. Waits for unavailable brokers, up to `timeout` if it is
/// given.
pub(crate) fn logs(
    kafka: &KafkaConfig,
    stop: &Stop,
    timeout: Option<Duration>,
) -> anyhow::Result<Vec<LogRange>> {
    ask(kafka, stop, timeout, |cluster| {
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

/// Connects to the brokers to read single records.
pub(crate) fn cluster(kafka: &KafkaConfig) -> anyhow::Result<Cluster> {
    Cluster::connect(kafka, READ).map_err(|error| usage(format!("`[source]`: {error}")))
}

/// Sends a request to the brokers. Waits for unavailable brokers until the stop is requested or `timeout` is
/// over, since the operator often starts before they do.
fn ask<T>(
    kafka: &KafkaConfig,
    stop: &Stop,
    timeout: Option<Duration>,
    question: impl Fn(&Cluster) -> Result<T, KafkaClientError>,
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
            Err(error) if error.is_temporary() && timeout.is_none_or(|most| begun.elapsed() < most) => {
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
