//! The parts that may change while notes stream: the engine with its fingerprints, and the format.

use std::sync::{Arc, PoisonError, RwLock};

use lethe_connectors::sink::Fingerprints;
use lethe_core::Engine;

/// An engine and its fingerprints. All rows of a file come from one engine version.
pub(crate) struct EngineVersion {
    pub(crate) engine: Arc<Engine>,
    pub(crate) fingerprints: Fingerprints,
}

/// The version that new batches use.
pub(crate) struct Current<T: ?Sized>(RwLock<Arc<T>>);

impl<T: ?Sized> Current<T> {
    pub(crate) const fn new(first: Arc<T>) -> Self {
        Self(RwLock::new(first))
    }

    /// Returns the current version.
    pub(crate) fn get(&self) -> Arc<T> {
        // The value is replaced as a whole, so a panic leaves the old one or the new one.
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Sets the version for later batches. Each lane closes its file of an earlier version before its next
    /// batch.
    pub(crate) fn set(&self, next: Arc<T>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = next;
    }
}
