//! A small HTTP proxy that misbehaves on purpose, to simulate an unreliable store.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// The treatment of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Treatment {
    /// Passed on.
    Pass,
    /// Answered with this status, and not passed on.
    Status(u16),
    /// The connection is reset before the request is passed on.
    Reset,
    /// Passed on, but the connection is reset instead of a response.
    LoseAnswer,
    /// Passed on late.
    Slow(Duration),
    /// Never answered.
    Hang,
}

/// A proxy with one request per connection. It ends when it is dropped.
pub(crate) struct Proxy {
    address: SocketAddr,
    over: Arc<AtomicBool>,
    requests: Arc<AtomicUsize>,
}

impl Proxy {
    /// Creates a proxy for `backend` (`http://HOST:PORT`); `treat` chooses the treatment of each request,
    /// counted from 0.
    pub(crate) fn before(backend: &str, treat: impl Fn(usize) -> Treatment + Send + Sync + 'static) -> Self {
        let backend: SocketAddr = backend.trim_start_matches("http://").parse().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (over, requests) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (flag, counter, treat) = (Arc::clone(&over), Arc::clone(&requests), Arc::new(treat));
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if flag.load(Ordering::SeqCst) {
                    return;
                }
                let (counter, treat) = (Arc::clone(&counter), Arc::clone(&treat));
                // Any error is just another misbehaviour.
                std::thread::spawn(move || serve(client, backend, &counter, &*treat).ok());
            }
        });
        Self {
            address,
            over,
            requests,
        }
    }

    /// Returns its address, as `http://HOST:PORT`.
    pub(crate) fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the number of requests so far.
    pub(crate) fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        // Wakes the listener, so that it checks the flag.
        drop(TcpStream::connect(self.address));
    }
}

fn serve(
    mut client: TcpStream,
    backend: SocketAddr,
    counter: &AtomicUsize,
    treat: &(dyn Fn(usize) -> Treatment + Send + Sync),
) -> std::io::Result<()> {
    let Some((head, body)) = request(&mut client)? else {
        return Ok(());
    };
    let treatment = treat(counter.fetch_add(1, Ordering::SeqCst));
    match treatment {
        Treatment::Status(code) => {
            let answer = format!(
                "HTTP/1.1 {code} as the test asked\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            );
            return client.write_all(answer.as_bytes());
        }
        Treatment::Reset => return reset(&client),
        Treatment::Hang => {
            std::thread::sleep(Duration::from_secs(30));
            return Ok(());
        }
        Treatment::Slow(late) => std::thread::sleep(late),
        Treatment::Pass | Treatment::LoseAnswer => {}
    }
    let mut server = TcpStream::connect(backend)?;
    // One request per connection, so that each is treated.
    let head = head.replacen("\r\n", "\r\nconnection: close\r\n", 1);
    server.write_all(head.as_bytes())?;
    server.write_all(&body)?;
    let mut answer = Vec::new();
    server.read_to_end(&mut answer)?;
    if treatment == Treatment::LoseAnswer {
        return reset(&client);
    }
    client.write_all(&answer)
}

/// Ends a connection without a response.
fn reset(client: &TcpStream) -> std::io::Result<()> {
    client.shutdown(Shutdown::Both)
}

/// Reads one request: its head and its body.
fn request(client: &mut TcpStream) -> std::io::Result<Option<(String, Vec<u8>)>> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 1 << 14];
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        match client.read(&mut buffer)? {
            0 => return Ok(None),
            read => bytes.extend_from_slice(&buffer[..read]),
        }
    };
    let mut body = bytes.split_off(end);
    let head = String::from_utf8_lossy(&bytes).into_owned();
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse::<usize>().ok())?
    });
    let length = length.unwrap_or(0);
    while body.len() < length {
        match client.read(&mut buffer)? {
            0 => break,
            read => body.extend_from_slice(&buffer[..read]),
        }
    }
    Ok(Some((head, body)))
}
