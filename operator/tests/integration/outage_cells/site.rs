//! The environment of a cell: a topic, a configuration, and a gate in front of the dependency that becomes
//! unavailable.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde_json::json;

use crate::common::gate::Gate;
use crate::common::idp::Idp;
use crate::common::kafka::{Topic, name};
use crate::common::notes::event;
use crate::common::process::system;
use crate::common::servers::Server;
use crate::common::{Place, env, folder_sink, quoted, s3_sink};
use crate::outage_cells::table::{Cell, Dependency, Moment};

/// The drain limit of every cell.
pub(crate) const DRAIN_SECONDS: u64 = 3;
/// The number of notes before the outage, and again after it.
pub(crate) const NOTES: usize = 40;
/// The lifetime in seconds of a token that must expire during an outage of the issuer; other tokens outlast
/// the test.
const TOKEN_SECONDS: u32 = 10;
const KEYS: &str = "[[keys]]\nid = \"k1\"\nstate = \"current\"\nsecret = \"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\"\n";

/// A broker with a gate for each cell that makes brokers unavailable. Clients must reconnect through the
/// gate, which requires its own listener.
pub(crate) struct Brokers {
    server: Server,
    gates: Mutex<Vec<Gate>>,
}

impl Brokers {
    /// Starts it with this number of gates.
    pub(crate) fn start(gates: usize) -> Self {
        let mut gates: Vec<Gate> = std::iter::repeat_with(Gate::new).take(gates).collect();
        let ports: Vec<String> = gates.iter().map(|gate| gate.port().to_string()).collect();
        let more: Vec<&str> = ports.iter().flat_map(|port| ["--behind", port]).collect();
        let server = Server::kafka(&more);
        for (number, gate) in gates.iter_mut().enumerate() {
            gate.open(server.get(&format!("BEHIND_{}", number + 1)));
        }
        Self {
            server,
            gates: Mutex::new(gates),
        }
    }
}

/// The environment of one cell.
pub(crate) struct Site {
    pub(crate) config: PathBuf,
    pub(crate) env: Vec<(&'static str, String)>,
    pub(crate) gate: Gate,
    pub(crate) topic: Topic,
    payload: Box<dyn Fn(usize) -> Vec<u8>>,
    /// Holds configuration and output until the cell ends.
    _place: Place,
    /// Issues the tokens.
    _issuer: Option<Idp>,
}

impl Site {
    /// Sets it up, with all dependencies available.
    pub(crate) fn new(cell: &Cell, brokers: Option<&Brokers>) -> Self {
        let place = Place::new();
        let stem = cell.name().replace('/', "-");
        let shared = |stem: &str| Topic::new(stem, 2);
        let (mut topic, mut source) = (None, String::new());
        let mut more = "[engine]\nmembers = [{ kind = \"pattern\" }, { kind = \"known\" }]\n".to_owned();
        let mut sink = folder_sink(&place.at("out"));
        let (mut variables, mut issuer) = (Vec::new(), None);
        let mut payload: Box<dyn Fn(usize) -> Vec<u8>> = Box::new(|number| event(number).into_bytes());
        let gate = match cell.outage.dependency {
            Dependency::Broker => {
                let brokers = brokers.unwrap();
                let gate = brokers.gates.lock().unwrap().pop().unwrap();
                let own = Topic::at(brokers.server.get("BOOTSTRAP"), &stem, 2);
                source = own
                    .source()
                    .replace(&own.brokers, &format!("127.0.0.1:{}", gate.port()));
                topic = Some(own);
                gate
            }
            Dependency::Oauth => {
                let dir = PathBuf::from(env("LETHE_TEST_SERVERS_DIR")).join("kafka-secure");
                let own = Topic::at(&env("LETHE_TEST_KAFKA_SECURE_PLAIN"), &stem, 2);
                let idp = Idp::start(&dir, "s3cr3t", TOKEN_SECONDS);
                let gate = Gate::before(&authority(&idp.url()));
                source = own
                    .source()
                    .replace(&own.brokers, &value(&dir.join("env"), "TOKEN_BOOTSTRAP"))
                    + &security(&place, &through(&idp.url(), &gate));
                topic = Some(own);
                issuer = Some(idp);
                gate
            }
            Dependency::S3 => {
                let endpoint = env("LETHE_TEST_S3_ENDPOINT");
                let gate = Gate::before(&authority(&endpoint));
                sink = s3_sink(&name(&stem), Some(&through(&endpoint, &gate)), "");
                gate
            }
            Dependency::Registry => {
                let url = env("LETHE_TEST_REGISTRY");
                let gate = Gate::before(&authority(&url));
                more += &format!(
                    "[format]\nkind = \"avro\"\nregistry = {{ url = {:?}, ca = {:?} }}\n",
                    through(&url, &gate),
                    env("LETHE_TEST_REGISTRY_CA")
                );
                let schemas = ["Early", "Late"].map(|record| schema(&place, &stem, record));
                // Later notes have a schema that was never requested.
                payload = Box::new(move |number| avro(schemas[number / NOTES], number));
                gate
            }
            Dependency::Postgres => {
                let url = env("LETHE_TEST_POSTGRES");
                let gate = Gate::before(&authority(&url));
                let own = name("cells").replace('-', "_");
                let dir = PathBuf::from(env("LETHE_TEST_SERVERS_DIR")).join("postgres");
                let statement = format!("CREATE SCHEMA {own}");
                let arguments = ["sql", &statement, "--dir", dir.to_str().unwrap()];
                system(env("LETHE_TEST_POSTGRES_SCRIPT"), arguments);
                let url = format!("{}?options=-csearch_path%3D{own}", through(&url, &gate));
                variables.push(("LETHE_CELL_VAULT", url));
                more += &policy(&place);
                gate
            }
        };
        let topic = topic.unwrap_or_else(|| shared(&stem));
        if source.is_empty() {
            source = topic.source();
        }
        let age = match cell.outage.moment {
            Moment::Start | Moment::Middle => "0.5",
            Moment::Buffered | Moment::Rebalance => "600.0",
        };
        let text = format!(
            "{source}{more}[resources]\ndrain_seconds = {DRAIN_SECONDS}\nworkers = 2\n[telemetry]\nlisten = \"127.0.0.1:0\"\n\
             {sink}[sink.roll]\nmax_age_seconds = {age}\nmax_idle_seconds = {age}\n"
        );
        let config = place.write("lethe.toml", text);
        Self {
            config,
            env: variables,
            gate,
            topic,
            payload,
            _place: place,
            _issuer: issuer,
        }
    }

    /// Sends the notes from before (0) or after (1) the outage.
    pub(crate) fn feed(&self, lot: usize) {
        let numbers = lot * NOTES..(lot + 1) * NOTES;
        self.topic.fill(numbers.map(|number| (self.payload)(number)));
    }
}

/// Returns `HOST:PORT` of an address, with a numeric host: the servers listen on 127.0.0.1.
fn authority(url: &str) -> String {
    let rest = url.split("://").nth(1).unwrap();
    let host = rest.split(['/', '?']).next().unwrap();
    let port = host.rsplit(':').next().unwrap();
    format!("127.0.0.1:{port}")
}

/// Returns the same address with the gate's port.
fn through(url: &str, gate: &Gate) -> String {
    let of = authority(url);
    let port = of.rsplit(':').next().unwrap();
    url.replacen(&format!(":{port}"), &format!(":{}", gate.port()), 1)
}

/// Returns a value of a server's `env` file.
fn value(file: &Path, key: &str) -> String {
    let text = std::fs::read_to_string(file).unwrap();
    let found = text
        .lines()
        .find_map(|line| line.strip_prefix(&format!("{key}=")));
    found.unwrap().to_owned()
}

fn security(place: &Place, url: &str) -> String {
    let secret = place.write("secret", "s3cr3t\n");
    let ca = env("LETHE_TEST_KAFKA_SECURE_CA");
    format!(
        "[source.security]\nprotocol = \"oauthbearer\"\nca = {ca:?}\ntoken = {{ kind = \"endpoint\", url = {url:?}, client_id = \"lethe\", \
         client_secret_file = {}, scope = \"kafka\", ca = {ca:?}, parameters = {{ audience = \"brokers\" }} }}\n",
        quoted(secret)
    )
}

/// Writes a policy whose vault is at the connection of `LETHE_CELL_VAULT`.
pub(crate) fn policy(place: &Place) -> String {
    let keys = place.write("keys.toml", KEYS);
    std::fs::set_permissions(&keys, std::fs::Permissions::from_mode(0o600)).unwrap();
    format!(
        "[policy]\nmode = \"custom\"\ndefault = {{ action = \"tag\" }}\n[policy.labels.MEDICALRECORD]\naction = \"pseudonym\"\ncodes = \"vault\"\n\
         [policy.keys]\nfile = {}\n[policy.vault]\nkind = \"postgres\"\nenv = \"LETHE_CELL_VAULT\"\ntls = \"off\"\ncreate = true\n",
        quoted(keys)
    )
}

/// Registers a schema of notes, and returns its id.
fn schema(place: &Place, stem: &str, record: &str) -> u32 {
    // Each has its own name: equal schemas would share an id.
    let own = format!("{record}{}", stem.replace('-', "_"));
    let text = json!({"type": "record", "name": own, "fields": [
        {"name": "note_id", "type": "string"}, {"name": "text", "type": "string"}]});
    let file = place.write(&format!("{record}.avsc"), text.to_string());
    let dir = PathBuf::from(env("LETHE_TEST_SERVERS_DIR")).join("registry");
    let subject = name(&own);
    let arguments = [
        "put",
        &subject,
        file.to_str().unwrap(),
        "--dir",
        dir.to_str().unwrap(),
    ];
    let answer = system(env("LETHE_TEST_REGISTRY_SCRIPT"), arguments);
    let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
    u32::try_from(answer["id"].as_u64().unwrap()).unwrap()
}

/// Encodes a note as Avro (a string is its length, as a zigzag varint, and its bytes), in Confluent's frame.
fn avro(schema: u32, number: usize) -> Vec<u8> {
    let mut bytes = vec![0];
    bytes.extend(schema.to_be_bytes());
    for text in [
        format!("note-{number}"),
        format!("Seen by Dr. Voss, MRN {}.", 40_000_000 + number),
    ] {
        // Below 64 bytes the length takes one byte.
        bytes.push(u8::try_from(2 * text.len()).unwrap());
        bytes.extend(text.bytes());
    }
    bytes
}
