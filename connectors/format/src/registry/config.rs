//! Address and login of a schema registry.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::secret::Secret;

/// Address and login of a registry with Confluent's protocol (Confluent, Karapace, Apicurio under
/// `/apis/ccompat/v7`).
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RegistryConfig {
    /// Its URL: `https://registry.example/path`.
    pub url: String,
    /// The user of a password login.
    #[serde(default)]
    pub user: Option<String>,
    /// Its password.
    #[serde(default, skip_serializing)]
    pub password: Option<Secret>,
    /// The token of a login without a user.
    #[serde(default, skip_serializing)]
    pub token: Option<Secret>,
    /// PEM file of trusted certificate authorities. Default: the system's.
    #[serde(default)]
    pub ca: Option<PathBuf>,
    /// Whether to accept a URL without TLS. A schema determines which field is the note: an attacker who
    /// changes it in transit can move a note's text to a field that is not redacted.
    #[serde(default)]
    pub allow_http: bool,
    /// Timeout for a connection, in seconds.
    #[serde(default = "connect_timeout_seconds")]
    pub connect_timeout_seconds: u64,
    /// Timeout of a request, in seconds.
    #[serde(default = "timeout_seconds")]
    pub timeout_seconds: u64,
}

const fn connect_timeout_seconds() -> u64 {
    5
}

const fn timeout_seconds() -> u64 {
    10
}
