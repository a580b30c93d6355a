//! Explains why a payload is not a note event, without quoting it.
//!
//! A JSON parser's own message quotes the offending value, which may be a patient's name. This type holds
//! only a field's name, a byte offset and one of a fixed set of problems, so it is safe to log.

use std::fmt;

use lethe_core::{Quarantine, QuarantineCode};

/// Where and why a payload failed to decode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    /// The current field, by Lethe's name (also if it is remapped); `None` outside of any field.
    pub field: Option<&'static str>,
    /// Number of bytes read.
    pub byte: usize,
    /// The problem.
    pub problem: PayloadError,
}

/// The problems that a payload can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PayloadError {
    /// Bytes that are not UTF-8.
    NotUtf8,
    /// Not JSON (RFC 8259), including an escape of half a surrogate pair.
    NotJson,
    /// Truncated JSON.
    Truncated,
    /// Not an object where an object is required.
    NotAnObject,
    /// A required field is missing or null.
    Missing,
    /// A value with a wrong type.
    WrongType,
    /// A duplicate field, of which either could be meant.
    Duplicate,
    /// A date that is neither RFC 3339 with an offset nor milliseconds since 1970.
    NotADate,
    /// A date and time without an offset from UTC.
    NoZone,
    /// A kind of known identifier that does not exist.
    UnknownKind,
    /// A misspelt key, which is close to an existing one.
    UnknownKey,
    /// A value that does not fit its type in a format where fields may be shifted.
    NotItsType,
    /// A message without text, for instance with pictures only.
    NotText,
    /// A document with a page that is a picture.
    Scanned,
    /// A document with a font whose codes have no Unicode.
    Unmapped,
    /// An encrypted document.
    Encrypted,
    /// A document that is a container for others.
    Container,
    /// Not a PDF, or a damaged one.
    NotPdf,
    /// An event other than create, amend or delete.
    UnknownEvent,
    /// A text over the size limit.
    TooLarge,
    /// More values, or deeper nesting, than any message has.
    TooComplex,
    /// An unsupported type of resource, of content, or character set.
    Unsupported,
    /// Not base64 (RFC 4648).
    NotBase64,
    /// Not an HL7 v2 message, or a line in it that is not a segment.
    NotHl7,
    /// An unsupported character set.
    UnsupportedCharset,
    /// Bytes that are invalid in the declared character set.
    NotInCharset,
    /// An unsupported escape sequence.
    UnsupportedEscape,
    /// A message in fragments.
    Fragmented,
    /// Not well-formed XML, or with its own entities.
    NotXml,
    /// No frame with a schema id before the payload.
    NotFramed,
    /// A frame with an id that the registry does not have, or that differs from the configured one.
    UnknownSchema,
    /// An unusable schema: invalid, in another language, or without the message in the frame.
    UnusableSchema,
    /// The registry is unavailable. Occurs only for callers that decode without preparing.
    SchemaUnavailable,
    /// A field that the schema does not contain.
    NotInSchema,
    /// Bytes that do not match the schema.
    NotOfSchema,
    /// Records nested without end.
    TooDeep,
}

impl PayloadError {
    /// Returns the code of the quarantined row.
    pub const fn code(self) -> QuarantineCode {
        match self {
            Self::NotUtf8 => QuarantineCode::InvalidUtf8,
            Self::TooLarge | Self::TooComplex | Self::TooDeep => QuarantineCode::TooLarge,
            Self::NotJson
            | Self::Truncated
            | Self::NotAnObject
            | Self::NotBase64
            | Self::NotHl7
            | Self::NotInCharset
            | Self::NotXml
            | Self::NotPdf
            | Self::NotFramed
            | Self::NotOfSchema => QuarantineCode::Damaged,
            Self::Fragmented => QuarantineCode::Fragment,
            Self::Unsupported | Self::Encrypted | Self::Container => QuarantineCode::UnsupportedType,
            Self::UnsupportedCharset | Self::UnsupportedEscape => QuarantineCode::UnsupportedCharset,
            Self::NotText | Self::Scanned | Self::Unmapped => QuarantineCode::NotText,
            _ => QuarantineCode::InvalidPayload,
        }
    }

    /// Returns the expectation in one word, for the quarantined row.
    const fn expected(self) -> Option<&'static str> {
        Some(match self {
            Self::NotUtf8
            | Self::Fragmented
            | Self::Unsupported
            | Self::UnsupportedCharset
            | Self::TooLarge
            | Self::NotText => return None,
            Self::NotJson => "json",
            Self::Truncated => "whole",
            Self::NotAnObject => "object",
            Self::Missing => "required",
            Self::WrongType | Self::NotItsType => "type",
            Self::Duplicate => "once",
            Self::NotADate => "date",
            Self::NoZone => "zone",
            Self::UnknownEvent => "event",
            Self::UnknownKind => "kind",
            Self::UnknownKey => "key",
            Self::TooComplex => "fewer",
            Self::TooDeep => "flatter",
            Self::NotBase64 => "base64",
            Self::NotHl7 => "hl7",
            Self::NotInCharset => "charset",
            Self::UnsupportedEscape => "escape",
            Self::NotXml => "xml",
            Self::NotPdf => "pdf",
            Self::Scanned => "scanned",
            Self::Unmapped => "unmapped",
            Self::Encrypted => "encrypted",
            Self::Container => "container",
            Self::NotFramed => "frame",
            Self::UnknownSchema
            | Self::UnusableSchema
            | Self::SchemaUnavailable
            | Self::NotInSchema
            | Self::NotOfSchema => "schema",
        })
    }

    const fn words(self) -> &'static str {
        match self {
            Self::NotUtf8 => "is not UTF-8: re-encode it",
            Self::NotJson => "is not JSON",
            Self::Truncated => "is truncated",
            Self::NotAnObject => "is not an object",
            Self::Missing => "is missing",
            Self::WrongType => "has the wrong type",
            Self::Duplicate => "occurs twice",
            Self::NotADate => {
                "is not a date: write RFC 3339 with an offset (2024-05-01T08:30:00Z) or milliseconds since 1970"
            }
            Self::NoZone => {
                "has no offset from UTC: write RFC 3339 with an offset (2024-05-01T08:30:00Z) or milliseconds since 1970"
            }
            Self::UnknownKind => "has an unknown kind",
            Self::UnknownKey => "is not a key of an event: correct its spelling",
            Self::NotItsType => "does not fit its type",
            Self::NotText => "has no text",
            Self::Scanned => "has a page without a text layer: run text recognition first",
            Self::Unmapped => {
                "has a font without a mapping to Unicode: run text recognition, or create the PDF again"
            }
            Self::Encrypted => "is encrypted: remove the encryption first",
            Self::Container => "is a container for other documents: send them instead",
            Self::NotPdf => "is not PDF, or is damaged",
            Self::UnknownEvent => "is not one of create, amend, delete",
            Self::TooLarge => "is over max_note_bytes",
            Self::TooComplex => "has too many values or nests too deeply",
            Self::Unsupported => "is of an unsupported kind",
            Self::NotBase64 => "is not base64",
            Self::NotHl7 => {
                "is not HL7 v2: segments start with three letters and a separator, the first is MSH"
            }
            Self::UnsupportedCharset => {
                "names an unsupported character set (supported are UNICODE, ASCII, 8859/1 to 8859/9, 8859/15, GB 18030-2000, BIG-5, KS X 1001, ISO IR87)"
            }
            Self::NotInCharset => "has bytes that are not of the declared character set",
            Self::UnsupportedEscape => {
                "switches the character set by an escape sequence, which is unsupported"
            }
            Self::Fragmented => "is one piece of a message: join the pieces first",
            Self::NotXml => "is not well-formed XML",
            Self::NotFramed => "does not begin with a schema's id (a byte 0, then four bytes)",
            Self::UnknownSchema => "has an unknown schema",
            Self::UnusableSchema => "has an unusable schema",
            Self::SchemaUnavailable => "has a schema that could not be fetched",
            Self::NotInSchema => "is missing in the payload's schema: map it with `fields`",
            Self::NotOfSchema => "does not match its schema",
            Self::TooDeep => "is nested too deeply",
        }
    }
}

impl Diagnosis {
    /// Returns the quarantine reason: the code, the field and its expectation.
    pub const fn quarantine(&self) -> Quarantine {
        Quarantine::new(self.problem.code(), self.field, self.problem.expected())
    }
}

impl fmt::Display for PayloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.field {
            Some(field) => write!(f, "field `{field}` {} (byte {})", self.problem.words(), self.byte),
            None => write!(f, "payload {} (byte {})", self.problem.words(), self.byte),
        }
    }
}

impl std::error::Error for Diagnosis {}
