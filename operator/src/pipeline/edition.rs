//! What may change while notes stream: what they are redacted by (an engine, and what files say of it), and how they are
//! read.

use std::sync::{Arc, PoisonError, RwLock};

use lethe_connectors::sink::Fingerprints;
use lethe_core::Engine;

/// An engine and its fingerprints. A file holds rows of one edition alone.
pub(crate) struct Edition {
    pub(crate) engine: Arc<Engine>,
    pub(crate) fingerprints: Fingerprints,
}

/// What new batches are processed by.
pub(crate) struct Current<T: ?Sized>(RwLock<Arc<T>>);

impl<T: ?Sized> Current<T> {
    pub(crate) const fn new(first: Arc<T>) -> Self {
        Self(RwLock::new(first))
    }

    /// That of now.
    pub(crate) fn get(&self) -> Arc<T> {
        // It is replaced as a whole: a panic leaves the old one or the new one.
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// From now on this one. Lanes close the files of an edition before as they come to their next batch.
    pub(crate) fn set(&self, next: Arc<T>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = next;
    }
}
