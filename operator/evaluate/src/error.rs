//! Why an evaluation was refused.

use lethe_core::SpanError;

/// Why gold and predictions cannot be compared. It holds names, ids and offsets, never text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvaluateError {
    /// There is nothing to score against.
    #[error("gold has no documents")]
    NoGold,
    /// Two systems have the same name, so that the report could not tell them apart.
    #[error("two systems are called `{name}`")]
    SameName {
        /// The name.
        name: String,
    },
    /// Two documents have the same id.
    #[error("{side} has two documents with the id `{id}`")]
    Duplicate {
        /// `gold`, or the system's name.
        side: String,
        /// The document.
        id: String,
    },
    /// A prediction for a document that gold lacks; the usual cause is the wrong gold file.
    #[error("{system} has predictions for document `{id}`, which is not in gold")]
    Unknown {
        /// The system.
        system: String,
        /// The document.
        id: String,
    },
    /// The predictions were made on another text, so their offsets do not apply.
    #[error("{system}, document `{id}`: its text ({found} bytes) differs from gold's ({expected} bytes)")]
    OtherText {
        /// The system.
        system: String,
        /// The document.
        id: String,
        /// Bytes of its text.
        found: usize,
        /// Bytes of gold's text.
        expected: usize,
    },
    /// A span does not lie in its document's text.
    #[error("{side}, document `{id}`, span {index}: {source}")]
    Span {
        /// `gold`, `training`, or the system's name.
        side: String,
        /// The document.
        id: String,
        /// The index of the document's annotation, from 0.
        index: usize,
        /// The cause.
        source: SpanError,
    },
    /// A span is empty.
    #[error("{side}, document `{id}`, span {index} is empty (at byte {at})")]
    Empty {
        /// `gold`, `training`, or the system's name.
        side: String,
        /// The document.
        id: String,
        /// The index of the document's annotation, from 0.
        index: usize,
        /// Its position.
        at: usize,
    },
    /// Beta is not a positive number.
    #[error("beta is {0}; it must be a positive number")]
    Beta(f64),
}
