//! Publishes the redacted messages that chains hold.
//!
//! The stream writes a redacted message in the same file as its note, so that it exists exactly once. This
//! module reads the chains like a log and publishes the messages; the stream does not depend on it. A topic
//! gets each message exactly once, for consumers that read committed records: messages and position are one
//! transaction, and a second emitter of the same chain fences the first off (KIP-98, KIP-447). A folder gets
//! each message as a file that is created once.
//!
//! Gaps in a chain, tombstones and quarantined events have no message. They are skipped and counted.

mod folder;
#[cfg(feature = "kafka")]
mod kafka;
mod read;

use async_trait::async_trait;

#[cfg(feature = "kafka")]
use crate::kafka::KafkaClientError;
use crate::sink::{ChainError, ChainId};
use crate::store::StoreError;

pub use folder::FolderEmitter;
#[cfg(feature = "kafka")]
pub use kafka::{KafkaEmitConfig, KafkaEmitter};
pub use read::{Stretch, chains, read_from};

/// A redacted message and the offset of its record.
#[derive(Clone)]
pub struct Message {
    /// The record's offset.
    pub offset: i64,
    /// The message.
    pub bytes: bytes::Bytes,
}

impl std::fmt::Debug for Message {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Message({}, [{} bytes])", self.offset, self.bytes.len())
    }
}

/// A destination of messages.
#[async_trait]
pub trait Emitter: Send {
    /// Returns the offset up to which the chain is emitted; 0 if nothing is.
    ///
    /// # Errors
    /// [`EmitError`].
    async fn position(&mut self, chain: &ChainId) -> Result<i64, EmitError>;

    /// Emits a stretch of the chain, all of it or nothing, and stores its end.
    ///
    /// # Errors
    /// [`EmitError`]. Messages that were not emitted are emitted when the stretch is read again.
    async fn emit(&mut self, chain: &ChainId, stretch: &Stretch) -> Result<(), EmitError>;

    /// Describes the destination for messages.
    fn describe(&self) -> String;
}

/// Why a message was not emitted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmitError {
    /// A file of the chain cannot be read.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// The store's error.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An error of Kafka.
    #[cfg(feature = "kafka")]
    #[error(transparent)]
    Kafka(#[from] KafkaClientError),
    /// Another emitter has taken over this chain; this one must stop.
    #[error("{chain}: another emitter of the same group has taken over")]
    Fenced {
        /// The chain.
        chain: ChainId,
    },
    /// The transaction failed; it may be retried.
    #[error("{chain}: the transaction to topic {topic} was aborted ({code}); Lethe retries it")]
    Aborted {
        /// The chain.
        chain: ChainId,
        /// The topic.
        topic: String,
        /// librdkafka's code.
        code: String,
    },
}

impl EmitError {
    /// Returns whether a retry may help.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Aborted { .. } => true,
            Self::Store(error) | Self::Chain(ChainError::Store(error)) => error.is_transient(),
            _ => false,
        }
    }
}
