//! The pages that others ask for: `/live`, `/ready`, `/metrics`, and `/` for people.
//!
//! Nothing here takes anything in: a request is a method and a path. Notes, ids and keys are nowhere near.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, X_CONTENT_TYPE_OPTIONS,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::Telemetry;
use super::page::page;

/// Connections that are served at the same time.
const CONNECTIONS: usize = 64;
/// How long a connection may last.
const PATIENCE: Duration = Duration::from_secs(30);

const TEXT: &str = "text/plain; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";
/// The version of the format that the encoder writes.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Listens on an address.
///
/// # Errors
/// If the address cannot be had.
pub(crate) async fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address)
        .await
        .with_context(|| format!("key `telemetry.listen`: {address} cannot be listened on"))
}

/// Serves until it is dropped.
pub(crate) async fn serve(listener: TcpListener, telemetry: Arc<Telemetry>) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(leave) = Arc::clone(&room).acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, _)) => {
                let telemetry = Arc::clone(&telemetry);
                tokio::spawn(async move {
                    // Who asks and goes away is nobody's fault.
                    drop(tokio::time::timeout(PATIENCE, one(stream, telemetry)).await);
                    drop(leave);
                });
            }
            // Descriptors are scarce: those that are held come back.
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn one(stream: TcpStream, telemetry: Arc<Telemetry>) -> hyper::Result<()> {
    let service = service_fn(move |request: Request<Incoming>| {
        let telemetry = Arc::clone(&telemetry);
        async move { Ok::<_, Infallible>(answer(request.method(), request.uri().path(), &telemetry)) }
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_secs(5))
        .serve_connection(TokioIo::new(stream), service)
        .await
}

/// The answer to a request.
fn answer(method: &Method, path: &str, telemetry: &Telemetry) -> Response<Full<Bytes>> {
    if !matches!(*method, Method::GET | Method::HEAD) {
        let mut refused = of(StatusCode::METHOD_NOT_ALLOWED, TEXT, "GET or HEAD\n".to_owned());
        refused
            .headers_mut()
            .insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return refused;
    }
    match path {
        "/live" => match telemetry.board().check_live() {
            Ok(()) => of(StatusCode::OK, TEXT, "live\n".to_owned()),
            Err(why) => of(StatusCode::SERVICE_UNAVAILABLE, TEXT, format!("{why}\n")),
        },
        "/ready" if telemetry.board().is_ready() => of(StatusCode::OK, TEXT, "ready\n".to_owned()),
        "/ready" => of(
            StatusCode::SERVICE_UNAVAILABLE,
            TEXT,
            "not ready: no partition has been assigned yet, or the program is leaving\n".to_owned(),
        ),
        "/metrics" => match telemetry.exposition() {
            Ok(text) => of(StatusCode::OK, METRICS, text),
            Err(error) => of(StatusCode::INTERNAL_SERVER_ERROR, TEXT, format!("{error}\n")),
        },
        "/" => of(StatusCode::OK, HTML, page(telemetry)),
        _ => of(
            StatusCode::NOT_FOUND,
            TEXT,
            "there are /, /live, /ready and /metrics\n".to_owned(),
        ),
    }
}

fn of(status: StatusCode, kind: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(
        CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'"),
    );
    response
}
