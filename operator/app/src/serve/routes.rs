//! The endpoints: the table that the OpenAPI document is made from, and their handlers.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName};
use axum::http::{HeaderMap, HeaderValue, Request, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use serde::Serialize;
use tokio::time::Instant;

use super::batch;
use super::limits::refused;
use super::presidio::{self, Answer};
use super::refusal::Refusal;
use super::service::{Service, Treatment};
use super::{Shared, openapi};
use crate::cli::OffsetUnit;

const JSON: &str = "application/json";
const CORRELATION: HeaderName = HeaderName::from_static("x-correlation-id");

/// Returns the endpoints. [`openapi::ENDPOINTS`] documents each of them.
pub(super) fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/health", get(health))
        .route("/openapi.json", get(openapi))
        .route("/v1/redact", post(redact))
        .route("/v1/redact/batch", post(redact_batch))
        .route("/v1/annotate", post(annotate))
        .route("/v1/annotate/batch", post(annotate_batch))
        .route("/analyze", post(analyze))
        .route("/anonymize", post(anonymize))
        .route("/recognizers", get(recognizers))
        .route("/supportedentities", get(supported_entities))
        .route("/anonymizers", get(anonymizers))
        .route("/deanonymize", post(deanonymize))
        .fallback(unknown)
        .method_not_allowed_fallback(wrong_method)
        .with_state(shared)
}

async fn health() -> &'static str {
    "Lethe is up"
}

async fn openapi() -> Response {
    json(&openapi::document())
}

async fn redact(State(shared): State<Arc<Shared>>, request: Request<Body>) -> Response {
    document(&shared, request, |_| Ok(Treatment::Redact)).await
}

async fn annotate(State(shared): State<Arc<Shared>>, request: Request<Body>) -> Response {
    document(&shared, request, annotation).await
}

async fn redact_batch(State(shared): State<Arc<Shared>>, request: Request<Body>) -> Response {
    lines(&shared, request, |_| Ok(Treatment::Redact)).await
}

async fn annotate_batch(State(shared): State<Arc<Shared>>, request: Request<Body>) -> Response {
    lines(&shared, request, annotation).await
}

async fn analyze(State(shared): State<Arc<Shared>>, request: Request<Body>) -> Response {
    answered(work(&shared, request, presidio::analyze).await)
}

async fn anonymize(State(shared): State<Arc<Shared>>, request: Request<Body>) -> Response {
    answered(work(&shared, request, presidio::anonymize).await)
}

async fn recognizers(State(shared): State<Arc<Shared>>, uri: Uri) -> Response {
    match language(&shared, &uri) {
        Ok(()) => json(&shared.service.engine.members()),
        Err(refusal) => refusal.into_response(),
    }
}

async fn supported_entities(State(shared): State<Arc<Shared>>, uri: Uri) -> Response {
    match language(&shared, &uri) {
        Ok(()) => json(&shared.service.entities.names()),
        Err(refusal) => refusal.into_response(),
    }
}

async fn anonymizers() -> Response {
    json(&presidio::OPERATORS)
}

async fn deanonymize() -> Refusal {
    Refusal::unprocessable(
        "not_supported",
        "Lethe does not reverse replacements over HTTP; `lethe reveal` does, for those who have the keys",
    )
}

async fn unknown() -> Refusal {
    Refusal::new(
        StatusCode::NOT_FOUND,
        "not_found",
        "there is no such endpoint; /openapi.json lists them",
    )
}

async fn wrong_method() -> Refusal {
    Refusal::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "wrong_method",
        "the endpoint has another method; /openapi.json lists them",
    )
}

/// Receives a body, and does work on it on a lane.
async fn work<T: Send + 'static>(
    shared: &Arc<Shared>,
    request: Request<Body>,
    work: impl FnOnce(&Service, &[u8], Instant) -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let admitted = check_kind(request.headers(), &[JSON]).and_then(|()| shared.limits.admit());
    let _admitted = match admitted {
        Ok(admitted) => admitted,
        Err(refusal) => return Err(refused(request, refusal).await),
    };
    let received = shared.limits.receive(request).await?;
    let until = Instant::now() + shared.limits.settings.request_time;
    let job = move |service: &Service| {
        // The memory is free once the work is done, even if nobody waited for it.
        let _reserved = received.reserved;
        work(service, &received.body, until)
    };
    shared.lanes.run(until, job).await?
}

async fn document(
    shared: &Arc<Shared>,
    request: Request<Body>,
    treatment: impl FnOnce(&Uri) -> Result<Treatment, Refusal>,
) -> Response {
    let treatment = match treatment(request.uri()) {
        Ok(treatment) => treatment,
        Err(refusal) => return refused(request, refusal).await.into_response(),
    };
    let done = work(shared, request, move |service, body, until| {
        let document = service.document(body, treatment, until)?;
        serde_json::to_vec(&document).map_err(|_| Refusal::internal())
    });
    match done.await {
        Ok(bytes) => of(bytes),
        Err(refusal) => refusal.into_response(),
    }
}

async fn lines(
    shared: &Arc<Shared>,
    request: Request<Body>,
    treatment: impl FnOnce(&Uri) -> Result<Treatment, Refusal>,
) -> Response {
    let begin = || {
        let treatment = treatment(request.uri())?;
        check_kind(
            request.headers(),
            &[
                batch::KIND,
                "application/ndjson",
                "application/jsonl",
                "application/json-lines",
            ],
        )?;
        let admitted = shared.limits.admit()?;
        let memory = batch::memory(shared.lanes.count(), shared.limits.settings.body);
        Ok::<_, Refusal>((treatment, (admitted, shared.limits.reserve(memory)?)))
    };
    match begin() {
        Ok((treatment, held)) => batch::answer(shared, request.into_body(), treatment, held),
        Err(refusal) => refused(request, refusal).await.into_response(),
    }
}

/// Reads the parameters of an annotation.
fn annotation(uri: &Uri) -> Result<Treatment, Refusal> {
    let (mut unit, mut explain) = (OffsetUnit::CodePoint, false);
    for parameter in uri
        .query()
        .unwrap_or_default()
        .split('&')
        .filter(|one| !one.is_empty())
    {
        match parameter {
            "offsets=code-point" => unit = OffsetUnit::CodePoint,
            "offsets=byte" => unit = OffsetUnit::Byte,
            "offsets=utf16" => unit = OffsetUnit::Utf16,
            "explain" | "explain=true" => explain = true,
            "explain=false" => explain = false,
            _ => {
                return Err(Refusal::unprocessable(
                    "unknown_parameter",
                    "unknown parameter; there are `offsets=code-point|byte|utf16` and `explain=true|false`",
                ));
            }
        }
    }
    Ok(Treatment::Annotate { unit, explain })
}

/// Checks the language of a query, if it has one.
fn language(shared: &Shared, uri: &Uri) -> Result<(), Refusal> {
    let parameters = uri.query().unwrap_or_default().split('&');
    let mut asked = parameters.filter_map(|one| one.strip_prefix("language="));
    let is_known = |asked: &str| {
        shared
            .service
            .languages
            .iter()
            .any(|one| one.eq_ignore_ascii_case(asked))
    };
    if asked.all(is_known) {
        return Ok(());
    }
    Err(presidio::unknown_language(&shared.service))
}

/// Checks the content type. A browser asks the server before it sends one of these for a page of elsewhere.
fn check_kind(headers: &HeaderMap, accepted: &'static [&'static str]) -> Result<(), Refusal> {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind
        .and_then(|kind| kind.split(';').next())
        .unwrap_or_default()
        .trim();
    if accepted.iter().any(|one| one.eq_ignore_ascii_case(kind)) {
        return Ok(());
    }
    Err(Refusal::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "wrong_content_type",
        format!(
            "send the header `Content-Type: {}`",
            accepted.first().unwrap_or(&JSON)
        ),
    ))
}

fn answered(answer: Result<Answer, Refusal>) -> Response {
    match answer {
        Ok(answer) => {
            let mut response = of(answer.json);
            let id = answer
                .correlation_id
                .and_then(|id| HeaderValue::try_from(id).ok());
            if let Some(id) = id {
                response.headers_mut().insert(CORRELATION, id);
            }
            response
        }
        Err(refusal) => refusal.into_response(),
    }
}

fn json(value: &impl Serialize) -> Response {
    serde_json::to_vec(value).map_or_else(|_| Refusal::internal().into_response(), of)
}

fn of(json: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(json));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
