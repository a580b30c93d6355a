//! Limits on the number, the size and the time of requests.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{CONTENT_LENGTH, EXPECT};
use axum::http::{Request, StatusCode};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use super::refusal::Refusal;

/// The unit in which the memory of bodies is counted, in bytes.
const UNIT: usize = 1 << 10;
/// The bytes of a body over the limit that are read and dropped before it is refused: a client that is still
/// sending would otherwise see a closed connection instead of the response.
const DISCARDED: usize = 16 << 20;
/// The time for that.
const DISCARD: Duration = Duration::from_secs(2);

/// The limits of a server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LimitSettings {
    /// Bytes of a body, and of a line of a batch.
    pub(crate) body: usize,
    /// The time to receive a body, and between two parts of a batch.
    pub(crate) body_time: Duration,
    /// The time to answer a received request.
    pub(crate) request_time: Duration,
    /// Requests at the same time.
    pub(crate) concurrency: usize,
    /// Bytes of the bodies of all requests.
    pub(crate) memory: usize,
}

/// The limits, with what is left of them.
pub(super) struct Limits {
    pub(super) settings: LimitSettings,
    requests: Arc<Semaphore>,
    memory: Arc<Semaphore>,
}

/// The right to be processed. Dropping it admits another request.
pub(super) struct Admitted {
    _request: OwnedSemaphorePermit,
}

/// Memory for a body. Dropping it frees the memory for other requests.
pub(super) struct Reserved {
    _memory: OwnedSemaphorePermit,
}

/// A received body.
pub(super) struct Received {
    pub(super) body: Bytes,
    pub(super) reserved: Reserved,
}

impl Limits {
    pub(super) fn new(settings: LimitSettings) -> Self {
        let units = (settings.memory / UNIT).clamp(1, Semaphore::MAX_PERMITS);
        Self {
            settings,
            requests: Arc::new(Semaphore::new(settings.concurrency.min(Semaphore::MAX_PERMITS))),
            memory: Arc::new(Semaphore::new(units)),
        }
    }

    /// Admits a request if there are not too many.
    pub(super) fn admit(&self) -> Result<Admitted, Refusal> {
        let permit = Arc::clone(&self.requests).try_acquire_owned();
        let permit = permit.map_err(|_| {
            Refusal::busy(
                "too_many_requests",
                "too many requests at the same time; try again",
            )
        })?;
        Ok(Admitted { _request: permit })
    }

    /// Reserves memory for a body if enough is left.
    pub(super) fn reserve(&self, bytes: usize) -> Result<Reserved, Refusal> {
        let units = u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX);
        let permit = Arc::clone(&self.memory).try_acquire_many_owned(units);
        let permit = permit.map_err(|_| {
            Refusal::busy(
                "out_of_memory",
                "too many large requests at the same time; try again",
            )
        })?;
        Ok(Reserved { _memory: permit })
    }

    /// Receives a body within the limits.
    pub(super) async fn receive(&self, request: Request<Body>) -> Result<Received, Refusal> {
        let until = Instant::now() + self.settings.body_time;
        let length = request.headers().get(CONTENT_LENGTH);
        let length = length.and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
        if length.is_some_and(|length| length > self.settings.body) {
            return Err(refused(request, self.too_large()).await);
        }
        // Without a length the body may have any size up to the limit.
        let reserved = match self.reserve(length.unwrap_or(self.settings.body)) {
            Ok(reserved) => reserved,
            Err(refusal) => return Err(refused(request, refusal).await),
        };
        let mut body = request.into_body();
        let mut bytes = BytesMut::with_capacity(length.unwrap_or_default());
        loop {
            let frame = timeout_at(until, body.frame()).await;
            let frame = frame.map_err(|_| self.too_slow())?;
            let Some(frame) = frame else { break };
            let Ok(data) = frame.map_err(|_| gone())?.into_data() else {
                continue;
            };
            if bytes.len() + data.len() > self.settings.body {
                discard(&mut body).await;
                return Err(self.too_large());
            }
            bytes.extend_from_slice(&data);
        }
        Ok(Received {
            body: bytes.freeze(),
            reserved,
        })
    }

    pub(super) fn too_large(&self) -> Refusal {
        Refusal::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            format!(
                "the body has more than {} bytes; send less, or start the server with a higher --max-body-bytes",
                self.settings.body
            ),
        )
    }

    pub(super) fn too_slow(&self) -> Refusal {
        Refusal::new(
            StatusCode::REQUEST_TIMEOUT,
            "too_slow",
            format!(
                "the body did not arrive within {} s; send it faster, or start the server with a higher --body-seconds",
                self.settings.body_time.as_secs()
            ),
        )
    }
}

/// The client closed the connection: nobody reads this.
pub(super) fn gone() -> Refusal {
    Refusal::new(
        StatusCode::BAD_REQUEST,
        "incomplete",
        "the connection was closed before the end of the body",
    )
}

/// Refuses a request whose body was not read.
pub(super) async fn refused(request: Request<Body>, refusal: Refusal) -> Refusal {
    // A client that waits for permission has sent nothing yet.
    if !request.headers().contains_key(EXPECT) {
        discard(&mut request.into_body()).await;
    }
    refusal
}

/// Reads and drops the rest of a body, within bounds.
async fn discard(body: &mut Body) {
    let until = Instant::now() + DISCARD;
    let mut discarded = 0;
    while discarded < DISCARDED {
        match timeout_at(until, body.frame()).await {
            Ok(Some(Ok(frame))) => discarded += frame.data_ref().map_or(0, Bytes::len),
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(concurrency: usize, memory: usize) -> Limits {
        Limits::new(LimitSettings {
            body: 10,
            body_time: Duration::from_secs(1),
            request_time: Duration::from_secs(1),
            concurrency,
            memory,
        })
    }

    #[test]
    fn a_request_over_the_limit_is_refused_until_another_one_ends() {
        let limits = limits(1, UNIT);
        let first = limits.admit().unwrap_or_else(|_| panic!("there is room"));
        let refused = limits.admit().err().map(|refusal| refusal.status);
        assert_eq!(refused, Some(StatusCode::SERVICE_UNAVAILABLE));
        drop(first);
        assert!(limits.admit().is_ok());
    }

    #[test]
    fn memory_of_bodies_is_bounded() {
        let limits = limits(9, 3 * UNIT);
        let first = limits.reserve(2 * UNIT);
        assert!(first.is_ok() && limits.reserve(UNIT + 1).is_err() && limits.reserve(UNIT).is_ok());
    }

    #[tokio::test]
    async fn a_body_over_the_limit_is_refused_with_or_without_a_length() {
        let limits = limits(9, 9 * UNIT);
        let status = async |request: Request<Body>| limits.receive(request).await.err().map(|r| r.status);
        let plain = Request::new(Body::from("0123456789a"));
        assert_eq!(status(plain).await, Some(StatusCode::PAYLOAD_TOO_LARGE));
        let named = Request::builder().header(CONTENT_LENGTH, 11).body(Body::empty());
        assert_eq!(status(named.unwrap()).await, Some(StatusCode::PAYLOAD_TOO_LARGE));
        assert_eq!(status(Request::new(Body::from("0123456789"))).await, None);
    }
}
