//! Batches: JSON lines in, a line of output for each, in order. Lines are read only as fast as the client reads
//! the output, so that a batch of any length takes bounded memory.

use std::sync::Arc;

use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::Response;
use bytes::{Buf as _, Bytes, BytesMut};
use futures::stream::{StreamExt as _, unfold};
use http_body_util::BodyExt as _;
use serde::Serialize;
use tokio::time::{Instant, timeout};

use super::Shared;
use super::limits::{Admitted, Reserved};
use super::refusal::Refusal;
use super::service::{Service, Treatment};

/// Lines that are processed together.
const LINES: usize = 32;
/// Bytes of lines that are processed together, unless a single line has more.
const BYTES: usize = 64 << 10;
/// Groups of lines of one batch that are processed at the same time: further lanes are for other requests.
const GROUPS: usize = 4;

/// The content type of the input and the output.
pub(super) const KIND: &str = "application/x-ndjson";

/// A line of the input, or why it cannot be processed.
struct Line {
    number: u64,
    content: Result<Bytes, Refusal>,
}

/// Splits a body into groups of lines.
struct Lines {
    shared: Arc<Shared>,
    body: Body,
    buffer: BytesMut,
    number: u64,
    /// Whether the current line is over the limit, so that its rest is dropped.
    is_skipping: bool,
    has_ended: bool,
    _held: (Admitted, Reserved),
}

/// Returns the memory that a batch may take with this many lanes and this limit of a line: the groups in work, the
/// next one, and what is read of another.
pub(super) fn memory(lanes: usize, line: usize) -> usize {
    (lanes.min(GROUPS) + 2) * (line + BYTES)
}

/// Returns the response to a batch, whose lines are processed while it is sent.
pub(super) fn answer(
    shared: &Arc<Shared>,
    body: Body,
    treatment: Treatment,
    held: (Admitted, Reserved),
) -> Response {
    let lines = Lines {
        shared: Arc::clone(shared),
        body,
        buffer: BytesMut::new(),
        number: 0,
        is_skipping: false,
        has_ended: false,
        _held: held,
    };
    let groups = shared.lanes.count().min(GROUPS);
    let shared = Arc::clone(shared);
    let results = unfold(
        lines,
        |mut lines| async move { Some((lines.group().await?, lines)) },
    )
    .map(move |group| process(Arc::clone(&shared), group, treatment))
    .buffered(groups);
    let mut response = Response::new(Body::from_stream(results.map(Ok::<_, std::convert::Infallible>)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(KIND));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Returns the output of a group of lines.
async fn process(shared: Arc<Shared>, group: Vec<Line>, treatment: Treatment) -> Bytes {
    let until = Instant::now() + shared.limits.settings.request_time;
    let numbers: Vec<u64> = group.iter().map(|line| line.number).collect();
    let done = shared
        .lanes
        .run(until, move |service| written(service, group, treatment, until));
    done.await.unwrap_or_else(|refusal| {
        let mut out = Vec::new();
        for number in numbers {
            write(&mut out, &refusal.clone().of_line(number));
        }
        out.into()
    })
}

fn written(service: &Service, group: Vec<Line>, treatment: Treatment, until: Instant) -> Bytes {
    let mut out = Vec::new();
    for Line { number, content } in group {
        match content.and_then(|line| service.document(&line, treatment, until)) {
            Ok(document) => write(&mut out, &document),
            Err(refusal) => write(&mut out, &refusal.of_line(number)),
        }
    }
    out.into()
}

fn write(out: &mut Vec<u8>, line: &impl Serialize) {
    let length = out.len();
    if serde_json::to_writer(&mut *out, line).is_err() {
        out.truncate(length);
    }
    out.push(b'\n');
}

impl Lines {
    /// Returns the lines that have arrived, as soon as there is one; `None` at the end.
    async fn group(&mut self) -> Option<Vec<Line>> {
        let mut group = Vec::new();
        loop {
            let is_more = self.take(&mut group);
            if !group.is_empty() && (is_more || !self.has_ended) {
                return Some(group);
            }
            if self.has_ended {
                return (!group.is_empty()).then_some(group);
            }
            let settings = self.shared.limits.settings;
            match timeout(settings.body_time, self.body.frame()).await {
                Ok(Some(Ok(frame))) => self.push(frame.data_ref().map_or(&[], |data| &data[..]), &mut group),
                // A client that closed the connection reads no output.
                Ok(Some(Err(_))) => return None,
                Ok(None) => self.end(&mut group),
                Err(_) => {
                    self.has_ended = true;
                    self.buffer.clear();
                    let content = Err(self.shared.limits.too_slow());
                    self.number += 1;
                    group.push(Line {
                        number: self.number,
                        content,
                    });
                }
            }
        }
    }

    /// Adds received bytes. A line over the limit is dropped, with an error in the group.
    fn push(&mut self, data: &[u8], group: &mut Vec<Line>) {
        self.buffer.extend_from_slice(data);
        let most = self.shared.limits.settings.body;
        loop {
            if self.is_skipping {
                let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') else {
                    self.buffer.clear();
                    return;
                };
                self.buffer.advance(end + 1);
                self.is_skipping = false;
            }
            let mut first = self.buffer.iter().take(most + 1);
            if self.buffer.len() <= most || first.any(|byte| *byte == b'\n') {
                return;
            }
            self.number += 1;
            group.push(Line {
                number: self.number,
                content: Err(self.shared.limits.too_large()),
            });
            self.is_skipping = true;
        }
    }

    /// Moves complete lines to the group; returns whether it is full.
    fn take(&mut self, group: &mut Vec<Line>) -> bool {
        let mut bytes = 0;
        while let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
            if group.len() >= LINES || (bytes > 0 && bytes + end > BYTES) {
                return true;
            }
            let line = self.buffer.split_to(end);
            self.buffer.advance(1);
            bytes += line.len();
            self.add(line, group);
        }
        false
    }

    /// Moves what follows the last line break to the group.
    fn end(&mut self, group: &mut Vec<Line>) {
        self.has_ended = true;
        let line = self.buffer.split();
        self.add(line, group);
    }

    /// Adds a line. Blank ones count but have no output.
    fn add(&mut self, line: BytesMut, group: &mut Vec<Line>) {
        if self.has_ended && line.is_empty() {
            return;
        }
        self.number += 1;
        if !line.trim_ascii().is_empty() {
            let is_long = line.len() > self.shared.limits.settings.body;
            let content = if is_long {
                Err(self.shared.limits.too_large())
            } else {
                Ok(line.freeze())
            };
            group.push(Line {
                number: self.number,
                content,
            });
        }
    }
}
