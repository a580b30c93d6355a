//! What notes are redacted by, which may change while they stream: an engine, and what files say of it.

use std::sync::{Arc, PoisonError, RwLock};

use lethe_connectors::sink::Fingerprints;
use lethe_core::Engine;

/// An engine and its fingerprints. A file holds rows of one edition alone.
pub(crate) struct Edition {
    pub(crate) engine: Arc<Engine>,
    pub(crate) fingerprints: Fingerprints,
}

/// The edition that new batches are processed by.
pub(crate) struct Current(RwLock<Arc<Edition>>);

impl Current {
    pub(crate) fn new(edition: Edition) -> Self {
        Self(RwLock::new(Arc::new(edition)))
    }

    /// The edition of now.
    pub(crate) fn get(&self) -> Arc<Edition> {
        // It is replaced as a whole: a panic leaves the old one or the new one.
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// From now on this one. Lanes close the files of the one before as they come to their next batch.
    pub(crate) fn set(&self, edition: Edition) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(edition);
    }
}
