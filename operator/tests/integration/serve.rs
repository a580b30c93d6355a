//! `lethe serve`, as a process that a real HTTP client talks to.

#![allow(clippy::unwrap_used, reason = "test helpers may panic, as tests may")]

mod batch;
mod fixtures;
mod protection;
mod refusals;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};

use crate::common::Place;
use crate::common::process::{Ended, Lethe, Running, TIMEOUT};

/// Members that find what these notes contain, without the time that a network takes to load.
const RULES: &str = "[engine]\nmembers = [{ kind = \"known\" }, { kind = \"pattern\" }, { kind = \"gazetteer\" }, { kind = \"context\" }]\n";

const NOTE: &str = "Seen by Dr. Henry Quill. Call (612) 555-0142.";

/// A running server, and a client of it.
struct Server {
    running: Running,
    base: String,
    client: Client,
    place: Place,
}

/// Returns a client that asks no proxy of the environment.
fn client() -> Client {
    Client::builder().no_proxy().timeout(TIMEOUT).build().unwrap()
}

/// Returns the program with the rules and these options.
fn program(place: &Place, options: &[&str]) -> Lethe {
    let rules = place.write("rules.toml", RULES);
    let first = ["serve", "--config", rules.to_str().unwrap()];
    let all = [&first[..], options].concat();
    // Everything that it could log.
    Lethe::new(all).env("LETHE_LOG", "trace")
}

impl Server {
    /// Starts it on a free port of this machine.
    fn start(options: &[&str]) -> Self {
        Self::start_in(Place::new(), options, client())
    }

    fn start_in(place: Place, options: &[&str], client: Client) -> Self {
        let options = [options, &["--listen", "127.0.0.1:0"]].concat();
        let mut running = program(&place, &options).start();
        running.until_it_says("serving on ", TIMEOUT);
        let log = running.err();
        let base = log.split("serving on ").nth(1).unwrap();
        Self {
            base: base.split_whitespace().next().unwrap().to_owned(),
            running,
            client,
            place,
        }
    }

    /// Returns the address without the scheme.
    fn address(&self) -> &str {
        self.base.rsplit('/').next().unwrap()
    }

    fn request(&self, path: &str, kind: &str, body: impl Into<reqwest::Body>) -> RequestBuilder {
        let url = format!("{}{path}", self.base);
        self.client.post(url).header(CONTENT_TYPE, kind).body(body)
    }

    /// Sends JSON; returns the status and the JSON of the response.
    async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        answer(self.request(path, "application/json", body.to_string())).await
    }

    async fn get(&self, path: &str) -> (u16, String) {
        let response = self
            .client
            .get(format!("{}{path}", self.base))
            .send()
            .await
            .unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    }

    /// Opens a connection on which no read waits for ever.
    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address()).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream
    }

    /// Sends these bytes as they are, and returns the response once the connection is closed or idle.
    fn exchange(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        stream.write_all(bytes).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Stops it, and returns what it logged.
    fn stop(self) -> Ended {
        self.running.signal("TERM");
        self.running.wait(TIMEOUT).expect(0)
    }
}

async fn answer(request: RequestBuilder) -> (u16, Value) {
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let text = response.text().await.unwrap();
    let body = serde_json::from_str(&text).unwrap_or_else(|_| panic!("no JSON: {status} {text}"));
    (status, body)
}

#[tokio::test]
async fn a_document_is_redacted_as_by_the_command() {
    let server = Server::start(&[]);
    let document = json!({ "note_id": 7, "mrn": "4471902", "text": NOTE, "known": { "mrn": ["4471902"] } });
    let (status, body) = server.post("/v1/redact", &document).await;
    assert_eq!(status, 200, "{body}");
    let rules = server.place.at("rules.toml");
    let command = Lethe::new([
        "redact",
        "--config",
        rules.to_str().unwrap(),
        "--format",
        "jsonl",
        "-",
    ]);
    let ended = command.end_with(format!("{document}\n")).expect(0);
    assert_eq!(body, serde_json::from_str::<Value>(&ended.out).unwrap());
    assert!(
        body["text"].as_str().unwrap().ends_with("Call [PHONE]."),
        "{body}"
    );
    let pretty = format!("{document:#}");
    let request = server.request("/v1/redact", "application/json; charset=utf-8", pretty);
    assert_eq!(answer(request).await, (200, body));
}

#[tokio::test]
async fn a_document_is_annotated_in_the_unit_that_the_client_asks_for() {
    let server = Server::start(&[]);
    let document = json!({ "doc_id": "a", "ward": 3, "text": "Größe 👩. Call (612) 555-0142." });
    let phone = async |query: &str| {
        let (status, body) = server.post(&format!("/v1/annotate{query}"), &document).await;
        assert_eq!(status, 200, "{body}");
        assert_eq!(
            (&body["ward"], &body["text"]),
            (&document["ward"], &document["text"])
        );
        let spans = body["spans"].as_array().unwrap();
        spans
            .iter()
            .find(|span| span["label"] == "PHONE")
            .unwrap()
            .clone()
    };
    assert_eq!(phone("").await["start"], 14);
    assert_eq!(phone("?offsets=utf16").await["start"], 15);
    let span = phone("?offsets=byte&explain=true").await;
    assert_eq!(
        (&span["start"], &span["deciding_rule"]),
        (&json!(19), &json!("votes"))
    );
    let (status, body) = server.post("/v1/annotate?offsets=words", &document).await;
    assert_eq!((status, &body["code"]), (422, &json!("unknown_parameter")));
}

#[tokio::test]
async fn the_openapi_document_has_every_endpoint_and_no_other() {
    let server = Server::start(&[]);
    let (status, body) = server.get("/openapi.json").await;
    assert_eq!(status, 200);
    let document: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(document["openapi"], "3.1.0");
    let paths = document["paths"].as_object().unwrap();
    for (path, methods) in paths {
        for method in methods.as_object().unwrap().keys() {
            let url = format!("{}{path}", server.base);
            let method = method.to_uppercase().parse().unwrap();
            let status = server
                .client
                .request(method, url)
                .send()
                .await
                .unwrap()
                .status()
                .as_u16();
            // Without a body, which some need.
            assert!([200, 415, 422].contains(&status), "{path}: {status}");
        }
    }
    for path in [
        "/health",
        "/v1/redact",
        "/v1/annotate/batch",
        "/analyze",
        "/anonymize",
        "/supportedentities",
    ] {
        assert!(paths.contains_key(path), "{path}");
    }
    assert_eq!(server.get("/v1/reveal").await.0, 404);
    assert_eq!(server.get("/health").await, (200, "Lethe is up".to_owned()));
}

#[tokio::test]
async fn no_text_of_a_request_is_in_the_log_or_in_an_error() {
    let server = Server::start(&[]);
    let bodies = [
        format!("{{\"text\": {NOTE:?}, \"language\": \"Quill\"}}"),
        format!("{{\"text\": [{{\"Quill\": {NOTE:?}}}]}}"),
        format!("{{\"text\": {NOTE:?}, \"Quill\": 1}}"),
        format!("Quill {NOTE}"),
        format!("{{\"text\": {NOTE:?}, \"anonymizers\": {{\"Henry Quill\": {{\"type\": \"Quill\"}}}}}}"),
        format!("{{\"text\": {NOTE:?}, \"anonymizers\": {{\"Henry Quill\": {{\"type\": \"keep\"}}}}}}"),
        format!("{{\"text\": {NOTE:?}, \"event\": \"Quill\"}}"),
    ];
    for path in [
        "/v1/redact?Quill",
        "/v1/annotate?Quill=1",
        "/v1/redact/batch",
        "/analyze",
        "/anonymize",
        "/Quill",
    ] {
        for kind in ["application/json", "application/x-ndjson", "text/Quill"] {
            for body in &bodies {
                let request = server.request(path, kind, body.clone());
                let response = request.header("x-quill", "Quill").send().await.unwrap();
                let (status, text) = (response.status().as_u16(), response.text().await.unwrap());
                if status != 200 || path.ends_with("batch") {
                    assert!(
                        !text.contains("Quill") && !text.contains("555"),
                        "{path} {body}: {text}"
                    );
                }
            }
        }
    }
    let log = server.stop().err;
    assert!(
        log.contains("serving on") && log.contains("stopped serving"),
        "{log}"
    );
    assert!(
        !log.to_lowercase().contains("quill") && !log.contains("555-0142"),
        "{log}"
    );
}

#[tokio::test]
async fn a_stop_answers_the_requests_that_it_has_received() {
    let server = Server::start(&[]);
    let mut stream = server.connect();
    let body = json!({ "text": NOTE }).to_string();
    write!(
        stream,
        "POST /v1/redact HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    )
    .unwrap();
    // The server has begun to receive the request once it can see the headers.
    let (first, rest) = body.split_at(8);
    stream.write_all(first.as_bytes()).unwrap();
    assert_eq!(server.get("/health").await.0, 200);
    let mut running = server.running;
    running.signal("TERM");
    running.until_it_says("stopping", TIMEOUT);
    stream.write_all(rest.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(
        answer.starts_with("HTTP/1.1 200") && answer.contains("[PHONE]"),
        "{answer}"
    );
    running.wait(TIMEOUT).expect(0);
}
