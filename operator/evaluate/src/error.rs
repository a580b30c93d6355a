//! Why an evaluation was refused.

use lethe_core::SpanError;

/// Why gold and predictions cannot be held against each other. Holds names, ids and offsets, never text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvaluateError {
    /// There is nothing to score against.
    #[error("gold holds no document")]
    NoGold,
    /// Two systems would be one in the report.
    #[error("two systems are called `{name}`")]
    SameName {
        /// The name.
        name: String,
    },
    /// An id stands for two documents.
    #[error("{side} holds document `{id}` twice")]
    Duplicate {
        /// `gold`, or the system's name.
        side: String,
        /// The document.
        id: String,
    },
    /// A prediction for a document that gold lacks: most often the wrong gold file.
    #[error("{system} has predictions for document `{id}`, which gold has not")]
    Unknown {
        /// The system.
        system: String,
        /// The document.
        id: String,
    },
    /// The predictions were made on another text, so their offsets mean something else.
    #[error("{system}, document `{id}`: its text ({found} bytes) is not gold's ({expected} bytes)")]
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
    /// A span is none of its document's text.
    #[error("{side}, document `{id}`, span {index}: {source}")]
    Span {
        /// `gold`, `training`, or the system's name.
        side: String,
        /// The document.
        id: String,
        /// Which of the document's marks, from 0.
        index: usize,
        /// What is wrong.
        source: SpanError,
    },
    /// A span covers nothing.
    #[error("{side}, document `{id}`, span {index} is empty (at byte {at})")]
    Empty {
        /// `gold`, `training`, or the system's name.
        side: String,
        /// The document.
        id: String,
        /// Which of the document's marks, from 0.
        index: usize,
        /// Where it lies.
        at: usize,
    },
    /// F-beta needs a weight.
    #[error("beta is {0}, but must be a number above 0")]
    Beta(f64),
}
