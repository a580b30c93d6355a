//! Address and login of a schema registry.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::secret::Secret;

/// Address and login of a schema registry with Confluent's protocol (Confluent, Karapace, Apicurio under
/// `/apis/ccompat/v7`).
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RegistryConfig {
    /// The registry's URL.
    #[schemars(extend("examples" = ["https://registry.example"]))]
    pub url: String,
    /// The user of a login with a password. By default Lethe does not log in.
    #[serde(default)]
    pub user: Option<String>,
    /// The password of `user`.
    #[serde(default, skip_serializing)]
    pub password: Option<Secret>,
    /// The bearer token, for a login without a user.
    #[serde(default, skip_serializing)]
    pub token: Option<Secret>,
    /// PEM file of trusted certificate authorities. Default: the system's.
    #[serde(default)]
    pub ca: Option<PathBuf>,
    /// Whether to accept a URL without TLS. Schemas determine which field is the note, so an attacker who can
    /// change them in transit can make a note's text leave unredacted.
    #[serde(default)]
    pub allow_http: bool,
    /// Timeout for a connection.
    #[serde(default = "connect_timeout_seconds")]
    pub connect_timeout_seconds: u64,
    /// Timeout of a request.
    #[serde(default = "timeout_seconds")]
    pub timeout_seconds: u64,
}

const fn connect_timeout_seconds() -> u64 {
    5
}

const fn timeout_seconds() -> u64 {
    10
}
