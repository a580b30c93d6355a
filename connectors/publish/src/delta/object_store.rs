//! A store of Lethe as an `object_store`, which is what the engine of Delta's kernel reads and writes.
//!
//! So a table's log is written as a chain's files are: created once under its name, durably, by the same code and
//! with the same credentials.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{self, BoxStream};
use futures::{FutureExt as _, StreamExt as _, TryStreamExt as _};
use lethe_connectors::store::{Object, Store, StoreError};
use object_store::path::Path;
use object_store::{
    Attributes, CopyOptions, Error, GetOptions, GetRange, GetResult, GetResultPayload, ListResult,
    MultipartUpload, ObjectMeta, ObjectStore, PutMode, PutMultipartOptions, PutOptions, PutPayload,
    PutResult, Result, UploadPart,
};

use crate::overwrite::overwrite;

/// Reads and writes a store of Lethe.
#[derive(Clone, Debug)]
pub(crate) struct KernelStore(Arc<dyn Store>);

impl KernelStore {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self(store)
    }

    async fn write(&self, name: &str, bytes: Bytes, create: bool) -> Result<PutResult> {
        let written = match create {
            true => self.0.create(name, bytes).await,
            false => overwrite(self.0.as_ref(), name, bytes).await,
        };
        written.map_err(error)?;
        Ok(PutResult {
            e_tag: None,
            version: None,
        })
    }
}

impl fmt::Display for KernelStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.describe())
    }
}

#[async_trait]
impl ObjectStore for KernelStore {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        let create = match options.mode {
            PutMode::Create => true,
            PutMode::Overwrite => false,
            PutMode::Update(_) => return Err(not_implemented("conditional updates")),
        };
        self.write(location.as_ref(), payload.into(), create).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        _: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        Ok(Box::new(Upload {
            store: self.clone(),
            name: location.to_string(),
            parts: Vec::new(),
        }))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let name = location.as_ref();
        let found = self.0.look(name).await.map_err(error)?;
        let meta = meta(found);
        options.check_preconditions(&meta)?;
        let range = match options.range {
            None => 0..meta.size,
            Some(GetRange::Bounded(range)) => range.start..range.end.min(meta.size),
            Some(GetRange::Offset(from)) => from..meta.size,
            Some(GetRange::Suffix(length)) => meta.size.saturating_sub(length)..meta.size,
        };
        let bytes = match options.head || range.is_empty() {
            true => Bytes::new(),
            false => self.0.read_range(name, range.clone()).await.map_err(error)?,
        };
        Ok(GetResult {
            payload: GetResultPayload::Stream(stream::once(async { Ok(bytes) }).boxed()),
            meta,
            range,
            attributes: Attributes::default(),
        })
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        let store = self.clone();
        locations
            .and_then(move |location| {
                let store = store.clone();
                async move {
                    store.0.delete(location.as_ref()).await.map_err(error)?;
                    Ok(location)
                }
            })
            .boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.listed(prefix, None)
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        self.listed(prefix, Some(offset.to_string()))
    }

    async fn list_with_delimiter(&self, _: Option<&Path>) -> Result<ListResult> {
        Err(not_implemented("listing by folder"))
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        Err(not_implemented("copies"))
    }
}

impl KernelStore {
    fn listed(&self, prefix: Option<&Path>, after: Option<String>) -> BoxStream<'static, Result<ObjectMeta>> {
        let store = self.clone();
        let folder = prefix.map(Path::to_string).unwrap_or_default();
        let list = async move {
            let objects = store
                .0
                .list_after(&folder, after.as_deref())
                .await
                .map_err(error)?;
            Ok::<_, Error>(stream::iter(objects.into_iter().map(|object| Ok(meta(object)))))
        };
        stream::once(list).try_flatten().boxed()
    }
}

/// An upload in parts: collects them, since a checkpoint is small compared with the files that it lists.
#[derive(Debug)]
struct Upload {
    store: KernelStore,
    name: String,
    parts: Vec<Bytes>,
}

#[async_trait]
impl MultipartUpload for Upload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        self.parts.extend(data);
        async { Ok(()) }.boxed()
    }

    async fn complete(&mut self) -> Result<PutResult> {
        let bytes = Bytes::from(std::mem::take(&mut self.parts).concat());
        self.store.write(&self.name, bytes, false).await
    }

    async fn abort(&mut self) -> Result<()> {
        self.parts.clear();
        Ok(())
    }
}

fn meta(object: Object) -> ObjectMeta {
    ObjectMeta {
        location: Path::from(object.name),
        last_modified: object.modified.into(),
        size: object.size,
        e_tag: Some(object.version),
        version: None,
    }
}

fn error(error: StoreError) -> Error {
    let path = error.at().name.clone();
    let source = Box::new(error);
    match *source {
        StoreError::Exists(_) => Error::AlreadyExists { path, source },
        StoreError::NotFound(_) => Error::NotFound { path, source },
        _ => Error::Generic {
            store: "Lethe",
            source,
        },
    }
}

fn not_implemented(operation: &str) -> Error {
    Error::NotImplemented {
        operation: operation.to_owned(),
        implementer: "lethe".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lethe_connectors::store::Memory;
    use object_store::ObjectStoreExt as _;

    #[tokio::test]
    async fn a_created_name_is_not_created_again_and_an_overwritten_one_has_the_new_bytes() {
        let store = KernelStore::new(Arc::new(Memory::default()));
        let path = Path::from("_delta_log/0.json");
        let create = || PutOptions::from(PutMode::Create);
        store.put_opts(&path, "one".into(), create()).await.unwrap();
        let again = store.put_opts(&path, "two".into(), create()).await.unwrap_err();
        assert!(matches!(again, Error::AlreadyExists { .. }), "{again}");
        let read = async || store.get(&path).await.unwrap().bytes().await.unwrap();
        assert_eq!(read().await, "one");
        store
            .put_opts(&path, "three".into(), PutOptions::default())
            .await
            .unwrap();
        assert_eq!(read().await, "three");
        let mut upload = store.put_multipart(&path).await.unwrap();
        upload.put_part("fo".into()).await.unwrap();
        upload.put_part("ur".into()).await.unwrap();
        upload.complete().await.unwrap();
        assert_eq!(read().await, "four");
    }

    #[tokio::test]
    async fn a_list_begins_after_its_offset_and_a_range_ends_at_the_end() {
        let store = KernelStore::new(Arc::new(Memory::default()));
        for name in ["_delta_log/0", "_delta_log/1", "_delta_log/2", "other"] {
            store.put(&Path::from(name), "abc".into()).await.unwrap();
        }
        let listed = store.list_with_offset(Some(&Path::from("_delta_log")), &Path::from("_delta_log/0"));
        let names: Vec<_> = listed
            .map_ok(|object| object.location.to_string())
            .try_collect()
            .await
            .unwrap();
        assert_eq!(names, ["_delta_log/1", "_delta_log/2"]);
        assert_eq!(store.get_range(&Path::from("other"), 1..9).await.unwrap(), "bc");
        let missing = store.head(&Path::from("none")).await.unwrap_err();
        assert!(matches!(missing, Error::NotFound { .. }), "{missing}");
    }
}
