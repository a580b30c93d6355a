//! Serves the pages over HTTP, on a thread and a runtime of their own.
//!
//! A probe must be answered while the main runtime waits for a store and while strangers hold connections
//! open. So the listener always accepts: over its limit it closes the oldest connection without a request, of
//! the peer with the most of them, and takes the new one. A connection serves one request, within limits on
//! its time and its bytes.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::io::Errno;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinSet;

use super::Telemetry;
use super::answer::{self, Page};
use super::connections::{Connection, Connections};

/// The maximum number of connections, if the limit of open files allows it.
const MOST_CONNECTIONS: usize = 512;
/// The divisor of the limit of open files that gives the share of connections: brokers and stores need
/// descriptors too.
const SHARE_OF_FILES: usize = 4;
/// The minimum number of connections at the same time.
const FEWEST_CONNECTIONS: usize = 16;
/// The time limit for a request's line and headers.
const HEADER_TIME: Duration = Duration::from_secs(5);
/// The time limit of a connection, including its response.
const CONNECTION_TIME: Duration = Duration::from_secs(15);
/// The maximum number of headers in a request.
const HEADERS: usize = 64;
/// The maximum bytes of a request's line and headers, which is the lowest value that the HTTP library
/// accepts.
const HEADER_BYTES: usize = 8 << 10;
/// Connections that the system accepts before the program does. Beyond it a client waits a second for its
/// next attempt: the standard library's 128 are too few for a burst.
const BACKLOG: u32 = 4096;
/// How long to wait, without free descriptors, for a closed connection to release one.
const BACKOFF: Duration = Duration::from_millis(50);

/// A running server. Dropping it closes the listener and all connections.
pub(crate) struct Server {
    _stop: oneshot::Sender<()>,
}

impl Server {
    /// Starts to serve on an address; returns the server and the address with its actual port.
    ///
    /// # Errors
    /// If the address is not available, or the thread cannot be started.
    pub(super) fn start(
        address: SocketAddr,
        telemetry: Arc<Telemetry>,
    ) -> anyhow::Result<(Self, SocketAddr)> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            // The thread that renders `/` and `/metrics`.
            .max_blocking_threads(1)
            .thread_name("pages-render")
            .build()
            .context("cannot create the runtime of the status pages")?;
        let listener = {
            let _inside = runtime.enter();
            listen(address).with_context(|| format!("key `telemetry.listen`: cannot listen on {address}"))?
        };
        let address = listener.local_addr().context("key `telemetry.listen`")?;
        let (stop, stopped) = oneshot::channel();
        std::thread::Builder::new()
            .name("pages".to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    tokio::select! {
                        () = serve(listener, telemetry) => {}
                        _ = stopped => {}
                    }
                });
                // A page may be rendering; the process does not wait for it.
                runtime.shutdown_background();
            })
            .context("cannot create the thread of the status pages")?;
        Ok((Self { _stop: stop }, address))
    }
}

/// Returns a listener with room for a burst of connections.
pub(crate) fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    // As in the standard library: a restart need not wait for connections of the previous process.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Accepts and serves connections until it is dropped.
async fn serve(listener: TcpListener, telemetry: Arc<Telemetry>) {
    let mut open = Connections::new(limit());
    let mut served = JoinSet::new();
    let render = Arc::new(Semaphore::new(1));
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    let has_asked = Arc::new(AtomicBool::new(false));
                    let one = one(stream, Arc::clone(&has_asked), Arc::clone(&telemetry), Arc::clone(&render));
                    let task = served.spawn(async move {
                        // A client that disconnects early is not an error.
                        drop(tokio::time::timeout(CONNECTION_TIME, one).await);
                    });
                    open.admit(Connection { peer: peer.ip(), has_asked, task });
                    // Connections that sent their request are served before the next one is accepted, so that
                    // a burst cannot close them unserved.
                    tokio::task::yield_now().await;
                }
                Err(error) => {
                    let errno = Errno::from_io_error(&error);
                    if matches!(errno, Some(Errno::MFILE | Errno::NFILE)) {
                        // Without free descriptors: closing the oldest connection releases one.
                        open.close_one();
                        tokio::time::sleep(BACKOFF).await;
                    }
                }
            },
            Some(_) = served.join_next() => open.forget_ended(),
        }
    }
}

/// Returns the maximum number of open connections.
pub(crate) fn limit() -> usize {
    let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let files = files
        .and_then(|files| usize::try_from(files).ok())
        .unwrap_or(usize::MAX);
    (files / SHARE_OF_FILES).clamp(FEWEST_CONNECTIONS, MOST_CONNECTIONS)
}

async fn one(
    stream: TcpStream,
    has_asked: Arc<AtomicBool>,
    telemetry: Arc<Telemetry>,
    render: Arc<Semaphore>,
) -> hyper::Result<()> {
    let service = service_fn(move |request: Request<Incoming>| {
        has_asked.store(true, Relaxed);
        let (telemetry, render) = (Arc::clone(&telemetry), Arc::clone(&render));
        async move { Ok::<_, Infallible>(respond(&request, telemetry, &render).await) }
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIME)
        .max_headers(HEADERS)
        .max_buf_size(HEADER_BYTES)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service)
        .await
}

/// Returns the response to a request. Pages that cost work are rendered one at a time, on another thread: any
/// number of requests for them takes at most one core, and none delays a probe.
async fn respond(
    request: &Request<Incoming>,
    telemetry: Arc<Telemetry>,
    render: &Semaphore,
) -> Response<Full<Bytes>> {
    match answer::route(request.method(), request.uri().path(), &telemetry) {
        Page::Ready(response) => response,
        Page::Rendered(render_page) => {
            let Ok(_turn) = render.acquire().await else {
                return answer::unavailable();
            };
            let rendered = tokio::task::spawn_blocking(move || render_page(&telemetry)).await;
            rendered.unwrap_or_else(|_| answer::unavailable())
        }
    }
}
