//! The requests and responses of Presidio's REST API.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::serve::refusal::Refusal;

/// One text or several.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Texts {
    /// One text, whose results are a list.
    One(String),
    /// Several texts, whose results are a list for each.
    Many(Vec<String>),
}

/// A request to find identifiers.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnalyzeRequest {
    /// The text, or a list of texts.
    pub(super) text: Texts,
    /// The language of the text, as two letters of ISO 639-1.
    pub(super) language: String,
    /// Spans with a lower score are left out.
    pub(super) score_threshold: Option<f64>,
    /// The entities to look for. By default all of `/supportedentities`.
    pub(super) entities: Option<Vec<String>>,
    /// An id of the request, which the response has in the header `x-correlation-id`.
    pub(super) correlation_id: Option<String>,
    /// Whether each result has an `analysis_explanation`.
    pub(super) return_decision_process: Option<bool>,
    /// Not supported, unless empty.
    pub(super) ad_hoc_recognizers: Option<Vec<Value>>,
    /// Not supported, unless empty.
    pub(super) context: Option<Vec<String>>,
    /// Not supported, unless empty.
    pub(super) allow_list: Option<Vec<String>>,
    /// Has no effect without `allow_list`.
    #[serde(rename = "allow_list_match")]
    pub(super) _allow_list_match: Option<String>,
    /// Has no effect without `allow_list`.
    #[serde(rename = "regex_flags")]
    pub(super) _regex_flags: Option<i64>,
    /// Not supported, unless false.
    pub(super) trace: Option<bool>,
}

/// A span that was found. Offsets count Unicode code points, as in Python.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AnalyzeResult {
    pub(super) start: usize,
    pub(super) end: usize,
    /// The score of the span, 0 to 1.
    pub(super) score: f64,
    pub(super) entity_type: &'static str,
    /// Why the span was found, if the request asks for it.
    pub(super) analysis_explanation: Option<Explanation>,
}

/// Why a span was found.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Explanation {
    /// The members that predicted the span.
    pub(super) recognizer: String,
    /// The rule of the best member, if it has one.
    pub(super) pattern_name: Option<&'static str>,
    pub(super) pattern: Option<&'static str>,
    pub(super) original_score: f64,
    pub(super) score: f64,
    /// The label of Lethe, and what decided about the span.
    pub(super) textual_explanation: String,
    pub(super) score_context_improvement: f64,
    pub(super) supportive_context_word: &'static str,
    pub(super) validation_result: Option<bool>,
}

/// A request to replace identifiers: those of `analyzer_results`, and those that Lethe finds itself.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnonymizeRequest {
    pub(super) text: String,
    /// The operator of each entity, and under `DEFAULT` that of all others. By default a value is replaced by
    /// its entity, `<PERSON>`.
    #[schemars(with = "Option<BTreeMap<String, Anonymizer>>")]
    pub(super) anonymizers: Option<BTreeMap<String, Value>>,
    /// Spans to replace in any case.
    pub(super) analyzer_results: Option<Vec<GivenResult>>,
}

/// A span of a request. Offsets count Unicode code points.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GivenResult {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) score: f64,
    pub(super) entity_type: String,
    /// Has no effect.
    #[serde(rename = "analysis_explanation")]
    pub(super) _analysis_explanation: Option<Value>,
    /// Has no effect.
    #[serde(rename = "recognition_metadata")]
    pub(super) _recognition_metadata: Option<Value>,
}

/// An operator, which replaces values. One that is weaker than the policy gets status 422.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Anonymizer {
    /// Writes `new_value`, or the entity, `<PERSON>`.
    Replace {
        /// The text to write.
        new_value: Option<String>,
    },
    /// Writes nothing.
    Redact {},
    /// Writes a character instead of each character. It must cover the whole value unless the policy keeps it.
    Mask {
        /// One character.
        masking_char: String,
        /// The number of characters to mask.
        chars_to_mask: i64,
        /// Whether to mask from the end of the value.
        from_end: bool,
    },
    /// Leaves the value. Only where the policy keeps it, too.
    Keep {},
    /// Not supported: a hash without a key is reversed by trying all values.
    Hash {
        /// The hash function.
        #[serde(rename = "hash_type")]
        _hash_type: Option<String>,
        /// The salt.
        #[serde(rename = "salt")]
        _salt: Option<String>,
    },
    /// Not supported: the policy's `encrypt` uses keys that are no part of a request.
    Encrypt {
        /// The key.
        #[serde(rename = "key")]
        _key: Option<String>,
    },
    /// Not supported.
    Custom {},
}

/// The text with replacements.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AnonymizeResponse {
    pub(super) text: String,
    /// The replacements, the last one first.
    pub(super) items: Vec<AnonymizeItem>,
}

/// A replacement. Offsets count Unicode code points of the new text.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AnonymizeItem {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) entity_type: String,
    /// The new text.
    pub(super) text: String,
    pub(super) operator: &'static str,
}

/// Reads a request. The message of a refusal has the position and no text, since serde's message quotes values.
pub(super) fn read<T: DeserializeOwned>(body: &[u8], form: &str) -> Result<T, Refusal> {
    serde_json::from_slice(body).map_err(|error| {
        let place = format!("line {}, column {}", error.line(), error.column());
        match error.classify() {
            serde_json::error::Category::Data => Refusal::unprocessable(
                "invalid_request",
                format!(
                    "a key is missing, unknown or has a wrong type before {place}; /openapi.json has the form `{form}`"
                ),
            ),
            _ => Refusal::new(
                axum::http::StatusCode::BAD_REQUEST,
                "invalid_json",
                format!("the body is not JSON from {place}"),
            ),
        }
    })
}
