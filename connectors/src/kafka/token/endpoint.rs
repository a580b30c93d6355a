//! Fetches tokens from an authorisation server with the client's credentials (RFC 6749, section 4.4; KIP-768
//! does the same for Kafka's own clients).
//!
//! A client is created for each request, and reads the secret and the authorities then. A token lasts minutes
//! or hours, so changed files take effect with the next request.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use reqwest::{Client, StatusCode, Url, redirect};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use zeroize::Zeroizing;

use super::claims::{Claims, is_bearer};
use super::{Token, TokenError, now_ms, read_secret};
use crate::authority;
use crate::kafka::config_error::{KafkaConfigError, bad};
use crate::secret::Secret;

/// Maximum size of a response.
const MAX_ANSWER: usize = 256 << 10;

/// Address and login of an authorisation server.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EndpointConfig {
    /// URL of the token endpoint.
    #[schemars(extend("examples" = ["https://login.example/oauth2/token"]))]
    pub url: String,
    /// The client id.
    #[schemars(extend("examples" = ["lethe"]))]
    pub client_id: String,
    /// File with the client secret, read at each request.
    pub client_secret_file: PathBuf,
    /// The requested scope, in the server's format. By default Lethe requests none.
    #[serde(default)]
    pub scope: Option<String>,
    /// Further parameters that some servers require, such as `audience`.
    #[serde(default)]
    #[schemars(extend("examples" = [{ "audience": "kafka" }]))]
    pub parameters: BTreeMap<String, String>,
    /// PEM file of trusted certificate authorities. Default: the system's.
    #[serde(default)]
    pub ca: Option<PathBuf>,
    /// Whether to accept a URL without TLS, which reveals the secret to eavesdroppers.
    #[serde(default)]
    pub allow_http: bool,
    /// Timeout for a connection.
    #[serde(default = "connect_timeout_seconds")]
    pub connect_timeout_seconds: u64,
    /// Timeout of a request. The consumer does not poll during it.
    #[serde(default = "timeout_seconds")]
    pub timeout_seconds: u64,
}

const fn connect_timeout_seconds() -> u64 {
    5
}

const fn timeout_seconds() -> u64 {
    10
}

/// A server's response (RFC 6749, sections 5.1 and 5.2). Its free text is not read, since it can quote the
/// request.
#[derive(Deserialize)]
struct Answer {
    access_token: Option<Secret>,
    token_type: Option<String>,
    expires_in: Option<Value>,
    error: Option<String>,
}

impl EndpointConfig {
    /// Checks these settings. Connects to nothing and reads no file.
    pub(super) fn check(&self) -> Result<(), KafkaConfigError> {
        let wrong = |problem: &str| Err(bad("security.token", problem));
        let Ok(url) = Url::parse(&self.url) else {
            return wrong("`url` is not a valid URL");
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
            return wrong(
                "`url` has a login or a fragment; set `client_id` and `client_secret_file` instead",
            );
        }
        if self.client_id.is_empty() {
            return wrong("`client_id` may not be empty");
        }
        let own = ["grant_type", "scope", "client_id", "client_secret"];
        if let Some(name) = own.iter().find(|&&name| self.parameters.contains_key(name)) {
            return wrong(&format!(
                "`parameters.{name}` is set by Lethe; use the separate key"
            ));
        }
        Ok(())
    }

    /// Fetches a token on a separate thread, so that the caller may be inside or outside of a runtime.
    pub(super) fn fetch(&self) -> Result<Token, TokenError> {
        let asked = std::thread::scope(|scope| {
            let asking = scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .map_err(|error| self.away(format!("cannot create a client: {error}")))?;
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
            // A redirect must not send the login to another address.
            .redirect(redirect::Policy::none())
            .connect_timeout(Duration::from_secs(self.connect_timeout_seconds))
            .timeout(Duration::from_secs(self.timeout_seconds));
        if let Some(path) = &self.ca {
            client = client.tls_built_in_root_certs(false);
            client = authority::read(path)
                .map_err(|error| TokenError::unusable(error.to_string()))?
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
        // Reserved for the longest response: a growing buffer would leave copies of the token behind.
        let mut body = Zeroizing::new(Vec::with_capacity(MAX_ANSWER));
        while let Some(part) = response.chunk().await.map_err(|error| self.away(cause(error)))? {
            if body.len() + part.len() > MAX_ANSWER {
                return Err(self.away(format!("responds {status} with more than 256 KiB")));
            }
            body.extend_from_slice(&part);
        }
        self.read(status, &body)
    }

    /// Returns the token in a response, or the error.
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
                    "refuses the request ({status}{code}); check `url`, `client_id`, the secret in {} and `scope`",
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
            return refused("responds without a token; check `url`");
        };
        if token_type.is_some_and(|kind| !kind.eq_ignore_ascii_case("bearer")) {
            return refused("returns a token of a type other than Bearer (RFC 6750)");
        }
        if !is_bearer(text.expose()) {
            return refused("returns a token with invalid characters (RFC 6750)");
        }
        let claims = Claims::of(text.expose()).unwrap_or_default();
        let seconds = expires_in.and_then(|value| match value {
            // Some servers encode the number as a string.
            Value::String(text) => text.parse::<f64>().ok(),
            value => value.as_f64(),
        });
        let ends_ms = match seconds {
            Some(seconds) if seconds > 0.0 && seconds < 1e10 => Some(now_ms() + (seconds * 1000.0) as i64),
            Some(_) => None,
            None => claims.ends_ms(),
        };
        let Some(ends_ms) = ends_ms.filter(|&ends| ends > now_ms()) else {
            return refused("returns a token that has no expiry, or has expired");
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

/// Returns whether the text can be an error code of RFC 6749, section 5.2, instead of text that quotes
/// something.
fn is_code(code: &str) -> bool {
    code.len() <= 64 && code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

/// Encodes as `application/x-www-form-urlencoded`, as RFC 6749, section 2.3.1, requires for id and secret of
/// a login.
fn encoded(text: &str) -> Zeroizing<String> {
    // Reserved in full: a growing buffer would leave copies of the secret behind.
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

/// Returns the innermost cause, since outer ones only say that a request failed.
fn cause(error: reqwest::Error) -> String {
    if error.is_timeout() {
        return "does not respond in time".to_owned();
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
        let message = error.to_string();
        assert!(
            message.contains("invalid_client") && message.contains("/no/such/secret"),
            "{message}"
        );
        assert!(!error.is_temporary() && !message.contains("hush"), "{message}");
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
            ("client_id = \"a\"\nurl = \"token\"", "not a valid URL"),
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
            let message = checked(more);
            assert!(message.contains(told), "{message}");
        }
    }

    #[test]
    fn id_and_secret_are_encoded_as_forms_are() {
        assert_eq!(*encoded("a-b_c.d*e f:g%é"), "a-b_c.d*e+f%3Ag%25%C3%A9");
    }
}
