//! An HTTP proxy with planned failures.
#![allow(unreachable_pub, reason = "a module of a test")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What the proxy does instead of passing a request on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mischief {
    /// Responds with this status.
    Status(u16),
    /// Closes the connection before the request reaches the server.
    Reset,
    /// Passes the request on and closes the connection instead of returning the response.
    SwallowAnswer,
    /// Passes the request on and responds late.
    Slow(Duration),
    /// Accepts the request and never responds.
    Silence,
}

/// A proxy that handles the first requests of a method as planned, and passes all others on.
pub struct Proxy {
    pub endpoint: String,
    met: Arc<AtomicUsize>,
}

impl Proxy {
    pub fn start(server: &str, method: &'static str, plan: Vec<Mischief>) -> Self {
        Self::new(server, method, plan, None)
    }

    /// Starts a proxy that removes a header of every request, as one that knows an older protocol does.
    pub fn without(server: &str, header: &'static str) -> Self {
        Self::new(server, "PUT", Vec::new(), Some(header))
    }

    fn new(server: &str, method: &'static str, plan: Vec<Mischief>, removed: Option<&'static str>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let server = server.replace("http://", "");
        let plan = Arc::new(Mutex::new(plan.into_iter()));
        let met = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&met);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (server, plan, counted) = (server.clone(), Arc::clone(&plan), Arc::clone(&counted));
                std::thread::spawn(move || {
                    let next = || {
                        let mischief = plan.lock().unwrap().next();
                        counted.fetch_add(usize::from(mischief.is_some()), Ordering::SeqCst);
                        mischief
                    };
                    // A client that closed its connection does not concern the proxy.
                    drop(serve(client, &server, method, removed, next));
                });
            }
        });
        Self { endpoint, met }
    }

    pub fn met(&self) -> usize {
        self.met.load(Ordering::SeqCst)
    }
}

/// Reads one request, handles it as planned, and closes the connection.
fn serve(
    mut client: TcpStream,
    server: &str,
    method: &str,
    removed: Option<&str>,
    next: impl Fn() -> Option<Mischief>,
) -> std::io::Result<()> {
    let mut request = Vec::new();
    let mut buffer = [0; 65536];
    let head = loop {
        let read = client.read(&mut buffer)?;
        if read == 0 {
            return Ok(());
        }
        request.extend_from_slice(&buffer[..read]);
        if let Some(end) = request.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
    };
    let text = String::from_utf8_lossy(&request[..head]).to_lowercase();
    let length = text
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"))
        .map_or(0, |length| length.trim().parse().unwrap());
    while request.len() < head + length {
        let read = client.read(&mut buffer)?;
        request.extend_from_slice(&buffer[..read]);
    }
    let mischief = if text.starts_with(&method.to_lowercase()) {
        next()
    } else {
        None
    };
    match mischief {
        Some(Mischief::Status(status)) => {
            let body = "<Error><Code>SlowDown</Code></Error>";
            return write!(
                client,
                "HTTP/1.1 {status} Trouble\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            );
        }
        Some(Mischief::Reset) => return client.shutdown(Shutdown::Both),
        Some(Mischief::Silence) => {
            std::thread::sleep(Duration::from_secs(6));
            return Ok(());
        }
        _ => {}
    }
    // One request per connection keeps the proxy simple: the server closes after its response, and so does
    // the proxy.
    let mut upstream = TcpStream::connect(server)?;
    let mut forwarded = request[..head - 2].to_vec();
    if let Some(removed) = removed {
        let original = String::from_utf8_lossy(&request[..head - 2]).into_owned();
        let lines = original
            .split_inclusive("\r\n")
            .filter(|line| !line.to_lowercase().starts_with(removed));
        forwarded = lines.collect::<String>().into_bytes();
    }
    forwarded.extend_from_slice(b"Connection: close\r\n\r\n");
    forwarded.extend_from_slice(&request[head..]);
    // The server may refuse before it has read everything, and close: the bytes until then are its response.
    let sent = upstream.write_all(&forwarded);
    let mut answer = Vec::new();
    let answered = upstream.read_to_end(&mut answer);
    if answer.is_empty() {
        return sent.and(answered).map(drop);
    }
    match mischief {
        Some(Mischief::SwallowAnswer) => return client.shutdown(Shutdown::Both),
        Some(Mischief::Slow(delay)) => std::thread::sleep(delay),
        _ => {}
    }
    client.write_all(&answer)
}
