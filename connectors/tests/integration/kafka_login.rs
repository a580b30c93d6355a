//! A login that a lost connection interrupts, against a real broker.

#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as the tests do")]

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::kafka_settings_brokers::{connect, env, secure};

/// The type of a TLS record that carries encrypted data (RFC 8446, section 5.1).
const APPLICATION_DATA: u8 = 23;

/// A proxy for a broker's TLS listener that closes each of its first connections when the client sends the
/// encrypted record with this number, counted from 1. In TLS 1.3 the first ends the handshake, the second asks
/// for the broker's versions, and the third and later ones are the login.
struct Proxy {
    address: String,
    closed: Arc<AtomicUsize>,
}

impl Proxy {
    fn start(broker: &str, close_at: &'static [usize]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let closed = Arc::new(AtomicUsize::new(0));
        let (broker, counter) = (broker.to_owned(), Arc::clone(&closed));
        std::thread::spawn(move || {
            let mut plan = close_at.iter().copied();
            for client in listener.incoming().flatten() {
                let server = TcpStream::connect(&broker).unwrap();
                let (limit, counter) = (plan.next(), Arc::clone(&counter));
                let (mut back, mut to_client) = (server.try_clone().unwrap(), client.try_clone().unwrap());
                std::thread::spawn(move || {
                    // An end of either side ends both.
                    drop(std::io::copy(&mut back, &mut to_client));
                    drop(to_client.shutdown(Shutdown::Both));
                });
                std::thread::spawn(move || {
                    if forward(&client, &server, limit).is_none() {
                        counter.fetch_add(1, Ordering::SeqCst);
                    }
                    for stream in [client, server] {
                        drop(stream.shutdown(Shutdown::Both));
                    }
                });
            }
        });
        Self { address, closed }
    }
}

/// Forwards TLS records until the client ends. Returns nothing if it stopped at the limit.
fn forward(mut client: &TcpStream, mut server: &TcpStream, limit: Option<usize>) -> Option<()> {
    let mut encrypted = 0;
    let mut header = [0; 5];
    while client.read_exact(&mut header).is_ok() {
        let mut record = vec![0; usize::from(u16::from_be_bytes([header[3], header[4]]))];
        if client.read_exact(&mut record).is_err() {
            break;
        }
        encrypted += usize::from(header[0] == APPLICATION_DATA);
        if limit == Some(encrypted) {
            return None;
        }
        if server
            .write_all(&header)
            .and_then(|()| server.write_all(&record))
            .is_err()
        {
            break;
        }
    }
    Some(())
}

#[test]
fn a_connection_lost_during_the_login_is_tried_again() {
    let proxy = Proxy::start(&env("LETHE_TEST_KAFKA_SECURE"), &[3, 4, 5, 3]);
    let mut config = secure(
        "any",
        &env("LETHE_TEST_KAFKA_SECURE_USER"),
        &env("LETHE_TEST_KAFKA_SECURE_PASSWORD"),
        &env("LETHE_TEST_KAFKA_SECURE_CA"),
    );
    config.brokers = vec![proxy.address.clone()];
    assert!(connect(&config).id().unwrap().is_some());
    assert_eq!(proxy.closed.load(Ordering::SeqCst), 4);
}
