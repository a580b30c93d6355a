//! Where a file of the command line is: in a local folder, or in a bucket.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use lethe_connectors::files::{Archive, ArchiveLimits};
use lethe_connectors::store::{Object, Store, StoreConfig, StoreError};
use lethe_connectors::tables::Remote;
use tokio::runtime::Runtime;

use super::item::{Content, Stamp};
use crate::exit::usage;

/// A local file, or an object of a bucket.
pub(super) enum Origin {
    File(PathBuf),
    Object(BucketObject),
}

impl Origin {
    /// Returns its size in bytes; 0 if that is unknown.
    pub(super) fn size(&self) -> u64 {
        match self {
            Self::File(path) => std::fs::metadata(path).map_or(0, |about| about.len()),
            Self::Object(object) => object.object.size,
        }
    }

    /// Returns its first `count` bytes and its stamp.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(super) fn look(&self, count: usize) -> io::Result<(Vec<u8>, Stamp)> {
        match self {
            Self::File(path) => {
                let file = File::open(path)?;
                let about = file.metadata()?;
                let mut head = Vec::new();
                file.take(count as u64).read_to_end(&mut head)?;
                Ok((head, stamp(about.len(), about.modified()?)))
            }
            Self::Object(object) => {
                let stamp = stamp(object.object.size, object.object.modified);
                Ok((object.head(count)?, stamp))
            }
        }
    }

    /// Opens it from its beginning.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub(super) fn open(&self) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Self::File(path) => Box::new(File::open(path)?),
            Self::Object(object) => object.open(),
        })
    }

    /// Opens it as an archive.
    ///
    /// # Errors
    /// If it cannot be read or is no archive.
    pub(super) fn archive(&self) -> io::Result<Archive> {
        let limits = ArchiveLimits::default();
        match self {
            Self::File(path) => Archive::open(path, &limits),
            Self::Object(object) => Archive::of_object(&object.remote(), &limits),
        }
    }

    /// Returns it as the content of an item.
    pub(super) fn content(&self) -> Content {
        match self {
            Self::File(path) => Content::File(path.clone()),
            Self::Object(object) => Content::Object(object.clone()),
        }
    }
}

fn stamp(bytes: u64, modified: SystemTime) -> Stamp {
    let since = modified.duration_since(UNIX_EPOCH).unwrap_or_default();
    Stamp {
        bytes,
        modified: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
    }
}

/// An object of a bucket. Reads block the calling thread.
#[derive(Clone)]
pub(crate) struct BucketObject {
    store: Arc<dyn Store>,
    object: Object,
    /// Makes the requests.
    runtime: Arc<Runtime>,
}

impl fmt::Debug for BucketObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BucketObject").field(&self.object.name).finish()
    }
}

impl BucketObject {
    /// Opens it from its beginning.
    pub(crate) fn open(&self) -> Box<dyn Read + Send> {
        Box::new(self.remote().reader())
    }

    /// Returns it for readers at random. It caches what it reads as long as it lives.
    pub(crate) fn remote(&self) -> Remote {
        Remote::new(
            Arc::clone(&self.store),
            self.object.clone(),
            self.runtime.handle().clone(),
        )
    }

    fn head(&self, count: usize) -> io::Result<Vec<u8>> {
        let until = self.object.size.min(count as u64);
        if until == 0 {
            return Ok(Vec::new());
        }
        let read = self.store.read_range(&self.object.name, 0..until);
        let bytes = self.runtime.block_on(read).map_err(io::Error::other)?;
        Ok(bytes.to_vec())
    }
}

/// The objects that a URL names.
pub(super) struct Listed {
    /// Whether it names a folder.
    pub(super) folder: bool,
    /// The last part of the URL.
    pub(super) name: String,
    /// The objects, by their names in the folder.
    pub(super) objects: Vec<(String, BucketObject)>,
}

/// Returns whether a path of the command line is a URL: a scheme of two or more letters, and `://`.
pub(crate) fn is_url(path: &str) -> bool {
    path.split_once("://").is_some_and(|(scheme, _)| {
        scheme.len() > 1
            && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "+.-".contains(c))
    })
}

/// Lists the objects of a bucket's URL (see [`StoreConfig::from_url`]): the object of this name, or the `wanted` objects
/// below it. Address, region and keys come from the environment, as for a store of a configuration.
///
/// # Errors
/// A usage error for another scheme, a URL without a bucket, or one that names nothing; the store's error.
pub(super) fn list(url: &str, wanted: &dyn Fn(&str) -> bool) -> anyhow::Result<Listed> {
    StoreConfig::from_url(url).map_err(|why| usage(format!("{url}: {why}")))?;
    let (scheme, place) = url.split_once("://").unwrap_or(("", url));
    let (bucket, key) = place.split_once('/').unwrap_or((place, ""));
    let open = |prefix: &str| -> anyhow::Result<Arc<dyn Store>> {
        let config = StoreConfig::from_url(&format!("{scheme}://{bucket}/{prefix}")).map_err(usage)?;
        Ok(config.build()?)
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .context("cannot start the client of the bucket")?;
    let runtime = Arc::new(runtime);
    let objects = |store: Arc<dyn Store>, found: Vec<Object>| {
        let object = |object: Object| {
            let (store, runtime) = (Arc::clone(&store), Arc::clone(&runtime));
            (
                object.name.clone(),
                BucketObject {
                    store,
                    object,
                    runtime,
                },
            )
        };
        found.into_iter().map(object).collect()
    };
    let folder = key.trim_end_matches('/');
    let (parent, name) = folder.rsplit_once('/').unwrap_or(("", folder));
    if !name.is_empty() && !key.ends_with('/') {
        let store = open(parent)?;
        match runtime.block_on(store.look(name)) {
            Ok(object) => {
                return Ok(Listed {
                    folder: false,
                    name: name.to_owned(),
                    objects: objects(store, vec![object]),
                });
            }
            Err(StoreError::NotFound(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let store = open(folder)?;
    let mut found = runtime.block_on(store.list_after("", None))?;
    if found.is_empty() {
        return Err(usage(format!(
            "{url}: there is no such object, and none below it"
        )));
    }
    found.retain(|object| !object.name.ends_with('/') && wanted(&object.name));
    Ok(Listed {
        folder: true,
        name: if name.is_empty() { bucket } else { name }.to_owned(),
        objects: objects(store, found),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_told_from_paths() {
        for url in [
            "s3://bucket",
            "s3://bucket/a b",
            "gs://bucket/a",
            "https://example.org/a",
        ] {
            assert!(is_url(url), "{url}");
        }
        for path in [
            "note.txt",
            "a/b",
            "c://notes",
            "://",
            "1s3://bucket",
            "a b://c",
            "s3:/bucket",
        ] {
            assert!(!is_url(path), "{path}");
        }
    }

    #[test]
    fn a_url_that_names_no_bucket_is_refused() {
        for (url, why) in [
            ("ftp://bucket/a", "s3://BUCKET"),
            ("abfss://container/a", "names no container"),
            ("s3://", "names no bucket"),
            ("s3:///a", "names no bucket"),
        ] {
            let refused = list(url, &|_| true).err().unwrap().to_string();
            assert!(refused.contains(why), "{refused}");
        }
    }
}
