//! The REST API of Presidio, so that its clients change only the address. What Presidio has and Lethe does not
//! is refused with status 422.

mod forms;
mod labels;
mod offsets;
mod operators;
mod union;

use lethe_core::{Decision, NoteBatch, Span, Unredacted};
use serde::Serialize;
use tokio::time::Instant;

use super::refusal::Refusal;
use super::service::Service;
use forms::{Explanation, Texts, read};
use offsets::{Points, bytes_at};
use operators::Operators;
use union::{Found, replace};

pub(super) use forms::{AnalyzeRequest, AnalyzeResult, AnonymizeRequest, AnonymizeResponse};
pub(super) use labels::Entities;
pub(super) use operators::NAMES as OPERATORS;

/// A response, and the id that its header has.
pub(super) struct Answer {
    pub(super) json: Vec<u8>,
    pub(super) correlation_id: Option<String>,
}

/// The results of one text, or of several.
#[derive(Serialize)]
#[serde(untagged)]
enum Results {
    One(Vec<AnalyzeResult>),
    Many(Vec<Vec<AnalyzeResult>>),
}

/// Answers `POST /analyze`.
pub(super) fn analyze(service: &Service, body: &[u8], until: Instant) -> Result<Answer, Refusal> {
    let request: AnalyzeRequest = read(body, "AnalyzeRequest")?;
    check(service, &request)?;
    let (texts, is_one) = match &request.text {
        Texts::One(text) => (std::slice::from_ref(text), true),
        Texts::Many(texts) => (texts.as_slice(), false),
    };
    if is_one && texts.iter().all(String::is_empty) {
        return Err(Refusal::unprocessable(
            "no_text",
            "`text` is empty; send the text to analyze",
        ));
    }
    let batch = NoteBatch::from_texts(texts.iter().map(String::as_str)).map_err(|_| Refusal::internal())?;
    let mut results = Vec::with_capacity(texts.len());
    for (text, outcome) in texts.iter().zip(service.outcomes(batch, until)) {
        let decisions = outcome.map_err(Unredacted::Quarantined)?;
        results.push(found(service, &request, text, &decisions));
    }
    let results = match results.pop() {
        Some(only) if is_one => Results::One(only),
        last => Results::Many(results.into_iter().chain(last).collect()),
    };
    Ok(Answer {
        json: serde_json::to_vec(&results).map_err(|_| Refusal::internal())?,
        correlation_id: request.correlation_id,
    })
}

/// Refuses what Lethe does not do.
fn check(service: &Service, request: &AnalyzeRequest) -> Result<(), Refusal> {
    let language = service
        .languages
        .iter()
        .any(|one| one.eq_ignore_ascii_case(&request.language));
    if !language {
        return Err(unknown_language(service));
    }
    let has = |list: &Option<Vec<String>>| list.as_ref().is_some_and(|list| !list.is_empty());
    let ad_hoc = request.ad_hoc_recognizers.as_ref();
    let unsupported = [
        (
            ad_hoc.is_some_and(|list| !list.is_empty()),
            "ad_hoc_recognizers",
            "add a dictionary or a member to the configuration",
        ),
        (
            has(&request.context),
            "context",
            "the members have their own context rules",
        ),
        (
            has(&request.allow_list),
            "allow_list",
            "Lethe makes no exceptions for a request; leave out results yourself",
        ),
        (
            request.trace == Some(true),
            "trace",
            "ask for `return_decision_process`",
        ),
    ];
    if let Some((_, key, instead)) = unsupported.iter().find(|(given, ..)| *given) {
        return Err(Refusal::unprocessable(
            "not_supported",
            format!("`{key}`: Lethe does not have this feature of Presidio; {instead}"),
        ));
    }
    if request
        .score_threshold
        .is_some_and(|score| !(0.0..=1.0).contains(&score))
    {
        return Err(Refusal::unprocessable(
            "invalid_request",
            "`score_threshold` must be from 0 to 1",
        ));
    }
    let names = service.entities.names();
    let asked = request.entities.iter().flatten();
    if let Some(place) = asked
        .map(String::as_str)
        .position(|entity| !names.contains(&entity))
    {
        return Err(Refusal::unprocessable(
            "unknown_entity",
            format!(
                "`entities[{place}]`: Lethe finds no entity of this name, so that its values would remain; it finds {}",
                names.join(", ")
            ),
        ));
    }
    Ok(())
}

/// Returns the refusal of a language that the bundle is not for.
pub(super) fn unknown_language(service: &Service) -> Refusal {
    Refusal::unprocessable(
        "unknown_language",
        format!(
            "`language`: this server is for {}; start it with another bundle and --language for others",
            service.languages.join(", ")
        ),
    )
}

fn found(
    service: &Service,
    request: &AnalyzeRequest,
    text: &str,
    decisions: &[Decision],
) -> Vec<AnalyzeResult> {
    let mut points = Points::of(text);
    let explains = request.return_decision_process == Some(true);
    let each = decisions.iter().map(|decision| {
        let (start, end) = (points.at(decision.span.start()), points.at(decision.span.end()));
        AnalyzeResult {
            start,
            end,
            score: rounded(decision.score),
            entity_type: service.entities.of(decision.label),
            analysis_explanation: explains.then(|| explanation(service, decision)),
        }
    });
    let asked = request.entities.as_ref().filter(|entities| !entities.is_empty());
    let is_asked = |result: &AnalyzeResult| {
        asked.is_none_or(|asked| asked.iter().any(|entity| entity == result.entity_type))
            && request.score_threshold.is_none_or(|least| result.score >= least)
    };
    each.filter(is_asked).collect()
}

fn explanation(service: &Service, decision: &Decision) -> Explanation {
    let members = service.engine.members();
    let members: Vec<&str> = decision
        .members
        .iter()
        .filter_map(|member| Some(members.get(member)?.as_str()))
        .collect();
    let label = &service.engine.labels().label(decision.label).name;
    Explanation {
        recognizer: members.join(","),
        pattern_name: Some(decision.rule).filter(|rule| !rule.is_empty()),
        pattern: None,
        original_score: rounded(decision.score),
        score: rounded(decision.score),
        textual_explanation: format!("{label}, by {}", decision.deciding_rule.name()),
        score_context_improvement: 0.0,
        supportive_context_word: "",
        validation_result: None,
    }
}

/// Returns a score with four decimal places.
fn rounded(score: f32) -> f64 {
    (f64::from(score) * 1e4).round() / 1e4
}

/// Answers `POST /anonymize`.
pub(super) fn anonymize(service: &Service, body: &[u8], until: Instant) -> Result<Answer, Refusal> {
    let request: AnonymizeRequest = read(body, "AnonymizeRequest")?;
    if request.text.is_empty() {
        return Err(Refusal::unprocessable(
            "no_text",
            "`text` is empty; send the text to anonymize",
        ));
    }
    let entities = &service.entities;
    let operators = Operators::read(request.anonymizers, entities)?;
    let given = request.analyzer_results.unwrap_or_default();
    let points: Vec<usize> = given
        .iter()
        .flat_map(|result| [result.start, result.end])
        .collect();
    let outside = || {
        Refusal::unprocessable(
            "invalid_span",
            "`analyzer_results`: a span lies outside of the text; offsets count code points",
        )
    };
    let bytes = bytes_at(&request.text, &points).ok_or_else(outside)?;
    let mut all = Vec::with_capacity(given.len());
    for (place, (result, ends)) in given.iter().zip(bytes.chunks_exact(2)).enumerate() {
        let span = match *ends {
            [start, end] if start < end => Span::new(start, end).map_err(|_| outside())?,
            _ => {
                return Err(Refusal::unprocessable(
                    "invalid_span",
                    format!("`analyzer_results[{place}]`: `start` must be smaller than `end`"),
                ));
            }
        };
        all.push(Found {
            span,
            entity: &result.entity_type,
            score: result.score,
            acted: None,
        });
    }
    let (_, outcome) = service.decide(&request.text, until)?;
    let decisions = outcome.map_err(Unredacted::Quarantined)?;
    for decision in &decisions {
        let acted = entities.acted(decision);
        // What the policy keeps is replaced only if the request asks for it.
        if !acted.is_kept() {
            all.push(Found {
                span: decision.span,
                entity: entities.of(decision.label),
                score: f64::from(decision.score),
                acted: Some(acted),
            });
        }
    }
    let response = replace(&request.text, all, &operators, entities)?;
    Ok(Answer {
        json: serde_json::to_vec(&response).map_err(|_| Refusal::internal())?,
        correlation_id: None,
    })
}
