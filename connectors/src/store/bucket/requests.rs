//! Timeouts, retries and TLS of requests, which all clients share.

use std::path::Path;
use std::time::Duration;

use object_store::{BackoffConfig, Certificate, ClientOptions, RetryConfig};

/// The settings of requests.
pub(super) struct Requests<'a> {
    pub(super) ca: Option<&'a Path>,
    pub(super) allow_http: bool,
    pub(super) connect_timeout_seconds: u64,
    pub(super) timeout_seconds: u64,
    pub(super) retries: usize,
    pub(super) retry_seconds: u64,
}

impl Requests<'_> {
    /// Returns the options of a client.
    ///
    /// # Errors
    /// The problem with the file of authorities.
    pub(super) fn options(&self) -> Result<ClientOptions, String> {
        let mut options = ClientOptions::new()
            .with_allow_http(self.allow_http)
            .with_connect_timeout(Duration::from_secs(self.connect_timeout_seconds))
            .with_timeout(Duration::from_secs(self.timeout_seconds));
        if let Some(path) = self.ca {
            for certificate in authorities(path)? {
                options = options.with_root_certificate(certificate);
            }
        }
        Ok(options)
    }

    /// Returns how a client retries.
    pub(super) fn retry(&self) -> RetryConfig {
        RetryConfig {
            backoff: BackoffConfig {
                init_backoff: Duration::from_millis(100),
                max_backoff: Duration::from_secs(10),
                base: 2.,
            },
            max_retries: self.retries,
            retry_timeout: Duration::from_secs(self.retry_seconds),
        }
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
            let message = authorities(&path).unwrap_err();
            assert!(
                message.contains("key `ca`") && message.contains(path.to_str().unwrap()),
                "{message}"
            );
            assert!(!message.contains("hush"), "{message}");
        }
    }
}
