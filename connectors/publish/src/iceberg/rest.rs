//! A REST catalogue (Apache Iceberg's REST catalogue specification, version 1).

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lethe_connectors::secret::Secret;
use lethe_connectors::store::crash;
use reqwest::{Client, Method, StatusCode, Url, redirect};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::runtime::Handle;

use super::catalogue::{Answer, State};
use super::files::Files;
use super::metadata::Metadata;
use super::settings::{CatalogueSettings, Login};
use super::update::{Requirement, Update};
use crate::{Place, PublishError, TableName};

const CONNECT: Duration = Duration::from_secs(10);
/// Limit of one request.
const REQUEST: Duration = Duration::from_secs(120);
/// Maximum size of a response. The metadata of a table name all of its snapshots.
const MAX_RESPONSE: usize = 1 << 30;
/// What separates the parts of a namespace in a URL, unless the catalogue says otherwise.
const SEPARATOR: &str = "%1F";

/// A table of a REST catalogue.
pub(crate) struct Rest {
    client: Client,
    settings: Arc<CatalogueSettings>,
    name: TableName,
    dataset: Place,
    runtime: Handle,
    /// The address of the table's namespace.
    namespace: Url,
    /// The token that the login got.
    token: Mutex<Option<Secret>>,
}

/// A response: its status and its body.
struct Response {
    status: StatusCode,
    body: Vec<u8>,
}

/// What a catalogue wants to be known of it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Config {
    defaults: BTreeMap<String, String>,
    overrides: BTreeMap<String, String>,
}

/// A table, as a catalogue returns it.
#[derive(Deserialize)]
struct Loaded {
    metadata: Value,
}

impl Rest {
    /// Connects to the catalogue.
    ///
    /// # Errors
    /// [`PublishError::Catalogue`] if it does not answer as a catalogue, or refuses the login.
    pub(crate) fn open(
        settings: &Arc<CatalogueSettings>,
        name: &TableName,
        dataset: &Place,
        runtime: &Handle,
    ) -> Result<Self, PublishError> {
        let client = Client::builder()
            .user_agent(concat!("lethe/", env!("CARGO_PKG_VERSION")))
            // A redirect must not send the login to another address.
            .redirect(redirect::Policy::none())
            .connect_timeout(CONNECT)
            .timeout(REQUEST)
            .build()
            .map_err(|error| PublishError::Settings {
                catalogue: settings.url.to_string(),
                why: cause(error),
            })?;
        let mut rest = Self {
            client,
            namespace: settings.url.clone(),
            settings: Arc::clone(settings),
            name: name.clone(),
            dataset: dataset.clone(),
            runtime: runtime.clone(),
            token: Mutex::new(None),
        };
        rest.namespace = rest.address()?;
        Ok(rest)
    }

    /// Asks the catalogue how its addresses are formed, and returns that of the table's namespace.
    fn address(&self) -> Result<Url, PublishError> {
        let mut url = below(&self.settings.url, &["v1", "config"]);
        if let Some(warehouse) = &self.settings.warehouse {
            url.query_pairs_mut().append_pair("warehouse", warehouse);
        }
        let response = self.ask(Method::GET, &url, None)?;
        if response.status != StatusCode::OK {
            return Err(self.refused(&response));
        }
        let config: Config = self.parse(&response)?;
        let setting = |name: &str| config.overrides.get(name).or_else(|| config.defaults.get(name));
        let base = match setting("uri") {
            Some(uri) => Url::parse(uri).map_err(|_| self.wrong("its setting `uri` is not an address"))?,
            None => self.settings.url.clone(),
        };
        let separator = setting("namespace-separator").map_or(SEPARATOR, String::as_str);
        let prefix = setting("prefix").map(String::as_str).unwrap_or_default();
        let mut url = below(&base, &["v1"]);
        let prefix: Vec<&str> = prefix.split('/').filter(|part| !part.is_empty()).collect();
        url = below(&url, &prefix);
        url = below(&url, &["namespaces"]);
        // The separator is encoded already, unlike the names.
        let parts: Vec<String> = self.name.namespace.iter().map(|part| encode(part)).collect();
        let path = format!("{}/{}", url.path(), parts.join(separator));
        url.set_path(&path);
        Ok(url)
    }

    /// Reads the table.
    pub(crate) fn load(&self) -> Result<Option<State>, PublishError> {
        let response = self.ask(Method::GET, &self.table(), None)?;
        match response.status {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND if response.kind().is_none_or(|kind| kind.contains("NoSuch")) => {
                return Ok(None);
            }
            _ => return Err(self.refused(&response)),
        }
        let loaded: Loaded = self.parse(&response)?;
        let metadata = Metadata(loaded.metadata);
        let location = metadata.location().map_err(|why| self.wrong(&why))?;
        Ok(Some(State {
            files: Arc::new(Files::open(location, &self.dataset, &self.runtime)?),
            metadata,
            file: 0,
        }))
    }

    /// Asks for the identity and location of a new table.
    pub(crate) fn stage(&self) -> Result<(String, String), PublishError> {
        let table = json!({
            "name": self.name.table,
            // The catalogue would give the columns ids of its own: they come with the commit that creates the table.
            "schema": { "type": "struct", "fields": [] },
            "stage-create": true,
        });
        let response = self.ask(Method::POST, &below(&self.namespace, &["tables"]), Some(&table))?;
        match response.status {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND => {
                return Err(self
                    .wrong("its namespace does not exist in the catalogue; create it, then publish again"));
            }
            // The table has been created in the meantime.
            StatusCode::CONFLICT => {
                return Err(PublishError::Catalogue {
                    table: self.name.to_string(),
                    why: "another writer creates it".to_owned(),
                    is_temporary: true,
                });
            }
            _ => return Err(self.refused(&response)),
        }
        let staged = Metadata(self.parse::<Loaded>(&response)?.metadata);
        let of = || {
            Ok::<_, String>((
                staged.text("table-uuid")?.to_owned(),
                staged.location()?.to_owned(),
            ))
        };
        of().map_err(|why| self.wrong(&why))
    }

    /// Changes the table if it meets the conditions.
    pub(crate) fn change(
        &self,
        requirements: &[Requirement],
        updates: &[Update],
    ) -> Result<Answer, PublishError> {
        let body = json!({
            "identifier": { "namespace": self.name.namespace, "name": self.name.table },
            "requirements": requirements,
            "updates": updates,
        });
        // It may have been made if the response is lost.
        let response = match self.ask(Method::POST, &self.table(), Some(&body)) {
            Ok(response) => response,
            Err(error) if error.is_temporary() => return Ok(Answer::Unknown(error)),
            Err(error) => return Err(error),
        };
        match response.status {
            StatusCode::OK => {
                crash::point("committed");
                Ok(Answer::Done)
            }
            StatusCode::CONFLICT => Ok(Answer::Refused),
            status if status.is_server_error() => Ok(Answer::Unknown(self.refused(&response))),
            _ => Err(self.refused(&response)),
        }
    }

    fn table(&self) -> Url {
        below(&self.namespace, &["tables", &self.name.table])
    }

    /// Sends a request, with a new token if the catalogue refuses the last one.
    fn ask(&self, method: Method, url: &Url, body: Option<&Value>) -> Result<Response, PublishError> {
        let token = self.token(false)?;
        let response = self.send(method.clone(), url, body, token.as_ref())?;
        let is_renewable = matches!(self.settings.login, Login::Client { .. });
        if response.status == StatusCode::UNAUTHORIZED && is_renewable {
            let token = self.token(true)?;
            return self.send(method, url, body, token.as_ref());
        }
        Ok(response)
    }

    fn send(
        &self,
        method: Method,
        url: &Url,
        body: Option<&Value>,
        token: Option<&Secret>,
    ) -> Result<Response, PublishError> {
        let mut request = self.client.request(method, url.clone());
        if let Some(token) = token {
            request = request.bearer_auth(token.expose());
        }
        if let Some(body) = body {
            request = request
                .header("Content-Type", "application/json")
                .body(body.to_string());
        }
        self.fetch(request)
    }

    fn fetch(&self, request: reqwest::RequestBuilder) -> Result<Response, PublishError> {
        let lost = |error: reqwest::Error| self.lost(&cause(error));
        self.runtime.block_on(async {
            let mut response = request.send().await.map_err(lost)?;
            let mut body = Vec::new();
            while let Some(part) = response.chunk().await.map_err(lost)? {
                if body.len() + part.len() > MAX_RESPONSE {
                    return Err(self.wrong(&format!("its response is larger than {MAX_RESPONSE} bytes")));
                }
                body.extend_from_slice(&part);
            }
            Ok(Response {
                status: response.status(),
                body,
            })
        })
    }

    /// Returns the token of the login, or a new one.
    fn token(&self, renew: bool) -> Result<Option<Secret>, PublishError> {
        let (id, secret, url, scope) = match &self.settings.login {
            Login::None => return Ok(None),
            Login::Token(token) => return Ok(Some(token.clone())),
            Login::Client {
                id,
                secret,
                url,
                scope,
            } => (id, secret, url, scope),
        };
        let mut token = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(token), false) = (token.as_ref(), renew) {
            return Ok(Some(token.clone()));
        }
        let own = below(&self.settings.url, &["v1", "oauth", "tokens"]);
        let request = self.client.post(url.clone().unwrap_or(own)).form(&[
            ("grant_type", "client_credentials"),
            ("client_id", id),
            ("client_secret", secret.expose()),
            ("scope", scope),
        ]);
        let response = self.fetch(request)?;
        // The body is not shown: it can hold the token.
        let found = (response.status == StatusCode::OK)
            .then(|| serde_json::from_slice::<Value>(&response.body).ok())
            .flatten();
        match found.as_ref().and_then(|found| found["access_token"].as_str()) {
            Some(found) => {
                let found = Secret::from(found.to_owned());
                *token = Some(found.clone());
                Ok(Some(found))
            }
            None if response.status.is_server_error() => {
                Err(self.lost(&format!("it answers {} to the login", response.status)))
            }
            None => Err(self.wrong(&format!(
                "it refuses the login ({}); check LETHE_CATALOG_CREDENTIAL, LETHE_CATALOG_OAUTH_URL and LETHE_CATALOG_SCOPE",
                response.status
            ))),
        }
    }

    fn parse<T: for<'a> Deserialize<'a>>(&self, response: &Response) -> Result<T, PublishError> {
        serde_json::from_slice(&response.body)
            .map_err(|_| self.wrong("it does not answer as an Iceberg REST catalogue; check its address"))
    }

    /// Returns the error of a response other than the expected one.
    fn refused(&self, response: &Response) -> PublishError {
        let status = response.status;
        let why = match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                format!(
                    "it refuses the login ({status}); set LETHE_CATALOG_TOKEN or LETHE_CATALOG_CREDENTIAL"
                )
            }
            _ => match response.message() {
                Some(message) => format!("it answers {status}: {message}"),
                None => format!("it answers {status}; check its address"),
            },
        };
        match status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
            true => self.lost(&why),
            false => self.wrong(&why),
        }
    }

    fn wrong(&self, why: &str) -> PublishError {
        PublishError::Catalogue {
            table: self.name.to_string(),
            why: format!("the catalogue {}: {why}", self.settings.url),
            is_temporary: false,
        }
    }

    fn lost(&self, why: &str) -> PublishError {
        PublishError::Catalogue {
            table: self.name.to_string(),
            why: format!("the catalogue {}: {why}", self.settings.url),
            is_temporary: true,
        }
    }
}

impl Response {
    fn error(&self) -> Option<Value> {
        let body: Value = serde_json::from_slice(&self.body).ok()?;
        body.get("error").cloned()
    }

    /// Returns the name of the error.
    fn kind(&self) -> Option<String> {
        Some(self.error()?["type"].as_str()?.to_owned())
    }

    /// Returns the first line of the error's text.
    fn message(&self) -> Option<String> {
        let error = self.error()?;
        let line = error["message"].as_str()?.lines().next()?;
        Some(line.chars().take(300).collect())
    }
}

/// Returns an address below another one.
fn below(url: &Url, parts: &[&str]) -> Url {
    let mut url = url.clone();
    url.set_query(None);
    // Cannot fail: http and https URLs have paths.
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(parts);
    }
    url
}

/// Percent-encodes a part of a path.
fn encode(part: &str) -> String {
    crate::place::encode(part).replace('/', "%2F")
}

/// Returns the innermost cause, since outer ones only say that a request failed.
fn cause(error: reqwest::Error) -> String {
    if error.is_timeout() {
        return "it does not answer in time".to_owned();
    }
    let error = error.without_url();
    let mut innermost: &dyn Error = &error;
    while let Some(inner) = innermost.source() {
        innermost = inner;
    }
    innermost.to_string()
}
