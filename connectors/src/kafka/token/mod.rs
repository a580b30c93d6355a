//! Bearer tokens to log in with (SASL's OAUTHBEARER, RFC 7628): from a file that something else keeps fresh, or from an
//! authorisation server.
//!
//! librdkafka asks for a token when a client is made and when four fifths of the last one's time are over. The file, the
//! client's secret and the authorities are read at each of these, so that whatever renews them needs to tell nobody.

mod claims;
mod endpoint;

use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rdkafka::client::{ClientContext, OAuthToken};
use rdkafka::consumer::ConsumerContext;
use serde::Deserialize;
use zeroize::Zeroizing;

use super::config::{KafkaConfigError, bad};
use crate::secret::Secret;
use claims::{Claims, is_bearer};
pub use endpoint::EndpointConfig;

/// The largest token or secret that is read from a file, in bytes.
const MAX_FILE: u64 = 256 << 10;

/// Where tokens come from: `kind = "file"` or `kind = "endpoint"`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum TokenConfig {
    /// A file that holds a signed token and that something else keeps fresh, such as a service account's in Kubernetes.
    File {
        /// The file.
        path: PathBuf,
    },
    /// An authorisation server that gives tokens for a client's id and secret.
    Endpoint(EndpointConfig),
}

impl TokenConfig {
    /// Whether these settings can be used. Reaches nothing and reads no file.
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

/// A token, when it ends, and whose it is. Prints without the token.
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
            // librdkafka needs a name, and uses it nowhere but here.
            principal: owner
                .filter(|owner| !owner.is_empty() && !owner.contains('\0'))
                .unwrap_or_else(|| "lethe".to_owned()),
            ends_ms,
            fetched_ms: now_ms(),
        }
    }

    /// Whether more than half of its time is left.
    fn is_fresh(&self) -> bool {
        self.ends_ms - now_ms() > (self.ends_ms - self.fetched_ms) / 2
    }
}

/// Why there is no token. Names files and addresses; never the token, the secret or what a server wrote.
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

    /// Whether it may pass without anybody's help: the server is away.
    pub const fn is_temporary(&self) -> bool {
        self.temporary
    }
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // librdkafka takes the words as a C string.
        f.write_str(&self.why.replace('\0', " "))
    }
}

impl Error for TokenError {}

/// What a client logs in with besides its settings: tokens, if these are what its brokers want. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Login(Option<Arc<Tokens>>);

#[derive(Debug)]
struct Tokens {
    from: TokenConfig,
    /// The last token of an endpoint: clients that are made together need not each ask for one.
    kept: Mutex<Option<Token>>,
    /// Since when there has been no new token, and why.
    trouble: Mutex<Option<(Instant, TokenError)>>,
}

impl Login {
    /// A login with tokens.
    pub(super) fn with(from: TokenConfig) -> Self {
        Self(Some(Arc::new(Tokens {
            from,
            kept: Mutex::default(),
            trouble: Mutex::default(),
        })))
    }

    /// Whether it is a login with tokens.
    pub const fn has_tokens(&self) -> bool {
        self.0.is_some()
    }

    /// Why there was no token when one was last asked for, and for how long there has been none.
    pub fn trouble(&self) -> Option<(Duration, TokenError)> {
        let tokens = self.0.as_ref()?;
        let trouble = lock(&tokens.trouble);
        trouble
            .as_ref()
            .map(|(since, error)| (since.elapsed(), error.clone()))
    }

    /// A token in the form that librdkafka's binding takes. Called on the thread that polls.
    pub(crate) fn token(&self) -> Result<OAuthToken, Box<dyn Error>> {
        let tokens = self.0.as_ref().ok_or("this login has no tokens")?;
        match tokens.get() {
            Ok(token) => Ok(OAuthToken {
                token: token.text.expose().to_owned(),
                principal_name: token.principal,
                lifetime_ms: token.ends_ms,
            }),
            Err(error) => {
                tracing::warn!("no new token to log in to Kafka with: {error}; asking again in 10 s");
                Err(error.into())
            }
        }
    }
}

impl Tokens {
    fn get(&self) -> Result<Token, TokenError> {
        // Held while one is fetched: whoever comes meanwhile gets the same.
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

/// A client that logs in and has nothing else to tell.
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

/// The token that a file holds.
fn of_file(path: &Path) -> Result<Token, TokenError> {
    let wrong = |why: &str| TokenError::unusable(format!("token file {}: {why}", path.display()));
    let secret = read_secret(path)?;
    let text = secret.expose();
    if !is_bearer(text) {
        return Err(wrong("holds characters that no token may have (RFC 6750)"));
    }
    let claims =
        Claims::of(text).ok_or_else(|| wrong("is no signed token (JWT) whose claims can be read"))?;
    let ends_ms = claims
        .ends_ms()
        .ok_or_else(|| wrong("does not say when it ends: it needs the claim `exp`"))?;
    let over = now_ms() - ends_ms;
    if over >= 0 {
        let seconds = over / 1000;
        return Err(wrong(&format!(
            "ended {seconds} s ago; look at what is to renew it, and at this machine's clock"
        )));
    }
    Ok(Token::new(secret, claims.sub, ends_ms))
}

/// What a file holds, without white space at its ends.
fn read_secret(path: &Path) -> Result<Secret, TokenError> {
    use std::io::Read as _;
    let wrong = |why: String| TokenError::unusable(format!("file {}: {why}", path.display()));
    // Room for all of it at once: a buffer that grows leaves copies behind.
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

/// The time in ms since 1970.
fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each change is one assignment: a panic leaves nothing half done.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
