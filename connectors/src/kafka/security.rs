//! How to reach and log in to brokers.

use std::path::{Path, PathBuf};

use rdkafka::ClientConfig;
use serde::Deserialize;

use super::config::{KafkaConfigError, bad};
use super::token::{Login, TokenConfig};
use crate::secret::Secret;

/// How to reach and log in to the brokers: `protocol = "plaintext"`, `"tls"`, `"sasl"` or `"oauthbearer"`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "protocol", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Security {
    /// In the clear, without a login. A struct without fields, so that serde refuses fields given to it.
    Plaintext {},
    /// TLS, with a certificate of one's own where the broker asks for one.
    Tls(Tls),
    /// A login, over TLS unless `tls = false`.
    Sasl {
        /// How the password is proved.
        mechanism: Mechanism,
        /// The user.
        user: String,
        /// The password.
        password: Secret,
        /// Whether the connection is TLS.
        #[serde(default = "yes")]
        tls: bool,
        /// File of the authorities to trust, PEM. The system's where not given.
        ca: Option<PathBuf>,
    },
    /// A login with bearer tokens (SASL's OAUTHBEARER, RFC 7628), over TLS unless `tls = false`.
    Oauthbearer {
        /// Where tokens come from.
        token: TokenConfig,
        /// Whether the connection is TLS. Who listens where it is not can log in with the token until it ends.
        #[serde(default = "yes")]
        tls: bool,
        /// File of the authorities to trust, PEM. The system's where not given.
        ca: Option<PathBuf>,
    },
}

impl Default for Security {
    fn default() -> Self {
        Self::Plaintext {}
    }
}

/// Settings of TLS.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tls {
    /// File of the authorities to trust, PEM. The system's where not given.
    pub ca: Option<PathBuf>,
    /// This client's certificate, PEM.
    pub certificate: Option<PathBuf>,
    /// Its key, PEM.
    pub key: Option<PathBuf>,
    /// The key's passphrase.
    pub key_password: Option<Secret>,
}

/// How a password is proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[expect(missing_docs, reason = "the names are Kafka's own")]
pub enum Mechanism {
    #[serde(rename = "PLAIN")]
    Plain,
    #[serde(rename = "SCRAM-SHA-256")]
    ScramSha256,
    #[serde(rename = "SCRAM-SHA-512")]
    ScramSha512,
}

impl Mechanism {
    /// Kafka's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::ScramSha256 => "SCRAM-SHA-256",
            Self::ScramSha512 => "SCRAM-SHA-512",
        }
    }
}

const fn yes() -> bool {
    true
}

impl Security {
    /// The files that a client of the brokers reads when it is made, each with its key. Those of tokens are read at each
    /// token.
    pub fn files(&self) -> Vec<(&'static str, &Path)> {
        let files = match self {
            Self::Plaintext {} => vec![],
            Self::Tls(tls) => vec![
                ("ca", &tls.ca),
                ("certificate", &tls.certificate),
                ("key", &tls.key),
            ],
            Self::Sasl { ca, .. } | Self::Oauthbearer { ca, .. } => vec![("ca", ca)],
        };
        files
            .into_iter()
            .filter_map(|(key, path)| Some((key, path.as_deref()?)))
            .collect()
    }

    /// The tokens that clients log in with, if these are what the brokers want.
    pub(super) fn login(&self) -> Login {
        match self {
            Self::Oauthbearer { token, .. } => Login::with(token.clone()),
            Self::Plaintext {} | Self::Tls(_) | Self::Sasl { .. } => Login::default(),
        }
    }

    pub(super) fn apply(&self, config: &mut ClientConfig) -> Result<(), KafkaConfigError> {
        let path = |config: &mut ClientConfig, key: &'static str, path: &Option<PathBuf>| {
            let Some(path) = path else { return Ok(()) };
            let text = path
                .to_str()
                .ok_or_else(|| bad("security", "a path is not UTF-8"))?;
            config.set(key, text);
            Ok(())
        };
        match self {
            Self::Plaintext {} => {
                config.set("security.protocol", "plaintext");
            }
            Self::Tls(tls) => {
                if tls.certificate.is_some() != tls.key.is_some() {
                    return Err(bad("security", "`certificate` and `key` go together"));
                }
                config.set("security.protocol", "ssl");
                path(config, "ssl.ca.location", &tls.ca)?;
                path(config, "ssl.certificate.location", &tls.certificate)?;
                path(config, "ssl.key.location", &tls.key)?;
                if let Some(password) = &tls.key_password {
                    config.set("ssl.key.password", password.expose());
                }
            }
            Self::Sasl {
                mechanism,
                user,
                password,
                tls,
                ca,
            } => {
                if user.is_empty() || password.is_empty() {
                    return Err(bad("security", "`user` and `password` may not be empty"));
                }
                if ca.is_some() && !tls {
                    return Err(bad("security", "`ca` has no use with `tls = false`"));
                }
                config
                    .set(
                        "security.protocol",
                        if *tls { "sasl_ssl" } else { "sasl_plaintext" },
                    )
                    .set("sasl.mechanism", mechanism.name())
                    .set("sasl.username", user)
                    .set("sasl.password", password.expose());
                path(config, "ssl.ca.location", ca)?;
            }
            Self::Oauthbearer { token, tls, ca } => {
                token.check()?;
                if ca.is_some() && !tls {
                    return Err(bad("security", "`ca` has no use with `tls = false`"));
                }
                config
                    .set(
                        "security.protocol",
                        if *tls { "sasl_ssl" } else { "sasl_plaintext" },
                    )
                    .set("sasl.mechanism", "OAUTHBEARER");
                path(config, "ssl.ca.location", ca)?;
            }
        }
        Ok(())
    }
}
