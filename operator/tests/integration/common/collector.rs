//! A collector of metrics and traces that keeps each request's path and bytes.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Paths and bodies, in order of arrival.
type Taken = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

/// Accepts all posts with success.
pub(crate) struct Collector {
    address: SocketAddr,
    taken: Taken,
}

impl Collector {
    /// Listens on a free port as long as the test runs.
    pub(crate) fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let taken = Taken::default();
        let to = Arc::clone(&taken);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let to = Arc::clone(&to);
                // A request that ends early is ignored.
                std::thread::spawn(move || {
                    while let Some(request) = take(&client) {
                        to.lock().unwrap().push(request)
                    }
                });
            }
        });
        Self { address, taken }
    }

    /// Returns its address.
    pub(crate) fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the bodies that were posted to a path.
    pub(crate) fn taken(&self, path: &str) -> Vec<Vec<u8>> {
        let taken = self.taken.lock().unwrap();
        taken
            .iter()
            .filter(|(to, _)| to == path)
            .map(|(_, body)| body.clone())
            .collect()
    }
}

/// Reads and answers the next request of a connection; `None` at its end.
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
