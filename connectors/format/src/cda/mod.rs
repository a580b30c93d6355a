//! The `cda` format: a clinical document of HL7 CDA release 2, including C-CDA.
//!
//! The document is one note: the titles and texts of its sections, or the body that is not XML, separated by
//! empty lines. Its header names the known persons: the patient, guardians and relatives, authors, the
//! encounter, the custodian.
//!
//! | field | from |
//! |---|---|
//! | `note_id` | `setId`, the same for all versions, else `id`: its extension, or its root |
//! | `version` | `versionNumber` |
//! | `patient_id` | the first `id` of the `patientRole` that is not a social security number |
//! | `encounter_id`, `author_id` | the first `id` of the `encompassingEncounter`, of an `assignedAuthor` |
//! | `note_type` | the `code`'s name, else the title |
//! | `authored_at` | `effectiveTime`; without an offset it is UTC |
//! | `event` | `amend` if the version is over 1 or it replaces or appends to another document |
//!
//! The texts of entries, the wording of codes, and textual values of observations are also part of the note,
//! each at its position in the document.
//!
//! A document type declaration is refused, and with it every entity that XML does not define.
//!
//! The returned document contains only what the `table` module accepts. A code is kept if it has the shape of
//! its code system or is in a list (`systems.tsv`); display names, units outside of UCUM and bodies in media
//! other than text are dropped. Narrative keeps its paragraphs, lists and tables; names of referenced
//! elements are renumbered. Roots of ids that could name an organization become roots below HL7's own for
//! examples, consistently within a document. An element that lost its content has `nullFlavor="MSK"`.

mod codes;
mod data;
mod draft;
mod envelope;
mod header;
mod leaf;
mod narrative;
mod people;
mod reader;
mod scope;
mod table;
mod times;

use std::sync::Arc;

use lethe_core::{Enclosed, EventKind, NoteEvent};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fhir::codes::LocalSystems;
use crate::{Diagnosis, Format, MAX_NOTE_BYTES, PayloadError};

/// Settings of the `cda` format.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CdaConfig {
    /// Notes over this size are quarantined, and so are documents over four times this size.
    pub max_note_bytes: usize,
    /// Whether to keep the document with the row in redacted form, so that `lethe emit` can publish it.
    pub keep_message: bool,
    /// Your own code systems, by object identifier. Their codes leave unchanged; codes of other unknown
    /// systems are dropped.
    #[schemars(extend("examples" = [["1.2.840.114350.1.13"]]))]
    pub code_systems: Vec<String>,
}

impl Default for CdaConfig {
    fn default() -> Self {
        Self {
            max_note_bytes: MAX_NOTE_BYTES,
            keep_message: false,
            code_systems: Vec::new(),
        }
    }
}

impl CdaConfig {
    /// Returns the decoder.
    pub fn build(&self) -> CdaFormat {
        CdaFormat {
            max_note_bytes: self.max_note_bytes,
            keep_message: self.keep_message,
            code_systems: LocalSystems(self.code_systems.as_slice().into()),
        }
    }
}

/// Decodes CDA documents.
#[derive(Clone, Debug)]
pub struct CdaFormat {
    max_note_bytes: usize,
    keep_message: bool,
    code_systems: LocalSystems,
}

impl Format for CdaFormat {
    fn read(&self, payload: &[u8]) -> Result<NoteEvent, Diagnosis> {
        let missing = |field| Diagnosis {
            field: Some(field),
            byte: payload.len(),
            problem: PayloadError::Missing,
        };
        let (header, skeleton) = parse(payload, self.max_note_bytes, &self.code_systems)?;
        if !header.has_body {
            return Err(missing("component"));
        }
        if self.keep_message && skeleton.is_empty() {
            return Err(Diagnosis {
                field: None,
                byte: 0,
                problem: PayloadError::Unsupported,
            });
        }
        let note_id = header.set_id.or(header.id).ok_or_else(|| missing("id"))?;
        let amended = header.replaces || header.version > Some(1);
        Ok(NoteEvent {
            note_id: note_id.into(),
            version: header.version,
            patient_id: header.patient_id.map(Into::into),
            patient_authority: header.patient_authority,
            encounter_id: header.encounter_id.map(Into::into),
            note_type: header.code_name.or(header.title),
            author_id: header.author_id.map(Into::into),
            authored_at: header.effective.as_deref().and_then(times::millis),
            kind: if amended {
                EventKind::Amend
            } else {
                EventKind::Create
            },
            text: header.text.into(),
            known: header.known,
            enclosed: self.keep_message.then(|| Enclosed(Arc::new(skeleton))),
            ..NoteEvent::default()
        })
    }
}

/// Reads a whole document within another message.
pub(crate) fn document(payload: &[u8], max_note_bytes: usize) -> Result<header::Header, Diagnosis> {
    parse(payload, max_note_bytes, &LocalSystems::default()).map(|(header, _)| header)
}

fn parse(
    payload: &[u8],
    max_note_bytes: usize,
    local: &LocalSystems,
) -> Result<(header::Header, envelope::Skeleton), Diagnosis> {
    let fail = |byte, problem| Diagnosis {
        field: None,
        byte,
        problem,
    };
    if payload.len() / 4 > max_note_bytes.saturating_add(1 << 12) {
        return Err(fail(payload.len(), PayloadError::TooLarge));
    }
    let text = decode(payload).ok_or(fail(0, PayloadError::NotUtf8))?;
    reader::Reader::new(&text, max_note_bytes, local).read()
}

/// Decodes the document as text, by its byte order mark or its declared encoding; otherwise as UTF-8.
fn decode(payload: &[u8]) -> Option<std::borrow::Cow<'_, str>> {
    let marked = encoding_rs::Encoding::for_bom(payload);
    let (encoding, skip) = match marked {
        Some((encoding, len)) => (encoding, len),
        None => (declared(payload).unwrap_or(encoding_rs::UTF_8), 0),
    };
    encoding.decode_without_bom_handling_and_without_replacement(payload.get(skip..)?)
}

fn declared(payload: &[u8]) -> Option<&'static encoding_rs::Encoding> {
    let head = payload.get(..200).unwrap_or(payload);
    let end = head.windows(2).position(|two| two == b"?>")?;
    let declaration = std::str::from_utf8(head.get(..end)?)
        .ok()?
        .strip_prefix("<?xml")?;
    let value = declaration
        .split_once("encoding")?
        .1
        .trim_start()
        .strip_prefix('=')?
        .trim_start();
    let label = value.split(['"', '\'']).nth(1)?;
    encoding_rs::Encoding::for_label(label.as_bytes()).filter(|known| known.is_ascii_compatible())
}
