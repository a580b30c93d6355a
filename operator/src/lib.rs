//! De-identification of clinical notes, as a library.
//!
//! An [`Engine`] finds identifiers in a note with the members of a bundle and replaces them. It is the engine of the
//! `lethe` program: the same bundle, policy and version give the same text. Without default features, the crate
//! needs neither Kafka nor object stores nor PostgreSQL.
//!
//! ```
//! let engine = lethe::Engine::builtin("en-clinical")?;
//! let redacted = engine.redact("Seen by Dr. Okafor on 03/05/2021.")?;
//! assert_eq!(redacted.text(), "Seen by Dr. [DOCTOR] on [DATE].");
//! # Ok::<(), lethe::Error>(())
//! ```
//!
//! [`Engine::builder`] sets a bundle of your own and a policy, which decides how each kind of identifier is replaced:
//!
//! ```
//! use lethe::{Engine, Known, Note};
//!
//! let engine = Engine::builder().bundle("en-fast").policy("mode = \"safe-harbor\"\n").build()?;
//! let note = Note::new("Quill was seen today.").known(Known::Patient, "Henry Quill");
//! assert!(!engine.redact(note)?.text().contains("Quill"));
//! # Ok::<(), lethe::Error>(())
//! ```
//!
//! An engine is `Send` and `Sync`: share one between threads, since each has its own copy of the model in memory.
//! Errors name files, keys and codes, and never quote a note.

mod builder;
mod engine;
mod error;
mod note;
mod redacted;

pub use builder::EngineBuilder;
pub use engine::Engine;
pub use error::Error;
pub use lethe_ensemble::OperatingPoint;
pub use note::{Known, Note};
pub use redacted::{Redacted, Span};

/// Returns the names of the bundles that the crate contains.
///
/// ```
/// assert!(lethe::builtin_bundles().any(|name| name == "en-fast"));
/// ```
pub fn builtin_bundles() -> impl Iterator<Item = &'static str> {
    lethe_bundles::names()
}
