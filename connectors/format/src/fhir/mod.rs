//! The `fhir` format: a resource of FHIR R4 in JSON, and back.
//!
//! A payload is a resource of any type of R4B, or a `Bundle` of them. Without narrative it is a structured
//! record. If it has a `Composition`, `DocumentReference`, `DiagnosticReport` or `Observation`, that is the
//! note: its narratives, separated by empty lines, in the order of the entries. The patients, relatives,
//! practitioners, encounters, organizations and locations that it contains supply the known persons.
//!
//! | field | from the first composition, else document, report, observation |
//! |---|---|
//! | `note_id` | its `id`, else `masterIdentifier`, `identifier`, the bundle's `identifier` or `id`, the entry's `urn:uuid` |
//! | `patient_id` | see [`PatientIdFrom`] |
//! | `encounter_id`, `author_id` | the id that `encounter` and the first author or performer refer to |
//! | `note_type` | `type` or `code`: its text, else the first coding's name or code |
//! | `authored_at` | `date`, `issued`, `effective[x]` or the context's period; a date without an offset is one of UTC |
//! | `event` | `delete` if all are entered in error, `amend` if amended, corrected, appended, or of a version over 1 |
//!
//! An attachment is plain text, HTML, RTF, PDF with a text layer or a CDA document, inline or in a `Binary`
//! of the same bundle; it is returned as plain text, without title, URL, size and hash. A `Binary` alone is
//! one note. An attachment that cannot be read (an external URL, a picture) is an error if there is no other
//! text that the note is about. Otherwise it is left out, also of the returned message. An object with a
//! duplicate name is refused, since either could be meant.
//!
//! The returned message contains only what the `table` module lists. A code is kept if it has the shape of
//! its code system or is in `terminology.tsv`; displays, extensions and units outside of UCUM are dropped.
//! Each resource is labelled `PSEUDED` in `meta.security`. Numbers keep their value, but not their trailing
//! zeros. Requests that search ("Patient?identifier=...") keep only their resource type. References to
//! dropped resources lead nowhere.

mod attachment;
mod build;
pub(crate) mod codes;
mod dates;
mod event;
mod fill;
mod ids;
mod index;
mod names;
mod node;
mod structure;
mod table;
mod tree;
pub(crate) mod ucum;
mod value;

use std::sync::Arc;

use lethe_core::{Change, Enclosed, Envelope, EnvelopeError, EventKind, Identifier, NoteEvent, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::build::Builder;
use self::codes::LocalSystems;
use self::fill::Filling;
use self::index::Index;
use self::node::Node;
use crate::{Diagnosis, Format, MAX_NOTE_BYTES, PayloadError};

/// Settings of the `fhir` format.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FhirConfig {
    /// Notes over this size are quarantined, and so are messages over twice this size.
    pub max_note_bytes: usize,
    /// Whether to keep the message with the row in redacted form, so that `lethe emit` can publish it.
    pub keep_message: bool,
    /// Your own code systems, by URI. Their codes leave unchanged; codes of other unknown systems are
    /// dropped.
    #[schemars(extend("examples" = [["https://mercy.example/codes/ward"]]))]
    pub code_systems: Vec<String>,
    /// The source of a note's `patient_id`.
    pub patient_id: PatientIdFrom,
}

/// The source of a note's `patient_id`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PatientIdFrom {
    /// The patient's `id` in the message or in the reference of `subject`. For a contained patient without an
    /// id, as `medical-record`.
    #[default]
    ResourceId,
    /// The patient's medical record number: the identifier of type `MR`, else the identifier in `subject`.
    MedicalRecord,
}

impl Default for FhirConfig {
    fn default() -> Self {
        Self {
            max_note_bytes: MAX_NOTE_BYTES,
            keep_message: false,
            code_systems: Vec::new(),
            patient_id: PatientIdFrom::default(),
        }
    }
}

impl FhirConfig {
    /// Returns the decoder.
    pub fn build(&self) -> FhirFormat {
        FhirFormat {
            max_note_bytes: self.max_note_bytes,
            keep_message: self.keep_message,
            code_systems: LocalSystems(self.code_systems.as_slice().into()),
            patient_id: self.patient_id,
        }
    }
}

/// Decodes FHIR resources.
#[derive(Clone, Debug)]
pub struct FhirFormat {
    max_note_bytes: usize,
    keep_message: bool,
    code_systems: LocalSystems,
    patient_id: PatientIdFrom,
}

impl Format for FhirFormat {
    fn read(&self, payload: &[u8]) -> Result<NoteEvent, Diagnosis> {
        let fail = |field, problem| Diagnosis {
            field,
            byte: payload.len(),
            problem,
        };
        if payload.len() / 2 > self.max_note_bytes.saturating_add(1 << 10) {
            return Err(fail(None, PayloadError::TooLarge));
        }
        let root = tree::parse(payload)?;
        let index = Index::new(&root);
        let mut event = event::of(&root, &index, self.patient_id).map_err(|(f, p)| fail(Some(f), p))?;
        let authored = event.authored_at.and_then(event::day);
        let narrative = event.kind != EventKind::Delete;
        let mut found = Builder::new(
            &index,
            self.max_note_bytes,
            narrative,
            authored,
            &self.code_systems,
        );
        let node = found.message(&root).map_err(|(f, p)| fail(Some(f), p))?;
        if narrative && !found.has_body {
            if let Some((field, problem)) = found.unread {
                return Err(fail(Some(field), problem));
            }
            if index.notes.first().and_then(|note| index::kind_of(note)) == Some("DocumentReference") {
                return Err(fail(
                    Some("DocumentReference.content.attachment.data"),
                    PayloadError::Missing,
                ));
            }
        }
        if self.keep_message {
            event.enclosed = Some(Enclosed(Arc::new(Message {
                root: node.ok_or_else(|| fail(Some("resourceType"), PayloadError::Unsupported))?,
                parts: found.parts,
                identifiers: found.identifiers,
                ids: found.ids,
                changes: found.changes,
            })));
        }
        event.structured = narrative && found.text.is_empty();
        event.text = found.text.into();
        event.known = found.known;
        event.structural_text = found.structural_text;
        Ok(event)
    }
}

/// A message without its content.
struct Message {
    root: Node,
    parts: Vec<Span>,
    identifiers: Vec<Identifier>,
    /// The identifiers that are ids.
    ids: Vec<usize>,
    changes: Vec<Change>,
}

impl Envelope for Message {
    fn parts(&self) -> &[Span] {
        &self.parts
    }

    fn identifiers(&self) -> &[Identifier] {
        &self.identifiers
    }

    fn changes(&self) -> &[Change] {
        &self.changes
    }

    fn close(&self, parts: &[&str], identifiers: &[&str]) -> Result<Vec<u8>, EnvelopeError> {
        if parts.len() != self.parts.len() || identifiers.len() != self.identifiers.len() {
            return Err(EnvelopeError);
        }
        let filling = Filling {
            parts,
            identifiers,
            ids: ids::write(self.ids.iter().map(|&id| identifiers[id])),
        };
        let mut message = Vec::new();
        let written = filling.write(&self.root, &mut message);
        written.then_some(message).ok_or(EnvelopeError)
    }
}
