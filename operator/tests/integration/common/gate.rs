//! A TCP proxy that can make a dependency unavailable for good: it refuses, freezes, or disappears.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often threads check whether the dependency is unavailable.
const LOOK: Duration = Duration::from_millis(20);
/// The minimum time that an unanswered connection attempt takes.
const UNANSWERED: Duration = Duration::from_millis(300);

/// How a dependency is unavailable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutageKind {
    /// Its port is closed, and open connections are torn down: a process that ended.
    Refuses,
    /// It accepts connections, keeps the existing ones, and never responds: a process under SIGSTOP.
    Frozen,
    /// Connection attempts get no response, and open connections are silent: a machine or a network that
    /// disappeared. The queue of unaccepted connections is full, so that the kernel drops further SYNs like a
    /// firewall, whose rules would need root.
    Gone,
}

const OPEN: u8 = 0;
const CLOSED: u8 = 1;
const SILENT: u8 = 2;
const OVER: u8 = 3;

/// The proxy. It ends when it is dropped.
pub(crate) struct Gate {
    address: SocketAddr,
    state: Arc<AtomicU8>,
    listener: Option<TcpListener>,
    accepting: Option<JoinHandle<()>>,
    /// Connections that fill the queue.
    fill: Vec<TcpStream>,
}

impl Gate {
    /// Binds a port without a backend.
    pub(crate) fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        Self {
            address: listener.local_addr().unwrap(),
            state: Arc::new(AtomicU8::new(OPEN)),
            listener: Some(listener),
            accepting: None,
            fill: Vec::new(),
        }
    }

    /// Creates a proxy for `backend`, `HOST:PORT`.
    pub(crate) fn before(backend: &str) -> Self {
        let mut gate = Self::new();
        gate.open(backend);
        gate
    }

    /// Passes connections on to `backend`, `HOST:PORT`, from now on.
    pub(crate) fn open(&mut self, backend: &str) {
        let backend: SocketAddr = backend.parse().unwrap();
        let listener = self.listener.as_ref().unwrap().try_clone().unwrap();
        listener.set_nonblocking(true).unwrap();
        let state = Arc::clone(&self.state);
        self.accepting = Some(std::thread::spawn(move || accept(&listener, backend, &state)));
    }

    /// Returns its port.
    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// Makes the dependency unavailable, permanently.
    pub(crate) fn fail(&mut self, fault: OutageKind) {
        let state = if fault == OutageKind::Refuses {
            CLOSED
        } else {
            SILENT
        };
        self.state.store(state, Ordering::SeqCst);
        if let Some(accepting) = self.accepting.take() {
            accepting.join().unwrap();
        }
        match fault {
            OutageKind::Refuses => drop(self.listener.take()),
            // The kernel accepts connections for an idle listener, as it does for a stopped process.
            OutageKind::Frozen => {}
            OutageKind::Gone => {
                while let Ok(one) = TcpStream::connect_timeout(&self.address, UNANSWERED) {
                    self.fill.push(one);
                }
            }
        }
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.state.store(OVER, Ordering::SeqCst);
    }
}

fn accept(listener: &TcpListener, backend: SocketAddr, state: &Arc<AtomicU8>) {
    while state.load(Ordering::SeqCst) == OPEN {
        match listener.accept() {
            Ok((client, _)) => {
                // A missing backend is another way to be unavailable.
                let Ok(server) = TcpStream::connect(backend) else {
                    continue;
                };
                let pair = Arc::new(Mutex::new((client, server)));
                for forward in [true, false] {
                    let (pair, state) = (Arc::clone(&pair), Arc::clone(state));
                    std::thread::spawn(move || copy(&pair, forward, &state));
                }
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}");
                std::thread::sleep(LOOK);
            }
        }
    }
}

/// Copies one direction of a connection until it ends or the dependency becomes unavailable.
fn copy(pair: &Mutex<(TcpStream, TcpStream)>, forward: bool, state: &AtomicU8) {
    let (client, server) = {
        let pair = pair.lock().unwrap();
        (pair.0.try_clone().unwrap(), pair.1.try_clone().unwrap())
    };
    let (mut from, mut to) = if forward {
        (client, server)
    } else {
        (server, client)
    };
    from.set_nonblocking(false).unwrap();
    from.set_read_timeout(Some(LOOK)).unwrap();
    let mut buffer = [0; 1 << 16];
    loop {
        match state.load(Ordering::SeqCst) {
            OPEN => {}
            // Held open without data until the end of the test.
            SILENT => {
                std::thread::sleep(LOOK);
                continue;
            }
            _ => break,
        }
        match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => {
                if to.write_all(&buffer[..read]).is_err() {
                    break;
                }
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(_) => break,
        }
    }
    // Either side may be closed already.
    drop(from.shutdown(Shutdown::Both));
    drop(to.shutdown(Shutdown::Both));
}
