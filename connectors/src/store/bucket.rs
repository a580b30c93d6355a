//! Buckets of Amazon S3 and of stores with its protocol, of Google Cloud Storage, and containers of Azure.

#[cfg(feature = "buckets")]
mod admission;
mod azure;
#[cfg(feature = "buckets")]
mod cause;
#[cfg(feature = "buckets")]
mod failure;
mod gcs;
#[cfg(feature = "buckets")]
mod objects;
#[cfg(feature = "buckets")]
mod requests;
mod s3;
mod service;
mod url;

use std::path::Path;
use std::sync::Arc;

use super::{At, Op, Store, StoreConfig, StoreError};
use crate::secret::Secret;

pub use azure::AzureConfig;
pub use gcs::GcsConfig;
pub use s3::S3Config;

use service::Service;

/// The part of a store's configuration that all buckets have.
#[cfg_attr(
    not(feature = "buckets"),
    allow(dead_code, reason = "only clients read all of it")
)]
pub(super) struct Place<'a> {
    service: Service,
    /// The URI of the whole bucket, such as `s3://research`.
    root: String,
    bucket: &'a str,
    prefix: &'a str,
    endpoint: Option<&'a str>,
    pub(super) ca: Option<&'a Path>,
    allow_http: bool,
}

impl<'a> Place<'a> {
    /// Returns the place of a configured bucket; `None` for a folder.
    pub(super) fn of(config: &'a StoreConfig) -> Option<Self> {
        match config {
            StoreConfig::Folder(_) => None,
            StoreConfig::S3(s3) => Some(s3.place()),
            StoreConfig::Azure(azure) => Some(azure.place()),
            StoreConfig::Gcs(gcs) => Some(gcs.place()),
        }
    }

    /// Returns the prefix, without slashes at its ends.
    pub(super) fn prefix(&self) -> &'a str {
        self.prefix.trim_matches('/')
    }

    /// Returns the URI of the prefix, with a slash after the bucket.
    pub(super) fn uri(&self) -> String {
        format!("{}/{}", self.root, self.prefix)
    }

    /// Returns whether the prefix is another one of the same bucket, or lies below it.
    pub(super) fn lies_in(&self, outer: &Self) -> bool {
        let parts = |prefix: &'a str| prefix.split('/').filter(|part| !part.is_empty());
        let inner: Vec<_> = parts(self.prefix).collect();
        self.root == outer.root
            && self.endpoint == outer.endpoint
            && inner.starts_with(&parts(outer.prefix).collect::<Vec<_>>())
    }

    /// Describes the bucket for messages.
    fn describe(&self) -> String {
        let mut described = self.root.clone();
        let prefix = self.prefix.trim_matches('/');
        if !prefix.is_empty() {
            described = format!("{described}/{prefix}");
        }
        if let Some(endpoint) = self.endpoint {
            described = format!("{described} at {endpoint}");
        }
        described
    }
}

/// Opens a bucket without contacting it.
///
/// # Errors
/// [`StoreError::Other`] if the configuration is invalid, or if this build has no client of the service.
pub(super) fn open(config: &StoreConfig) -> Result<Arc<dyn Store>, StoreError> {
    if let Some(place) = Place::of(config)
        && !place.service.is_built()
    {
        return Err(StoreError::Other {
            at: At::new(Op::Open, place.describe(), ""),
            detail: format!("this build of Lethe cannot use {}", place.service.name()),
            hint: format!(
                "use one that was built with the feature `{}`",
                place.service.feature()
            ),
        });
    }
    #[cfg(feature = "buckets")]
    let opened = objects::Bucket::open(config).map(|bucket| Arc::new(bucket) as Arc<dyn Store>);
    #[cfg(not(feature = "buckets"))]
    let opened = Err(not_a_bucket());
    opened
}

/// Returns the secrets of a configuration, with their keys.
pub(super) fn secrets(config: &StoreConfig) -> Vec<(&'static str, &Secret)> {
    let all: &[(&'static str, &Option<Secret>)] = match config {
        StoreConfig::Folder(_) => &[],
        StoreConfig::S3(s3) => &[
            ("access_key", &s3.access_key),
            ("secret_key", &s3.secret_key),
            ("session_token", &s3.session_token),
        ],
        StoreConfig::Azure(azure) => &[
            ("access_key", &azure.access_key),
            ("sas_token", &azure.sas_token),
            ("client_secret", &azure.client_secret),
        ],
        StoreConfig::Gcs(gcs) => &[("service_account_key", &gcs.service_account_key)],
    };
    let given = all
        .iter()
        .filter_map(|(key, secret)| Some((*key, secret.as_ref()?)));
    given.collect()
}

/// Returns whether this build has a client of the bucket's service.
#[cfg(test)]
pub(super) fn is_built(config: &StoreConfig) -> bool {
    Place::of(config).is_some_and(|place| place.service.is_built())
}

/// The error of a folder where a bucket is needed.
fn not_a_bucket() -> StoreError {
    StoreError::Other {
        at: At::new(Op::Open, "", ""),
        detail: "the store is a folder".into(),
        hint: "name a bucket".into(),
    }
}

const fn connect_timeout_seconds() -> u64 {
    5
}

const fn timeout_seconds() -> u64 {
    60
}

const fn retries() -> usize {
    8
}

const fn retry_seconds() -> u64 {
    60
}
