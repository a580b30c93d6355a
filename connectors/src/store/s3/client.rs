//! The client of a bucket.

use std::path::Path;
use std::time::Duration;

use object_store::aws::{AmazonS3, AmazonS3Builder, S3ConditionalPut};
use object_store::{BackoffConfig, Certificate, ClientOptions, RetryConfig};

use super::S3Config;
use super::cause::Cause;

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
