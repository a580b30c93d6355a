//! Why a payload is no note event, said without a word of it.
//!
//! A JSON parser's own message quotes the value it tripped over, and that value may be a patient's name. This type can
//! hold only a field's name, a byte offset and one of a fixed set of problems, so whoever logs it leaks nothing.

use std::fmt;

use lethe_core::{Quarantine, QuarantineCode};

/// Where and why a payload failed to decode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    /// The field being read, by Lethe's name for it (a remapped field keeps that name); none outside any field.
    pub field: Option<&'static str>,
    /// How many bytes of the payload had been read.
    pub byte: usize,
    /// What is wrong.
    pub problem: Problem,
}

/// What can be wrong with a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Problem {
    /// Bytes that are not UTF-8.
    NotUtf8,
    /// Not JSON (RFC 8259), an escape of half a surrogate pair included.
    NotJson,
    /// JSON that stops short.
    Truncated,
    /// Something other than an object where an object must be.
    NotAnObject,
    /// A field that must be there is not, or is null.
    Missing,
    /// A value of another type than the field's.
    WrongType,
    /// The same field twice: which one holds cannot be known.
    Duplicate,
    /// A date that is neither RFC 3339 with an offset nor milliseconds since 1970.
    NotADate,
    /// A date and time without an offset from UTC.
    NoZone,
    /// A kind of known identifier that does not exist.
    UnknownKind,
    /// A key that is misspelt: close to one that exists.
    UnknownKey,
    /// A field whose value does not fit its type, where shifted fields would be taken for others.
    NotItsType,
    /// A message that holds no text, only pictures and the like.
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
    /// More values, or values deeper within each other, than any message has.
    TooComplex,
    /// Something that Lethe does not read: a type of resource, of content, a character set.
    Unsupported,
    /// Not base64 (RFC 4648).
    NotBase64,
    /// Not an HL7 v2 message, or a line in it that is no segment.
    NotHl7,
    /// A character set that is not read.
    UnsupportedCharset,
    /// Bytes that are none of the declared character set's.
    NotInCharset,
    /// An escape sequence that is not undone.
    UnsupportedEscape,
    /// A message in pieces.
    Fragmented,
    /// Not well-formed XML, or with entities of its own.
    NotXml,
    /// No frame with a schema's id before the payload.
    NotFramed,
    /// A frame with an id that the registry does not have, or that is not the one that the configuration gives.
    UnknownSchema,
    /// A schema that cannot be used: broken, in another language, without the message that the frame names.
    UnusableSchema,
    /// A schema that the registry could not be asked for. Only who reads without preparing meets it.
    SchemaUnavailable,
    /// A field that the schema has no place for.
    NotInSchema,
    /// Bytes that the schema cannot have made.
    NotOfSchema,
    /// Records inside records, without end.
    TooDeep,
}

impl Problem {
    /// The code that the quarantined row carries.
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

    /// What was expected, in one word, for the quarantined row.
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
            Self::Truncated => "is cut short",
            Self::NotAnObject => "is no object",
            Self::Missing => "is missing",
            Self::WrongType => "has the wrong type",
            Self::Duplicate => "is there twice",
            Self::NotADate => {
                "is no date: write RFC 3339 with an offset (2024-05-01T08:30:00Z) or milliseconds since 1970"
            }
            Self::NoZone => {
                "has no offset from UTC: write RFC 3339 with an offset (2024-05-01T08:30:00Z) or milliseconds since 1970"
            }
            Self::UnknownKind => "has a kind that is not one of those that exist",
            Self::UnknownKey => "is not a key of an event: correct its spelling",
            Self::NotItsType => "does not fit its type",
            Self::NotText => "holds no text",
            Self::Scanned => "has a page without a text layer: run text recognition first",
            Self::Unmapped => {
                "has a font without a mapping to Unicode: run text recognition, or produce the PDF anew"
            }
            Self::Encrypted => "is encrypted: remove the encryption first",
            Self::Container => "is a container for other documents: send these instead",
            Self::NotPdf => "is not PDF, or is damaged",
            Self::UnknownEvent => "is none of create, amend, delete",
            Self::TooLarge => "is over max_note_bytes",
            Self::TooComplex => "has too many values or nests too deeply",
            Self::Unsupported => "is of a kind that is not read",
            Self::NotBase64 => "is not base64",
            Self::NotHl7 => {
                "is not HL7 v2: segments start with three letters and a separator, the first is MSH"
            }
            Self::UnsupportedCharset => {
                "names no character set that is read (UNICODE, ASCII, 8859/1 to 8859/9, 8859/15, GB 18030-2000, BIG-5, KS X 1001, ISO IR87)"
            }
            Self::NotInCharset => "has bytes that are not of the declared character set",
            Self::UnsupportedEscape => "switches the character set by an escape sequence, which is not read",
            Self::Fragmented => "is one piece of a message: join the pieces first",
            Self::NotXml => "is not well-formed XML",
            Self::NotFramed => "does not begin with a schema's id (a byte 0, then four bytes)",
            Self::UnknownSchema => "is of a schema that is not known",
            Self::UnusableSchema => "is of a schema that cannot be used",
            Self::SchemaUnavailable => "is of a schema that could not be asked for",
            Self::NotInSchema => "has no place in the payload's schema: map it with `fields`",
            Self::NotOfSchema => "is not what its schema says",
            Self::TooDeep => "is nested too deep",
        }
    }
}

impl Diagnosis {
    /// What the quarantined row says: the code, the field and what was expected of it.
    pub const fn quarantine(&self) -> Quarantine {
        Quarantine::new(self.problem.code(), self.field, self.problem.expected())
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
