//! A proxy before a broker, whose metadata responses can be made to list no broker: as those of a broker that the
//! controllers have fenced.

use std::collections::HashSet;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// The key of a metadata request, and where a request has its key and its number.
const METADATA: [u8; 2] = [0, 3];
const NUMBER: std::ops::Range<usize> = 4..8;
/// Responses without a broker that arrive together: the client handles the last while it closes the connection because of
/// the first.
const TOGETHER: usize = 4;

/// The proxy. It ends when it is dropped, with its connections at their next message.
pub(crate) struct MetadataProxy {
    listener: TcpListener,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    fenced: AtomicBool,
    changed: AtomicUsize,
    over: AtomicBool,
}

impl MetadataProxy {
    /// Takes a port, which the broker must advertise (`scripts/kafka start --behind PORT`).
    pub(crate) fn new() -> Self {
        Self {
            listener: TcpListener::bind("127.0.0.1:0").unwrap(),
            shared: Arc::default(),
        }
    }

    /// Returns its address.
    pub(crate) fn address(&self) -> String {
        self.listener.local_addr().unwrap().to_string()
    }

    /// Returns its port.
    pub(crate) fn port(&self) -> String {
        self.listener.local_addr().unwrap().port().to_string()
    }

    /// Begins to forward to the broker's listener.
    pub(crate) fn forward(&self, broker: &str) {
        let (listener, shared) = (self.listener.try_clone().unwrap(), Arc::clone(&self.shared));
        let broker = broker.to_owned();
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if shared.over.load(Ordering::SeqCst) {
                    return;
                }
                // A broker that does not answer is an ended connection.
                drop(connect(&client, &broker, &shared));
            }
        });
    }

    /// Lets metadata responses list no broker from now on, or all again.
    pub(crate) fn fence(&self, fenced: bool) {
        self.shared.fenced.store(fenced, Ordering::SeqCst);
    }

    /// Returns how many responses listed no broker.
    pub(crate) fn changed(&self) -> usize {
        self.shared.changed.load(Ordering::SeqCst)
    }
}

impl Drop for MetadataProxy {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        // Wakes the listener, so that it checks the flag.
        drop(TcpStream::connect(self.address()));
    }
}

/// Forwards both directions of a connection, until either side ends.
fn connect(client: &TcpStream, broker: &str, shared: &Arc<Shared>) -> std::io::Result<()> {
    let server = TcpStream::connect(broker)?;
    let asked = Arc::new(Mutex::new(HashSet::new()));
    let (requests, responses) = (
        (client.try_clone()?, server.try_clone()?),
        (server, client.try_clone()?),
    );
    let numbers = Arc::clone(&asked);
    std::thread::spawn(move || {
        forward(requests, |request| {
            if request.starts_with(&METADATA) {
                numbers.lock().unwrap().insert(request[NUMBER].to_vec());
            }
            false
        })
    });
    let (shared, mut held) = (Arc::clone(shared), 0);
    std::thread::spawn(move || {
        forward(responses, |response| {
            let fenced = shared.fenced.load(Ordering::SeqCst);
            if asked.lock().unwrap().remove(&response[..4]) && fenced {
                without_brokers(response);
                shared.changed.fetch_add(1, Ordering::SeqCst);
                held += 1;
            }
            fenced && (1..TOGETHER).contains(&held)
        })
    });
    Ok(())
}

/// Forwards messages, each after its length, as `change` leaves them. Holds them back while it returns true.
fn forward((mut from, mut to): (TcpStream, TcpStream), mut change: impl FnMut(&mut Vec<u8>) -> bool) {
    let mut held = Vec::new();
    let mut one = || -> std::io::Result<()> {
        let mut length = [0; 4];
        from.read_exact(&mut length)?;
        let mut message = vec![0; u32::from_be_bytes(length) as usize];
        from.read_exact(&mut message)?;
        let hold = change(&mut message);
        held.extend((message.len() as u32).to_be_bytes());
        held.extend(message);
        if !hold {
            to.write_all(&held)?;
            held.clear();
        }
        Ok(())
    };
    while one().is_ok() {}
    for stream in [from, to] {
        drop(stream.shutdown(Shutdown::Both));
    }
}

/// Removes the brokers of a metadata response, version 9 and later: after the number of its request (four bytes) and tagged
/// fields (none) come the throttle time (four bytes), and the brokers, as their number and one, each with an id, a host, a
/// port, a rack and tagged fields.
fn without_brokers(response: &mut Vec<u8>) {
    const BROKERS: usize = 4 + 1 + 4;
    assert_eq!(response[4], 0, "no tagged fields");
    let mut at = BROKERS + 1;
    for _ in 1..response[BROKERS] {
        at += 4;
        // Lengths and one; a missing rack has 0. Hosts and racks of tests are short.
        at += usize::from(response[at]).max(1);
        at += 4;
        at += usize::from(response[at]).max(1);
        assert_eq!(response[at], 0, "no tagged fields");
        at += 1;
    }
    response.splice(BROKERS..at, [1]);
}
