//! Overwrites an object that others overwrite too.

use bytes::Bytes;
use lethe_connectors::store::{Store, StoreError};

/// The number of attempts.
const ATTEMPTS: usize = 5;

/// Writes an object, whether or not its name is taken.
///
/// # Errors
/// The store's error.
pub(crate) async fn overwrite(store: &dyn Store, name: &str, bytes: Bytes) -> Result<(), StoreError> {
    let mut attempts = 1;
    loop {
        let written = match store.look(name).await {
            Ok(found) => store.replace(name, bytes.clone(), &found.version).await,
            Err(StoreError::NotFound(_)) => store.create(name, bytes.clone()).await,
            Err(error) => Err(error),
        };
        match written {
            Err(StoreError::Exists(_) | StoreError::Changed(_)) if attempts < ATTEMPTS => attempts += 1,
            done => return done,
        }
    }
}
