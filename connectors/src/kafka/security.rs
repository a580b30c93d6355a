//! TLS and login to brokers.

use std::path::{Path, PathBuf};

use rdkafka::ClientConfig;
use schemars::JsonSchema;
use serde::Deserialize;

use super::config_error::{KafkaConfigError, bad};
use super::kerberos::Kerberos;
use super::token::{Login, TokenConfig};
use crate::secret::Secret;

/// TLS and login to the brokers: `protocol = "plaintext"`, `"tls"`, `"sasl"`, `"oauthbearer"` or
/// `"kerberos"`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "protocol", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Security {
    /// No encryption and no login. A struct variant without fields, so that serde refuses any fields.
    Plaintext {},
    /// TLS, with a client certificate if the broker requires one.
    Tls(Tls),
    /// A login with a password, over TLS unless `tls = false`.
    Sasl {
        /// The mechanism of the password check.
        mechanism: Mechanism,
        /// The user.
        #[schemars(extend("examples" = ["lethe"]))]
        user: String,
        /// The password.
        #[schemars(extend("examples" = ["${file:/run/secrets/kafka}"]))]
        password: Secret,
        /// Whether to use TLS. Without it, an eavesdropper can read notes, and with `PLAIN` also the
        /// password.
        #[serde(default = "yes")]
        tls: bool,
        /// PEM file of trusted certificate authorities. Default: the system's.
        ca: Option<PathBuf>,
    },
    /// A login with bearer tokens (SASL's OAUTHBEARER, RFC 7628), over TLS unless `tls = false`.
    Oauthbearer {
        /// The source of tokens.
        token: TokenConfig,
        /// Whether to use TLS. Without it, an eavesdropper can log in with the token until it expires.
        #[serde(default = "yes")]
        tls: bool,
        /// PEM file of trusted certificate authorities. Default: the system's.
        ca: Option<PathBuf>,
    },
    /// A login with a Kerberos ticket, over TLS unless `tls = false`. Only in builds with the feature
    /// `kerberos`.
    Kerberos(Kerberos),
}

impl Default for Security {
    fn default() -> Self {
        Self::Plaintext {}
    }
}

/// Settings of TLS.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Tls {
    /// PEM file of trusted certificate authorities. Default: the system's.
    pub ca: Option<PathBuf>,
    /// PEM file of the client certificate. By default the client presents none.
    pub certificate: Option<PathBuf>,
    /// PEM file of the private key of `certificate`.
    pub key: Option<PathBuf>,
    /// The passphrase of `key`. By default the key is not encrypted.
    pub key_password: Option<Secret>,
}

/// The mechanism of a password check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
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
    /// Returns Kafka's name.
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
    /// Returns the files that a client of the brokers reads when it is created, with their keys. Token files
    /// are read for each token.
    pub fn files(&self) -> Vec<(&'static str, &Path)> {
        let files = match self {
            Self::Plaintext {} => vec![],
            Self::Tls(tls) => vec![
                ("ca", &tls.ca),
                ("certificate", &tls.certificate),
                ("key", &tls.key),
            ],
            Self::Sasl { ca, .. }
            | Self::Oauthbearer { ca, .. }
            // kinit reads the keytab each time that it runs.
            | Self::Kerberos(Kerberos { ca, .. }) => vec![("ca", ca)],
        };
        files
            .into_iter()
            .filter_map(|(key, path)| Some((key, path.as_deref()?)))
            .collect()
    }

    /// Returns the token login, if the brokers use tokens.
    pub(super) fn login(&self) -> Login {
        match self {
            Self::Oauthbearer { token, .. } => Login::with(token.clone()),
            Self::Plaintext {} | Self::Tls(_) | Self::Sasl { .. } | Self::Kerberos(_) => Login::default(),
        }
    }

    /// Returns whether the login is by something that expires and that others renew.
    pub const fn expires(&self) -> bool {
        matches!(self, Self::Oauthbearer { .. } | Self::Kerberos(_))
    }

    /// Returns what to check if the login fails.
    pub(super) const fn login_check(&self) -> &'static str {
        match self {
            Self::Oauthbearer { .. } => {
                "the token that the brokers require: issuer, audience, scope, key, and the clocks"
            }
            Self::Kerberos(_) => {
                "`principal`, `keytab` and `service` in the `security` table, `krb5.conf`, the clocks, and what kinit printed"
            }
            Self::Plaintext {} | Self::Tls(_) | Self::Sasl { .. } => {
                "`user`, `password` and `mechanism` in the `security` table"
            }
        }
    }

    pub(super) fn apply(&self, config: &mut ClientConfig) -> Result<(), KafkaConfigError> {
        if cfg!(feature = "static-openssl") {
            // It has no default, so librdkafka looks where distributions keep certificates.
            config.set("ssl.ca.location", "probe");
        }
        match self {
            Self::Plaintext {} => {
                config.set("security.protocol", "plaintext");
            }
            Self::Tls(tls) => {
                if tls.certificate.is_some() != tls.key.is_some() {
                    return Err(bad("security", "set both `certificate` and `key`, or neither"));
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
                over_tls(config, *tls, ca)?;
                config
                    .set("sasl.mechanism", mechanism.name())
                    .set("sasl.username", user)
                    .set("sasl.password", password.expose());
            }
            Self::Oauthbearer { token, tls, ca } => {
                token.check()?;
                over_tls(config, *tls, ca)?;
                config.set("sasl.mechanism", "OAUTHBEARER");
            }
            Self::Kerberos(kerberos) => {
                over_tls(config, kerberos.tls, &kerberos.ca)?;
                kerberos.apply(config)?;
            }
        }
        Ok(())
    }
}

/// Sets the protocol of a login.
fn over_tls(config: &mut ClientConfig, tls: bool, ca: &Option<PathBuf>) -> Result<(), KafkaConfigError> {
    if ca.is_some() && !tls {
        return Err(bad("security", "`ca` has no effect with `tls = false`"));
    }
    config.set(
        "security.protocol",
        if tls { "sasl_ssl" } else { "sasl_plaintext" },
    );
    path(config, "ssl.ca.location", ca)
}

/// Sets a path, if there is one.
fn path(
    config: &mut ClientConfig,
    key: &'static str,
    path: &Option<PathBuf>,
) -> Result<(), KafkaConfigError> {
    let Some(path) = path else { return Ok(()) };
    let text = path
        .to_str()
        .ok_or_else(|| bad("security", "a path is not UTF-8"))?;
    config.set(key, text);
    Ok(())
}
