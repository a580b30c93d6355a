//! Stores of output: flat namespaces of objects that are created once, and that only an erasure changes.
//!
//! The sink's safety depends on one guarantee, that of [`Store::create`]: of several writers of one name
//! exactly one succeeds, and readers see its bytes completely or not at all. [`verify`] checks whether a
//! store provides it.
//!
//! Invariant: only [`Store::replace`] overwrites, and only the version of an object that its caller has read. In
//! a dataset only an erasure calls it; publishing calls it for files of a table's log that name a checkpoint.

mod bucket;
mod config;
pub mod crash;
mod error;
pub mod faulty;
mod local;
mod memory;

use std::fmt::Debug;
use std::ops::Range;
use std::time::SystemTime;

use async_trait::async_trait;
use bytes::Bytes;

pub use bucket::{AzureConfig, GcsConfig, S3Config};
pub use config::StoreConfig;
pub use error::{At, Op, StoreError};
pub use local::{Folder, FolderConfig};
pub use memory::Memory;

/// An object's name, size and age. Sorts by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Object {
    /// Name, with folders separated by `/`.
    pub name: String,
    /// Size in bytes.
    pub size: u64,
    /// When it was written, according to the store.
    pub modified: SystemTime,
    /// A value that changes with the object's bytes: an entity tag, or size and time.
    pub version: String,
}

/// The end of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// Its last bytes, as many as requested or available.
    pub bytes: Bytes,
    /// Size of the whole object in bytes.
    pub size: u64,
}

/// A namespace of objects.
#[async_trait]
pub trait Store: Send + Sync + Debug {
    /// Writes an object durably under a free name.
    ///
    /// # Errors
    /// [`StoreError::Exists`] if the name is taken; then nothing was written. After any other error the
    /// object may or may not exist, completely in either case.
    async fn create(&self, name: &str, bytes: Bytes) -> Result<(), StoreError>;

    /// Returns the objects below `folder` (the whole store if it is empty) whose names come after `after`, in
    /// byte order. A missing folder is empty. Names with a part that begins with a dot belong to the store
    /// itself and are never listed.
    ///
    /// # Errors
    /// The store's error.
    async fn list_after(&self, folder: &str, after: Option<&str>) -> Result<Vec<Object>, StoreError>;

    /// Returns a range of an object's bytes, truncated at its end.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] if the object does not exist.
    async fn read_range(&self, name: &str, range: Range<u64>) -> Result<Bytes, StoreError>;

    /// Returns the last `len` bytes of an object.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] if the object does not exist.
    async fn read_tail(&self, name: &str, len: u64) -> Result<End, StoreError>;

    /// Returns the metadata of an object.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] if the object does not exist.
    async fn look(&self, name: &str) -> Result<Object, StoreError>;

    /// Writes other bytes durably under the name of an object that still has this version
    /// ([`Object::version`]). Readers see the old bytes or the new ones, completely in either case.
    ///
    /// A folder compares versions just before it renames: the records of erasures, not the store, protect
    /// against two concurrent replacements of one object.
    ///
    /// # Errors
    /// [`StoreError::Changed`] if the object has another version or does not exist; then nothing was written.
    /// After any other error the object has the old bytes or the new ones.
    async fn replace(&self, name: &str, bytes: Bytes, version: &str) -> Result<(), StoreError>;

    /// Removes an object, if it exists.
    ///
    /// # Errors
    /// The store's error.
    async fn delete(&self, name: &str) -> Result<(), StoreError>;

    /// Switches to the credentials and authorities that `config` has for the same store now. Tries them
    /// first, and keeps the old ones if the store refuses the new ones. Does not disturb requests in
    /// progress.
    ///
    /// # Errors
    /// Why the new ones are refused.
    async fn reload_credentials(&self, _config: &StoreConfig) -> Result<(), StoreError> {
        Ok(())
    }

    /// Describes the store for messages, without secrets.
    fn describe(&self) -> String;

    /// Returns the first `limit` objects of [`Store::list_after`]. If possible, the store requests no more
    /// than these.
    ///
    /// # Errors
    /// As [`Store::list_after`].
    async fn list_page(
        &self,
        folder: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Object>, StoreError> {
        let mut objects = self.list_after(folder, after).await?;
        objects.truncate(limit);
        Ok(objects)
    }

    /// Returns the names of the folders directly in `folder`, in byte order. Those without an object may be left
    /// out. By default, one request for each of them.
    ///
    /// # Errors
    /// As [`Store::list_after`].
    async fn folders(&self, folder: &str) -> Result<Vec<String>, StoreError> {
        let mut folders = Vec::new();
        let mut after: Option<String> = None;
        while let Some(next) = self.list_page(folder, after.as_deref(), 1).await?.pop() {
            let below = next.name.strip_prefix(folder).unwrap_or_default();
            let below = below.strip_prefix('/').unwrap_or(below);
            let Some((found, _)) = below.split_once('/') else {
                after = Some(next.name);
                continue;
            };
            let found = match folder.is_empty() {
                true => found.to_owned(),
                false => format!("{folder}/{found}"),
            };
            // `0` is the character after `/`, so that all names below the folder come before this one.
            after = Some(format!("{found}0"));
            folders.push(found);
        }
        Ok(folders)
    }

    /// Returns all objects below `folder`, in byte order of their names.
    ///
    /// # Errors
    /// As [`Store::list_after`].
    async fn list(&self, folder: &str) -> Result<Vec<Object>, StoreError> {
        self.list_after(folder, None).await
    }

    /// Returns a whole object.
    ///
    /// # Errors
    /// As [`Store::read_range`].
    async fn read(&self, name: &str) -> Result<Bytes, StoreError> {
        self.read_range(name, 0..u64::MAX).await
    }
}

/// The folder of the store's own objects, such as probes and files under construction.
const OWN: &str = ".lethe/";

/// Returns whether the object is a probe, which crash points and injected faults skip.
fn is_probe(name: &str) -> bool {
    name.strip_prefix(OWN)
        .is_some_and(|name| name.starts_with("probe-"))
}

/// Checks whether a store can be written and provides the guarantee of [`Store::create`]: some S3-compatible
/// stores ignore the condition on a PUT and would let two writers overwrite each other.
///
/// # Errors
/// The store's own error, or [`StoreError::Other`] if a name could be created twice or does not read back.
/// After [`StoreError::Transient`] the result is unknown: retry.
pub async fn verify(store: &dyn Store) -> Result<(), StoreError> {
    let name = format!("{OWN}probe-{}", crate::id::new_id());
    let at = || At::new(Op::Create, store.describe(), "");
    let first = store.create(&name, Bytes::from_static(b"first")).await;
    match first {
        // No other writer uses the name: a response was lost.
        Ok(()) | Err(StoreError::Exists(_)) => {}
        Err(error) => return Err(error),
    }
    let again = store.create(&name, Bytes::from_static(b"second")).await;
    let read = store.read(&name).await;
    // Writing needs no permission to delete.
    if let Err(error) = store.delete(&name).await {
        tracing::warn!(%error, "cannot remove the probe");
    }
    let broken = |detail: &str| {
        StoreError::Other {
        at: at(),
        detail: detail.into(),
        hint: "nothing was written. Use a store that honours create-only writes (S3 and Azure: If-None-Match on PUT; \
               Google Cloud Storage: x-goog-if-generation-match), or correct the proxy before it"
            .into(),
    }
    };
    match (again, read) {
        (Err(StoreError::Exists(_)), Ok(bytes)) if bytes.as_ref() == b"first" => Ok(()),
        (Err(StoreError::Exists(_)), Ok(_)) => {
            Err(broken("an object does not read back as it was first written"))
        }
        // S3 refuses in the same way while an earlier attempt of the request is in progress, which may still
        // fail.
        (Ok(()), _) if first.is_err() => Err(StoreError::Transient {
            at: at(),
            detail: "the response to a probe was lost".into(),
        }),
        (Ok(()), _) => Err(broken("the store let a name be created twice")),
        (Err(StoreError::Exists(_)), Err(error)) | (Err(error), _) => Err(error),
    }
}

/// Returns the version of an object if a store has no tags: its size and write time, in ns since 1970.
fn version_of(size: u64, modified: SystemTime) -> String {
    let since = modified
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    format!("{size}-{}", since.as_nanos())
}

/// Returns whether no part of the name begins with a dot.
fn is_listed(name: &str) -> bool {
    !name.split('/').any(|part| part.starts_with('.'))
}
