//! The Kafka source's settings, and the librdkafka configuration they make.

use std::collections::{BTreeMap, BTreeSet};

use rdkafka::ClientConfig;
use rdkafka::error::KafkaError;
use rdkafka::types::RDKafkaConfRes;
use serde::Deserialize;

use super::properties::{Property, Refused};
use super::security::Security;
use super::source::Credentials;
use super::token::Login;

/// The least memory that fetching can do with: 4 MiB.
const LEAST_BUDGET: usize = 4 << 20;
/// What a batch may hold once it is decompressed, in bytes, however little memory there is: librdkafka's own default.
const LEAST_BATCH: usize = 100_000_000;
/// Bytes that one byte of a batch can become: Zstandard writes 128 KiB of one byte as a block of 4 (RFC 8878, sections 3.1.1.2.2 and
/// 3.1.1.2.4); the other codecs stay far below.
pub const MOST_EXPANSION: usize = (128 << 10) / 4;
/// The least that is asked for at a time, in bytes: librdkafka takes no less as `message.max.bytes`.
const LEAST_FETCH: usize = 1000;

/// Settings of the Kafka source.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KafkaConfig {
    /// Brokers to ask first, each `host:port`.
    pub brokers: Vec<String>,
    /// Topics to read, by name.
    pub topics: Vec<String>,
    /// The consumer group.
    pub group: String,
    /// Where a partition that has no output yet is read from.
    #[serde(default)]
    pub start: Start,
    /// How the group divides partitions among its members.
    #[serde(default)]
    pub assignment: Assignment,
    /// This member's fixed name (KIP-345): a restart within the session timeout keeps its partitions.
    pub group_instance_id: Option<String>,
    /// How to reach and log in to the brokers.
    #[serde(default)]
    pub security: Security,
    /// Further settings of librdkafka, by its own keys.
    #[serde(default)]
    pub properties: BTreeMap<String, Property>,
}

/// Where a partition that has no output yet is read from. One that has goes on where its output ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// The oldest record there is.
    #[default]
    Earliest,
    /// The first record that comes after the source has started.
    Latest,
}

/// How a group divides partitions among its members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Assignment {
    /// Only what moves is taken away (KIP-429).
    #[default]
    CooperativeSticky,
    /// Ranges of each topic; all partitions are given up at each rebalance.
    Range,
    /// In turn; all partitions are given up at each rebalance.
    Roundrobin,
}

impl Assignment {
    /// librdkafka's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CooperativeSticky => "cooperative-sticky",
            Self::Range => "range",
            Self::Roundrobin => "roundrobin",
        }
    }

    /// Whether a rebalance takes only what moves.
    pub const fn is_cooperative(self) -> bool {
        matches!(self, Self::CooperativeSticky)
    }
}

/// The memory that librdkafka's fetch buffers may take.
#[derive(Clone, Copy, Debug)]
pub struct FetchBudget {
    /// Bytes in all.
    pub bytes: usize,
    /// How many queues share them: 1 for the consumer's one queue, the number of partitions where each has its own
    /// (librdkafka's limit holds for each queue).
    pub queues: usize,
}

/// Kafka settings that cannot be. Names keys and settings; never a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KafkaConfigError {
    /// A key without a usable value.
    #[error("`{key}`: {problem}")]
    Key {
        /// The key.
        key: &'static str,
        /// What is wrong and what to write.
        problem: String,
    },
    /// A librdkafka setting that would break a guarantee.
    #[error("`properties.\"{key}\"` is refused: {reason}; {instead}")]
    Refused {
        /// librdkafka's key.
        key: String,
        /// What it would break.
        reason: &'static str,
        /// What to do.
        instead: &'static str,
    },
    /// A key that librdkafka does not have.
    #[error(
        "`properties.\"{0}\"`: librdkafka has no such setting; its CONFIGURATION.md lists those there are"
    )]
    Unknown(String),
    /// A value that librdkafka does not take, or a setting that this build leaves out.
    #[error(
        "`{0}`: librdkafka does not take this value, or was built without the feature; see its CONFIGURATION.md"
    )]
    Value(String),
}

pub(super) fn bad(key: &'static str, problem: impl Into<String>) -> KafkaConfigError {
    KafkaConfigError::Key {
        key,
        problem: problem.into(),
    }
}

impl KafkaConfig {
    /// Whether these settings can be used. Reaches no broker.
    ///
    /// # Errors
    /// The first thing wrong.
    pub fn validate(&self) -> Result<(), KafkaConfigError> {
        let budget = FetchBudget {
            bytes: 64 << 20,
            queues: 1,
        };
        self.client_config(budget).map(drop)
    }

    /// The consumer's librdkafka configuration.
    ///
    /// Half of the budget is for queued records (`queued.max.messages.kbytes`, which librdkafka may pass by one fetch a
    /// broker). librdkafka decompresses all batches of a fetch at once, so a fetch (`fetch.max.bytes`) is so small that it stays
    /// within the budget however far its batches expand. The first batch is fetched whatever its size, or the partition would stand
    /// still; it may hold twice the budget decompressed (`receive.message.max.bytes`). So a fetch brings one batch as a rule.
    /// `fetch.message.max.bytes` among the properties lifts the limit.
    ///
    /// # Errors
    /// [`KafkaConfigError`].
    pub fn client_config(&self, budget: FetchBudget) -> Result<ClientConfig, KafkaConfigError> {
        self.check_names()?;
        if budget.bytes < LEAST_BUDGET {
            let problem = format!(
                "{} bytes are too few for fetching; give at least {LEAST_BUDGET}",
                budget.bytes
            );
            return Err(bad("memory", problem));
        }
        let queued = budget.bytes / 2 / budget.queues.max(1);
        let mut config = self.connection()?;
        let a_broker = budget.bytes / self.brokers.len().max(1);
        let (fetch, of_partition) = match config.get("fetch.message.max.bytes") {
            // A user who sets it accepts that a fetch may expand beyond the budget.
            Some(bytes) => ((a_broker / 2).clamp(1 << 20, 50 << 20), bytes.to_owned()),
            None => {
                let fetch = (a_broker / MOST_EXPANSION).max(LEAST_FETCH);
                (fetch, fetch.to_string())
            }
        };
        config
            .set("group.id", &self.group)
            .set("partition.assignment.strategy", self.assignment.name())
            .set("enable.auto.commit", "false")
            .set("enable.auto.offset.store", "false")
            .set("auto.offset.reset", "error")
            .set("isolation.level", "read_committed")
            .set("check.crcs", "true")
            .set("enable.partition.eof", "true")
            .set("allow.auto.create.topics", "false")
            .set(
                "queued.max.messages.kbytes",
                (queued / 1024).clamp(1, 2_097_151).to_string(),
            )
            // A queued record costs a few hundred bytes besides its payload: short records must not pass the budget by that.
            .set(
                "queued.min.messages",
                (queued / 1024).clamp(1_000, 100_000).to_string(),
            )
            .set("fetch.max.bytes", fetch.to_string())
            // librdkafka raises `fetch.max.bytes` to it.
            .set("message.max.bytes", fetch.to_string());
        if config.get("receive.message.max.bytes").is_none() {
            // Also the most that a batch may hold decompressed; a batch above it cannot be read at all.
            let batch = (2 * budget.bytes).clamp(LEAST_BATCH, i32::MAX as usize);
            config.set("receive.message.max.bytes", batch.to_string());
        }
        for (key, value) in [
            // The default waits a second after a full queue, which starves lanes when the queue is small.
            ("fetch.queue.backoff.ms", "20"),
            ("fetch.message.max.bytes", &of_partition),
        ] {
            if config.get(key).is_none() {
                config.set(key, value);
            }
        }
        if let Some(name) = &self.group_instance_id {
            config.set("group.instance.id", name);
        }
        check_native(&config, &self.properties)?;
        Ok(config)
    }

    /// What the consumer is made of.
    ///
    /// # Errors
    /// [`KafkaConfigError`].
    pub fn credentials(&self, budget: FetchBudget) -> Result<Credentials, KafkaConfigError> {
        Ok(Credentials {
            client: self.client_config(budget)?,
            login: self.login(),
        })
    }

    /// What a client logs in with besides its settings. Clients that are made together share one.
    pub fn login(&self) -> Login {
        self.security.login()
    }

    /// What any client of these brokers needs: addresses, login, and the further settings.
    ///
    /// # Errors
    /// [`KafkaConfigError`].
    pub fn connection(&self) -> Result<ClientConfig, KafkaConfigError> {
        for (key, Property(value)) in &self.properties {
            if let Some(rule) = Refused::of(key, value) {
                return Err(KafkaConfigError::Refused {
                    key: key.clone(),
                    reason: rule.reason,
                    instead: rule.instead,
                });
            }
        }
        let mut config = ClientConfig::new();
        config.set("client.id", "lethe");
        for (key, Property(value)) in &self.properties {
            config.set(key, value);
        }
        config.set("bootstrap.servers", self.brokers.join(","));
        self.security.apply(&mut config)?;
        Ok(config)
    }

    fn check_names(&self) -> Result<(), KafkaConfigError> {
        if self.brokers.is_empty() {
            return Err(bad("brokers", "name at least one, as host:port"));
        }
        for broker in &self.brokers {
            let port = broker
                .rsplit_once(':')
                .and_then(|(_, port)| port.parse::<u16>().ok());
            if broker.contains([',', ' ']) || port.is_none() {
                return Err(bad(
                    "brokers",
                    format!("\"{broker}\" is not host:port; one broker an entry"),
                ));
            }
        }
        if self.topics.is_empty() {
            return Err(bad("topics", "name at least one"));
        }
        let mut seen = BTreeSet::new();
        for topic in &self.topics {
            if topic.starts_with('^') || topic.contains(['*', '+', '?', '[', '(', '|', '\\', '$']) {
                let problem = format!(
                    "\"{topic}\" looks like a pattern; name each topic: one that appears later would be read without anybody having decided it"
                );
                return Err(bad("topics", problem));
            }
            let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
            if topic.is_empty()
                || topic.len() > 249
                || matches!(topic.as_str(), "." | "..")
                || !topic.chars().all(legal)
            {
                let problem = format!(
                    "\"{topic}\" is no topic name: 1 to 249 letters, digits, dots, underscores and hyphens, not \".\" or \"..\""
                );
                return Err(bad("topics", problem));
            }
            if !seen.insert(topic) {
                return Err(bad("topics", format!("\"{topic}\" is there twice")));
            }
        }
        if self.group.trim().is_empty() {
            return Err(bad("group", "name the consumer group"));
        }
        if self.group_instance_id.as_ref().is_some_and(String::is_empty) {
            return Err(bad("group_instance_id", "name this member, or leave it out"));
        }
        Ok(())
    }
}

/// Asks librdkafka whether it knows each key and takes each value. Its own message quotes the value, so it is not used.
fn check_native(
    config: &ClientConfig,
    properties: &BTreeMap<String, Property>,
) -> Result<(), KafkaConfigError> {
    match config.create_native_config() {
        Ok(_) => Ok(()),
        Err(KafkaError::ClientConfig(RDKafkaConfRes::RD_KAFKA_CONF_UNKNOWN, _, key, _))
            if properties.contains_key(&key) =>
        {
            Err(KafkaConfigError::Unknown(key))
        }
        Err(KafkaError::ClientConfig(_, _, key, _)) => Err(KafkaConfigError::Value(key)),
        Err(_) => Err(bad("properties", "a key or a value holds a NUL character")),
    }
}
