//! What a program sends to a collector of metrics and traces: each request's path and bytes, kept.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Paths and bodies, in the order of their coming.
type Taken = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

/// Takes whatever is posted and says that all is well.
pub(crate) struct Collector {
    address: SocketAddr,
    taken: Taken,
}

impl Collector {
    /// Listens at a port of the system's choice, as long as the test runs.
    pub(crate) fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let taken = Taken::default();
        let to = Arc::clone(&taken);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let to = Arc::clone(&to);
                // Who hangs up in the middle sent nothing.
                std::thread::spawn(move || {
                    while let Some(request) = take(&client) {
                        to.lock().unwrap().push(request)
                    }
                });
            }
        });
        Self { address, taken }
    }

    /// Its address.
    pub(crate) fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What was posted to a path.
    pub(crate) fn taken(&self, path: &str) -> Vec<Vec<u8>> {
        let taken = self.taken.lock().unwrap();
        taken
            .iter()
            .filter(|(to, _)| to == path)
            .map(|(_, body)| body.clone())
            .collect()
    }
}

/// The next request of a connection, answered; nothing at its end.
fn take(client: &TcpStream) -> Option<(String, Vec<u8>)> {
    let mut reader = BufReader::new(client);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let header = header.trim().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let mut to = client;
    to.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\ncontent-type: application/x-protobuf\r\n\r\n")
        .ok()?;
    Some((path, body))
}
