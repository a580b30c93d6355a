//! The HTTP endpoints: `/live`, `/ready`, `/metrics`, and `/` for people.
//!
//! A request is a method and a path; everything else in it is ignored. No endpoint can access notes, ids or
//! keys.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::{Method, Response, StatusCode};

use super::page::page;
use super::{Board, Telemetry};

const TEXT: &str = "text/plain; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";
/// The version of the format that the encoder writes.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Headers of every response. The page has one inline style, no script, and no external content.
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

/// A response, or the function that creates it.
pub(super) enum Page {
    /// Created immediately.
    Ready(Response<Full<Bytes>>),
    /// Costs work, so it is created elsewhere.
    Rendered(fn(&Telemetry) -> Response<Full<Bytes>>),
}

/// Returns the response to a request.
pub(super) fn route(method: &Method, path: &str, telemetry: &Telemetry) -> Page {
    if !matches!(*method, Method::GET | Method::HEAD) {
        let mut refused = of(StatusCode::METHOD_NOT_ALLOWED, TEXT, "GET or HEAD\n".to_owned());
        refused
            .headers_mut()
            .insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return Page::Ready(refused);
    }
    Page::Ready(match path {
        "/live" => {
            let board = telemetry.board();
            let (status, first) = match board.check_live() {
                Ok(()) => (StatusCode::OK, "live".to_owned()),
                Err(why) => (StatusCode::SERVICE_UNAVAILABLE, why),
            };
            of(status, TEXT, with_halts(&first, board))
        }
        "/ready" => {
            let board = telemetry.board();
            let (status, first) = if board.is_ready() {
                (StatusCode::OK, "ready")
            } else if board.is_halted() {
                let why = "not ready: every lane of this process is halted and needs an operator";
                (StatusCode::SERVICE_UNAVAILABLE, why)
            } else {
                let why = "not ready: no partition has been assigned yet, or the program is stopping";
                (StatusCode::SERVICE_UNAVAILABLE, why)
            };
            of(status, TEXT, with_halts(first, board))
        }
        "/metrics" => return Page::Rendered(metrics),
        "/" => return Page::Rendered(|telemetry| of(StatusCode::OK, HTML, page(telemetry))),
        _ => of(
            StatusCode::NOT_FOUND,
            TEXT,
            "not found; the endpoints are /, /live, /ready and /metrics\n".to_owned(),
        ),
    })
}

/// Returns a line, and one for each halted lane: its topic, partition and code.
fn with_halts(first: &str, board: &Board) -> String {
    let mut body = format!("{first}\n");
    for ((topic, partition), halted) in board.halts() {
        body += &format!("lane {topic}/{partition} halted: {}\n", halted.code.name());
    }
    body
}

/// Returns the response if a page cannot be rendered.
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
