//! The settings of a bucket, and the client that follows from them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use object_store::aws::{AmazonS3, AmazonS3Builder, S3ConditionalPut};
use object_store::{BackoffConfig, Certificate, ClientOptions, RetryConfig};

use super::cause::Cause;
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
    #[serde(default = "connect_timeout_seconds")]
    pub connect_timeout_seconds: u64,
    /// Timeout of a request, upload included.
    #[serde(default = "timeout_seconds")]
    pub timeout_seconds: u64,
    /// The maximum number of retries of a request.
    #[serde(default = "retries")]
    #[schemars(extend("x-unit" = "retries"))]
    pub retries: usize,
    /// The time after which Lethe stops retrying a request, and the call fails.
    #[serde(default = "retry_seconds")]
    pub retry_seconds: u64,
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

impl S3Config {
    /// Creates a client of the bucket without contacting it.
    ///
    /// # Errors
    /// The problem, in words without secrets.
    pub(super) fn client(&self) -> Result<AmazonS3, String> {
        let mut options = ClientOptions::new()
            .with_allow_http(self.allow_http)
            .with_connect_timeout(Duration::from_secs(self.connect_timeout_seconds))
            .with_timeout(Duration::from_secs(self.timeout_seconds));
        if let Some(path) = &self.ca {
            for certificate in authorities(path)? {
                options = options.with_root_certificate(certificate);
            }
        }
        let retry = RetryConfig {
            backoff: BackoffConfig {
                init_backoff: Duration::from_millis(100),
                max_backoff: Duration::from_secs(10),
                base: 2.,
            },
            max_retries: self.retries,
            retry_timeout: Duration::from_secs(self.retry_seconds),
        };
        let mut builder = AmazonS3Builder::from_env()
            .with_bucket_name(&self.bucket)
            .with_conditional_put(S3ConditionalPut::ETagMatch)
            .with_client_options(options)
            .with_retry(retry);
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
        builder.build().map_err(|error| Cause::of(&error).detail)
    }
}

/// Returns the certificates of a file. They are trusted in addition to the system's, since the same client
/// reaches the cloud's own service for role credentials.
fn authorities(path: &Path) -> Result<Vec<Certificate>, String> {
    let place = path.display();
    let pem = std::fs::read(path).map_err(|error| format!("key `ca`: {place}: {error}"))?;
    Certificate::from_pem_bundle(&pem)
        .ok()
        .filter(|certificates| !certificates.is_empty())
        .ok_or_else(|| format!("key `ca`: {place}: holds no certificate in PEM"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(ca: &Path) -> String {
        let text = format!(r#"{{"bucket": "b", "ca": {ca:?}}}"#);
        let config: S3Config = serde_json::from_str(&text).unwrap();
        config.client().unwrap_err()
    }

    #[test]
    fn a_file_of_authorities_that_holds_none_is_told_by_key_and_path() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("ca.pem");
        for content in [
            None,
            Some(""),
            Some("hush"),
            Some("-----BEGIN CERTIFICATE-----\nhush\n"),
        ] {
            if let Some(content) = content {
                std::fs::write(&path, content).unwrap();
            }
            let message = refused(&path);
            assert!(
                message.contains("key `ca`") && message.contains(path.to_str().unwrap()),
                "{message}"
            );
            assert!(!message.contains("hush"), "{message}");
        }
    }
}
