//! Accepts connections, and serves requests on them until the server stops.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use http_body_util::BodyExt as _;
use hyper::Request;
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use lethe_connectors::Stop;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tower_service::Service as _;

use super::Shared;
use super::limits::refused;
use super::stall::{Progress, Watched};
use crate::telemetry::connections::{Connection, Connections};
use crate::telemetry::server::limit;

/// The time for a request's line and headers, and between two requests.
const HEADER_TIME: Duration = Duration::from_secs(10);
/// The time for a TLS handshake.
const HANDSHAKE_TIME: Duration = Duration::from_secs(10);
/// The maximum number of headers in a request.
const HEADERS: usize = 64;
/// The buffer of a connection, which also limits the line and the headers of a request.
const BUFFER: usize = 64 << 10;
/// How long to wait, without free descriptors, for a closed connection to release one.
const BACKOFF: Duration = Duration::from_millis(50);

/// What serves connections.
#[derive(Clone)]
pub(super) struct Endpoint {
    pub(super) shared: Arc<Shared>,
    pub(super) router: Router,
    pub(super) tls: Option<TlsAcceptor>,
    pub(super) stop: Stop,
}

/// Accepts and serves connections until the stop, then until their requests are answered or the drain limit.
/// Over the limit it closes the oldest connection without a request for a new one.
pub(super) async fn serve(listener: TcpListener, endpoint: Endpoint) {
    let mut open = Connections::new(limit());
    let mut served = JoinSet::new();
    loop {
        tokio::select! {
            () = endpoint.stop.requested() => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    let has_asked = Arc::new(AtomicBool::new(false));
                    let task = served.spawn(connection(stream, endpoint.clone(), Arc::clone(&has_asked)));
                    open.admit(Connection { peer: peer.ip(), has_asked, task });
                }
                Err(_) => {
                    open.close_one();
                    tokio::time::sleep(BACKOFF).await;
                }
            },
            Some(_) = served.join_next() => open.forget_ended(),
        }
    }
    drop(listener);
    tokio::select! {
        () = async { while served.join_next().await.is_some() {} } => {}
        () = endpoint.stop.expired() => {}
    }
}

/// Returns a listener on an address, with its actual port.
pub(super) fn listen(address: SocketAddr) -> std::io::Result<(TcpListener, SocketAddr)> {
    let listener = crate::telemetry::server::listen(address)?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

async fn connection(stream: TcpStream, endpoint: Endpoint, has_asked: Arc<AtomicBool>) {
    // Small responses leave at once.
    drop(stream.set_nodelay(true));
    match &endpoint.tls {
        None => requests(stream, endpoint, has_asked).await,
        Some(tls) => {
            // A client that is not admitted, or disconnects early, is not an error.
            if let Ok(Ok(stream)) = timeout(HANDSHAKE_TIME, tls.accept(stream)).await {
                requests(stream, endpoint, has_asked).await;
            }
        }
    }
}

/// Serves the requests of a connection.
async fn requests(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    endpoint: Endpoint,
    has_asked: Arc<AtomicBool>,
) {
    let settings = endpoint.shared.limits.settings;
    // A request that waits for a lane moves no bytes.
    let stalled = settings.request_time + settings.body_time + HEADER_TIME;
    let progress = Progress::start();
    let (shared, router) = (endpoint.shared, endpoint.router);
    let service = service_fn(move |request: Request<Incoming>| {
        let (shared, router, has_asked) = (Arc::clone(&shared), router.clone(), Arc::clone(&has_asked));
        async move {
            has_asked.store(true, Relaxed);
            let asked = Asked(has_asked);
            let response = respond(&shared, router, request).await;
            Ok::<_, Infallible>(asked.until_the_end_of(response))
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIME)
        .max_headers(HEADERS)
        .max_buf_size(BUFFER)
        .serve_connection(TokioIo::new(Watched::new(stream, &progress)), service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => {}
        () = progress.stalled(stalled) => {}
        () = endpoint.stop.requested() => {
            connection.as_mut().graceful_shutdown();
            tokio::select! {
                _ = connection => {}
                () = progress.stalled(stalled) => {}
            }
        }
    }
}

/// Marks a connection as one that a client waits on, until it is dropped: others are closed first.
struct Asked(Arc<AtomicBool>);

impl Asked {
    fn until_the_end_of(self, response: Response) -> Response {
        // Other bodies are complete already.
        if response.body().size_hint().exact().is_some() {
            return response;
        }
        response.map(|body| {
            Body::new(body.map_frame(move |frame| {
                let _asked = &self;
                frame
            }))
        })
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        self.0.store(false, Relaxed);
    }
}

/// Returns the response to a request, and logs its status. A path can contain anything, so the log has none.
async fn respond(shared: &Shared, mut router: Router, request: Request<Incoming>) -> Response {
    // For orchestrators, which have no token.
    let is_probe = request.uri().path() == "/health";
    let checked = if is_probe {
        Ok(())
    } else {
        shared.auth.check(request.headers())
    };
    let response = match checked {
        Ok(()) => match router.call(request.map(Body::new)).await {
            Ok(response) => response,
            Err(never) => match never {},
        },
        Err(refusal) => refused(request.map(Body::new), refusal).await.into_response(),
    };
    shared.count(response.status());
    response
}
