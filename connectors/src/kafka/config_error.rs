//! Errors of the Kafka settings.

/// Invalid Kafka settings. Messages name keys and settings, never a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KafkaConfigError {
    /// A key has no usable value.
    #[error("`{key}`: {problem}")]
    Key {
        /// The key.
        key: &'static str,
        /// The problem, and what to write.
        problem: String,
    },
    /// A librdkafka setting that would break a guarantee.
    #[error("`properties.\"{key}\"` is refused: {reason}; {instead}")]
    Refused {
        /// librdkafka's key.
        key: String,
        /// The guarantee that it would break.
        reason: &'static str,
        /// What to do.
        instead: &'static str,
    },
    /// librdkafka has no such key.
    #[error("`properties.\"{0}\"`: librdkafka has no such setting; its CONFIGURATION.md lists all settings")]
    Unknown(String),
    /// librdkafka rejects the value, or this build lacks the setting.
    #[error(
        "`{0}`: librdkafka rejects this value, or was built without the feature; see its CONFIGURATION.md"
    )]
    Value(String),
}

pub(super) fn bad(key: &'static str, problem: impl Into<String>) -> KafkaConfigError {
    KafkaConfigError::Key {
        key,
        problem: problem.into(),
    }
}
