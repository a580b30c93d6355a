//! A note and what is known about its patient.

use lethe_core::{KnownKind, NoteEvent};

/// What an identifier that is known beforehand identifies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Known {
    /// The patient's name or alias.
    Patient,
    /// A relative's or contact person's name.
    Relative,
    /// A clinician's name.
    Clinician,
    /// A medical record number.
    MedicalRecord,
    /// A birth date in ISO 8601 (`YYYY-MM-DD`).
    BirthDate,
    /// A telephone number.
    Phone,
    /// A postal address, or a line of one.
    Address,
    /// An e-mail address.
    Email,
    /// A social security number or its national counterpart.
    SocialSecurity,
    /// A health plan or insurance number.
    HealthPlan,
    /// An account number.
    Account,
    /// An employer, school or institution.
    Organization,
    /// Any other identifier.
    Other,
}

impl Known {
    const fn kind(self) -> KnownKind {
        match self {
            Self::Patient => KnownKind::Patient,
            Self::Relative => KnownKind::Relative,
            Self::Clinician => KnownKind::Clinician,
            Self::MedicalRecord => KnownKind::MedicalRecord,
            Self::BirthDate => KnownKind::BirthDate,
            Self::Phone => KnownKind::Phone,
            Self::Address => KnownKind::Address,
            Self::Email => KnownKind::Email,
            Self::SocialSecurity => KnownKind::SocialSecurity,
            Self::HealthPlan => KnownKind::HealthPlan,
            Self::Account => KnownKind::Account,
            Self::Organization => KnownKind::Organization,
            Self::Other => KnownKind::Other,
        }
    }
}

/// A note to redact. Its text is enough; what is known about the patient finds more.
///
/// ```
/// use lethe::{Known, Note};
///
/// let note = Note::new("Henry feels better.").id("n-17").patient("p-9").known(Known::Patient, "Henry Quill");
/// ```
#[derive(Clone, Default)]
#[must_use]
pub struct Note(NoteEvent);

impl Note {
    /// Creates a note with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(NoteEvent {
            text: text.into().into(),
            ..NoteEvent::default()
        })
    }

    /// Sets the note's id. Policies whose surrogates differ from note to note need it.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.0.note_id = id.into().into();
        self
    }

    /// Sets the patient's id. A policy then replaces the same name in all notes of the patient in the same way, and
    /// shifts all dates of the patient alike.
    pub fn patient(mut self, id: impl Into<String>) -> Self {
        self.0.patient_id = Some(id.into().into());
        self
    }

    /// Adds an identifier that is known beforehand. It is redacted wherever the note has it.
    pub fn known(mut self, what: Known, value: impl Into<String>) -> Self {
        self.0.known.push(lethe_core::Known {
            kind: what.kind(),
            value: value.into().into(),
        });
        self
    }

    /// Returns the number of bytes of the text.
    pub(crate) fn len(&self) -> usize {
        self.0.text.len()
    }

    pub(crate) fn into_event(self) -> NoteEvent {
        self.0
    }
}

/// Shows no text.
impl std::fmt::Debug for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Note([{} bytes])", self.0.text.len())
    }
}

impl From<&str> for Note {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<&String> for Note {
    fn from(text: &String) -> Self {
        Self::new(text.as_str())
    }
}

impl From<String> for Note {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}
