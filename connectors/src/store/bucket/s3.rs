//! The settings of a bucket.

use std::path::PathBuf;

use super::Place;
use super::service::Service;
use crate::secret::Secret;

/// Settings of a bucket. Keys, region and endpoint that are not set come from the environment
/// (`AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`, `AWS_REGION`, `AWS_ENDPOINT_URL`),
/// then from the identity of the machine or pod.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct S3Config {
    /// The bucket's name.
    #[schemars(extend("examples" = ["research"]))]
    pub bucket: String,
    /// The prefix of every object's name, without slashes at its ends.
    #[serde(default)]
    #[schemars(extend("examples" = ["lethe/notes"]))]
    pub prefix: String,
    /// The store's address. Default: `AWS_ENDPOINT_URL`, else Amazon S3.
    #[serde(default)]
    #[schemars(extend("examples" = ["https://minio.example:9000"]))]
    pub endpoint: Option<String>,
    /// The bucket's region. Default: `AWS_REGION`. Most other stores accept any region.
    #[serde(default)]
    #[schemars(extend("examples" = ["eu-west-1"]))]
    pub region: Option<String>,
    /// The access key. Default: `AWS_ACCESS_KEY_ID`, else the identity of the pod or machine.
    #[serde(default, skip_serializing)]
    pub access_key: Option<Secret>,
    /// The secret key. Default: `AWS_SECRET_ACCESS_KEY`.
    #[serde(default, skip_serializing)]
    pub secret_key: Option<Secret>,
    /// The session token of temporary keys. Default: `AWS_SESSION_TOKEN`.
    #[serde(default, skip_serializing)]
    pub session_token: Option<Secret>,
    /// PEM file of certificate authorities to trust in addition to the system's.
    #[serde(default)]
    pub ca: Option<PathBuf>,
    /// Whether to accept an endpoint without TLS.
    #[serde(default)]
    pub allow_http: bool,
    /// Timeout for a connection.
    #[serde(default = "super::connect_timeout_seconds")]
    pub connect_timeout_seconds: u64,
    /// Timeout of a request, upload included.
    #[serde(default = "super::timeout_seconds")]
    pub timeout_seconds: u64,
    /// The maximum number of retries of a request.
    #[serde(default = "super::retries")]
    #[schemars(extend("x-unit" = "retries"))]
    pub retries: usize,
    /// The time after which Lethe stops retrying a request, and the call fails.
    #[serde(default = "super::retry_seconds")]
    pub retry_seconds: u64,
}

impl S3Config {
    pub(super) fn place(&self) -> Place<'_> {
        Place {
            service: Service::S3,
            root: format!("s3://{}", self.bucket),
            bucket: &self.bucket,
            prefix: &self.prefix,
            endpoint: self.endpoint.as_deref(),
            ca: self.ca.as_deref(),
            allow_http: self.allow_http,
        }
    }

    /// Creates a client of the bucket without contacting it.
    ///
    /// # Errors
    /// The problem, in words without secrets.
    #[cfg(feature = "s3")]
    pub(super) fn client(&self) -> Result<object_store::aws::AmazonS3, String> {
        use object_store::aws::{AmazonS3Builder, S3ConditionalPut};

        let requests = super::requests::Requests {
            ca: self.ca.as_deref(),
            allow_http: self.allow_http,
            connect_timeout_seconds: self.connect_timeout_seconds,
            timeout_seconds: self.timeout_seconds,
            retries: self.retries,
            retry_seconds: self.retry_seconds,
        };
        let mut builder = AmazonS3Builder::from_env()
            .with_bucket_name(&self.bucket)
            .with_conditional_put(S3ConditionalPut::ETagMatch)
            .with_client_options(requests.options()?)
            .with_retry(requests.retry());
        if let Some(endpoint) = &self.endpoint {
            builder = builder.with_endpoint(endpoint);
        }
        if let Some(region) = &self.region {
            builder = builder.with_region(region);
        }
        if let Some(key) = &self.access_key {
            builder = builder.with_access_key_id(key.expose());
        }
        if let Some(key) = &self.secret_key {
            builder = builder.with_secret_access_key(key.expose());
        }
        if let Some(token) = &self.session_token {
            builder = builder.with_token(token.expose());
        }
        builder
            .build()
            .map_err(|error| super::cause::Cause::of(&error).detail)
    }
}
