//! A client of a schema registry that speaks Confluent's protocol.
//!
//! The client's own thread makes the requests one after another: schemas are few and fetched once, and a lane
//! that waits for one must not need a runtime, nor run inside one.

use std::collections::HashSet;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use lethe_format::FormatError;
use lethe_format::registry::{
    Language, Reference, RegistryConfig, Schema, SchemaError, Schemas, Unavailable,
};
use reqwest::header::{ACCEPT, HeaderMap, HeaderValue};
use reqwest::{Client, RequestBuilder, StatusCode, Url, redirect};

use super::answer::{Found, NO_SCHEMA, NO_SUBJECT, Named, Refused};
use crate::authority;
use crate::secret::Secret;

/// Maximum size of a response.
const MAX_ANSWER: usize = 4 << 20;

/// Limit for one schema with its references, as a multiple of the limit of one request.
const SCHEMA_REQUESTS: u64 = 3;

/// Maximum number of schemas that one refers to, directly and indirectly.
const MAX_REFERENCES: usize = 64;

/// A requested schema id, the deadline of the caller, and the channel for the result.
type Question = (u32, Instant, mpsc::SyncSender<Result<Schema, SchemaError>>);

/// A schema registry.
pub struct Registry {
    questions: mpsc::Sender<Question>,
    address: String,
    /// Limit for one schema with its references, including the time in the queue.
    limit: Duration,
}

impl Registry {
    /// Creates a client. The registry is not contacted before the first schema is needed.
    ///
    /// # Errors
    /// [`FormatError::Registry`] for invalid settings.
    pub fn open(config: &RegistryConfig) -> Result<Self, FormatError> {
        let asker = Asker::new(config)?;
        let address = asker.base.to_string();
        let (questions, asked) = mpsc::channel::<Question>();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| bad("url", format!("cannot create a client: {error}")))?;
        std::thread::Builder::new()
            .name("schema-registry".to_owned())
            .spawn(move || {
                for (id, until, reply) in asked {
                    let left = until.saturating_duration_since(Instant::now());
                    let asking = async { tokio::time::timeout(left, asker.schema(id)).await };
                    if let Ok(answer) = runtime.block_on(asking) {
                        // The receiver is gone if the program is ending.
                        drop(reply.send(answer));
                    }
                }
            })
            .map_err(|error| bad("url", format!("cannot start a thread for the client: {error}")))?;
        let limit = Duration::from_secs(config.timeout_seconds.saturating_mul(SCHEMA_REQUESTS));
        Ok(Self {
            questions,
            address,
            limit,
        })
    }
}

impl Schemas for Registry {
    fn schema(&self, id: u32) -> Result<Arc<Schema>, SchemaError> {
        let (reply, answer) = mpsc::sync_channel(1);
        let gone = || Unavailable::new(format!("schema registry {}: its client has ended", self.address));
        let until = Instant::now() + self.limit;
        self.questions.send((id, until, reply)).map_err(|_| gone())?;
        let late = |_| {
            Unavailable::new(format!(
                "schema registry {}: does not respond in time",
                self.address
            ))
        };
        answer.recv_timeout(self.limit).map_err(late)?.map(Arc::new)
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Registry({})", self.address)
    }
}

fn bad(key: &'static str, why: impl Into<String>) -> FormatError {
    FormatError::Registry { key, why: why.into() }
}

/// The login of a request.
enum Login {
    None,
    Password(String, Secret),
    Token(Secret),
}

/// Sends the requests.
struct Asker {
    client: Client,
    base: Url,
    login: Login,
}

impl Asker {
    fn new(config: &RegistryConfig) -> Result<Self, FormatError> {
        let mut base = Url::parse(&config.url).map_err(|error| bad("url", error.to_string()))?;
        if !base.username().is_empty() || base.password().is_some() {
            return Err(bad("url", "set the login with `user` and `password`"));
        }
        if base.query().is_some() || base.fragment().is_some() {
            return Err(bad("url", "set the URL without `?` and `#`"));
        }
        match base.scheme() {
            "https" => {}
            "http" if config.allow_http => {}
            "http" => {
                return Err(bad(
                    "url",
                    "has no TLS: a schema that is changed on its way can have notes written in the clear; set \
                     allow_http = true only for a registry on this machine or a network that is trusted like it",
                ));
            }
            _ => return Err(bad("url", "must begin with https:// or http://")),
        }
        let given = |secret: &Option<Secret>| secret.clone().filter(|secret| !secret.is_empty());
        let user = config.user.clone().filter(|user| !user.is_empty());
        let login = match (user, given(&config.password), given(&config.token)) {
            (None, None, None) => Login::None,
            (Some(user), Some(password), None) => Login::Password(user, password),
            (None, None, Some(token)) => Login::Token(token),
            (_, _, Some(_)) => return Err(bad("token", "cannot be combined with `user` and `password`")),
            _ => {
                return Err(bad("user", "set both `user` and `password`, not empty"));
            }
        };
        // An appended path must follow the last part instead of replacing it.
        if let Ok(mut path) = base.path_segments_mut() {
            path.pop_if_empty();
        }
        let mut headers = HeaderMap::new();
        let accept = "application/vnd.schemaregistry.v1+json, application/json";
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        let mut client = Client::builder()
            .user_agent("lethe")
            .default_headers(headers)
            // A redirect must not send the login to another address.
            .redirect(redirect::Policy::none())
            .connect_timeout(Duration::from_secs(config.connect_timeout_seconds))
            .timeout(Duration::from_secs(config.timeout_seconds));
        if let Some(path) = &config.ca {
            let trusted = authority::read(path).map_err(|error| bad("ca", error.to_string()))?;
            client = client.tls_built_in_root_certs(false);
            client = trusted
                .into_iter()
                .fold(client, |client, one| client.add_root_certificate(one));
        }
        let client = client.build().map_err(|error| bad("url", cause(error)))?;
        Ok(Self { client, base, login })
    }

    /// Fetches the schema with that id and its references.
    async fn schema(&self, id: u32) -> Result<Schema, SchemaError> {
        let found = match self.ask(&["schemas", "ids", &id.to_string()]).await? {
            Ok(found) => found,
            Err(NO_SCHEMA) => return Err(SchemaError::NotFound),
            Err(code) => return Err(self.away(format!("responds with error {code}")).into()),
        };
        let mut references = Vec::new();
        let mut met = HashSet::new();
        // Depth first, each schema before those that need it: `open` holds references still to be fetched,
        // and schemas that wait for their own references.
        let mut open: Vec<Step> = found.references.into_iter().rev().map(Step::Ask).collect();
        while let Some(step) = open.pop() {
            let named = match step {
                Step::Done(reference) => {
                    references.push(reference);
                    continue;
                }
                Step::Ask(named) => named,
            };
            // The same name means the same schema, however it is reached.
            if !met.insert(named.name.clone()) {
                continue;
            }
            if met.len() > MAX_REFERENCES {
                return Err(SchemaError::Unusable(format!(
                    "it refers to more than {MAX_REFERENCES} others"
                )));
            }
            let inner = self.reference(&named).await?;
            open.push(Step::Done(Reference {
                name: named.name,
                text: inner.schema,
            }));
            open.extend(inner.references.into_iter().rev().map(Step::Ask));
        }
        Ok(Schema {
            language: match found.language.as_str() {
                "AVRO" => Language::Avro,
                "PROTOBUF" => Language::Protobuf,
                _ => Language::Other,
            },
            text: found.schema,
            references,
        })
    }

    async fn reference(&self, named: &Named) -> Result<Found, SchemaError> {
        let version = named.version.to_string();
        match self
            .ask(&["subjects", &named.subject, "versions", &version])
            .await?
        {
            Ok(found) => Ok(found),
            Err(code) if NO_SUBJECT.contains(&code) => Err(SchemaError::Unusable(format!(
                "it refers to version {version} of {}, which the registry does not have",
                named.subject
            ))),
            Err(code) => Err(self.away(format!("responds with error {code}")).into()),
        }
    }

    /// Requests a path. The inner error is the code of a "not found" response.
    async fn ask(&self, path: &[&str]) -> Result<Result<Found, u32>, SchemaError> {
        let mut url = self.base.clone();
        // Cannot fail: http and https URLs have paths.
        if let Ok(mut parts) = url.path_segments_mut() {
            parts.extend(path);
        }
        if path.first() == Some(&"subjects") {
            // A deleted subject still has the schemas that records were written with.
            url.set_query(Some("deleted=true"));
        }
        let sent = self.signed(self.client.get(url)).send().await;
        let mut response = sent.map_err(|error| self.away(cause(error)))?;
        let status = response.status();
        let mut body = Vec::new();
        while let Some(part) = response.chunk().await.map_err(|error| self.away(cause(error)))? {
            if body.len() + part.len() > MAX_ANSWER {
                return match status {
                    StatusCode::OK => Err(SchemaError::Unusable(format!(
                        "it has more than {MAX_ANSWER} bytes"
                    ))),
                    _ => Err(self
                        .away(format!("responds {status} with more than {MAX_ANSWER} bytes"))
                        .into()),
                };
            }
            body.extend_from_slice(&part);
        }
        match status {
            StatusCode::OK => serde_json::from_slice(&body)
                .map(Ok)
                .map_err(|_| self.away("responds without a schema; check `url`").into()),
            StatusCode::NOT_FOUND => match serde_json::from_slice::<Refused>(&body) {
                Ok(Refused { error_code }) if error_code == NO_SCHEMA || NO_SUBJECT.contains(&error_code) => {
                    Ok(Err(error_code))
                }
                // Such a response does not come from a registry at this path, so it does not concern the
                // schema.
                _ => Err(self
                    .away("responds 404, but not as a registry does; check `url`")
                    .into()),
            },
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                let why = format!("refuses the login ({status}); check `user` and `password`, or `token`");
                Err(self.away(why).into())
            }
            _ => Err(self.away(format!("answers {status}")).into()),
        }
    }

    fn signed(&self, request: RequestBuilder) -> RequestBuilder {
        match &self.login {
            Login::None => request,
            Login::Password(user, password) => request.basic_auth(user, Some(password.expose())),
            Login::Token(token) => request.bearer_auth(token.expose()),
        }
    }

    fn away(&self, why: impl std::fmt::Display) -> Unavailable {
        Unavailable::new(format!("schema registry {}: {why}", self.base))
    }
}

/// A step in resolving a schema's references.
enum Step {
    Ask(Named),
    Done(Reference),
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
