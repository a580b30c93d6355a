//! The settings of a bucket of Google Cloud Storage.

use std::path::PathBuf;

use super::Place;
use super::service::Service;
use crate::secret::Secret;

/// Settings of a bucket of Google Cloud Storage. Without a credential here, it comes from the environment
/// (`GOOGLE_SERVICE_ACCOUNT_KEY`, `GOOGLE_SERVICE_ACCOUNT`, `GOOGLE_APPLICATION_CREDENTIALS`), then from the login of
/// `gcloud`, then from the identity of the machine or pod.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GcsConfig {
    /// The bucket's name.
    #[schemars(extend("examples" = ["research"]))]
    pub bucket: String,
    /// The prefix of every object's name, without slashes at its ends.
    #[serde(default)]
    #[schemars(extend("examples" = ["lethe/notes"]))]
    pub prefix: String,
    /// The service's address. Default: `GOOGLE_BASE_URL`, else Google's.
    #[serde(default)]
    #[schemars(extend("examples" = ["https://storage.me-central2.rep.googleapis.com"]))]
    pub endpoint: Option<String>,
    /// The key of a service account, in JSON.
    #[serde(default, skip_serializing)]
    #[schemars(extend("examples" = ["${file:/run/secrets/gcs.json}"]))]
    pub service_account_key: Option<Secret>,
    /// Whether to send requests without a credential, for emulators and public buckets.
    #[serde(default)]
    pub anonymous: bool,
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

impl GcsConfig {
    pub(super) fn place(&self) -> Place<'_> {
        Place {
            service: Service::Gcs,
            root: format!("gs://{}", self.bucket),
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
    #[cfg(feature = "gcs")]
    pub(super) fn client(&self) -> Result<object_store::gcp::GoogleCloudStorage, String> {
        use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};

        let requests = super::requests::Requests {
            ca: self.ca.as_deref(),
            allow_http: self.allow_http,
            connect_timeout_seconds: self.connect_timeout_seconds,
            timeout_seconds: self.timeout_seconds,
            retries: self.retries,
            retry_seconds: self.retry_seconds,
        };
        let environment = GoogleCloudStorageBuilder::from_env();
        let from_environment = |key| environment.get_config_value(&key);
        let endpoint = self
            .endpoint
            .clone()
            .or_else(|| from_environment(GoogleConfigKey::BaseUrl));
        let mut builder = match &self.service_account_key {
            _ if self.anonymous => {
                if self.service_account_key.is_some() {
                    return Err(
                        "only one of the keys `anonymous` and `service_account_key` may be set".into(),
                    );
                }
                // The client looks for credentials even if it sends none; a damaged file would stop it.
                let empty = object_store::gcp::GcpCredential {
                    bearer: String::new(),
                };
                let empty = object_store::StaticCredentialProvider::new(empty);
                GoogleCloudStorageBuilder::new()
                    .with_credentials(std::sync::Arc::new(empty))
                    .with_skip_signature(true)
            }
            Some(key) => GoogleCloudStorageBuilder::new().with_service_account_key(key.expose()),
            None => environment,
        };
        builder = builder
            .with_bucket_name(&self.bucket)
            .with_client_options(requests.options()?)
            .with_retry(requests.retry());
        if let Some(endpoint) = endpoint {
            builder = builder.with_base_url(endpoint.trim_end_matches('/'));
        }
        // The library's message can quote the key.
        builder.build().map_err(|_| match &self.service_account_key {
            Some(_) => "key `service_account_key` is not the key of a service account in JSON".into(),
            None => "the credentials that GOOGLE_SERVICE_ACCOUNT_KEY, GOOGLE_SERVICE_ACCOUNT, \
                     GOOGLE_APPLICATION_CREDENTIALS or the login of gcloud name cannot be read: they must be those of a \
                     service account or an authorized user, in JSON"
                .into(),
        })
    }
}

#[cfg(all(test, feature = "gcs"))]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_no_service_account_is_refused_without_quoting_it() {
        for key in [
            "hush",
            r#"{"private_key": "hush"}"#,
            r#"{"private_key": ["hush"]}"#,
        ] {
            let text = serde_json::json!({"bucket": "b", "service_account_key": key});
            let config: GcsConfig = serde_json::from_value(text).unwrap();
            let error = config.client().unwrap_err();
            assert!(
                error.contains("service_account_key") && !error.contains("hush"),
                "{error}"
            );
        }
    }
}
