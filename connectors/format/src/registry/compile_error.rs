//! Why a schema cannot be used.

/// Why a schema, or a file of schemas, cannot be compiled to a reader of its records. Messages quote the
/// schema, never a record.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CompileError {
    #[error("it is not written in {0}")]
    Language(&'static str),
    /// The message of the language's parser.
    #[error("{0}")]
    Syntax(String),
    #[error("it refers to {0}, which is not defined")]
    Undefined(String),
    #[error("its types are nested too deeply")]
    Depth,
    #[error("it compiled to nothing")]
    Empty,
    #[error("its compiler panicked")]
    Panicked,
    #[error("{0}")]
    Read(#[from] std::io::Error),
    #[error("its name is not UTF-8")]
    FileName,
    /// The message of the parser of descriptors.
    #[error("is neither named .proto nor a FileDescriptorSet: {0}")]
    Descriptors(String),
    #[error("contains no file")]
    NoFile,
    #[error("has no message")]
    NoMessage,
    #[error("has several messages: set one as `message`")]
    SeveralMessages,
    #[error("has no message {0}: set its full name, with the package, as `message`")]
    MessageMissing(String),
}
