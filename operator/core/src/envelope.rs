//! The message that a note came in, for those who want it back: a FHIR resource, an HL7 v2 message.
//!
//! A message is one note, whatever it holds: the parts of its narrative are joined in the note's text, so that one consumed
//! record stays one row. Its structured identifiers are replaced as those in the narrative are, and what neither is
//! narrative nor known to be harmless does not come back.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use crate::{Sensitive, Span};

/// A structured identifier of a message, for instance PID-5.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identifier {
    /// What it is, by its i2b2-2014 name (`PATIENT`, `DATE`, `ZIP`); a label set says which of its labels that is.
    pub label: &'static str,
    /// As the message has it, its escapes undone.
    pub value: Sensitive,
    /// The authority that assigned it, as the source names the authority, with the kind of name before a colon: `namespace:MERCY`,
    /// `oid:1.2.840`, `system:https://mercy.example/mrn`, `column:mrn`. Several names of one authority are separated by line
    /// feeds. None where the source does not say.
    pub authority: Option<Arc<str>>,
}

/// A field that does not come back as it came: what the audit says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Where it stands, in the terms of the format: `PID-5.1`, `Patient.name.family`. Never a value, and never an id.
    pub path: Cow<'static, str>,
    /// The rule of the format's table that decided, for instance `name` or `not in table 0001`.
    pub rule: &'static str,
    /// What became of it.
    pub what: Changed,
}

/// What became of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// The policy replaced it: an index into [`Envelope::identifiers`].
    Replaced(usize),
    /// It is gone.
    Removed,
}

/// The message cannot be returned: what it was made of and what it is to be made of do not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the message cannot be put together again")]
pub struct EnvelopeError;

/// A message without its contents.
pub trait Envelope: Send + Sync {
    /// Where the parts of the narrative lie in the note's text: in order, in bounds, free of overlaps.
    fn parts(&self) -> &[Span];

    /// Its structured identifiers, in an order of its own.
    fn identifiers(&self) -> &[Identifier];

    /// Which of its fields do not come back as they came, in the order of the message.
    fn changes(&self) -> &[Change] {
        &[]
    }

    /// Returns the message with other parts and other identifiers, one for each of its own. Everything else
    /// in it that could identify somebody is gone.
    ///
    /// # Errors
    /// [`EnvelopeError`], for instance if there are more or fewer.
    fn close(&self, parts: &[&str], identifiers: &[&str]) -> Result<Vec<u8>, EnvelopeError>;
}

/// A note's envelope, shared. Prints as nothing that is in it.
#[derive(Clone)]
pub struct Enclosed(pub Arc<dyn Envelope>);

impl fmt::Debug for Enclosed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (parts, identifiers) = (self.0.parts().len(), self.0.identifiers().len());
        write!(f, "[message of {parts} parts and {identifiers} identifiers]")
    }
}

impl PartialEq for Enclosed {
    /// Returns whether it is the same message, not merely an equal one.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
