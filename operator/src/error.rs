//! Why an engine cannot be built, or a note not be redacted.

/// An error of this crate. It never quotes a note.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bundle is neither built in nor a folder, or is damaged or not signed.
    #[error("bundle: {0}")]
    Bundle(String),
    /// The dictionary file cannot be read or is not a compiled dictionary.
    #[error("dictionary: {0}")]
    Dictionary(String),
    /// The policy is not valid or not allowed, or a file that it names cannot be read. The message names the key.
    #[error("policy: {0}")]
    Policy(String),
    /// The note cannot be processed completely, so nothing of it is returned. `docs/quarantine.md` explains the
    /// code.
    #[error("the note cannot be redacted ({code})")]
    Quarantined {
        /// The code, as in the column `quarantine` of the program's output.
        code: String,
    },
    /// A service that the policy needs does not respond, such as its vault. The same call may succeed later.
    #[error("the note cannot be redacted now ({reason})")]
    Unavailable {
        /// What is unavailable.
        reason: String,
    },
}
