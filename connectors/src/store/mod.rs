//! Where output lies: a flat space of named objects that are created once, and changed by an erasure alone.
//!
//! The whole of the sink's safety rests on one promise, [`Store::create`]: of several writers of one name exactly one
//! succeeds, and readers see its bytes whole or not at all. [`verify`] asks a store whether it keeps it.
//!
//! Invariant: nothing here overwrites but [`Store::replace`], which only an erasure calls, and which replaces only the version of
//! an object that its caller has read.

mod config;
pub mod crash;
mod error;
pub mod faulty;
mod local;
mod memory;
mod s3;

use std::fmt::Debug;
use std::ops::Range;
use std::time::SystemTime;

use async_trait::async_trait;
use bytes::Bytes;

pub use config::StoreConfig;
pub use error::{At, Op, StoreError};
pub use local::{Folder, FolderConfig};
pub use memory::Memory;
pub use s3::{S3, S3Config};

/// An object's name, size and age. Sorts by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Object {
    /// Name, its folders parted by `/`.
    pub name: String,
    /// Size in bytes.
    pub size: u64,
    /// When the store says that it was written.
    pub modified: SystemTime,
    /// What becomes another when the object's bytes do, as the store has it: an entity tag, or size and time.
    pub version: String,
}

/// The end of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// Its last bytes, as many as were asked for or as there are.
    pub bytes: Bytes,
    /// Size of the whole object in bytes.
    pub size: u64,
}

/// A space of named objects.
#[async_trait]
pub trait Store: Send + Sync + Debug {
    /// Writes an object durably under a name that is free.
    ///
    /// # Errors
    /// [`StoreError::Exists`] if the name is taken: then nothing was written. After any other error the object may or
    /// may not be there, whole in either case.
    async fn create(&self, name: &str, bytes: Bytes) -> Result<(), StoreError>;

    /// The objects below `folder` (the whole store if it is empty) whose names come after `after`, in byte order of
    /// their names. A folder that is not there is empty. Names with a part that begins with a dot are the store's own
    /// and never listed.
    ///
    /// # Errors
    /// Whatever the store says.
    async fn list_after(&self, folder: &str, after: Option<&str>) -> Result<Vec<Object>, StoreError>;

    /// A range of an object's bytes, cut off at its end.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] if there is no such object.
    async fn read_range(&self, name: &str, range: Range<u64>) -> Result<Bytes, StoreError>;

    /// The last `len` bytes of an object.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] if there is no such object.
    async fn read_tail(&self, name: &str, len: u64) -> Result<End, StoreError>;

    /// An object as it is now.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] if there is no such object.
    async fn look(&self, name: &str) -> Result<Object, StoreError>;

    /// Writes other bytes durably under the name of an object that is still of this version ([`Object::version`]). Readers see
    /// the old bytes or the new ones, whole in either case.
    ///
    /// A folder compares versions just before it renames: two that replace one object at the same moment are kept apart by
    /// the records of their erasures, not by the store.
    ///
    /// # Errors
    /// [`StoreError::Changed`] if the object is of another version or not there: then nothing was written. After any other
    /// error the object has the old bytes or the new ones.
    async fn replace(&self, name: &str, bytes: Bytes, version: &str) -> Result<(), StoreError>;

    /// Removes an object; one that is not there is removed already.
    ///
    /// # Errors
    /// Whatever the store says.
    async fn delete(&self, name: &str) -> Result<(), StoreError>;

    /// Takes up what `config` says of the same store now: other keys, other authorities. They are tried first, and if the
    /// store does not let them in it goes on with those that it has. Requests under way are not disturbed.
    ///
    /// # Errors
    /// Why they are not taken up.
    async fn renew(&self, _config: &StoreConfig) -> Result<(), StoreError> {
        Ok(())
    }

    /// The store in a few words, for messages: no secret.
    fn describe(&self) -> String;

    /// The first `limit` objects of [`Store::list_after`]. A store that can asks for no more than these.
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

    /// All objects below `folder`, in byte order of their names.
    ///
    /// # Errors
    /// As [`Store::list_after`].
    async fn list(&self, folder: &str) -> Result<Vec<Object>, StoreError> {
        self.list_after(folder, None).await
    }

    /// A whole object.
    ///
    /// # Errors
    /// As [`Store::read_range`].
    async fn read(&self, name: &str) -> Result<Bytes, StoreError> {
        self.read_range(name, 0..u64::MAX).await
    }
}

/// The folder of the store's own objects, such as probes and files that are being written.
const OWN: &str = ".lethe/";

/// Whether the object is a probe. Crash points and faults that tests ask for pass it over.
fn is_probe(name: &str) -> bool {
    name.strip_prefix(OWN)
        .is_some_and(|name| name.starts_with("probe-"))
}

/// Asks a store whether it can be written, and whether it keeps the promise of [`Store::create`]: some stores that
/// speak S3 ignore the condition on a PUT, and would let two writers overwrite one another.
///
/// # Errors
/// The store's own error, or [`StoreError::Other`] if a name could be created twice or does not read back. After
/// [`StoreError::Transient`] nothing is known: ask again.
pub async fn verify(store: &dyn Store) -> Result<(), StoreError> {
    let name = format!("{OWN}probe-{}", crate::id::new_id());
    let at = || At::new(Op::Create, store.describe(), "");
    let first = store.create(&name, Bytes::from_static(b"first")).await;
    match first {
        // Nobody else has the name: an answer was lost on its way.
        Ok(()) | Err(StoreError::Exists(_)) => {}
        Err(error) => return Err(error),
    }
    let again = store.create(&name, Bytes::from_static(b"second")).await;
    let read = store.read(&name).await;
    // Writing needs no right to delete.
    if let Err(error) = store.delete(&name).await {
        tracing::warn!(%error, "the probe stays");
    }
    let broken = |detail: &str| {
        StoreError::Other {
        at: at(),
        detail: detail.into(),
        hint: "nothing was written. Use a store that honours create-only writes (for S3: If-None-Match on PUT), or correct \
               the proxy before it"
            .into(),
    }
    };
    match (again, read) {
        (Err(StoreError::Exists(_)), Ok(bytes)) if bytes.as_ref() == b"first" => Ok(()),
        (Err(StoreError::Exists(_)), Ok(_)) => {
            Err(broken("an object does not read back as it was first written"))
        }
        // S3 refuses so too while an earlier try of the same request is under way, which may yet fail.
        (Ok(()), _) if first.is_err() => Err(StoreError::Transient {
            at: at(),
            detail: "the answer to a probe was lost".into(),
        }),
        (Ok(()), _) => Err(broken("the store let a name be created twice")),
        (Err(StoreError::Exists(_)), Err(error)) | (Err(error), _) => Err(error),
    }
}

/// The version of an object where a store has no tags: its size and when it was written, in ns since 1970.
fn version_of(size: u64, modified: SystemTime) -> String {
    let since = modified
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    format!("{size}-{}", since.as_nanos())
}

/// Whether no part of the name begins with a dot.
fn is_listed(name: &str) -> bool {
    !name.split('/').any(|part| part.starts_with('.'))
}
