//! The treatment of each element of each resource (FHIR R4): the list of what a message may keep.
//!
//! Elements outside of the table are dropped, including extensions and resources of other types. Listed
//! elements are returned unchanged only under [`Rule::Keep`], and only in their expected form.

mod forms;
mod people;
mod resources;
mod standard;
mod types;

use lethe_core::KnownKind;

pub(super) use resources::{BINARY, BINARY_PATHS, BUNDLE, RESOURCES};
pub(super) use standard::{elements, published, resource};
pub(super) use types::{ADDRESS, IDENTIFIER, NAME_USE, NARRATIVE_STATUS, QUANTITY, TELECOM, THING_ID};

/// The owner of an element, which determines the labels of its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    Patient,
    Relative,
    Clinician,
    Institution,
    /// No person: names are dropped.
    Thing,
}

/// The form of a kept value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form {
    Bool,
    Number,
    /// The comparator of a quantity.
    Comparator,
    /// The confidentiality of a document.
    Confidentiality,
    /// One of these space-separated codes: a required binding.
    OneOf(&'static str),
    /// A UCUM unit.
    Unit,
    /// The URI of UCUM.
    UnitSystem,
    /// The URI of one of HL7's own name spaces.
    OwnUri,
    /// A language tag (RFC 5646).
    Language,
    /// A version counter below 10,000.
    Version,
    /// The three digits of an HTTP status.
    Status,
    /// An HTTP method.
    Method,
    /// The name of a resource type.
    Kind,
}

/// The treatment of an element, or of each value of a repeated one.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rule {
    Keep(Form),
    /// An object whose elements have their own rules.
    Object(&'static [Element]),
    /// The elements that the published definitions list under that name.
    Standard(&'static str),
    /// A resource, by its type.
    Resource,
    /// A contained resource; its id is local.
    Contained,
    /// Narrative in a string.
    Text,
    /// Narrative in a string that the note is about; without one, unreadable content is an error.
    Body,
    /// `text`: narrative in XHTML.
    Narrative,
    /// A document in base64.
    Attachment(&'static Paths),
    /// A resource's id.
    Id,
    /// A resource's URL.
    FullUrl,
    /// The URL of a request.
    RequestUrl,
    Reference(Who),
    /// A business identifier, with its label and kind unless its type determines others.
    Identifier(&'static str, KnownKind),
    Name(Who),
    /// A code with its system: kept without its display if the code fits the system.
    Coding,
    /// A quantity, unless it is an age over 89.
    Quantity,
    /// A telephone number or similar.
    Telecom,
    Address,
    Date,
    BirthDate(Who),
    /// A date that requires a time.
    Instant,
    /// A string that identifies somebody or something, with its label.
    Label(&'static str, Who),
    /// A primitive value that is always dropped. Used only for required elements.
    Never,
    /// An object that is always dropped, as in [`Rule::Never`].
    NeverObject,
}

/// The consequence of a missing element for its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    Optional,
    /// The parent is invalid without it, so it is marked as masked.
    Required,
    /// The parent is meaningless without it.
    Pivot,
}

/// An element of an object.
#[derive(Debug)]
pub(super) struct Element {
    pub(super) name: &'static str,
    pub(super) rule: Rule,
    pub(super) need: Need,
}

/// The names of an attachment's parts in a diagnosis.
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
