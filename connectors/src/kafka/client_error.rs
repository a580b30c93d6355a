//! Errors of Kafka. They distinguish unavailable brokers, a refused login, a missing topic and a missing
//! permission, since each needs another fix.

use rdkafka::error::RDKafkaErrorCode as Code;

use super::config_error::KafkaConfigError;
use super::token::TokenError;

/// Why Kafka cannot be used. Messages name brokers, topics and groups, never a secret or a note.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KafkaClientError {
    /// The settings are invalid.
    #[error(transparent)]
    Config(#[from] KafkaConfigError),
    /// librdkafka could not create a client, for instance because it cannot read a certificate.
    #[error("librdkafka could not create a client: {0}; check the files named in the `security` table")]
    Client(String),
    /// No broker responded in time.
    #[error(
        "no broker of {brokers} responded within {seconds} s: {reason}; check `brokers`, whether they run, and the `security` protocol"
    )]
    Unreachable {
        /// The configured brokers.
        brokers: String,
        /// The timeout.
        seconds: u64,
        /// librdkafka's last message.
        reason: String,
    },
    /// The brokers refused the login.
    #[error("the brokers refused the login: {reason}; check {check}")]
    Login {
        /// librdkafka's last message.
        reason: String,
        /// What to check.
        check: &'static str,
    },
    /// No token is available for the login.
    #[error("no token for the login: {0}")]
    NoToken(TokenError),
    /// TLS failed.
    #[error("TLS failed: {reason}; check `ca` in the `security` table, and that the port speaks TLS")]
    Tls {
        /// librdkafka's last message.
        reason: String,
    },
    /// The topic does not exist.
    #[error("topic \"{topic}\" does not exist; create it, or correct `topics`")]
    TopicMissing {
        /// The topic.
        topic: String,
    },
    /// The user may not read the topic.
    #[error("the brokers refuse topic \"{topic}\" to this user; grant READ and DESCRIBE on it")]
    TopicDenied {
        /// The topic.
        topic: String,
    },
    /// The user may not use the group.
    #[error("the brokers refuse group \"{group}\" to this user; grant READ on it")]
    GroupDenied {
        /// The group.
        group: String,
    },
    /// Any other error of a broker.
    #[error("{what} failed: {code}")]
    Broker {
        /// The operation.
        what: &'static str,
        /// Kafka's code.
        code: Code,
    },
    /// A record was not delivered.
    #[error("a record for topic \"{topic}\" was not delivered: {code}")]
    Undelivered {
        /// The topic.
        topic: String,
        /// Kafka's code.
        code: Code,
    },
    /// The embedded broker dropped records, as it does beyond 5 MiB or 100,000 batches per partition.
    #[error(
        "the embedded broker kept offsets {low}..{high} of {sent} records in {topic}/{partition}: it holds 5 MiB per partition; use more partitions or fewer notes"
    )]
    Trimmed {
        /// The topic.
        topic: String,
        /// The partition.
        partition: i32,
        /// First offset kept.
        low: i64,
        /// The offset after the last one kept.
        high: i64,
        /// Number of records sent.
        sent: i64,
    },
}

impl KafkaClientError {
    /// Returns whether it may resolve without intervention, because brokers or the token server are
    /// unavailable.
    pub const fn is_temporary(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::NoToken(error) => error.is_temporary(),
            _ => false,
        }
    }
}
