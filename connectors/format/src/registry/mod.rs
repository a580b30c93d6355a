//! Schemas that are kept apart from the payloads: a registry, and the frame that names one of its schemas.
//!
//! Invariant: a registry that cannot be reached costs no record. [`Format::prepare`](crate::Format::prepare) asks for
//! the schema that a payload names before the payload is read, and says [`Unavailable`] until the registry has
//! answered; only an answer (there is no such schema, or none that a note could have) quarantines.
//!
//! No network here: who implements [`Schemas`] knows how to ask.

mod catalogue;
mod config;
mod frame;

use std::path::Path;
use std::sync::Arc;

use crate::FormatError;

pub(crate) use catalogue::Catalogue;
pub use config::RegistryConfig;
pub(crate) use frame::{schema_id, schema_path};

/// The language that a schema is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Language {
    /// Apache Avro, as JSON.
    Avro,
    /// Protocol Buffers, as the source of a `.proto` file.
    Protobuf,
    /// Another, which no format here reads.
    Other,
}

/// A schema, with every schema that it refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    /// What it is written in.
    pub language: Language,
    /// The schema itself.
    pub text: String,
    /// What it refers to, and what these refer to; each before those that need it.
    pub references: Vec<Reference>,
}

/// A schema that another refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// How it is referred to: a full name in Avro, the path of an import in Protobuf.
    pub name: String,
    /// The schema.
    pub text: String,
}

/// Where schemas are asked for. One instance serves every lane; calls may block, and come from threads that may.
pub trait Schemas: Send + Sync {
    /// The schema of that id. Called once an id, if it answers: the caller remembers.
    ///
    /// # Errors
    /// [`SchemaError`].
    fn schema(&self, id: u32) -> Result<Arc<Schema>, SchemaError>;
}

/// Why there is no schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// The registry says that it has none of that id.
    #[error("the registry has no such schema")]
    NotFound,
    /// The registry has one, and it is of no use: what it refers to is not there, or it is too large.
    #[error("the schema cannot be used: {0}")]
    Unusable(String),
    /// The registry did not answer, or not as a registry does. It will, once it is up or its settings are right.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// What a format needs is away: to be tried again, since it is not the payload's fault. Says who and why, never what
/// was in a payload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unavailable(String);

impl Unavailable {
    /// `why` names what is away and how that showed.
    pub fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

/// The text of a schema file.
///
/// # Errors
/// [`FormatError::SchemaFile`].
pub(crate) fn read_file(path: &Path) -> Result<String, FormatError> {
    std::fs::read_to_string(path).map_err(|error| FormatError::SchemaFile {
        path: path.display().to_string(),
        why: error.to_string(),
    })
}

/// Opens the registry that a configuration names.
pub type Open<'a> = &'a dyn Fn(&RegistryConfig) -> Result<Arc<dyn Schemas>, FormatError>;
