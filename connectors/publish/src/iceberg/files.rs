//! The metadata files of a table: in a folder or bucket, named by their locations.

use std::sync::Arc;

use bytes::Bytes;
use lethe_connectors::store::Store;
use tokio::runtime::Handle;

use crate::{Place, PublishError};

/// The metadata files of a table.
pub(crate) struct Files {
    runtime: Handle,
    store: Arc<dyn Store>,
    place: Place,
    /// As the table's metadata have it.
    location: String,
}

impl Files {
    /// Opens the location of a table. In the bucket of the dataset, the settings of the bucket are the dataset's.
    ///
    /// # Errors
    /// [`PublishError::Place`] if Lethe does not write to such locations; the store's error.
    pub(crate) fn open(location: &str, dataset: &Place, runtime: &Handle) -> Result<Self, PublishError> {
        let place = Place::of_location(location)?.with_settings_of(dataset);
        Ok(Self {
            runtime: runtime.clone(),
            store: place.open()?,
            place,
            location: location.to_owned(),
        })
    }

    /// Returns the table's place.
    pub(crate) const fn place(&self) -> &Place {
        &self.place
    }

    /// Returns the store of the table's place.
    pub(crate) fn store(&self) -> &dyn Store {
        self.store.as_ref()
    }

    /// Writes a new file and returns its location.
    ///
    /// # Errors
    /// The store's error.
    pub(crate) fn write(&self, name: &str, bytes: Vec<u8>) -> Result<String, PublishError> {
        self.runtime.block_on(self.store.create(name, bytes.into()))?;
        Ok(format!("{}/{name}", self.location))
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`PublishError::Place`] if Lethe does not read such locations; the store's error.
    pub(crate) fn read(&self, location: &str) -> Result<Bytes, PublishError> {
        let below = location.strip_prefix(&self.location);
        if let Some(name) = below.and_then(|name| name.strip_prefix('/')) {
            return Ok(self.runtime.block_on(self.store.read(name))?);
        }
        // Engines write one location in several ways, and can keep metadata elsewhere.
        let (folder, name) = location.rsplit_once('/').unwrap_or((location, ""));
        let store = Place::of_location(folder)?.with_settings_of(&self.place).open()?;
        Ok(self.runtime.block_on(store.read(name))?)
    }

    /// Removes files that nothing refers to. A failure leaves them.
    pub(crate) fn remove(&self, locations: &[String]) {
        for location in locations {
            let below = location.strip_prefix(&self.location);
            if let Some(name) = below.and_then(|name| name.strip_prefix('/'))
                && let Err(error) = self.runtime.block_on(self.store.delete(name))
            {
                tracing::warn!("cannot remove a file that no table refers to: {error}");
            }
        }
    }
}
