//! A bucket as a store, written by conditional PUT: `If-None-Match: *` and `If-Match`, in Google Cloud Storage
//! `x-goog-if-generation-match`.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _};
use object_store::path::Path;
use object_store::{
    Attribute, Attributes, GetOptions, GetRange, GetResult, ObjectMeta, ObjectStore, ObjectStoreExt as _,
    PutMode, PutOptions, UpdateVersion,
};

use super::admission::Admission;
use super::cause::Cause;
use super::service::Service;
use super::{Place, failure, not_a_bucket};
use crate::store::{At, End, Object, Op, Store, StoreConfig, StoreError, is_listed, version_of};

/// How long to check whether an object exists after all, before the error is returned.
const ASK: Duration = Duration::from_secs(5);
/// How often to read an object's end again if the object changes between the two requests of a read.
const READS: usize = 3;

/// A bucket, or the part of it under a prefix.
pub(super) struct Bucket {
    service: Service,
    /// Replaced as a whole when credentials change; a request finishes with the client that it began with.
    client: RwLock<Arc<dyn ObjectStore>>,
    admission: Admission,
    prefix: String,
    described: String,
}

impl Bucket {
    /// Creates a client. The bucket is not contacted before its first use.
    ///
    /// # Errors
    /// [`StoreError::Other`] if the configuration is invalid.
    pub(super) fn open(config: &StoreConfig) -> Result<Self, StoreError> {
        let place = Place::of(config).ok_or_else(not_a_bucket)?;
        let described = place.describe();
        let wrong = |detail: String| StoreError::Other {
            at: At::new(Op::Open, described.clone(), ""),
            detail,
            hint: "correct the store's configuration".into(),
        };
        if place.bucket.is_empty() {
            return Err(wrong(format!("the {}'s name is empty", place.service.bucket())));
        }
        if !place.allow_http
            && place
                .endpoint
                .is_some_and(|endpoint| endpoint.starts_with("http://"))
        {
            return Err(wrong(
                "the endpoint has no TLS: notes would cross the network in the clear; set allow_http = true only for a \
                 store on this machine"
                    .into(),
            ));
        }
        let client = client(config).map_err(wrong)?;
        let prefix = place.prefix.trim_matches('/').to_owned();
        // Refuses invalid keys, such as `a//b`.
        Path::parse(&prefix).map_err(|error| wrong(error.to_string()))?;
        Ok(Self {
            service: place.service,
            client: RwLock::new(client),
            admission: Admission::default(),
            prefix,
            described,
        })
    }

    fn client(&self) -> Arc<dyn ObjectStore> {
        // A panic leaves the old one or the new one.
        Arc::clone(&self.client.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn key(&self, op: Op, name: &str) -> Result<Path, StoreError> {
        let key = if self.prefix.is_empty() {
            name.to_owned()
        } else {
            format!("{}/{name}", self.prefix)
        };
        Path::parse(key).map_err(|error| StoreError::Other {
            at: At::new(op, self.describe(), name),
            detail: error.to_string(),
            hint: "this is not a valid object name".into(),
        })
    }

    /// Returns the part of a key after the store's prefix.
    fn name<'a>(&self, key: &'a Path) -> Option<&'a str> {
        match self.prefix.len() {
            0 => Some(key.as_ref()),
            prefix => key.as_ref().get(prefix + 1..),
        }
    }

    fn fail(&self, op: Op, name: &str, error: &object_store::Error) -> StoreError {
        let at = At::new(op, self.describe(), name);
        failure::of(self.service, &self.admission, at, error)
    }

    fn object(&self, name: &str, meta: &ObjectMeta) -> Object {
        let modified = meta.last_modified.into();
        Object {
            name: name.to_owned(),
            size: meta.size,
            modified,
            version: match &meta.e_tag {
                // Azure quotes tags in responses to reads, but not in listings.
                Some(tag) if self.service == Service::Azure && !tag.starts_with('"') => format!("\"{tag}\""),
                Some(tag) => tag.clone(),
                None => version_of(meta.size, modified),
            },
        }
    }
}

/// Creates a client of a bucket whose service this build supports.
fn client(config: &StoreConfig) -> Result<Arc<dyn ObjectStore>, String> {
    match config {
        #[cfg(feature = "s3")]
        StoreConfig::S3(s3) => Ok(Arc::new(s3.client()?)),
        #[cfg(feature = "azure")]
        StoreConfig::Azure(azure) => Ok(Arc::new(azure.client()?)),
        #[cfg(feature = "gcs")]
        StoreConfig::Gcs(gcs) => Ok(Arc::new(gcs.client()?)),
        _ => Err("this build of Lethe has no client for it".into()),
    }
}

/// Returns whether an object stands for a folder: a hierarchical namespace of Azure has such objects, and programs
/// that imitate folders elsewhere create them.
fn is_folder(attributes: &Attributes) -> bool {
    attributes
        .get(&Attribute::Metadata("hdi_isfolder".into()))
        .is_some_and(|value| value.as_ref() == "true")
}

/// Removes the objects that stand for a folder of other objects in the list, in which Azure's listings do not say so.
fn remove_folders(objects: &mut Vec<Object>) {
    let folders: std::collections::BTreeSet<String> = objects
        .iter()
        .filter(|object| object.size > 0)
        .flat_map(|object| {
            let ends = object.name.match_indices('/');
            ends.map(|(end, _)| object.name.split_at(end).0.to_owned())
        })
        .collect();
    objects.retain(|object| object.size > 0 || !folders.contains(&object.name));
}

#[async_trait]
impl Store for Bucket {
    async fn create(&self, name: &str, bytes: Bytes) -> Result<(), StoreError> {
        let key = self.key(Op::Create, name)?;
        let options = PutOptions::from(PutMode::Create);
        let client = self.client();
        let Err(error) = client.put_opts(&key, bytes.into(), options).await else {
            self.admission.let_in(Op::Create);
            return Ok(());
        };
        let failure = self.fail(Op::Create, name, &error);
        let status = Cause::of(&error).status;
        // Google may refuse an identity without the right to overwrite before it compares the condition.
        let forbidden = self.service == Service::Gcs && status == Some(403);
        // Without a response the object may exist. A server that refuses may also close the connection before
        // it has read a large object, so that its refusal never arrives. The caller checks whose object has
        // the name.
        if forbidden || (failure.is_transient() && status.is_none()) {
            let asked = tokio::time::timeout(ASK, client.head(&key)).await;
            if matches!(asked, Ok(Ok(_))) {
                self.admission.let_in(Op::Create);
                return Err(StoreError::Exists(failure.at().clone()));
            }
        }
        Err(failure)
    }

    async fn list_after(&self, folder: &str, after: Option<&str>) -> Result<Vec<Object>, StoreError> {
        self.list_page(folder, after, usize::MAX).await
    }

    async fn list_page(
        &self,
        folder: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Object>, StoreError> {
        let prefix = self.key(Op::List, folder)?;
        let prefix = (!prefix.as_ref().is_empty()).then_some(prefix);
        let client = self.client();
        let listed = match after {
            Some(after) => client.list_with_offset(prefix.as_ref(), &self.key(Op::List, after)?),
            None => client.list(prefix.as_ref()),
        };
        let after = after.unwrap_or_default();
        let listed = listed.try_filter_map(|meta| {
            // A service may ignore where the list should begin.
            let name = self
                .name(&meta.location)
                .filter(|name| is_listed(name) && *name > after);
            let object = name.map(|name| self.object(name, &meta));
            std::future::ready(Ok(object))
        });
        // Keys arrive in byte order, and pages are fetched lazily.
        let mut objects: Vec<Object> = listed
            .take(limit)
            .try_collect()
            .await
            .map_err(|error| self.fail(Op::List, folder, &error))?;
        self.admission.let_in(Op::List);
        objects.sort_unstable();
        if self.service == Service::Azure && objects.iter().any(|object| object.size == 0) {
            remove_folders(&mut objects);
        }
        Ok(objects)
    }

    async fn folders(&self, folder: &str) -> Result<Vec<String>, StoreError> {
        let prefix = self.key(Op::List, folder)?;
        let prefix = (!prefix.as_ref().is_empty()).then_some(prefix);
        // One request for a thousand folders. A hierarchical namespace does not list in byte order: `a/x` comes
        // before `a-b/x` there, so that a search by names would miss folders.
        let listed = self.client().list_with_delimiter(prefix.as_ref()).await;
        let listed = listed.map_err(|error| self.fail(Op::List, folder, &error))?;
        self.admission.let_in(Op::List);
        let names = listed.common_prefixes.iter().filter_map(|key| self.name(key));
        let mut folders: Vec<String> = names.filter(|name| is_listed(name)).map(str::to_owned).collect();
        folders.sort_unstable();
        Ok(folders)
    }

    async fn replace(&self, name: &str, bytes: Bytes, version: &str) -> Result<(), StoreError> {
        let key = self.key(Op::Replace, name)?;
        let client = self.client();
        let mut expected = UpdateVersion {
            e_tag: Some(version.to_owned()),
            version: None,
        };
        // Google's condition is a generation, which listings lack: the one whose bytes have the expected tag.
        if self.service == Service::Gcs {
            let found = client.head(&key).await;
            let found = found.map_err(|error| self.fail(Op::Replace, name, &error))?;
            if self.object(name, &found).version != version {
                return Err(StoreError::Changed(At::new(Op::Replace, self.describe(), name)));
            }
            expected.version = found.version;
        }
        let put = PutOptions::from(PutMode::Update(expected));
        match client.put_opts(&key, bytes.into(), put).await {
            Ok(_) => {
                self.admission.let_in(Op::Replace);
                Ok(())
            }
            Err(error) => Err(self.fail(Op::Replace, name, &error)),
        }
    }

    async fn read_range(&self, name: &str, range: Range<u64>) -> Result<Bytes, StoreError> {
        let wanted = match range {
            Range {
                start: 0,
                end: u64::MAX,
            } => None,
            Range { start, end: u64::MAX } => Some(GetRange::Offset(start)),
            range => Some(GetRange::Bounded(range)),
        };
        let got = self
            .get(
                name,
                GetOptions {
                    range: wanted,
                    ..GetOptions::default()
                },
            )
            .await?;
        got.bytes()
            .await
            .map_err(|error| self.fail(Op::Read, name, &error))
    }

    async fn read_tail(&self, name: &str, len: u64) -> Result<End, StoreError> {
        if self.service == Service::Azure {
            return self.read_tail_by_offset(name, len).await;
        }
        let options = GetOptions {
            range: Some(GetRange::Suffix(len)),
            ..GetOptions::default()
        };
        self.end(name, self.get(name, options).await?).await
    }

    async fn look(&self, name: &str) -> Result<Object, StoreError> {
        let options = GetOptions {
            head: true,
            ..GetOptions::default()
        };
        Ok(self.object(name, &self.get(name, options).await?.meta))
    }

    async fn reload_credentials(&self, config: &StoreConfig) -> Result<(), StoreError> {
        if Place::of(config).is_none_or(|place| place.service != self.service) {
            return Ok(());
        }
        let next = Self::open(config)?;
        next.list_page("", None, 1).await?;
        *self.client.write().unwrap_or_else(PoisonError::into_inner) = next.client();
        Ok(())
    }

    async fn delete(&self, name: &str) -> Result<(), StoreError> {
        match self.client().delete(&self.key(Op::Delete, name)?).await {
            Ok(()) => Ok(()),
            Err(error) => match self.fail(Op::Read, name, &error) {
                StoreError::NotFound(_) => Ok(()),
                _ => Err(self.fail(Op::Delete, name, &error)),
            },
        }
    }

    fn describe(&self) -> String {
        self.described.clone()
    }
}

impl Bucket {
    async fn get(&self, name: &str, options: GetOptions) -> Result<GetResult, StoreError> {
        let got = self.client().get_opts(&self.key(Op::Read, name)?, options).await;
        let got = got.map_err(|error| self.fail(Op::Read, name, &error))?;
        self.admission.let_in(Op::Read);
        if is_folder(&got.attributes) {
            return Err(StoreError::NotFound(At::new(Op::Read, self.describe(), name)));
        }
        Ok(got)
    }

    async fn end(&self, name: &str, got: GetResult) -> Result<End, StoreError> {
        let size = got.meta.size;
        let bytes = got.bytes().await;
        let bytes = bytes.map_err(|error| self.fail(Op::Read, name, &error))?;
        Ok(End { bytes, size })
    }

    /// Reads the end of an object whose service cannot count from it: asks for the size, then for the bytes of that version.
    async fn read_tail_by_offset(&self, name: &str, len: u64) -> Result<End, StoreError> {
        for _ in 0..READS {
            let found = self.look(name).await?;
            if found.size == 0 {
                return Ok(End {
                    bytes: Bytes::new(),
                    size: 0,
                });
            }
            let options = GetOptions {
                if_match: Some(found.version),
                range: Some(GetRange::Offset(found.size.saturating_sub(len))),
                ..GetOptions::default()
            };
            match self.client().get_opts(&self.key(Op::Read, name)?, options).await {
                Ok(got) => return self.end(name, got).await,
                // An erasure replaced it in the meantime.
                Err(object_store::Error::Precondition { .. }) => {}
                Err(error) => return Err(self.fail(Op::Read, name, &error)),
            }
        }
        Err(StoreError::Transient {
            at: At::new(Op::Read, self.describe(), name),
            detail: "the object changes while it is read".into(),
        })
    }
}

impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bucket({})", self.described)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_that_stands_for_a_folder_is_not_listed() {
        let object = |name: &str, size| Object {
            name: name.into(),
            size,
            modified: std::time::SystemTime::UNIX_EPOCH,
            version: String::new(),
        };
        let mut objects = vec![
            object("out.parquet", 0),
            object("out.parquet/part-0", 7),
            object("out.parquet/_SUCCESS", 0),
            object("empty", 0),
        ];
        remove_folders(&mut objects);
        let names: Vec<_> = objects.iter().map(|object| object.name.as_str()).collect();
        assert_eq!(names, ["out.parquet/part-0", "out.parquet/_SUCCESS", "empty"]);
    }
}
