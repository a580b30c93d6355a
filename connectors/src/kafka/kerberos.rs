//! Logins with Kerberos.

use std::path::PathBuf;

use rdkafka::ClientConfig;
use schemars::JsonSchema;
use serde::Deserialize;

use super::config_error::{KafkaConfigError, bad};

/// A login with a Kerberos ticket (SASL's GSSAPI, RFC 4752). librdkafka logs in by the system's Cyrus SASL
/// library and its GSSAPI module, which use `krb5.conf` and the ticket cache that `KRB5CCNAME` names.
///
/// With a keytab, librdkafka runs `kinit` when a client is created and then every `renew_seconds`. Without
/// one, something else must keep a valid ticket in the cache.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Kerberos {
    /// The client's principal. Required with `keytab`.
    #[schemars(extend("examples" = ["lethe@EXAMPLE.ORG"]))]
    pub principal: Option<String>,
    /// Keytab file of `principal`, for which Lethe runs `kinit`. By default Lethe uses the ticket cache as it
    /// is.
    pub keytab: Option<PathBuf>,
    /// The first part of the brokers' principals; the second is the host name of each broker.
    #[serde(default = "kafka")]
    pub service: String,
    /// Seconds between two runs of `kinit`. Choose less than a ticket's lifetime.
    #[serde(default = "ten_minutes")]
    #[schemars(range(min = 1, max = 86_400))]
    pub renew_seconds: u64,
    /// Whether to use TLS. Without it, an eavesdropper can read notes.
    #[serde(default = "yes")]
    pub tls: bool,
    /// PEM file of trusted certificate authorities. Default: the system's.
    pub ca: Option<PathBuf>,
}

fn kafka() -> String {
    "kafka".to_owned()
}

const fn ten_minutes() -> u64 {
    600
}

const fn yes() -> bool {
    true
}

/// The command that gets a ticket. librdkafka passes it to a shell, so that [`Kerberos::apply`] refuses
/// characters that a shell expands between double quotes. librdkafka's own default renews the ticket first,
/// and prints an error each time if the ticket cannot be renewed.
const KINIT: &str = r#"kinit -k -t "%{sasl.kerberos.keytab}" "%{sasl.kerberos.principal}""#;

impl Kerberos {
    /// Sets all of the login but the authorities.
    pub(super) fn apply(&self, config: &mut ClientConfig) -> Result<(), KafkaConfigError> {
        if !cfg!(feature = "kerberos") {
            return Err(bad(
                "security",
                "this program was built without Kerberos; build one with the feature `kerberos`",
            ));
        }
        if self.service.is_empty() {
            return Err(bad("security", "`service` may not be empty"));
        }
        if !(1..=86_400).contains(&self.renew_seconds) {
            return Err(bad("security", "`renew_seconds` must be from 1 to 86400"));
        }
        config
            .set("sasl.mechanism", "GSSAPI")
            .set("sasl.kerberos.service.name", &self.service);
        if let Some(principal) = &self.principal {
            config.set("sasl.kerberos.principal", for_shell("principal", principal)?);
        }
        let Some(keytab) = &self.keytab else {
            // No kinit.
            config.set("sasl.kerberos.min.time.before.relogin", "0");
            return Ok(());
        };
        if self.principal.is_none() {
            return Err(bad("security", "`keytab` needs `principal`"));
        }
        let keytab = keytab
            .to_str()
            .ok_or_else(|| bad("security", "a path is not UTF-8"))?;
        config
            .set("sasl.kerberos.keytab", for_shell("keytab", keytab)?)
            .set("sasl.kerberos.kinit.cmd", KINIT)
            .set(
                "sasl.kerberos.min.time.before.relogin",
                (self.renew_seconds * 1000).to_string(),
            );
        Ok(())
    }
}

/// Returns the value if a shell takes it literally between double quotes, and `kinit` as no option.
fn for_shell<'a>(key: &str, value: &'a str) -> Result<&'a str, KafkaConfigError> {
    let special = |c: char| c.is_control() || matches!(c, '"' | '$' | '`' | '\\' | '%');
    if value.is_empty() || value.starts_with('-') {
        return Err(bad(
            "security",
            format!("`{key}` may not be empty or begin with `-`"),
        ));
    }
    match value.chars().find(|&c| special(c)) {
        Some(c) => Err(bad(
            "security",
            format!("`{key}` may not contain {c:?}: it is an argument of a shell command"),
        )),
        None => Ok(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_a_shell_would_expand_are_refused() {
        for value in [
            "lethe@EXAMPLE.ORG",
            "lethe/host-1.example@EXAMPLE.ORG",
            "/etc/a b/key.tab",
        ] {
            assert_eq!(for_shell("principal", value).unwrap(), value);
        }
        for value in [
            "",
            "-k",
            "a\"; id; \"",
            "$(id)",
            "`id`",
            "a\\",
            "%{sasl.password}",
            "a\nb",
        ] {
            let error = for_shell("principal", value).unwrap_err().to_string();
            assert!(error.contains("`principal` may not"), "{error}");
        }
    }

    #[cfg(not(feature = "kerberos"))]
    #[test]
    fn a_build_without_kerberos_names_the_feature() {
        let login: Kerberos = login_of(r#"{"principal":"lethe@EXAMPLE.ORG"}"#);
        let error = login.apply(&mut ClientConfig::new()).unwrap_err().to_string();
        assert!(error.contains("the feature `kerberos`"), "{error}");
    }

    #[cfg(feature = "kerberos")]
    #[test]
    fn a_keytab_needs_a_principal_and_runs_kinit() {
        let mut config = ClientConfig::new();
        let error = login_of(r#"{"keytab":"/k"}"#).apply(&mut config).unwrap_err();
        assert!(
            error.to_string().contains("`keytab` needs `principal`"),
            "{error}"
        );
        login_of(r#"{"keytab":"/k","principal":"p@R","renew_seconds":5}"#)
            .apply(&mut config)
            .unwrap();
        assert_eq!(config.get("sasl.kerberos.min.time.before.relogin"), Some("5000"));
        assert_eq!(config.get("sasl.kerberos.kinit.cmd"), Some(KINIT));
        let mut config = ClientConfig::new();
        login_of("{}").apply(&mut config).unwrap();
        assert_eq!(config.get("sasl.kerberos.min.time.before.relogin"), Some("0"));
    }

    fn login_of(json: &str) -> Kerberos {
        serde_json::from_str(json).unwrap()
    }
}
