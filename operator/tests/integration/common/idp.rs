//! An authorisation server: HTTPS with one token endpoint, whose tokens come from the broker's own script.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use openssl::ssl::{SslAcceptor, SslFiletype, SslMethod, SslStream};

use super::process::system;

/// The server. Its thread ends with the test process.
pub(crate) struct Idp {
    port: u16,
    state: Arc<Mutex<State>>,
}

struct State {
    secret: String,
    seconds: u32,
    given: Vec<String>,
    refused: usize,
}

impl Idp {
    /// Listens with the certificate of the broker in `broker`, and signs as that broker expects.
    pub(crate) fn start(broker: &Path, secret: &str, seconds: u32) -> Self {
        let tls = broker.join("tls");
        let mut acceptor = SslAcceptor::mozilla_intermediate(SslMethod::tls()).unwrap();
        acceptor
            .set_private_key_file(tls.join("broker.key"), SslFiletype::PEM)
            .unwrap();
        acceptor
            .set_certificate_file(tls.join("broker.pem"), SslFiletype::PEM)
            .unwrap();
        let acceptor = acceptor.build();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(Mutex::new(State {
            secret: secret.to_owned(),
            seconds,
            given: Vec::new(),
            refused: 0,
        }));
        let (own, broker) = (Arc::clone(&state), broker.to_owned());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                // A client that does not trust the certificate closes the connection.
                let Ok(stream) = acceptor.accept(stream.unwrap()) else {
                    continue;
                };
                answer(stream, &own, &broker);
            }
        });
        Self { port, state }
    }

    /// Returns the address of its token endpoint.
    pub(crate) fn url(&self) -> String {
        format!("https://localhost:{}/token", self.port)
    }

    /// Expects another secret from now on.
    pub(crate) fn expect(&self, secret: &str) {
        secret.clone_into(&mut self.state.lock().unwrap().secret);
    }

    /// Returns the issued tokens.
    pub(crate) fn given(&self) -> Vec<String> {
        self.state.lock().unwrap().given.clone()
    }

    /// Returns the number of refused requests.
    pub(crate) fn refused(&self) -> usize {
        self.state.lock().unwrap().refused
    }
}

fn answer(stream: SslStream<std::net::TcpStream>, state: &Mutex<State>, broker: &Path) {
    let mut reader = BufReader::new(stream);
    let (mut lines, mut length) = (Vec::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        let line = line.trim_end().to_owned();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
            length = value.parse().unwrap();
        }
        lines.push(line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let mut state = state.lock().unwrap();
    let login = format!("Basic {}", STANDARD.encode(format!("lethe:{}", state.secret)));
    let right = lines[0] == "POST /token HTTP/1.1"
        && lines.iter().any(|line| line.ends_with(&login))
        && body == b"grant_type=client_credentials&scope=kafka&audience=brokers";
    let (status, body) = if right {
        let seconds = state.seconds.to_string();
        let place = ["token", "lethe", &seconds, "--dir", broker.to_str().unwrap()];
        let token = system(super::env("LETHE_TEST_KAFKA_SCRIPT"), place)
            .trim()
            .to_owned();
        state.given.push(token.clone());
        let body = format!(r#"{{"access_token":"{token}","token_type":"Bearer","expires_in":{seconds}}}"#);
        ("200 OK", body)
    } else {
        state.refused += 1;
        let body = r#"{"error":"invalid_client","error_description":"no, not that one"}"#;
        ("401 Unauthorized", body.to_owned())
    };
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    let mut stream = reader.into_inner();
    stream.write_all((head + &body).as_bytes()).unwrap();
    // A client with its response may have closed the connection.
    drop(stream.shutdown());
}
