//! A message without its content: the kept values, and slots for replaced ones.

use serde_json::Number;

use super::names;
use super::table::Need;
use super::value::Value;

/// A value of the message.
#[derive(Debug)]
pub(super) enum Node {
    /// An unchanged value.
    Kept(Kept),
    Object(Vec<Field>),
    List(Vec<Node>),
    /// A part of the narrative, as a string.
    Part(usize),
    /// A part of the narrative as XHTML, with its status.
    Narrative {
        status: Option<Box<str>>,
        part: usize,
    },
    /// A part of the narrative as a plain-text attachment.
    Data {
        part: usize,
        siblings: Box<[Field]>,
    },
    /// A structured identifier, to be replaced.
    Label(usize),
    /// The date of a point in time, and the time if it has one.
    Date {
        at: usize,
        time: Box<str>,
        instant: bool,
    },
    Name(Box<Name>),
    /// A resource's id, by its number.
    Id(usize),
    /// `Patient/` and an id.
    Typed(&'static str, usize),
    /// The URL of a resource with that type and id.
    Address(&'static str, usize),
    /// `#` and an id.
    Contained(usize),
    /// An id as a URN.
    Urn(usize),
    /// The security label of a pseudonymised resource.
    Pseudonymised,
}

/// A name of a person, with its use.
#[derive(Debug)]
pub(super) struct Name {
    pub(super) at: usize,
    pub(super) usage: Option<Kept>,
    pub(super) shape: names::Shape,
}

/// A kept scalar value.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kept {
    Bool(bool),
    Number(Number),
    Name(&'static str),
    Text(Box<str>),
}

impl Kept {
    /// Returns the value; `None` for an object, an array or null.
    pub(super) fn of(value: &Value<'_>) -> Option<Self> {
        match value {
            Value::Bool(is) => Some(Self::Bool(*is)),
            Value::Number(number) => Some(Self::Number(number.clone())),
            Value::String(text) => Some(Self::Text((&**text).into())),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }

    /// Returns the string, if it is one.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Name(text) => Some(text),
            Self::Text(text) => Some(text),
            Self::Bool(_) | Self::Number(_) => None,
        }
    }
}

/// An element of an object.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: &'static str,
    /// `None` if nothing of it can be returned.
    pub(super) node: Option<Node>,
    pub(super) need: Need,
    /// Whether it is a primitive, so that its metadata is a separate member.
    pub(super) primitive: bool,
    /// Whether it repeats.
    pub(super) list: bool,
}

impl Field {
    /// Returns a present element.
    pub(super) const fn of(name: &'static str, node: Node) -> Self {
        Self {
            name,
            node: Some(node),
            need: Need::Optional,
            primitive: false,
            list: false,
        }
    }

    /// Returns a kept primitive element.
    pub(super) const fn kept(name: &'static str, kept: Kept) -> Self {
        Self {
            name,
            node: Some(Node::Kept(kept)),
            need: Need::Optional,
            primitive: true,
            list: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The memory of a message with a million values depends on these sizes.
    #[test]
    fn values_and_nodes_are_small() {
        assert_eq!(size_of::<Value<'_>>(), 24);
        assert_eq!(size_of::<Node>(), 32);
        assert_eq!(size_of::<Field>(), 56);
    }
}
