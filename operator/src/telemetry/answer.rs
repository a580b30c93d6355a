//! What the pages answer: `/live`, `/ready`, `/metrics`, and `/` for people.
//!
//! A request is a method and a path; nothing else of it is read. Notes, ids and keys are not within reach.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::{Method, Response, StatusCode};

use super::Telemetry;
use super::page::page;

const TEXT: &str = "text/plain; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";
/// The version of the format that the encoder writes.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Headers of every response. The page has one inline style, no script, and nothing from elsewhere.
const HEADERS: [(HeaderName, &str); 7] = [
    (CACHE_CONTROL, "no-store"),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (
        CONTENT_SECURITY_POLICY,
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (X_FRAME_OPTIONS, "DENY"),
    (REFERRER_POLICY, "no-referrer"),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
];

/// A response, or how to make it.
pub(super) enum Page {
    /// Made at once.
    Ready(Response<Full<Bytes>>),
    /// Takes work: made elsewhere.
    Rendered(fn(&Telemetry) -> Response<Full<Bytes>>),
}

/// What answers a request.
pub(super) fn route(method: &Method, path: &str, telemetry: &Telemetry) -> Page {
    if !matches!(*method, Method::GET | Method::HEAD) {
        let mut refused = of(StatusCode::METHOD_NOT_ALLOWED, TEXT, "GET or HEAD\n".to_owned());
        refused
            .headers_mut()
            .insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return Page::Ready(refused);
    }
    Page::Ready(match path {
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
        "/metrics" => return Page::Rendered(metrics),
        "/" => return Page::Rendered(|telemetry| of(StatusCode::OK, HTML, page(telemetry))),
        _ => of(
            StatusCode::NOT_FOUND,
            TEXT,
            "there are /, /live, /ready and /metrics\n".to_owned(),
        ),
    })
}

/// The response when a page cannot be rendered.
pub(super) fn unavailable() -> Response<Full<Bytes>> {
    let why = "this page could not be rendered; try again\n".to_owned();
    of(StatusCode::SERVICE_UNAVAILABLE, TEXT, why)
}

fn metrics(telemetry: &Telemetry) -> Response<Full<Bytes>> {
    match telemetry.exposition() {
        Ok(text) => of(StatusCode::OK, METRICS, text),
        Err(error) => of(StatusCode::INTERNAL_SERVER_ERROR, TEXT, format!("{error}\n")),
    }
}

fn of(status: StatusCode, kind: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
