//! The `fhir` format: a resource of FHIR R4 in JSON, and back.
//!
//! A payload is a resource of any type of R4B, or a `Bundle` of them. One without narrative is a structured record. If a
//! `Composition`, `DocumentReference`, `DiagnosticReport` or `Observation` is among them, it is the note: its narratives, an empty line between them, in the order of the entries. Who is who is
//! learned from the patients, relatives, practitioners, encounters, organizations and locations that it contains.
//!
//! | field | from the first composition, else document, report, observation |
//! |---|---|
//! | `note_id` | its `id`, else `masterIdentifier`, `identifier`, the bundle's `identifier` or `id`, the entry's `urn:uuid` |
//! | `patient_id` | as [`PatientIdFrom`] says |
//! | `encounter_id`, `author_id` | the id that `encounter` and the first author or performer refer to |
//! | `note_type` | `type` or `code`: its text, else the first coding's name or code |
//! | `authored_at` | `date`, `issued`, `effective[x]` or the context's period; a date without an offset is one of UTC |
//! | `event` | `delete` if all are entered in error, `amend` if amended, corrected, appended, or of a version over 1 |
//!
//! An attachment is plain text, HTML, RTF, PDF with a text layer or a CDA document, in it or in a `Binary` of the same bundle;
//! given back it is plain text, without title, address, size and hash. A `Binary` alone is one note. An attachment that cannot be
//! read (an address elsewhere, a picture) is an error if there is no other text that the note
//! is about. If there is, it is left out, of the message that is given back too. A name that stands twice in an
//! object is refused: which of the two holds cannot be known.
//!
//! Given back, the message holds what the `table` module lists and nothing else. A code passes if it has the shape of its
//! code system or stands in `terminology.tsv`; displays, extensions and units that are not of UCUM are dropped. Each
//! resource is labelled `PSEUDED` in `meta.security`. Numbers keep their value, not their trailing
//! zeros. Requests that search ("Patient?identifier=...") keep only the type they are for. References to resources that are not
//! given back lead nowhere.

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
use serde::{Deserialize, Serialize};

use self::build::Builder;
use self::codes::LocalSystems;
use self::fill::Filling;
use self::index::Index;
use self::node::Node;
use crate::{Diagnosis, Format, MAX_NOTE_BYTES, Problem};

/// Settings of the `fhir` format.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct FhirConfig {
    /// Notes whose text is over this many bytes are quarantined, and so are messages of over twice as many.
    pub max_note_bytes: usize,
    /// Whether the message is kept with the note, to be given back redacted. Default: no.
    pub keep_message: bool,
    /// Code systems of the site, by URI, whose codes pass although Lethe does not know them. Default: none.
    pub code_systems: Vec<String>,
    /// What identifies the patient.
    pub patient_id: PatientIdFrom,
}

/// Where a note's `patient_id` comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PatientIdFrom {
    /// The patient's `id`, as the message has it or as the `subject` refers to it. For a patient who lies within the note
    /// and has no id of their own, as `medical-record`.
    #[default]
    ResourceId,
    /// The patient's medical record number: the identifier of type `MR`, else the one by which the `subject` is named.
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
    /// The decoder.
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
            return Err(fail(None, Problem::TooLarge));
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
                    Problem::Missing,
                ));
            }
        }
        if self.keep_message {
            event.enclosed = Some(Enclosed(Arc::new(Message {
                root: node.ok_or_else(|| fail(Some("resourceType"), Problem::Unsupported))?,
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

/// A message without its contents.
struct Message {
    root: Node,
    parts: Vec<Span>,
    identifiers: Vec<Identifier>,
    /// Which identifiers are ids.
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
