//! Emitting: the messages that notes came in, redacted, published from the chains that hold them.
//!
//! The stream writes a redacted message beside its note, in the same file and under the same promise: once, or not at all. What
//! is here reads the chains like a log and hands messages on, and has no part in that promise. A topic gets each message
//! exactly once, for consumers that read committed records: messages and how far they go are one transaction, and a second
//! emitter of the same chain fences the first off (KIP-98, KIP-447). A folder gets each as a file that is created once.
//!
//! A gap in a chain, a tombstone and a quarantined event have no message. They are passed over, and counted.

mod folder;
mod kafka;
mod read;

use async_trait::async_trait;

use crate::kafka::KafkaProblem;
use crate::sink::{ChainError, ChainId};
use crate::store::StoreError;

pub use folder::FolderEmitter;
pub use kafka::{KafkaEmitConfig, KafkaEmitter};
pub use read::{Stretch, chains, read_from};

/// A redacted message and the offset of the record that it was.
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

/// Where messages go.
#[async_trait]
pub trait Emitter: Send {
    /// The offset that the chain is emitted up to; 0 if nothing of it is.
    ///
    /// # Errors
    /// [`EmitError`].
    async fn position(&mut self, chain: &ChainId) -> Result<i64, EmitError>;

    /// Emits what a stretch of the chain holds, all of it or nothing, and remembers its end.
    ///
    /// # Errors
    /// [`EmitError`]. What was not emitted is emitted when the stretch is read again.
    async fn emit(&mut self, chain: &ChainId, stretch: &Stretch) -> Result<(), EmitError>;

    /// Where that is, for messages.
    fn describe(&self) -> String;
}

/// Why something was not emitted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmitError {
    /// A chain's file cannot be read.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// The store's error.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What Kafka says.
    #[error(transparent)]
    Kafka(#[from] KafkaProblem),
    /// Another emitter has taken this chain over: this one must stop.
    #[error("{chain}: another emitter of the same group has taken over")]
    Fenced {
        /// The chain.
        chain: ChainId,
    },
    /// The transaction failed; it may be tried again.
    #[error("{chain}: the transaction to topic {topic} was given up ({code}); it is tried again")]
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
    /// Whether trying again may help.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Aborted { .. } => true,
            Self::Store(error) | Self::Chain(ChainError::Store(error)) => error.is_transient(),
            _ => false,
        }
    }
}
