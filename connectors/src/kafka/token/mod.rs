//! Bearer tokens for the login (SASL's OAUTHBEARER, RFC 7628), from a file that another program keeps fresh,
//! or from an authorisation server.
//!
//! librdkafka requests a token when a client is created and after four fifths of the last token's lifetime.
//! The file, the client's secret and the authorities are read each time, so renewing them needs no
//! notification.

mod claims;
mod endpoint;

use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rdkafka::client::{ClientContext, OAuthToken};
use rdkafka::consumer::ConsumerContext;
use schemars::JsonSchema;
use serde::Deserialize;
use zeroize::Zeroizing;

use super::config_error::{KafkaConfigError, bad};
use crate::secret::Secret;
use claims::{Claims, is_bearer};
pub use endpoint::EndpointConfig;

/// Maximum size in bytes of a token or secret in a file.
const MAX_FILE: u64 = 256 << 10;

/// The source of tokens: `kind = "file"` or `kind = "endpoint"`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum TokenConfig {
    /// A file with a signed token that another program keeps fresh, such as that of a Kubernetes service
    /// account.
    File {
        /// The file. Lethe reads it for each token.
        #[schemars(extend("examples" = ["/var/run/secrets/tokens/kafka"]))]
        path: PathBuf,
    },
    /// An authorisation server that issues tokens for a client's id and secret.
    Endpoint(EndpointConfig),
}

impl TokenConfig {
    /// Checks these settings. Connects to nothing and reads no file.
    pub(super) fn check(&self) -> Result<(), KafkaConfigError> {
        match self {
            Self::File { path } if path.as_os_str().is_empty() => {
                Err(bad("security.token", "`path` may not be empty"))
            }
            Self::File { .. } => Ok(()),
            Self::Endpoint(endpoint) => endpoint.check(),
        }
    }

    fn fetch(&self) -> Result<Token, TokenError> {
        match self {
            Self::File { path } => of_file(path),
            Self::Endpoint(endpoint) => endpoint.fetch(),
        }
    }
}

/// A token with its expiry and subject. `Debug` omits the token.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    text: Secret,
    principal: String,
    ends_ms: i64,
    /// When it was fetched, in ms since 1970.
    fetched_ms: i64,
}

impl Token {
    fn new(text: Secret, owner: Option<String>, ends_ms: i64) -> Self {
        Self {
            text,
            // librdkafka requires a name but does not use it otherwise.
            principal: owner
                .filter(|owner| !owner.is_empty() && !owner.contains('\0'))
                .unwrap_or_else(|| "lethe".to_owned()),
            ends_ms,
            fetched_ms: now_ms(),
        }
    }

    /// Returns whether more than half of its lifetime is left.
    fn is_fresh(&self) -> bool {
        self.ends_ms - now_ms() > (self.ends_ms - self.fetched_ms) / 2
    }
}

/// Why there is no token. Messages name files and URLs, never the token, the secret or a server's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenError {
    why: String,
    temporary: bool,
}

impl TokenError {
    fn away(why: String) -> Self {
        Self { why, temporary: true }
    }

    fn unusable(why: String) -> Self {
        Self {
            why,
            temporary: false,
        }
    }

    /// Returns whether it may resolve without intervention, because the server is unavailable.
    pub const fn is_temporary(&self) -> bool {
        self.temporary
    }
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // librdkafka takes the message as a C string.
        f.write_str(&self.why.replace('\0', " "))
    }
}

impl Error for TokenError {}

/// A client's login in addition to its settings: tokens, if the brokers use them. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Login(Option<Arc<Tokens>>);

#[derive(Debug)]
struct Tokens {
    from: TokenConfig,
    /// The last token of an endpoint, so that clients created together share one.
    kept: Mutex<Option<Token>>,
    /// Since when no new token was available, and why.
    trouble: Mutex<Option<(Instant, TokenError)>>,
}

impl Login {
    /// Returns a login with tokens.
    pub(super) fn with(from: TokenConfig) -> Self {
        Self(Some(Arc::new(Tokens {
            from,
            kept: Mutex::default(),
            trouble: Mutex::default(),
        })))
    }

    /// Returns why the last request for a token failed, and for how long none was available.
    pub fn trouble(&self) -> Option<(Duration, TokenError)> {
        let tokens = self.0.as_ref()?;
        let trouble = lock(&tokens.trouble);
        trouble
            .as_ref()
            .map(|(since, error)| (since.elapsed(), error.clone()))
    }

    /// Returns a token in the form that librdkafka's binding takes. Called on the polling thread.
    pub(crate) fn token(&self) -> Result<OAuthToken, Box<dyn Error>> {
        let tokens = self.0.as_ref().ok_or("this login has no tokens")?;
        match tokens.get() {
            Ok(token) => Ok(OAuthToken {
                token: token.text.expose().to_owned(),
                principal_name: token.principal,
                lifetime_ms: token.ends_ms,
            }),
            Err(error) => {
                tracing::warn!("no new token for the Kafka login: {error}; retrying in 10 s");
                Err(error.into())
            }
        }
    }
}

impl Tokens {
    fn get(&self) -> Result<Token, TokenError> {
        // Locked during a fetch, so that concurrent callers get the same token.
        let mut kept = lock(&self.kept);
        if let Some(token) = kept.as_ref().filter(|token| token.is_fresh()) {
            return Ok(token.clone());
        }
        let fetched = self.from.fetch();
        let mut trouble = lock(&self.trouble);
        match &fetched {
            Ok(token) => {
                *trouble = None;
                if matches!(self.from, TokenConfig::Endpoint(_)) {
                    *kept = Some(token.clone());
                }
            }
            Err(error) => {
                let since = trouble.as_ref().map_or_else(Instant::now, |(since, _)| *since);
                *trouble = Some((since, error.clone()));
            }
        }
        fetched
    }
}

/// A client context that only handles the login.
pub(crate) struct Quiet(pub(crate) Login);

impl ClientContext for Quiet {
    const ENABLE_REFRESH_OAUTH_TOKEN: bool = true;

    fn error(&self, error: rdkafka::error::KafkaError, reason: &str) {
        tracing::debug!(%error, reason, "librdkafka reported");
    }

    fn generate_oauth_token(&self, _: Option<&str>) -> Result<OAuthToken, Box<dyn Error>> {
        self.0.token()
    }
}

impl ConsumerContext for Quiet {}

/// Reads the token in a file.
fn of_file(path: &Path) -> Result<Token, TokenError> {
    let wrong = |why: &str| TokenError::unusable(format!("token file {}: {why}", path.display()));
    let secret = read_secret(path)?;
    let text = secret.expose();
    if !is_bearer(text) {
        return Err(wrong("has characters that are invalid in a token (RFC 6750)"));
    }
    let claims = Claims::of(text).ok_or_else(|| wrong("is not a signed token (JWT) with readable claims"))?;
    let ends_ms = claims
        .ends_ms()
        .ok_or_else(|| wrong("has no expiry: it needs the claim `exp`"))?;
    let over = now_ms() - ends_ms;
    if over >= 0 {
        let seconds = over / 1000;
        return Err(wrong(&format!(
            "expired {seconds} s ago; check the program that renews it, and this machine's clock"
        )));
    }
    Ok(Token::new(secret, claims.sub, ends_ms))
}

/// Reads a file without white space at its ends.
fn read_secret(path: &Path) -> Result<Secret, TokenError> {
    use std::io::Read as _;
    let wrong = |why: String| TokenError::unusable(format!("file {}: {why}", path.display()));
    // Reserved in full: a growing buffer would leave copies behind.
    let mut text = Zeroizing::new(String::with_capacity(MAX_FILE as usize + 1));
    std::fs::File::open(path)
        .and_then(|file| file.take(MAX_FILE + 1).read_to_string(&mut text))
        .map_err(|error| wrong(error.to_string()))?;
    let text = text.trim();
    match text.len() as u64 {
        0 => Err(wrong("is empty".to_owned())),
        1..=MAX_FILE => Ok(Secret::from(text)),
        _ => Err(wrong(format!("is over {MAX_FILE} bytes"))),
    }
}

/// Returns the time in ms since 1970.
fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each change is one assignment, so a panic leaves nothing inconsistent.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
