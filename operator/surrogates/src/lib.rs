//! Realistic replacements for identifiers: generalised ages and ZIP codes, shifted dates, and surrogates that hide in plain
//! sight.
//!
//! Everything here is a pure function of the text and of the caller's keyed function ([`Draw`]), which is bound to a key and a
//! patient. No key is ever here.
//!
//! Invariants: the same text gives the same replacement in a column and in every note, whatever else the note says;
//! nothing gives its original back by chance; what is not understood gives `None`, and the caller writes a tag; nothing prints note text.

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

/// What surrounds a span.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    /// The language of the note.
    pub language: Option<Language>,
    /// Of day and month in the note, where the numbers leave it open.
    pub order: Option<dates::Order>,
    /// The year in which the note was written.
    pub year: Option<i16>,
    /// By how many days the patient's dates move; without it a date gives `None`.
    pub days: Option<i32>,
    /// The names that the event gives of the patient; none for people who are not the patient's own.
    pub known: &'a KnownNames,
}
