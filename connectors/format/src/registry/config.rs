//! How to reach and log in to a schema registry.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::secret::Secret;

/// How to reach and log in to a registry that speaks Confluent's protocol (Confluent, Karapace, Apicurio under
/// `/apis/ccompat/v7`).
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RegistryConfig {
    /// Its address: `https://registry.example/path`.
    pub url: String,
    /// The user of a login with a password.
    #[serde(default)]
    pub user: Option<String>,
    /// Its password.
    #[serde(default, skip_serializing)]
    pub password: Option<Secret>,
    /// The token of a login without a user.
    #[serde(default, skip_serializing)]
    pub token: Option<Secret>,
    /// File of the authorities to trust, PEM. The system's where not given.
    #[serde(default)]
    pub ca: Option<PathBuf>,
    /// Whether an address without TLS is accepted. A schema says which field is the note: whoever can change it on its
    /// way can have a note's text written where nothing is redacted.
    #[serde(default)]
    pub allow_http: bool,
    /// Seconds to wait for a connection.
    #[serde(default = "connect_timeout_seconds")]
    pub connect_timeout_seconds: u64,
    /// Seconds that one request may take.
    #[serde(default = "timeout_seconds")]
    pub timeout_seconds: u64,
}

const fn connect_timeout_seconds() -> u64 {
    5
}

const fn timeout_seconds() -> u64 {
    10
}
