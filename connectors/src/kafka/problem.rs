//! Why Kafka cannot be used: the errors tell apart a broker that is down, a login refused, a topic missing and a right that
//! is not there, for each has another remedy.

use rdkafka::error::RDKafkaErrorCode as Code;

use super::config::KafkaConfigError;
use super::token::TokenError;

/// Why Kafka cannot be used. Names brokers, topics and groups; never a secret or a note.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KafkaProblem {
    /// The settings.
    #[error(transparent)]
    Config(#[from] KafkaConfigError),
    /// librdkafka could not make a client, for instance because it cannot read a certificate.
    #[error("librdkafka made no client: {0}; check the files named in the `security` table")]
    Client(String),
    /// No broker answered in time.
    #[error(
        "no broker of {brokers} answered within {seconds} s: {reason}; check `brokers`, that they run, and the `security` protocol"
    )]
    Unreachable {
        /// As configured.
        brokers: String,
        /// How long was waited.
        seconds: u64,
        /// librdkafka's last word.
        reason: String,
    },
    /// The brokers refused the login.
    #[error("the brokers refused the login: {reason}; check {check}")]
    Login {
        /// librdkafka's last word.
        reason: String,
        /// What to look at.
        check: &'static str,
    },
    /// There is no token to log in with.
    #[error("no token to log in with: {0}")]
    NoToken(TokenError),
    /// TLS failed.
    #[error("TLS failed: {reason}; check `ca` in the `security` table, and that the port speaks TLS")]
    Tls {
        /// librdkafka's last word.
        reason: String,
    },
    /// There is no such topic.
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
    /// Anything else that a broker answered.
    #[error("{what} failed: {code}")]
    Broker {
        /// What was asked.
        what: &'static str,
        /// Kafka's code.
        code: Code,
    },
    /// A record was not taken.
    #[error("a record for topic \"{topic}\" was not delivered: {code}")]
    Undelivered {
        /// The topic.
        topic: String,
        /// Kafka's code.
        code: Code,
    },
    /// The embedded broker has dropped records, as it does beyond 5 MiB or 100,000 batches a partition.
    #[error(
        "the embedded broker kept offsets {low}..{high} of {sent} records in {topic}/{partition}: it holds 5 MiB a partition; use more partitions or fewer notes"
    )]
    Trimmed {
        /// The topic.
        topic: String,
        /// The partition.
        partition: i32,
        /// First offset kept.
        low: i64,
        /// One past the last.
        high: i64,
        /// Records sent there.
        sent: i64,
    },
}

impl KafkaProblem {
    /// Whether it may pass without anybody's help: brokers, or the server that gives tokens, are away.
    pub const fn is_temporary(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::NoToken(error) => error.is_temporary(),
            _ => false,
        }
    }
}
