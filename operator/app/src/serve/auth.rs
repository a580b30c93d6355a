//! The check of who sends a request: a program of this machine, a holder of a token, or a client with a certificate.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use axum::http::header::{AUTHORIZATION, HOST};
use axum::http::{HeaderMap, StatusCode};
use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConstantTimeEq as _};

use super::refusal::Refusal;
use crate::exit::usage;

/// The minimum length of a token: what cannot be guessed at the speed of a network.
const SHORTEST: usize = 16;

/// Files that say who may send requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct AuthSettings {
    /// Tokens, one per line.
    pub(crate) token_file: Option<PathBuf>,
    /// The server's certificate chain and its key.
    pub(crate) certificate: Option<(PathBuf, PathBuf)>,
    /// Authorities of clients' certificates.
    pub(crate) client_ca: Option<PathBuf>,
}

/// The check of a request.
pub(super) struct Auth {
    /// Digests of the tokens: they have one length, whatever the tokens have.
    tokens: Vec<[u8; 32]>,
    /// Whether anybody who reaches the server may use it: only programs of this machine do.
    is_open: bool,
}

impl AuthSettings {
    /// Refuses an address that other machines reach if nobody would be asked who they are.
    ///
    /// # Errors
    /// A usage error that says how to protect the server.
    pub(crate) fn check(&self, listen: SocketAddr) -> anyhow::Result<()> {
        let is_local = listen.ip().to_canonical().is_loopback();
        if is_local || self.token_file.is_some() || self.client_ca.is_some() {
            return Ok(());
        }
        Err(usage(format!(
            "--listen {listen}: other machines could reach this address without authentication; listen on 127.0.0.1, or add --token-file FILE, or --tls-cert FILE, --tls-key FILE and --client-ca FILE"
        )))
    }

    /// Returns whether tokens and notes would cross a network in clear text.
    pub(crate) fn is_clear_text(&self, listen: SocketAddr) -> bool {
        self.certificate.is_none() && !listen.ip().to_canonical().is_loopback()
    }
}

impl Auth {
    /// Reads the tokens.
    ///
    /// # Errors
    /// A usage error that names the file.
    pub(super) fn read(settings: &AuthSettings) -> anyhow::Result<Self> {
        let tokens = match &settings.token_file {
            Some(path) => tokens(path)?,
            None => Vec::new(),
        };
        Ok(Self {
            is_open: tokens.is_empty() && settings.client_ca.is_none(),
            tokens,
        })
    }

    /// Checks the headers of a request.
    pub(super) fn check(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        if self.is_open {
            return local(headers);
        }
        if self.tokens.is_empty() {
            // TLS has checked the certificate.
            return Ok(());
        }
        let given = headers.get(AUTHORIZATION).map(|value| value.as_bytes());
        let token = given.and_then(|value| match value.split_at_checked(7) {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case(b"bearer ") => Some(token.trim_ascii()),
            _ => None,
        });
        if token.is_some_and(|token| self.knows(token)) {
            return Ok(());
        }
        Err(Refusal::new(
            StatusCode::UNAUTHORIZED,
            "unauthorized",
            "the request has no valid token; send the header `Authorization: Bearer TOKEN`",
        ))
    }

    /// Compares with all tokens, in a time that does not depend on them.
    fn knows(&self, token: &[u8]) -> bool {
        let given: [u8; 32] = Sha256::digest(token).into();
        let equal = |one: &[u8; 32]| one.ct_eq(&given);
        let known = self
            .tokens
            .iter()
            .map(equal)
            .fold(Choice::from(0), |any, one| any | one);
        bool::from(known)
    }
}

/// Refuses requests under another name than this machine's own. A browser sends them for a page of the
/// internet whose name was changed to this machine's address, and that page could read the response.
fn local(headers: &HeaderMap) -> Result<(), Refusal> {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let name = host.map(|host| match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    });
    let is_own = |name: &str| {
        let address = name
            .trim_start_matches('[')
            .trim_end_matches(']')
            .parse::<IpAddr>();
        name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
    };
    if name.is_none_or(is_own) {
        return Ok(());
    }
    Err(Refusal::new(
        StatusCode::FORBIDDEN,
        "foreign_host",
        "the header `Host` names another machine; use 127.0.0.1 or localhost, or start the server with --token-file",
    ))
}

fn tokens(path: &Path) -> anyhow::Result<Vec<[u8; 32]>> {
    let fault = |why: &str| usage(format!("--token-file {}: {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| fault(&error.to_string()))?;
    let tokens: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    if tokens.is_empty() {
        return Err(fault("has no token; write one per line"));
    }
    if tokens
        .iter()
        .any(|token| token.len() < SHORTEST || !token.bytes().all(|byte| byte.is_ascii_graphic()))
    {
        return Err(fault(
            "has a token of fewer than 16 characters, or with characters outside ASCII; make one with `openssl rand -hex 32`",
        ));
    }
    Ok(tokens.iter().map(|token| Sha256::digest(token).into()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: axum::http::HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, value.parse().unwrap())])
    }

    #[test]
    fn other_machines_need_a_token_or_a_certificate() {
        let elsewhere: SocketAddr = "0.0.0.0:3000".parse().unwrap();
        let open = AuthSettings::default();
        let why = open.check(elsewhere).unwrap_err().to_string();
        assert!(
            why.contains("--token-file") && why.contains("--client-ca"),
            "{why}"
        );
        for local in ["127.0.0.1:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
            assert!(open.check(local.parse().unwrap()).is_ok(), "{local}");
        }
        let token = AuthSettings {
            token_file: Some("tokens".into()),
            ..AuthSettings::default()
        };
        assert!(token.check(elsewhere).is_ok() && token.is_clear_text(elsewhere));
    }

    #[test]
    fn a_token_is_accepted_with_its_scheme_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens");
        std::fs::write(&path, "first-token-000001\n\nsecond-token-00002\n").unwrap();
        let auth = Auth::read(&AuthSettings {
            token_file: Some(path.clone()),
            ..AuthSettings::default()
        });
        let auth = auth.unwrap();
        let is_ok = |value: &str| auth.check(&headers(AUTHORIZATION, value)).is_ok();
        assert!(is_ok("Bearer first-token-000001") && is_ok("bearer second-token-00002"));
        for wrong in [
            "first-token-000001",
            "Basic first-token-000001",
            "Bearer first-token-00000",
            "Bearer ",
        ] {
            assert!(!is_ok(wrong), "{wrong}");
        }
        assert!(auth.check(&HeaderMap::new()).is_err());
        std::fs::write(&path, "short\n").unwrap();
        assert!(tokens(&path).is_err());
    }

    #[test]
    fn a_page_of_the_internet_cannot_use_an_open_server() {
        let auth = Auth::read(&AuthSettings::default()).unwrap();
        for own in ["127.0.0.1:3000", "localhost", "LOCALHOST:3000", "[::1]:3000"] {
            assert!(auth.check(&headers(HOST, own)).is_ok(), "{own}");
        }
        assert!(auth.check(&headers(HOST, "notes.example:3000")).is_err());
    }
}
