//! What becomes of each element of each resource (FHIR R4): the list of what a message may keep.
//!
//! An element that is not here does not come back, extensions and resources of other types included. What is here comes
//! back as it was only under [`Rule::Keep`], and then only in the form that it should have.

mod forms;
mod people;
mod resources;
mod standard;
mod types;

use lethe_core::KnownKind;

pub(super) use resources::{BINARY, BINARY_PATHS, BUNDLE, RESOURCES};
pub(super) use standard::{elements, published, resource};
pub(super) use types::{ADDRESS, IDENTIFIER, NAME_USE, NARRATIVE_STATUS, QUANTITY, TELECOM, THING_ID};

/// Whose element it is: under which label names and the like are replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    Patient,
    Relative,
    Clinician,
    Institution,
    /// Nobody in particular: names of these do not come back.
    Thing,
}

/// How a value that is kept looks.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form {
    Bool,
    Number,
    /// How a quantity relates to its value.
    Comparator,
    /// How confidential a document is.
    Confidentiality,
    /// One of these codes, separated by spaces: a required binding.
    OneOf(&'static str),
    /// A unit of UCUM.
    Unit,
    /// The URI of UCUM.
    UnitSystem,
    /// The URI of one of HL7's own name spaces.
    OwnUri,
    /// A tag of a language (RFC 5646).
    Language,
    /// A version that counts, below 10,000.
    Version,
    /// The three digits of an HTTP status.
    Status,
    /// An HTTP method.
    Method,
    /// The name of a type of resources.
    Kind,
}

/// What becomes of an element, or of each value of one that repeats.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rule {
    Keep(Form),
    /// Its elements, each by its own rule.
    Object(&'static [Element]),
    /// The elements that the published definitions list under that name.
    Standard(&'static str),
    /// A resource, by its type.
    Resource,
    /// A resource within another: its id is its own matter.
    Contained,
    /// Narrative in a string.
    Text,
    /// Narrative in a string that is what the note is about; without one, what cannot be read is an error.
    Body,
    /// `text`: narrative in XHTML.
    Narrative,
    /// A document in base64.
    Attachment(&'static Paths),
    /// A resource's id.
    Id,
    /// A resource's address.
    FullUrl,
    /// What a request is for.
    RequestUrl,
    Reference(Who),
    /// A business identifier: its label and kind unless its type says otherwise.
    Identifier(&'static str, KnownKind),
    Name(Who),
    /// A code with its system: kept if the code fits the system, without its display.
    Coding,
    /// A quantity, unless it is an age over 89.
    Quantity,
    /// A telephone number or the like.
    Telecom,
    Address,
    Date,
    BirthDate(Who),
    /// A date that cannot be without a time.
    Instant,
    /// A string that identifies somebody or something, by its label.
    Label(&'static str, Who),
    /// A primitive value that never comes back. Only of use for an element that must not be missing.
    Never,
    /// An object that never comes back: as [`Rule::Never`].
    NeverObject,
}

/// What a missing element means to its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    Optional,
    /// The parent is invalid without it, so it is said that it is masked.
    Required,
    /// The parent is nothing without it.
    Pivot,
}

/// An element of an object.
#[derive(Debug)]
pub(super) struct Element {
    pub(super) name: &'static str,
    pub(super) rule: Rule,
    pub(super) need: Need,
}

/// How the parts of an attachment are called in a diagnosis.
#[derive(Debug)]
pub(super) struct Paths {
    pub(super) data: &'static str,
    pub(super) content_type: &'static str,
}

const fn el(name: &'static str, rule: Rule) -> Element {
    Element {
        name,
        rule,
        need: Need::Optional,
    }
}

const fn must(name: &'static str, rule: Rule) -> Element {
    Element {
        name,
        rule,
        need: Need::Required,
    }
}

const fn pivot(name: &'static str, rule: Rule) -> Element {
    Element {
        name,
        rule,
        need: Need::Pivot,
    }
}
