//! Tokens from an authorisation server, by the client's own credentials (RFC 6749, section 4.4; KIP-768 is the same for
//! Kafka's own clients).
//!
//! A client is made for each request, and the secret and the authorities are read then: a token lasts minutes or hours, and
//! files that were changed meanwhile are simply what counts.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use reqwest::{Client, StatusCode, Url, redirect};
use serde::Deserialize;
use serde_json::Value;
use zeroize::Zeroizing;

use super::claims::{Claims, is_bearer};
use super::{Token, TokenError, now_ms, read_secret};
use crate::authority;
use crate::kafka::config::{KafkaConfigError, bad};
use crate::secret::Secret;

/// The largest answer that is read.
const MAX_ANSWER: usize = 256 << 10;

/// How to reach and log in to an authorisation server.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndpointConfig {
    /// The address of its token endpoint.
    pub url: String,
    /// This client's name there.
    pub client_id: String,
    /// File that holds its secret, read at each request.
    pub client_secret_file: PathBuf,
    /// What is asked for, in the server's own words.
    #[serde(default)]
    pub scope: Option<String>,
    /// Further parameters of the request that some servers want, such as `audience`.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    /// File of the authorities to trust, PEM. The system's where not given.
    #[serde(default)]
    pub ca: Option<PathBuf>,
    /// Whether an address without TLS is accepted. Who listens there has the secret.
    #[serde(default)]
    pub allow_http: bool,
    /// Seconds to wait for a connection.
    #[serde(default = "connect_timeout_seconds")]
    pub connect_timeout_seconds: u64,
    /// Seconds that one request may take. The consumer does not poll meanwhile.
    #[serde(default = "timeout_seconds")]
    pub timeout_seconds: u64,
}

const fn connect_timeout_seconds() -> u64 {
    5
}

const fn timeout_seconds() -> u64 {
    10
}

/// What a server answers (RFC 6749, sections 5.1 and 5.2). What it says in prose is not read: it can quote the request.
#[derive(Deserialize)]
struct Answer {
    access_token: Option<Secret>,
    token_type: Option<String>,
    expires_in: Option<Value>,
    error: Option<String>,
}

impl EndpointConfig {
    /// Whether these settings can be used. Reaches nothing and reads no file.
    pub(super) fn check(&self) -> Result<(), KafkaConfigError> {
        let wrong = |problem: &str| Err(bad("security.token", problem));
        let Ok(url) = Url::parse(&self.url) else {
            return wrong("`url` is no address");
        };
        match url.scheme() {
            "https" => {}
            "http" if self.allow_http => {}
            "http" => {
                return wrong(
                    "`url` has no TLS: the client's secret would cross the network in the clear; set `allow_http = true` only \
                     for a server on this machine",
                );
            }
            _ => return wrong("`url` must begin with https://"),
        }
        if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
            return wrong("`url` holds a login or a fragment; write `client_id` and `client_secret_file`");
        }
        if self.client_id.is_empty() {
            return wrong("`client_id` may not be empty");
        }
        let own = ["grant_type", "scope", "client_id", "client_secret"];
        if let Some(name) = own.iter().find(|&&name| self.parameters.contains_key(name)) {
            return wrong(&format!(
                "`parameters.{name}` is set by Lethe; use the key of its own"
            ));
        }
        Ok(())
    }

    /// Asks for a token, on a thread of its own: whoever calls may be inside a runtime or not.
    pub(super) fn fetch(&self) -> Result<Token, TokenError> {
        let asked = std::thread::scope(|scope| {
            let asking = scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .map_err(|error| self.away(format!("no client: {error}")))?;
                runtime.block_on(self.ask())
            });
            asking.join()
        });
        asked.unwrap_or_else(|_| Err(self.away("its client failed")))
    }

    async fn ask(&self) -> Result<Token, TokenError> {
        let secret = read_secret(&self.client_secret_file)?;
        let mut client = Client::builder()
            .user_agent("lethe")
            // A login must not follow to another address.
            .redirect(redirect::Policy::none())
            .connect_timeout(Duration::from_secs(self.connect_timeout_seconds))
            .timeout(Duration::from_secs(self.timeout_seconds));
        if let Some(path) = &self.ca {
            client = client.tls_built_in_root_certs(false);
            client = authority::read(path)
                .map_err(TokenError::unusable)?
                .into_iter()
                .fold(client, |client, one| client.add_root_certificate(one));
        }
        let client = client.build().map_err(|error| self.away(cause(error)))?;
        let mut form = vec![("grant_type", "client_credentials")];
        form.extend(self.scope.as_deref().map(|scope| ("scope", scope)));
        form.extend(
            self.parameters
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str())),
        );
        let sent = client
            .post(&self.url)
            .header("accept", "application/json")
            .basic_auth(
                encoded(&self.client_id).as_str(),
                Some(encoded(secret.expose()).as_str()),
            )
            .form(&form)
            .send()
            .await;
        let mut response = sent.map_err(|error| self.away(cause(error)))?;
        let status = response.status();
        // Room for the longest answer: a buffer that grows leaves copies of the token behind.
        let mut body = Zeroizing::new(Vec::with_capacity(MAX_ANSWER));
        while let Some(part) = response.chunk().await.map_err(|error| self.away(cause(error)))? {
            if body.len() + part.len() > MAX_ANSWER {
                return Err(self.away(format!("answers {status} at great length")));
            }
            body.extend_from_slice(&part);
        }
        self.read(status, &body)
    }

    /// The token of an answer, or why there is none.
    fn read(&self, status: StatusCode, body: &[u8]) -> Result<Token, TokenError> {
        let answer = serde_json::from_slice::<Answer>(body).ok();
        if status != StatusCode::OK {
            let code = answer
                .and_then(|answer| answer.error)
                .filter(|code| is_code(code));
            let code = code.map_or_else(String::new, |code| format!(", {code}"));
            return Err(match status.as_u16() {
                408 | 425 | 429 | 500.. => self.away(format!("answers {status}{code}")),
                _ => self.refused(format!(
                    "refuses ({status}{code}): check `url`, `client_id`, the secret in {} and `scope`",
                    self.client_secret_file.display()
                )),
            });
        }
        let refused = |why: &str| Err(self.refused(why.to_owned()));
        let Some(Answer {
            access_token: Some(text),
            token_type,
            expires_in,
            ..
        }) = answer
        else {
            return refused("answers what is no token: check `url`");
        };
        if token_type.is_some_and(|kind| !kind.eq_ignore_ascii_case("bearer")) {
            return refused("gives a token of another type than Bearer (RFC 6750)");
        }
        if !is_bearer(text.expose()) {
            return refused("gives a token with characters that none may have (RFC 6750)");
        }
        let claims = Claims::of(text.expose()).unwrap_or_default();
        let seconds = expires_in.and_then(|value| match value {
            // Some servers write the number as text.
            Value::String(text) => text.parse::<f64>().ok(),
            value => value.as_f64(),
        });
        let ends_ms = match seconds {
            Some(seconds) if seconds > 0.0 && seconds < 1e10 => Some(now_ms() + (seconds * 1000.0) as i64),
            Some(_) => None,
            None => claims.ends_ms(),
        };
        let Some(ends_ms) = ends_ms.filter(|&ends| ends > now_ms()) else {
            return refused("gives a token that does not say when it ends, or has ended");
        };
        Ok(Token::new(text, claims.sub, ends_ms))
    }

    fn away(&self, why: impl std::fmt::Display) -> TokenError {
        TokenError::away(format!("token endpoint {}: {why}", self.url))
    }

    fn refused(&self, why: impl std::fmt::Display) -> TokenError {
        TokenError::unusable(format!("token endpoint {}: {why}", self.url))
    }
}

/// Whether these can be an error code of RFC 6749, section 5.2, rather than text that quotes something.
fn is_code(code: &str) -> bool {
    code.len() <= 64 && code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

/// As `application/x-www-form-urlencoded`: what RFC 6749, section 2.3.1, does to id and secret before they become a login.
fn encoded(text: &str) -> Zeroizing<String> {
    // Room for all of it at once: a buffer that grows leaves copies of the secret behind.
    let out = Zeroizing::new(String::with_capacity(3 * text.len()));
    text.bytes().fold(out, |mut out, byte| {
        match byte {
            b' ' => out.push('+'),
            b'*' | b'-' | b'.' | b'_' => out.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => out.push(char::from(byte)),
            byte => {
                let digit = |half: u8| char::from(b"0123456789ABCDEF"[usize::from(half)]);
                out.extend(['%', digit(byte >> 4), digit(byte & 15)]);
            }
        }
        out
    })
}

/// The innermost cause, which is what helps: outer ones say that a request failed.
fn cause(error: reqwest::Error) -> String {
    if error.is_timeout() {
        return "does not answer in time".to_owned();
    }
    let error = error.without_url();
    let mut innermost: &dyn std::error::Error = &error;
    while let Some(inner) = innermost.source() {
        innermost = inner;
    }
    innermost.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(more: &str) -> EndpointConfig {
        toml::from_str(&format!(
            "url = \"https://idp.example/token\"\nclient_id = \"lethe\"\nclient_secret_file = \"/no/such/secret\"\n{more}"
        ))
        .unwrap()
    }

    fn read(status: u16, body: &str) -> Result<Token, TokenError> {
        endpoint("").read(StatusCode::from_u16(status).unwrap(), body.as_bytes())
    }

    #[test]
    fn a_token_lasts_as_long_as_the_answer_says() {
        for expires in ["60", "60.0", "\"60\""] {
            let body = format!(r#"{{"access_token":"abc","token_type":"bearer","expires_in":{expires}}}"#);
            let token = read(200, &body).unwrap();
            let left = token.ends_ms - now_ms();
            assert!((59_000..=60_000).contains(&left), "{left}");
        }
    }

    #[test]
    fn answers_without_a_usable_token_are_refused_and_not_quoted() {
        for body in [
            "hush",
            "{}",
            r#"{"access_token":"hush"}"#,
            r#"{"access_token":"hush","expires_in":0}"#,
            r#"{"access_token":"hush","expires_in":-5}"#,
            r#"{"access_token":"hush","expires_in":1e300}"#,
            r#"{"access_token":"hush hush","expires_in":60}"#,
            r#"{"access_token":"hush","token_type":"mac","expires_in":60}"#,
        ] {
            let error = read(200, body).unwrap_err();
            assert!(
                !error.is_temporary() && !error.to_string().contains("hush"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_refusal_is_told_by_its_code_and_a_server_that_is_away_is_waited_for() {
        let error = read(401, r#"{"error":"invalid_client","error_description":"hush"}"#).unwrap_err();
        let said = error.to_string();
        assert!(
            said.contains("invalid_client") && said.contains("/no/such/secret"),
            "{said}"
        );
        assert!(!error.is_temporary() && !said.contains("hush"), "{said}");
        assert!(
            !read(400, r#"{"error":"the secret hush"}"#)
                .unwrap_err()
                .to_string()
                .contains("hush")
        );
        for status in [429, 500, 503] {
            assert!(read(status, "hush").unwrap_err().is_temporary(), "{status}");
        }
    }

    #[test]
    fn a_secret_that_is_not_there_is_told_by_its_file() {
        let error = endpoint("").fetch().unwrap_err();
        assert!(error.to_string().contains("/no/such/secret"), "{error}");
    }

    #[test]
    fn settings_that_cannot_be_are_told() {
        let checked = |more: &str| {
            let replaced = endpoint("parameters = { audience = \"kafka\" }");
            let change: EndpointConfig =
                toml::from_str(&format!("client_secret_file = \"s\"\n{more}")).unwrap();
            assert_eq!(replaced.check(), Ok(()));
            change.check().unwrap_err().to_string()
        };
        for (more, told) in [
            (
                "client_id = \"a\"\nurl = \"http://idp.example/token\"",
                "allow_http",
            ),
            ("client_id = \"a\"\nurl = \"file:///etc/passwd\"", "https://"),
            ("client_id = \"a\"\nurl = \"token\"", "no address"),
            (
                "client_id = \"a\"\nurl = \"https://u:p@idp.example/\"",
                "client_secret_file",
            ),
            ("client_id = \"\"\nurl = \"https://idp.example/\"", "client_id"),
            (
                "client_id = \"a\"\nurl = \"https://idp.example/\"\nparameters = { scope = \"x\" }",
                "parameters.scope",
            ),
        ] {
            let said = checked(more);
            assert!(said.contains(told), "{said}");
        }
    }

    #[test]
    fn id_and_secret_are_encoded_as_forms_are() {
        assert_eq!(*encoded("a-b_c.d*e f:g%é"), "a-b_c.d*e+f%3Ag%25%C3%A9");
    }
}
