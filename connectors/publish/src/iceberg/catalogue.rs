//! What keeps the state of a table: a REST catalogue, or the table's own folder.

use std::sync::Arc;

use super::files::Files;
use super::folder::Folder;
use super::metadata::Metadata;
use super::rest::Rest;
use super::update::{Requirement, Update};
use crate::PublishError;

/// What keeps the state of a table.
pub(crate) enum Catalogue {
    Rest(Rest),
    Folder(Folder),
}

/// The state of a table.
pub(crate) struct State {
    pub(crate) metadata: Metadata,
    pub(crate) files: Arc<Files>,
    /// The number of the file of metadata in a folder without a catalogue.
    pub(crate) file: u64,
}

/// What became of a change.
pub(crate) enum Answer {
    Done,
    /// A condition did not hold. The change can be in the table nevertheless if something between repeated the request.
    Refused,
    /// The table may be changed or not.
    Unknown(PublishError),
}

impl Catalogue {
    /// Reads the table; `None` if it does not exist.
    ///
    /// # Errors
    /// The catalogue's or the store's error.
    pub(crate) fn load(&self) -> Result<Option<State>, PublishError> {
        match self {
            Self::Rest(rest) => rest.load(),
            Self::Folder(folder) => folder.load(),
        }
    }

    /// Returns the identity and the location of a table that is created next.
    ///
    /// # Errors
    /// The catalogue's error.
    pub(crate) fn stage(&self) -> Result<(String, String), PublishError> {
        match self {
            Self::Rest(rest) => rest.stage(),
            Self::Folder(folder) => Ok((uuid::Uuid::new_v4().to_string(), folder.location())),
        }
    }

    /// Creates the table.
    ///
    /// # Errors
    /// The catalogue's or the store's error.
    pub(crate) fn create(&self, updates: Vec<Update>) -> Result<Answer, PublishError> {
        match self {
            Self::Rest(rest) => rest.change(&[Requirement::Create], &updates),
            Self::Folder(folder) => folder.create(updates),
        }
    }

    /// Changes the table if it still has this state.
    ///
    /// # Errors
    /// The catalogue's or the store's error.
    pub(crate) fn change(
        &self,
        state: &State,
        requirements: &[Requirement],
        updates: Vec<Update>,
    ) -> Result<Answer, PublishError> {
        match self {
            Self::Rest(rest) => rest.change(requirements, &updates),
            // No other file of metadata can have the next number.
            Self::Folder(folder) => folder.change(state, updates),
        }
    }
}
