//! A tool as a service over HTTP: one POST for each note.
//!
//! A thread of its own runs the requests, since a member works on threads that must not wait inside a runtime.

use std::net::IpAddr;
use std::sync::mpsc;
use std::time::Duration;

use reqwest::header::CONTENT_TYPE;
use reqwest::{Certificate, Client, StatusCode, Url, redirect};
use tokio::runtime::Builder;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::ServiceConfig;
use super::live::{Connect, Connection, Fault, MAX_ANSWER, failed, timed_out};
use super::protocol::out_of_step;

/// How much longer the caller waits than the request may take, so that the request's own reason arrives.
const GRACE: Duration = Duration::from_secs(5);

/// A request, its limit, and where its answer goes.
type Question = (Vec<u8>, Duration, mpsc::SyncSender<Result<Vec<u8>, Fault>>);

/// A service. Its thread ends when the service and all its connections are dropped.
pub(super) struct Service(UnboundedSender<Question>);

impl Service {
    /// Creates the client. The service is not contacted yet.
    ///
    /// # Errors
    /// The key, and the problem with it.
    pub(super) fn new(config: &ServiceConfig) -> Result<Self, (&'static str, String)> {
        let url = url(config)?;
        let client = client(config)?;
        let (questions, mut asked) = unbounded_channel::<Question>();
        let cannot = |error: std::io::Error| ("service", format!("cannot create a client: {error}"));
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(cannot)?;
        let token_file = config.token_file.clone();
        let work = move || {
            runtime.block_on(async {
                while let Some((request, limit, reply)) = asked.recv().await {
                    let (client, url, token_file) = (client.clone(), url.clone(), token_file.clone());
                    tokio::spawn(async move {
                        let token = token_file.map(token).transpose();
                        let asking = async { post(&client, url, token?, request).await };
                        let answer = tokio::time::timeout(limit, asking).await;
                        let late = || Err(timed_out("the service did not answer in time"));
                        // The caller is gone if it waited too long.
                        drop(reply.send(answer.unwrap_or_else(|_| late())));
                    });
                }
            });
        };
        let thread = std::thread::Builder::new().name("external-http".to_owned());
        thread.spawn(work).map_err(cannot)?;
        Ok(Self(questions))
    }
}

/// Reads the address.
fn url(config: &ServiceConfig) -> Result<Url, (&'static str, String)> {
    let wrong = |problem: &str| ("service.url", problem.to_owned());
    let url = Url::parse(&config.url).map_err(|error| wrong(&error.to_string()))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong(
            "has a user or a password; put a bearer token into `service.token_file`",
        ));
    }
    let loopback = || {
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    };
    match url.scheme() {
        "https" => Ok(url),
        "http" if config.plain_http || loopback() => Ok(url),
        "http" => Err(wrong(
            "would send notes unencrypted to another machine; use `https://`, or set `service.plain_http = true`",
        )),
        _ => Err(wrong("does not begin with `https://` or `http://`")),
    }
}

fn client(config: &ServiceConfig) -> Result<Client, (&'static str, String)> {
    let mut builder = Client::builder()
        // A redirect could lead notes to another machine.
        .redirect(redirect::Policy::none())
        .no_proxy();
    if let Some(path) = &config.ca {
        let wrong = |problem: String| ("service.ca", format!("{}: {problem}", path.display()));
        let pem = std::fs::read(path).map_err(|error| wrong(error.to_string()))?;
        let certificates = Certificate::from_pem_bundle(&pem)
            .ok()
            .filter(|certificates| !certificates.is_empty())
            .ok_or_else(|| wrong("holds no certificate in PEM format".to_owned()))?;
        builder = certificates
            .into_iter()
            .fold(builder, reqwest::ClientBuilder::add_root_certificate);
    }
    let cannot = |error: reqwest::Error| ("service", format!("cannot create a client: {}", cause(error)));
    builder.build().map_err(cannot)
}

/// Reads the token. Errors do not quote it.
fn token(path: std::path::PathBuf) -> Result<String, Fault> {
    let unreadable =
        |error: std::io::Error| failed(format!("`service.token_file`: {}: {error}", path.display()));
    let token = std::fs::read_to_string(&path).map_err(unreadable)?;
    let token = token.trim();
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        let path = path.display();
        return Err(failed(format!(
            "`service.token_file`: {path}: not a bearer token: empty, or with characters that a header cannot have"
        )));
    }
    Ok(token.to_owned())
}

async fn post(client: &Client, url: Url, token: Option<String>, body: Vec<u8>) -> Result<Vec<u8>, Fault> {
    let mut request = client
        .post(url)
        .header(CONTENT_TYPE, "application/json")
        .body(body);
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    let broken = |error: reqwest::Error| failed(format!("the service cannot be reached: {}", cause(error)));
    let mut response = request.send().await.map_err(broken)?;
    match response.status() {
        StatusCode::OK => {}
        status => return Err(refused(status)),
    }
    let mut answer = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(broken)? {
        if answer.len() + piece.len() > MAX_ANSWER {
            return Err(out_of_step(format!("an answer of more than {MAX_ANSWER} bytes")));
        }
        answer.extend_from_slice(&piece);
    }
    Ok(answer)
}

/// Returns the fault of a status. The body may quote the note, so that only the number is reported.
fn refused(status: StatusCode) -> Fault {
    let number = status.as_u16();
    let what = match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => "check `service.token_file`",
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => "check `service.url`",
        _ if status.is_redirection() => "Lethe follows no redirect; check `service.url`",
        _ => "see the log of the service",
    };
    let reason = format!("the service answered with status {number}; {what}");
    match status {
        // It refuses this note, and may take the next one.
        StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE | StatusCode::UNPROCESSABLE_ENTITY => Fault {
            in_step: true,
            ..out_of_step(reason)
        },
        _ => failed(reason),
    }
}

/// Returns the innermost cause, since outer ones only say that a request failed.
fn cause(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut innermost: &dyn std::error::Error = &error;
    while let Some(inner) = innermost.source() {
        innermost = inner;
    }
    innermost.to_string()
}

impl Connect for Service {
    fn connect(&self) -> Result<Box<dyn Connection>, Fault> {
        Ok(Box::new(Requests(self.0.clone())))
    }
}

/// The right to send one request at a time.
struct Requests(UnboundedSender<Question>);

impl Connection for Requests {
    fn ask(&mut self, request: Vec<u8>, limit: Duration) -> Result<Vec<u8>, Fault> {
        let (reply, answer) = mpsc::sync_channel(1);
        let gone = || failed("the client of the service has ended");
        self.0.send((request, limit, reply)).map_err(|_| gone())?;
        match answer.recv_timeout(limit.saturating_add(GRACE)) {
            Ok(answer) => answer,
            Err(mpsc::RecvTimeoutError::Timeout) => Err(timed_out("the service did not answer in time")),
            Err(mpsc::RecvTimeoutError::Disconnected) => Err(gone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(url: &str) -> ServiceConfig {
        ServiceConfig {
            url: url.to_owned(),
            token_file: None,
            ca: None,
            plain_http: false,
            requests: None,
            timeout_seconds: 5,
            retries: 0,
        }
    }

    #[test]
    fn notes_go_unencrypted_only_to_this_machine_unless_the_configuration_says_so() {
        for good in [
            "https://mist.example.org/a",
            "http://127.0.0.1:1/a",
            "http://[::1]:1/a",
            "http://localhost/a",
        ] {
            url(&config(good)).unwrap();
        }
        let plain = config("http://mist.example.org/a");
        let (key, problem) = url(&plain).unwrap_err();
        assert!(
            key == "service.url" && problem.contains("plain_http = true"),
            "{problem}"
        );
        url(&ServiceConfig {
            plain_http: true,
            ..plain
        })
        .unwrap();
        for bad in [
            "mist",
            "ftp://127.0.0.1/a",
            "http://user:secret@127.0.0.1/a",
            "http://localhost.example.org/a",
        ] {
            let (_, problem) = url(&config(bad)).unwrap_err();
            assert!(!problem.contains("secret"), "{problem}");
        }
    }

    #[test]
    fn a_service_that_is_not_there_fails_and_its_address_is_not_quoted() {
        // Nothing listens on a port that was free a moment ago.
        let port = std::net::TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let service = Service::new(&config(&format!("http://127.0.0.1:{port}/a"))).unwrap();
        let fault = service
            .connect()
            .unwrap()
            .ask(b"{}".to_vec(), Duration::from_secs(60))
            .unwrap_err();
        assert_eq!(fault.failure, lethe_core::ToolFailure::Failed);
        assert!(fault.reason.contains("cannot be reached"), "{}", fault.reason);
    }

    #[test]
    fn a_token_with_other_characters_is_not_quoted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        for content in ["", "sec\nret", "s\u{e9}cret"] {
            std::fs::write(&path, content).unwrap();
            let reason = token(path.clone()).unwrap_err().reason;
            assert!(
                reason.contains("not a bearer token") && !reason.contains("ret\n"),
                "{reason}"
            );
        }
        std::fs::write(&path, "a.b-c\n").unwrap();
        assert_eq!(token(path).unwrap(), "a.b-c");
    }
}
