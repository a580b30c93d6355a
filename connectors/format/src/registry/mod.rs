//! Schemas that are stored outside of the payloads: a registry, and the frame that refers to one of its
//! schemas.
//!
//! Invariant: an unavailable registry loses no record. [`Format::prepare`](crate::Format::prepare) fetches a
//! payload's schema before the payload is read, and returns [`Unavailable`] until the registry has responded.
//! Only a response (the schema does not exist, or cannot contain a note) quarantines.
//!
//! This module does no networking: implementations of [`Schemas`] do.

mod catalogue;
mod compile_error;
mod config;
mod frame;

use std::path::Path;
use std::sync::Arc;

use crate::FormatError;

pub(crate) use catalogue::Catalogue;
pub(crate) use compile_error::CompileError;
pub use config::RegistryConfig;
pub(crate) use frame::{schema_id, schema_path};

/// The language of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Language {
    /// Apache Avro, as JSON.
    Avro,
    /// Protocol Buffers, as the source of a `.proto` file.
    Protobuf,
    /// Another language, which no format here reads.
    Other,
}

/// A schema with every schema that it refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    /// Its language.
    pub language: Language,
    /// The schema itself.
    pub text: String,
    /// The referenced schemas, direct and indirect; each before those that need it.
    pub references: Vec<Reference>,
}

/// A schema that another refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Its name in the reference: a full name in Avro, an import path in Protobuf.
    pub name: String,
    /// The schema.
    pub text: String,
}

/// A source of schemas. One instance serves every lane; calls may block, and come from threads that may.
pub trait Schemas: Send + Sync {
    /// Returns the schema with that id. Called once per id if it responds, since the caller caches.
    ///
    /// # Errors
    /// [`SchemaError`].
    fn schema(&self, id: u32) -> Result<Arc<Schema>, SchemaError>;
}

/// Why there is no schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// The registry has no schema with that id.
    #[error("the registry has no such schema")]
    NotFound,
    /// The schema is unusable: a referenced schema is missing, or it is too large.
    #[error("the schema cannot be used: {0}")]
    Unusable(String),
    /// The registry did not respond, or not as a registry does. A later request may succeed, once it is up or
    /// its settings are right.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// A dependency of the format is unavailable: retry, since the payload is not at fault. The message names the
/// dependency and the reason, never content of a payload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unavailable(String);

impl Unavailable {
    /// `why` names the unavailable dependency and the symptom.
    pub fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

/// Returns the text of a schema file.
///
/// # Errors
/// [`FormatError::SchemaFile`].
pub(crate) fn read_file(path: &Path) -> Result<String, FormatError> {
    std::fs::read_to_string(path).map_err(|error| FormatError::SchemaFile {
        path: path.display().to_string(),
        why: error.to_string(),
    })
}

/// Opens the registry of a configuration.
pub type Open<'a> = &'a dyn Fn(&RegistryConfig) -> Result<Arc<dyn Schemas>, FormatError>;
