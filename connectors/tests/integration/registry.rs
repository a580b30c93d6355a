//! Schemas from a real registry (Apicurio, with Confluent's protocol), and from misbehaving servers.
//!
//! The misbehaving servers are sockets of the test with fixed responses: a refused or inspected login, a
//! response that is not a registry's. The real registry has no login, so only those test that one is sent
//! correctly.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lethe_connectors::format::registry::{Language, RegistryConfig, SchemaError, Schemas as _};
use lethe_connectors::format::{Format, FormatConfig, FormatError, PayloadError};
use lethe_connectors::registry::{Registry, build};
use serde_json::{Value, json};

const NOTE_AVSC: &str = include_str!("../../format/tests/integration/registry/golden/note.avsc");
const NOTE_AVRO: &[u8] = include_bytes!("../../format/tests/integration/registry/golden/note.avro.bin");
const NOTE_PROTO: &str = include_str!("../../format/tests/integration/registry/golden/note.proto");
const PEOPLE_PROTO: &str = include_str!("../../format/tests/integration/registry/golden/people.proto");
const NOTE_PROTOBUF: &[u8] = include_bytes!("../../format/tests/integration/registry/golden/note.proto.bin");
const TEXT: &str = "Zoë Brandt seen on ward 4.\nMRN 551-20, calm. 😀\n";

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| {
        panic!("{name} is not set: run this test with scripts/test, or under scripts/with-servers")
    })
}

/// Returns a format with the fields of the golden notes.
fn format(kind: &str, registry: &Value) -> Box<dyn Format> {
    let config = json!({
        "kind": kind,
        "registry": registry,
        "fields": {
            "note_id": "meta.id", "version": "meta.version", "authored_at": "meta.written", "event": "meta.event",
            "patient_id": "patient.number", "known": "patient.identifiers", "text": "body",
        },
    });
    build(&serde_json::from_value::<FormatConfig>(config).unwrap()).unwrap()
}

/// Returns the payload with this schema id in its frame.
fn framed(payload: &[u8], id: u32) -> Vec<u8> {
    [&[0][..], &id.to_be_bytes(), &payload[5..]].concat()
}

/// Registers a schema and returns its id.
fn register(url: &str, ca: Option<&str>, subject: &str, schema: Value) -> u32 {
    let mut client = reqwest::Client::builder();
    if let Some(path) = ca {
        let pem = std::fs::read(path).unwrap();
        client = client.add_root_certificate(reqwest::Certificate::from_pem(&pem).unwrap());
    }
    let request = client
        .build()
        .unwrap()
        .post(format!("{url}/subjects/{subject}/versions"))
        .header("Content-Type", "application/vnd.schemaregistry.v1+json")
        .body(schema.to_string());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let answer = runtime.block_on(async { request.send().await.unwrap().text().await.unwrap() });
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let id = answer["id"]
        .as_u64()
        .unwrap_or_else(|| panic!("not registered: {answer}"));
    u32::try_from(id).unwrap()
}

/// Returns the registry that `scripts/with-servers` started, over TLS.
fn secure() -> (String, String) {
    (
        variable("LETHE_TEST_REGISTRY"),
        variable("LETHE_TEST_REGISTRY_CA"),
    )
}

#[test]
fn notes_are_read_by_the_schemas_of_a_real_registry() {
    let (url, ca) = secure();
    let put = |subject: &str, schema| register(&url, Some(&ca), subject, schema);
    let avro = put("golden-avro", json!({"schema": NOTE_AVSC}));
    // A subject whose name must be escaped, and a reference to it.
    put(
        "golden%2Fpeople.proto",
        json!({"schemaType": "PROTOBUF", "schema": PEOPLE_PROTO}),
    );
    let references = json!([{"name": "people.proto", "subject": "golden/people.proto", "version": 1}]);
    let protobuf = put(
        "golden-protobuf",
        json!({"schemaType": "PROTOBUF", "schema": NOTE_PROTO, "references": references}),
    );
    let registry = json!({"url": url, "ca": ca});
    for (kind, payload) in [
        ("avro", framed(NOTE_AVRO, avro)),
        ("protobuf", framed(NOTE_PROTOBUF, protobuf)),
    ] {
        let format = format(kind, &registry);
        format.prepare(&payload).unwrap();
        assert_eq!(format.read(&payload).unwrap().text.expose(), TEXT);
        let unknown = framed(&payload, 2_000_000_000);
        format.prepare(&unknown).unwrap();
        assert_eq!(
            format.read(&unknown).unwrap_err().problem,
            PayloadError::UnknownSchema
        );
        // Each schema is in the other's language.
        let other = framed(&payload, if kind == "avro" { protobuf } else { avro });
        assert_eq!(
            format.read(&other).unwrap_err().problem,
            PayloadError::UnusableSchema
        );
    }
}

#[test]
fn a_schema_comes_with_all_that_it_refers_to_each_before_those_that_need_it() {
    let (url, ca) = secure();
    let record = |name: &str, of: &str| {
        format!(r#"{{"type":"record","name":"org.example.{name}","fields":[{{"name":"f","type":"{of}"}}]}}"#)
    };
    let mut below = "long".to_owned();
    let mut id = 0;
    for name in ["A", "B", "C"] {
        let references = match below.as_str() {
            "long" => json!([]),
            below => json!([{"name": below, "subject": below, "version": 1}]),
        };
        let full = format!("org.example.{name}");
        id = register(
            &url,
            Some(&ca),
            &full,
            json!({"schema": record(name, &below), "references": references}),
        );
        below = full;
    }
    let config: RegistryConfig = serde_json::from_value(json!({"url": format!("{url}/"), "ca": ca})).unwrap();
    let schema = Registry::open(&config).unwrap().schema(id).unwrap();
    assert_eq!(schema.language, Language::Avro);
    let names: Vec<_> = schema
        .references
        .iter()
        .map(|reference| reference.name.as_str())
        .collect();
    assert_eq!(names, ["org.example.A", "org.example.B"]);
}

#[test]
fn a_registry_whose_certificate_nobody_trusted_is_away() {
    let (url, _) = secure();
    let format = format("avro", &json!({"url": url}));
    let away = format.prepare(NOTE_AVRO).unwrap_err().to_string();
    assert!(away.contains(&url) && away.contains("certificate"), "{away}");
}

#[test]
fn a_registry_that_dies_freezes_and_comes_back_costs_no_record() {
    let folder = tempfile::tempdir_in(variable("LETHE_TEST_SERVERS_DIR")).unwrap();
    let dir = folder.path().join("registry");
    let script = |arguments: &[&str]| {
        let mut command = Command::new(variable("LETHE_TEST_REGISTRY_SCRIPT"));
        let output = command.args(arguments).arg("--dir").arg(&dir).output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    };
    let env = script(&["start", "--owner", &std::process::id().to_string()]);
    let url = env.lines().find_map(|line| line.strip_prefix("URL=")).unwrap();
    let settings = json!({"url": url, "allow_http": true, "timeout_seconds": 2});
    let schema = json!({"schema": NOTE_AVSC});
    let id = register(url, None, "note", schema.clone());
    let note = framed(NOTE_AVRO, id);

    let knows = format("avro", &settings);
    knows.prepare(&note).unwrap();
    let asks = format("avro", &settings);
    script(&["pause"]);
    let away = asks.prepare(&note).unwrap_err().to_string();
    assert!(away.contains("does not respond in time"), "{away}");
    script(&["resume"]);
    script(&["kill"]);
    // An open connection is closed first; the next one finds no server.
    let away = || asks.prepare(&note).unwrap_err().to_string();
    let told = [away(), away()];
    assert!(told.iter().all(|told| told.contains(url)), "{told:?}");
    assert!(told[1].to_lowercase().contains("refused"), "{told:?}");
    // The first response is cached.
    knows.prepare(&note).unwrap();
    assert_eq!(knows.read(&note).unwrap().text.expose(), TEXT);

    script(&["restart"]);
    let again = register(url, None, "note", schema);
    let note = framed(NOTE_AVRO, again);
    asks.prepare(&note).unwrap();
    assert_eq!(asks.read(&note).unwrap().text.expose(), TEXT);
    script(&["stop"]);
}

/// A server that responds to each request with `answer` of its path, and records the requests.
struct Server {
    url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start(answer: impl Fn(&str) -> (u16, String) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/base", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let head: Vec<String> = BufReader::new(stream.try_clone().unwrap())
                    .lines()
                    .map_while(Result::ok)
                    .take_while(|line| !line.is_empty())
                    .collect();
                let Some(path) = head.first().and_then(|line| line.split(' ').nth(1)) else {
                    continue;
                };
                let (status, body) = answer(path);
                log.lock().unwrap().push(head.join("\n"));
                let reply = format!(
                    "HTTP/1.1 {status} x\r\nContent-Length: {}\r\nLocation: http://127.0.0.1:1/\r\nConnection: close\r\n\r\n{body}",
                    body.len()
                );
                // The client may have closed the connection during a long response.
                drop(stream.write_all(reply.as_bytes()));
            }
        });
        Self { url, asked }
    }

    fn settings(&self) -> Value {
        json!({"url": self.url, "allow_http": true})
    }

    fn ask(&self) -> Result<Arc<lethe_connectors::format::registry::Schema>, SchemaError> {
        let config: RegistryConfig = serde_json::from_value(self.settings()).unwrap();
        Registry::open(&config).unwrap().schema(7)
    }
}

#[test]
fn who_does_not_answer_as_a_registry_does_is_away_and_its_words_are_not_repeated() {
    let long = "Okonkwo".repeat(1 << 20);
    for (status, body) in [
        (200, "<html>Okonkwo</html>"),
        (200, "{}"),
        (301, ""),
        (401, r#"{"error_code":40101,"message":"Okonkwo"}"#),
        (403, ""),
        (404, "<html>Okonkwo</html>"),
        (404, r#"{"error_code":404,"message":"HTTP 404 Okonkwo"}"#),
        (404, r#"{"error_code":40401,"message":"Okonkwo"}"#),
        (429, ""),
        (500, r#"{"error_code":50001,"message":"Okonkwo"}"#),
        (503, long.as_str()),
    ] {
        let answer = body.to_owned();
        let server = Server::start(move |_| (status, answer.clone()));
        let Err(SchemaError::Unavailable(away)) = server.ask() else {
            panic!("HTTP {status} was taken for an answer");
        };
        let away = away.to_string();
        assert!(away.contains(&server.url) && !away.contains("Okonkwo"), "{away}");
        let format = format("avro", &server.settings());
        assert!(format.prepare(NOTE_AVRO).is_err(), "HTTP {status}");
        // No redirect was followed.
        assert_eq!(server.asked.lock().unwrap().len(), 2);
    }
}

#[test]
fn a_schema_whose_references_come_slowly_is_given_up_in_time() {
    // Each response arrives within the limit of one request and refers to one more schema: half a minute in
    // all.
    let server = Server::start(|path| {
        std::thread::sleep(Duration::from_millis(500));
        let depth = path.matches('x').count() + 1;
        let name = "x".repeat(depth);
        let references = json!([{"name": name, "subject": name, "version": 1}]);
        (200, json!({"schema": "{}", "references": references}).to_string())
    });
    let mut settings = server.settings();
    settings["timeout_seconds"] = json!(1);
    let config: RegistryConfig = serde_json::from_value(settings).unwrap();
    let answer = Registry::open(&config).unwrap().schema(7);
    let Err(SchemaError::Unavailable(away)) = answer else {
        panic!("all references were asked for");
    };
    assert!(away.to_string().contains("does not respond in time"), "{away}");
    assert!(server.asked.lock().unwrap().len() < 60);
}

#[test]
fn only_its_own_words_for_no_such_schema_are_an_answer() {
    let server = Server::start(|_| {
        (
            404,
            r#"{"error_code":40403,"message":"Schema not found"}"#.to_owned(),
        )
    });
    assert_eq!(server.ask(), Err(SchemaError::NotFound));
}

#[test]
fn references_that_are_missing_too_many_or_in_a_circle_end() {
    let schema = |references: Value| json!({"schema": "{}", "references": references}).to_string();
    let to = |name: &str| json!({"name": name, "subject": name, "version": 1});

    let main = schema(json!([to("gone")]));
    let missing = Server::start(move |path| match path {
        "/base/schemas/ids/7" => (200, main.clone()),
        _ => (
            404,
            r#"{"error_code":40402,"message":"Version not found"}"#.to_owned(),
        ),
    });
    assert!(matches!(missing.ask(), Err(SchemaError::Unusable(why)) if why.contains("gone")));

    let both = schema(json!([to("a"), to("b")]));
    let circle = Server::start(move |_| (200, both.clone()));
    assert_eq!(circle.ask().unwrap().references.len(), 2);

    let counted = std::sync::atomic::AtomicU32::new(0);
    let endless = Server::start(move |_| {
        let next = counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        (200, schema(json!([to(&format!("n{next}"))])))
    });
    assert!(matches!(endless.ask(), Err(SchemaError::Unusable(why)) if why.contains("64")));

    let large = json!({"schema": "x".repeat(5 << 20)}).to_string();
    let large = Server::start(move |_| (200, large.clone()));
    assert!(matches!(large.ask(), Err(SchemaError::Unusable(_))));
}

#[test]
fn the_login_goes_with_each_request_and_a_subjects_name_is_escaped() {
    let references = json!([{"name": "a", "subject": "a/b ?c", "version": 3}]);
    for (login, header) in [
        (
            json!({"user": "lethe", "password": "open:sesame"}),
            "authorization: Basic bGV0aGU6b3BlbjpzZXNhbWU=",
        ),
        (json!({"token": "t0ken"}), "authorization: Bearer t0ken"),
    ] {
        let main = json!({"schema": "\"int\"", "references": references}).to_string();
        let server = Server::start(move |path| match path {
            "/base/schemas/ids/7" => (200, main.clone()),
            _ => (200, json!({"schema": "\"int\""}).to_string()),
        });
        let mut settings = server.settings();
        settings
            .as_object_mut()
            .unwrap()
            .extend(login.as_object().unwrap().clone());
        let config: RegistryConfig = serde_json::from_value(settings).unwrap();
        Registry::open(&config).unwrap().schema(7).unwrap();
        let asked = server.asked.lock().unwrap();
        assert!(asked.iter().all(|head| head.contains(header)), "{asked:?}");
        let reference = "GET /base/subjects/a%2Fb%20%3Fc/versions/3?deleted=true ";
        assert!(asked.len() == 2 && asked[1].starts_with(reference), "{asked:?}");
    }
}

#[test]
fn settings_that_cannot_be_are_refused_by_their_key() {
    let folder = tempfile::tempdir().unwrap();
    let garbage = folder.path().join("ca.pem");
    std::fs::write(&garbage, "no certificate").unwrap();
    let https = "https://registry.example";
    for (key, settings) in [
        ("url", json!({"url": "http://registry.example"})),
        ("url", json!({"url": "ftp://registry.example"})),
        ("url", json!({"url": "registry.example"})),
        ("url", json!({"url": "https://lethe:hush@registry.example"})),
        ("url", json!({"url": "https://registry.example?x=1"})),
        ("user", json!({"url": https, "user": "lethe"})),
        ("user", json!({"url": https, "password": "hush"})),
        ("user", json!({"url": https, "user": "lethe", "password": ""})),
        (
            "token",
            json!({"url": https, "user": "lethe", "password": "hush", "token": "hush"}),
        ),
        ("ca", json!({"url": https, "ca": "/gone/ca.pem"})),
        ("ca", json!({"url": https, "ca": garbage})),
    ] {
        let config: RegistryConfig = serde_json::from_value(settings.clone()).unwrap();
        let Err(FormatError::Registry { key: found, why }) = Registry::open(&config) else {
            panic!("taken: {settings}");
        };
        assert!(
            found == key && !why.contains("hush"),
            "{settings}: {found}: {why}"
        );
    }
    let config: RegistryConfig = serde_json::from_value(json!({"url": https, "token": "hush"})).unwrap();
    assert_eq!(
        format!("{:?}", Registry::open(&config).unwrap()),
        "Registry(https://registry.example/)"
    );
}
