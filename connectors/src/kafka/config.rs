//! The Kafka source's settings, and the librdkafka configuration that follows from them.

use std::collections::{BTreeMap, BTreeSet};

use rdkafka::ClientConfig;
use rdkafka::error::KafkaError;
use rdkafka::types::RDKafkaConfRes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::config_error::{KafkaConfigError, bad};
use super::properties::{Property, Refused};
use super::security::Security;
use super::source::Credentials;
use super::token::Login;
use crate::source::Start;

/// Minimum memory for fetching: 4 MiB.
const LEAST_BUDGET: usize = 4 << 20;
/// Minimum size of a decompressed batch in bytes, however small the budget: librdkafka's default.
const LEAST_BATCH: usize = 100_000_000;
/// Maximum expansion of one byte of a batch: Zstandard encodes 128 KiB of one byte as a block of 4 (RFC 8878,
/// sections 3.1.1.2.2 and 3.1.1.2.4); the other codecs stay far below.
pub const MOST_EXPANSION: usize = (128 << 10) / 4;
/// Minimum fetch size in bytes: the smallest `message.max.bytes` that librdkafka accepts.
const LEAST_FETCH: usize = 1000;

/// Settings of the Kafka source.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KafkaConfig {
    /// Bootstrap brokers, each `host:port`.
    #[schemars(extend("examples" = [["broker-1:9092", "broker-2:9092"]]))]
    pub brokers: Vec<String>,
    /// Topics to read, by name. Patterns are refused.
    #[schemars(extend("examples" = [["notes"]]))]
    pub topics: Vec<String>,
    /// The consumer group. All processes with the same group share the partitions.
    #[schemars(extend("examples" = ["lethe"]))]
    pub group: String,
    /// Where to begin reading a partition that has no output yet. A partition with output continues at its
    /// end.
    #[serde(default)]
    pub start: Start,
    /// How the group assigns partitions to its members.
    #[serde(default)]
    pub assignment: Assignment,
    /// This process's fixed name in the group (KIP-345). A restart within the session timeout then keeps its
    /// partitions, without a rebalance. Each process of a group needs its own name. By default the process
    /// has none, and each restart rebalances the group.
    #[schemars(extend("examples" = ["${HOSTNAME}"]))]
    pub group_instance_id: Option<String>,
    /// TLS and login. By default connections are neither encrypted nor authenticated.
    #[serde(default)]
    pub security: Security,
    /// Further librdkafka settings by their own keys. Lethe refuses those that would break a guarantee, and
    /// names the reason.
    #[serde(default)]
    #[schemars(extend("examples" = [{ "socket.keepalive.enable": true }]))]
    pub properties: BTreeMap<String, Property>,
}

/// How a group assigns partitions to its members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Assignment {
    /// Revokes only partitions that move (KIP-429).
    #[default]
    CooperativeSticky,
    /// Ranges of each topic; each rebalance revokes all partitions.
    Range,
    /// Round robin; each rebalance revokes all partitions.
    Roundrobin,
}

impl Assignment {
    /// Returns librdkafka's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CooperativeSticky => "cooperative-sticky",
            Self::Range => "range",
            Self::Roundrobin => "roundrobin",
        }
    }

    /// Returns whether a rebalance revokes only partitions that move.
    pub const fn is_cooperative(self) -> bool {
        matches!(self, Self::CooperativeSticky)
    }
}

/// The memory for librdkafka's fetch buffers.
#[derive(Clone, Copy, Debug)]
pub struct FetchBudget {
    /// Total bytes.
    pub bytes: usize,
    /// Number of queues that share them: 1 for the consumer's single queue, the number of partitions if each
    /// has its own (librdkafka's limit applies to each queue).
    pub queues: usize,
}

impl KafkaConfig {
    /// Checks these settings without connecting to a broker.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn validate(&self) -> Result<(), KafkaConfigError> {
        let budget = FetchBudget {
            bytes: 64 << 20,
            queues: 1,
        };
        self.client_config(budget).map(drop)
    }

    /// Returns the consumer's librdkafka configuration.
    ///
    /// Half of the budget is for queued records (`queued.max.messages.kbytes`, which librdkafka may exceed by
    /// one fetch per broker). librdkafka decompresses all batches of a fetch at once, so `fetch.max.bytes` is
    /// small enough that a fetch stays within the budget however far its batches expand. The first batch is
    /// fetched whatever its size, or the partition would stall; decompressed it may take twice the budget
    /// (`receive.message.max.bytes`). So a fetch usually brings one batch. `fetch.message.max.bytes` in the
    /// properties lifts the limit.
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
            // A queued record costs a few hundred bytes in addition to its payload, which would exceed the
            // budget for short records.
            .set(
                "queued.min.messages",
                (queued / 1024).clamp(1_000, 100_000).to_string(),
            )
            .set("fetch.max.bytes", fetch.to_string())
            // librdkafka raises `fetch.max.bytes` to it.
            .set("message.max.bytes", fetch.to_string());
        if config.get("receive.message.max.bytes").is_none() {
            // This also limits a decompressed batch; a larger one cannot be read at all.
            let batch = (2 * budget.bytes).clamp(LEAST_BATCH, i32::MAX as usize);
            config.set("receive.message.max.bytes", batch.to_string());
        }
        for (key, value) in [
            // The default backoff of 1 s after a full queue starves lanes if the queue is small.
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

    /// Returns the consumer's configuration and login.
    ///
    /// # Errors
    /// [`KafkaConfigError`].
    pub fn credentials(&self, budget: FetchBudget) -> Result<Credentials, KafkaConfigError> {
        Ok(Credentials {
            client: self.client_config(budget)?,
            login: self.login(),
        })
    }

    /// Returns the login. Clients that are created together share one.
    pub fn login(&self) -> Login {
        self.security.login()
    }

    /// Returns the settings that every client of these brokers needs: addresses, login, and further settings.
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
                    format!("\"{broker}\" is not host:port; write one broker per entry"),
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
                    "\"{topic}\" looks like a pattern; name each topic, since a pattern would also read topics that are created later"
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
                    "\"{topic}\" is not a topic name: it must have 1 to 249 letters, digits, dots, underscores and hyphens, not \".\" or \"..\""
                );
                return Err(bad("topics", problem));
            }
            if !seen.insert(topic) {
                return Err(bad("topics", format!("\"{topic}\" is listed twice")));
            }
        }
        if self.group.trim().is_empty() {
            return Err(bad("group", "set the consumer group"));
        }
        if self.group_instance_id.as_ref().is_some_and(String::is_empty) {
            return Err(bad("group_instance_id", "name this member, or leave it out"));
        }
        Ok(())
    }
}

/// Checks with librdkafka that each key exists and each value is valid. Its own message quotes the value, so
/// it is dropped.
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
