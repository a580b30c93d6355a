//! The pages of a running program, requested over plain HTTP, and its parsed metrics.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::time::{Duration, Instant};

use tokio::net::TcpSocket;
use tokio::runtime::Runtime;

use super::process::{Running, TIMEOUT};

/// The table that makes a program serve its pages on a free port.
pub(crate) const TELEMETRY: &str = "[telemetry]\nlisten = \"127.0.0.1:0\"\n";

/// The address of a program's pages.
pub(crate) struct Pages(String);

/// Every series of `/metrics` with its value, with labels as written.
pub(crate) type Metrics = BTreeMap<String, f64>;

impl Pages {
    /// Finds the pages of a program that was started with [`TELEMETRY`].
    pub(crate) fn of(running: &mut Running) -> Self {
        running.until_it_says("status page", TIMEOUT);
        let err = running.err();
        let line = err.lines().find(|line| line.contains("status page")).unwrap();
        // `address=127.0.0.1:9464` as text, `"address":"127.0.0.1:9464"` as JSON.
        let address = line.split("address").nth(1).unwrap();
        let mut words = address.split(['=', '"', ' ', ',']);
        Self(words.find(|word| word.len() > 1).unwrap().to_owned())
    }

    /// Returns the address of a path.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.0)
    }

    /// Returns the status and the body of a page.
    pub(crate) fn get(&self, path: &str) -> (u16, String) {
        self.ask("GET", path)
    }

    /// Does the same with another method.
    pub(crate) fn ask(&self, method: &str, path: &str) -> (u16, String) {
        let mut stream = self.connect();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    /// Returns a connection to the server on which nothing was sent yet, and on which no read waits for ever.
    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.0).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream
    }

    /// Returns a connection to the server from this address, on which nothing was sent yet. `runtime` opens it.
    pub(crate) fn connect_from(&self, from: Ipv4Addr, runtime: &Runtime) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((from, 0).into()).unwrap();
        let connected = runtime.block_on(socket.connect(self.0.parse().unwrap()));
        let stream = connected.unwrap().into_std().unwrap();
        stream.set_nonblocking(false).unwrap();
        stream
    }

    /// Returns the status of a page, if the whole response arrives within this time.
    pub(crate) fn get_within(&self, path: &str, bound: Duration) -> Option<u16> {
        let began = Instant::now();
        let address = self.0.parse().unwrap();
        let mut stream = TcpStream::connect_timeout(&address, bound).ok()?;
        stream.set_read_timeout(Some(bound)).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nhost: test\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let status = answer.split(' ').nth(1)?.parse().ok();
        status.filter(|_| began.elapsed() < bound)
    }

    /// Returns the server's response to exactly these bytes, until it closes the connection.
    pub(crate) fn exchange(&self, request: &str) -> String {
        let mut stream = self.connect();
        // The server may refuse the request and close the connection before it has read everything.
        drop(stream.write_all(request.as_bytes()));
        let mut answer = Vec::new();
        drop(stream.read_to_end(&mut answer));
        String::from_utf8(answer).unwrap()
    }

    /// Returns the current `/metrics`.
    pub(crate) fn metrics(&self) -> Metrics {
        let (status, body) = self.get("/metrics");
        assert_eq!(status, 200, "{body}");
        let lines = body.lines().filter(|line| !line.starts_with('#'));
        let series = lines.map(|line| {
            let (name, value) = line.rsplit_once(' ').unwrap();
            (name.to_owned(), value.parse().unwrap())
        });
        series.collect()
    }

    /// Waits until a condition holds for the metrics, and returns them.
    pub(crate) fn until(&self, what: &str, timeout: Duration, check: impl Fn(&Metrics) -> bool) -> Metrics {
        let began = Instant::now();
        loop {
            let metrics = self.metrics();
            if check(&metrics) {
                return metrics;
            }
            assert!(
                began.elapsed() < timeout,
                "not within {timeout:?}: {what}\n{metrics:#?}"
            );
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

/// Sums the series of a metric whose labels include all of these pairs.
pub(crate) fn sum(metrics: &Metrics, name: &str, labels: &[&str]) -> f64 {
    let of = |series: &str| {
        series.split('{').next() == Some(name) && labels.iter().all(|pair| series.contains(pair))
    };
    metrics
        .iter()
        .filter(|(series, _)| of(series))
        .map(|(_, value)| value)
        .sum()
}
