//! Why a payload is no note event, said without a word of it.
//!
//! A JSON parser's own message quotes the value it tripped over, and that value may be a patient's name. This type can
//! hold only a field's name, a byte offset and one of a fixed set of problems, so whoever logs it leaks nothing.

use std::fmt;

use lethe_core::QuarantineCode;

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
    /// An event other than create, amend or delete.
    UnknownEvent,
    /// A text over the size limit.
    TooLarge,
}

impl Problem {
    /// The code that the quarantined row carries.
    pub const fn code(self) -> QuarantineCode {
        match self {
            Self::NotUtf8 => QuarantineCode::InvalidUtf8,
            Self::TooLarge => QuarantineCode::TooLarge,
            _ => QuarantineCode::InvalidPayload,
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::NotUtf8 => "is not UTF-8: re-encode it",
            Self::NotJson => "is not JSON",
            Self::Truncated => "is cut short",
            Self::NotAnObject => "is not a JSON object",
            Self::Missing => "is missing",
            Self::WrongType => "has the wrong type",
            Self::Duplicate => "is there twice",
            Self::NotADate => {
                "is no date: write RFC 3339 with an offset (2024-05-01T08:30:00Z) or milliseconds since 1970"
            }
            Self::UnknownEvent => "is none of create, amend, delete",
            Self::TooLarge => "is over max_note_bytes",
        }
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
