//! Why a request is refused, as a response. No message contains text of a request.

use std::borrow::Cow;

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONNECTION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use lethe_core::Unredacted;
use schemars::JsonSchema;
use serde::Serialize;

/// The seconds after which a client should try again.
const RETRY: HeaderValue = HeaderValue::from_static("1");

/// Why a request, or a line of a batch, was not processed.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) code: &'static str,
    pub(super) message: Cow<'static, str>,
}

/// The body of a response to a refused request.
#[derive(Serialize, JsonSchema)]
pub(super) struct Error {
    /// What happened and what to do. Contains no text of the request.
    error: Cow<'static, str>,
    /// The reason, for programs.
    code: &'static str,
}

/// The line of a batch's output for an input line that was not processed.
#[derive(Serialize, JsonSchema)]
pub(super) struct LineError {
    /// The number of the line in the request, from 1.
    pub(super) line: u64,
    /// What happened and what to do. Contains no text of the line.
    error: Cow<'static, str>,
    /// The reason, for programs.
    code: &'static str,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
        }
    }

    /// The request is well-formed, but Lethe does not do what it asks for.
    pub(super) fn unprocessable(code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, code, message)
    }

    /// The server has too much to do, or waits for a service.
    pub(super) fn busy(code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, code, message)
    }

    /// A bug; its details are in the log.
    pub(super) fn internal() -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "the request failed inside Lethe; nothing of the note was returned",
        )
    }

    /// Returns the line of a batch's output for this line of its input.
    pub(super) fn of_line(self, line: u64) -> LineError {
        LineError {
            line,
            error: self.message,
            code: self.code,
        }
    }
}

impl From<Unredacted> for Refusal {
    fn from(why: Unredacted) -> Self {
        match why {
            Unredacted::Quarantined(code) => Self::unprocessable(
                "not_redacted",
                format!(
                    "the note could not be redacted ({}); nothing of it is returned",
                    code.name()
                ),
            ),
            Unredacted::Unavailable(why) => Self::busy("unavailable", format!("{why}; try again")),
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let error = Error {
            error: self.message,
            code: self.code,
        };
        let mut response = Response::new(Body::from(serde_json::to_vec(&error).unwrap_or_default()));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        match self.status {
            StatusCode::SERVICE_UNAVAILABLE => {
                headers.insert(RETRY_AFTER, RETRY);
            }
            StatusCode::UNAUTHORIZED => {
                headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            // The rest of the body was not read, so that no request can follow it.
            StatusCode::REQUEST_TIMEOUT | StatusCode::PAYLOAD_TOO_LARGE => {
                headers.insert(CONNECTION, HeaderValue::from_static("close"));
            }
            _ => {}
        }
        response
    }
}
