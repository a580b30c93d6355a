//! The input: a note event, its coordinates, and the known identifiers of its patient.

use std::fmt;
use std::sync::Arc;

use crate::{Enclosed, StructuralText};

/// Text that may identify a person. Every formatter prints only its length.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sensitive(String);

impl Sensitive {
    /// Returns the text itself. The name makes its use visible in a review.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Returns the text itself, owned.
    pub fn into_exposed(self) -> String {
        self.0
    }

    /// Returns the length in bytes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<String> for Sensitive {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for Sensitive {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Debug for Sensitive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{} bytes]", self.0.len())
    }
}

/// A place in an input: for Kafka its topic, partition and offset; for a file its name, 0 and the record's
/// number from 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Coordinates {
    /// Topic, or input file.
    pub topic: Arc<str>,
    /// Partition, 0 for a file.
    pub partition: i32,
    /// Offset, or record number from 0.
    pub offset: i64,
}

impl fmt::Display for Coordinates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}@{}", self.topic, self.partition, self.offset)
    }
}

/// What happened to the note at its source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum EventKind {
    /// A new note.
    #[default]
    Create = 0,
    /// A new version of an existing note.
    Amend = 1,
    /// The note was withdrawn; such an event has no text.
    Delete = 2,
}

impl EventKind {
    /// Returns the name written to output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Amend => "amend",
            Self::Delete => "delete",
        }
    }
}

/// The kind of an identifier that the event carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum KnownKind {
    /// The patient's name or alias.
    Patient = 0,
    /// A relative's or contact person's name.
    Relative = 1,
    /// A clinician's name.
    Clinician = 2,
    /// Medical record number.
    MedicalRecord = 3,
    /// Birth date, ISO 8601 (`YYYY-MM-DD`).
    BirthDate = 4,
    /// Telephone number.
    Phone = 5,
    /// Postal address, or a line of one.
    Address = 6,
    /// E-mail address.
    Email = 7,
    /// Social security number or its national counterpart.
    SocialSecurity = 8,
    /// Health plan or insurance number.
    HealthPlan = 9,
    /// Account or encounter number.
    Account = 10,
    /// The patient's employer, school or the like.
    Organization = 11,
    /// Any other identifier of the patient.
    Other = 12,
}

impl KnownKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 13] = [
        Self::Patient,
        Self::Relative,
        Self::Clinician,
        Self::MedicalRecord,
        Self::BirthDate,
        Self::Phone,
        Self::Address,
        Self::Email,
        Self::SocialSecurity,
        Self::HealthPlan,
        Self::Account,
        Self::Organization,
        Self::Other,
    ];

    /// Returns the kind with this number.
    pub fn from_u8(value: u8) -> Option<Self> {
        Self::ALL.get(usize::from(value)).copied()
    }
}

/// One identifier that the event carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// What it identifies.
    pub kind: KnownKind,
    /// The identifier as the source wrote it.
    pub value: Sensitive,
}

/// A patient's id, and the authority that assigned it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatientKey {
    /// The id.
    pub id: Sensitive,
    /// The authority, as [`Identifier::authority`](crate::Identifier::authority) names it.
    pub authority: Option<Arc<str>>,
}

/// Two ids of one patient, for instance one that ADT^A40 merges into another (HL7 v2, chapter 3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatientLink {
    /// The id that is replaced.
    pub from: PatientKey,
    /// The id that replaces it; `None` stands for the note's own patient.
    pub into: Option<PatientKey>,
}

/// A note event as a source delivers it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NoteEvent {
    /// Its coordinates.
    pub at: Coordinates,
    /// The source's id of the note. It can itself identify a person: it is copied to the output only if the
    /// policy says so.
    pub note_id: Sensitive,
    /// The note's version at the source, if it counts them.
    pub version: Option<i64>,
    /// The patient's id.
    pub patient_id: Option<Sensitive>,
    /// The authority that assigned the patient's id: [`Identifier::authority`](crate::Identifier::authority).
    pub patient_authority: Option<Arc<str>>,
    /// Ids that the event declares to be one patient's, because it merges or links them.
    pub links: Vec<PatientLink>,
    /// The encounter's id.
    pub encounter_id: Option<Sensitive>,
    /// Kind of note, for instance `Discharge summary`.
    pub note_type: Option<String>,
    /// The author's id.
    pub author_id: Option<Sensitive>,
    /// When it was written, in milliseconds since 1970-01-01T00:00:00Z.
    pub authored_at: Option<i64>,
    /// What happened to it.
    pub kind: EventKind,
    /// The note itself, unchanged.
    pub text: Sensitive,
    /// Whether the message has no narrative. Its structured fields are then all it has, and `text` is empty.
    pub structured: bool,
    /// The patient's own identifiers.
    pub known: Vec<Known>,
    /// Stretches of the text that the structure of its message explains, in order.
    pub structural_text: Vec<StructuralText>,
    /// The message that contained it, if the message is to be returned.
    pub enclosed: Option<Enclosed>,
}

/// Why an event became a quarantined row, in one word. `docs/quarantine.md` lists the remedies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum QuarantineCode {
    /// The payload is not UTF-8.
    InvalidUtf8,
    /// A field is missing, unknown or of the wrong type.
    InvalidPayload,
    /// The payload is not well-formed: cut short, not JSON, not XML, not HL7 v2.
    Damaged,
    /// The payload is a fragment of a message or a segment, and the other fragments did not arrive with it.
    Fragment,
    /// The kind of message, of resource or of content is not supported.
    UnsupportedType,
    /// The character set is not supported.
    UnsupportedCharset,
    /// The document has no text, for instance scanned pages.
    NotText,
    /// The note exceeds a limit.
    TooLarge,
    /// Redacting the note would take more memory or time than a record may have.
    OverBudget,
    /// The process died more than once while it worked on this record alone.
    PoisonPill,
    /// A member returned an error.
    MemberError,
    /// A member panicked.
    MemberPanic,
    /// An external tool did not answer in time.
    ToolTimeout,
    /// An external tool could not be started or reached, or ended while it worked on the note.
    ToolFailed,
    /// An external tool's answer cannot be used.
    ToolAnswer,
    /// A member's span fails a check.
    InvalidSpan,
    /// The policy has no replacement for a span or a field.
    NoReplacement,
    /// The policy does not accept the note, for instance because its event names no patient.
    PolicyRefused,
    /// The message that contained the note could not be rebuilt.
    MessageNotClosed,
}

impl QuarantineCode {
    /// All codes.
    pub const ALL: [Self; 19] = [
        Self::InvalidUtf8,
        Self::InvalidPayload,
        Self::Damaged,
        Self::Fragment,
        Self::UnsupportedType,
        Self::UnsupportedCharset,
        Self::NotText,
        Self::TooLarge,
        Self::OverBudget,
        Self::PoisonPill,
        Self::MemberError,
        Self::MemberPanic,
        Self::ToolTimeout,
        Self::ToolFailed,
        Self::ToolAnswer,
        Self::InvalidSpan,
        Self::NoReplacement,
        Self::PolicyRefused,
        Self::MessageNotClosed,
    ];

    /// Returns the name written to output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::InvalidUtf8 => "invalid_utf8",
            Self::InvalidPayload => "invalid_payload",
            Self::Damaged => "damaged",
            Self::Fragment => "fragment",
            Self::UnsupportedType => "unsupported_type",
            Self::UnsupportedCharset => "unsupported_charset",
            Self::NotText => "not_text",
            Self::TooLarge => "too_large",
            Self::OverBudget => "over_budget",
            Self::PoisonPill => "poison_pill",
            Self::MemberError => "member_error",
            Self::MemberPanic => "member_panic",
            Self::ToolTimeout => "tool_timeout",
            Self::ToolFailed => "tool_failed",
            Self::ToolAnswer => "tool_answer",
            Self::InvalidSpan => "invalid_span",
            Self::NoReplacement => "no_replacement",
            Self::PolicyRefused => "policy_refused",
            Self::MessageNotClosed => "message_not_closed",
        }
    }
}

/// Why an event became a quarantined row, as written to the row: the code, with the field and the expected
/// value where these are known, for instance `damaged:json` or `invalid_payload:authored_at:zone`.
///
/// Field and expectation are constants of the program, so that they cannot contain anything of a payload.
///
/// ```
/// use lethe_core::{Quarantine, QuarantineCode};
///
/// let why = Quarantine::new(QuarantineCode::InvalidPayload, Some("authored_at"), Some("zone"));
/// assert_eq!(why.to_string(), "invalid_payload:authored_at:zone");
/// assert_eq!(Quarantine::code_of("invalid_payload:authored_at:zone"), "invalid_payload");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Quarantine {
    /// The code.
    pub code: QuarantineCode,
    /// The invalid field, by Lethe's name for it.
    pub field: Option<&'static str>,
    /// What was expected of it.
    pub expected: Option<&'static str>,
}

impl Quarantine {
    /// Creates a code with the invalid field and what was expected of it.
    pub const fn new(
        code: QuarantineCode,
        field: Option<&'static str>,
        expected: Option<&'static str>,
    ) -> Self {
        Self {
            code,
            field,
            expected,
        }
    }

    /// Returns the name of the code in a row's text.
    pub fn code_of(written: &str) -> &str {
        written.split(':').next().unwrap_or(written)
    }
}

impl From<QuarantineCode> for Quarantine {
    fn from(code: QuarantineCode) -> Self {
        Self::new(code, None, None)
    }
}

impl fmt::Display for Quarantine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code.name())?;
        // An expectation without a field concerns the payload as a whole.
        let mut details = [self.field, self.expected].into_iter().flatten();
        details.try_for_each(|detail| write!(f, ":{detail}"))
    }
}

/// The result of decoding one consumed record. Each becomes exactly one output row.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// A note event.
    Note(NoteEvent),
    /// A record without a payload: a delete marker of the source.
    Tombstone(Coordinates),
    /// An event that cannot be processed.
    Quarantined(Coordinates, Quarantine),
}

impl Record {
    /// Returns the record's coordinates.
    pub const fn at(&self) -> &Coordinates {
        match self {
            Self::Note(event) => &event.at,
            Self::Tombstone(at) | Self::Quarantined(at, _) => at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printing_an_event_shows_no_text() {
        let event = NoteEvent {
            note_id: "N-77-Okafor".into(),
            text: "Seen: Ada Okafor".into(),
            known: vec![Known {
                kind: KnownKind::Patient,
                value: "Ada Okafor".into(),
            }],
            patient_id: Some("P-Okafor".into()),
            ..NoteEvent::default()
        };
        let printed = format!("{event:?} {:?}", Record::Note(event.clone()));
        assert!(!printed.contains("Okafor"), "{printed}");
        assert!(printed.contains("[16 bytes]"));
    }

    #[test]
    fn every_quarantine_code_is_documented() {
        let page = include_str!("../../../docs/quarantine.md");
        for code in QuarantineCode::ALL {
            assert!(
                page.contains(&format!("| `{}` |", code.name())),
                "{}",
                code.name()
            );
        }
    }

    #[test]
    fn every_known_kind_keeps_its_number() {
        for (i, kind) in KnownKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, i);
            assert_eq!(KnownKind::from_u8(i as u8), Some(kind));
        }
    }
}
