//! The settings of a connection: a URL or a string of keywords, as libpq documents them.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr as _;
use std::time::Duration;

use postgres_openssl::MakeTlsConnector;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::{Client, Config, Error};

use super::split::split;
use super::{Verify, connect, connector, password};

/// Time to connect to one address.
const CONNECT: Duration = Duration::from_secs(10);

/// Why a connection cannot be set up. No message quotes the connection string, which may hold a password.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// The string is invalid.
    #[error(
        "is not a valid connection string; write a URL such as postgresql://USER@HOST:5432/DATABASE, or keywords such as `host=HOST user=USER dbname=DATABASE`"
    )]
    Invalid,
    /// It has no host.
    #[error("names no host; add one, or the folder of the server's socket")]
    NoHost,
    /// The mode of encryption is unknown.
    #[error("has an unknown `sslmode`; use disable, allow, prefer, require, verify-ca or verify-full")]
    Mode,
    /// TLS cannot be set up.
    #[error("TLS cannot be set up: {0}; check `sslrootcert`")]
    Tls(String),
    /// The password file cannot be used.
    #[error("the password file {}: {why}", path.display())]
    PasswordFile {
        /// The file.
        path: PathBuf,
        /// The problem.
        why: String,
    },
}

/// The settings of a connection to a server.
#[derive(Clone)]
pub struct Settings {
    config: Config,
    tls: Option<MakeTlsConnector>,
}

impl Settings {
    /// Parses a connection string. `sslmode`, `sslrootcert` and `passfile` mean what libpq documents, except
    /// that without `sslmode` the server's certificate and name are verified (`verify-full`), unless the
    /// server is reached by a socket of this machine.
    ///
    /// Without `password` and a password in the string, the password comes from `PGPASSWORD`, then from the
    /// password file (`passfile`, `PGPASSFILE` or `~/.pgpass`).
    ///
    /// # Errors
    /// [`SettingsError`].
    pub fn parse(text: &str, given: Option<&str>) -> Result<Self, SettingsError> {
        let split = split(text, &["sslmode", "sslrootcert", "passfile"]).ok_or(SettingsError::Invalid)?;
        let last = |key: &str| {
            let found = split.taken.iter().rev().find(|(name, _)| name == key);
            found.map(|(_, value)| value.as_str())
        };
        // The parser's message can quote the string.
        let mut config = Config::from_str(&split.rest).map_err(|_| SettingsError::Invalid)?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(SettingsError::NoHost);
        }
        let is_local = |host: &Host| match host {
            Host::Tcp(_) => false,
            #[cfg(unix)]
            Host::Unix(_) => true,
        };
        let is_socket = !config.get_hosts().is_empty() && config.get_hosts().iter().all(is_local);
        let authority = last("sslrootcert")
            .filter(|file| *file != "system")
            .map(Path::new);
        let (mode, verify) = match last("sslmode") {
            // Servers offer no encryption on sockets of the same machine.
            _ if is_socket => (SslMode::Disable, Verify::Nothing),
            Some("disable") => (SslMode::Disable, Verify::Nothing),
            Some("allow" | "prefer") => (SslMode::Prefer, Verify::Nothing),
            Some("require") if authority.is_none() => (SslMode::Require, Verify::Nothing),
            Some("require" | "verify-ca") => (SslMode::Require, Verify::Authority),
            Some("verify-full") | None => (SslMode::Require, Verify::Full),
            Some(_) => return Err(SettingsError::Mode),
        };
        config.ssl_mode(mode);
        let tls = (mode != SslMode::Disable)
            .then(|| connector(authority, verify).map_err(|error| SettingsError::Tls(error.to_string())))
            .transpose()?;
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT);
        }
        if config.get_application_name().is_none() {
            config.application_name("lethe");
        }
        // A server that vanishes is noticed within minutes, also while it computes a long result.
        config
            .keepalives_idle(Duration::from_secs(30))
            .keepalives_interval(Duration::from_secs(10))
            .keepalives_retries(6);
        if let Some(given) = given {
            config.password(given);
        } else if config.get_password().is_none() {
            let found = password::find(&config, last("passfile").map(Path::new))?;
            if let Some(found) = found {
                config.password(found.as_str());
            }
        }
        Ok(Self { config, tls })
    }

    /// Returns whether a connection string contains a password.
    pub fn has_password(text: &str) -> bool {
        split(text, &[]).is_some_and(|split| split.has_password)
    }

    /// Returns the database and its host, without user and password.
    pub fn place(&self) -> String {
        let database = self
            .config
            .get_dbname()
            .or_else(|| self.config.get_user())
            .unwrap_or("of the user's name");
        let host = match self.config.get_hosts().first() {
            Some(Host::Tcp(name)) => name.clone(),
            #[cfg(unix)]
            Some(Host::Unix(folder)) => folder.display().to_string(),
            None => self
                .config
                .get_hostaddrs()
                .first()
                .map_or_else(String::new, ToString::to_string),
        };
        format!("database {database} on {host}")
    }

    /// Connects. A task of the current runtime drives the connection.
    ///
    /// # Errors
    /// The client's or the server's.
    pub async fn connect(&self) -> Result<Client, Error> {
        connect(&self.config, self.tls.as_ref()).await
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Settings").field(&self.place()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_of_encryption_are_those_of_libpq() {
        let mode = |text: &str| {
            let settings = Settings::parse(text, Some("p")).unwrap();
            (settings.config.get_ssl_mode(), settings.tls.is_some())
        };
        assert_eq!(mode("postgres://h/d"), (SslMode::Require, true));
        assert_eq!(mode("postgres://h/d?sslmode=disable"), (SslMode::Disable, false));
        assert_eq!(mode("postgres://h/d?sslmode=prefer"), (SslMode::Prefer, true));
        assert_eq!(mode("host=h sslmode=verify-ca"), (SslMode::Require, true));
        assert_eq!(mode("host=/run/postgresql dbname=d"), (SslMode::Disable, false));
        for (text, why) in [
            ("postgres://h/d?sslmode=tls", "unknown `sslmode`"),
            ("dbname=d", "names no host"),
            ("postgres://u:hush@h:port/d", "not a valid connection string"),
            ("postgres://h/d?sslrootcert=/missing.pem", "check `sslrootcert`"),
        ] {
            let error = Settings::parse(text, Some("p")).unwrap_err().to_string();
            assert!(error.contains(why) && !error.contains("hush"), "{error}");
        }
    }

    #[test]
    fn settings_print_no_user_and_no_password() {
        let settings = Settings::parse("postgres://someone:hush@db.example/ehr", None).unwrap();
        assert_eq!(settings.place(), "database ehr on db.example");
        assert_eq!(
            format!("{settings:?}"),
            "Settings(\"database ehr on db.example\")"
        );
        assert!(Settings::has_password("postgres://someone:hush@db.example/ehr"));
    }
}
