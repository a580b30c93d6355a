//! Realistic replacements for identifiers: generalised ages and ZIP codes, shifted dates, and surrogates that
//! hide in plain sight.
//!
//! Everything here is a pure function of the text and of the caller's keyed function ([`Draw`]), which is
//! bound to a key and a patient. This crate never holds a key.
//!
//! Invariants: the same text gets the same replacement in a column and in every note, regardless of the rest
//! of the note; no replacement equals its original by chance; text that cannot be parsed gives `None`, and
//! the caller writes a tag; nothing prints note text.

pub mod ages;
mod checks;
pub mod dates;
mod draw;
mod ids;
mod kind;
mod known;
mod layout;
mod names;
mod net;
mod phone;
mod places;
mod real;
mod surrogates;
pub mod zip;

pub use draw::Draw;
pub use kind::Kind;
pub use known::KnownNames;
pub use lethe_text::Language;
pub use names::NICKNAMES;
pub use places::STATES;
pub use real::Real;
pub use surrogates::Surrogates;

/// The context of a span.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    /// The language of the note.
    pub language: Option<Language>,
    /// The order of day and month in ambiguous dates of the note.
    pub order: Option<dates::Order>,
    /// The year in which the note was written.
    pub year: Option<i16>,
    /// The number of days by which the patient's dates move; without it a date gives `None`.
    pub days: Option<i32>,
    /// The patient's names in the event; empty for people other than the patient.
    pub known: &'a KnownNames,
}
