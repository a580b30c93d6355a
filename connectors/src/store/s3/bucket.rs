//! A bucket of an S3-compatible store, written by conditional PUT (`If-None-Match: *`; `If-Match` for the
//! replacement of an erasure).

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _};
use object_store::aws::AmazonS3;
use object_store::path::Path;
use object_store::{
    GetOptions, GetRange, ObjectMeta, ObjectStore as _, ObjectStoreExt as _, PutMode, PutOptions,
    UpdateVersion,
};

use super::S3Config;
use super::admission::Admission;
use super::cause::Cause;
use crate::store::{At, End, Object, Op, Store, StoreConfig, StoreError, is_listed, version_of};

/// How long to check whether an object exists after all, before the error is returned.
const ASK: Duration = Duration::from_secs(5);

/// A bucket, or the part of it under a prefix.
pub struct S3 {
    /// Replaced as a whole when credentials change; a request finishes with the client that it began with.
    client: RwLock<Arc<AmazonS3>>,
    admission: Admission,
    prefix: String,
    described: String,
}

impl S3 {
    /// Creates a client. The bucket is not contacted before its first use.
    ///
    /// # Errors
    /// [`StoreError::Other`] if the configuration is invalid.
    pub fn open(config: &S3Config) -> Result<Self, StoreError> {
        let prefix = config.prefix.trim_matches('/').to_owned();
        let mut described = format!("s3://{}", config.bucket);
        if !prefix.is_empty() {
            described = format!("{described}/{prefix}");
        }
        if let Some(endpoint) = &config.endpoint {
            described = format!("{described} at {endpoint}");
        }
        let wrong = |detail: String| StoreError::Other {
            at: At::new(Op::Open, described.clone(), ""),
            detail,
            hint: "correct the store's configuration".into(),
        };
        if config.bucket.is_empty() {
            return Err(wrong("the bucket's name is empty".into()));
        }
        if !config.allow_http
            && config
                .endpoint
                .as_deref()
                .is_some_and(|endpoint| endpoint.starts_with("http://"))
        {
            return Err(wrong(
                "the endpoint has no TLS: notes would cross the network in the clear; set allow_http = true only for a \
                 store on this machine"
                    .into(),
            ));
        }
        let client = config.client().map_err(wrong)?;
        // Refuses invalid keys, such as `a//b`.
        Path::parse(&prefix).map_err(|error| wrong(error.to_string()))?;
        Ok(Self {
            client: RwLock::new(Arc::new(client)),
            admission: Admission::default(),
            prefix,
            described,
        })
    }

    fn client(&self) -> Arc<AmazonS3> {
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

    fn fail(&self, op: Op, name: &str, error: &object_store::Error) -> StoreError {
        let at = At::new(op, self.describe(), name);
        let cause = Cause::of(error);
        let detail = cause.detail.clone();
        let other = |detail: String, hint: &str| StoreError::Other {
            at: at.clone(),
            detail,
            hint: hint.into(),
        };
        match (error, cause.status, cause.code.as_str()) {
            (_, _, "NoSuchBucket") => {
                other("there is no such bucket".into(), "create it, or correct the bucket's name")
            }
            (object_store::Error::AlreadyExists { .. } | object_store::Error::Precondition { .. }, ..)
                if op == Op::Create =>
            {
                StoreError::Exists(at)
            }
            (object_store::Error::NotFound { .. }, ..) if op == Op::Read => StoreError::NotFound(at),
            (object_store::Error::NotFound { .. } | object_store::Error::Precondition { .. }, ..)
                if op == Op::Replace =>
            {
                StoreError::Changed(at)
            }
            (_, Some(401 | 403), _) if self.admission.may_pass(op, Instant::now()) => StoreError::Transient {
                at,
                detail: format!("{detail}: refused, but not before; new credentials may be on their way"),
            },
            (_, Some(401 | 403), _) => StoreError::Denied {
                at,
                detail,
                hint: "check the access key, the secret key and the bucket's policy: s3:ListBucket, s3:GetObject and \
                       s3:PutObject are needed"
                    .into(),
            },
            // The certificate of a store that was trusted before is being replaced, or `ca` is.
            _ if cause.untrusted && !self.admission.has_let_in() => StoreError::Denied {
                at,
                detail,
                hint: "set the certificate's authority in the key `ca`, or correct the endpoint".into(),
            },
            (_, Some(507), _) => StoreError::Full { at, detail },
            (_, Some(501), _) => other(detail, "the store does not support If-None-Match on PUT: use one that does"),
            (_, Some(408 | 429 | 500..), _) => StoreError::Transient { at, detail },
            (_, Some(300..=399), _) => other(detail, "the bucket is elsewhere: correct the region or the endpoint"),
            (_, Some(_), _) => other(detail, "correct the store's configuration"),
            (object_store::Error::Generic { .. }, None, _) => StoreError::Transient { at, detail },
            (_, None, _) => other(detail, "correct the store's configuration"),
        }
    }
}

fn object(name: &str, meta: &ObjectMeta) -> Object {
    let modified = meta.last_modified.into();
    Object {
        name: name.to_owned(),
        size: meta.size,
        modified,
        version: meta
            .e_tag
            .clone()
            .unwrap_or_else(|| version_of(meta.size, modified)),
    }
}

#[async_trait]
impl Store for S3 {
    async fn create(&self, name: &str, bytes: Bytes) -> Result<(), StoreError> {
        let key = self.key(Op::Create, name)?;
        let options = PutOptions::from(PutMode::Create);
        let client = self.client();
        let Err(error) = client.put_opts(&key, bytes.into(), options).await else {
            self.admission.let_in(Op::Create);
            return Ok(());
        };
        let failure = self.fail(Op::Create, name, &error);
        // Without a response the object may exist. A server that refuses may also close the connection before
        // it has read a large object, so that its refusal never arrives. The caller checks whose object has
        // the name.
        if failure.is_transient() && Cause::of(&error).status.is_none() {
            let asked = tokio::time::timeout(ASK, client.head(&key)).await;
            if matches!(asked, Ok(Ok(_))) {
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
        let own = if self.prefix.is_empty() {
            0
        } else {
            self.prefix.len() + 1
        };
        let listed = listed.try_filter_map(|meta| {
            let name = meta.location.as_ref().get(own..).filter(|name| is_listed(name));
            let object = name.map(|name| object(name, &meta));
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
        Ok(objects)
    }

    async fn replace(&self, name: &str, bytes: Bytes, version: &str) -> Result<(), StoreError> {
        let key = self.key(Op::Replace, name)?;
        let put = PutOptions::from(PutMode::Update(UpdateVersion {
            e_tag: Some(version.to_owned()),
            version: None,
        }));
        match self.client().put_opts(&key, bytes.into(), put).await {
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
        let got = self.get(name, wanted).await?;
        got.bytes()
            .await
            .map_err(|error| self.fail(Op::Read, name, &error))
    }

    async fn read_tail(&self, name: &str, len: u64) -> Result<End, StoreError> {
        let got = self.get(name, Some(GetRange::Suffix(len))).await?;
        let size = got.meta.size;
        let bytes = got.bytes().await;
        let bytes = bytes.map_err(|error| self.fail(Op::Read, name, &error))?;
        Ok(End { bytes, size })
    }

    async fn look(&self, name: &str) -> Result<Object, StoreError> {
        let meta = self.client().head(&self.key(Op::Read, name)?).await;
        let meta = meta.map_err(|error| self.fail(Op::Read, name, &error))?;
        Ok(object(name, &meta))
    }

    async fn reload_credentials(&self, config: &StoreConfig) -> Result<(), StoreError> {
        let StoreConfig::S3(config) = config else {
            return Ok(());
        };
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

impl S3 {
    async fn get(&self, name: &str, range: Option<GetRange>) -> Result<object_store::GetResult, StoreError> {
        let options = GetOptions {
            range,
            ..GetOptions::default()
        };
        let got = self.client().get_opts(&self.key(Op::Read, name)?, options).await;
        let got = got.map_err(|error| self.fail(Op::Read, name, &error))?;
        self.admission.let_in(Op::Read);
        Ok(got)
    }
}

impl fmt::Debug for S3 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "S3({})", self.described)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_without_tls_must_be_asked_for() {
        let mut config: S3Config =
            serde_json::from_str(r#"{"bucket": "b", "endpoint": "http://127.0.0.1:9"}"#).unwrap();
        let error = S3::open(&config).unwrap_err().to_string();
        assert!(error.contains("allow_http"), "{error}");
        config.allow_http = true;
        assert_eq!(
            S3::open(&config).unwrap().describe(),
            "s3://b at http://127.0.0.1:9"
        );
    }
}
