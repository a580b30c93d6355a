//! The message that contained a note, for users who want it returned: a FHIR resource, an HL7 v2 message.
//!
//! A message is one note: the parts of its narrative are joined in the note's text, so that one consumed
//! record stays one row. Its structured identifiers are replaced like those in the narrative. A value that is
//! neither narrative nor known to be harmless is removed.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use crate::{Sensitive, Span};

/// A structured identifier of a message, for instance PID-5.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identifier {
    /// The i2b2-2014 name of its kind (`PATIENT`, `DATE`, `ZIP`); a label set maps it to one of its labels.
    pub label: &'static str,
    /// The value as the message has it, unescaped.
    pub value: Sensitive,
    /// The authority that assigned it, as the source names it, with the kind of name before a colon:
    /// `namespace:MERCY`, `oid:1.2.840`, `system:https://mercy.example/mrn`, `column:mrn`. Several names of
    /// one authority are separated by line feeds. `None` if the source names none.
    pub authority: Option<Arc<str>>,
}

/// A field that leaves changed, for the audit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The field's path in the terms of the format: `PID-5.1`, `Patient.name.family`. Never a value, and
    /// never an id.
    pub path: Cow<'static, str>,
    /// The rule of the format's table that decided, for instance `name` or `not in table 0001`.
    pub rule: &'static str,
    /// What happened to it.
    pub what: Changed,
}

/// What happened to a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// The policy replaced it: an index into [`Envelope::identifiers`].
    Replaced(usize),
    /// It was removed.
    Removed,
}

/// The message cannot be rebuilt: the new parts or identifiers do not match its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the message cannot be rebuilt")]
pub struct EnvelopeError;

/// A message without its contents.
pub trait Envelope: Send + Sync {
    /// Returns where the parts of the narrative lie in the note's text: in order, in bounds, free of
    /// overlaps.
    fn parts(&self) -> &[Span];

    /// Returns its structured identifiers, in a fixed order.
    fn identifiers(&self) -> &[Identifier];

    /// Returns the fields that leave changed, in the order of the message.
    fn changes(&self) -> &[Change] {
        &[]
    }

    /// Returns the bytes of memory that it takes, or `None` if it is not known.
    fn bytes(&self) -> Option<usize> {
        None
    }

    /// Returns the message with other parts and other identifiers, one for each of its own. Everything else
    /// in it that could identify a person is removed.
    ///
    /// # Errors
    /// [`EnvelopeError`], for instance if their number differs.
    fn close(&self, parts: &[&str], identifiers: &[&str]) -> Result<Vec<u8>, EnvelopeError>;
}

/// A note's envelope, shared. Its debug output shows only counts.
#[derive(Clone)]
pub struct Enclosed(pub Arc<dyn Envelope>);

impl fmt::Debug for Enclosed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (parts, identifiers) = (self.0.parts().len(), self.0.identifiers().len());
        write!(f, "[message of {parts} parts and {identifiers} identifiers]")
    }
}

impl PartialEq for Enclosed {
    /// Returns whether it is the same message, not only an equal one.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
