//! What requests are answered with: the engine, what leaves a document, and the labels of Presidio.

use std::sync::Arc;

use axum::http::StatusCode;
use lethe_connectors::format::{JsonConfig, JsonFormat, PayloadError};
use lethe_core::{Coordinates, Engine, NoteBatch, Outcome, QuarantineCode, Record};
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::lanes::Until;
use super::presidio::Entities;
use super::refusal::Refusal;
use crate::cli::OffsetUnit;
use crate::commands::annotate::spans;
use crate::config::{BuiltEngine, EngineConfig};
use crate::gate::Gate;

/// Names of a document's id.
const ID_NAMES: [&str; 2] = ["doc_id", "note_id"];

/// The engine and its surroundings. Shared by all lanes.
pub(super) struct Service {
    pub(super) engine: Arc<Engine>,
    pub(super) entities: Entities,
    /// Languages that requests may name.
    pub(super) languages: Vec<String>,
    format: JsonFormat,
    gate: Gate,
}

/// What is done to a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Treatment {
    /// Its text is redacted.
    Redact,
    /// Spans are added.
    Annotate {
        /// The unit of their offsets.
        unit: OffsetUnit,
        /// Whether each has the reason for it.
        explain: bool,
    },
}

impl Service {
    /// # Errors
    /// If the settings of the format are wrong, which they are not.
    pub(super) fn new(
        built: &BuiltEngine,
        config: &EngineConfig,
        languages: Vec<String>,
        max_note_bytes: usize,
    ) -> anyhow::Result<Self> {
        let format = JsonConfig {
            required: vec!["text".to_owned()],
            max_note_bytes,
            ..JsonConfig::default()
        };
        Ok(Self {
            engine: Arc::clone(&built.engine),
            entities: Entities::new(built.engine.labels(), config),
            languages,
            format: format.build()?.with_id_names(&ID_NAMES),
            gate: Gate::new(built.engine.carried().clone(), built.mode, &[])?,
        })
    }

    /// Decides about one text.
    pub(super) fn decide(&self, text: &str, until: Instant) -> Result<(NoteBatch, Outcome), Refusal> {
        let batch = NoteBatch::from_texts([text]).map_err(|_| Refusal::internal())?;
        Ok(self.outcome(batch, until))
    }

    /// Decides about every text of a batch.
    pub(super) fn outcomes(&self, batch: NoteBatch, until: Instant) -> Vec<Outcome> {
        self.engine.decide(&batch.paced(Arc::new(Until(until))))
    }

    fn outcome(&self, batch: NoteBatch, until: Instant) -> (NoteBatch, Outcome) {
        let batch = batch.paced(Arc::new(Until(until)));
        let outcome = self.engine.decide(&batch).into_iter().next();
        (batch, outcome.unwrap_or(Err(QuarantineCode::MemberError)))
    }

    /// Treats a document: a JSON object with `text`, and the other fields of a note event.
    pub(super) fn document(
        &self,
        body: &[u8],
        treatment: Treatment,
        until: Instant,
    ) -> Result<Map<String, Value>, Refusal> {
        let read = self.format.read_full(body).map_err(|diagnosis| {
            let status = match diagnosis.problem {
                PayloadError::NotUtf8 | PayloadError::NotJson | PayloadError::Truncated => {
                    StatusCode::BAD_REQUEST
                }
                _ => StatusCode::UNPROCESSABLE_ENTITY,
            };
            Refusal::new(status, "invalid_document", diagnosis.to_string())
        })?;
        let mut object: Map<String, Value> =
            serde_json::from_slice(body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body)).map_err(|error| {
                Refusal::new(
                    StatusCode::BAD_REQUEST,
                    "invalid_document",
                    format!(
                        "no JSON object at line {}, column {}",
                        error.line(),
                        error.column()
                    ),
                )
            })?;
        let mut event = read.event;
        // Codes of a note without ids depend on its place: no two requests have the same.
        event.at = Coordinates {
            topic: format!("request {}", uuid::Uuid::new_v4()).into(),
            ..Coordinates::default()
        };
        let batch = NoteBatch::from_records([Record::Note(event)]).map_err(|_| Refusal::internal())?;
        let (batch, outcome) = self.outcome(batch, until);
        match treatment {
            Treatment::Redact => {
                let redacted = self.engine.redact(&batch, 0, &outcome)?;
                Ok(self.gate.pass(&object, redacted.text))
            }
            Treatment::Annotate { unit, explain } => {
                let decisions = outcome.map_err(lethe_core::Unredacted::Quarantined)?;
                let found = spans(&self.engine, batch.note(0).text, &decisions, unit, explain);
                object.insert("spans".to_owned(), found);
                Ok(object)
            }
        }
    }
}
