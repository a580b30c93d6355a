//! The settings of a bucket.

use std::path::PathBuf;

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
